package app

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prng is the library that Wine 8 lacks and Go's runtime loads first: random numbers.
const prng = `
#include <stddef.h>
__declspec(dllimport) int __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *p, size_t n) {
	return SystemFunction036(p, (unsigned long)n) != 0;
}
`

// underWine builds the program for Windows and returns what calls it in a folder.
func underWine(t *testing.T) (program func(dir string, args ...string) *exec.Cmd) {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_WINE") != "1" {
		t.Skip("runs the program for Windows for a minute or two: DOUBLETAKE_REQUIRE_WINE=1")
	}

	const wine, server, gcc = "/usr/lib/wine/wine64", "/usr/lib/wine/wineserver64", "x86_64-w64-mingw32-gcc"
	if _, err := exec.LookPath(gcc); err != nil {
		t.Fatal("the compiler for Windows is not installed: apt-get install gcc-mingw-w64-x86-64")
	}

	if _, err := os.Stat(wine); err != nil {
		t.Fatal("Wine is not installed: apt-get install wine64")
	}

	began, dir := time.Now(), t.TempDir()
	prefix, exe, source := filepath.Join(dir, "prefix"), filepath.Join(dir, "pipeline.exe"), filepath.Join(dir, "prng.c")
	env := append(os.Environ(), "WINEPREFIX="+prefix, "WINEDEBUG=-all")
	call := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Env = env

		return c
	}
	run := func(c *exec.Cmd) {
		t.Helper()

		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c.Args, err, out)
		}
	}

	// Tables state the version, which programs of tests have not.
	build := call("go", "build", "-buildvcs=false", "-o", exe, "../pipeline")
	build.Env = append(env, "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	run(build)

	require.NoError(t, os.WriteFile(source, []byte(prng), 0o644))

	run(call(wine, "wineboot", "-i"))
	t.Cleanup(func() { _ = call(server, "-k").Run() }) // it may have ended
	run(call(gcc, "-shared", "-o", filepath.Join(prefix, "drive_c/windows/system32/bcryptprimitives.dll"), source,
		"-ladvapi32"))

	t.Logf("built and Wine started after %.0f s", time.Since(began).Seconds())

	return func(dir string, args ...string) *exec.Cmd {
		c := call(wine, append([]string{exe}, args...)...)
		c.Dir = dir

		return c
	}
}

// winRun adds recordings in files, by a pattern as it is typed on Windows, and splits of
// blocks, whose names are made.
const winRun = smallRun + `  wav:
    ingest: {files: ['raw/*_n2_*.wav'], exclude: ['raw/*_rpm2000.wav'], data: simulated,
      pattern: 'raw/simulated_rotor_n{blades}_rpm{rpm}.wav'}
    dsp: {triplets: split-half-spectrum, harmonics: 1, segments: 4}
    train:
      inputs: [rpm]
      model: {hidden: [8]}
      optimizer: {epochs: 20}
      seeds: 1
      splits: {halves: {each: rpm, blocks: 2}}
`

// The program for Windows gives the bytes of this system: raw files, results, predictions and
// exported tables; killed twice it goes on.
func TestWine(t *testing.T) {
	windows := underWine(t)
	here, there := project(t, winRun), project(t, strings.ReplaceAll(winRun, "raw/*", `raw\*`))

	// same runs the same words on both systems and wants the same output from both, but for
	// the separators of paths.
	slash := strings.NewReplacer(`\\`, "/", `\`, "/", "Z:", "", there, here)
	same := func(words ...string) {
		t.Helper()

		want, wantErr := command(here, words...).CombinedOutput()
		got, err := windows(there, words...).CombinedOutput()

		require.Equal(t, slash.Replace(string(want)), slash.Replace(string(got)),
			"%v: %v\n%s\nexpected %v\n%s", words, err, got, wantErr, want)
		assert.Equal(t, wantErr == nil, err == nil, "%v: %v\n%s\nexpected %v\n%s", words, err, got, wantErr, want)
	}

	for range 2 { // the second time onto files that are there
		same("simulate", "rotor", "raw", "--duration-s", "0.5")
	}

	require.NoError(t, sameTrees(filepath.Join(here, "raw"), filepath.Join(there, "raw")))

	events := runUntil(t, command(here), -1, 0)
	rng := rand.New(rand.NewPCG(5, 6))

	left, killed := events, 0
	for range 2 {
		n := runUntil(t, windows(there), rng.IntN(left/2), time.Duration(rng.IntN(50))*time.Millisecond)
		left, killed = max(left-n, 2), killed+n
	}

	assert.Less(t, killed, events, "the runs that were killed had %d of %d events", killed, events)

	if out, err := windows(there, "run", "--progress", "none").CombinedOutput(); err != nil {
		t.Fatalf("the run after two kills: %v\n%s", err, out)
	}

	sameRuns(t, "Windows", here, there)
	same("predict", "runs/rotor/splits/2-blades", "--at", "blades=2,rpm=5000,theta_deg=0", "--json")

	for range 2 {
		same("export", "runs/rotor", "tables", "--format", "csv")
	}

	require.NoError(t, sameTrees(filepath.Join(here, "tables"), filepath.Join(there, "tables")))

	// The page is read from this system; the server of an absent one ends the test.
	server, url := serving(t, windows(there, "serve"))
	if page, err := get(url); err != nil || !strings.Contains(page, `href="report"`) {
		t.Errorf("serve: %v: %.300s", err, page)
	}

	_ = server.Process.Kill()
	_ = server.Wait()

	// Patterns with a drive: files that one nearly matches, and none for another.
	for dir, root := range map[string]string{here: here, there: "Z:" + strings.ReplaceAll(there, "/", `\`)} {
		for name, pattern := range map[string]string{
			"slip": "/raw/*_n2_*.wav", "none": "/raw/*_n9_*.wav", "folder": "/rav/*",
		} {
			if dir == there {
				pattern = strings.ReplaceAll(pattern, "/", `\`)
			}

			text := strings.NewReplacer("raw/*_n2_*.wav", root+pattern, "exclude: ['raw/*_rpm2000.wav'], ",
				"").Replace(winRun)
			put(t, dir, name+".yaml", text)
		}
	}

	for _, name := range []string{"slip", "none", "folder"} {
		same("check", name+".yaml")
	}

	const no = "jobs of a cluster cannot be made on Windows: "

	out, err := windows(there, "run", "--executor", "slurm").CombinedOutput()
	require.Error(t, err)
	assert.True(t, bytes.Contains(out, []byte(no)), "%v: %s", err, out)
}

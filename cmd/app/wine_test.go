package app

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prng is the source of the library of random numbers, which Go's runtime loads first and Wine 8 lacks.
const prng = `
#include <stddef.h>
__declspec(dllimport) int __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *p, size_t n) {
	return SystemFunction036(p, (unsigned long)n) != 0;
}
`

// windowsProgram is the program for Windows, which runs under Wine.
type windowsProgram struct {
	wine string   // the path of Wine
	exe  string   // the path of the program
	env  []string // with the folder of Wine's Windows
}

// newWindowsProgram builds the program for Windows and starts Wine.
func newWindowsProgram(t *testing.T) windowsProgram {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_WINE") != "1" {
		t.Skip("runs the program for Windows for a minute or two: DOUBLETAKE_REQUIRE_WINE=1")
	}

	const wine, wineServer, compiler = "/usr/lib/wine/wine64", "/usr/lib/wine/wineserver64", "x86_64-w64-mingw32-gcc"
	_, err := exec.LookPath(compiler)
	require.NoError(t, err, "the compiler for Windows is not installed: apt-get install gcc-mingw-w64-x86-64")
	require.FileExists(t, wine, "Wine is not installed: apt-get install wine64")

	began := time.Now()
	dir := t.TempDir()
	windows := filepath.Join(dir, "prefix")
	p := windowsProgram{
		wine: wine,
		exe:  filepath.Join(dir, "pipeline.exe"),
		env:  append(os.Environ(), "WINEPREFIX="+windows, "WINEDEBUG=-all"),
	}

	// Tables state the version, which programs of tests do not have.
	p.require(t, []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"},
		"go", "build", "-buildvcs=false", "-o", p.exe, "../pipeline")

	p.require(t, nil, wine, "wineboot", "-i")
	t.Cleanup(func() {
		end := exec.Command(wineServer, "-k")
		end.Env = p.env
		_ = end.Run() // it may have ended
	})

	source := filepath.Join(dir, "prng.c")
	library := filepath.Join(windows, "drive_c/windows/system32/bcryptprimitives.dll")
	require.NoError(t, os.WriteFile(source, []byte(prng), 0o644))
	p.require(t, nil, compiler, "-shared", "-o", library, source, "-ladvapi32")

	t.Logf("built and Wine started after %.0f s", time.Since(began).Seconds())

	return p
}

// require runs a command with additional variables, which must succeed.
func (p windowsProgram) require(t *testing.T, env []string, name string, args ...string) {
	t.Helper()

	cmd := exec.Command(name, args...)
	cmd.Env = append(slices.Clone(p.env), env...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", cmd.Args, output)
}

// command returns a command of the program in a folder.
func (p windowsProgram) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.wine, append([]string{p.exe}, args...)...)
	cmd.Env = p.env
	cmd.Dir = dir

	return cmd
}

// windowsRun adds to smallRun recordings in files, with a pattern, and splits of blocks, whose names are made by the
// program.
const windowsRun = smallRun + `  wav:
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

// twoSystems are the same project on this system and on Windows.
type twoSystems struct {
	windows     windowsProgram
	here, there string // folders of the project; there is the one of Windows
}

// requireSameOutput runs the program with the same arguments on both systems. It must succeed or fail on both, and
// print the same, apart from the separators of paths and the folder.
func (s twoSystems) requireSameOutput(t *testing.T, args ...string) {
	t.Helper()

	common := strings.NewReplacer(`\\`, "/", `\`, "/", "Z:", "", s.there, s.here)
	want, wantErr := command(s.here, args...).CombinedOutput()
	found, err := s.windows.command(s.there, args...).CombinedOutput()
	require.Equal(t, common.Replace(string(want)), common.Replace(string(found)), "output of %v", args)
	require.Equal(t, wantErr == nil, err == nil, "%v: success here and on Windows: %v", args, err)
}

// requireSameTrees compares folders of the project on both systems.
func (s twoSystems) requireSameTrees(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, sameTrees(filepath.Join(s.here, name), filepath.Join(s.there, name)))
}

// writeConfigs writes a configuration whose pattern is absolute into both projects. On Windows the pattern has a drive
// and backslashes.
func (s twoSystems) writeConfigs(t *testing.T, name, pattern string) {
	t.Helper()

	text := strings.Replace(windowsRun, "exclude: ['raw/*_rpm2000.wav'], ", "", 1)
	put(t, s.here, name, strings.Replace(text, "raw/*_n2_*.wav", s.here+"/"+pattern, 1))

	onWindows := `Z:` + strings.ReplaceAll(s.there+"/"+pattern, "/", `\`)
	put(t, s.there, name, strings.Replace(text, "raw/*_n2_*.wav", onWindows, 1))
}

// The program for Windows gives the same bytes as on this system: raw files, results, predictions and exported tables,
// also after it was killed twice.
func TestWine(t *testing.T) {
	s := twoSystems{
		windows: newWindowsProgram(t),
		here:    project(t, windowsRun),
		there:   project(t, strings.ReplaceAll(windowsRun, "raw/*", `raw\*`)), // as it is typed on Windows
	}

	for range 2 { // the second time onto files that are there
		s.requireSameOutput(t, "simulate", "rotor", "raw", "--duration-s", "0.5")
	}

	s.requireSameTrees(t, "raw")

	events := runToEnd(t, command(s.here))
	rng := rand.New(rand.NewPCG(5, 6))
	left := events
	reported := 0 // by killed runs
	for range 2 {
		delay := time.Duration(rng.IntN(50)) * time.Millisecond
		n := runAndKill(t, s.windows.command(s.there), 1+rng.IntN(left/2), delay)
		left = max(left-n, 2)
		reported += n
	}

	assert.Less(t, reported, events, "events of the runs that were killed")

	output, err := s.windows.command(s.there, "run", "--progress", "none").CombinedOutput()
	require.NoError(t, err, "the run after two kills: %s", output)
	assertSameRuns(t, "on Windows", s.here, s.there)

	s.requireSameOutput(t, "predict", "runs/rotor/splits/2-blades", "--at", "blades=2,rpm=5000,theta_deg=0", "--json")

	for range 2 { // the second time onto files that are there
		s.requireSameOutput(t, "export", "runs/rotor", "tables", "--format", "csv")
	}

	s.requireSameTrees(t, "tables")

	// The page of a server on Windows is read from this system.
	server := s.windows.command(s.there, "serve")
	page, err := get(startServer(t, server))
	require.NoError(t, err)
	assert.Contains(t, page, `href="report"`)

	_ = server.Process.Kill()
	_ = server.Wait()

	for name, pattern := range map[string]string{
		"slip.yaml":   "raw/*_n2_*.wav", // another file is nearly matched
		"none.yaml":   "raw/*_n9_*.wav", // matches no file
		"folder.yaml": "rav/*",          // in a folder that is not there
	} {
		s.writeConfigs(t, name, pattern)
		s.requireSameOutput(t, "check", name)
	}

	output, err = s.windows.command(s.there, "run", "--executor", "slurm").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(output), "jobs of a cluster cannot be made on Windows: ")
}

package app

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

var (
	kills = flag.Int("kills", longtest.Count(1, 8), "how often TestKilled kills a run")
	cuts  = flag.Int("cuts", longtest.Count(1, 3), "how often TestPowerCut cuts the power")
)

// smallRun is a real run of all stages in well under a second.
const smallRun = `version: 1
kernels: portable
experiments:
  rotor:
    ingest: {simulate: {campaign: rotor, seed: 3, duration_s: 1, blades: [2, 3, 4], rpm: [4000, 8000],
      theta_deg: [-30, 30]}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [8]}
      optimizer: {epochs: 20, batch: 8}
      estimate: {samples: 20}
      seeds: 2
      splits: {2-blades: {test: {blades: 2}}}
  toy:
    ingest: {simulate: {campaign: toy, seed: 3, triplets: 100}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [8]}
      optimizer: {epochs: 20}
      seeds: 2
      splits: {gap: {test: {x: {min: 2, max: 4}}}}
`

// project writes a configuration into a fresh folder.
func project(t *testing.T, yaml string) string {
	t.Helper()

	dir := t.TempDir()
	put(t, dir, "pipeline.yaml", yaml)

	return dir
}

// command is the program in dir: this test binary's main, by the name that testscript put
// on the PATH.
func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("pipeline", args...)
	c.Dir = dir
	return c
}

// sameRuns reports, and when, that the results in two projects differ.
func sameRuns(t testing.TB, when, whole, dir string) {
	t.Helper()

	if err := sameTrees(filepath.Join(whole, "runs"), filepath.Join(dir, "runs")); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// quietRun runs a project without a word.
func quietRun(t testing.TB, when, dir string) {
	t.Helper()

	if out, err := command(dir, "run", "--progress", "none").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", when, err, out)
	}
}

// whole is a project in which smallRun was left alone, and events how many the run reported.
var whole struct {
	dir    string
	events int
}

// leftAlone makes whole for all tests, in the folder of the program, which goes when they end.
func leftAlone(t *testing.T) (dir string, events int) {
	t.Helper()

	if whole.dir == "" {
		bin, err := exec.LookPath("pipeline")
		require.NoError(t, err)

		whole.dir, err = os.MkdirTemp(filepath.Dir(bin), "whole")
		require.NoError(t, err)

		put(t, whole.dir, "pipeline.yaml", smallRun)
		whole.events = runUntil(t, command(whole.dir), -1, 0)
	}

	return whole.dir, whole.events
}

// A run killed at any instant leaves nothing to repair: the next one finishes
// and gives the bytes of a run that was left alone. `-kills 200` for the longest form.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real runs; not with -short")
	}

	whole, events := leftAlone(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range *kills {
		dir := project(t, smallRun)

		left := events
		for range 2 { // killed, started again, killed again
			at := rng.IntN(left)
			// The kill falls up to 5 ms after the event: within the next tasks, or while a result is sealed.
			left = max(left-runUntil(t, command(dir), at, time.Duration(rng.IntN(5000))*time.Microsecond), 1)
		}

		quietRun(t, fmt.Sprintf("the run after kill %d", i), dir)
		sameRuns(t, fmt.Sprintf("kill %d", i), whole, dir)

		for _, kind := range []string{"tmp", ".tmp-*", "published/.*", "scratch/*"} {
			if left, _ := filepath.Glob(filepath.Join(dir, "runs", ".cache", kind)); len(left) > 0 {
				t.Errorf("kill %d: leftovers stay: %v", i, left)
			}
		}
	}

	t.Logf("%d runs of %d events each killed twice: every next run finished with the same bytes", *kills, events)
}

// A power cut leaves nothing to repair: a run is killed at a random moment on an ext4
// file system, of which what reached its image by then is kept. The file system
// commits by itself only every 300 s. `-cuts 200` for the long form; package engine
// tests orders of writing that ext4 never takes.
func TestPowerCut(t *testing.T) {
	longtest.Skip(t, "runs a campaign on a disk of its own")

	if testing.Short() {
		t.Skip("kills real runs; not with -short")
	}

	whole, events := leftAlone(t)
	rng := rand.New(rand.NewPCG(3, 4))
	sealed := func(disk string) int {
		list, _ := filepath.Glob(filepath.Join(disk, "runs", ".cache", "objects", "*", "*", "manifest.json"))
		return len(list)
	}

	lost := 0
	for i := range *cuts {
		dir := project(t, strings.Replace(smallRun, "version: 1", "version: 1\nworkdir: disk/runs", 1))
		disk, image := filepath.Join(dir, "disk"), filepath.Join(dir, "image")
		sh := func(name string, args ...string) error {
			if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", name, err, out)
			}
			return nil
		}

		mount := func() error { return sh("mount", "-o", "loop,commit=300", image, disk) }

		err := errors.Join(os.Mkdir(disk, 0o755), os.WriteFile(image, nil, 0o600), os.Truncate(image, 48<<20),
			sh("mkfs.ext4", "-q", "-F", image))
		if err == nil {
			err = mount()
		}

		if err != nil {
			t.Skipf("no file system can be mounted here: %v", err)
		}

		unmount := func() error { return sh("umount", disk) }
		t.Cleanup(func() { _ = unmount() })
		runUntil(t, command(dir), rng.IntN(events), time.Duration(rng.IntN(5000))*time.Microsecond)
		before := sealed(disk)

		kept, err := os.ReadFile(image)
		if err == nil {
			err = unmount()
		}

		require.NoError(t, errors.Join(err, os.WriteFile(image, kept, 0o600)))
		require.NoError(t, mount())

		lost += before - sealed(disk)

		quietRun(t, fmt.Sprintf("the run after cut %d", i), dir)
		sameRuns(t, fmt.Sprintf("cut %d", i), whole, disk)

		require.NoError(t, unmount())
	}

	t.Logf("%d power cuts; %d results that had their name were not on the disk, and were made again", *cuts, lost)
}

// runUntil starts a run by the program, kills it a moment after its event number at (from
// 0; negative: never), and returns how many events it reported.
func runUntil(t *testing.T, c *exec.Cmd, at int, delay time.Duration) (events int) {
	t.Helper()
	c.Args = append(c.Args, "run", "--progress", "json")
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}

	require.NoError(t, err)

	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if events == at {
			time.Sleep(delay)
			c.Process.Kill()
		}

		events++
	}

	if err := c.Wait(); err != nil && at < 0 {
		t.Fatal(err)
	}

	return events
}

// A full disk stops the run with a clear message, loses nothing that was
// finished, and the next run goes on when there is room.
func TestDiskFull(t *testing.T) {
	dir := project(t, strings.Replace(smallRun, "version: 1", "version: 1\nworkdir: disk/runs", 1))
	disk := filepath.Join(dir, "disk")
	require.NoError(t, os.Mkdir(disk, 0o755))

	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}

	defer syscall.Unmount(disk, syscall.MNT_DETACH)
	c := command(dir, "run", "--progress", "none")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	err := c.Run()
	if code := c.ProcessState.ExitCode(); err == nil || code != 1 {
		t.Fatalf("exit %d on a full disk: %s", code, stderr.String())
	}

	assert.Contains(t, stderr.String(), "no space left on device")
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"))

	out, err := command(dir, "run", "--progress", "plain").CombinedOutput()
	require.NoError(t, err, "with room again: %v\n%s", err, out)

	whole, _ := leftAlone(t)
	sameRuns(t, "a full disk", whole, disk)
}

// put writes a file into a folder.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

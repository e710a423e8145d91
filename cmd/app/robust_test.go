package app

import (
	"bufio"
	"bytes"
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

// project writes a configuration into a new folder and returns the folder.
func project(t *testing.T, yaml string) string {
	t.Helper()

	dir := t.TempDir()
	put(t, dir, "pipeline.yaml", yaml)

	return dir
}

// command returns a command of the program in a folder. The program is this test binary, which testscript put on the
// PATH under the name pipeline.
func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("pipeline", args...)
	c.Dir = dir
	return c
}

// assertSameRuns asserts that the work directories of two projects have the same results. when says in a message what
// was done to the second project.
func assertSameRuns(t testing.TB, when, want, dir string) {
	t.Helper()
	assert.NoError(t, sameTrees(filepath.Join(want, "runs"), filepath.Join(dir, "runs")), when)
}

// quietRun runs a project without progress. Messages quote when, the damage to the project before the run.
func quietRun(t testing.TB, when, dir string) {
	t.Helper()

	output, err := command(dir, "run", "--progress", "none").CombinedOutput()
	require.NoError(t, err, "%s: %s", when, output)
}

// undisturbedProject is a project in which smallRun was not disturbed, and the number of events that the run reported.
var undisturbedProject struct {
	dir    string
	events int
}

// undisturbedRun returns the folder of an undisturbed run of smallRun, and the number of its events. All tests share
// one, in the folder of the program, which is removed when they end.
func undisturbedRun(t *testing.T) (dir string, events int) {
	t.Helper()

	if undisturbedProject.dir == "" {
		program, err := exec.LookPath("pipeline")
		require.NoError(t, err)

		undisturbedProject.dir, err = os.MkdirTemp(filepath.Dir(program), "undisturbed")
		require.NoError(t, err)

		put(t, undisturbedProject.dir, "pipeline.yaml", smallRun)
		undisturbedProject.events = runToEnd(t, command(undisturbedProject.dir))
	}

	return undisturbedProject.dir, undisturbedProject.events
}

// runToEnd runs a project and returns the number of events that the run reported.
func runToEnd(t *testing.T, program *exec.Cmd) (events int) {
	t.Helper()

	program.Args = append(program.Args, "run", "--progress", "json")
	var stderr bytes.Buffer
	program.Stderr = &stderr
	require.NoError(t, program.Run(), "%s", &stderr)

	return bytes.Count(stderr.Bytes(), []byte("\n"))
}

// runAndKill runs a project and kills the run a moment after the given number of events. It returns the number of
// events that the run reported.
func runAndKill(t *testing.T, program *exec.Cmd, after int, delay time.Duration) (events int) {
	t.Helper()

	program.Args = append(program.Args, "run", "--progress", "json")
	stderr, err := program.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())

	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		events++
		if events == after {
			time.Sleep(delay)
			_ = program.Process.Kill() // the run may have ended
		}
	}

	_ = program.Wait() // the error of a killed run

	return events
}

// upTo5ms returns a random delay in which the next tasks run, or a result is sealed.
func upTo5ms(rng *rand.Rand) time.Duration { return time.Duration(rng.IntN(5000)) * time.Microsecond }

// A run that is killed at any instant leaves nothing to repair: the next run finishes and gives the bytes of an
// undisturbed run, and no temporary files stay. `-kills 200` is the longest form.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real runs; not with -short")
	}

	want, events := undisturbedRun(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range *kills {
		dir := project(t, smallRun)
		left := events
		for range 2 { // killed, started again, killed again
			reported := runAndKill(t, command(dir), 1+rng.IntN(left), upTo5ms(rng))
			left = max(left-reported, 1)
		}

		when := fmt.Sprintf("after kill %d", i)
		quietRun(t, when, dir)
		assertSameRuns(t, when, want, dir)

		for _, pattern := range []string{"tmp", ".tmp-*", "published/.*", "scratch/*"} {
			temporary, err := filepath.Glob(filepath.Join(dir, "runs", ".cache", pattern))
			require.NoError(t, err)
			assert.Empty(t, temporary, when)
		}
	}

	t.Logf("%d runs of %d events each killed twice: every next run finished with the same bytes", *kills, events)
}

// loopDisk is an ext4 file system in an image file.
type loopDisk struct{ image, folder string }

// newLoopDisk makes a file system and mounts it at the folder disk of a project. If the machine cannot do so,
// newLoopDisk skips the test.
func newLoopDisk(t *testing.T, project string) loopDisk {
	t.Helper()

	d := loopDisk{image: filepath.Join(project, "image"), folder: filepath.Join(project, "disk")}
	require.NoError(t, os.Mkdir(d.folder, 0o755))
	require.NoError(t, os.WriteFile(d.image, nil, 0o600))
	require.NoError(t, os.Truncate(d.image, 48<<20))

	output, err := exec.Command("mkfs.ext4", "-q", "-F", d.image).CombinedOutput()
	if err != nil {
		t.Skipf("no file system can be made here: %v: %s", err, output)
	}

	if err := d.mount(); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}

	t.Cleanup(func() { _ = d.unmount() })

	return d
}

// mount mounts the file system, which commits by itself only every 300 s.
func (d loopDisk) mount() error {
	output, err := exec.Command("mount", "-o", "loop,commit=300", d.image, d.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount: %w: %s", err, output)
	}

	return nil
}

// unmount unmounts the file system.
func (d loopDisk) unmount() error {
	output, err := exec.Command("umount", d.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("umount: %w: %s", err, output)
	}

	return nil
}

// cutPower keeps only what has reached the image.
func (d loopDisk) cutPower(t *testing.T) {
	t.Helper()

	reached, err := os.ReadFile(d.image)
	require.NoError(t, err)
	require.NoError(t, d.unmount())
	require.NoError(t, os.WriteFile(d.image, reached, 0o600))
	require.NoError(t, d.mount())
}

// A power cut leaves nothing to repair: if the power is cut a moment after a run was killed on an ext4 file system, the
// next run finishes and gives the bytes of an undisturbed run. `-cuts 200` is the long form. Package engine tests
// orders of writing that ext4 never takes.
func TestPowerCut(t *testing.T) {
	longtest.Skip(t, "runs a campaign on a disk of its own")

	if testing.Short() {
		t.Skip("kills real runs; not with -short")
	}

	want, events := undisturbedRun(t)
	rng := rand.New(rand.NewPCG(3, 4))
	lost := 0
	for i := range *cuts {
		dir := project(t, strings.Replace(smallRun, "version: 1", "version: 1\nworkdir: disk/runs", 1))
		disk := newLoopDisk(t, dir)
		sealed := func() int {
			results, _ := filepath.Glob(filepath.Join(disk.folder, "runs/.cache/objects/*/*/manifest.json"))
			return len(results)
		}

		runAndKill(t, command(dir), 1+rng.IntN(events), upTo5ms(rng))

		before := sealed()
		disk.cutPower(t)
		lost += before - sealed()

		when := fmt.Sprintf("after cut %d", i)
		quietRun(t, when, dir)
		assertSameRuns(t, when, want, disk.folder)
		require.NoError(t, disk.unmount())
	}

	t.Logf("%d power cuts; %d results that had their name were not on the disk, and were made again", *cuts, lost)
}

// A full disk stops a run with a clear message. Nothing that was finished is lost: if there is room again, the next run
// finishes and gives the bytes of an undisturbed run.
func TestDiskFull(t *testing.T) {
	dir := project(t, strings.Replace(smallRun, "version: 1", "version: 1\nworkdir: disk/runs", 1))
	disk := filepath.Join(dir, "disk")
	require.NoError(t, os.Mkdir(disk, 0o755))

	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}

	defer syscall.Unmount(disk, syscall.MNT_DETACH)

	full := command(dir, "run", "--progress", "none")
	output, err := full.CombinedOutput()
	require.Error(t, err, "%s", output)
	assert.Equal(t, 1, full.ProcessState.ExitCode(), "exit status")
	assert.Contains(t, string(output), "no space left on device")

	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	quietRun(t, "after a full disk", dir)

	want, _ := undisturbedRun(t)
	assertSameRuns(t, "after a full disk", want, disk)
}

// put writes a file into a folder.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

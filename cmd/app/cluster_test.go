package app

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drive is a command of the scripts. It runs every task of pipeline.yaml with pipeline exec, in the order in which
// pipeline tasks lists them. It fails unless each task comes after those that it needs, and makes its results.
func drive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: drive")
	}

	ts.Check(ts.Exec("pipeline", "tasks", "--format", "json"))
	var list struct {
		Tasks []struct {
			Index int
			Task  string
			Needs []int
		}
	}

	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))

	if len(list.Tasks) < 8 {
		ts.Fatalf("%d tasks, expected at least 8", len(list.Tasks))
	}

	for _, task := range list.Tasks {
		isLater := func(index int) bool { return index >= task.Index }
		if slices.ContainsFunc(task.Needs, isLater) {
			ts.Fatalf("task %d needs later ones: %v", task.Index, task.Needs)
		}

		ts.Check(ts.Exec("pipeline", "exec", "--task", task.Task))

		printed := ts.ReadFile("stdout")
		if !strings.HasSuffix(printed, ": made\n") {
			ts.Fatalf("task %d prints %q", task.Index, printed)
		}
	}
}

// clusterRun is a small project with every stage: sound is simulated, read and analysed, networks are trained, also
// with groups left out, and a report is written. WORK and SCHEDULER are replaced.
const clusterRun = `version: 1
workdir: WORK
executor: SCHEDULER
experiments:
  rotor:
    ingest:
      simulate: {campaign: rotor, seed: 3, duration_s: 1, blades: [2, 3, 4, 5], rpm: [4000, 6000], theta_deg: [0, 40]}
    dsp: {triplets: split-half-spectrum, segments: 4}
    train:
      inputs: [blades, rpm, theta_deg]
      optimizer: {epochs: 30}
      seeds: 2
      members: 2
      honest: {base: ensemble}
      splits:
        2-blades: {test: {blades: 2}}
`

// longRun trains two networks for some twenty seconds each, in jobs of their own.
const longRun = `version: 1
workdir: WORK
executor: SCHEDULER
experiments:
  toy:
    ingest: {simulate: {campaign: toy, seed: 3, triplets: 1000}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [32, 32]}
      optimizer: {epochs: 20000}
      seeds: 2
      honest: {base: none}
      splits: {gap: {test: {x: {min: 2, max: 4}}}}
`

// clusterProject is a project in a folder, which runs on a cluster.
type clusterProject struct {
	scheduler string // the name of the executor
	settings  string // the value of the key executor
	env       []string
	bin       string // the program, which is built for the test
	dir       string // the folder
}

// newClusterProject builds the program and returns a project in a new folder.
func newClusterProject(t *testing.T, scheduler, settings string, env []string) *clusterProject {
	t.Helper()

	bin := filepath.Join(t.TempDir(), "pipeline")
	output, err := exec.Command("go", "build", "-o", bin, "../pipeline").CombinedOutput()
	require.NoError(t, err, "%s", output)

	return &clusterProject{scheduler: scheduler, settings: settings, env: env, bin: bin, dir: t.TempDir()}
}

// inNewFolder returns the same project in a new folder.
func (p *clusterProject) inNewFolder(t *testing.T) *clusterProject {
	t.Helper()

	other := *p
	other.dir = t.TempDir()

	return &other
}

// writeConfig writes a configuration for each work directory. It is named after the work directory.
func (p *clusterProject) writeConfig(t *testing.T, text string, works ...string) {
	t.Helper()

	for _, work := range works {
		inserted := strings.NewReplacer("WORK", strconv.Quote(work), "SCHEDULER", p.settings)
		put(t, p.dir, work+".yaml", inserted.Replace(text))
	}
}

// command returns a command of the program, and its standard error so far.
func (p *clusterProject) command(t *testing.T, args ...string) (*exec.Cmd, fmt.Stringer) {
	t.Helper()

	f, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)

	t.Cleanup(func() { f.Close() })
	cmd := exec.Command(p.bin, args...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	cmd.Stderr = f

	return cmd, fileContent(f.Name())
}

// fileContent is the path of a file that prints as its contents.
type fileContent string

// String returns the contents of the file, and "" if it cannot be read.
func (c fileContent) String() string {
	b, _ := os.ReadFile(string(c))
	return string(b)
}

// eventually waits until a condition is true, for as long as a machine under load may need, and reports whether it is.
func eventually(condition func() bool) bool {
	deadline := time.Now().Add(3 * time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			return false
		}

		time.Sleep(50 * time.Millisecond)
	}

	return true
}

// run runs the program to its end, which must be good, and returns its messages.
func (p *clusterProject) run(t *testing.T, args ...string) string {
	t.Helper()

	cmd, stderr := p.command(t, append(args, "--progress", "plain")...)
	require.NoError(t, cmd.Run(), "%v: %s", args, stderr)

	return stderr.String()
}

// requireSameResults compares a work directory with the one of a run on this machine, which is called here. The page
// differs, because it is about the run itself.
func (p *clusterProject) requireSameResults(t *testing.T, work string) {
	t.Helper()
	require.NoError(t, sameTrees(filepath.Join(p.dir, "here"), filepath.Join(p.dir, work), "report.html"))
}

// runTool runs a program of the scheduler and returns its output.
func (p *clusterProject) runTool(t *testing.T, words ...string) string {
	t.Helper()

	cmd := exec.Command("/usr/bin/env", words...)
	cmd.Env = p.env
	cmd.Dir = p.dir
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", words, output)

	return strings.TrimSpace(string(output))
}

// clusterDriver is a run on the cluster that goes on.
type clusterDriver struct {
	cmd    *exec.Cmd
	stderr fmt.Stringer
	began  time.Time
}

// start starts a run on the cluster.
func (p *clusterProject) start(t *testing.T, work string) *clusterDriver {
	t.Helper()

	cmd, stderr := p.command(t, "run", work+".yaml", "--executor", p.scheduler, "--progress", "plain")
	require.NoError(t, cmd.Start())

	return &clusterDriver{cmd, stderr, time.Now()}
}

// waitUntil waits for a condition. If it does not come true, the run is killed and the test fails.
func (d *clusterDriver) waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()

	if !eventually(condition) {
		_ = d.cmd.Process.Kill()
		t.Fatalf("waited in vain for %s: %v: %s", what, d.cmd.Wait(), d.stderr)
	}
}

// waitForMessage waits until the run prints words.
func (d *clusterDriver) waitForMessage(t *testing.T, words string) {
	t.Helper()
	d.waitUntil(t, fmt.Sprintf("the message %q", words), func() bool { return strings.Contains(d.stderr.String(), words) })
}

// waitForEnd waits for the end of the run, which must be good.
func (d *clusterDriver) waitForEnd(t *testing.T) {
	t.Helper()
	require.NoError(t, d.cmd.Wait(), "%s", d.stderr)
}

// kill kills the run and waits for its end.
func (d *clusterDriver) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// workers returns the processes whose program lies in the cache of a work directory. They run tasks.
func (p *clusterProject) workers(work string) (pids []int) {
	cache := filepath.Join(p.dir, work, ".cache")
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		program, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(program, cache) {
			continue // the process has ended, or is another one
		}

		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}

	return pids
}

// waitForTrainings waits until both trainings of longRun have started.
func (p *clusterProject) waitForTrainings(t *testing.T, work string, d *clusterDriver) {
	t.Helper()

	start := regexp.MustCompile(`"event":"start","task":"[^"]+/train/`)
	path := filepath.Join(p.dir, work, ".cache", "progress", "run.jsonl")
	d.waitUntil(t, "two trainings", func() bool {
		journal, _ := os.ReadFile(path) // it may not be there yet
		return len(start.FindAll(journal, -1)) == 2
	})
}

// testKills kills the worker of one training of a run, and cancels the job of the other: both are tried again. Then it
// kills the driver. The next run withdraws the jobs of the killed one and finishes with the results of a run on this
// machine.
func (p *clusterProject) testKills(t *testing.T, cancelJob func(t *testing.T)) {
	t.Helper()

	kills := p.inNewFolder(t)
	kills.writeConfig(t, longRun, "here", "there")
	kills.run(t, "run", "here.yaml")

	d := kills.start(t, "there")
	kills.waitForTrainings(t, "there", d)

	workers := kills.workers("there")
	require.NotEmpty(t, workers, "workers of two trainings")

	victim := workers[0]
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	cancelJob(t)

	d.waitUntil(t, "two tasks that are tried again", func() bool {
		return strings.Count(d.stderr.String(), "tried again, attempt 2 of 3: its ") == 2
	})
	d.waitUntil(t, "a worker that tries again", func() bool { return len(kills.workers("there")) > 0 })
	d.kill()
	t.Logf("%s", d.stderr)

	messages := kills.run(t, "run", "there.yaml", "--executor", p.scheduler)
	assert.Regexp(t, `withdrew [1-9]\d* jobs? of an earlier run`, messages)
	kills.requireSameResults(t, "there")
}

// testNoPlace runs while no job can begin. Within 20 s of the submission, by the run's own clock, the run prints that
// no job has begun. The message contains the scheduler's reason, which matches the regular expression reason, and no
// estimate of the time that is left. After makePlace the run goes on to its end.
func (p *clusterProject) testNoPlace(t *testing.T, reason string, makePlace func(t *testing.T)) {
	t.Helper()

	waiting := p.inNewFolder(t)
	waiting.writeConfig(t, clusterRun, "here", "there")
	waiting.run(t, "run", "here.yaml")

	d := waiting.start(t, "there")
	d.waitForMessage(t, "nothing runs: ")

	messages := d.stderr.String()
	t.Logf("after %.0f s: %s", time.Since(d.began).Seconds(), messages)
	assert.Regexp(t, `\b1[2-9] s ago, and none has begun`, messages, "reported in time")
	assert.Regexp(t, reason, messages, "the scheduler's reason")
	assert.NotContains(t, messages, " left", "a time that is left while nothing runs")

	makePlace(t)
	d.waitForEnd(t)
	waiting.requireSameResults(t, "there")
}

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

// drive makes every task of pipeline.yaml by pipeline exec, in the order in
// which pipeline tasks lists them, and wants that each was made.
func drive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: drive")
	}

	ts.Check(ts.Exec("pipeline", "tasks", "--format", "json"))
	var doc struct {
		Tasks []struct {
			Index int
			Task  string
			Needs []int
		}
	}

	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))

	if len(doc.Tasks) < 8 {
		ts.Fatalf("%d tasks", len(doc.Tasks))
	}

	for _, t := range doc.Tasks {
		if slices.ContainsFunc(t.Needs, func(n int) bool { return n >= t.Index }) {
			ts.Fatalf("task %d needs later ones: %v", t.Index, t.Needs)
		}

		ts.Check(ts.Exec("pipeline", "exec", "--task", t.Task))

		if out := ts.ReadFile("stdout"); !strings.HasSuffix(out, ": made\n") {
			ts.Fatalf("task %d: %q", t.Index, out)
		}
	}
}

// clusterRun is a real project, small: sound is simulated, read, analysed,
// learned from, with groups left out, and reported.
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

// longRun trains twice for some twenty seconds, in jobs of their own, and reports its losses.
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

// clusterProject is a project in a folder, on a cluster.
type clusterProject struct {
	name, settings string // of the scheduler, and its section
	env            []string
	bin, dir       string
}

// newClusterProject builds the program.
func newClusterProject(t *testing.T, name, settings string, env []string) *clusterProject {
	t.Helper()

	x := &clusterProject{
		name: name, settings: settings, env: env, bin: filepath.Join(t.TempDir(), "pipeline"), dir: t.TempDir(),
	}
	if out, err := exec.Command("go", "build", "-o", x.bin, "../pipeline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return x
}

// in returns the project in another folder.
func (x *clusterProject) in(dir string) *clusterProject {
	y := *x
	y.dir = dir

	return &y
}

// config writes a configuration for each work directory, named like it.
func (x *clusterProject) config(t *testing.T, text string, works ...string) {
	t.Helper()

	for _, work := range works {
		put(t, x.dir, work+".yaml", strings.NewReplacer("WORK", strconv.Quote(work), "SCHEDULER", x.settings).Replace(text))
	}
}

// command is the program's, with its standard error so far.
func (x *clusterProject) command(t *testing.T, args ...string) (*exec.Cmd, fmt.Stringer) {
	t.Helper()

	f, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)

	t.Cleanup(func() { f.Close() })
	cmd := exec.Command(x.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = x.dir, x.env, f

	return cmd, content(f.Name())
}

// content is the path of a file that prints as its contents.
type content string

func (c content) String() string { b, _ := os.ReadFile(string(c)); return string(b) }

// eventually waits for a condition, for as long as a machine under load may need.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}

	return true
}

// run fails the test unless the program succeeds, and returns its messages.
func (x *clusterProject) run(t *testing.T, args ...string) string {
	t.Helper()

	cmd, stderr := x.command(t, append(args, "--progress", "plain")...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stderr)
	}

	return stderr.String()
}

// same compares what lies in a work directory with what a local run has made.
func (x *clusterProject) same(t *testing.T, work string) {
	t.Helper()

	// The page is about the run itself.
	require.NoError(t, sameTrees(filepath.Join(x.dir, "here"), filepath.Join(x.dir, work), "report.html"))
}

// program runs a program of the cluster's.
func (x *clusterProject) program(t *testing.T, words ...string) string {
	t.Helper()

	c := exec.Command("/usr/bin/env", words...)
	c.Env, c.Dir = x.env, x.dir

	out, err := c.CombinedOutput()
	require.NoError(t, err, "%v: %v: %s", words, err, out)

	return strings.TrimSpace(string(out))
}

// clusterDriver is a run on the cluster that goes on.
type clusterDriver struct {
	cmd    *exec.Cmd
	stderr fmt.Stringer
	began  time.Time
}

// start starts a run on the cluster.
func (x *clusterProject) start(t *testing.T, work string) *clusterDriver {
	t.Helper()

	cmd, stderr := x.command(t, "run", work+".yaml", "--executor", x.name, "--progress", "plain")
	require.NoError(t, cmd.Start())

	return &clusterDriver{cmd, stderr, time.Now()}
}

// says waits until the run prints words.
func (d *clusterDriver) says(t *testing.T, words string) {
	t.Helper()

	if !eventually(func() bool { return strings.Contains(d.stderr.String(), words) }) {
		_ = d.cmd.Process.Kill()
		t.Fatalf("no word of %q: %v: %s", words, d.cmd.Wait(), d.stderr)
	}
}

// ends waits for the end of the run, which must be good.
func (d *clusterDriver) ends(t *testing.T) {
	t.Helper()

	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, d.stderr)
	}
}

// workers are the processes whose program lies in the cache of a work directory.
func (x *clusterProject) workers(work string) (pids []int) {
	cache := filepath.Join(x.dir, work, ".cache")

	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, l := range links {
		if exe, err := os.Readlink(l); err == nil && strings.HasPrefix(exe, cache) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(l)))
			pids = append(pids, pid)
		}
	}

	return pids
}

// trains waits until both trainings of longRun are at work.
func (x *clusterProject) trains(t *testing.T, work string, d *clusterDriver) {
	t.Helper()

	if !eventually(func() bool {
		journal, _ := os.ReadFile(filepath.Join(x.dir, work, ".cache", "progress", "run.jsonl"))
		return len(regexp.MustCompile(`"event":"start","task":"[^"]+/train/`).FindAll(journal, -1)) == 2
	}) {
		_ = d.cmd.Process.Kill()
		t.Fatalf("no trainings at work: %v: %s", d.cmd.Wait(), d.stderr)
	}
}

// killed is a run of which one training's worker is killed, and the other's job cancelled: both are tried again.
// Then the driver is killed, and started again, which makes the rest.
func (x *clusterProject) killed(t *testing.T, cancel func(t *testing.T)) {
	t.Helper()

	y := x.in(t.TempDir())
	y.config(t, longRun, "here", "there")
	y.run(t, "run", "here.yaml")

	d := y.start(t, "there")
	y.trains(t, "there", d)

	for _, pid := range y.workers("there")[:1] {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}

	cancel(t)

	again := "tried again, attempt 2 of 3: its "
	assert.True(t, eventually(func() bool { return strings.Count(d.stderr.String(), again) == 2 }),
		"no word of the killed worker and the cancelled job: %s", d.stderr)
	assert.True(t, eventually(func() bool { return len(y.workers("there")) > 0 }), "no worker comes again: %s", d.stderr)

	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	t.Logf("%s", d.stderr)

	s := y.run(t, "run", "there.yaml", "--executor", x.name)
	assert.True(t, regexp.MustCompile(`[1-9]\d* jobs of an earlier run are withdrawn`).MatchString(s),
		"no word of the former driver's jobs: %s", s)

	y.same(t, "there")
}

// noPlace is a run while no job can begin: reported within 20 s of the submission, by the program's clock, with words
// of the scheduler's. Once there is place it goes on.
func (x *clusterProject) noPlace(t *testing.T, why string, free func(t *testing.T)) {
	t.Helper()

	y := x.in(t.TempDir())
	y.config(t, clusterRun, "here", "there")
	y.run(t, "run", "here.yaml")

	d := y.start(t, "there")
	d.says(t, "nothing runs: ")

	s := d.stderr.String()
	t.Logf("after %.0f s: %s", time.Since(d.began).Seconds(), s)

	assert.True(t, regexp.MustCompile(`\b1[2-9] s ago have not begun`).MatchString(s), "reported late: %s", s)

	if !regexp.MustCompile(why).MatchString(s) || strings.Contains(s, " left") {
		t.Errorf("the scheduler's reason is not named, or a time is left while nothing runs: %s", s)
	}

	free(t)
	d.ends(t)
	y.same(t, "there")
}

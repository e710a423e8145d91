package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

	"doubletake/pipeline"
	"doubletake/pipeline/engine/slurm/slurmtest"
	"doubletake/pipeline/runs"
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

		ts.Check(ts.Exec("pipeline", "exec", "--index", strconv.Itoa(t.Index)))

		if out := ts.ReadFile("stdout"); !strings.HasSuffix(out, ": made\n") {
			ts.Fatalf("task %d: %q", t.Index, out)
		}
	}
}

// clusterRun is a real project, small: sound is simulated, read, analysed,
// learned from, with groups left out, and reported.
const clusterRun = `version: 1
workdir: WORK
executor:
  slurm: {mem: 300M, time: 10, stages: {train: {time: 20}}}
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

// publishedBy reads everything a run published except files about the run itself:
// the lock, the cache and the page.
func publishedBy(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if d.Name() == ".cache" {
			return fs.SkipDir
		}

		if d.IsDir() || d.Name() == ".lock" || d.Name() == "report.html" || d.Name() == pipeline.ProgressFile {
			return nil
		}

		rel, err := filepath.Rel(dir, p)
		if err == nil {
			files[rel], err = os.ReadFile(p)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return files
}

// realCluster returns an empty project on a real cluster, with the program.
func realCluster(t *testing.T) *slurmProject {
	t.Helper()

	if testing.Short() || os.Getenv("DOUBLETAKE_REQUIRE_SLURM") != "1" {
		t.Skip("a real cluster takes minutes: DOUBLETAKE_REQUIRE_SLURM=1")
	}

	bin := filepath.Join(t.TempDir(), "pipeline") // removed after the cluster is down
	c, why := slurmtest.Up()
	slurmtest.Required(t, c, why)
	t.Cleanup(c.Down)

	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return &slurmProject{c: c, env: c.Env(), bin: bin, dir: t.TempDir()}
}

// The program itself on a real cluster.
func TestSlurm(t *testing.T) {
	// The project's folder and the work directory are named as nobody should.
	x := realCluster(t)
	x.dir = filepath.Join(x.dir, "o'neill $(touch evil) %j")
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		t.Fatal(err)
	}

	x.config(t, "here.yaml", "here", "")
	x.run(t, "run", "here.yaml")
	walltime := x.walltime(t)
	t.Run("same bytes", x.sameBytes)
	t.Run("driver killed", x.driverKilled)
	t.Run("held out", x.heldOut)
	t.Run("mixed kernels", x.mixedKernels)
	t.Run("interrupted twice", x.interruptedTwice)
	t.Run("cancelled", x.cancelled)
	t.Run("walltime", walltime)

	if list, _ := filepath.Glob(filepath.Join(x.dir, "*evil*")); len(list) > 0 {
		t.Errorf("a shell made %q", list)
	}
}

// longRun trains for some ten seconds, in which checkpoints are left, in jobs
// that may take a minute.
const longRun = `version: 1
workdir: WORK
executor:
  slurm: {mem: 300M, time: 10, stages: {train: {time: 1}}}
experiments:
  toy:
    ingest: {simulate: {campaign: toy, seed: 3, triplets: 1000}}
    train:
      inputs: [x]
      standardise: false
      optimizer: {epochs: 15000}
      seeds: 1
      splits: {gap: {test: {x: {min: 2, max: 4}}}}
`

// walltime starts a run whose training exceeds the time limit of its job, and
// returns a function that waits for its end, so that other tests run meanwhile: it
// takes more than a minute. The training is stopped (SIGSTOP) after its first checkpoint, so that
// no machine is fast enough to come to its end in time. Slurm ends the job at
// its limit; the next one goes on from the checkpoint, which costs no attempt,
// and gives the bytes of a training that was left alone.
func (x *slurmProject) walltime(t *testing.T) func(*testing.T) {
	t.Helper()

	y := &slurmProject{c: x.c, env: x.env, bin: x.bin, dir: t.TempDir()}
	for _, work := range []string{"here", "there"} {
		if err := os.WriteFile(filepath.Join(y.dir, work+".yaml"), []byte(strings.Replace(longRun, "WORK", work, 1)),
			0o644); err != nil {
			t.Fatal(err)
		}
	}

	cmd, stderr := y.command(t, "run", "there.yaml", "--executor", "slurm", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended, stopped := make(chan error, 1), make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	go func() {
		cache := filepath.Join(y.dir, "there", ".cache")
		if !eventually(func() bool {
			left, _ := filepath.Glob(filepath.Join(cache, "scratch", "*", "checkpoint"))
			return len(left) > 0
		}) {
			stopped <- errors.New("no checkpoint comes about")
			return
		}

		// The worker is the process whose program lies in the cache.
		n := 0

		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, l := range links {
			if exe, err := os.Readlink(l); err == nil && strings.HasPrefix(exe, cache) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(l)))
				if syscall.Kill(pid, syscall.SIGSTOP) == nil {
					n++
				}
			}
		}

		if n != 1 {
			stopped <- fmt.Errorf("%d workers were stopped, expected one", n)
			return
		}

		stopped <- nil
	}()

	return func(t *testing.T) {
		y.run(t, "run", "here.yaml")

		if err := <-stopped; err != nil {
			_ = cmd.Process.Kill()
			t.Fatalf("%v: %s", err, stderr)
		}

		if err := <-ended; err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}

		if s := stderr.String(); !strings.Contains(s, "toy/train/gap/seed-0: tried again, it goes on where it stopped: its "+
			"job reached its time limit (1)") {
			t.Errorf("no reason for the second start of the training in %s", s)
		}

		manifests, _ := filepath.Glob(filepath.Join(y.dir, "there", ".cache", "objects", "*", "*", "manifest.json"))

		notes := ""
		for _, m := range manifests {
			b := contents(t, m)

			notes += regexp.MustCompile(`went on after [1-9]\d* of 15000 epochs`).FindString(string(b))
		}

		t.Log(notes)

		if notes == "" {
			t.Errorf("the training did not go on from its checkpoint: no such note in %d manifests", len(manifests))
		}

		y.same(t, "there")
	}
}

// slurmProject is the project, for which a run on this machine has made here.
type slurmProject struct {
	c        *slurmtest.Cluster // nil on another engine
	env      []string
	bin, dir string
}

func (x *slurmProject) config(t *testing.T, name, work, setup string) {
	t.Helper()

	yaml := strings.NewReplacer("WORK", strconv.Quote(work), "slurm: {", "slurm: {"+setup).Replace(clusterRun)
	put(t, x.dir, name, yaml)
}

// command is the program's, with its standard error so far.
func (x *slurmProject) command(t *testing.T, args ...string) (*exec.Cmd, fmt.Stringer) {
	t.Helper()

	f, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}

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
func (x *slurmProject) run(t *testing.T, args ...string) string {
	t.Helper()

	cmd, stderr := x.command(t, append(args, "--progress", "plain")...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stderr)
	}

	return stderr.String()
}

// same compares what lies in a work directory with what a local run has made.
func (x *slurmProject) same(t *testing.T, work string) {
	t.Helper()

	want, got := publishedBy(t, filepath.Join(x.dir, "here")), publishedBy(t, filepath.Join(x.dir, work))
	if len(want) < 20 || len(got) != len(want) {
		t.Errorf("%d files in %s, %d by a local run", len(got), work, len(want))
	}

	for name, b := range want {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s/%s differs from that of a local run", work, name)
		}
	}
}

// The same bytes as on this machine; the second run submits nothing.
func (x *slurmProject) sameBytes(t *testing.T) {
	x.config(t, "there.yaml", "the work\\dir", "")
	x.run(t, "run", "there.yaml", "--executor", "slurm")
	x.same(t, "the work\\dir")

	// The trainings that leave a group out: on 3, 4 and 5 blades, and on two of them each.
	if made := x.madeByNodes(t, "rotor/train/on/"); len(made) != 4 {
		t.Errorf("nodes made %q, expected 4 trainings", made)
	}

	// The records of both runs have the same configuration's keys, data and numbers.
	here, _, err := runs.History(filepath.Join(x.dir, "here"))

	there, _, err2 := runs.History(filepath.Join(x.dir, "the work\\dir"))
	if err != nil || err2 != nil || len(here) != 1 || len(there) != 1 || len(there[0].Metrics) == 0 {
		t.Fatal(len(here), err, len(there), err2)
	}

	d := runs.DiffRecords(&here[0], &there[0])
	for _, m := range d.Metrics {
		if fmt.Sprint(m.A) != fmt.Sprint(m.B) {
			t.Errorf("%+v", m)
		}
	}

	if len(d.Settings) > 0 {
		t.Errorf("%+v", d.Settings)
	}

	jobs := x.c.Jobs(t, x.dir)

	s := x.run(t, "run", "there.yaml", "--executor", "slurm")
	if n := x.c.Jobs(t, x.dir); !strings.Contains(s, "everything is up to date") || jobs == 0 || n != jobs {
		t.Errorf("the second run: %d jobs after %d, %s", n, jobs, s)
	}
}

// A killed driver's run is finished by the next.
func (x *slurmProject) driverKilled(t *testing.T) {
	x.config(t, "killed.yaml", "killed", "")

	cmd, stderr := x.command(t, "run", "killed.yaml", "--executor", "slurm", "--progress", "none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	some := eventually(func() bool {
		done, _ := filepath.Glob(filepath.Join(x.dir, "killed", ".cache", "objects", "*", "*"))
		return len(done) >= 8
	})

	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	if !some {
		t.Fatalf("nothing comes about: %s", stderr)
	}

	x.run(t, "run", "killed.yaml", "--executor", "slurm")
	x.same(t, "killed")
}

// report --held-out uses the executor too, for a split that is in no file. The
// models are those that the local report trains.
func (x *slurmProject) heldOut(t *testing.T) {
	before := x.c.Jobs(t, x.dir)
	s := x.run(t, "report", "there.yaml", "--held-out", "blades=4", "--held-out", "blades = 3", "--executor", "slurm")

	for _, stage := range []string{"train", "report"} {
		made := x.c.Slurm(t, "squeue", "-h", "-r", "--states=all", "-o", "%j %Z")
		if !strings.Contains(made, "dt-"+stage+"-") {
			t.Errorf("no job of stage %s: %s", stage, made)
		}
	}

	if n := x.c.Jobs(t, x.dir); n-before < 2 {
		t.Errorf("%d jobs, expected at least one of trainings and one of the report; its messages: %s", n-before, s)
	}

	made := append(x.madeByNodes(t, "rotor/train/blades=3/"), x.madeByNodes(t, "rotor/train/blades=4/")...)
	if len(made) < 4 {
		t.Errorf("nodes made %q, expected 2 splits × 2 seeds", made)
	}

	x.run(t, "report", "here.yaml", "--held-out", "blades=4", "--held-out", "blades = 3")
	x.same(t, "the work\\dir")
}

// madeByNodes lists the tasks with a prefix that sameBytes' runs have made, and fails
// the test if the driver made one.
func (x *slurmProject) madeByNodes(t *testing.T, prefix string) (made []string) {
	t.Helper()
	host, _ := os.Hostname()

	manifests, _ := filepath.Glob(filepath.Join(x.dir, "the work\\\\dir", ".cache", "objects", "*", "*", "manifest.json"))
	for _, m := range manifests {
		var doc struct{ Task, Host string }
		if b, err := os.ReadFile(m); err != nil || json.Unmarshal(b, &doc) != nil {
			t.Fatal(m, err)
		}

		if strings.HasPrefix(doc.Task, prefix) {
			made = append(made, doc.Task)
			if doc.Host == host {
				t.Errorf("%s was made by the driver", doc.Task)
			}
		}
	}

	return made
}

// Nodes whose numeric kernels are others are refused by the probe, by name and
// with the key that mends it; with that key they agree. Here the environment of
// the jobs makes them other.
func (x *slurmProject) mixedKernels(t *testing.T) {
	if out, _ := exec.Command(x.bin, "version", "--json").Output(); strings.Contains(string(out), `"portable"`) {
		t.Skip("this machine has the portable kernels alone")
	}

	x.config(t, "mixed.yaml", "mixed", "setup: ['export DOUBLETAKE_KERNELS=portable'], ")
	cmd, stderr := x.command(t, "run", "mixed.yaml", "--executor", "slurm", "--progress", "plain")
	err := cmd.Run()
	if s := stderr.String(); err == nil || !strings.Contains(s, "probe the nodes: node n") ||
		!strings.Contains(s, `with the key kernels) is "portable" there and "`) {
		t.Errorf("%v: %s", err, s)
	}

	if n := x.c.Jobs(t, filepath.Join(x.dir, "mixed")); n != 0 {
		t.Errorf("%d jobs were submitted all the same", n)
	}
}

// trainingWaits starts a run of which the trainings do not come to an end, and
// returns when they run.
func (x *slurmProject) trainingWaits(t *testing.T, work string) (*exec.Cmd, fmt.Stringer) {
	t.Helper()
	x.config(t, work+".yaml", work, "")
	file := filepath.Join(x.dir, work+".yaml")
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(b, []byte("{time: 20}"), []byte("{time: 20, setup: [sleep 600]}"), 1), 0o644)
	}

	if err != nil {
		t.Fatal(err)
	}

	cmd, stderr := x.command(t, "run", work+".yaml", "--executor", "slurm", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if !eventually(func() bool { return x.training(t, work) }) {
		_ = cmd.Process.Kill()
		t.Fatalf("no training begins: %v, %s", cmd.Wait(), stderr)
	}

	return cmd, stderr
}

// training reports whether jobs of trainings run.
func (x *slurmProject) training(t *testing.T, work string) bool {
	for _, l := range strings.Split(x.c.Slurm(t, "squeue", "-h", "-r", "--states=RUNNING", "-o", "%j %Z"), "\n") {
		if name, at, _ := strings.Cut(l, " "); strings.HasPrefix(name, "dt-train-") &&
			strings.HasPrefix(at, filepath.Join(x.dir, work)) {
			return true
		}
	}

	return false
}

func (x *slurmProject) queueEmpties(t *testing.T, work string) {
	t.Helper()

	if !eventually(func() bool {
		return x.c.Jobs(t, filepath.Join(x.dir, work), "PENDING", "RUNNING",
			"COMPLETING") == 0
	}) {
		t.Fatalf("jobs stay:\n%s", x.c.Slurm(t, "squeue"))
	}
}

// The second interrupt cancels the jobs that the first would have left.
func (x *slurmProject) interruptedTwice(t *testing.T) {
	cmd, stderr := x.trainingWaits(t, "twice")
	_ = cmd.Process.Signal(os.Interrupt)

	if !eventually(func() bool { return strings.Contains(stderr.String(), "jobs stay in the queue or go on") }) {
		t.Errorf("no word about the jobs left: %s", stderr)
	}

	_ = cmd.Process.Signal(os.Interrupt)
	err := cmd.Wait()

	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%v: %s", err, stderr)
	}

	x.queueEmpties(t, "twice")
}

// pipeline cancel ends the jobs of a driver that was killed; the next run makes
// the missing results.
func (x *slurmProject) cancelled(t *testing.T) {
	cmd, _ := x.trainingWaits(t, "left")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	if !x.training(t, "left") {
		t.Error("the jobs ended with their driver")
	}

	cancel, stderr := x.command(t, "cancel", "left.yaml")
	out, err := cancel.Output()
	if err != nil || !regexp.MustCompile(`^cancelled [1-9]\d* jobs\n$`).Match(out) {
		t.Errorf("%q, %v: %s", out, err, stderr)
	}

	x.queueEmpties(t, "left")
	x.config(t, "left.yaml", "left", "")
	x.run(t, "run", "left.yaml", "--executor", "slurm")

	// As it is without what report --held-out has added to the other two.
	if _, err := os.Stat(filepath.Join(x.dir, "left", "rotor", "report", "metrics.json")); err != nil {
		t.Error(err)
	}
}

package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm/job"
	"doubletake/pipeline/engine/slurm/slurmtest"
	"doubletake/pipeline/kv"
)

// 343 tasks of 0.1 s are 5.7 s on 6 slots; packed into jobs, all is done in 25 s.
// That is promised for an idle machine: one whose processors are shared has as
// many times longer.
func TestShortTasks(t *testing.T) {
	c := alone(t)
	c.Ready(t, slurmtest.Test)
	y, dir := newToy(t, 343, 100)
	y.Options.Partition = "" // the default, of 6 slots
	start := time.Now()

	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	took, load := time.Since(start), 0.0
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(b), &load)
	}

	y.check(t)
	y.once(t)
	jobs := c.Jobs(t, dir)
	t.Logf("343 tasks of 0.1 s in %.1f s, %d jobs, load %g", took.Seconds(), jobs, load)

	if limit := 25 * max(1, load/float64(runtime.NumCPU())); took.Seconds() > limit {
		t.Errorf("took %v, allowed were %.0f s", took, limit)
	}

	if jobs > 343/4 {
		t.Errorf("%d jobs for 343 short tasks", jobs)
	}
}

// What a user's habits, or a job that the driver itself runs in, have put into
// the environment does not reach sbatch.
func TestInheritedEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("SBATCH_PARTITION", "nowhere")
	t.Setenv("SLURM_JOB_ID", "1")
	t.Setenv("SQUEUE_FORMAT", "%i")
	t.Setenv("SQUEUE_STATES", "PENDING")
	y, dir := newToy(t, 2, 10)
	y.Options.Partition = "" // or SBATCH_PARTITION would not matter
	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	y.check(t)
}

// A run gives the outputs the tasks define; the second submits nothing.
func TestSame(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 60, 20)
	res, _, err := y.run(t.Context(), t, dir, false)
	if err != nil || res.Ran != 61 {
		t.Fatalf("ran %d: %v", res.Ran, err)
	}

	y.check(t)
	y.once(t)
	before := c.Jobs(t, dir)

	res, _, err = y.run(t.Context(), t, dir, false)
	if n := c.Jobs(t, dir); err != nil || res.Ran != 0 || res.Cached != 61 || before == 0 || n != before {
		t.Errorf("second run: ran %d, %d jobs after %d: %v", res.Ran, n, before, err)
	}

	if _, err := os.Stat(filepath.Join(y.Work, ".cache", "slurm", "journal")); !os.IsNotExist(err) {
		t.Errorf("a journal stays when nothing is in hand: %v", err)
	}
}

// A killed driver finds its jobs again: nothing is lost, nothing runs twice.
func TestDriverKilled(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 24, 0)
	y.hold()
	d, _ := y.driver(t, c, dir)
	until(t, "8 tasks begin", func() bool { return y.begun() >= 8 })
	kill(d)
	y.letGo(t)

	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	y.check(t)
	y.once(t)
}

// A driver killed the moment it has written the name of a batch, before sbatch
// came through: the next one must not wait for jobs that never were.
func TestJournalWithoutJobs(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 6, 10)
	root := filepath.Join(y.Work, ".cache", "slurm")
	b := &Batch{
		Format: BatchFormat, Name: "dt-make-never-1", Stage: "make",
		Elements: [][]engine.Spec{{{Task: "make/000", Key: strings.Repeat("0", 64)}}},
	}

	if err := b.Write(filepath.Join(root, "batches", b.Name)); err != nil {
		t.Fatal(err)
	}

	j, err := openJournal(filepath.Join(root, "journal"))
	if err == nil {
		err = errors.Join(j.write(entry{Open: b.Name}), j.f.Close())
	}

	if err != nil {
		t.Fatal(err)
	}

	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	y.check(t)
	y.once(t)
}

// A controller that is away when the driver comes to submit, and once more for
// 15 s while jobs run: an error is not an end, and an array submitted while it
// was away is not submitted twice. It is a cluster of its own, and the driver a
// process.
func TestControllerDown(t *testing.T) {
	parallel(t, true)

	c, err := slurmtest.Up()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(c.Down)
	y, dir := newToy(t, 18, 0)
	y.hold()
	y.Options.Partition = ""
	c.Do(t, "controller-off")
	d, messages := y.driver(t, c, dir)
	until(t, "a message that nothing can be submitted",
		func() bool { return strings.Contains(messages.String(), "jobs cannot be submitted now") })
	c.Do(t, "controller-on")
	until(t, "6 tasks begin", func() bool { return y.begun() >= 6 })
	c.Do(t, "controller-off")
	y.letGo(t) // six end while it is away
	time.Sleep(15 * time.Second)

	if n := y.made(); n != 6 {
		t.Errorf("%d tasks were made while the controller was away, expected 6", n)
	}

	c.Do(t, "controller-on")
	end := make(chan error, 1)
	go func() { end <- d.Wait() }()

	select {
	case err = <-end:
	case <-time.After(patient):
		err = errors.New("the driver does not end")
	}

	if err != nil {
		t.Fatalf("%v: %s\n%s\n%s", err, messages, c.Slurm(t, "squeue", "-r", "--states=all"), c.Logs())
	}

	y.check(t)
	y.once(t)

	for _, word := range []string{
		"jobs are accepted again", "the Slurm controller does not answer",
		"the Slurm controller answers again",
	} {
		if !strings.Contains(messages.String(), word) {
			t.Errorf("no message that %s: %s", word, messages)
		}
	}
}

// A node that loses power: its tasks run again elsewhere, the others do not.
func TestNodeKilled(t *testing.T) {
	c := parallel(t, true)
	c.Ready(t, power)
	y, dir := newToy(t, 18, 0)
	y.hold()
	y.Options.Partition = power.Name
	y.Retries = 0 // what Slurm queues again has not failed
	node := ""
	wait := background(t, func() {
		until(t, "6 tasks begin", func() bool { return y.begun() >= 6 })
		node = y.node("make/000")
		c.Do(t, "node-off", node)
		y.letGo(t)
	})

	_, messages, err := y.run(t.Context(), t, dir, false)
	wait()
	c.Do(t, "node-on", node)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(messages, "\n"))
	}

	y.check(t)

	again := 0
	for id, n := range y.starts() {
		if n > 1 {
			again++
			if first := y.notes(id, "start "+node+" "); n > 2 || len(first) == 0 {
				t.Errorf("%s ran %d times; the node that failed is %s: %q", id, n, node, y.notes(id, "start"))
			}
		}
	}

	if again == 0 || again > 2 {
		t.Errorf("%d tasks ran again; two were on the node", again)
	}
}

// Only the node's daemon dies: its tasks go on, and Slurm starts second copies
// of them. When both are there they are let go at once: one of them wins,
// nothing is torn, and no job is left behind.
func TestDaemonKilled(t *testing.T) {
	c := parallel(t, true)
	c.Ready(t, daemon)
	y, dir := newToy(t, 2, 0)
	y.hold()
	y.Options.Partition = daemon.Name
	y.Retries = 0 // what Slurm queues again has not failed
	node := ""
	wait := background(t, func() {
		until(t, "2 tasks begin", func() bool { return y.begun() == 2 })
		node = y.node("make/000")
		c.Do(t, "daemon-off", node)
		until(t, "a second copy begins", func() bool { return y.starts()["make/000"] == 2 })
		y.letGo(t)
	})

	_, messages, err := y.run(t.Context(), t, dir, false)
	wait()
	c.Do(t, "node-on", node)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(messages, "\n"))
	}

	for _, task := range y.Tasks {
		if got, err := os.ReadFile(filepath.Join(y.Work, "published", strings.ReplaceAll(task.ID, "/", "_"))); err != nil ||
			string(got) != y.want(task.ID) {
			t.Errorf("%s: %q, %v", task.ID, got, err)
		}
	}

	until(t, "the queue is empty", func() bool { return c.Jobs(t, dir, "PENDING", "RUNNING", "COMPLETING") == 0 })
}

// A task that is killed is tried again, it alone.
func TestTaskKilled(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 12, 300)
	y.Tasks[3].Mode = "die-once"
	_, messages, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatal(err)
	}

	y.check(t)

	for id, n := range y.starts() {
		if want := map[bool]int{true: 2, false: 1}[id == "make/003"]; n != want {
			t.Errorf("%s was begun %d times, expected %d", id, n, want)
		}
	}

	if s := strings.Join(messages, "\n"); !strings.Contains(s, "make/003: tried again, attempt 2 of 3") {
		t.Errorf("no such message: %s", s)
	}
}

// A task that always fails ends the run after its retries, with its own words
// and where its log is; bad data are not tried again; the rest is made.
func TestAlwaysFails(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 8, 50)
	y.Tasks[2].Mode, y.Tasks[5].Mode = "fail", "data"
	_, _, err := y.run(t.Context(), t, dir, true)

	var te *TaskError
	if !errors.Is(err, engine.ErrFailed) || !errors.As(err, &te) {
		t.Fatalf("error: %v", err)
	}

	if te.Task != "make/002" || te.Text != "this toy always fails" || te.Of != 3 || te.Code != 1 {
		t.Errorf("first failure: %+v", te)
	}

	if b, err := os.ReadFile(te.Log); err != nil ||
		!strings.Contains(string(b), "make/002: failed: this toy always fails") {
		t.Errorf("log %s: %q, %v", te.Log, b, err)
	}

	n := y.starts()
	if n["make/002"] != 3 || n["make/005"] != 1 || n["make/000"] != 1 || n["join"] != 0 {
		t.Errorf("begun: %v", n)
	}

	// Run again once it can succeed: attempts are counted anew, the others stay.
	y.Tasks[2].Mode, y.Tasks[5].Mode = "", ""
	if _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}

	y.check(t)

	if n := y.starts(); n["make/000"] != 1 || n["make/002"] != 4 {
		t.Errorf("begun: %v", n)
	}
}

// A task that is killed every time asks for more memory when it is tried again,
// and the error shows how its log ends.
func TestKilledForMemory(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 1, 0)
	y.Tasks[0].Mode, y.Retries = "die", 1
	y.Options.Mem, y.Options.RetryMem = "100M", 2
	_, _, err := y.run(t.Context(), t, dir, false)

	var te *TaskError
	if !errors.As(err, &te) || te.Of != 2 || !strings.HasPrefix(te.Text, "its worker was killed") ||
		!strings.Contains(te.Tail, " tasks") {
		t.Errorf("error: %v", err)
	}

	var mem []string
	for _, l := range strings.Split(c.Slurm(t, "squeue", "-h", "-r", "-t", "all", "-o", "%j %m %Z"), "\n") {
		if f := strings.Fields(l); len(f) > 2 && strings.HasPrefix(f[0], "dt-make-") && strings.HasPrefix(f[2], dir) {
			mem = append(mem, f[1])
		}
	}

	slices.Sort(mem)

	if strings.Join(mem, " ") != "100M 200M" {
		t.Errorf("the jobs asked for %q", mem)
	}
}

// Attempts outlive the driver.
func TestAttemptsPersist(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 2, 10)
	y.Tasks[0].Mode, y.Retries = "fail", 3
	y.Tasks[1].Mode, y.Tasks[1].Weight = "hold", 1000 // keeps a job in hand, and so the journal
	d, _ := y.driver(t, c, dir)
	until(t, "the second attempt", func() bool { return len(y.notes("make/000", "start")) >= 2 })
	kill(d)
	background(t, func() {
		until(t, "the fourth attempt", func() bool { return len(y.notes("make/000", "start")) >= 4 })
		y.letGo(t)
	})

	_, _, err := y.run(t.Context(), t, dir, true)

	var te *TaskError
	if !errors.As(err, &te) || te.Task != "make/000" || te.Of != 4 {
		t.Errorf("error: %v", err)
	}

	if n := len(y.notes("make/000", "start")); n != 4 {
		t.Errorf("begun %d times, expected 1 + 3 retries over both drivers", n)
	}
}

// What a user cancels is not submitted again.
func TestUserCancels(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 6, 0)
	y.hold()
	background(t, func() {
		until(t, "6 tasks begin", func() bool { return y.begun() == 6 })

		// By name and index, as a user does who saw it in squeue.
		for _, l := range strings.Split(c.Slurm(t, "squeue", "-h", "-r", "-t", "RUNNING", "-o", "%F_%K %Z"), "\n") {
			if job, at, _ := strings.Cut(l, " "); strings.HasSuffix(job, "_4") && strings.HasPrefix(at, dir) {
				c.Slurm(t, "scancel", job)
			}
		}

		until(t, "one is cancelled", func() bool { return c.Jobs(t, dir, "CANCELLED") == 1 })
		y.letGo(t)
	})

	_, _, err := y.run(t.Context(), t, dir, true)
	if err == nil || !strings.Contains(err.Error(), "make/004: its job was cancelled by scancel") {
		t.Errorf("error: %v", err)
	}

	for id, n := range y.starts() {
		if want := map[bool]int{true: 0, false: 1}[id == "join"]; n != want {
			t.Errorf("%s was begun %d times, expected %d", id, n, want)
		}
	}

	if n := c.Jobs(t, dir); n != 6 {
		t.Errorf("%d jobs were submitted, expected 6", n)
	}

	if _, _, err := y.run(t.Context(), t, dir, false); err != nil { // asked for again
		t.Fatal(err)
	}

	y.check(t)
}

// An interrupted run leaves its jobs to the next one.
func TestInterruptedRunResumes(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 18, 0)
	y.hold()
	ctx, cancel := context.WithCancel(t.Context())
	background(t, func() {
		until(t, "6 tasks begin", func() bool { return y.begun() >= 6 })
		cancel()
	})

	_, messages, err := y.run(ctx, t, dir, false)
	if !errors.Is(err, context.Canceled) || !strings.Contains(strings.Join(messages, "\n"),
		" jobs stay in the queue or go on") {
		t.Fatalf("%v, messages %q", err, messages)
	}

	y.notify = func(s string) {
		if strings.Contains(s, "of an earlier run are in hand") {
			y.letGo(t)
		}
	}

	_, messages, err = y.run(t.Context(), t, dir, false)
	if err != nil || !strings.Contains(strings.Join(messages, "\n"), "of an earlier run are in hand") {
		t.Fatalf("%v, messages %q", err, messages)
	}

	y.check(t)
	y.once(t)
}

// A second interrupt, or pipeline cancel, ends what runs and empties the queue.
func TestCancel(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 18, 0)
	y.hold()
	y.Options.MaxRunning = 6 // the others wait
	x := New(y.options(y.write(t, dir)))
	ctx, cancel := context.WithCancel(t.Context())
	background(t, func() {
		until(t, "6 tasks begin", func() bool { return y.begun() >= 6 })
		cancel()
		x.Cancel()
	})

	if _, err := engine.Run(ctx, y.plan(), engine.Options{Executor: x}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	empty := func() bool { return c.Jobs(t, dir, "PENDING", "RUNNING", "COMPLETING") == 0 }
	until(t, "the queue is empty", empty)

	// A living driver of which somebody cancels the jobs ends.
	end := make(chan error, 1)
	background(t, func() {
		_, _, err := y.run(t.Context(), t, dir, false)
		end <- err
	})

	until(t, "jobs run again", func() bool { return c.Jobs(t, dir, "RUNNING") >= 6 })

	if n, err := Cancel(y.Work); err != nil || n < 6 {
		t.Errorf("cancelled %d jobs: %v", n, err)
	}

	select {
	case err := <-end:
		if err == nil || !strings.Contains(err.Error(), "cancelled by scancel") {
			t.Errorf("error: %v", err)
		}

	case <-time.After(patient):
		t.Error("the driver does not end")
		y.letGo(t)
	}

	until(t, "the queue is empty again", empty)
}

// A reason to wait that will not pass is reported after a while: the limit of the
// partition is one minute.
func TestPendingReason(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 2, 10)
	y.Options.Partition, y.Options.Time = brief.Name, "5"
	notes := ""
	x := New(y.options(y.write(t, dir)))
	x.probed = true // it would wait for the same reason
	_, err := engine.Run(t.Context(), y.plan(), engine.Options{Executor: x, Observe: func(e engine.Event) {
		if e.Kind == "note" {
			notes += e.Note + "\n"
			go func() { _, _ = Cancel(y.Work) }()
		}
	}})

	if !strings.Contains(notes, "waits in the queue with reason PartitionTimeLimit") {
		t.Errorf("notes %q; error %v", notes, err)
	}

	if err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("error after cancel: %v", err)
	}
}

// Where all nodes are drained, or taken by another job, the driver reports Slurm's reason within
// 15 s. When nodes are free again, the tasks run.
func TestDrained(t *testing.T) {
	c := alone(t)
	c.Ready(t, power)
	nodes := strings.TrimSpace(c.Slurm(t, "sinfo", "--noheader", "--partition="+power.Name, "--format=%N"))
	c.Slurm(t, "scontrol", "update", "NodeName="+nodes, "State=DRAIN", "Reason=disk")

	full := strings.TrimSpace(c.Slurm(t, "sbatch", "--parsable", "--partition="+brief.Name, "--exclusive",
		"--output=/dev/null", "--wrap=sleep 50"))
	until(t, "the other job runs", func() bool {
		return strings.Contains(c.Slurm(t, "squeue", "--states=R", "--jobs="+full), full)
	})

	type waiting struct {
		*toy
		driver   *exec.Cmd
		messages *words
		reason   string
		began    time.Time
	}

	var all []waiting
	for _, w := range []struct{ partition, reason string }{{power.Name, "DRAINED"}, {brief.Name, "RESOURCES"}} {
		y, dir := newToy(t, 2, 10)
		y.Options.Partition, y.Options.Grace = w.partition, 10*time.Second
		began := time.Now()
		d, messages := y.driver(t, c, dir)
		all = append(all, waiting{y, d, messages, w.reason, began})
	}

	for _, w := range all {
		until(t, "it is reported", func() bool { return strings.Contains(w.messages.String(), "nothing runs: ") })

		took := time.Since(w.began)
		t.Logf("%s: told after %.1f s", w.reason, took.Seconds())

		if took > 15*time.Second {
			t.Errorf("%s: reported after %s", w.reason, took)
		}
	}

	c.Slurm(t, "scontrol", "update", "NodeName="+nodes, "State=RESUME")
	c.Slurm(t, "scancel", full)

	for _, w := range all {
		if err := w.driver.Wait(); err != nil {
			t.Errorf("%v: %s", err, w.messages)
		}

		if _, reason, ok := strings.Cut(w.messages.String(), "jobs wait in the queue; Slurm's reason: "); !ok ||
			!strings.Contains(strings.ToUpper(reason), w.reason) {
			t.Errorf("the reason is not Slurm's, %s: %s", w.reason, w.messages)
		}

		w.check(t)
	}
}

// A node that does not see the work directory cannot start a job: it is excluded and named,
// and that is no attempt of a task, of which none is allowed twice here. First the probe falls
// on it, then jobs of an array, while other tasks run.
func TestBlindNode(t *testing.T) {
	c := alone(t)
	c.Ready(t, daemon)
	node := strings.Fields(c.Slurm(t, "sinfo", "--noheader", "-N", "--partition="+daemon.Name, "--format=%N"))[0]

	for _, falls := range []string{"probe", "array"} {
		y, dir := newToy(t, 20, 0)
		y.Options.Partition, y.Retries = daemon.Name, 0
		blind := func() {
			c.Do(t, "daemon-off", node)
			c.Do(t, "node-blind", node, dir)
		}

		wait := func() {}
		if falls == "probe" {
			blind()
			c.Ready(t, daemon)
		} else {
			y.hold()
			wait = background(t, func() {
				until(t, "4 tasks begin", func() bool { return y.begun() >= 4 })
				blind()
				y.letGo(t)
			})
		}

		_, messages, err := y.run(t.Context(), t, dir, false)
		wait()
		c.Do(t, "daemon-off", node)
		c.Do(t, "node-on", node)

		m := strings.Join(messages, "\n")
		if err != nil || strings.Contains(m, "attempt") ||
			!strings.Contains(m, "node "+node+" could not start a job and is excluded for the rest of this run") ||
			strings.Contains(m, "tried again, on other nodes: ") != (falls == "array") {
			t.Errorf("%s: %v: %s", falls, err, m)
		}

		y.check(t)
		y.once(t)
	}
}

// What sbatch refuses ends the run, with its words and without a second try.
func TestRefused(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 2, 10)
	y.Options.Partition = "no such"
	_, messages, err := y.run(t.Context(), t, dir, false)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "invalid partition") ||
		strings.Contains(strings.Join(messages, "\n"), "tried again") {
		t.Errorf("messages %q: %v", messages, err)
	}
}

// The probe reports nodes that do not agree with the driver, before any task is
// begun.
func TestProbe(t *testing.T) {
	parallel(t, false)
	y, dir := newToy(t, 2, 10)
	y.Options.Facts = []kv.Pair{{Key: "fact", Value: "other"}}
	_, _, err := y.run(t.Context(), t, dir, false)
	if err == nil || !strings.Contains(err.Error(),
		`does not agree with the machine of the run: fact is "same" there and "other" here`) || y.begun() != 0 {
		t.Errorf("%d begun: %v", y.begun(), err)
	}
}

// Arrays are split by MaxArraySize (40 in the tests' cluster), and never more
// than max_running jobs run.
func TestLimits(t *testing.T) {
	c := parallel(t, false)

	y, dir := newToy(t, 60, 60)
	for i := range y.Tasks {
		y.Tasks[i].Weight = 1000 // each a job of its own
	}

	y.Options.MaxRunning = 5
	y.Options.Pack = 1
	most, stop := 0, make(chan struct{})
	wait := background(t, func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				most = max(most, c.Jobs(t, dir, "RUNNING", "CONFIGURING"))
			}
		}
	})

	_, _, err := y.run(t.Context(), t, dir, false)
	close(stop)
	wait()
	if err != nil {
		t.Fatal(err)
	}

	y.check(t)
	y.once(t)

	if n := c.Jobs(t, dir); n != 61 {
		t.Errorf("%d jobs, expected 61", n)
	}

	if most > 5 || most < 2 {
		t.Errorf("%d jobs ran at a time, allowed are 5", most)
	}
}

// Jobs of an earlier configuration do not stay in the queue.
func TestSuperseded(t *testing.T) {
	c := parallel(t, false)
	y, dir := newToy(t, 24, 0)
	y.hold()
	d, _ := y.driver(t, c, dir)
	until(t, "all tasks begin", func() bool { return y.begun() == 24 })
	kill(d)

	for i := range y.Tasks {
		y.Tasks[i].Mode = ""
	}

	y.Salt = "other"
	_, messages, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(strings.Join(messages, "\n"), "jobs of an earlier run are cancelled") {
		t.Errorf("messages %q", messages)
	}

	y.check(t)
	until(t, "the queue is empty", func() bool { return c.Jobs(t, dir, "PENDING", "RUNNING", "COMPLETING") == 0 })
}

// Paths, names and commands that a shell would change stay unchanged: spaces,
// quotes, $(…), backquotes, line ends, the patterns Slurm replaces in the
// paths of logs, and what sbatch reads as an option of its own.
func TestHostileNames(t *testing.T) {
	parallel(t, true)

	for _, name := range []string{
		"a b'c\"d", "$(touch evil)`touch evil`;touch evil&", "line\n#SBATCH --job-name=evil\ntouch evil\n", "per%jcent%a",
		`back\slash\`, "-rf", "ümläut *?[x]~#!",
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			parallel(t, false)
			base := t.TempDir()
			dir := filepath.Join(base, name)
			y := &toy{Work: filepath.Join(dir, "work "+name), Notes: filepath.Join(base, "notes"), Fact: name, Salt: name}
			y.Options.Partition = wide.Name
			for _, id := range []string{"a'b", "$(touch evil)", "x\ny"} {
				y.Tasks = append(y.Tasks, toyTask{ID: id, Stage: "make"})
			}

			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}

			mark := filepath.Join(base, "setup"+string([]rune(name)[:1])+"; $(touch evil)")
			y.Options.Setup = []string{"touch " + job.Quote(mark)}
			if _, messages, err := y.run(t.Context(), t, dir, false); err != nil {
				t.Fatalf("%v, messages %q", err, messages)
			}

			y.check(t)

			if made, err := os.ReadDir(base); err != nil || len(made) != 3 {
				t.Errorf("in the folder lie %v", made)
			}

			if _, err := os.Stat(mark); err != nil {
				t.Error(err)
			}

			_ = filepath.WalkDir(base, func(p string, _ os.DirEntry, err error) error {
				if filepath.Base(p) == "evil" {
					t.Errorf("%q was made", p)
				}
				return err
			})
		})
	}
}

// A training that is longer than the limit of its job goes on from its
// checkpoint in the next, and that costs no attempt.
func TestWalltime(t *testing.T) {
	parallel(t, true)
	y, dir := newToy(t, 1, 0)
	y.Tasks[0].Mode = "epochs"
	y.Retries = 0
	y.Options.Partition, y.Options.Time = brief.Name, "1"
	_, messages, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatalf("%v, messages %q", err, messages)
	}

	y.check(t)

	if n := len(y.notes("make/000", "start")); n != 2 {
		t.Errorf("begun %d times, expected two", n)
	}

	// Every epoch was made, in order; the one at the limit perhaps twice.
	next, again := 0, 0
	for _, l := range y.notes("make/000", "epoch") {
		switch l {
		case fmt.Sprintf("epoch %d", next):
			next++
		case fmt.Sprintf("epoch %d", next-1):
			again++
		default:
			t.Errorf("%q, expected epoch %d", l, next)
		}
	}

	if next < 20 || again > 1 {
		t.Errorf("%d epochs, %d of them twice", next, again)
	}

	if !strings.Contains(strings.Join(messages, "\n"), "it goes on where it stopped: its job reached its time limit (1)") {
		t.Errorf("messages %q", messages)
	}
}

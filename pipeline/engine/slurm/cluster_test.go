package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm/slurmtest"
)

// What a run gives is what the tasks say; the second submits nothing.
func TestSame(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 60, 20)
	res, _, _, err := y.run(t.Context(), t, dir, false)
	if err != nil || res.Ran != 61 {
		t.Fatalf("ran %d: %v", res.Ran, err)
	}
	y.check(t)
	y.once(t)
	before := c.Jobs(t)
	res, _, _, err = y.run(t.Context(), t, dir, false)
	if err != nil || res.Ran != 0 || res.Cached != 61 || c.Jobs(t) != before {
		t.Errorf("second run: ran %d, %d jobs more: %v", res.Ran, c.Jobs(t)-before, err)
	}
	if _, err := os.Stat(filepath.Join(y.Work, ".cache", "slurm", "journal")); !os.IsNotExist(err) {
		t.Errorf("a journal stays when nothing is in hand: %v", err)
	}
}

// 343 tasks of 0.1 s are 5.7 s on 6 slots; packed into jobs, all is done in 25 s.
func TestShortTasks(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 343, 100)
	before := c.Jobs(t)
	start := time.Now()
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	y.check(t)
	y.once(t)
	jobs := c.Jobs(t) - before
	t.Logf("343 tasks of 0.1 s in %.1f s, %d jobs", took.Seconds(), jobs)
	if took > 25*time.Second {
		t.Errorf("took %v", took)
	}
	if jobs > 343/4 {
		t.Errorf("%d jobs for 343 short tasks", jobs)
	}
}

// A killed driver finds its jobs again: nothing is lost, nothing runs twice.
func TestDriverKilled(t *testing.T) {
	real(t)
	y, dir := newToy(t, 24, 700)
	d := y.driver(t, dir)
	until(t, 30, "8 tasks begun", func() bool { return y.begun() >= 8 })
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	if y.begun() == 25 {
		t.Fatal("nothing was left to do")
	}
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}
	y.check(t)
	y.once(t)
}

// A driver killed the moment it has written the name of a batch, before sbatch
// came through: the next one must not wait for jobs that never were.
func TestJournalWithoutJobs(t *testing.T) {
	real(t)
	y, dir := newToy(t, 6, 10)
	root := filepath.Join(y.Work, ".cache", "slurm")
	b := &Batch{Format: BatchFormat, Name: "dt-make-never-1", Stage: "make", Elements: [][]engine.Spec{{{Task: "make/000", Key: strings.Repeat("0", 64)}}}}
	if err := b.write(filepath.Join(root, "batches", b.Name)); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(filepath.Join(root, "journal"))
	if err == nil {
		err = errors.Join(j.write(entry{Open: b.Name}), j.f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}
	y.check(t)
	y.once(t)
}

// A controller that is away for 15 s: an error is not an end.
func TestControllerDown(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 30, 1500)
	up := make(chan struct{})
	go func() {
		defer close(up)
		for end := time.Now().Add(30 * time.Second); y.begun() < 6 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		c.Do(t, "controller-off")
		time.Sleep(15 * time.Second)
		c.Do(t, "controller-on")
	}()
	_, _, said, err := y.run(t.Context(), t, dir, false)
	<-up
	if err != nil {
		t.Fatal(err)
	}
	y.check(t)
	y.once(t)
	if !strings.Contains(strings.Join(said, "\n"), "does not answer") || !strings.Contains(strings.Join(said, "\n"), "answers again") {
		t.Errorf("nothing is said of the controller: %q", said)
	}
}

// A node that loses power: its tasks run again elsewhere, the others do not.
func TestNodeKilled(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 18, 2500)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(30 * time.Second); y.begun() < 6 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		c.Do(t, "node-off", "n1")
	}()
	_, _, said, err := y.run(t.Context(), t, dir, false)
	<-done
	c.Do(t, "node-on", "n1")
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(said, "\n"))
	}
	y.check(t)
	again := 0
	for id, n := range y.starts() {
		if n > 1 {
			again++
			if first := y.notes(id, "start n1"); len(first) == 0 {
				t.Errorf("%s ran %d times, never on the node that failed: %q", id, n, y.notes(id, "start"))
			}
		}
	}
	if again == 0 || again > 2 {
		t.Errorf("%d tasks ran again; two were on the node", again)
	}
}

// Only the node's daemon dies: its tasks go on, and Slurm starts second copies
// of them. The first to finish wins, and no job is left behind.
func TestDaemonKilled(t *testing.T) {
	c := real(t)
	t.Parallel()                  // with the other long one, on nodes of its own
	y, dir := newToy(t, 2, 45000) // both come to n1, the first node
	y.Options.Extra = []string{"--exclude=n3"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(30 * time.Second); y.begun() < 2 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		c.Do(t, "daemon-off", "n1")
	}()
	_, _, said, err := y.run(t.Context(), t, dir, false)
	<-done
	c.Do(t, "node-on", "n1")
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(said, "\n"))
	}
	for _, task := range y.Tasks {
		if got, err := os.ReadFile(filepath.Join(y.Work, "published", strings.ReplaceAll(task.ID, "/", "_"))); err != nil || string(got) != y.want(task.ID) {
			t.Errorf("%s: %q, %v", task.ID, got, err)
		}
	}
	twice := 0
	for _, n := range y.starts() {
		if n == 2 {
			twice++
		}
	}
	t.Logf("%d tasks ran in two copies", twice)
	if twice == 0 {
		t.Errorf("no second copies were seen: %v", y.starts())
	}
	mine := func() int {
		return strings.Count(c.Slurm(t, "squeue", "-h", "-r", "-w", "n1,n2", "-o", "%j"), "dt-make-") + strings.Count(c.Slurm(t, "squeue", "-h", "-r", "-t", "PENDING", "-o", "%j"), "dt-make-")
	}
	until(t, 40, "the queue is empty", func() bool { return mine() == 0 })
}

// A task that is killed is tried again, it alone.
func TestTaskKilled(t *testing.T) {
	real(t)
	y, dir := newToy(t, 12, 300)
	y.Tasks[3].Mode = "die-once"
	_, _, said, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	y.check(t)
	for id, n := range y.starts() {
		if want := map[bool]int{true: 2, false: 1}[id == "make/003"]; n != want {
			t.Errorf("%s was begun %d times, expected %d", id, n, want)
		}
	}
	if s := strings.Join(said, "\n"); !strings.Contains(s, "make/003: tried again, attempt 2 of 3") {
		t.Errorf("it is not told: %s", s)
	}
}

// A task that always fails ends the run after its retries, with its own words
// and where its log is; bad data are not tried again; the rest is made.
func TestAlwaysFails(t *testing.T) {
	real(t)
	y, dir := newToy(t, 8, 50)
	y.Tasks[2].Mode, y.Tasks[5].Mode = "fail", "data"
	_, _, _, err := y.run(t.Context(), t, dir, true)
	var te *TaskError
	if !errors.Is(err, engine.ErrFailed) || !errors.As(err, &te) {
		t.Fatalf("error: %v", err)
	}
	if te.Task != "make/002" || te.Text != "this toy always fails" || te.Of != 3 || te.Code != 1 {
		t.Errorf("first failure: %+v", te)
	}
	if b, err := os.ReadFile(te.Log); err != nil || !strings.Contains(string(b), "make/002: failed: this toy always fails") {
		t.Errorf("log %s: %q, %v", te.Log, b, err)
	}
	n := y.starts()
	if n["make/002"] != 3 || n["make/005"] != 1 || n["make/000"] != 1 || n["join"] != 0 {
		t.Errorf("begun: %v", n)
	}
	// Run again once it can succeed: attempts are counted anew, the others stay.
	y.Tasks[2].Mode, y.Tasks[5].Mode = "", ""
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil {
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
	c := real(t)
	y, dir := newToy(t, 1, 0)
	y.Tasks[0].Mode, y.Retries = "die", 1
	y.Options.Mem, y.Options.RetryMem = "100M", 2
	seen := func() string { return c.Slurm(t, "squeue", "-h", "-r", "-t", "all", "-o", "%j %m") }
	before := seen()
	_, _, _, err := y.run(t.Context(), t, dir, false)
	var te *TaskError
	if !errors.As(err, &te) || te.Of != 2 || !strings.HasPrefix(te.Text, "its worker was killed") || !strings.Contains(te.Tail, " tasks") {
		t.Errorf("error: %v", err)
	}
	var mem []string
	for _, l := range strings.Split(seen(), "\n") {
		if name, m, _ := strings.Cut(l, " "); strings.HasPrefix(name, "dt-make-") && !strings.Contains(before, l) {
			mem = append(mem, m)
		}
	}
	if strings.Join(mem, " ") != "100M 200M" && strings.Join(mem, " ") != "200M 100M" {
		t.Errorf("the jobs asked for %q", mem)
	}
}

// Attempts outlive the driver.
func TestAttemptsPersist(t *testing.T) {
	real(t)
	y, dir := newToy(t, 2, 10)
	y.Tasks[0].Mode, y.Retries = "fail", 3
	y.Tasks[1].Millis = 60000 // keeps jobs in hand, and so the journal
	d := y.driver(t, dir)
	until(t, 40, "the second attempt", func() bool { return len(y.notes("make/000", "start")) >= 2 })
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	y.Tasks[1].Millis = 60000
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	go func() { // when the failure is told the run waits for the other task: let it go
		for len(y.notes("make/000", "start")) < 4 && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		cancel()
	}()
	_, _, _, _ = y.run(ctx, t, dir, false)
	if n := len(y.notes("make/000", "start")); n != 4 {
		t.Errorf("begun %d times, expected 1 + 3 retries over both drivers", n)
	}
	if n, err := Cancel(y.Work); err != nil || n > 2 {
		t.Errorf("cancel: %d, %v", n, err)
	}
}

// What a user cancels is not submitted again.
func TestUserCancels(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 6, 4000)
	before := c.Jobs(t)
	go func() {
		for end := time.Now().Add(30 * time.Second); y.begun() < 6 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		// By name and index, as a user does who saw it in squeue.
		for _, l := range strings.Split(c.Slurm(t, "squeue", "-h", "-r", "-t", "RUNNING", "-o", "%j %F_%K"), "\n") {
			name, job, _ := strings.Cut(l, " ")
			if strings.HasPrefix(name, "dt-make") && strings.HasSuffix(job, "_4") {
				c.Slurm(t, "scancel", job)
			}
		}
	}()
	_, _, _, err := y.run(t.Context(), t, dir, true)
	if err == nil || !strings.Contains(err.Error(), "make/004: its job was cancelled by scancel") {
		t.Errorf("error: %v", err)
	}
	if n := y.starts(); n["make/004"] != 1 || n["make/003"] != 1 {
		t.Errorf("begun: %v", n)
	}
	if n := c.Jobs(t) - before; n != 6 {
		t.Errorf("%d jobs were submitted, expected 6", n)
	}
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil { // asked for again
		t.Fatal(err)
	}
	y.check(t)
}

// An interrupted run leaves its jobs to the next one.
func TestInterruptedRunResumes(t *testing.T) {
	real(t)
	y, dir := newToy(t, 18, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for y.begun() < 6 {
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
	}()
	_, _, said, err := y.run(ctx, t, dir, false)
	if !errors.Is(err, context.Canceled) || !strings.Contains(strings.Join(said, "\n"), "interrupted; ") {
		t.Fatalf("%v, said %q", err, said)
	}
	_, _, said, err = y.run(t.Context(), t, dir, false)
	if err != nil || !strings.Contains(strings.Join(said, "\n"), "of an earlier run are in hand") {
		t.Fatalf("%v, said %q", err, said)
	}
	y.check(t)
	y.once(t)
}

// A second interrupt, or pipeline cancel, empties the queue.
func TestCancel(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 18, 30000)
	o := y.options(y.write(t, dir))
	x := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for y.begun() < 6 {
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
		x.Cancel()
	}()
	if _, err := engine.Run(ctx, y.plan(), engine.Options{Executor: x}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	until(t, 15, "the queue is empty", func() bool { return c.Jobs(t, "PENDING", "RUNNING", "COMPLETING") == 0 })

	// A living driver of which somebody cancels the jobs ends.
	end := make(chan error, 1)
	go func() {
		_, _, _, err := y.run(t.Context(), t, dir, false)
		end <- err
	}()
	until(t, 30, "jobs run again", func() bool { return c.Jobs(t, "RUNNING") >= 6 })
	if n, err := Cancel(y.Work); err != nil || n != 18 {
		t.Errorf("cancelled %d jobs, expected 18: %v", n, err)
	}
	select {
	case err := <-end:
		if err == nil || !strings.Contains(err.Error(), "cancelled by scancel") {
			t.Errorf("error: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the driver does not end")
	}
	if c.Jobs(t, "PENDING", "RUNNING") != 0 {
		t.Error("jobs are left")
	}
}

// A reason to wait that will not pass is told after a while: the limit of the
// partition is one minute.
func TestPendingReason(t *testing.T) {
	real(t)
	y, dir := newToy(t, 2, 10)
	y.Options.Partition, y.Options.Time = "brief", "5"
	o := y.options(y.write(t, dir))
	notes := make(chan string, 100)
	go func() {
		for n := range notes {
			if strings.Contains(n, "PartitionTimeLimit") {
				_, _ = Cancel(y.Work)
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	o.Stages = map[string]Settings{}
	o.Say = func(string) {}
	told := ""
	x := New(o)
	x.probed = true // it would wait for the same reason
	_, err := engine.Run(ctx, y.plan(), engine.Options{Executor: x, Observe: func(e engine.Event) {
		if e.Kind == "note" {
			told += e.Note + "\n"
			notes <- e.Note
		}
	}})
	if !strings.Contains(told, "waits in the queue with reason PartitionTimeLimit") || ctx.Err() != nil {
		t.Errorf("told %q; error %v", told, err)
	}
	if err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("error after cancel: %v", err)
	}
}

// What sbatch refuses ends the run at once, with its words.
func TestRefused(t *testing.T) {
	real(t)
	y, dir := newToy(t, 2, 10)
	y.Options.Partition = "no such"
	start := time.Now()
	_, _, _, err := y.run(t.Context(), t, dir, false)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "invalid partition") || time.Since(start) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// Nodes that do not agree with the driver are told of by the probe, before any
// task is begun.
func TestProbe(t *testing.T) {
	real(t)
	y, dir := newToy(t, 2, 10)
	y.Options.Facts = []engine.KV{{Key: "fact", Value: "other"}}
	_, _, _, err := y.run(t.Context(), t, dir, false)
	if err == nil || !strings.Contains(err.Error(), `does not agree with the machine of the run: fact is "same" there and "other" here`) || y.begun() != 0 {
		t.Errorf("%d begun: %v", y.begun(), err)
	}
}

// Arrays are split by MaxArraySize (40 in the tests' cluster), and never more
// than max_running jobs run.
func TestLimits(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 100, 60)
	for i := range y.Tasks {
		y.Tasks[i].Weight = 1000 // each a job of its own
	}
	y.Options.MaxRunning = 3
	y.Options.Pack = 1
	before := c.Jobs(t)
	done := make(chan int)
	stop := make(chan struct{})
	go func() {
		most := 0
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(100 * time.Millisecond):
				most = max(most, c.Jobs(t, "RUNNING", "CONFIGURING"))
			}
		}
	}()
	_, _, _, err := y.run(t.Context(), t, dir, false)
	close(stop)
	most := <-done
	if err != nil {
		t.Fatal(err)
	}
	y.check(t)
	y.once(t)
	if n := c.Jobs(t) - before; n != 101 {
		t.Errorf("%d jobs, expected 101", n)
	}
	if most > 3 || most < 2 {
		t.Errorf("%d jobs ran at a time, allowed are 3", most)
	}
}

// Jobs of an earlier configuration do not stay in the queue.
func TestSuperseded(t *testing.T) {
	c := real(t)
	y, dir := newToy(t, 24, 3000)
	d := y.driver(t, dir)
	until(t, 30, "6 tasks begun", func() bool { return y.begun() >= 6 })
	_ = d.Process.Kill()
	_ = d.Wait()
	old := c.Jobs(t, "PENDING", "RUNNING")
	for i := range y.Tasks {
		y.Tasks[i].Millis = 20
	}
	y.Salt = "other"
	_, _, said, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if old < 12 || !strings.Contains(strings.Join(said, "\n"), "jobs of an earlier run are cancelled") {
		t.Errorf("%d jobs were there; said %q", old, said)
	}
	y.check(t)
	until(t, 15, "the queue is empty", func() bool { return c.Jobs(t, "PENDING", "RUNNING", "COMPLETING") == 0 })
}

// Paths, names and commands that a shell would make something of stay what they
// are: spaces, quotes, $(…), backquotes, line ends, what Slurm replaces in the
// paths of logs, and what sbatch reads as an option of its own.
func TestHostileNames(t *testing.T) {
	real(t)
	for _, name := range []string{
		"a b'c\"d", "$(touch evil)`touch evil`;touch evil&", "line\n#SBATCH --job-name=evil\ntouch evil\n", "per%jcent%a", `back\slash\`, "-rf", "ümläut *?[x]~#!",
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, name)
			y := &toy{Work: filepath.Join(dir, "work "+name), Notes: filepath.Join(base, "notes"), Fact: name, Salt: name}
			for _, id := range []string{"a'b", "$(touch evil)", "x\ny"} {
				y.Tasks = append(y.Tasks, toyTask{ID: id, Stage: "make"})
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			out, mark := filepath.Join(base, "setup"), string([]rune(name)[:1])
			y.Options.Setup = []string{"touch " + quote(out+mark+"; $(touch evil)")}
			for i := range y.Tasks {
				y.Tasks[i].ID = strings.ReplaceAll(y.Tasks[i].ID, "/", "_")
			}
			if _, _, said, err := y.run(t.Context(), t, dir, false); err != nil {
				t.Fatalf("%v, said %q", err, said)
			}
			y.check(t)
			if made, err := os.ReadDir(base); err != nil || len(made) != 3 {
				t.Errorf("in the folder lie %v", made)
			}
			if _, err := os.Stat(out + mark + "; $(touch evil)"); err != nil {
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

// What a user's habits, or a job that the driver itself runs in, have put into
// the environment does not reach sbatch.
func TestInheritedEnvironment(t *testing.T) {
	real(t)
	t.Setenv("SBATCH_PARTITION", "nowhere")
	t.Setenv("SLURM_JOB_ID", "1")
	t.Setenv("SQUEUE_FORMAT", "%i")
	t.Setenv("SQUEUE_STATES", "PENDING")
	y, dir := newToy(t, 2, 10)
	if _, _, _, err := y.run(t.Context(), t, dir, false); err != nil {
		t.Fatal(err)
	}
	y.check(t)
}

// A training that is longer than the limit of its job goes on from its
// checkpoint in the next, and that costs no attempt.
func TestWalltime(t *testing.T) {
	if os.Getenv("DOUBLETAKE_SLURM_LONG") == "" && os.Getenv("DOUBLETAKE_REQUIRE_SLURM") != "1" {
		t.Skip("takes two minutes: DOUBLETAKE_SLURM_LONG=1")
	}
	real(t)
	t.Parallel()
	y, dir := newToy(t, 1, 0)
	y.Options.Extra = []string{"--nodelist=n3"}
	y.Tasks[0].Mode, y.Tasks[0].Weight = "epochs 90", 90
	y.Retries = 0
	y.Options.Partition, y.Options.Time = "brief", "1"
	_, _, said, err := y.run(t.Context(), t, dir, false)
	if err != nil {
		t.Fatalf("%v, said %q", err, said)
	}
	y.check(t)
	if n := len(y.notes("make/000", "start")); n < 2 || n > 3 {
		t.Errorf("begun %d times", n)
	}
	if n := len(y.notes("make/000", "epoch")); n < 90 || n > 92 {
		t.Errorf("%d epochs were made, 90 are needed and one may be lost each time", n)
	}
	if !strings.Contains(strings.Join(said, "\n"), "it goes on where it stopped: its job reached its time limit (1)") {
		t.Errorf("said %q", said)
	}
}

var _ = slurmtest.Slots

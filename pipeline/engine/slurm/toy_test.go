package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm/slurmtest"
	"doubletake/pipeline/kv"
)

// The tests' own work: a plan of toy tasks in a file. The test binary is driver
// and worker too, so that what runs on the cluster is this code.
type toy struct {
	Work  string // work directory
	Notes string // folder where tasks note that they start
	Salt  string // setting of every task: another one makes other keys
	Fact  string // a fact the nodes report
	Tasks []toyTask
	// of the driver
	Retries int
	Options Options
	notify  func(string) // called with its messages
}

type toyTask struct {
	ID, Stage string
	Needs     []string
	Millis    int
	Weight    float64
	// "": waits Millis; "hold": waits until the test lets go; "fail", "data":
	// fails; "die": is killed; "die-once": the first time; "epochs": trains, the
	// first time without end, later 3 epochs more than its checkpoint has.
	Mode string
}

// patient is how long tests wait for what must come, on a machine under load.
const patient = 3 * time.Minute

// errData means bad data: exit status 3, no use to try again.
var errData = errors.New("bad data")

func (y *toy) plan() *engine.Plan {
	p := &engine.Plan{Dir: y.Work, Stages: []string{"make", "join"}}
	for _, t := range y.Tasks {
		et := &engine.Task{
			ID: t.ID, Stage: t.Stage, Version: 1, Weight: t.Weight,
			Local: []kv.Pair{{Key: "id", Value: t.ID}, {Key: "salt", Value: y.Salt}, {Key: "mode", Value: t.Mode}},
		}

		for _, n := range t.Needs {
			et.Deps = append(et.Deps, engine.Dep{Task: n, Output: "out"})
		}

		et.Publish = []engine.Link{{Output: "out", Path: "published/" + strings.ReplaceAll(t.ID, "/", "_")}}
		et.Run = func(ctx context.Context, j *engine.Job) error { return y.make(ctx, t, j) }
		p.Tasks = append(p.Tasks, et)
	}

	return p
}

// note appends a line to a task's notes: one write, so that copies on several
// nodes do not tear it.
func (y *toy) note(id, line string) error {
	f, err := os.OpenFile(filepath.Join(y.Notes, strings.ReplaceAll(id, "/", "_")), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o644)
	if err != nil {
		return err
	}

	_, err = f.WriteString(line + "\n")

	return errors.Join(err, f.Close())
}

func (y *toy) notes(id, word string) []string {
	b, _ := os.ReadFile(filepath.Join(y.Notes, strings.ReplaceAll(id, "/", "_")))

	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, word) {
			out = append(out, l)
		}
	}

	return out
}

// letGo ends the wait of tasks that are held by the file let.
func (y *toy) letGo(t testing.TB) {
	if err := os.WriteFile(filepath.Join(y.Notes, "let-go"), nil, 0o644); err != nil {
		t.Error(err)
	}
}

func (y *toy) let() bool { _, err := os.Stat(filepath.Join(y.Notes, "let-go")); return err == nil }

// hold makes every task but the last, which joins them, wait for letGo, each in
// a job of its own.
func (y *toy) hold() {
	for i := range y.Tasks[:len(y.Tasks)-1] {
		y.Tasks[i].Mode, y.Tasks[i].Weight = "hold", 1000
	}
}

func (y *toy) make(ctx context.Context, t toyTask, j *engine.Job) error {
	err := y.note(t.ID, fmt.Sprintf("start %s %d %d", os.Getenv("SLURMD_NODENAME"), os.Getpid(), time.Now().UnixMilli()))
	if err != nil {
		return err
	}

	var out strings.Builder
	fmt.Fprintf(&out, "%q %s\n", t.ID, y.Salt)

	for _, n := range t.Needs {
		b, err := os.ReadFile(j.Input(n, "out"))
		if err != nil {
			return err
		}

		out.Write(b)
	}

	switch t.Mode {
	case "fail":
		return errors.New("this toy always fails")
	case "data":
		return errData
	case "die":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "die-once":
		if len(y.notes(t.ID, "start")) == 1 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}

	case "hold":
		for end := time.Now().Add(2 * patient); !y.let(); time.Sleep(50 * time.Millisecond) {
			if ctx.Err() != nil || time.Now().After(end) {
				return fmt.Errorf("held too long: %w", ctx.Err())
			}
		}

	case "epochs":
		dir, err := j.Scratch()
		if err != nil {
			return err
		}

		at := filepath.Join(dir, "checkpoint")
		b, _ := os.ReadFile(at)
		k, _ := strconv.Atoi(string(b))
		for end := k + 3; k < end || k < 600 && len(y.notes(t.ID, "start")) == 1; k++ {
			time.Sleep(time.Second)

			if err := errors.Join(y.note(t.ID, fmt.Sprintf("epoch %d", k)),
				engine.WriteFile(at, []byte(strconv.Itoa(k+1)))); err != nil {
				return err
			}
		}
	}

	select {
	case <-time.After(time.Duration(t.Millis) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}

	return os.WriteFile(j.Output("out"), []byte(out.String()), 0o644)
}

func readToy(path string) (*toy, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var y toy

	return &y, json.Unmarshal(b, &y)
}

func (y *toy) write(t testing.TB, dir string) string {
	t.Helper()
	b, err := json.Marshal(y)

	path := filepath.Join(dir, "toy.json")
	if err = errors.Join(err, os.MkdirAll(y.Notes, 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}

	return path
}

func explainToy(err error) (int, string) {
	if errors.Is(err, errData) {
		return 3, err.Error()
	}
	return 1, err.Error()
}

// execToy is the worker: exec --plan P --index N, as the job script calls it.
func execToy(args []string) int {
	b, _, err := ReadBatch(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}

	n, _ := strconv.Atoi(args[3])
	load := func(config string, _ []string) (*engine.Worker, []kv.Pair, error) {
		y, err := readToy(config)
		if err != nil {
			return nil, nil, err
		}

		return &engine.Worker{Plan: y.plan(), Program: "toy"}, []kv.Pair{{Key: "fact", Value: y.Fact}}, nil
	}

	code, err := Work(context.Background(), filepath.Dir(args[1]), b, n, load, explainToy, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}

	return code
}

// options are quick ones for a quick cluster.
func (y *toy) options(file string) Options {
	o := y.Options
	o.Binary, o.Config, o.Dir, o.Retries = must(os.Executable()), filepath.Base(file), filepath.Dir(file), y.Retries
	o.Query, o.Settle, o.Linger = 500*time.Millisecond, time.Second, 2*time.Second

	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}

	if o.Facts == nil {
		o.Facts = []kv.Pair{{Key: "fact", Value: y.Fact}}
	}

	return o
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// driveToy is a driver in a process of its own, to be killed, or to work with
// another cluster. Its messages go to standard output.
func driveToy(file string) int {
	y := must(readToy(file))
	o := y.options(file)
	o.Notify = func(s string) { fmt.Println(s) }
	_, err := engine.Run(context.Background(), y.plan(), engine.Options{Executor: New(o), Program: "toy"})
	if err != nil {
		fmt.Println(err)
		return 1
	}

	return 0
}

// The cluster that tests share. Each of the partitions has nodes of its own, so
// that tests run at the same time: wide has room for all, brief a time limit of
// a minute, and of power and daemon nodes fail.
var (
	wide   = slurmtest.Partition{Name: "wide", Nodes: 2, CPUs: 40, Options: "DefaultTime=15"}
	brief  = slurmtest.Partition{Name: "brief", Nodes: 1, CPUs: 2, Options: "DefaultTime=1 MaxTime=1"}
	power  = slurmtest.Partition{Name: "power", Nodes: 3, CPUs: 2, Options: "DefaultTime=15"}
	daemon = slurmtest.Partition{Name: "daemon", Nodes: 2, CPUs: 2, Options: "DefaultTime=15"}

	shared = sync.OnceValues(func() (*slurmtest.Cluster, error) {
		c, err := slurmtest.Up(wide, brief, power, daemon)
		if err == nil {
			err = os.Setenv("SLURM_CONF", c.Conf())
		}

		return c, err
	})
	atOnce = make(chan struct{}, 6) // tests that keep the processors busy
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "exec":
			os.Exit(execToy(os.Args[2:]))
		case "drive":
			os.Exit(driveToy(os.Args[2]))
		}
	}

	flag.Parse()

	if err := flag.Set("test.parallel", "32"); err != nil { // most only wait; atOnce holds the others back
		panic(err)
	}

	code := m.Run()
	if required() {
		c, _ := shared()
		if code != 0 {
			fmt.Fprintln(os.Stderr, c.Logs())
		}

		c.Down()
	}

	os.Exit(code)
}

func required() bool { return !testing.Short() && os.Getenv("DOUBLETAKE_REQUIRE_SLURM") == "1" }

// alone returns the cluster for a test that runs while no other does; it is
// started for the first that asks.
func alone(t *testing.T) *slurmtest.Cluster {
	t.Helper()

	if !required() {
		t.Skip("a real cluster takes minutes: DOUBLETAKE_REQUIRE_SLURM=1")
	}

	c, why := shared()
	slurmtest.Required(t, c, why)

	return c
}

// parallel returns the cluster for a test that runs in parallel with others and
// leaves their nodes and jobs alone; waits is true if it needs almost no processor.
func parallel(t *testing.T, waits bool) *slurmtest.Cluster {
	t.Helper()
	c := alone(t)
	t.Parallel()

	if !waits {
		atOnce <- struct{}{}
		t.Cleanup(func() { <-atOnce })
	}

	return c
}

// newToy makes n independent tasks and one that joins them, in a folder of its
// own.
func newToy(t *testing.T, n, millis int) (*toy, string) {
	t.Helper()
	dir := t.TempDir()
	y := &toy{Work: filepath.Join(dir, "work"), Notes: filepath.Join(dir, "notes"), Fact: "same", Retries: 2}
	y.Options.Partition = wide.Name

	var ids []string
	for i := range n {
		id := fmt.Sprintf("make/%03d", i)
		ids = append(ids, id)
		y.Tasks = append(y.Tasks, toyTask{ID: id, Stage: "make", Millis: millis, Weight: float64(millis) / 1000})
	}

	y.Tasks = append(y.Tasks, toyTask{ID: "join", Stage: "join", Needs: ids, Weight: 0.01})

	return y, dir
}

// run runs the plan on the cluster in this process.
func (y *toy) run(ctx context.Context, t *testing.T, dir string, keep bool) (*engine.Result, []string, error) {
	t.Helper()
	o := y.options(y.write(t, dir))
	messages := make(chan string, 10000)
	o.Notify = func(s string) {
		messages <- s
		if y.notify != nil {
			y.notify(s)
		}
	}

	res, err := engine.Run(ctx, y.plan(), engine.Options{
		Executor: New(o), KeepGoing: keep, Program: "toy",
		Observe: func(e engine.Event) {
			if e.Kind == "note" {
				messages <- e.Task.ID + ": " + e.Note
			}
		},
	})

	close(messages)

	var all []string
	for s := range messages {
		all = append(all, s)
	}

	return res, all, err
}

// check compares every output with the expected one, and looks for leftovers.
func (y *toy) check(t *testing.T) {
	t.Helper()

	for _, task := range y.Tasks {
		name := filepath.Join("published", strings.ReplaceAll(task.ID, "/", "_"))
		got, err := os.ReadFile(filepath.Join(y.Work, name))
		if err != nil {
			t.Errorf("%s: %v", task.ID, err)
			continue
		}

		if want := y.want(task.ID); string(got) != want {
			t.Errorf("%s: got %q, expected %q", task.ID, got, want)
		}
	}

	// Nothing torn lies about, and nothing of a dead copy.
	for _, d := range []string{"tmp", "work"} {
		if left, _ := os.ReadDir(filepath.Join(y.Work, ".cache", d)); len(left) > 0 {
			t.Errorf("%d folders are left in .cache/%s", len(left), d)
		}
	}
}

// want returns a task's expected output, by a plain recursion.
func (y *toy) want(id string) string {
	i := slices.IndexFunc(y.Tasks, func(t toyTask) bool { return t.ID == id })
	t := y.Tasks[i]

	s := fmt.Sprintf("%q %s\n", id, y.Salt)
	for _, n := range t.Needs {
		s += y.want(n)
	}

	return s
}

// starts counts how often each task was begun.
func (y *toy) starts() map[string]int {
	m := map[string]int{}
	for _, t := range y.Tasks {
		m[t.ID] = len(y.notes(t.ID, "start"))
	}

	return m
}

// node is where a task was begun last.
func (y *toy) node(id string) string {
	if n := y.notes(id, "start"); len(n) > 0 {
		return strings.Fields(n[len(n)-1])[1]
	}
	return ""
}

func (y *toy) once(t *testing.T) {
	t.Helper()

	for _, task := range y.Tasks {
		if n := len(y.notes(task.ID, "start")); n != 1 {
			t.Errorf("%s was begun %d times: %q", task.ID, n, y.notes(task.ID, "start"))
		}
	}
}

// until waits for a condition; when it does not come that is an error.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()

	for end := time.Now().Add(patient); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: not within %v", what, patient)
			return
		}
	}
}

// background starts f in a goroutine, and has the test wait for its end.
func background(t *testing.T, f func()) (wait func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	t.Cleanup(func() { <-done })
	return func() { <-done }
}

// made counts the tasks whose results are published.
func (y *toy) made() int {
	list, _ := os.ReadDir(filepath.Join(y.Work, "published"))
	return len(list)
}

func (y *toy) begun() int {
	n := 0
	for _, k := range y.starts() {
		n += min(k, 1)
	}

	return n
}

// words collects the output of a process.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// driver starts a driver as a process, of a cluster.
func (y *toy) driver(t *testing.T, c *slurmtest.Cluster, dir string) (d *exec.Cmd, messages *words) {
	t.Helper()
	d, messages = exec.Command(must(os.Executable()), "drive", y.write(t, dir)), &words{}
	d.Env, d.Stdout, d.Stderr = c.Env(), messages, messages
	d.WaitDelay = 10 * time.Second
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })

	return d, messages
}

// kill ends a driver as kill -9 does.
func kill(d *exec.Cmd) { _ = d.Process.Kill(); _ = d.Wait() }

package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doubletake/internal/must"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/command"
	"doubletake/pipeline/engine/job"
	"doubletake/pipeline/kv"
)

// The test binary is the worker too: with the arguments of the script it makes the plan of the folder that the
// configuration names.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != "exec" {
		os.Exit(m.Run())
	}

	b, is, err := command.ReadBatch(os.Args[3])
	if err != nil || !is {
		fmt.Println(err)
		os.Exit(2)
	}

	load := func(dir string, _ []string) (*engine.Worker, []kv.Pair, error) {
		return &engine.Worker{Plan: plan(dir)}, []kv.Pair{{Key: "kernels", Value: "avx2"}}, nil
	}

	explain := func(err error) (int, string) {
		var of interface{ ExitStatus() int }
		if errors.As(err, &of) {
			return of.ExitStatus(), err.Error()
		}

		return 1, err.Error()
	}

	code, err := command.Work(context.Background(), ".", b, load, explain, os.Stdout)
	if err != nil {
		fmt.Println(err)
	}

	os.Exit(code)
}

// plan has two tasks, and what the files of the folder below ask for: fail fails at any time, die is killed once.
func plan(dir string) *engine.Plan {
	p := &engine.Plan{Dir: filepath.Join(dir, "work"), Stages: []string{"make"}}
	for _, id := range []string{"a", "b"} {
		p.Tasks = append(p.Tasks, &engine.Task{
			ID: id, Stage: "make", Version: 1, Weight: 6, Local: []kv.Pair{{Key: "id", Value: id}},
			Run: func(_ context.Context, j *engine.Job) error {
				if _, err := os.Stat(filepath.Join(dir, "fail-"+id)); err == nil {
					return errors.New("this task always fails")
				}

				if os.Remove(filepath.Join(dir, "die-"+id)) == nil {
					return syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}

				return os.WriteFile(j.Output("out"), []byte(id), 0o600)
			},
		})
	}

	return p
}

// programs are a scheduler as shell scripts: what is submitted runs at once, in the background.
var programs = map[string]map[string]string{
	"pbs": {
		"qsub": `n=$(printf '%s\n' "$@" | sed -n 's/^1-//p')
for s; do :; done
for i in $(seq ${n:-1}); do PBS_ARRAY_INDEX=$i sh "$s" >/dev/null 2>&1 </dev/null & done
echo "17[].host"`,
		"qstat": `echo "17[1].host dt-x root 0 R workq"`, "qdel": `echo "$@" >>"$0.log"`,
	},
	"htcondor": {
		"condor_submit": `for s; do :; done
script=$(sed -n "s/^ *arguments = \"'\(.*\)' .*/\1/p" "$s" | sed "s/''/'/g")
for i in $(seq 0 $(($(sed -n 's/^ *queue //p' "$s") - 1))); do sh "$script" $i >/dev/null 2>&1 </dev/null & done
echo "17.0 - 17.1"`,
		"condor_q": `echo "17 0 2 slot1@node"`, "condor_rm": `echo "$@" >>"$0.log"`,
	},
}

// scheduler puts programs into PATH, and returns options of an executor that calls them. told has its messages.
func scheduler(t *testing.T, name, dir string) (o command.Options, told func() string) {
	t.Helper()

	bin := t.TempDir()
	for program, text := range programs[name] {
		must.Do(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}

	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))

	binary := must.Get(os.Executable())(t)

	var mu sync.Mutex
	var messages string

	o = command.Options{
		Scheduler: job.Find(name), Parts: 4, Binary: binary, Config: dir, Dir: dir,
		Facts: []kv.Pair{{Key: "kernels", Value: "avx2"}}, Silent: 7 * time.Second,
		Notify: func(text string) { mu.Lock(); defer mu.Unlock(); messages += text + "\n" },
	}

	return o, func() string { mu.Lock(); defer mu.Unlock(); return messages }
}

// Schedulers that no test has really: an array is submitted, its parts make the results, a process that is killed is
// noticed and its task made again.
func TestSchedulers(t *testing.T) {
	for _, name := range []string{"pbs", "htcondor"} {
		dir := filepath.Join(t.TempDir(), "it's a folder")
		must.Do(t, os.MkdirAll(dir, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, "die-b"), nil, 0o600))

		var notes []string

		o, told := scheduler(t, name, dir)
		observe := func(e engine.Event) {
			if e.Kind == "note" {
				notes = append(notes, e.Note)
			}
		}
		res, err := engine.Run(t.Context(), plan(dir), engine.Options{Executor: command.New(o), Observe: observe})

		must.Not(t, err != nil || res.Ran != 2 || told() != "", "%s: %+v, %v, %s", name, res, err, told())

		must.Not(t, len(notes) != 1 || !strings.HasPrefix(notes[0], "tried again, attempt 2 of 3: its "),
			"%s: %q", name, notes)
	}
}

// A task that fails is tried three times; the error has its words and where its log is, and the other is made. A node
// that differs refuses both, once.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "fail-a"), nil, 0o600))

	o, _ := scheduler(t, "pbs", dir)
	res, err := engine.Run(t.Context(), plan(dir), engine.Options{Executor: command.New(o), KeepGoing: true})

	var te *command.TaskError
	if !errors.As(err, &te) || te.Text != "this task always fails" || te.Of != 3 || te.Code != 1 || res.Ran != 1 {
		t.Fatalf("%+v, %v", res, err)
	}

	if log, err := os.ReadFile(te.Log); err != nil || !strings.Contains(string(log), "a: failed: this task always fails") {
		t.Errorf("%s, %v", log, err)
	}

	dir = t.TempDir()
	o, _ = scheduler(t, "pbs", dir)
	o.Facts[0].Value = "portable"
	_, err = engine.Run(t.Context(), plan(dir), engine.Options{Executor: command.New(o), KeepGoing: true})

	words := `does not agree with the machine of the run: kernels is "avx2" there and "portable" here`
	must.Not(t, !errors.As(err, &te) || te.Code != 2 || te.Of != 1 || strings.Count(err.Error(), words) != 2, "%v", err)
}

// A command that cannot submit is tried three times; its words are the error, once a task, and no task
// was attempted.
func TestLaunch(t *testing.T) {
	dir := t.TempDir()
	tried := filepath.Join(dir, "tried")

	binary, err := os.Executable()
	must.Do(t, err)

	refuse := filepath.Join(dir, "refuse")
	script := "#!/bin/sh\necho x >>" + tried + "\necho no such queue >&2\nexit 3\n"
	must.Do(t, os.WriteFile(refuse, []byte(script), 0o755))

	x := command.New(command.Options{
		Command: []string{refuse, "-q", "long"}, Parts: 1, Binary: binary, Notify: func(string) {},
	})

	var notes []string

	observe := func(e engine.Event) {
		if e.Kind == "note" {
			notes = append(notes, e.Note)
		}
	}
	_, err = engine.Run(t.Context(), plan(dir), engine.Options{Executor: x, KeepGoing: true, Observe: observe})

	words := fmt.Sprintf("submit by %q: exit status 3: no such queue", refuse+" -q long")
	must.Not(t, err == nil || strings.Count(err.Error(), words) != 2 || len(notes) > 0, "%v, %q", err, notes)

	if b, _ := os.ReadFile(tried); len(b) != 3*2 {
		t.Errorf("the command was called %d times, expected 3", len(b)/2)
	}
}

// A status command that hangs, whose child holds its output open, does not stop the run.
func TestStatusHangs(t *testing.T) {
	t.Parallel()

	binary, err := os.Executable()
	must.Do(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var told string
	x := command.New(command.Options{
		Command: []string{"true"}, Status: []string{"sh", "-c", "echo queue closed; sleep 60 & wait"}, Parts: 1,
		Binary: binary, Grace: time.Millisecond, Notify: func(text string) { told += text; cancel() },
	})

	began := time.Now()
	_, err = engine.Run(ctx, plan(t.TempDir()), engine.Options{Executor: x})
	if took := time.Since(began); err == nil || !strings.Contains(told, "queue closed") || took > 30*time.Second {
		t.Errorf("after %s: %v, %q", took, err, told)
	}
}

// An executor makes the tasks of one run. A command that is not there is an error before anything
// is submitted.
func ExampleNew() {
	x := command.New(command.Options{Command: []string{"no-such-qsub"}, Parts: 16})
	err := x.Open(context.Background(), &engine.Session{Dir: "runs"})
	fmt.Println(strings.Split(err.Error(), ": ")[0])
	// Output: no-such-qsub, which submits jobs, is not here
}

package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/command"
	"doubletake/pipeline/engine/job"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary a worker too: with the arguments that a script passes, "exec --plan FILE", it makes
// the tasks of the batch in FILE. The configuration of the batch is the folder of the test.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != "exec" {
		os.Exit(m.Run())
	}

	status, err := runWorker(os.Args[3])
	if err != nil {
		fmt.Println(err)
	}

	os.Exit(status)
}

// runWorker makes the tasks of the batch in a file, and returns the exit status of the process.
func runWorker(path string) (status int, err error) {
	batch, isBatch, err := command.ReadBatch(path)
	if err != nil || !isBatch {
		return 2, fmt.Errorf("%s is a batch: %t; error: %w", path, isBatch, err)
	}

	load := func(dir string, _ []string) (*engine.Worker, []kv.Pair, error) {
		return &engine.Worker{Plan: plan(dir)}, []kv.Pair{{Key: "kernels", Value: "avx2"}}, nil
	}

	explain := func(err error) (status int, text string) {
		var withStatus interface{ ExitStatus() int }
		if errors.As(err, &withStatus) {
			return withStatus.ExitStatus(), err.Error()
		}

		return 1, err.Error()
	}

	return command.Work(context.Background(), ".", batch, load, explain, os.Stdout)
}

// plan returns a plan of the tasks a and b, which write their names. A file fail-ID in the folder dir makes every
// attempt of the task fail. A file die-ID makes the process kill itself once.
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
					return killItself()
				}

				return os.WriteFile(j.Output("out"), []byte(id), 0o600)
			},
		})
	}

	return p
}

// killItself kills this process, which does not return then.
func killItself() error {
	itself, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}

	if err := itself.Kill(); err != nil {
		return err
	}

	select {} // the signal is on its way
}

// programs are the commands of two schedulers as shell scripts, by scheduler and command. They run a job at once, in
// the background.
var programs = map[string]map[string]string{
	"pbs": {
		"qsub": `n=$(printf '%s\n' "$@" | sed -n 's/^1-//p') # number of parts, from -J 1-N
for s; do :; done # s: the last argument, the script
for i in $(seq ${n:-1}); do PBS_ARRAY_INDEX=$i sh "$s" >/dev/null 2>&1 </dev/null & done
echo "3 of 20 jobs" >&2 # a site's message
echo "17[].host"`,
		"qstat": `echo "17[1].host dt-x root 0 R workq"`, "qdel": `:`,
	},
	"htcondor": {
		"condor_submit": `for s; do :; done # s: the last argument, the description of the job
# the path of the script, in condor's quotes, which double a single quote
script=$(sed -n "s/^ *arguments = \"'\(.*\)' .*/\1/p" "$s" | sed "s/''/'/g")
for i in $(seq 0 $(($(sed -n 's/^ *queue //p' "$s") - 1))); do sh "$script" $i >/dev/null 2>&1 </dev/null & done
echo "17.0 - 17.1"`,
		"condor_q": `echo "17 0 2 slot1@node"`, "condor_rm": `:`,
	},
}

// messages collects texts, also from several goroutines.
type messages struct {
	mu   sync.Mutex
	text string
}

// add appends a text and a line end.
func (m *messages) add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text += text + "\n"
}

// String returns the texts so far.
func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.text
}

// useScheduler puts the commands of a scheduler into PATH. It returns options of an executor that calls them, whose
// messages for the user go to told.
func useScheduler(t *testing.T, name, dir string) (o command.Options, told *messages) {
	t.Helper()

	bin := t.TempDir()
	for program, text := range programs[name] {
		require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}

	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))

	told = &messages{}

	return command.Options{
		Scheduler: job.Find(name), Parts: 4, Binary: executable(t), Config: dir, Dir: dir,
		Facts: []kv.Pair{{Key: "kernels", Value: "avx2"}}, Silent: 7 * time.Second, Notify: told.add,
	}, told
}

// executable returns the path of the test binary.
func executable(t *testing.T) string {
	t.Helper()

	path, err := os.Executable()
	require.NoError(t, err)

	return path
}

// noteKeeper returns an observer of a run that appends the notes on tasks to the list notes.
func noteKeeper(notes *[]string) func(engine.Event) {
	return func(event engine.Event) {
		if event.Kind == "note" {
			*notes = append(*notes, event.Note)
		}
	}
}

// PBS and HTCondor are not installed where the tests run, so that scripts stand for their commands. Both parts of an
// array make their results. A process that is killed is noticed, and its task is made again.
func TestSchedulers(t *testing.T) {
	for _, name := range []string{"pbs", "htcondor"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's a folder") // the scripts must quote the name
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "die-b"), nil, 0o600))

			var notes []string

			o, told := useScheduler(t, name, dir)
			options := engine.Options{Executor: command.New(o), Observe: noteKeeper(&notes)}
			res, err := engine.Run(t.Context(), plan(dir), options)

			require.NoError(t, err, "%s", told)
			require.Equal(t, 2, res.Ran, "tasks that ran; messages: %s", told)
			assert.Empty(t, told.String(), "messages for the user")

			require.Len(t, notes, 1)
			assert.True(t, strings.HasPrefix(notes[0], "tried again, attempt 2 of 3: its "), "%q", notes)
		})
	}
}

// A task that fails is tried three times, and the other task is made. The error has the task's words and the path of
// the log. The driver finds the notes of the failures also below a folder whose name is not a valid pattern.
func TestFailingTask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs [1")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fail-a"), nil, 0o600))

	o, _ := useScheduler(t, "pbs", dir)
	res, err := engine.Run(t.Context(), plan(dir), engine.Options{Executor: command.New(o), KeepGoing: true})

	var taskErr *command.TaskError
	require.ErrorAs(t, err, &taskErr)
	assert.Equal(t, "this task always fails", taskErr.Text)
	assert.Equal(t, 3, taskErr.Attempts)
	assert.Equal(t, 1, taskErr.Code)
	assert.Equal(t, 1, res.Ran, "task b has run")

	log, err := os.ReadFile(taskErr.Log)
	require.NoError(t, err)
	assert.Contains(t, string(log), "a: failed: this task always fails")
}

// A node whose kernels differ refuses both tasks at the first attempt, because another attempt would meet the same
// node. The exit status is 2, as for a fault of the configuration.
func TestDisagreeingNode(t *testing.T) {
	dir := t.TempDir()
	o, _ := useScheduler(t, "pbs", dir)
	o.Facts[0].Value = "portable" // the worker says avx2

	_, err := engine.Run(t.Context(), plan(dir), engine.Options{Executor: command.New(o), KeepGoing: true})

	var taskErr *command.TaskError
	require.ErrorAs(t, err, &taskErr)
	assert.Equal(t, 2, taskErr.Code)
	assert.Equal(t, 1, taskErr.Attempts)

	words := `does not agree with the machine of the run: kernels is "avx2" there and "portable" here`
	assert.Equal(t, 2, strings.Count(err.Error(), words), "one error for each task: %v", err)
}

// A command that cannot submit is tried three times. Its words are the error of both tasks, and no task counts as
// attempted.
func TestRefusedSubmission(t *testing.T) {
	dir := t.TempDir()
	tried := filepath.Join(dir, "tried")

	refuse := filepath.Join(dir, "refuse")
	script := "#!/bin/sh\necho x >>" + tried + "\necho no such queue >&2\nexit 3\n"
	require.NoError(t, os.WriteFile(refuse, []byte(script), 0o755))

	x := command.New(command.Options{
		Command: []string{refuse, "-q", "long"}, Parts: 1, Binary: executable(t), Notify: func(string) {},
	})

	var notes []string

	options := engine.Options{Executor: x, KeepGoing: true, Observe: noteKeeper(&notes)}
	_, err := engine.Run(t.Context(), plan(dir), options)

	words := fmt.Sprintf("submit by %q: exit status 3: no such queue", refuse+" -q long")
	require.Error(t, err)
	assert.Equal(t, 2, strings.Count(err.Error(), words), "one error for each task: %v", err)
	assert.Empty(t, notes, "no task is tried again")

	lines, err := os.ReadFile(tried)
	require.NoError(t, err)
	assert.Equal(t, "x\nx\nx\n", string(lines), "one line for each call of the command")
}

// A user's command submits two parts one by one. It refuses the first part three times, within 3 s, while the
// submission of the second part takes longer. Expected: the run ends with the error, and the command is called once for
// the second part.
func TestRefusedSubmissionOfOne(t *testing.T) {
	dir := t.TempDir()
	tried := filepath.Join(dir, "tried")
	refuse := filepath.Join(dir, "refuse")
	script := "#!/bin/sh\ncase $1 in *-1.sh) echo first >>" + tried + ";; *) echo second >>" + tried +
		"; sleep 2.5;; esac\nexit 3\n"
	require.NoError(t, os.WriteFile(refuse, []byte(script), 0o755))

	x := command.New(command.Options{
		Command: []string{refuse}, Parts: 2, Binary: executable(t), Notify: func(string) {},
	})
	_, err := engine.Run(t.Context(), plan(dir), engine.Options{Executor: x})
	require.ErrorContains(t, err, "exit status 3")

	lines, err := os.ReadFile(tried)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(lines), "first"), "%s", lines)
	assert.Equal(t, 1, strings.Count(string(lines), "second"), "%s", lines)
}

// A queue that does not exist, whose name is a word of errors that pass. The run ends nevertheless after three calls.
func TestRefusedQueue(t *testing.T) {
	dir := t.TempDir()
	o, _ := useScheduler(t, "pbs", dir)
	o.Settings.Partition = "retry"
	qsub, err := exec.LookPath("qsub")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(qsub, []byte("#!/bin/sh\necho 'qsub: Unknown queue' >&2\nexit 170\n"), 0o755))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	_, err = engine.Run(ctx, plan(dir), engine.Options{Executor: command.New(o)})
	assert.ErrorContains(t, err, "exit status 170: qsub: Unknown queue")
}

// A status command that hangs, and whose child keeps its output open, does not stop the run. The test waits for neither
// of them: both would last a minute.
func TestStatusHangs(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	told := &messages{}
	x := command.New(command.Options{
		Command: []string{"true"}, Status: []string{"sh", "-c", "echo queue closed; sleep 60 & wait"}, Parts: 1,
		Binary: executable(t), Grace: time.Millisecond, Notify: func(text string) { told.add(text); cancel() },
	})

	began := time.Now()
	_, err := engine.Run(ctx, plan(t.TempDir()), engine.Options{Executor: x})
	require.Error(t, err)
	assert.Contains(t, told.String(), "queue closed")
	ingesttest.ReportBound(t, "time to stop a run whose status command hangs", time.Since(began), 30*time.Second)
}

// ExampleNew makes an executor, which makes the tasks of one run. A command that is not installed is an error before
// anything is submitted.
func ExampleNew() {
	x := command.New(command.Options{Command: []string{"no-such-qsub"}, Parts: 16})
	err := x.Open(context.Background(), &engine.Session{Dir: "runs"})
	fmt.Println(strings.Split(err.Error(), ": ")[0])
	// Output: no-such-qsub, which submits jobs, is not here
}

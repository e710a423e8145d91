package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// interruptYAML has trainings long enough (some tenths of a second each) that
// a signal meets them at work.
const interruptYAML = `version: 1
experiments:
  rotor:
    ingest:
      simulate: {campaign: rotor, seed: 2, duration_s: 1, blades: [2, 3, 4], rpm: [4000, 6000, 8000],
        theta_deg: [-40, -20, 0, 20, 40]}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
    train:
      inputs: [blades, rpm, theta_deg]
      optimizer: {epochs: 1500, batch: 8}
      honest: {base: none}
      seeds: 2
      splits:
        2-blades: {test: {blades: 2}}
        fast: {test: {rpm: {min: 7000}}}
`

// start starts the program as a process of its own (this test binary's main, by
// the name that testscript put on the PATH). lines gets its progress, line by
// line. The process is killed at the end of the test if it is still running.
func start(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, lines chan string, stdout *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command("pipeline", args...)
	cmd.Dir = dir
	stdout = &bytes.Buffer{}
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // nobody waited for its end: the test failed
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})

	lines = make(chan string, 10000)
	go func() {
		s := bufio.NewScanner(pipe)
		for s.Scan() {
			lines <- s.Text()
		}

		close(lines)
	}()

	return cmd, lines, stdout
}

// event reads one line of --progress json. It returns empty texts for a line that is a message for people.
func event(line string) (kind, stage string) {
	var e struct{ Event, Stage string }
	if json.Unmarshal([]byte(line), &e) != nil {
		return "", ""
	}

	return e.Event, e.Stage
}

// moment is when a run is interrupted: at an event of a stage.
type moment struct {
	stage, kind string // of the event
	count       int    // which of these events, from 1
	signal      os.Signal
}

// moments returns when runs are interrupted: after some tasks were done, and while a training is at work. With
// DOUBLETAKE_LONG=1, there is a moment in every stage but the report, whose tasks may be over before the signal comes.
// SIGINT and SIGTERM have the same effect.
func moments() []moment {
	if !longtest.IsLong() {
		return []moment{{"ingest", "done", 2, syscall.SIGTERM}, {"train", "start", 1, os.Interrupt}}
	}

	return []moment{
		{"simulate", "done", 3, os.Interrupt},
		{"ingest", "done", 2, syscall.SIGTERM},
		{"dsp", "start", 1, os.Interrupt},
		{"train", "start", 1, os.Interrupt},
		{"train", "done", 1, os.Interrupt},
	}
}

// interruptedRun is what a run of the program printed and did.
type interruptedRun struct {
	status   int      // exit status
	done     int      // number of tasks that it did
	messages []string // lines of progress that are messages for people
	output   string   // its text on stdout
	isHit    bool     // the moment came, and the signal was sent
}

// runUntil runs the pipeline in dir and sends it the signal of a moment when the moment comes.
func runUntil(t *testing.T, dir string, when moment) interruptedRun {
	t.Helper()

	cmd, lines, stdout := start(t, dir, "run", "--progress", "json", "--jobs", "2")
	var run interruptedRun
	seen := 0 // number of events of the moment's kind and stage
	for line := range lines {
		kind, stage := event(line)
		switch kind {
		case "":
			run.messages = append(run.messages, line)
		case "done":
			run.done++
		}

		if kind != when.kind || stage != when.stage {
			continue
		}

		seen++
		if seen == when.count {
			run.isHit = true
			require.NoError(t, cmd.Process.Signal(when.signal))
		}
	}

	_ = cmd.Wait() // its error is the exit status
	run.status = cmd.ProcessState.ExitCode()
	run.output = stdout.String()

	return run
}

// finishRun runs the pipeline in dir and returns the number of tasks that it did.
func finishRun(t *testing.T, dir string) (done int) {
	t.Helper()

	cmd, lines, _ := start(t, dir, "run", "--progress", "json")
	for line := range lines {
		if kind, _ := event(line); kind == "done" {
			done++
		}
	}

	require.NoError(t, cmd.Wait())

	return done
}

// A run that is interrupted ends with status 130 and one message. The next run goes on where it stopped. At the end,
// the results are the same, byte by byte, as the results of a run that was not interrupted.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("interrupts real runs; not with -short")
	}

	undisturbed := t.TempDir()
	disturbed := t.TempDir()
	put(t, undisturbed, "pipeline.yaml", interruptYAML)
	put(t, disturbed, "pipeline.yaml", interruptYAML)

	total := finishRun(t, undisturbed)

	done := 0
	interruptions := 0
	for i, when := range moments() {
		run := runUntil(t, disturbed, when)
		done += run.done
		if !run.isHit {
			require.Zero(t, run.status, "run %d, which was not interrupted: exit status; messages %q", i+1, run.messages)
			t.Logf("interruption %d: an earlier run had already done the tasks to interrupt", i+1)
			continue
		}

		interruptions++
		assert.Equal(t, 130, run.status, "interruption %d: exit status", i+1)
		assert.Equal(t, []string{"pipeline: interrupted; finished results are kept, run again to go on"}, run.messages,
			"interruption %d: messages", i+1)
		assert.Empty(t, run.output, "interruption %d: output", i+1)
		t.Logf("interruption %d, at the %s of a %s task: %d of %d tasks done", i+1, when.kind, when.stage, done, total)
	}

	require.Positive(t, interruptions, "runs that were interrupted")

	// No task is done twice: a task that is up to date gives no event.
	done += finishRun(t, disturbed)
	assert.Equal(t, total, done, "tasks that were done in all runs together, compared with one run")
	assertSameRuns(t, "interrupted", undisturbed, disturbed)

	left, err := filepath.Glob(filepath.Join(disturbed, "runs", ".cache", "tmp", "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "temporary files that are left")
}

// A run is interrupted within a training of a million epochs, which would not end while this test waits. Before the
// interruption, a second run of the same work directory is refused with an error that names the process of the first.
func TestInterruptedTraining(t *testing.T) {
	longtest.Skip(t, "trains for a second, then is interrupted")

	yaml := strings.NewReplacer("epochs: 1500", "epochs: 1000000", "seeds: 2", "seeds: 1").Replace(interruptYAML)
	dir := project(t, yaml)
	cmd, lines, _ := start(t, dir, "run", "--progress", "json")

	signalled := false
	for l := range lines {
		kind, stage := event(l)
		if signalled || kind != "start" || stage != "train" {
			continue
		}

		assertSecondRefused(t, dir, cmd.Process.Pid)
		signalled = true

		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	}

	_ = cmd.Wait() // its error is the exit status

	require.True(t, signalled, "the training was interrupted")
	assert.Equal(t, 130, cmd.ProcessState.ExitCode(), "exit status")
}

// assertSecondRefused starts another run while the process pid runs one, and checks that it is refused.
func assertSecondRefused(t *testing.T, dir string, pid int) {
	t.Helper()
	cmd, lines, stdout := start(t, dir, "run", "--progress", "none")

	var messages []string
	for line := range lines {
		messages = append(messages, line)
	}

	_ = cmd.Wait() // its error is the exit status, which is compared here
	assert.Equal(t, 2, cmd.ProcessState.ExitCode(), "exit status of the second run")
	assert.Zero(t, stdout.Len(), "the second run prints no results")

	host, err := os.Hostname()
	require.NoError(t, err)
	require.Len(t, messages, 1)

	begin := fmt.Sprintf("pipeline: lock runs: another run is at work there (process %d on %s since ", pid, host)
	assert.True(t, strings.HasPrefix(messages[0], begin), "%q does not begin with %q", messages[0], begin)
	assert.True(t, strings.HasSuffix(messages[0], "); wait for it, or stop it"), "%q has no advice", messages[0])
}

package app

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"doubletake/pipeline/stages/trainstage"
)

// The program under test is this binary: see TestMain.
func init() {
	if d, err := time.ParseDuration(os.Getenv("TEST_CHECKPOINT_EVERY")); err == nil {
		trainstage.CheckpointEvery = d
	}
}

const checkpointYAML = `version: 1
kernels: portable
experiments:
  toy:
    ingest: {simulate: {campaign: toy, seed: 3, triplets: 150}}
    train:
      inputs: [x]
      standardise: false
      model: {hidden: [16]}
      loss: {pairs: swap}
      optimizer: {epochs: 1500, schedule: cosine}
      estimate: {samples: 100}
      seeds: 1
      splits: {gap: {test: {x: {min: 2, max: 4}}}}
`

// A training that is killed or interrupted goes on from its last checkpoint and
// gives the same bytes; if the checkpoint is damaged it warns and starts again.
// Expected values: an undisturbed run.
func TestTrainingResumes(t *testing.T) {
	whole := undisturbed(t, checkpointYAML)
	want := resultHashes(t, whole)

	for _, c := range []struct {
		name  string
		stop  os.Signal
		every string
		spoil bool
		note  string
	}{
		{"killed", syscall.SIGKILL, "10ms", false, `^toy/train/gap/seed-0 checkpoint: went on after (\d+) of 1500 epochs$`},
		// No checkpoint but that of the interrupt.
		{"interrupted", os.Interrupt, "1h", false, `^toy/train/gap/seed-0 checkpoint: went on after (\d+) of 1500 epochs$`},
		{
			"damaged", syscall.SIGKILL, "10ms", true,
			`^toy/train/gap/seed-0 checkpoint: not used, trained from the start: checkpoint is damaged: its checksum differs()$`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "killed" {
				long(t, "trains again")
			}

			t.Setenv("TEST_CHECKPOINT_EVERY", c.every)

			dir, path := stopped(t, checkpointYAML, c.stop, c.every != "1h")
			if c.spoil {
				b := contents(t, path)

				b[len(b)/2] ^= 1
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			note := runNotes(t, dir)
			m := regexp.MustCompile(c.note).FindStringSubmatch(note)

			epochs := 0
			if m != nil && m[1] != "" {
				fmt.Sscan(m[1], &epochs)
			}

			if m == nil || !c.spoil && (epochs < 1 || epochs >= 1500) {
				t.Errorf("the note is %q, expected %s", note, c.note)
			}

			t.Log(note)

			if got := resultHashes(t, dir); got != want {
				t.Errorf("results differ:\n%s", differing(want, got))
			}

			if _, err := os.Stat(filepath.Join(dir, "runs", ".cache", "scratch")); err == nil {
				t.Error("the scratch folder stays after success")
			}

			// The warning is also in the result's manifest.
			out, err := exec.Command("grep", "-rlF", strings.TrimPrefix(note, "toy/train/gap/seed-0 checkpoint: "),
				filepath.Join(dir, "runs", ".cache", "objects"), "--include=manifest.json").Output()
			if err != nil || strings.Count(string(out), "\n") != 1 {
				t.Errorf("manifests with the note: %q, %v", out, err)
			}
		})
	}
}

// undisturbed runs a project without interruption. It skips the test with -short.
func undisturbed(t *testing.T, yaml string) string {
	t.Helper()

	if testing.Short() {
		t.Skip("kills real runs; not with -short")
	}

	dir := project(t, yaml)
	cmd, lines, _ := start(t, dir, "run", "--progress", "none")
	for range lines {
	}

	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	return dir
}

// stopped makes projects until stopInTraining has left a checkpoint in one. On a busy
// machine a training may not have begun when the signal comes, or be over already; then
// the next try waits longer, or less.
func stopped(t *testing.T, yaml string, stop os.Signal, expected bool) (dir, path string) {
	t.Helper()

	for try, wait := 0, 50*time.Millisecond; path == "" && try < 8; try++ {
		dir = project(t, yaml)

		var over bool
		if path, over = stopInTraining(t, dir, stop, expected, wait); over {
			wait /= 2
		} else {
			wait *= 2
		}
	}

	if path == "" {
		t.Fatal("no checkpoint was left")
	}

	return dir, path
}

// runNotes runs the project and returns its notes, each after the name of its task.
func runNotes(t *testing.T, dir string) string {
	t.Helper()
	note := ""

	cmd, lines, _ := start(t, dir, "run", "--progress", "json")
	for l := range lines {
		var e struct{ Event, Task, Note string }
		if json.Unmarshal([]byte(l), &e) == nil && e.Event == "note" {
			note += e.Task + " " + e.Note
		}
	}

	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	return note
}

// stopInTraining starts a run in dir and sends it the signal when its training
// has begun: after its first checkpoint, if one is expected, and the wait. It
// returns the checkpoint left behind ("": none), and whether the run was over
// before it could be stopped.
func stopInTraining(t *testing.T, dir string, stop os.Signal, expected bool, wait time.Duration) (path string,
	over bool,
) {
	t.Helper()
	checkpoint := func() string {
		m, _ := filepath.Glob(filepath.Join(dir, "runs", ".cache", "scratch", "*", "checkpoint"))
		return strings.Join(m, "")
	}

	cmd, lines, _ := start(t, dir, "run", "--progress", "json")
	for l := range lines {
		if kind, stage := event(l); kind == "start" && stage == "train" {
			break
		}
	}

	for ended := false; expected && checkpoint() == "" && !ended; time.Sleep(time.Millisecond) {
		select {
		case _, more := <-lines:
			ended = !more
		default:
		}
	}

	time.Sleep(wait)
	_ = cmd.Process.Signal(stop) // fails if the run is over
	for range lines {
	}

	if cmd.Wait() == nil {
		return "", true
	}

	return checkpoint(), false
}

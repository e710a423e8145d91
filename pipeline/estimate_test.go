package pipeline_test

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// The tasks of the default run, with the processor time that each took when it was recorded
// (testdata/README.md), are run two at a time against a clock of their own. From a third of
// the run on the time left, asked at every start and end of a task, is within 30 % of the
// truth, or half of the second to which it is shown.
func TestEstimateOfDefaultRun(t *testing.T) {
	config := contents(t, "../pipeline.yaml")

	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}

	p, err := pipeline.Load(file)
	if err != nil {
		t.Fatal(err)
	}

	tasks := map[string]*engine.Task{}
	for _, task := range p.Plan.Tasks {
		tasks[task.ID] = task
	}

	todo, took := recordOfDefaultRun(t, tasks)
	zero := time.Unix(0, 0)
	e := pipeline.NewEstimate(2)
	e.Observe(engine.Event{Kind: "plan", Todo: todo}, zero)

	var end float64 // of the run, in a first pass

	asked, wrong := 0, 0
	for _, judge := range []bool{false, true} {
		var running [2]*engine.Task
		var free [2]float64

		next := 0
		for {
			k := 0 // the worker that is free first
			busy := func(k int) bool { return running[k] != nil || next < len(todo) }
			if busy(1) && (free[1] < free[0] || !busy(0)) {
				k = 1
			}

			now := free[k]

			var events []engine.Event
			if running[k] != nil {
				events = append(events, engine.Event{Kind: "done", Task: running[k], Ran: true, Seconds: took[running[k]]})
				running[k] = nil
			}

			if next < len(todo) {
				running[k], free[k] = todo[next], now+took[todo[next]]
				events = append(events, engine.Event{Kind: "start", Task: todo[next]})
				next++
			}

			if len(events) == 0 {
				break
			}

			end = max(end, now)
			for _, v := range events {
				if !judge {
					continue
				}

				at := zero.Add(time.Duration(now * float64(time.Second)))
				e.Observe(v, at)

				if now < end/3 {
					continue
				}

				asked++

				left, truth := e.Left(at).Seconds(), end-now
				if math.Abs(left-truth) > max(0.3*truth, 0.5) {
					if wrong++; wrong <= 5 {
						t.Errorf("after %.1f of %.1f s, %s of %s: %.1f s left, in truth %.1f", now, end, v.Kind, v.Task.ID, left, truth)
					}
				}
			}
		}
	}

	t.Logf("%.1f s; asked %d times from a third of the run on, off by more than 30 %% at %d", end, asked, wrong)

	if asked < 20 {
		t.Errorf("asked %d times", asked)
	}
}

// recordOfDefaultRun reads the tasks in the order they ran in, and their seconds.
func recordOfDefaultRun(t *testing.T, tasks map[string]*engine.Task) ([]*engine.Task, map[*engine.Task]float64) {
	t.Helper()

	f, err := os.Open("testdata/default-run.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}

	var todo []*engine.Task

	took := map[*engine.Task]float64{}
	for _, r := range rows[1:] { // task, processor_s
		task := tasks[r[0]]
		if task == nil {
			t.Fatalf("the default run has no task %s any more: record it again", r[0])
		}

		if took[task], err = strconv.ParseFloat(r[1], 64); err != nil {
			t.Fatal(err)
		}

		todo = append(todo, task)
	}

	if len(took) != len(tasks) {
		t.Fatalf("the record has %d of %d tasks of the default run: record it again", len(took), len(tasks))
	}

	return todo, took
}

package pipeline_test

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// The default run as it was recorded (testdata/README.md): from a third of the run on the
// time left, asked at every start and end of a task by a clock that follows the record, is
// within 30 % of the truth, or 2 % of the run at its end. The truth is the record itself.
func TestEstimateOfDefaultRun(t *testing.T) {
	config, err := os.ReadFile("../pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
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
	type moment struct {
		at float64
		v  engine.Event
	}
	var list []moment
	var todo []*engine.Task
	end := 0.0
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, r := range rows[1:] { // task, started, ended, seconds
		task := tasks[r[0]]
		if task == nil {
			t.Fatalf("the default run has no task %s any more: record it again", r[0])
		}
		todo = append(todo, task)
		delete(tasks, r[0])
		list = append(list, moment{number(r[1]), engine.Event{Kind: "start", Task: task}},
			moment{number(r[2]), engine.Event{Kind: "done", Task: task, Ran: true, Seconds: number(r[3])}})
		end = max(end, number(r[2]))
	}
	if len(tasks) > 0 {
		t.Fatalf("the record lacks %d tasks of the default run: record it again", len(tasks))
	}
	slices.SortStableFunc(list, func(a, b moment) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	zero := time.Unix(0, 0)
	e := pipeline.NewEstimate(2)
	e.Observe(engine.Event{Kind: "plan", Todo: todo}, zero)
	asked, wrong := 0, 0
	for _, m := range list {
		now := zero.Add(time.Duration(m.at * float64(time.Second)))
		e.Observe(m.v, now)
		if m.at < end/3 {
			continue
		}
		asked++
		left, truth := e.Left(now).Seconds(), end-m.at
		if math.Abs(left-truth) > max(0.3*truth, 0.02*end) {
			if wrong++; wrong <= 5 {
				t.Errorf("after %.1f of %.1f s, %s of %s: %.1f s left, in truth %.1f", m.at, end, m.v.Kind, m.v.Task.ID, left,
					truth)
			}
		}
	}
	t.Logf("%.1f s, asked %d times from a third of the run on, off by more than 30 %% at %d", end, asked, wrong)
	if asked < 20 {
		t.Errorf("asked %d times", asked)
	}
}

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

// A run of fake tasks on the real engine, looked at as it goes. What is expected is
// what the test had the tasks do.
func TestWatcher(t *testing.T) {
	s := newStub(t)
	w := New(s.dir)
	look := func() string {
		w.Refresh(time.Now())
		return string(w.Page(time.Now(), 10*time.Second))
	}

	if p := look(); !strings.Contains(p, "No journal of a run") {
		t.Errorf("before the run: %s", p)
	}

	s.begin()
	row := func(stage string) (v stageView) {
		for _, x := range w.stageViews(time.Now()) {
			if x.Name == stage {
				v = x
			}
		}

		return v
	}

	until(t, "three tasks are at work", func() bool { look(); return w.runningView(time.Now()).Count == 3 })

	if v := row("ingest"); v.Tasks != 3 || v.Running != 3 || v.Waiting != 0 || v.Made != 0 {
		t.Errorf("ingest: %+v", v)
	}

	if v := row("train"); v.Tasks != 2 || v.Waiting != 2 {
		t.Errorf("train: %+v", v)
	}

	host, _ := os.Hostname()
	if r := w.runningView(time.Now()).Tasks[0]; !strings.HasPrefix(r.ID, "e/ingest/") || r.Where != host ||
		!strings.HasPrefix(r.Since, time.Now().Format("2006-")) {
		t.Errorf("at work: %+v", r)
	}

	if p := look(); !strings.Contains(p, `http-equiv="refresh" content="10"`) || strings.Contains(p, "test <1>") {
		t.Error("the page is not read anew, or does not escape a name")
	}

	s.gates["e/ingest/c.wav"] <- s.failing()
	s.gates["e/ingest/a.wav"] <- nil
	s.gates["e/ingest/b.wav"] <- nil
	until(t, "one failed, the trainings began", func() bool { look(); return row("train").Running == 2 })

	f := w.failedView()
	if f.Count != 1 || f.Tasks[0].ID != "e/ingest/c.wav" || f.Tasks[0].Text != "the microphone fell <i>down</i>" ||
		f.Tasks[0].Log != ".cache/command/parts/b/log" {
		t.Fatalf("failed: %.300v", f)
	}

	if tail := f.Tasks[0].Tail; !strings.HasSuffix(tail, "<script>last()</script> line") ||
		strings.Count(tail, "\n") != logLines-1 || !strings.HasPrefix(tail, "line of the log\n") {
		t.Errorf("the log's tail has %d bytes: %.80q…", len(tail), tail)
	}

	if p := look(); strings.Contains(p, "<script>last") || strings.Contains(p, "<i>down") {
		t.Error("the page does not escape an error or a log")
	}

	if v := row("ingest"); v.Made != 2 || v.Failed != 1 || v.Percent != 66 {
		t.Errorf("ingest: %+v", v)
	}

	// The later line of an epoch counts: an interrupted training went back.
	s.report("e/train/low/seed-1", 1, 9, 90)
	s.report("e/train/low/seed-1", 3, 7, 70)
	s.report("e/train/low/seed-1", 2, 5, 50)
	until(t, "two epochs of seed 1", func() bool {
		look()
		return w.curve(curveID{"e", "low", 1}).words(1) == "seed 1: epoch 2 of 40, loss 5, held out 50"
	})

	if p := look(); !strings.Contains(p, `data-x="1 2" data-y="9 5"`) ||
		!strings.Contains(p, `data-x="1 2" data-y="90 50"`) {
		t.Error("the losses are not drawn")
	}

	for _, id := range []string{"e/train/low/seed-0", "e/train/low/seed-1", "e/report", "report"} {
		s.gates[id] <- nil
	}

	if err := <-s.over; !errors.Is(err, engine.ErrFailed) {
		t.Fatal(err)
	}

	p := look()
	for _, want := range []string{
		"Ended with failures", "blades = 2 held out: holds. &lt;b&gt;Error&lt;/b&gt; 2.5 dB.",
		`href="report.html"`, "e, simulated data",
		"seed 0: epoch 40 of 40, loss 0.25; seed 1: epoch 40 of 40, loss 0.25, held out 50", "At work: 0",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page of the finished run lacks %q", want)
		}
	}

	if strings.Contains(p, "http-equiv=\"refresh\"") || strings.Contains(p, "before this run") {
		t.Error("the finished run is taken for one at work")
	}

	// After the fact, from the work directory alone.
	w = New(s.dir)

	if q := look(); !strings.Contains(q, "seed 1: epoch 40 of 40, loss 0.25</figcaption>") ||
		!strings.Contains(q, "Ended with failures") {
		t.Error("another watcher shows something else")
	}
}

// A run that was interrupted, one that was killed, and one that follows.
func TestEnds(t *testing.T) {
	s := newStub(t)
	w := New(s.dir)
	state := func() string {
		w.Refresh(time.Now())
		return w.runView(time.Now()).State
	}

	s.begin()
	until(t, "tasks are at work", func() bool { state(); return w.runningView(time.Now()).Count == 3 })

	if got := state(); got != "Running" {
		t.Error(got)
	}

	journal := filepath.Join(s.dir, engine.JournalDir, "run.jsonl")
	running, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}

	s.stop()
	<-s.over

	if got := state(); got != "Interrupted" || w.runningView(time.Now()).Count != 0 {
		t.Error(got)
	}

	// The journal as a kill leaves it: the last line cut, nothing since an hour.
	killed := New(filepath.Join(t.TempDir(), "runs"))
	to := filepath.Join(killed.dir, engine.JournalDir, "run.jsonl")

	hour := time.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, running[:len(running)-20], 0o644),
		os.Chtimes(to, hour, hour)); err != nil {
		t.Fatal(err)
	}

	w = killed

	if got := state(); !strings.HasPrefix(got, "No sign of life since "+hour.Format(time.DateTime)) {
		t.Error(got)
	}

	if r := w.runningView(time.Now()); r.Count != 2 || !strings.HasPrefix(r.Tasks[0].Note, "no sign of life") {
		t.Errorf("at work: %+v", r)
	}

	// A run that follows replaces the journal; its lines come in two pieces.
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(to, running[:100], 0o644); err != nil {
		t.Fatal(err)
	}

	state()

	if err := os.WriteFile(to, running, 0o644); err != nil { // the same file, longer
		t.Fatal(err)
	}

	if got := state(); got != "Running" || w.runningView(time.Now()).Count != 3 {
		t.Errorf("%s, %d at work", got, w.runningView(time.Now()).Count)
	}
}

// Tasks made one by one leave a journal each.
func TestOneByOne(t *testing.T) {
	s := newStub(t)
	k := engine.Worker{Plan: s.plan, Program: "test"}
	w := New(s.dir)
	s.gates["e/ingest/a.wav"] <- nil
	s.gates["e/ingest/b.wav"] <- errors.New("no such microphone")

	if _, err := makeOne(t.Context(), k, "e/ingest/a.wav"); err != nil {
		t.Fatal(err)
	}

	if _, err := makeOne(t.Context(), k, "e/ingest/b.wav"); err == nil {
		t.Fatal("no failure")
	}

	done := make(chan error)
	go func() {
		_, err := makeOne(t.Context(), k, "e/ingest/c.wav")
		done <- err
	}()

	until(t, "c is at work", func() bool { w.Refresh(time.Now()); return w.runningView(time.Now()).Count == 1 })

	if v := w.stageViews(time.Now())[0]; v.Tasks != 3 || v.Made != 1 || v.Failed != 1 || v.Running != 1 {
		t.Errorf("%+v", v)
	}

	if v := w.runView(time.Now()); v.State != "Tasks are made one by one" ||
		!strings.Contains(strings.Join(v.Facts, " "), "at work: 1. Tasks made alone (pipeline exec): 1 of 7 in the plan.") {
		t.Error(v)
	}

	// Stages of which no task has begun are there too, in the plan's order.
	if v := w.stageViews(time.Now()); len(v) != 3 || v[1].Name != "train" || v[1].Tasks != 2 || v[1].Waiting != 2 ||
		v[2].Name != "report" || v[2].Tasks != 2 {
		t.Errorf("%+v", v)
	}

	s.gates["e/ingest/c.wav"] <- nil

	if err := <-done; err != nil {
		t.Fatal(err)
	}

	s.gates["e/ingest/b.wav"] <- nil // tried again

	if _, err := makeOne(t.Context(), k, "e/ingest/b.wav"); err != nil {
		t.Fatal(err)
	}

	w.Refresh(time.Now())

	if v := w.stageViews(time.Now())[0]; v.Tasks != 3 || v.Made != 3 || v.Failed != 0 || v.Running != 0 {
		t.Errorf("%+v", v)
	}
}

// Whatever a journal says, no file outside the work directory is shown.
func TestLogOutside(t *testing.T) {
	dir := t.TempDir()
	w := New(filepath.Join(dir, "runs"))

	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, log := range []string{"../secret", "a/../../secret", filepath.Join(dir, "secret"), "", "."} {
		if got := w.tail(log); got != "" {
			t.Errorf("%q gives %q", log, got)
		}
	}
}

// FuzzJournal reads journals of any content: nothing panics, and counts stay counts.
func FuzzJournal(f *testing.F) {
	line := func(l engine.Line) string { b, _ := json.Marshal(l); return string(b) + "\n" }
	f.Add(line(engine.Line{Event: "run", Jobs: 2, Stages: []engine.StageSummary{{Stage: "train", Cached: 1}}}) +
		line(engine.Line{Event: "task", Task: "e/train/s/seed-0", Stage: "train", Experiment: "e", Split: "s"}) +
		line(engine.Line{Event: "start", Task: "e/train/s/seed-0", Key: "k"}) +
		line(engine.Line{Event: "failed", Task: "e/train/s/seed-0", Text: "x", Log: "../y"}) +
		line(engine.Line{Event: "done", Task: "e/train/s/seed-0", Ran: true, Seconds: 2}) + line(engine.Line{Event: "end"}))

	f.Add("{\"event\":\"done\",\"task\":\"x\"}\n{\"event\":\"task\"}\n{\"event\":\"start\"}\n\n{")
	dir := f.TempDir()
	path := filepath.Join(dir, engine.JournalDir, "run.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}

		w := New(dir)
		w.Refresh(time.Now())

		if page := string(w.Page(time.Now(), time.Second)); !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("the page ends with %q", page[max(0, len(page)-100):])
		}
	})
}

// Of a split with many seeds those at work are stated one by one, the others as a range.
func TestManySeeds(t *testing.T) {
	w := New(t.TempDir())

	var seeds []int
	for k := range 25 {
		c := w.curve(curveID{"e", "s", k})
		c.of = 9
		c.loss.add(3, float64(k))
		c.live = k == 24
		seeds = append(seeds, k)
	}

	got := strings.Join(w.short(split{"e", "s"}, seeds), "; ")
	if want := "seed 24: epoch 3 of 9, loss 24; 24 seeds done, loss 0 to 23"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}

	page := string(w.Page(time.Now(), time.Second))
	if n := strings.Count(page, "data-series="); n != mostLines || !strings.Contains(page, `data-series="seed 24"`) {
		t.Errorf("%d lines are drawn, expected %d, seed 24's among them", n, mostLines)
	}
}

// The losses of a finished training are those of its history, the held-out one at the
// epochs where it was taken.
func TestReadHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.arrow")
	h := &table.Table{Meta: []kv.Pair{{Key: "data", Value: "simulated"}}, Columns: []table.Column{
		{Name: "epoch", Ints: []int64{1, 2, 3}},
		{Name: "loss", Floats: []float64{3, 2, 1}},
		{Name: "held_out_loss", Floats: []float64{math.NaN(), 8, 9}},
	}}

	if _, err := h.WriteFile(path); err != nil {
		t.Fatal(err)
	}

	c := &curve{held: line{[]float64{1}, []float64{7}}, live: true}
	c.readHistory(path)

	if !slices.Equal(c.held.epoch, []float64{2, 3}) || !slices.Equal(c.held.value, []float64{8, 9}) || c.of != 3 ||
		!slices.Equal(c.loss.value, []float64{3, 2, 1}) || c.data != "simulated" || c.live {
		t.Errorf("%+v", c)
	}
}

// makeOne makes one task, as pipeline exec does.
func makeOne(ctx context.Context, k engine.Worker, id string) (left int, err error) {
	i := slices.IndexFunc(k.Plan.Tasks, func(t *engine.Task) bool { return t.ID == id })
	return k.MakePart(ctx, k.Plan.Tasks[i:i+1], nil, func(*engine.Task, bool) {})
}

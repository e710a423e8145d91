package runs

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"doubletake/internal/must"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// recorded is a run of one task, which does what the test says.
func recorded(t *testing.T, text string) *Run {
	t.Helper()

	f := must.Get(config.Parse("pipeline.yaml", []byte(text)))(t)

	task := &engine.Task{ID: "a/task", Stage: "dsp", Experiment: "a"}
	task.Run = func(context.Context, *engine.Job) error { return nil }

	return &Run{
		File: f, Plan: &engine.Plan{Dir: t.TempDir(), Stages: []string{"dsp"}, Tasks: []*engine.Task{task}},
		Reports: func() []report.Experiment { return nil },
	}
}

// perform makes the run's task and keeps the record.
func (run *Run) perform(ctx context.Context) error {
	run.Start = time.Now()
	run.Result, run.Failure = engine.Run(ctx, run.Plan, engine.Options{Jobs: 1})
	return errors.Join(run.Failure, run.Keep())
}

const recordedYAML = "version: 1\n" +
	"experiments: {a: {ingest: {simulate: {campaign: toy}}, train: {inputs: [x], splits: {all: {test: none}}}}}\n"

func records(t *testing.T, p *Run) []Record {
	t.Helper()

	list, damaged, err := History(p.Plan.Dir)
	must.Never(t, err != nil || len(damaged) > 0, "%v, %v", damaged, err)

	return list
}

// Runs that make something, fail, or have another configuration leave a record; others
// leave none. The reason of a failure is bounded.
func TestRecords(t *testing.T) {
	p := recorded(t, recordedYAML)
	run := func(want int, ok bool) {
		t.Helper()

		if err := p.perform(t.Context()); (err == nil) != ok {
			t.Fatal(err)
		}

		if list := records(t, p); len(list) != want {
			t.Fatalf("%d records, expected %d", len(list), want)
		}
	}

	run(1, true)
	run(1, true)
	p.File, _ = config.Parse("pipeline.yaml", []byte(strings.Replace(recordedYAML, "[x]", "[x], seeds: 7", 1)))
	run(2, true)
	run(2, true)
	p.Plan.Tasks[0].Version++
	p.Plan.Tasks[0].Run = func(context.Context, *engine.Job) error { return errors.New(strings.Repeat("no µ ", 10000)) }
	run(3, false)

	list := records(t, p)
	if d := DiffRecords(&list[0], &list[1]); len(d.Settings) != 1 ||
		d.Settings[0] != (Change{"a", "train.seeds", "5", "7"}) || d.Unknown {
		t.Errorf("%+v", d)
	}

	if r := list[2]; !strings.HasPrefix(r.Failed, "a task failed: a/task: no µ no µ ") ||
		len(r.Failed) > failureBytes+10 || r.Config != p.File.Text() || r.Ran != 0 {
		t.Errorf("%.300v", r)
	}

	// A second run while one is at work is refused and leaves no record; the first is
	// interrupted.
	ctx, stop := context.WithCancel(t.Context())
	p.Plan.Tasks[0].Run = func(ctx context.Context, _ *engine.Job) error {
		other := &Run{File: p.File, Plan: p.Plan}

		var locked *engine.LockedError
		if err := other.perform(t.Context()); !errors.As(err, &locked) {
			t.Error(err)
		}

		stop()
		<-ctx.Done()

		return ctx.Err()
	}

	if err := p.perform(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	if list := records(t, p); len(list) != 4 || list[3].Failed != "interrupted" {
		t.Errorf("%.300v", list)
	}
}

// The settings of a sweep of 196 variants are recorded: those that vary for each variant,
// the others once.
func TestRecordOfSweep(t *testing.T) {
	sweep := "sweep: {epochs: [" + strings.Repeat("X, ", 14) + "], batch: [" + strings.Repeat("X, ", 14) + "]}}}"
	for i := range 28 {
		sweep = strings.Replace(sweep, "X", strconv.Itoa(2+i), 1)
	}

	p := recorded(t, strings.Replace(recordedYAML, "}}}}}\n", "}}}, "+sweep, 1))
	must.Be(t, len(p.File.Experiments), 196, "got")

	must.Do(t, p.perform(t.Context()))

	r := records(t, p)[0]

	of := map[string]int{}
	for _, s := range r.Settings {
		of[s.Where]++
	}

	if r.Cut || len(of) != 198 || of["a/epochs=2,batch=16"] != 2 || of["a"] < 20 ||
		!slices.Contains(r.Settings, Setting{"a/epochs=2,batch=16", "train.optimizer.batch", "16"}) ||
		!slices.Contains(r.Settings, Setting{"a", "train.seeds", "5"}) {
		t.Errorf("cut: %v; settings of %d, %d in common", r.Cut, len(of), of["a"])
	}
}

// The number of records, their size and the size of each are bounded: the newest stay,
// and what is too long goes, the settings first. A clock that was set back overwrites
// nothing.
func TestRecordsAreBounded(t *testing.T) {
	defer func(n int, all int64, one int) { mostRecords, recordsBytes, recordBytes = n, all, one }(
		mostRecords, recordsBytes, recordBytes)
	mostRecords = 3
	p := recorded(t, recordedYAML)
	dir := filepath.Join(p.Plan.Dir, historyDir)
	keep := func(at time.Time) {
		t.Helper()

		p.Start, p.Result = at, &engine.Result{Ran: 1}
		must.Do(t, p.Keep())
	}

	ids := func() (s string) {
		for _, r := range records(t, p) {
			s += r.ID[9:] + " "
		}
		return s
	}

	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	keep(at)
	keep(at)
	keep(at)

	if got, want := ids(), "030405.006Z 030405.007Z 030405.008Z "; got != want {
		t.Errorf("at one time: %s, expected %s", got, want)
	}

	half := filepath.Join(dir, ".tmp-1")

	old := time.Now().Add(-2 * time.Hour)
	must.Do(t, errors.Join(os.WriteFile(half, []byte("{"), 0o644), os.Chtimes(half, old, old)))

	keep(at.Add(time.Second))

	if got, want := ids(), "030405.007Z 030405.008Z 030406.006Z "; got != want {
		t.Errorf("of four: %s, expected %s", got, want)
	}

	if _, err := os.Stat(half); err == nil {
		t.Error("what a killed run was writing stays")
	}

	fi := must.Get(os.Stat(filepath.Join(dir, mustNames(t, dir)[0])))(t)

	recordsBytes = 2*fi.Size() + 100
	keep(at.Add(2 * time.Second))

	if got, want := ids(), "030406.006Z 030407.006Z "; got != want {
		t.Errorf("by size: %s, expected %s", got, want)
	}

	recordBytes = 1000
	keep(at.Add(3 * time.Second))
	recordBytes = 1 << 20
	list := records(t, p)
	r := list[len(list)-1]
	must.Not(t, !r.Cut || r.Settings != nil || r.Config != recordedYAML, "too long: %+v", r)

	if d := DiffRecords(&list[0], &r); !d.Unknown || len(d.Settings) > 0 {
		t.Errorf("settings that are not there: %+v", d)
	}
}

func mustNames(t *testing.T, dir string) []string {
	t.Helper()

	names := must.Get(recordNames(dir))(t)

	return names
}

// The numbers of a record are those of metrics.json. Differences of errors are stated
// where they exceed two standard errors of the difference: 2·√(0.3² + 0.4²) = 1.
func TestRecordedNumbers(t *testing.T) {
	read := func(held string, rmse float64) *Record {
		b, err := json.Marshal(map[string]any{"experiment": "e", "splits": []any{map[string]any{
			"name": "s", "held_out": held, "verdict": "wide",
			"train": map[string]any{"r2": map[string]any{"mean": 0.5, "std": 0.25}},
			"test": map[string]any{
				"rows": 12, "r2": map[string]any{"mean": nil, "undefined": "why"},
				"sum_e_ratio":    map[string]any{"mean": 3, "std": 9},
				"sum_e_ratio_se": map[string]any{"mean": 0.125, "std": 9},
			},
			"network": []any{map[string]any{
				"unit": "N", "outcome": "lift_n", "rmse": rmse, "rmse_se": 0.3, "coverage": 0.75,
			}},
			"honest": map[string]any{"outcomes": []any{
				map[string]any{"unit": "N", "outcome": "lift_n", "rmse": rmse, "rmse_se": 0.4},
				map[string]any{"unit": "dB", "outcome": "a_db", "rmse": 1, "half_width": 6},
			}},
		}}})
		must.Do(t, err)

		r := &Record{Digest: "1"}
		must.Do(t, r.addMetrics(b))

		return r
	}

	a := read("rpm = 1", 5)
	got := map[MetricKey]Number{}
	for _, m := range a.Metrics {
		got[m.MetricKey] = m.Value
	}

	key := func(set, metric, prediction, unit, outcomes string) MetricKey {
		return MetricKey{"e", "s", set, metric, prediction, unit, outcomes}
	}
	for k, want := range map[MetricKey]Number{
		key("train", "r2", "", "", ""):                        {0.5, 0.25, math.NaN()},
		key("test", "r2", "", "", ""):                         {math.NaN(), math.NaN(), math.NaN()},
		key("test", "sum_e_ratio", "", "", ""):                {3, math.NaN(), 0.125},
		key("test", "rmse", "network", "N", ""):               {5, math.NaN(), 0.3},
		key("test", "coverage", "network", "N", ""):           {0.75, math.NaN(), math.NaN()},
		key("test", "rmse", "calibrated", "N", "lift_n"):      {5, math.NaN(), 0.4},
		key("test", "half_width", "calibrated", "dB", "a_db"): {6, math.NaN(), math.NaN()},
	} {
		n, ok := got[k]

		same := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
		must.Not(t, !ok || !same(n.Mean, want.Mean) || !same(n.Std, want.Std) || !same(n.SE, want.SE),
			"%+v: %+v, expected %+v", k, n, want)
	}

	if s := a.Splits[0]; s != (SplitRecord{"e", "s", "rpm = 1", 12, "wide"}) {
		t.Errorf("%+v", s)
	}

	for _, c := range []struct {
		a, b, sea, seb float64
		want           string
	}{
		{5, 3.99, 0.3, 0.4, "better"},
		{5, 4.01, 0.3, 0.4, ""},
		{5, 6.01, 0.3, 0.4, "worse"},
		{5, 1, math.NaN(), 0.4, ""},
		{math.NaN(), 1, 0.3, 0.4, ""},
	} {
		must.Equal(t, better(Number{Mean: c.a, SE: c.sea}, Number{Mean: c.b, SE: c.seb}), c.want, "%v ± %v → %v ± %v",
			c.a, c.sea, c.b, c.seb)
	}

	// Only on the same held-out set of the same triplets.
	a.Data = []Setting{{"e", "recordings", "7"}, {"e", dataDigest, "one"}}
	for _, c := range []struct {
		held, data string
		want       int
	}{{"rpm = 1", "one", 2}, {"rpm = 2", "one", 0}, {"rpm = 1", "two", 0}} {
		b, n := read(c.held, 1), 0
		b.Data = []Setting{{"e", "recordings", "7"}, {"e", dataDigest, c.data}}
		for _, m := range DiffRecords(a, b).Metrics {
			if m.Verdict == "better" {
				n++
			}
		}

		must.Equal(t, n, c.want, "%s, triplets %s: errors are better", c.held, c.data)
	}
}

// Records are found by number from either end and by the beginning of their ID.
func TestFind(t *testing.T) {
	list := []Record{{ID: "20261101T0"}, {ID: "20261102T0"}, {ID: "20261102T1"}}
	for name, want := range map[string]int{
		"1": 0, "3": 2, "-1": 2, "-3": 0, "20261101": 0, "20261102T1": 2,
		"4": -1, "0": -1, "-4": -1, "20261102": -1, "": -1, "x": -1, "2": 1, "2026": -1,
	} {
		r, err := Find(list, name)

		var usage *config.UsageError
		if want < 0 {
			must.Not(t, !errors.As(err, &usage), "%q: %v, %v; expected a usage error", name, r, err)
			continue
		}

		must.Not(t, err != nil || r != &list[want], "%q: %v, %v; expected %s", name, r, err, list[want].ID)
	}

	for name, want := range map[string]string{
		"4": "from 1 to 3, from -1 to -3, or the beginning of an ID", "202611": "found that of 3; write more of it",
	} {
		_, err := Find(list, name)
		must.Refuse(t, err, want)
	}

	_, err := Find(nil, "1")
	must.Refuse(t, err, "no records of runs here")
}

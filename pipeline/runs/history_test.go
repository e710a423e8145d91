package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// recorded returns a run of one task, which does nothing until the test replaces it.
func recorded(t *testing.T, text string) *Run {
	t.Helper()

	f, err := config.Parse("pipeline.yaml", []byte(text))
	require.NoError(t, err)

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

// recordedYAML is the configuration of such a run.
const recordedYAML = "version: 1\n" +
	"experiments: {a: {ingest: {simulate: {campaign: toy}}, train: {inputs: [x], splits: {all: {test: none}}}}}\n"

// records returns the records of a run's work directory, all of which must be valid.
func records(t *testing.T, p *Run) []Record {
	t.Helper()

	list, damaged, err := History(p.Plan.Dir)
	require.NoError(t, err)
	require.Empty(t, damaged)

	return list
}

// A run that makes something leaves a record, and so does a run with another configuration. Other runs leave none.
func TestRecords(t *testing.T) {
	p := recorded(t, recordedYAML)

	require.NoError(t, p.perform(t.Context()))
	require.Len(t, records(t, p), 1, "a run that made its task")

	require.NoError(t, p.perform(t.Context()))
	require.Len(t, records(t, p), 1, "everything was up to date")

	var err error
	p.File, err = config.Parse("pipeline.yaml", []byte(strings.Replace(recordedYAML, "[x]", "[x], seeds: 7", 1)))
	require.NoError(t, err)

	for range 2 {
		require.NoError(t, p.perform(t.Context()))
		require.Len(t, records(t, p), 2, "another configuration, recorded once")
	}

	list := records(t, p)
	d := DiffRecords(&list[0], &list[1])
	assert.Equal(t, []Change{{"a", "train.seeds", "5", "7"}}, d.Settings)
	assert.False(t, d.Unknown)
}

// The record of a run that failed has the beginning of the error's text, and the configuration.
func TestRecordOfFailure(t *testing.T) {
	p := recorded(t, recordedYAML)
	p.Plan.Tasks[0].Run = func(context.Context, *engine.Job) error { return errors.New(strings.Repeat("no µ ", 10000)) }
	require.Error(t, p.perform(t.Context()))

	list := records(t, p)
	require.Len(t, list, 1)
	assert.True(t, strings.HasPrefix(list[0].Failed, "a task failed: a/task: no µ no µ "), "%.100s", list[0].Failed)
	assert.LessOrEqual(t, len(list[0].Failed), maxFailureBytes+len(" …"))
	assert.Equal(t, recordedYAML, list[0].Config)
	assert.Zero(t, list[0].Ran)
}

// A second run while a run is at work is refused and leaves no record. The first run, which is interrupted, leaves one.
func TestRecordOfInterruptedRun(t *testing.T) {
	p := recorded(t, recordedYAML)
	ctx, stop := context.WithCancel(t.Context())
	p.Plan.Tasks[0].Run = func(ctx context.Context, _ *engine.Job) error {
		second := &Run{File: p.File, Plan: p.Plan}

		var locked *engine.LockedError
		assert.ErrorAs(t, second.perform(t.Context()), &locked)

		stop()
		<-ctx.Done()

		return ctx.Err()
	}

	require.ErrorIs(t, p.perform(ctx), context.Canceled)

	list := records(t, p)
	require.Len(t, list, 1)
	assert.Equal(t, "interrupted", list[0].Failed)
}

// In the record of a sweep of 14 × 14 = 196 variants each variant has the two settings that vary. The others are
// settings of the experiment.
func TestRecordOfSweep(t *testing.T) {
	list := func(from int) string {
		var values []string
		for i := range 14 {
			values = append(values, strconv.Itoa(from+i))
		}

		return "[" + strings.Join(values, ", ") + "]"
	}
	sweep := "sweep: {epochs: " + list(2) + ", batch: " + list(16) + "}}}"

	p := recorded(t, strings.Replace(recordedYAML, "}}}}}\n", "}}}, "+sweep, 1))
	require.Len(t, p.File.Experiments, 196)

	require.NoError(t, p.perform(t.Context()))

	record := records(t, p)[0]
	count := map[string]int{} // number of settings by place
	for _, setting := range record.Settings {
		count[setting.Where]++
	}

	assert.False(t, record.Cut)
	assert.Len(t, count, 196+2, "the variants, the experiment and the whole configuration")
	assert.Equal(t, 2, count["a/epochs=2,batch=16"])
	assert.Contains(t, record.Settings, Setting{"a/epochs=2,batch=16", "train.optimizer.batch", "16"})
	assert.Contains(t, record.Settings, Setting{"a", "train.seeds", "5"})
}

// setBounds sets the bounds of records until the test ends.
func setBounds(t *testing.T, records int, allBytes int64, oneBytes int) {
	t.Helper()

	oldRecords := maxRecords
	oldAll := maxRecordsBytes
	oldOne := maxRecordBytes
	t.Cleanup(func() {
		maxRecords = oldRecords
		maxRecordsBytes = oldAll
		maxRecordBytes = oldOne
	})

	maxRecords = records
	maxRecordsBytes = allBytes
	maxRecordBytes = oneBytes
}

// keepAt keeps the record of a run that began at a time and made one task.
func (run *Run) keepAt(t *testing.T, moment time.Time) {
	t.Helper()

	run.Start = moment
	run.Result = &engine.Result{Ran: 1}
	require.NoError(t, run.Keep())
}

// times returns the times of day in the IDs of records.
func times(list []Record) []string {
	var times []string
	for _, record := range list {
		_, clock, _ := strings.Cut(record.ID, "T")
		times = append(times, clock)
	}

	return times
}

// A record never overwrites another one of the same time, as after a clock was set back: its time moves on by 1 ms.
func TestRecordsOfOneTime(t *testing.T) {
	p := recorded(t, recordedYAML)
	for range 3 {
		p.keepAt(t, time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC))
	}

	assert.Equal(t, []string{"030405.006Z", "030405.007Z", "030405.008Z"}, times(records(t, p)))
}

// The newest three of four records stay. A temporary file that a killed run left two hours ago goes.
func TestNumberOfRecords(t *testing.T) {
	setBounds(t, 3, maxRecordsBytes, maxRecordBytes)
	p := recorded(t, recordedYAML)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.keepAt(t, start)

	half := filepath.Join(p.Plan.Dir, historyDir, ".tmp-1")
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.WriteFile(half, []byte("{"), 0o644))
	require.NoError(t, os.Chtimes(half, old, old))

	for i := 1; i <= 3; i++ {
		p.keepAt(t, start.Add(time.Duration(i)*time.Second))
	}

	assert.Equal(t, []string{"030406.000Z", "030407.000Z", "030408.000Z"}, times(records(t, p)))
	assert.NoFileExists(t, half)
}

// Of three records of equal size the newest two stay if the bound is a little more than two records.
func TestSizeOfRecords(t *testing.T) {
	p := recorded(t, recordedYAML)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.keepAt(t, start)

	dir := filepath.Join(p.Plan.Dir, historyDir)
	names, err := recordNames(dir)
	require.NoError(t, err)

	info, err := os.Stat(filepath.Join(dir, names[0]))
	require.NoError(t, err)

	setBounds(t, maxRecords, 2*info.Size()+100, maxRecordBytes)
	p.keepAt(t, start.Add(time.Second))
	p.keepAt(t, start.Add(2*time.Second))

	assert.Equal(t, []string{"030406.000Z", "030407.000Z"}, times(records(t, p)))
}

// A record that is too long loses its settings, and a comparison with it says that they are not known.
func TestLongRecord(t *testing.T) {
	p := recorded(t, recordedYAML)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.keepAt(t, start)

	setBounds(t, maxRecords, maxRecordsBytes, 1000)
	p.keepAt(t, start.Add(time.Second))
	setBounds(t, maxRecords, maxRecordsBytes, 1<<20)

	list := records(t, p)
	require.Len(t, list, 2)
	assert.True(t, list[1].Cut)
	assert.Empty(t, list[1].Settings)
	assert.Equal(t, recordedYAML, list[1].Config)

	d := DiffRecords(&list[0], &list[1])
	assert.True(t, d.Unknown)
	assert.Empty(t, d.Settings)
}

// recordOf returns a record with the numbers of a metrics.json of one split.
func recordOf(t *testing.T, heldOut string, rmse float64) *Record {
	t.Helper()

	metrics, err := json.Marshal(map[string]any{"experiment": "e", "splits": []any{map[string]any{
		"name": "s", "held_out": heldOut, "verdict": "wide",
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
	require.NoError(t, err)

	record := &Record{Digest: "1"}
	require.NoError(t, record.addMetrics(metrics))

	return record
}

// The numbers of a record are the numbers of metrics.json. A number that is missing there is NaN.
func TestRecordedNumbers(t *testing.T) {
	record := recordOf(t, "rpm = 1", 5)
	numbers := record.numbers()

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
		require.Contains(t, numbers, k)
		// As text, because NaN is not equal to itself.
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(numbers[k]), "%+v", k)
	}

	assert.Equal(t, []SplitRecord{{"e", "s", "rpm = 1", 12, "wide"}}, record.Splits)
}

// An error is better or worse if it differs by more than two standard errors of the difference, here
// 2·√(0.3² + 0.4²) = 1. Without a standard error there is no verdict.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		a, b Number
		want string
	}{
		{Number{Mean: 5, SE: 0.3}, Number{Mean: 3.99, SE: 0.4}, "better"},
		{Number{Mean: 5, SE: 0.3}, Number{Mean: 4.01, SE: 0.4}, ""},
		{Number{Mean: 5, SE: 0.3}, Number{Mean: 6.01, SE: 0.4}, "worse"},
		{Number{Mean: 5, SE: math.NaN()}, Number{Mean: 1, SE: 0.4}, ""},
		{Number{Mean: math.NaN(), SE: 0.3}, Number{Mean: 1, SE: 0.4}, ""},
	} {
		assert.Equal(t, c.want, verdict(c.a, c.b), "%v → %v", c.a, c.b)
	}
}

// Errors have verdicts only on the same held-out set of the same triplets. The split has two errors that are smaller,
// of the network and of the calibrated predictions.
func TestVerdictsOfEqualSets(t *testing.T) {
	a := recordOf(t, "rpm = 1", 5)
	a.Data = []Setting{{"e", "recordings", "7"}, {"e", dataDigest, "one"}}

	for _, c := range []struct {
		heldOut, triplets string
		want              int
	}{
		{"rpm = 1", "one", 2},
		{"rpm = 2", "one", 0},
		{"rpm = 1", "two", 0},
	} {
		b := recordOf(t, c.heldOut, 1)
		b.Data = []Setting{{"e", "recordings", "7"}, {"e", dataDigest, c.triplets}}

		better := 0
		for _, metric := range DiffRecords(a, b).Metrics {
			if metric.Verdict == "better" {
				better++
			}
		}

		assert.Equal(t, c.want, better, "%s, triplets %s", c.heldOut, c.triplets)
	}
}

// Records are found by their number from either end, and by the beginning of their ID.
func TestFind(t *testing.T) {
	list := []Record{{ID: "20261101T0"}, {ID: "20261102T0"}, {ID: "20261102T1"}}
	for name, want := range map[string]int{
		"1": 0, "2": 1, "3": 2, "-1": 2, "-3": 0, "20261101": 0, "20261102T1": 2,
	} {
		record, err := Find(list, name)
		require.NoError(t, err, "%q", name)
		assert.Same(t, &list[want], record, "%q", name)
	}
}

// A name that means no record, or several, is an error of usage that says what was expected.
func TestFindNothing(t *testing.T) {
	list := []Record{{ID: "20261101T0"}, {ID: "20261102T0"}, {ID: "20261102T1"}}
	const unknown = "from 1 to 3, from -1 to -3, or the beginning of an ID"
	for name, want := range map[string]string{
		"4": unknown, "0": unknown, "-4": unknown, "": unknown, "x": unknown, "2026": unknown,
		"-9223372036854775808": unknown,
		"20261102":             "found the beginning of 2 IDs; write more of it",
		"202611":               "found the beginning of 3 IDs; write more of it",
	} {
		_, err := Find(list, name)

		var usage *fault.UsageError
		require.ErrorAs(t, err, &usage, "%q", name)
		assert.ErrorContains(t, err, want, "%q", name)
	}

	_, err := Find(nil, "1")
	assert.ErrorContains(t, err, "no records of runs here")

	_, err = Find(list[:1], "99")
	assert.ErrorContains(t, err, `run "99": there is only one run, number 1`)
}

package judge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/report"
	"doubletake/report/answer/export"
	"doubletake/report/answer/judge"
	"doubletake/report/pairs"
	"doubletake/train/score"
)

// stand is every ninth pair of the propeller stand (examples/propeller-stand), trained with propeller 4
// held out.
const stand = `version: 1
experiments:
  stand:
    ingest:
      table: {file: pairs.csv, inputs: [propeller, blades, pitch_in, rpm], y1: [kt_1], y2: [kt_2], run: run}
    train:
      inputs: [blades, pitch_in, rpm]
      compare: [linear]
      honest: {labels: true}
      seeds: 1
      estimate: {samples: 100}
      model: {hidden: [8]}
      optimizer: {epochs: 2}
      splits: {four: {test: {propeller: 4}}}
    report: {compare: theory.csv}
`

// theory is a reference: one thrust coefficient for each propeller.
const theory = "propeller,kt\n1,4.5\n2,4.6\n4,7.5\n5,4\n"

func write(t *testing.T, path, text string) string {
	t.Helper()

	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

	return path
}

// measured returns the pairs of a table in a folder.
func measured(t *testing.T, dir, table string) pairs.Source {
	t.Helper()

	return pairs.FromPath(write(t, filepath.Join(dir, "pairs.csv"), table))
}

// runStand returns the folder of a finished run of stand.
func runStand(t *testing.T) string {
	t.Helper()

	b := testfile.Read(t, filepath.Join("..", "..", "..", "examples", "propeller-stand", "pairs.csv"))

	var some []string
	for i, l := range strings.SplitAfter(string(b), "\n") {
		if i%9 == 0 {
			some = append(some, l)
		}
	}

	dir := t.TempDir()
	files := map[string]string{"pairs.csv": strings.Join(some, ""), "pipeline.yaml": stand, "theory.csv": theory}
	err := pipelinetest.Run(dir, files,
		pipeline.Options{Jobs: 1})
	require.NoError(t, err)

	return filepath.Join(dir, "runs", "stand")
}

// document is a judgement or a report as people read it in JSON.
func document(t *testing.T, b []byte, err error) map[string]any {
	t.Helper()

	var d map[string]any
	if err == nil {
		err = json.Unmarshal(b, &d)
	}

	require.NoError(t, err)

	return d["splits"].([]any)[0].(map[string]any)
}

func judged(t *testing.T, o judge.Options) map[string]any {
	t.Helper()

	o.Level = 0.95

	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	b, err := e.MetricsJSON()

	return document(t, b, err)
}

// differences lists the numbers of a that b has otherwise, by more than the relative tolerance, and counts those
// that were compared.
func differences(path string, a, b any, tolerance float64, n *int) (out []string) {
	switch v := a.(type) {
	case map[string]any:
		w, ok := b.(map[string]any)
		if !ok {
			return []string{path}
		}

		for k, x := range v {
			out = append(out, differences(path+"."+k, x, w[k], tolerance, n)...)
		}

	case []any:
		w, ok := b.([]any)
		if !ok || len(v) != len(w) {
			return []string{path}
		}

		for i, x := range v {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), x, w[i], tolerance, n)...)
		}

	case float64:
		*n++
		if w, ok := b.(float64); !ok || math.Abs(v-w) > tolerance*math.Abs(v) {
			out = append(out, fmt.Sprintf("%s: %v, expected %v", path, b, v))
		}

	default:
		if a != b {
			out = append(out, fmt.Sprintf("%s: %v, expected %v", path, b, a))
		}
	}

	return out
}

// standRun is a run of the stand: its folder, and its report and tables.
type standRun struct {
	dir    string
	report map[string]any    // metrics.json
	csv    map[string]string // paths of its tables as CSV, by name
}

// newStandRun runs the stand and exports its tables.
func newStandRun(t *testing.T) standRun {
	t.Helper()

	stand := standRun{dir: runStand(t), csv: map[string]string{}}
	b, err := os.ReadFile(filepath.Join(stand.dir, "report", "metrics.json"))
	stand.report = document(t, b, err)

	list, err := export.Find(stand.dir)
	require.NoError(t, err)
	for _, s := range list {
		written, err := export.Write(t.TempDir(), "csv", s)
		require.NoError(t, err)

		stand.csv[s.Name] = written.Paths[0]
	}

	return stand
}

// at returns the member of a document at a path of names and indices.
func at(document any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			document = document.(map[string]any)[step]
		case int:
			document = document.([]any)[step]
		}
	}

	return document
}

// checkSame checks that the members of two objects are equal within a relative tolerance, as differences compares them.
func checkSame(t *testing.T, expected, got any, tolerance float64, names ...string) {
	t.Helper()

	n := 0
	for _, name := range names {
		assert.Empty(t, differences(name, at(expected, name), at(got, name), tolerance, &n))
	}
}

// The predictions of a run are judged as the run's report judged them.
func TestSameAsReport(t *testing.T) {
	stand := newStandRun(t)
	t.Run("network", stand.checkNetwork)
	t.Run("reference", stand.checkReference)
	t.Run("intervals", stand.checkIntervals)
}

// checkNetwork judges the network's predictions that pipeline export wrote. Every number equals the report's to the
// last digit.
func (stand standRun) checkNetwork(t *testing.T) {
	predictions := stand.csv["splits/four/seed-0/predictions"]
	method := at(stand.report, "methods", 0).(map[string]any)
	maps.DeleteFunc(method, func(name string, _ any) bool { return name == "method" || strings.HasPrefix(name, "below") })

	for _, o := range []judge.Options{
		{Predictions: predictions, Against: pairs.FromPath(stand.dir), Split: "four"},
		{ // the column set of the predictions has the parts
			Predictions: predictions, Against: pairs.FromPath(filepath.Join(stand.dir, "triplets.arrow")),
		},
	} {
		got := judged(t, o)
		if o.Split == "" { // its inputs are other conditions of as many rows
			at(stand.report, "test").(map[string]any)["notes"] = at(got, "test", "notes")
		}

		n := 0
		assert.Empty(t, slices.Concat(
			differences("test", stand.report["test"], got["test"], 0, &n),
			differences("network", stand.report["network"], got["network"], 0, &n),
			differences("pair", method, at(got, "methods", 0), 0, &n)), "%+v", o)
		assert.GreaterOrEqual(t, n, 80, "%+v: numbers compared", o)
	}
}

// checkReference judges the table of predictions that the report compares.
func (stand standRun) checkReference(t *testing.T) {
	got := judged(t, judge.Options{
		Predictions: filepath.Join(stand.dir, "..", "..", "theory.csv"), Against: pairs.FromPath(stand.dir), Split: "four",
	})
	expected := at(stand.report, "reference", 0)
	require.Equal(t, "kt (theory.csv)", at(expected, "outcome"))
	checkSame(t, expected, at(got, "network", 0), 1e-12, "rmse", "rmse_se", "r2", "noise_ceiling", "runs")
}

// checkIntervals judges the calibrated predictions with intervals of one level. The numbers equal the report's as
// exactly as the ends of the intervals are rounded. Such a table has no intervals of 68 %, so that its verdict is never
// better than the report's.
func (stand standRun) checkIntervals(t *testing.T) {
	got := judged(t, judge.Options{
		Predictions: stand.csv["splits/four/honest"], Against: pairs.FromPath(stand.dir), Split: "four",
	})

	expected := at(stand.report, "honest", "outcomes", 0)
	outcome := at(got, "network", 0)
	checkSame(t, expected, outcome, 1e-12, "rmse", "rmse_se", "r2", "noise_ceiling", "sd", "sd_epistemic", "sd_noise",
		"level", "coverage", "coverage_se", "half_width", "width_over_spread", "error_over_claim", "runs")

	require.Equal(t, "undecided", at(expected, "verdict"), "the report: its 68 % intervals contain too few values")
	assert.Equal(t, "undecided", at(outcome, "verdict"), "the same predictions")

	n := 0
	assert.Empty(t, slices.Concat(
		differences("interval score", at(stand.report, "honest", "interval_score"),
			at(got, "methods", 0, "interval_score", "mean"), 1e-12, &n),
		differences("e", at(stand.report, "honest", "e"), at(got, "test", "e", "mean"), 1e-12, &n),
		differences("e_se", at(stand.report, "honest", "e_se"), at(got, "test", "e_se", "mean"), 1e-12, &n),
	))
}

// Intervals of one level are undecided; if the table states 68 % intervals too, the grade follows from both levels. By
// hand: all 40 values are inside ± 2 about the prediction, and half of them, 20, inside ± 0.5; with 68 % intervals of ±
// 1 all are inside both.
func TestTwoLevels(t *testing.T) {
	dir := t.TempDir()
	measurements := "run,x,y_1 [N],y_2 [N]\n"
	for i := range 20 {
		measurements += fmt.Sprintf("r%d,%d,%g,%g\n", i, i, float64(i)+0.1, float64(i)+0.9)
	}

	for name, c := range map[string]struct {
		columns string
		ends    func(y float64) string
		share68 float64
		want    score.Grade
	}{
		"one level": {
			"", func(float64) string { return "" }, math.NaN(), score.Undecided,
		},
		"68 % intervals that contain half": {
			",y_low_68,y_high_68", func(y float64) string { return fmt.Sprintf(",%g,%g", y-0.5, y+0.5) }, 0.5, score.Undecided,
		},
		"68 % intervals that contain all": {
			",y_low_68,y_high_68", func(y float64) string { return fmt.Sprintf(",%g,%g", y-1, y+1) }, 1, score.Wide,
		},
	} {
		table := "x,y,y_low,y_high" + c.columns + "\n"
		for i := range 20 {
			y := float64(i)
			table += fmt.Sprintf("%d,%g,%g,%g%s\n", i, y, y-2, y+2, c.ends(y))
		}

		e, err := judge.Judge(context.Background(), judge.Options{
			Against: measured(t, dir, measurements), Predictions: write(t, filepath.Join(dir, "p.csv"), table), Level: 0.95,
		})
		require.NoError(t, err, name)

		trust := e.Splits[0].Network[0]
		assert.Equal(t, 1.0, trust.Inside, "%s: share inside 95 %% intervals", name)
		assert.Equal(t, c.want, trust.Grade(), name)
		if !math.IsNaN(c.share68) {
			assert.Equal(t, c.share68, trust.At[0], "%s: share inside 68 %% intervals", name)
		}
	}
}

// Numbers by hand: two pairs in N, predictions in kN with intervals that are not central.
func TestByHand(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{
		Against: measured(t, dir, "run,x,y_1 [N],y_2 [N]\na,1,1,2\nb,2,4,6\nc,3,0,0\n"),
		Predictions: write(t, filepath.Join(dir, "p.csv"),
			"x,y [kN],y_low [kN],y_high [kN]\n1,15e-4,-0,19e-4\n2,45e-4,4e-3,8e-3\n9,0,0,0\n"),
		Level: 0.9,
	}

	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	// e = (−0.5)·0.5 and (−0.5)·1.5; inside [0, 1.9] is 1, inside [4, 8] both. The scores are the widths 1.9 and 4,
	// and 2/0.1 times 0.1 outside, in deviations of the values 1, 2, 4, 6: √3.6875.
	s := e.Splits[0]
	trust := s.Network[0]
	std := math.Sqrt(3.6875)
	score := ((1.9 + 1.9 + 20*0.1) + 2*4) / 4 / std
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"e", s.Test.Get("e").Mean, (-0.25 - 0.75) / 2 / (std * std)},
		{"inside", trust.Inside, 0.75},
		{"half width", trust.Half, (0.95 + 2) / 2},
		{"score", s.Methods[0].Get(report.IntervalScore).Mean, score},
		{"level", trust.Level, 0.9},
		{"runs", float64(trust.Runs), 2},
	} {
		assert.InDelta(t, c.want, c.got, 1e-12, "%s is", c.name)
	}

	notes := strings.Join(e.Warnings, "\n")
	assert.Contains(t, notes, o.Predictions+" match no pair: 3")
	assert.Contains(t, notes, "1 condition not predicted")
	assert.Contains(t, notes, ": x 3")
}

// One interval in several units has one answer, and bounds may be infinite: shares inside and half
// widths by hand.
// cmd/app has it as case judge-units.
func TestUnitsAndBounds(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{Against: measured(t, dir, "x [deg],y_1 [N],y_2 [N]\n-0,1,2\n90,4,6\n"), Level: 0.9}
	inf := math.Inf(1)
	for text, want := range map[string][2]float64{
		"x,y [N],y_low [N],y_high [N]\n0,1,0,1.9\n90,5,4,8\n":                              {0.75, 1.475},
		"x [deg],y [kN],y_low [kN],y_high [kN]\n0,.001,0,.0019\n90,.005,.004,.008\n":       {0.75, 1.475},
		"x [rad],y [mN],y_low [mN],y_high [mN]\n-0,1e3,0,1900\n1.5707963268,5e3,4e3,8e3\n": {0.75, 1.475},
		"x,y,y_low,y_high,y_1\n0,1,0,1.9,1\n-0,1,0,1.9,2\n90,5,4,8,4\n":                    {0.75, 1.475},
		"x,y,y_low,y_high\n0,1,-inf,inf\n90,5,-Inf,+Inf\n":                                 {1, inf},
		"x,y [kN],y_low [kN],y_high [kN]\n0,.001,-inf,.0015\n90,.005,.005,inf\n":           {0.5, inf},
		"x,y,y_low,y_high,y_sd\n0,1,-Infinity,1.5,1\n90,5,3.9,6.1,1\n":                     {0.75, inf},
	} {
		o.Predictions = write(t, filepath.Join(dir, "p.csv"), text)
		e, err := judge.Judge(context.Background(), o)
		require.NoError(t, err)

		got := e.Splits[0].Network[0]
		require.InDelta(t, want[0], got.Inside, 1e-12, "%q: %g inside ± %g, expected %g", text, got.Inside, got.Half, want)
		if math.IsInf(want[1], 1) {
			assert.Equal(t, want[1], got.Half, "%q: half width", text)
		} else {
			assert.InDelta(t, want[1], got.Half, 1e-9, "%q: half width", text)
		}

		isOpen := math.IsInf(want[1], 1)
		assert.Equal(t, isOpen, strings.Contains(e.Splits[0].Sentence(), "± ∞"), "%q: %s", text, e.Splits[0].Sentence())

		_, err = e.MetricsJSON()
		require.NoError(t, err, "%q", text)
	}
}

// Simulated: groups have errors of the mean with the deviation 1, and noise 0.3; means alone are given. The
// intervals that the other groups teach have the coverage asked for, and about half the width 1.96·√1.09 of the
// truth; without groups there is no interval.
func TestLearned(t *testing.T) {
	const campaigns, groups, conditions = 6, 8, 2
	dir := t.TempDir()
	inside := 0.0
	half := 0.0
	o := judge.Options{Predictions: filepath.Join(dir, "p.csv"), Groups: "rig", Level: 0.95}

	rng := rand.New(rand.NewPCG(11, 0))
	for range campaigns {
		table := "run,x,y_1,y_2\n"
		means := "x,y,rig\n"
		for g := range groups {
			truth := 10 + rng.NormFloat64()
			for c := range conditions {
				x := g*conditions + c
				table += fmt.Sprintf("r%d,%d,%.6f,%.6f\n", x, x, truth+0.3*rng.NormFloat64(), truth+0.3*rng.NormFloat64())
				means += fmt.Sprintf("%d,10,rig %02d\n", x, g)
			}
		}

		o.Against = measured(t, dir, table)
		write(t, o.Predictions, means)

		e, err := judge.Judge(context.Background(), o)
		require.NoError(t, err)

		require.Len(t, e.Splits, 1+groups, "splits: all and %d groups", groups)

		for _, s := range e.Splits[1:] {
			inside += s.Honest.Record.After.Coverage / groups / campaigns
			half += s.Honest.Record.Outcomes[0].Half / groups / campaigns
		}
	}

	// The standard error of the share over 48 groups is .03.
	assert.InDelta(t, 0.95, inside, 0.06, "share inside")
	assert.InEpsilon(t, 1.96*math.Sqrt(1.09), half, 0.25, "half width")

	o.Groups = ""
	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	alone := e.Splits[0]
	assert.Equal(t, score.Undecided, alone.Verdict())
	assert.True(t, math.IsNaN(alone.Network[0].Inside), "share inside of means alone")
	assert.Contains(t, alone.Sentence(), "no interval was stated")
}

// Names of runs that are all others', units that nothing compares with and columns of no use are named.
func TestOtherRuns(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{
		Predictions: write(t, filepath.Join(dir, "p.csv"), "run,x,y [N],y_std\nA,1,1,1\nB,2,4,1\n"), Level: 0.95,
		Against: measured(t, dir, "run,x,y_1,y_2\nr1,1,1,2\nr2,2,4,6\n"),
	}
	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	assert.Contains(t, strings.Join(e.Warnings, "; "), "column run of ")
	assert.Contains(t, strings.Join(e.Warnings, "; "), "p.csv is in N, and")
	assert.Contains(t, strings.Join(e.Warnings, "; "), "not used: y_std;")
	require.Equal(t, 2, e.Splits[0].Test.Rows, "rows")
}

// A column is read if it belongs to one of the outcomes, here to y or to y_b. y_b_std has a suffix of neither, and is
// named once.
func TestUnusedColumns(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{
		Predictions: write(t, filepath.Join(dir, "p.csv"), "x,y,y_sd,y_b,y_b_sd,y_b_std\n1,1,1,1,1,1\n2,4,1,4,1,1\n"),
		Against:     measured(t, dir, "run,x,y_1,y_2,y_b_1,y_b_2\nr1,1,1,2,1,2\nr2,2,4,6,4,6\n"),
		Level:       0.95,
	}
	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	assert.Contains(t, strings.Join(e.Warnings, "\n"), "not used: y_b_std; columns of an outcome are")
}

// Tables that state one end of an interval alone. Expected: a note, and no interval.
func TestHalfAnInterval(t *testing.T) {
	dir := t.TempDir()
	source := measured(t, dir, "x,y_1,y_2\n1,1,2\n2,4,6\n")
	for column, want := range map[string]string{
		"y_low": "no interval: low and high belong together", "y_high_68": "no 68 % interval: low and high belong together",
	} {
		predictions := write(t, filepath.Join(dir, "p.csv"), "x,y,"+column+"\n1,1,1\n2,5,5\n")
		e, err := judge.Judge(context.Background(), judge.Options{Predictions: predictions, Against: source, Level: 0.95})
		require.NoError(t, err)
		assert.Contains(t, e.Warnings, want)
		assert.True(t, math.IsNaN(e.Splits[0].Network[0].Half), "half width without an interval")
	}
}

// An interval without an upper end begins at its lower bound, however far from the values that is. By hand: the values
// 1 and 2 lie below 1e9, and 4 and 6 lie above −1e9.
func TestOpenIntervalsFarAway(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{
		Predictions: write(t, filepath.Join(dir, "p.csv"), "x,y,y_low,y_high\n1,1,1e9,inf\n2,5,-1e9,inf\n"),
		Against:     measured(t, dir, "x,y_1,y_2\n1,1,2\n2,4,6\n"),
		Level:       0.9,
	}
	e, err := judge.Judge(context.Background(), o)
	require.NoError(t, err)

	assert.Equal(t, 0.5, e.Splits[0].Network[0].Inside)
	assert.True(t, math.IsInf(e.Splits[0].Network[0].Half, 1))
}

// What does not fit is named with its place.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	source := measured(t, dir, "x [deg],y_1 [N],y_2 [N]\n1,1,2\n2,4,6\n")
	for text, want := range map[string]string{
		"x,z\n1,1\n":           "expected a column named as an outcome of the pairs: y",
		"a,y\n1,1\n":           "expected columns of the pairs' conditions",
		"x,y\n7,1\n":           "expected conditions of pairs",
		"x,y\n1,1\n1,2\n":      "rows 1 and 2 (add a column of the pairs that tells them apart, such as run",
		"x,y,w\n1,high,0\n":    "row 1, column y: expected a number",
		"x,y,rig\n1,1,a\n":     "expected 2 to 100 groups",
		"x,y,rig\n1,1,a\n2,,b": "expected 2 to 100 groups", // the prediction of group b is missing
		"x,y,set\n1,1,train\n": "expected predictions of pairs that were not trained on",
		"x,y\n1,1\n2,inf\n5,1": "row 2, column y: expected a number",
		"x,y,y\n1,1,2\n":       "expected one column y, found two", // case judge-twice
		"x,y [Pa]\n1,1\n":      "column y: expected a unit that becomes N, found Pa",
		"x [rad],y\n1,1\n":     "expected conditions of pairs",

		"x,y,y_sd\n1,1,\n2,4,nan\n":            "column y_sd: expected numbers, found none in 2 rows",
		"x,y,y_sd\n1,1,1\n2,4,-1\n":            "row 2, column y_sd: expected a deviation that is not negative, found \"-1\"",
		"x,y,y_low,y_high\n1,1,0,2\n2,4,5,3\n": "row 2, column y_low: expected at most y_high, found \"5\"",
	} {
		o := judge.Options{Predictions: write(t, filepath.Join(dir, "p.csv"), text), Against: source, Level: 0.95}
		if strings.Contains(text, "rig") {
			o.Groups = "rig"
		}

		_, err := judge.Judge(context.Background(), o)
		ingesttest.WantDataError(t, nil, err, want)
	}
}

// Groups of one pair each: one with a prediction, and 101. Expected: what to do in each case.
func TestNumberOfGroups(t *testing.T) {
	dir := t.TempDir()
	o := judge.Options{Predictions: filepath.Join(dir, "p.csv"), Groups: "rig", Level: 0.95}
	for predicted, hint := range map[int]string{
		1: "name a column with more groups", 101: "more can be judged by a split",
	} {
		pairs := "x,y_1,y_2\n"
		predictions := "x,y,rig\n"
		for i := range 101 {
			pairs += fmt.Sprintf("%d,%d,%d\n", i, i, i+1)
			if i < predicted {
				predictions += fmt.Sprintf("%d,%d,r%d\n", i, i, i)
			}
		}

		o.Against = measured(t, dir, pairs)
		write(t, o.Predictions, predictions)

		_, err := judge.Judge(context.Background(), o)
		ingesttest.WantDataError(t, nil, err, "expected 2 to 100 groups, each predicted by a training without it")
		assert.ErrorContains(t, err, hint, "%d groups", predicted)
	}
}

// If neither the table of predictions nor the split exists, the error names both.
func TestBothMissing(t *testing.T) {
	dir := t.TempDir()
	_, err := judge.Judge(context.Background(), judge.Options{
		Predictions: filepath.Join(dir, "p.csv"), Against: measured(t, dir, "x,y_1,y_2\n1,1,2\n"), Split: "s", Level: 0.95,
	})
	assert.ErrorContains(t, err, "p.csv: no such file")
	assert.ErrorContains(t, err, "; --split belongs to")
}

package stages

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/report"
)

// smallProject is a section train whose tasks take milliseconds.
const smallProject = "{inputs: [x], seeds: 2, " +
	"model: {hidden: [8], feedback: flag}, " +
	"optimizer: {epochs: 60, learning_rate: 0.01}, estimate: {samples: 16}, compare: [constant], " +
	"honest: {base: none}, splits: {high: {test: {x: {min: 4}}}}}"

// plannedReport plans the stages train and report, with the page.
func plannedReport(t *testing.T, train string, tab *table.Table) *stageTest {
	t.Helper()
	b := newStageTest(t, train, tab)
	planStages(t, b)
	planPage(b.File, b.Tasks.Plan)

	require.NoError(t, b.Tasks.Plan.Check())

	return b
}

// planStages plans the stages train and report.
func planStages(t *testing.T, b *stageTest) {
	t.Helper()

	trained, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	planReport(b.Experiment, b.Ing, b.Trip, trained)
}

// madeReport makes the tasks of a plan.
func madeReport(t *testing.T, b *stageTest) func(task, output string) string {
	t.Helper()

	output, err := b.Run(context.Background(), nil)
	require.NoError(t, err)

	return output
}

// ofMethod returns the named method of a comparison.
func ofMethod(t *testing.T, split report.Split, name string) report.Compared {
	t.Helper()

	i := slices.IndexFunc(split.Methods, func(m report.Compared) bool { return m.Method == name })
	require.GreaterOrEqual(t, i, 0, "no method %s", name)

	return split.Methods[i]
}

// number returns the mean and deviation of a metric in a table in long form. where has pairs of a column and the value
// of its row. It fails the test unless there is exactly one such row.
func number(t *testing.T, tab *table.Table, where ...string) (mean, std float64) {
	t.Helper()
	means := tabletest.Floats(t, tab, "mean")
	deviations := tabletest.Floats(t, tab, "std")

	var rows []int
	for i := range means {
		isFound := true
		for k := 0; k < len(where); k += 2 {
			isFound = isFound && tab.Column(where[k]).Strings[i] == where[k+1]
		}

		if isFound {
			rows = append(rows, i)
		}
	}

	require.Len(t, rows, 1, "rows with %v", where)

	return means[rows[0]], deviations[rows[0]]
}

// heldOut are the numbers of one seed on the test part.
type heldOut struct{ r2, e, eSE, ratio, ratioSE, absC, in95, rmse, sigma float64 }

// measure computes the numbers of one seed from the columns of its predictions.arrow, by the definitions of
// docs/method.md#what-is-reported.
func measure(t *testing.T, pred *table.Table) heldOut {
	t.Helper()

	sd, err := strconv.ParseFloat(pred.Get("outcome_std"), 64)
	require.NoError(t, err)

	y1 := tabletest.Floats(t, pred, "y_1")
	y2 := tabletest.Floats(t, pred, "y_2")
	mu := tabletest.Floats(t, pred, "y_mu")
	variance := tabletest.Floats(t, pred, "y_var")
	cov := tabletest.Floats(t, pred, "y_cov")
	x := tabletest.Floats(t, pred, "x")
	part := pred.Column("set").Strings
	run := pred.Column("run").Strings

	var n, sum, square, res, sumE, sumC, inside, sumVar float64
	clusterE := map[string]float64{} // sums by run
	clusterC := map[string]float64{}
	rows := map[string]float64{}

	absC := map[float64]float64{} // by condition
	for i := range y1 {
		if part[i] != "test" {
			continue
		}

		a := (y1[i] - mu[i]) / sd
		b := (y2[i] - mu[i]) / sd
		n++
		sum += y1[i] + y2[i]
		square += y1[i]*y1[i] + y2[i]*y2[i]
		res += (a*a + b*b) * sd * sd
		sumE += a * b
		sumC += cov[i] / sd / sd
		sumVar += variance[i]
		clusterE[run[i]] += a * b
		clusterC[run[i]] += cov[i] / sd / sd
		rows[run[i]]++

		absC[x[i]] = math.Abs(cov[i]) / sd / sd
		for _, r := range []float64{a, b} {
			if math.Abs(r)*sd <= 1.959963984540054*math.Sqrt(variance[i]) {
				inside++
			}
		}
	}

	h := heldOut{
		r2: 1 - res/(square-sum*sum/(2*n)), e: sumE / n, ratio: sumE / sumC, in95: inside / (2 * n),
		rmse: sd * math.Sqrt(sumE/n), sigma: math.Sqrt(sumVar / n),
	}

	// Standard errors clustered by run.
	g := float64(len(rows))
	var ssE, ssR float64
	for r, k := range rows {
		ssE += math.Pow(clusterE[r]-k*h.e, 2)
		ssR += math.Pow(clusterE[r]-h.ratio*clusterC[r], 2)
	}

	h.eSE = math.Sqrt(ssE*g/(g-1)) / n
	h.ratioSE = math.Sqrt(ssR*g/(g-1)) / sumC

	for _, v := range absC {
		h.absC += v / float64(len(absC))
	}

	return h
}

// The report's numbers are the means and deviations over the seeds, in metrics.arrow, in metrics.json and in the
// report's own data. Expected: the numbers that measure computes from the predictions of each seed.
func TestNumbers(t *testing.T) {
	b := plannedReport(t, smallProject, tabletest.Wave(t))
	output := madeReport(t, b)
	id := ReportTask("x")

	var seeds [2]heldOut
	for k := range seeds {
		seeds[k] = measure(t, tabletest.Read(t, output(TrainID(b.Experiment, "high", k), "predictions.arrow")))
	}

	metrics := tabletest.Read(t, output(id, "metrics.arrow"))
	var js struct {
		Splits []struct {
			Test map[string]json.RawMessage
		}
	}

	require.NoError(t, taskfile.ReadJSON(output(id, "metrics.json"), &js))

	e, err := ReadReport(output(id, PageData))
	require.NoError(t, err)

	for _, c := range []struct {
		key   string
		value func(heldOut) float64
	}{
		{"r2", func(h heldOut) float64 { return h.r2 }},
		{"e", func(h heldOut) float64 { return h.e }},
		{"e_se", func(h heldOut) float64 { return h.eSE }},
		{"sum_e_ratio", func(h heldOut) float64 { return h.ratio }},
		{"sum_e_ratio_se", func(h heldOut) float64 { return h.ratioSE }},
		{"abs_cov_centred", func(h heldOut) float64 { return h.absC }},
		{"coverage95", func(h heldOut) float64 { return h.in95 }},
	} {
		v0 := c.value(seeds[0])
		v1 := c.value(seeds[1])
		mean := (v0 + v1) / 2
		std := math.Abs(v0-v1) / math.Sqrt2 // of two values
		check := func(where string, m, s float64) {
			tolerance := 1e-9 * (1 + math.Abs(mean))
			assert.InDelta(t, mean, m, tolerance, "mean of %s in %s", c.key, where)
			assert.InDelta(t, std, s, tolerance, "deviation of %s in %s", c.key, where)
		}

		if c.key != "coverage95" { // a metric of methods alone
			m, s := number(t, metrics, "split", "high", "set", "test", "outcome", "all", "metric", c.key)
			check("metrics.arrow", m, s)

			// There is one outcome, so its numbers are the numbers of all outcomes.
			m, s = number(t, metrics, "split", "high", "set", "test", "outcome", "y", "metric", c.key)
			check("metrics.arrow, y", m, s)
			v := e.Splits[0].Test.Get(c.key)
			check("report.gob", v.Mean, v.Std)

			var j struct{ Mean, Std float64 }
			if err := json.Unmarshal(js.Splits[0].Test[c.key], &j); err != nil {
				t.Errorf("metrics.json, %s: %v", c.key, err)
			}

			check("metrics.json", j.Mean, j.Std)
		}

		if !slices.Contains([]string{"e_se", "abs_cov_centred"}, c.key) {
			v := ofMethod(t, e.Splits[0], "pair, C").Get(c.key)
			check("methods", v.Mean, v.Std)
		}
	}

	trust := e.Splits[0].Network[0]
	assert.Equal(t, "N", trust.Unit)
	assert.InDelta(t, (seeds[0].rmse+seeds[1].rmse)/2, trust.RMSE, 1e-9)
	assert.InDelta(t, (seeds[0].sigma+seeds[1].sigma)/2, trust.ClaimedSigma, 1e-9)
	assert.InDelta(t, (seeds[0].in95+seeds[1].in95)/2, trust.Inside, 1e-9)

	split := e.Splits[0]
	assert.Equal(t, "extrapolation in x", split.Reach)
	assert.Equal(t, 2, split.Seeds)
	assert.Equal(t, 16, split.MCSamples)
	assert.Equal(t, "portable", split.Kernels)
	assert.Equal(t, "x ≥ 4", split.HeldOut)
	assert.Nil(t, split.Honest)

	_, err = os.Stat(filepath.Join(b.Tasks.Plan.Dir, "x", "report", "figures"))
	require.NoError(t, err)
}

// comparedMethods makes the report of smallProject without a flag. It returns the held-out split, and the predictions
// of both seeds. Without a flag some raw covariances beyond the training range are negative.
func comparedMethods(t *testing.T) (report.Split, [2]*table.Table) {
	t.Helper()

	b := plannedReport(t, strings.Replace(smallProject, ", feedback: flag", "", 1), tabletest.Wave(t))
	output := madeReport(t, b)
	e, err := ReadReport(output(ReportTask("x"), PageData))
	require.NoError(t, err)

	var predictions [2]*table.Table
	for k := range predictions {
		predictions[k] = tabletest.Read(t, output(TrainID(b.Experiment, "high", k), "predictions.arrow"))
	}

	return e.Splits[0], predictions
}

// valuesIn returns the numbers of a column in the rows of a part, "train" or "test".
func valuesIn(t *testing.T, predictions *table.Table, part, column string) []float64 {
	t.Helper()

	set := predictions.Column("set").Strings
	var values []float64
	for i, v := range tabletest.Floats(t, predictions, column) {
		if set[i] == part {
			values = append(values, v)
		}
	}

	return values
}

// The comparison has both claims of the network and the other method. Trained methods are ranked by the CRPS that the
// table of methods has.
func TestMethodsTable(t *testing.T) {
	high, _ := comparedMethods(t)

	var names []string
	for _, m := range high.Methods {
		names = append(names, m.Method)
	}

	assert.Equal(t, []string{"pair, C", "pair, |raw|", "constant"}, names, "methods")

	require.Len(t, high.Ranking, 2)
	assert.Equal(t, "pair, C", high.Ranking[0].Method)
	assert.Equal(t, "constant", high.Ranking[1].Method)
	assert.Positive(t, high.Ranking[1].Above)

	for _, r := range high.Ranking {
		assert.InDelta(t, ofMethod(t, high, r.Method).Get("crps").Mean, r.CRPS, 1e-12, "CRPS of %s", r.Method)
	}
}

// The method "constant" predicts the mean of the training rows. Expected: e is the mean product of the test rows'
// deviations from this mean, computed here from the predictions' table, and does not depend on the seed.
func TestConstantMethod(t *testing.T) {
	high, predictions := comparedMethods(t)
	first := predictions[0]

	trained := slices.Concat(valuesIn(t, first, "train", "y_1"), valuesIn(t, first, "train", "y_2"))
	mean := 0.0
	for _, y := range trained {
		mean += y / float64(len(trained))
	}

	sd, err := strconv.ParseFloat(first.Get("outcome_std"), 64)
	require.NoError(t, err)

	y1 := valuesIn(t, first, "test", "y_1")
	y2 := valuesIn(t, first, "test", "y_2")
	e := 0.0
	for i := range y1 {
		e += (y1[i] - mean) * (y2[i] - mean) / sd / sd / float64(len(y1))
	}

	got := ofMethod(t, high, "constant").Get("e")
	assert.InDelta(t, e, got.Mean, 1e-9, "mean of e")
	assert.Zero(t, got.Std, "deviation of e over the seeds")
}

// The second method claims the size of the raw covariance, not its sign. Expected: Σe/Σ|raw|, the mean over both seeds.
func TestRawCovarianceMethod(t *testing.T) {
	high, predictions := comparedMethods(t)

	ratio := 0.0
	negative := 0
	for _, p := range predictions {
		y1 := valuesIn(t, p, "test", "y_1")
		y2 := valuesIn(t, p, "test", "y_2")
		mu := valuesIn(t, p, "test", "y_mu")

		sumE := 0.0
		sumRaw := 0.0
		for i, raw := range valuesIn(t, p, "test", "y_cov_raw") {
			sumE += (y1[i] - mu[i]) * (y2[i] - mu[i])
			sumRaw += math.Abs(raw)
			if raw < 0 {
				negative++
			}
		}

		ratio += sumE / sumRaw / float64(len(predictions))
	}

	require.NotZero(t, negative, "raw covariances whose size is not their value")
	assert.InEpsilon(t, ratio, ofMethod(t, high, "pair, |raw|").Get("sum_e_ratio").Mean, 1e-9, "Σe/Σ|raw|")
}

// Expected: below the median of a normal law, which is its mean, the share of held-out values that lie below μ.
func TestShareBelowMedian(t *testing.T) {
	high, predictions := comparedMethods(t)

	below := 0.0
	values := 0.0
	for _, p := range predictions {
		y1 := valuesIn(t, p, "test", "y_1")
		y2 := valuesIn(t, p, "test", "y_2")
		for i, mu := range valuesIn(t, p, "test", "y_mu") {
			for _, y := range []float64{y1[i], y2[i]} {
				values++
				if y < mu {
					below++
				}
			}
		}
	}

	assert.InDelta(t, below/values, ofMethod(t, high, "pair, C").Get("below_0.5").Mean, 1e-9, "share below the median")
}

// The page task writes the report of all experiments from what their tasks kept.
func TestPage(t *testing.T) {
	b := plannedReport(t, strings.Replace(smallProject, "seeds: 2", "seeds: 1", 1), tabletest.Wave(t))
	page := b.Tasks.Plan.Tasks[len(b.Tasks.Plan.Tasks)-1]
	assert.Equal(t, "report", page.ID)
	assert.Empty(t, page.Experiment)
	assert.Equal(t, []engine.Dep{
		{Task: "x/report", Output: PageData},
	}, page.Deps)

	output := madeReport(t, b)
	for name, want := range map[string]string{"report.md": "x ≥ 4", "report.html": "<svg"} {
		text, err := os.ReadFile(output("report", name))
		require.NoError(t, err)
		assert.Contains(t, string(text), want, "%s: no %q (%v)", name, want, err)
	}

	d, err := ReadDetail(output("x/report", PageData))
	require.NoError(t, err)

	assert.Equal(t, 120, d.AllRows)
	require.Len(t, d.Splits, 1)
	require.Len(t, d.Splits[0].Seeds, 1)
	assert.Equal(t, "x", d.Experiment.Name)
	require.NotEmpty(t, d.Config)
}

// The key of a report depends on all settings, because the report prints their digest.
func TestReportKey(t *testing.T) {
	key := func(train string, change func(*stageTest)) string {
		b := newStageTest(t, train, tabletest.MustParse(t, "run recording x y_1 y_2\na a 1 1 2\nb b 2 2 2\nc c 3 3 4"))
		if change != nil {
			change(b)
		}

		planStages(t, b)

		return b.Keys()["x/report"]
	}

	const base = "{inputs: [x], seeds: 2, compare: [constant], splits: {s: {test: {x: 3}}}}"
	previous := key(base, nil)
	for _, c := range []struct {
		old, change string
		same        bool
	}{
		{"seeds: 2", "seeds: 2, optimizer: {epochs: 3}", false},
		{"seeds: 2", "seeds: 2, seed: 5", false},
		{"seeds: 2", "seeds: 3", false},
		{"compare: [constant]", "compare: [constant, gp]", false},
		{"x: 3", "x: 2", false},
	} {
		assert.Equal(t, c.same, key(strings.Replace(base, c.old, c.change, 1), nil) == previous, "%s: the same key", c.change)
	}

	for name, c := range map[string]struct {
		change func(*stageTest)
		same   bool
	}{
		"program":   {func(b *stageTest) { b.Program.Version = "other" }, true},
		"couples":   {func(b *stageTest) { b.DSP.Couples = true }, false},
		"simulated": {func(b *stageTest) { b.Ingest.Data = "simulated" }, false},
		"warning":   {func(b *stageTest) { b.Ing.Warnings = []ingest.Warning{{Text: "?"}} }, false},
		"pairs":     {func(b *stageTest) { b.Ing.PairKind = "repeat-run" }, false},
		"uncertainty": {func(b *stageTest) {
			b.Ingest.Uncertainty = []config.NamedString{{Name: "y", Value: "u 0.1"}}
		}, false},
	} {
		assert.Equal(t, c.same, key(base, c.change) == previous, "%s: the same key", name)
	}
}

// An experiment without a network has a report of its data.
func TestNothingTrained(t *testing.T) {
	b := newStageTest(t, smallProject, tabletest.Wave(t))
	b.Train = config.Train{}
	planStages(t, b)
	planPage(b.File, b.Tasks.Plan)
	output := madeReport(t, b)
	e, err := ReadReport(output("x/report", PageData))
	require.NoError(t, err)

	assert.Empty(t, e.Splits)
	assert.Equal(t, 40, e.Runs)
	assert.Equal(t, 120, e.Recordings)
	assert.Equal(t, 120, e.Triplets)
	assert.Equal(t, []string{"y"}, e.Outcomes)
	assert.Equal(t, []string{"N"}, e.OutcomeUnits)

	m := tabletest.Read(t, output("x/report", "metrics.arrow"))
	assert.Zero(t, m.Rows(), "%d rows, %d columns", m.Rows(), len(m.Columns))
	require.NotNil(t, m.Column("undefined"), "%d rows, %d columns", m.Rows(), len(m.Columns))
	require.NotNil(t, m.Column("mean"), "%d rows, %d columns", m.Rows(), len(m.Columns))
	require.NotNil(t, m.Column("seeds"), "%d rows, %d columns", m.Rows(), len(m.Columns))
}

// A result that is damaged is named.
func TestReadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.gob")
	_, err := ReadReport(path)
	assert.ErrorContains(t, err, "read page data "+path)
	require.NoError(t, os.WriteFile(path, []byte("no gob"), 0o644))

	_, err = ReadDetail(path)
	assert.ErrorContains(t, err, "read page data "+path)

	if err := taskfile.WriteGob("report", filepath.Join(path, "below"), report.Experiment{}); err == nil {
		t.Error("a file below a file")
	}
}

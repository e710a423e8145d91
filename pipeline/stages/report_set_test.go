package stages

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/pipeline/config"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// cut splits the rotor's triplets by a rule.
func cut(t *testing.T, inputs, rule string) (*stageTest, *table.Table, triplets.Set, config.Split) {
	t.Helper()
	tab := tabletest.MustParse(t, tabletest.Rotor)
	b := newStageTest(t, "{inputs: ["+inputs+"], seeds: 1, splits: {s: {test: "+rule+"}}}", tab)
	set, err := dividerOf(b.Experiment).Triplets(tab, b.Ing.Conditions)
	require.NoError(t, err)

	split := b.Train.Splits[0]
	set, err = dividerOf(b.Experiment).Divide(set, tab, split)
	require.NoError(t, err)

	return b, tab, set, split
}

// judged gives a part with its answers in standardised units. By hand: with 5000 and
// 4000/min held out the training values 10 … 42 have the mean 26.
func TestJudged(t *testing.T) {
	_, _, set, _ := cut(t, "rpm", "{rpm: {min: 4000}}")
	require.Equal(t, 26.0, set.Scale.Mean[0], "mean")

	sd := set.Scale.Std[0]
	fill := func(v float64) []float64 { return slices.Repeat([]float64{v}, 6) }
	a := triplets.Answers{
		Mu: []float64{1, 2, 3, 4, 26 + sd, 26 - 2*sd}, Var: fill(sd * sd), Cov: fill(2 * sd * sd), Delta: fill(sd),
	}
	got := score.Judged(set, a, triplets.Test)

	near := func(values []float64, want ...float64) bool {
		return slices.EqualFunc(values, want, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 })
	}
	assert.True(t, near(got.Mu, 1, -2))
	assert.True(t, near(got.Var, 1, 1))
	assert.True(t, near(got.Cov, 2, 2))
	assert.True(t, near(got.Delta, 1, 1))
	assert.True(t, near(got.Y1, 24/sd, 34/sd))
	assert.True(t, near(got.Y2, 26/sd, 36/sd))
	assert.Nil(t, got.Kappa)

	part := score.Judged(set, a, triplets.Train)
	assert.Equal(t, 4, part.N)
	assert.True(t, near(part.Mu, -25/sd, -24/sd, -23/sd, -22/sd))
}

// The report shows the network's inputs, and all conditions where nothing is
// trained.
func TestReportSet(t *testing.T) {
	b, tab, set, _ := cut(t, "rpm", "{rpm: 1000}")
	assert.Equal(t, []string{"rpm"}, set.InputNames())
	assert.Equal(t, 5, set.Conditions())

	b.Train.Inputs = nil
	set, err := dividerOf(b.Experiment).Triplets(tab, b.Ing.Conditions)
	require.NoError(t, err)
	assert.Equal(t, []string{"rpm", "blades", "theta_deg"}, set.InputNames())
	assert.Equal(t, 6, set.Conditions())

	b.Train.Outcomes = []string{"z"}
	_, err = dividerOf(b.Experiment).Triplets(tab, b.Ing.Conditions)
	assert.ErrorContains(t, err, `"z" is not an outcome`)
}

// What the tasks found is read from their outputs.
func TestFindingsRead(t *testing.T) {
	b := plannedReport(t, smallProject, tabletest.Wave(t))
	for _, k := range b.Tasks.Plan.Tasks {
		if k.ID == "x/ingest" {
			stand := newStageTest(t, smallProject, nil)
			stand.Output("ingest", "ingest", "recordings.json",
				jsonContent(`{"warnings": [{"path": "pairs.csv", "code": "unit-not-stated", "text": "y has no unit"}]}`))
			k.Run = stand.Tasks.Plan.Tasks[0].Run
		}
	}

	output := madeReport(t, b)
	e, err := ReadReport(output("x/report", PageData))
	require.NoError(t, err)
	require.NotEmpty(t, e.Warnings, "%v, %v", e.Warnings, err)
	assert.Equal(t, "pairs.csv: y has no unit", e.Warnings[0], "%v, %v", e.Warnings, err)

	js, err := os.ReadFile(output("x/report", "metrics.json"))
	require.NoError(t, err)
	assert.Contains(t, string(js), "pairs.csv: y has no unit", "metrics.json has no warning (%v)", err)
}

package predict

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// At the held-out conditions the recommended predictions are those that the training stage wrote to honest.arrow, from
// the split's folder and from one model.
func TestRecommendAgreesWithTraining(t *testing.T) {
	dir := split(t)
	tab, err := table.Read(filepath.Join(dir, "honest.arrow"))
	require.NoError(t, err)

	a := tabletest.Floats(t, tab, "a")
	require.Len(t, a, 12)

	b := tabletest.Floats(t, tab, "b")

	var x []float64
	for i := range a {
		x = append(x, a[i], b[i])
	}

	for _, path := range []string{dir, filepath.Join(dir, "seed-0"), filepath.Join(dir, "seed-0", "model.json")} {
		m := opened(t, path)

		p, err := m.Recommend(context.Background(), x, Options{})
		require.NoError(t, err)
		require.NotNil(t, p)

		require.Equal(t, 0.95, p.Level)

		answer, err := m.Answer(context.Background(), x, Options{})
		require.NoError(t, err)

		compared := 0
		for i := range a {
			for name, v := range answer.values(i, answer.columns()).All() {
				if tab.Column(name) == nil {
					continue
				}

				want := tabletest.Floats(t, tab, name)[i]
				limit := 1e-9
				if strings.HasSuffix(name, "_low") || strings.HasSuffix(name, "_high") {
					limit = 5e-5 // see scale.Table
				}

				if got := v.(float64); !(math.Abs(got-want) <= limit*math.Max(1, math.Abs(want))) {
					t.Fatalf("%s: %s at row %d: %v, training wrote %v", path, name, i, got, want)
				}

				compared++
			}
		}

		// The mean, the ends of its interval and four deviations of two outcomes.
		require.Equal(t, 14*len(a), compared, "columns of honest.arrow")
		assert.Len(t, tab.Columns, 4+14, "columns of honest.arrow")

		assert.Equal(t, "new value: between the measured b 2 and 4 (distance 0.25)", p.Position[0])
		assert.Nil(t, p.Refused[0])
	}
}

// Outside the training range of an input there is no interval unless extrapolation is asked for. The input of the
// groups may lie as far outside as the farthest left-out group; no left-out group tests another input. Intervals of
// another level follow from the same law.
func TestRecommendOutside(t *testing.T) {
	m := opened(t, split(t))

	ctx := context.Background()
	x := []float64{1, 3, 9, 3, 1, 7, 1, 2, 1, 5} // 5 is nearer to 4 than 4 to 2, the next of the others
	p, err := m.Recommend(ctx, x, Options{})
	require.NoError(t, err)

	asked, err := m.Recommend(ctx, x, Options{Level: 0.8, Extrapolate: true})
	require.NoError(t, err)

	for i, want := range []string{
		"", "not calibrated in this direction: a 9 is outside 0 to 2.75",
		"b 7 is outside 0 to 4, farther than any left-out group", "", "",
	} {
		if got := strings.Join(p.Refused[i], "; "); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("condition %d: %q, want %q", i, got, want)
		}

		assert.Equal(t, want != "", math.IsNaN(p.Half[2*i]), "condition %d: has no half width", i)
		assert.False(t, math.IsNaN(asked.Half[2*i]), "condition %d: has no half width with extrapolation", i)
	}

	assert.Contains(t, p.Position[2], "above the highest measured b, 4")
	assert.Equal(t, "measured: this condition was measured", p.Position[3])

	// The half width of 80 % over the half width of 95 %. The law is a mixture of normal laws. Its tails are heavier than
	// those of a normal law, whose ratio is scipy.stats.norm.ppf(.9)/norm.ppf(.975), and lighter than those of Student's t
	// with two degrees of freedom, t.ppf(.9, 2)/t.ppf(.975, 2).
	ratio := asked.Half[0] / p.Half[0]
	assert.Greater(t, ratio, 1.8856180832/4.3026527297)
	assert.Less(t, ratio, 1.2815515655/1.9599639845)
	assert.Equal(t, 0.8, asked.Level)
}

// With two training groups the interval is learned elsewhere, has the level of 98 %, and says so.
func TestRecommendWithTwoGroups(t *testing.T) {
	var b strings.Builder
	b.WriteString("run,a,b,y_1,y_2\n")

	for i := range 36 {
		x := float64(i%12) / 4
		z := float64(i / 12)
		y := math.Sin(x) + z
		fmt.Fprintf(&b, "r%d,%g,%g,%g,%g\n", i, x, z, y+0.01*math.Cos(float64(7*i)), y+0.01*math.Cos(float64(5*i)))
	}

	dir := t.TempDir()
	config := `version: 1
experiments:
  wing:
    ingest: {table: {file: pairs.csv, inputs: [a, b], run: run}}
    train: {inputs: [a, b], model: {hidden: [4]}, optimizer: {epochs: 2}, seeds: 1, splits: {b1: {test: {b: 1}}}}
`

	err := pipelinetest.Run(dir, map[string]string{"pairs.csv": b.String(), "pipeline.yaml": config},
		pipeline.Options{Jobs: 2})
	require.NoError(t, err)

	m := opened(t, filepath.Join(dir, "runs", "wing", "splits", "b1"))

	p, err := m.Recommend(context.Background(), []float64{1, 1}, Options{Extrapolate: true})
	require.NoError(t, err)

	// With two groups the interval has the level 98 %.
	c := m.Honest.Calibration
	assert.Equal(t, 0.98, p.Level)
	assert.Greater(t, p.Half[0], 0.0)
	assert.Nil(t, p.Refused[0])
	assert.Contains(t, c.Learned(), "learned elsewhere")
	assert.Contains(t, c.Learned(), "at the level of 98 %")

	assert.InDelta(t, math.Sin(1)+1, p.Mu[0], 0.3, "the law that the data were made with")
	assert.Greater(t, p.Claim[0], 0.0)
	assert.Greater(t, p.Total[0], p.Claim[0])

	var names []string
	for _, g := range c.Groups {
		names = append(names, g.Name)
	}

	assert.Equal(t, []string{"0", "2"}, names, "left out")
}

// Intervals are unchecked if no group was left out and no outcome has a record with numbers.
func TestUnchecked(t *testing.T) {
	known := score.OutcomeTrust{Outcome: "lift", Trust: score.Trust{RMSE: 1, Inside: 0.9}}
	unknown := score.OutcomeTrust{Outcome: "drag", Trust: score.Trust{RMSE: math.NaN(), Inside: math.NaN()}}
	for _, c := range []struct {
		groups  int
		records []score.OutcomeTrust
		want    bool
	}{
		{3, nil, false},
		{0, nil, true},
		{0, []score.OutcomeTrust{unknown}, true},
		{0, []score.OutcomeTrust{unknown, known}, false},
	} {
		m := &Models{Intervals: c.records, Honest: &honest.Model{Calibration: &interval.Calibration{K: c.groups}}}
		for _, name := range []string{"drag", "lift"} {
			m.Card.Outcomes = append(m.Card.Outcomes, honest.Outcome{Name: name})
		}

		assert.Equal(t, c.want, m.Unchecked(), "%d groups, records %v", c.groups, c.records)
	}
}

// Words about conditions have all digits of a Reynolds number.
func TestOutsideOfReynoldsNumbers(t *testing.T) {
	m := &Models{Card: Card{Inputs: []Input{{Name: "re", Min: 1_100_000, Max: 2_000_000}}}}
	assert.Equal(t, []string{"re 1000004 is below 1100000, the lowest trained on"}, m.Outside([]float64{1_000_004}))
	assert.Equal(t, []string{"re 2345678 is above 2000000, the highest trained on"}, m.Outside([]float64{2_345_678}))
	assert.Nil(t, m.Outside([]float64{1_234_567}))

	c := &interval.Calibration{Condition: "re", Axis: &interval.Axis{}}
	where := interval.Where{Below: 1_234_567, Above: 1_234_567}
	assert.Equal(t, "re 1234567 was measured", position(c, where, "measured"))
}

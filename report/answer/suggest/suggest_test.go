package suggest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report/answer/predict"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// training is the number of training rows of measurements.
const training = 48

// measurements are the pairs of a table with two inputs and two outcomes; the training
// part is their product grid, which lacks b = 3, the test part.
func measurements() triplets.Set {
	var x, y1, y2 []float64

	noise := 0.37

	for i := range training + 12 {
		a := float64(i%12) / 4
		b := []float64{0, 1, 2, 4, 3}[i/12]
		x = append(x, a, b)

		for _, y := range []*[]float64{&y1, &y2} {
			for _, v := range []float64{math.Sin(a) + b, 100 + 20*a*b} {
				noise = math.Mod(noise*7.13+0.11, 1)
				*y = append(*y, v+0.2*(noise-0.5))
			}
		}
	}

	return triplets.New([]triplets.Quantity{{Name: "a"}, {Name: "b"}}, []triplets.Quantity{{Name: "lift"}, {Name: "drag"}},
		x, y1, y2)
}

// trained are three small networks and the calibrated model of the measurements.
var trained = sync.OnceValues(func() (*predict.Models, error) {
	s := measurements()
	s.Part = slices.Repeat([]triplets.Part{triplets.Train}, training)

	var names []string

	card := predict.Card{Outcomes: []predict.Outcome{{Name: "lift"}, {Name: "drag"}}}
	for i := range s.N {
		names = append(names, fmt.Sprint(i))

		if i < training {
			card.Conditions = append(card.Conditions, s.X[2*i:2*i+2])
		} else {
			s.Part = append(s.Part, triplets.Test)
		}
	}

	s.SetRuns(names)

	a := predict.Input{Name: "a", Max: 2.75}
	for i := range 12 {
		a.Values = append(a.Values, float64(i)/4)
	}

	card.Inputs = []predict.Input{a, {Name: "b", Max: 4, Values: []float64{0, 1, 2, 4}}}

	var nets []*train.Model
	for k := range 3 {
		cfg := train.DefaultConfig()
		cfg.Hidden = []int{12, 12}
		cfg.Epochs = 30
		cfg.Seed = uint64(k)

		net, _, err := train.Fit(context.Background(), s, cfg, nil)
		if err != nil {
			return nil, err
		}

		nets = append(nets, net)
	}

	var b []float64
	for i := range s.N {
		b = append(b, s.X[2*i+1])
	}

	learner := honest.Learner{Settings: honest.DefaultSettings(), Condition: "b", Tolerance: holdout.Nothing.Within("b")}
	calibrated, _, err := learner.Process(context.Background(), s, b)

	m := predict.New(card, nets...)
	m.Honest = calibrated

	return m, err
})

func models(t *testing.T) *predict.Models {
	t.Helper()

	m, err := trained()
	require.NoError(t, err)

	c := *m

	return &c
}

func TestParseGrid(t *testing.T) {
	m := models(t)
	grid, err := ParseGrid(m, "b=2:5:1,a=0:1:0.1")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0}, grid.Inputs)
	require.Len(t, grid.List, 4*11)
	assert.Equal(t, []float64{2, 0.1}, grid.List[1].At)

	for text, want := range map[string]string{"b=1:2": "from:to:step", "z=1": "is not an input"} {
		_, err := ParseGrid(m, text)
		assert.ErrorContains(t, err, want)
	}
}

// The ranking against Predict: a candidate's expected squared error is the mean over outcomes, and over the trained
// values of inputs not in the grid, of C⁺ and the seeds' variance in units of the outcomes' variance.
func TestRank(t *testing.T) {
	m := models(t)
	m.Honest = nil
	axes, err := ParseGrid(m, "b=0:6:1")
	require.NoError(t, err)

	list, err := Rank(context.Background(), m, axes)
	require.NoError(t, err)
	require.Len(t, list, 7)

	std := m.OutcomeStd()
	for i, s := range list {
		if i > 0 {
			assert.LessOrEqual(t, s.Epistemic, list[i-1].Epistemic, "rank %d", i)
		}

		var x []float64
		for _, a := range m.Card.Inputs[0].Values {
			x = append(x, a, s.At[0])
		}

		p, err := m.Predict(context.Background(), x)
		require.NoError(t, err)

		want := 0.0
		for k := range p.Mu {
			want += (max(p.Cov[k], 0) + p.Spread[k]) / (std[k%2] * std[k%2]) / float64(len(p.Mu))
		}

		assert.InDelta(t, want, s.Epistemic, 1e-6*want, "b = %v: expected squared error", s.At[0])

		b := s.At[0]
		assert.Equal(t, b <= 4 && b != 3, s.Measured, "b = %v: measured", b)
		assert.Equal(t, b > 4, len(s.Outside) > 0, "b = %v: outside", b)

		longer := strings.Contains(s.Advice, "long")
		there := strings.Contains(s.Advice, "lack of data")
		require.NotEqual(t, there, longer, "b = %v: share %v, advice %q", s.At[0], s.Share, s.Advice)
		assert.Equal(t, (s.Share >= 0.5), there, "b = %v: share %v, advice %q", s.At[0], s.Share, s.Advice)
	}
}

// The expected squared error by the calibrated model is the mean of v̂ + C over the outcomes and the trained values of
// inputs not in the grid, in units of the training variance.
func TestRankByCalibratedVariance(t *testing.T) {
	m := models(t)
	axes, err := ParseGrid(m, "b=0:4:1")
	require.NoError(t, err)

	ctx := context.Background()
	list, err := Rank(ctx, m, axes)
	require.NoError(t, err)
	require.Equal(t, ByGain, Ranking(m), "%v, %v", Ranking(m), err)

	first := slices.MaxFunc(list, func(a, b Suggestion) int { return cmp.Compare(a.Epistemic, b.Epistemic) })
	assert.Equal(t, 3.0, first.At[0], "b = is the least certain")
	var variance [2]float64 // of the outcomes

	s := measurements()
	for j := range variance {
		mean := 0.0
		n := float64(2 * training)
		for i := range training {
			mean += (s.Y1[2*i+j] + s.Y2[2*i+j]) / n
		}

		for i := range training {
			variance[j] += (math.Pow(s.Y1[2*i+j]-mean, 2) + math.Pow(s.Y2[2*i+j]-mean, 2)) / n
		}
	}

	for _, got := range list {
		want := 0.0

		values := m.Card.Inputs[0].Values
		for _, a := range values {
			p, err := m.Recommend(ctx, []float64{a, got.At[0]}, predict.Options{Extrapolate: true})
			require.NoError(t, err)

			for j, v := range variance {
				want += p.Epistemic[j] / v / 2 / float64(len(values))
			}
		}

		assert.InDelta(t, want, got.Epistemic, 1e-9*want, "b = %g", got.At[0])
	}
}

// Witness: the forecast of the calibrated model, whose numbers are set by hand.
func TestForecast(t *testing.T) {
	m := models(t)

	calibrated := *m.Honest
	record := *m.Honest.Record
	m.Honest = &calibrated
	calibrated.Record = &record

	require.Len(t, record.Forecast, 3, "forecast %+v", record.Forecast)
	require.Less(t, record.Forecast[2].Half[0], record.Forecast[0].Half[0], "forecast %+v", record.Forecast)

	record.Outcomes = slices.Clone(record.Outcomes)
	for k := range record.Outcomes {
		record.Outcomes[k].Unit = "dB re 20 µPa"
	}

	record.Forecast = slices.Clone(record.Forecast)
	for i, half := range []float64{7.123, 2.86, 2} {
		record.Forecast[i].Half = slices.Repeat([]float64{half}, len(record.Outcomes))
	}

	want := "one run of the new group would make the interval ± 2.9 dB instead of ± 7.1 dB, three ± 2 dB (forecast)"
	assert.Equal(t, []string{want}, Forecast(m), "got")

	// Closed form: beside 0.5 + 0.5/5 + 0.5 the mean of 25 conditions has 0.45/25; one more wing makes that 0.5/6 and 5/6.
	calibrated.Calibration = &interval.Calibration{
		Condition: "wing", OfThings: true, K: 5,
		Groups: slices.Repeat([]interval.GroupResult{{Conditions: 5}}, 5),
		Things: []interval.Thing{{Between: []interval.Between{{Label: "wing", Share: 0.5}}, Runs: 0.4, Noise: 0.1}},
	}
	calibrated.Record = nil
	want = "a sixth wing would narrow intervals for a new one by 0.88 %, as many measurements of those that were " +
		"measured by 0.13 % (forecast)"
	assert.Equal(t, []string{want}, Forecast(m), "more wings")

	calibrated.Calibration.K = 1
	assert.Equal(t, []string{"2 more of wing would measure how much they differ"}, Forecast(m), "of one wing")

	calibrated.Calibration.OfThings = false
	calibrated.Calibration.Things = nil
	assert.Empty(t, Forecast(m), "lines without a record")
}

// Costs by hand, in minutes.
func TestReadCosts(t *testing.T) {
	names := []string{"blades", "rpm"}
	for _, c := range []struct {
		cost, budget string
		want         Costs
		most         float64
	}{
		{"blades=60 min, rpm=1min,repeat=2min", "1.5h", Costs{Change: []float64{60, 1}, Repeat: 2, Unit: "min"}, 90},
		{"blades=1h,rpm=30s,repeat=6s", "2h", Costs{Change: []float64{60, 0.5}, Repeat: 0.1, Unit: "min"}, 120},
		{"rpm=0,blades=1.5d,repeat=1h", "4 h", Costs{Change: []float64{36 * 60, 0}, Repeat: 60, Unit: "min"}, 240},
		{"repeat=3", "9", Costs{Change: []float64{0, 0}, Repeat: 3}, 9},
	} {
		got, most, err := ReadCosts(names, c.cost, c.budget)
		require.NoError(t, err, "%+v: %+v, %g, %v", c, got, most, err)
		require.Equal(t, c.want, got, "%+v: %+v, %g, %v", c, got, most, err)
		assert.Equal(t, c.most, most, "%+v: %+v, %g, %v", c, got, most, err)
	}

	for _, c := range [][3]string{
		{"speed=1min", "4h", `--cost: expected repeat or one of blades, rpm, found "speed"`},
		{"blades", "4h", `--cost wants costs such as blades=60min, found "blades"`},
		{"rpm=1week", "4h", `--cost: rpm: expected a number, or a time in s, min, h or d, found "1week"`},
		{"rpm=-1", "4", `found "-1"`},
		{"rpm=NaN", "4", `found "NaN"`},
		{"blades=60min,repeat=2", "4h", "--cost: repeat: expected times or numbers without unit, found both"},
		{"rpm=0,repeat=0", "4h", "--cost: state what each measurement costs, such as repeat=2min"},
		{"blades=60min,rpm=1min", "4h", "--cost: state what each measurement costs, such as repeat=2min"},
		{"rpm=1min", "90", "--budget: expected times or numbers without unit"},
		{"rpm=1min", "0min", "--budget: expected a budget above zero"},
		{"rpm=1min", "x", "--budget: expected a number, or a time"},
		{"rpm=1min", "", "state what a session may cost with --budget, such as --budget 4h"},
		{
			"", "4h", "--budget needs --cost: state what changes and measurements cost, such as " +
				"--cost blades=60min,repeat=2min",
		},
	} {
		_, _, err := ReadCosts(names, c[0], c[1])
		if c[2] == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c[2])
		}
	}

	c := Costs{Unit: "min"}
	require.Equal(t, "1.5 h", c.Format(90), "%v, %v", c.Format(90), c.Format(12))
	assert.Equal(t, "12 min", c.Format(12), "%v, %v", c.Format(90), c.Format(12))
}

// planned returns the suggestions for a grid of b and a, and a function that plans a session with costs of changes of b
// and a, two for each measurement, and a budget.
func planned(t *testing.T) ([]Suggestion, func(changeB, changeA, budget float64) *Session) {
	t.Helper()

	m := models(t)
	axes, err := ParseGrid(m, "b=0:4:1,a=0:2:0.5")
	require.NoError(t, err)

	list, err := Rank(context.Background(), m, axes)
	require.NoError(t, err)

	return list, func(changeB, changeA, budget float64) *Session {
		costs := Costs{Change: []float64{changeB, changeA}, Repeat: 2}
		session, err := Plan(context.Background(), m, axes, list, costs, budget)
		require.NoError(t, err)

		return session
	}
}

// Without costs of changes, a plan begins with the first in rank. Each step narrows the intervals.
func TestPlanNarrows(t *testing.T) {
	list, plan := planned(t)
	require.Greater(t, list[0].Gain, 0.0)
	require.Less(t, list[0].Gain, 1.0)

	session := plan(0, 0, 6)
	require.Len(t, session.Steps, 3)
	assert.Equal(t, list[0].At, session.Steps[0].At)
	assert.Equal(t, 6.0, session.Steps[2].Sum)
	assert.Empty(t, session.Label, "a session of new things without labels")

	now := session.Before
	for i, s := range session.Steps {
		assert.LessOrEqual(t, total(s.Half), total(now), "step %d: half widths %v after %v", i+1, s.Half, now)
		now = s.Half
	}
}

// A plan keeps to its budget, counts each change, and makes the expensive change rarely. Costs by hand.
func TestPlanCosts(t *testing.T) {
	_, plan := planned(t)
	steps := plan(20, 1, 90).Steps
	require.GreaterOrEqual(t, len(steps), 6)

	sum := 0.0
	mounted := []float64{}
	for i, s := range steps {
		sum += 2
		if i == 0 || s.At[1] != steps[i-1].At[1] {
			sum++
		}

		if i == 0 || s.At[0] != steps[i-1].At[0] {
			sum += 20
			mounted = append(mounted, s.At[0])
		}

		assert.Equal(t, sum, s.Sum, "step %d costs %g in all, expected %g", i+1, s.Sum, sum)
	}

	slices.Sort(mounted)
	assert.LessOrEqual(t, sum, 90.0, "the cost is within the budget")
	assert.Equal(t, mounted, slices.Compact(slices.Clone(mounted)), "each b is mounted once")
	assert.Equal(t, 3.0, mounted[0])

	assert.Empty(t, plan(60, 1, 62).Steps, "one step costs 63")
}

// If the budget pays for one change, the condition is repeated, and each time ignorance has a smaller share.
func TestPlanRepeats(t *testing.T) {
	_, plan := planned(t)
	steps := plan(60, 60, 130).Steps
	require.Len(t, steps, 5)

	for i, s := range steps[1:] {
		assert.Equal(t, steps[0].At, s.At, "step %d", i+2)
		assert.True(t, s.Measured, "step %d", i+2)
		assert.Less(t, s.Share, steps[i].Share, "step %d", i+2)
		assert.Equal(t, 2.0, s.Cost, "step %d", i+2)
		assert.Equal(t, interval.Advice(s.Share, true), s.Advice, "step %d", i+2)
	}
}

// A plan needs candidates and a calibrated process. Expected: an error without one of them.
func TestPlanRefused(t *testing.T) {
	ctx := context.Background()
	m := models(t)
	costs := Costs{Change: []float64{0, 0}, Repeat: 1}
	none := &Candidates{Inputs: []int{0, 1}}
	_, err := Rank(ctx, m, none)
	require.ErrorContains(t, err, "expected candidates, found none")

	_, err = Plan(ctx, m, none, nil, costs, 3)
	require.ErrorContains(t, err, "expected candidates and a calibrated process")

	m.Honest = nil
	_, err = Plan(ctx, m, none, []Suggestion{{}}, costs, 3)
	require.ErrorContains(t, err, "expected candidates and a calibrated process")
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

package interval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// calibration returns a calibration of two outcomes that was learned from k simulated left-out speeds.
func calibration(t testing.TB, k int) *interval.Calibration {
	t.Helper()

	prior, err := scale.Named("wide")
	require.NoError(t, err)

	r := rand.New(rand.NewPCG(2, 3))
	c := &interval.Calibration{
		Format: interval.Format, Version: interval.Version, Base: "test", Asked: 0.95, Level: 0.95, K: k,
		Condition: "speed", Kind: interval.Values, Axis: interval.NewAxis([]float64{4, 8, 12}, 0), NoiseRatio: 1,
		Conformal: interval.Conformal{Half: []float64{5, 9}, Guarantee: 0.75},
		Mean:      []float64{10, -3}, Deviation: []float64{2, 0.5},
		Inputs: []interval.InputRange{{Name: "speed", Min: 4, Max: 12, FromGroup: true}},
	}

	var left []scale.Group
	for range k {
		g := scale.Group{Conditions: 4}
		for range g.Conditions {
			for range 2 {
				g.Residual = append(g.Residual, 0.6*r.NormFloat64())
				g.Noise = append(g.Noise, 0.02)
				g.Claim = append(g.Claim, 0.1+0.2*r.Float64())
			}
			g.Distance = append(g.Distance, 0.5)
		}

		left = append(left, g)
		c.Groups = append(c.Groups, interval.GroupResult{Name: "a", Conditions: 4, Inside: 0.9, EBy: []float64{0.3, 0.4}})
	}

	c.Scale, _ = scale.Learn(left, 2, prior, scale.Noise{Scale: 1.1, Freedom: 20})

	return c
}

// speeds returns speeds at, between and beyond the measured ones, with means, claims and noise of both outcomes.
func speeds() (x []float64, raw triplets.Prediction) {
	x = []float64{4, 7, 10, 13}
	for i := range x {
		d := float64(i + 1)
		raw.Mu = append(raw.Mu, 10+d, -3-d/4)
		raw.Claim = append(raw.Claim, 0.1*d, 0.02*d)
		raw.Noise = append(raw.Noise, 0.08, 0.005)
	}

	return x, raw
}

// Expected: a stored calibration is equal to the calibration, and predicts the same bits.
func TestCalibrationIsStored(t *testing.T) {
	x, raw := speeds()
	for _, k := range []int{0, 1, 3} {
		c := calibration(t, k)

		b, err := json.Marshal(c)
		require.NoError(t, err)

		var again interval.Calibration
		require.NoError(t, json.Unmarshal(b, &again))

		assert.Equal(t, c, &again, "calibration of %d groups", k)

		want := c.Predict(x, x, nil, raw)
		got := again.Predict(x, x, nil, raw)
		assert.Equal(t, want.Half, got.Half, "half widths of %d groups", k)
		assert.Equal(t, want.Half68, got.Half68, "half widths at 68 %% of %d groups", k)
		assert.Equal(t, want.Epistemic, got.Epistemic, "epistemic variances of %d groups", k)
		assert.Equal(t, want.Total, got.Total, "variances of %d groups", k)
	}
}

// Expected: an error that names the damage.
func TestDamagedCalibrationIsRefused(t *testing.T) {
	good, err := json.Marshal(calibration(t, 3))
	require.NoError(t, err)

	for _, c := range []struct{ old, damaged, words string }{
		{`"version":2`, `"version":1`, "version 2, found"},
		{`"doubletake-honest"`, `"doubletake"`, `found "doubletake" version`},
		{`"level":0.95`, `"level":1`, "a level between 0 and 1, found 1"},
		{`"k":3,"scale"`, `"k":2,"scale"`, "a row for each of 2 groups, found 3"},
		{`"kind":"values"`, `"kind":"labels"`, "in ascending order"},
		{`"values":[4,8,12]`, `"values":[8,4,12]`, "in ascending order"},
		{`"range":8`, `"range":0`, "in ascending order"},
		{`"mean":[10,-3]`, `"mean":[10]`, "for each of 1 outcomes"},
		{`"deviation":[2,0.5]`, `"deviation":[2,0]`, "outcome column 1: expected a positive deviation"},
		{`"half_width":[5,9]`, `"half_width":[5]`, "for each of 2 outcomes"},
		{`"e_by":[0.3,0.4]`, `"e_by":[0.3,0.4,1]`, "group a: expected a squared error for each of 2 outcomes, found 3"},
		{`"base":`, `"rivals":[{"method":"linear","e_by":[1]}],"base":`, "rival linear: expected a squared error for"},
		{`"scale":{`, `"scal":{`, "expected a scale"},
		{`"ratio":`, `"rati":`, "expected positive factors"},
		{`"weights":[[`, `"weights":[[1,`, "expected 90 weights"},
		{`"format":`, `"format":[`, "decode calibration"},
		{`"tau":0.8,"tau_std":0`, `"tau":-1,"tau_std":0`, "expected a name, an origin and positive deviations"},
	} {
		bad := strings.Replace(string(good), c.old, c.damaged, 1)
		require.NotEqual(t, string(good), bad, "%s is in the stored calibration", c.old)
		assert.ErrorContains(t, new(interval.Calibration).UnmarshalJSON([]byte(bad)), c.words, c.damaged)
	}
}

// group returns the result of a left-out group with a number of conditions and a share of values inside.
func group(conditions int, inside float64) interval.GroupResult {
	return interval.GroupResult{Conditions: conditions, Inside: inside}
}

// Expected: words that say which groups the intervals rest on, and one note for each thing that users must know.
func TestNotes(t *testing.T) {
	exact := &scale.Scale{Noise: scale.Exact}
	for _, c := range []struct {
		c       interval.Calibration
		learned string   // part of the words
		notes   []string // part of each note
	}{
		{
			interval.Calibration{Scale: exact, NoiseRatio: 1},
			"learned elsewhere, not checked here: no group could",
			nil,
		},
		{
			interval.Calibration{K: 1, Condition: "day", Scale: exact, Groups: []interval.GroupResult{group(3, 1)}},
			"not checked here: one group of day alone",
			nil,
		},
		{
			interval.Calibration{
				K: 2, Condition: "day", Level: 0.98, Scale: exact,
				Groups: []interval.GroupResult{group(3, 1), group(4, 0.5)},
			},
			"checked on two groups of day, and therefore taken at the level of 98 %",
			nil,
		},
		{
			interval.Calibration{
				K: 3, Condition: "day", Asked: 0.95, Level: 0.95, Scale: exact, NoiseRatio: 3,
				Groups: []interval.GroupResult{group(1, 1), group(1, 1), group(2, 1)},
			},
			"checked on 3 groups of day left out", nil,
		},
		{
			interval.Calibration{
				K: 3, Condition: "day", Asked: 0.95, Level: 0.98, Scale: exact,
				Groups: []interval.GroupResult{group(4, 1), group(4, 1), group(4, 1)},
			},
			"checked on 3 groups of day left out",
			[]string{"the level is 98 %, so that nearly all groups"},
		},
		{
			interval.Calibration{
				K: 3, Condition: "day", Scale: &scale.Scale{Noise: scale.Noise{Scale: 1.4}}, NoiseRatio: 50,
				Groups: []interval.GroupResult{group(1, 1), group(1, 1), group(1, 1)},
			},
			"checked on 3 groups",
			[]string{"a single condition", "by 1.4 times the noise", "50 times the noise of the pairs"},
		},
	} {
		assert.Contains(t, c.c.Learned(), c.learned)

		notes := c.c.Notes()
		require.Len(t, notes, len(c.notes), "notes of %d groups: %q", c.c.K, notes)
		for i, want := range c.notes {
			assert.Contains(t, notes[i], want)
		}
	}
}

// Expected: the number of groups with at least 90 % inside, counted by hand.
func TestLeftOutInside(t *testing.T) {
	c := interval.Calibration{Groups: []interval.GroupResult{group(1, 0.9), group(1, 0.899), group(1, 1)}}
	assert.Equal(t, 2, c.LeftOutInside())
	assert.Equal(t, 1, interval.Covered(c.Groups[:2]), "the first two groups")
	assert.Equal(t, 0, interval.Covered(nil), "no groups")
}

// Outcomes are given in another unit. Expected: intervals in this unit, and the same record, whose squares, widths
// and scores are in deviations.
func TestUnits(t *testing.T) {
	const kilo = 1024 // a power of two: no number is rounded

	r := rand.New(rand.NewPCG(4, 4))
	c := calibration(t, 3)
	x, raw := speeds()

	var y1, y2 []float64
	for _, m := range raw.Mu {
		y1 = append(y1, m+0.5*r.NormFloat64())
		y2 = append(y2, m+0.5*r.NormFloat64())
	}

	times := func(v []float64, factor float64) []float64 {
		return floats.ScaleTo(make([]float64, len(v)), factor, v)
	}

	inKilo := *c
	inKilo.Mean = times(c.Mean, kilo)
	inKilo.Deviation = times(c.Deviation, kilo)
	inKilo.Conformal.Half = times(c.Conformal.Half, kilo)
	p := c.Predict(x, x, nil, raw)
	q := inKilo.Predict(x, x, nil, triplets.Prediction{
		Mu: times(raw.Mu, kilo), Claim: times(raw.Claim, kilo*kilo), Noise: times(raw.Noise, kilo*kilo),
	})
	assert.Equal(t, times(p.Half, kilo), q.Half, "half widths")
	assert.Equal(t, times(p.Total, kilo*kilo), q.Total, "variances")

	run := []int{0, 0, 1, 2}
	want := c.Judge(p, raw.Noise, y1, y2, run)
	got := inKilo.Judge(q, times(raw.Noise, kilo*kilo), times(y1, kilo), times(y2, kilo), run)
	for _, r := range []*interval.Record{&want, &got} {
		r.ForgetIntervals()
		r.Conformal.Score = 0 // it is NaN, which is not equal to itself
	}

	assert.Equal(t, want, got)
}

// draw returns a deviation from the mean, drawn from normal laws. q has the quantity of each shape.
func draw(r *rand.Rand, laws []scale.Component, q [3]float64, noise float64) float64 {
	u := r.Float64()
	for _, law := range laws {
		u -= law.Weight
		if u <= 0 {
			return math.Sqrt(law.Lambda*q[law.Shape]+law.Kappa*noise) * r.NormFloat64()
		}
	}

	return 0
}

// Compared with: values that are drawn from the laws. Expected: they lie inside their intervals as often as the levels
// state, within three standard errors, and the score of the laws is smaller than the score of wider laws.
func TestLevels(t *testing.T) {
	const draws = 4000

	r := rand.New(rand.NewPCG(6, 6))
	c := calibration(t, 3)
	c.Axis = nil
	c.Kind = interval.Labels // whose distance is 1

	const claim, noise = 0.2, 0.05
	laws := c.Scale.Predictor().Components()
	q := [3]float64{claim, math.Sqrt(claim * c.Scale.Ratio), c.Scale.Ratio}
	var x, y1, y2, wide []float64
	var raw triplets.Prediction

	run := make([]int, draws)
	for i := range draws {
		x = append(x, 8)
		run[i] = i
		for j, s := range c.Deviation {
			raw.Mu = append(raw.Mu, c.Mean[j])
			raw.Claim = append(raw.Claim, claim*s*s)
			raw.Noise = append(raw.Noise, noise*s*s)
			y1 = append(y1, c.Mean[j]+s*draw(r, laws, q, noise))
			y2 = append(y2, c.Mean[j]+s*draw(r, laws, q, noise))
			wide = append(wide, 4*claim*s*s)
		}
	}

	p := c.Predict(x, nil, nil, raw)
	a := c.Judge(p, raw.Noise, y1, y2, run)
	for l, level := range interval.Levels {
		standardError := math.Sqrt(level * (1 - level) / (4 * draws))
		assert.InDelta(t, level, a.At[l], 3*standardError, "share of the drawn values inside at level %g", level)
	}

	// A value is inside the interval of a level if and only if the narrowest interval that contains it has a lower level.
	require.Len(t, a.ContainedAt, 2*len(raw.Mu))
	for l, level := range interval.Levels {
		inside := 0.0
		for _, contained := range a.ContainedAt {
			if contained <= level {
				inside += 1 / float64(len(a.ContainedAt))
			}
		}

		assert.InDelta(t, a.At[l], inside, 2/float64(len(a.ContainedAt)), "level %g", level)
	}

	assert.Equal(t, a.At[2], a.After.Coverage, "coverage at .95")
	assert.InDelta(t, a.RatioAfter*a.Epistemic/claim, a.RatioBefore, 1e-9, "Σe/Σv̂ by the claim")

	raw.Claim = wide
	tooWide := c.Judge(c.Predict(x, nil, nil, raw), raw.Noise, y1, y2, run)
	assert.Greater(t, tooWide.CRPS, a.CRPS, "CRPS of laws that are too wide, and of the right ones")
}

// Expected by hand: the width of the interval 1 ± 0.5, plus 2/(1 − level) = 40 times the distance of a value outside
// from it.
func TestWinkler(t *testing.T) {
	for _, c := range []struct {
		y, score float64
		inside   bool
	}{{1, 1, true}, {1.5, 1, true}, {0.4, 1 + 40*0.1, false}, {2, 1 + 40*0.5, false}} {
		got, inside := interval.Winkler(c.y, 1, 0.5, 0.95)
		assert.InDelta(t, c.score, got, 1e-12, "score of %g", c.y)
		assert.Equal(t, c.inside, inside, "whether %g is inside", c.y)
	}

	_, inside := interval.Winkler(math.NaN(), 1, 0.5, 0.95)
	assert.False(t, inside, "whether a value that is not a number is inside")
}

// Expected: a record is read from its own document and from the document of a calibration, and undefined numbers are
// null.
func TestRecordIsStored(t *testing.T) {
	r := interval.Record{
		R2: math.NaN(), E: 0.25, ESE: 0.125, RatioBefore: 9, RatioAfter: 1.25, RatioSE: math.Inf(1), WidthOverSpread: 0.5,
		Before95: 0.5, At: [4]float64{0.7, 0.9, 0.94, 0.99}, CRPS: 2,
		Forecast: []interval.Forecast{{Runs: 1, Half: []float64{3}}},
		Outcomes: []score.OutcomeTrust{{Outcome: "lift", Unit: "N", Trust: score.Trust{
			Runs: 7, RMSE: 1, R2: math.NaN(), ClaimedSigma: 5, ClaimedEpistemic: 4, Inside: 0.75, At: [4]float64{1, 2, 3, 4},
		}}},
	}
	r.After = interval.Interval{Coverage: 0.94, Width: 6, Score: 7}
	r.Before.Score = 8
	r.ModelFree.Score = 9
	c := calibration(t, 0)

	alone, err := json.Marshal(r)
	require.NoError(t, err)

	withCalibration, err := json.Marshal((&interval.Result{Calibration: c, Record: &r}).Document())
	require.NoError(t, err)

	want := r
	want.RatioSE = math.NaN()
	for _, b := range [][]byte{alone, withCalibration} {
		assert.Contains(t, string(b), `"r2":null`)
		assert.Contains(t, string(b), `"ratio_se":null`)
		assert.Contains(t, string(b), `"coverage_95_before":0.5`)
		assert.Contains(t, string(b), `"coverage":0.94`)
		assert.Contains(t, string(b), `"sd_noise":3`)

		var again interval.Record
		require.NoError(t, json.Unmarshal(b, &again))
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(again)) // as texts, because NaN is not equal to itself
	}

	assert.ErrorContains(t, json.Unmarshal([]byte(`{"forecast": [{"runs": 1, "half_width": [1]}]}`), &r),
		"forecast of 1 runs: expected 0 half widths, found 1")
}

// Expected: a panic, because slices that do not fit are a mistake of the program.
func TestPanics(t *testing.T) {
	c := calibration(t, 0)
	x, raw := speeds()
	p := c.Predict(x, x, nil, raw)
	fewClaims := triplets.Prediction{Mu: raw.Mu, Claim: raw.Claim[1:], Noise: raw.Noise}
	assert.Panics(t, func() { c.Predict(x, nil, nil, raw) }, "no coordinates")
	assert.Panics(t, func() { c.Predict(x, x, nil, fewClaims) }, "too few claims")
	assert.Panics(t, func() { c.Judge(p, raw.Noise, raw.Mu, raw.Mu, []int{1}) }, "too few runs")
	assert.Panics(t, func() { c.Judge(p, raw.Noise[2:], raw.Mu, raw.Mu, []int{1, 2, 3, 4}) }, "too few noise variances")
}

// Expected: without a calibration the variance is the model's claim and noise, and there are no intervals.
func TestClaimOnly(t *testing.T) {
	p := interval.ClaimOnly(2, triplets.Prediction{
		Mu: []float64{1, 2}, Claim: []float64{0.1, 0.2}, Noise: []float64{0.3, 0.4},
	})
	assert.Equal(t, 1, p.N, "conditions")
	assert.InDeltaSlice(t, []float64{0.4, 0.6}, p.Total, 1e-15, "variances")
	assert.True(t, math.IsNaN(p.Half[0]), "half width")
	assert.True(t, math.IsNaN(p.Epistemic[1]), "epistemic variance")
	assert.Nil(t, p.Where, "position")
}

package interval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// calibration is one of two outcomes, learned from k left-out speeds.
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

// speeds are queries within, at and beyond the measured speeds, with means, claims and noise
// of both outcomes.
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

// What was stored predicts the same bits and says the same.
func TestCalibrationIsStored(t *testing.T) {
	x, raw := speeds()
	for _, k := range []int{0, 1, 3} {
		c := calibration(t, k)

		b, err := json.Marshal(c)
		require.NoError(t, err)

		var again interval.Calibration
		require.NoError(t, json.Unmarshal(b, &again))

		p := c.Predict(x, x, nil, raw)
		q := again.Predict(x, x, nil, raw)
		if !slices.Equal(p.Half, q.Half) || !slices.Equal(p.Half68, q.Half68) || !slices.Equal(p.Epistemic, q.Epistemic) ||
			!slices.Equal(p.Total, q.Total) {
			t.Errorf("K = %d: %v, from the file %v", k, p.Half, q.Half)
		}

		assert.Equal(t, &again, c, "K = %d: , from the file %+v", k, again)
	}
}

func TestDamagedCalibrationIsRefused(t *testing.T) {
	good, err := json.Marshal(calibration(t, 3))
	require.NoError(t, err)

	for old, c := range map[string][2]string{
		`"version":2`:           {`"version":1`, "version 2, found"},
		`"doubletake-honest"`:   {`"doubletake"`, `found "doubletake" version`},
		`"level":0.95`:          {`"level":1`, "a level between 0 and 1, found 1"},
		`"k":3,"scale"`:         {`"k":2,"scale"`, "a row for each of 2 groups, found 3"},
		`"kind":"values"`:       {`"kind":"labels"`, "in ascending order"},
		`"values":[4,8,12]`:     {`"values":[8,4,12]`, "in ascending order"},
		`"range":8`:             {`"range":0`, "in ascending order"},
		`"mean":[10,-3]`:        {`"mean":[10]`, "for each of 1 outcomes"},
		`"deviation":[2,0.5]`:   {`"deviation":[2,0]`, "outcome column 1: expected a positive deviation"},
		`"half_width":[5,9]`:    {`"half_width":[5]`, "for each of 2 outcomes"},
		`"scale":{`:             {`"scal":{`, "expected a scale"},
		`"ratio":`:              {`"rati":`, "expected positive factors"},
		`"weights":[[`:          {`"weights":[[1,`, "expected 90 weights"},
		`"format":`:             {`"format":[`, "decode calibration"},
		`"tau":0.8,"tau_std":0`: {`"tau":-1,"tau_std":0`, "expected a name, an origin and positive deviations"},
	} {
		bad := strings.Replace(string(good), old, c[0], 1)
		assert.NotEqual(t, string(good), bad, "%s is not in %s", old, good)

		err := new(interval.Calibration).UnmarshalJSON([]byte(bad))
		if c[1] == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c[1])
		}
	}
}

// What the intervals rest on is said in words, and what to be careful of.
func TestNotes(t *testing.T) {
	group := func(conditions int, inside float64) interval.GroupResult {
		return interval.GroupResult{Conditions: conditions, Inside: inside}
	}

	exact := &scale.Scale{Noise: scale.Exact}
	for _, c := range []struct {
		c       interval.Calibration
		learned string
		notes   []string
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
		if len(notes) != len(c.notes) {
			t.Errorf("K = %d: %q, expected %d notes", c.c.K, notes, len(c.notes))
			continue
		}

		for i, want := range c.notes {
			assert.Contains(t, notes[i], want)
		}
	}

	c := interval.Calibration{Groups: []interval.GroupResult{group(1, 0.9), group(1, 0.899), group(1, 1)}}
	assert.Equal(t, 2, c.LeftOutInside(), "groups with at least 90 %% inside")
}

// Squares, widths and scores are in deviations: with another unit of the outcomes the record
// is the same, and intervals are in that unit.
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

	times := func(v []float64, by float64) []float64 {
		out := slices.Clone(v)
		for i := range out {
			out[i] *= by
		}

		return out
	}

	d := *c
	d.Mean, d.Deviation = times(c.Mean, kilo), times(c.Deviation, kilo)
	d.Conformal.Half = times(c.Conformal.Half, kilo)
	run := []int{0, 0, 1, 2}
	p := c.Predict(x, x, nil, raw)
	q := d.Predict(x, x, nil, triplets.Prediction{
		Mu: times(raw.Mu, kilo), Claim: times(raw.Claim, kilo*kilo), Noise: times(raw.Noise, kilo*kilo),
	})

	require.Equal(t, q.Half, times(p.Half, kilo), "half widths %v and %v", p.Half, q.Half)
	assert.Equal(t, q.Total, times(p.Total, kilo*kilo), "half widths %v and %v", p.Half, q.Half)

	a := c.Judge(p, raw.Noise, y1, y2, run)
	b := d.Judge(q, times(raw.Noise, kilo*kilo), times(y1, kilo), times(y2, kilo), run)
	for _, r := range []*interval.Record{&a, &b} {
		r.ForgetIntervals()
		r.Conformal.Score = 0 // NaN
	}

	assert.Equal(t, b, a, "%+v\n%+v", a, b)
}

// Values that are drawn from the laws lie inside their intervals as often as the levels state, within three standard
// errors, and the score of the laws is smaller than the score of wider laws. Witness: the draws.
func TestLevels(t *testing.T) {
	const draws = 4000

	r := rand.New(rand.NewPCG(6, 6))
	c := calibration(t, 3)
	c.Axis = nil
	c.Kind = interval.Labels
	parts := c.Scale.Predictor().Components()
	draw := func(claim, noise float64) float64 { // in deviations; the distance of labels is 1
		u := r.Float64()
		for _, part := range parts {
			if u -= part.Weight; u <= 0 {
				q := [3]float64{claim, math.Sqrt(claim * c.Scale.Ratio), c.Scale.Ratio}[part.Shape]
				return math.Sqrt(part.Lambda*q+part.Kappa*noise) * r.NormFloat64()
			}
		}

		return 0
	}

	var x, y1, y2, wide []float64
	var raw triplets.Prediction

	run := make([]int, draws)
	for i := range draws {
		x = append(x, 8)
		run[i] = i
		for j, s := range c.Deviation {
			raw.Mu = append(raw.Mu, c.Mean[j])
			raw.Claim = append(raw.Claim, 0.2*s*s)
			raw.Noise = append(raw.Noise, 0.05*s*s)
			y1 = append(y1, c.Mean[j]+s*draw(0.2, 0.05))
			y2 = append(y2, c.Mean[j]+s*draw(0.2, 0.05))
			wide = append(wide, 4*0.2*s*s)
		}
	}

	p := c.Predict(x, nil, nil, raw)
	a := c.Judge(p, raw.Noise, y1, y2, run)
	for l, level := range interval.Levels {
		if se := math.Sqrt(level * (1 - level) / (4 * draws)); math.Abs(a.At[l]-level) > 3*se {
			t.Errorf("level %g: %.4f of the drawn values inside, standard error %.4f", level, a.At[l], se)
		}
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

	require.Equal(t, a.At[2], a.After.Coverage, "%+v", a)
	assert.InDelta(t, a.RatioAfter*a.Epistemic/0.2, a.RatioBefore, 1e-9, "%+v", a)

	raw.Claim = wide
	if b := c.Judge(c.Predict(x, nil, nil, raw), raw.Noise, y1, y2, run); b.CRPS <= a.CRPS {
		t.Errorf("CRPS %.4f of laws that are too wide, %.4f of the right ones", b.CRPS, a.CRPS)
	}
}

// The interval score by hand: the width, and 2/(1 − level) times what a value misses it by.
func TestWinkler(t *testing.T) {
	for _, c := range []struct {
		y, want float64
		in      bool
	}{{1, 1, true}, {1.5, 1, true}, {0.4, 1 + 40*0.1, false}, {2, 1 + 40*0.5, false}} {
		if s, in := interval.Winkler(c.y, 1, 0.5, 0.95); math.Abs(s-c.want) > 1e-12 || in != c.in {
			t.Errorf("%g: %g, %v; expected %g, %v", c.y, s, in, c.want, c.in)
		}
	}
}

// A record can be read from its own document and from the document of a calibration. Undefined numbers are null.
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

	alone, err1 := json.Marshal(r)

	of, err2 := json.Marshal((&interval.Result{Calibration: c, Record: &r}).Document())
	require.NoError(t, errors.Join(err1, err2))

	want := r
	want.RatioSE = math.NaN()
	for _, b := range [][]byte{alone, of} {
		assert.Contains(t, string(b), `"r2":null`)
		assert.Contains(t, string(b), `"ratio_se":null`)
		assert.Contains(t, string(b), `"coverage_95_before":0.5`)
		assert.Contains(t, string(b), `"coverage":0.94`)
		assert.Contains(t, string(b), `"sd_noise":3`)

		var again interval.Record
		if err := json.Unmarshal(b, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(want) {
			t.Errorf("%+v, %v", again, err)
		}
	}

	assert.ErrorContains(t, json.Unmarshal([]byte(`{"forecast": [{"runs": 1, "half_width": [1]}]}`), &r),
		"forecast of 1 runs: expected 0 half widths, found 1")
}

// Slices that do not fit are a mistake of the program.
func TestPanics(t *testing.T) {
	c := calibration(t, 0)
	x, raw := speeds()
	p := c.Predict(x, x, nil, raw)
	for name, f := range map[string]func(){
		"coordinates": func() { c.Predict(x, nil, nil, raw) },
		"claims": func() {
			c.Predict(x, x, nil, triplets.Prediction{Mu: raw.Mu, Claim: raw.Claim[1:], Noise: raw.Noise})
		},
		"judge 4 rows":   func() { c.Judge(p, raw.Noise, raw.Mu, raw.Mu, []int{1}) },
		"noise to judge": func() { c.Judge(p, raw.Noise[2:], raw.Mu, raw.Mu, []int{1, 2, 3, 4}) },
	} {
		func() {
			defer func() {
				assert.NotNil(t, recover(), "%s: no panic", name)
			}()
			f()
		}()
	}
}

// Without a calibration nothing is promised but what the model claims.
func TestClaimOnly(t *testing.T) {
	p := interval.ClaimOnly(2, triplets.Prediction{
		Mu: []float64{1, 2}, Claim: []float64{0.1, 0.2}, Noise: []float64{0.3, 0.4},
	})
	if p.N != 1 || math.Abs(p.Total[1]-0.6) > 1e-15 || !math.IsNaN(p.Half[0]) || !math.IsNaN(p.Epistemic[1]) ||
		p.Where != nil {
		t.Errorf("%+v", p)
	}
}

// Package baselinetest holds methods to the contract of baseline.Method, those of the
// program and those of a program of one's own. Limit: it knows methods for one and two
// inputs and outcomes, on a few dozen pairs.
package baselinetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/must"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// Toy draws pairs of y = (sin 2x, x/2) with a gap: |x| in [1, 3]. The first is in units of
// 10 about 100; the noise has the deviations 3 and 0.3 in the outcomes' units.
func Toy(n int, seed uint64) triplets.Set {
	rng := rand.New(rand.NewPCG(seed, 7))

	d := triplets.Set{N: n, In: 1, Out: 2}
	for i := range n {
		x := 1 + 2*rng.Float64()
		if i%2 == 0 {
			x = -x
		}

		d.X, d.Group = append(d.X, x), append(d.Group, i%3)
		for _, y := range []*[]float64{&d.Y1, &d.Y2} {
			*y = append(*y, 100+10*math.Sin(2*x)+3*rng.NormFloat64(), x/2+0.3*rng.NormFloat64())
		}
	}

	return d
}

// Settings are settings with which a network learns Toy.
func Settings() baseline.Settings {
	c := train.DefaultConfig()
	c.Epochs, c.Batch, c.Hidden = 500, 16, []int{32, 32}

	return baseline.Settings{Config: c, Members: 3, Samples: 100, Estimate: train.EstimateOptions{Samples: 2}}
}

// Quick are settings with which every method is fitted in a moment.
func Quick() baseline.Settings {
	s := Settings()
	s.Config.Epochs, s.Config.Hidden, s.Samples = 6, []int{8}, 4

	return s
}

// Fitted is a method fitted with quick settings.
func Fitted(t *testing.T, m baseline.Info, data triplets.Set, seed uint64) baseline.Predictor {
	t.Helper()

	p, err := m.New(Quick()).Fit(t.Context(), data, seed)
	must.Do(t, err)

	return p
}

// Predicted are the predictions at x.
func Predicted(t *testing.T, p baseline.Predictor, x []float64) *baseline.Prediction {
	t.Helper()

	r, err := p.Predict(t.Context(), x)
	must.Do(t, err)

	return r
}

func equalBits(a, b *baseline.Prediction) bool {
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

	return slices.EqualFunc(a.Mu, b.Mu, same) && slices.EqualFunc(a.Total, b.Total, same) &&
		slices.EqualFunc(a.Epistemic, b.Epistemic, same)
}

// Conformance tests that a method keeps the contract of Method and Predictor: shapes,
// determinism, other units and origins of inputs and outcomes, couples, rows that were left
// out, being stopped at any point, bad input. How much a slow method with Shared finds shared
// is tested with DOUBLETAKE_LONG=1 alone.
func Conformance(t *testing.T, m baseline.Info) {
	x := []float64{-2.5, 1.3, 2.7, -9, 40}
	data := Toy(60, 1)

	before, err := json.Marshal(data)
	must.Do(t, err)

	p := Fitted(t, m, data, 4)
	r := Predicted(t, p, x)
	t.Run("shape", func(t *testing.T) { shape(t, p, r, len(x)) })
	t.Run("deterministic", func(t *testing.T) {
		must.Not(t, !equalBits(r, Predicted(t, Fitted(t, m, data, 4), x)), "the same data and seed give other numbers")
	})

	t.Run("condition by condition", func(t *testing.T) {
		for i, at := range x {
			q := Predicted(t, p, []float64{at})
			for j := range r.Out {
				k := i*r.Out + j
				must.Not(t, !same(q.Mu[j], r.Mu[k]) || !same(q.Total[j], r.Total[k]) || !same(q.Epistemic[j], r.Epistemic[k]),
					"at %g alone: %g, %g, %g", at, q.Mu[j], q.Total[j], q.Epistemic[j])
			}
		}
	})

	t.Run("rows only", func(t *testing.T) { rowsOnly(t, m, data, x) })
	t.Run("units", func(t *testing.T) { units(t, m, data, x, r) })
	t.Run("couples", func(t *testing.T) { couples(t, m, x) })
	t.Run("stopped", func(t *testing.T) { stopped(t, m, data, p, x) })
	t.Run("errors", func(t *testing.T) { conformingErrors(t, m, p) })

	after, _ := json.Marshal(data)
	must.Not(t, !bytes.Equal(before, after), "Fit changed the data")
}

// shape looks at predictions of n conditions of Toy, and of none.
func shape(t *testing.T, p baseline.Predictor, r *baseline.Prediction, n int) {
	must.Never(t, r.N != n || r.Out != 2, "%d conditions of %d outcomes", r.N, r.Out)

	for what, v := range map[string][]float64{"mean": r.Mu, "total": r.Total, "epistemic": r.Epistemic} {
		must.Never(t, len(v) != r.N*r.Out, "%s has %d numbers", what, len(v))

		for i, y := range v {
			must.Not(t, math.IsNaN(y) || math.IsInf(y, 0) || what == "total" && y <= 0, "%s %d is %g", what, i, y)
		}
	}

	none := Predicted(t, p, nil)
	must.Not(t, none.N != 0 || len(none.Mu) != 0, "of no conditions: %+v", none)
}

// same allows for another order of rows in a block of a network.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(math.Abs(a)+math.Abs(b)) }

// A method fitted on some rows of a set knows nothing of the others, nor of what
// they are called, how they are numbered and how the whole was scaled.
func rowsOnly(t *testing.T, m baseline.Info, data triplets.Set, x []float64) {
	rows := []int{3, 4, 5, 6, 8, 10, 11, 12, 13, 17, 20, 21, 25, 31, 32, 33, 40, 41, 42, 50}
	plain := data.Select(rows)
	whole := data
	whole.Condition, whole.Distinct = triplets.Index(data.X, data.In)
	whole.Y1, whole.Y2 = slices.Clone(data.Y1), slices.Clone(data.Y2)
	whole.Scale = triplets.ScaleOf(data.Out, data.Y1, data.Y2)
	whole.Part = make([]triplets.Part, data.N)
	for i := range data.N {
		if !slices.Contains(rows, i) {
			whole.Part[i] = triplets.Test
			for j := range data.Out {
				whole.Y1[i*data.Out+j], whole.Y2[i*data.Out+j] = 1e6, -1e6
			}
		}
	}

	a, b := Predicted(t, Fitted(t, m, plain, 2), x), Predicted(t, Fitted(t, m, whole.Of(triplets.Train), 2), x)
	must.Not(t, !equalBits(a, b), "rows that were left out change the prediction")
}

// Other units of inputs and outcomes change nothing but the unit of the prediction, exactly: a power of
// two rounds nothing. Other origins change nothing but the mean, up to the rounding of sums, which
// training and the search for hyperparameters magnify.
func units(t *testing.T, m baseline.Info, data triplets.Set, x []float64, r *baseline.Prediction) {
	for _, c := range []struct {
		wide, east, high, up float64 // factors and origins of inputs and outcomes
		mean, variance       float64 // tolerances, of the deviation and the variance
	}{{wide: 1, high: 4}, {wide: 4, high: 1}, {1, 16, 1, -256, 5e-3, 1e-2}} {
		other := func(v []float64, factor, origin float64) []float64 {
			return lists.Each(v, func(y float64) float64 { return factor*y + origin })
		}

		d := data
		d.X, d.Y1, d.Y2 = other(data.X, c.wide, c.east), other(data.Y1, c.high, c.up), other(data.Y2, c.high, c.up)
		q := Predicted(t, Fitted(t, m, d, 4), other(x, c.wide, c.east))
		for k, v := range other(r.Total, c.high*c.high, 0) {
			mu, epistemic := c.high*r.Mu[k]+c.up, c.high*c.high*r.Epistemic[k]
			if !(math.Abs(q.Mu[k]-mu) <= c.mean*math.Sqrt(v)) || !(math.Abs(q.Total[k]-v) <= c.variance*v) ||
				!(math.Abs(q.Epistemic[k]-epistemic) <= c.variance*v) {
				t.Errorf("%+v, value %d: %g, %g, %g, expected %g, %g, %g", c, k, q.Mu[k], q.Total[k], q.Epistemic[k], mu, v,
					epistemic)
			}
		}
	}
}

// A method can be fitted on couples.
func couples(t *testing.T, m baseline.Info, x []float64) {
	data := Toy(60, 1)
	data.Couples, data.Y2 = true, data.Y1
	r := Predicted(t, Fitted(t, m, data, 4), x)
	for k, v := range r.Total {
		must.Not(t, !(v > 0) || math.IsInf(v, 0) || math.IsNaN(r.Mu[k]) || math.IsNaN(r.Epistemic[k]),
			"value %d: %g, %g, %g", k, r.Mu[k], v, r.Epistemic[k])
	}
}

// fuse is a context that is cancelled once Err was asked so often.
type fuse struct {
	context.Context
	left, asked int
}

func (f *fuse) Err() error {
	if f.asked++; f.asked > f.left {
		return context.Canceled
	}
	return nil
}

// A fit stops where it is told to, and a prediction does.
func stopped(t *testing.T, m baseline.Info, data triplets.Set, p baseline.Predictor, x []float64) {
	fit := m.New(Quick()).Fit

	whole := &fuse{t.Context(), math.MaxInt, 0}
	_, err := fit(whole, data, 4)
	must.Never(t, err != nil || whole.asked == 0, "asked %d times: %v", whole.asked, err)

	for _, left := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
		if left >= whole.asked {
			continue
		}

		q, err := fit(&fuse{t.Context(), left, 0}, data, 4)
		must.Not(t, !errors.Is(err, context.Canceled) || q != nil, "stopped at look %d of %d: %v", left+1, whole.asked, err)
	}

	asked := &fuse{t.Context(), math.MaxInt, 0}
	_, err = p.Predict(asked, x)
	must.Not(t, err != nil || asked.asked == 0, "predict asked %d times: %v", asked.asked, err)
}

func conformingErrors(t *testing.T, m baseline.Info, p baseline.Predictor) {
	done, stop := context.WithCancel(t.Context())
	stop()

	fit := m.New(Quick()).Fit
	_, err := fit(done, Toy(50, 1), 1)
	_, failed := p.Predict(done, []float64{1, 2})
	must.Not(t, !errors.Is(err, context.Canceled) || !errors.Is(failed, context.Canceled), "cancelled: %v, %v",
		err, failed)

	flat := Toy(50, 1)
	for i := range flat.N {
		flat.Y1[2*i+1], flat.Y2[2*i+1] = 4, 4
	}

	nan, infinite := Toy(50, 1), Toy(50, 1)
	nan.X[7], infinite.Y2[3] = math.NaN(), math.Inf(1)
	for want, d := range map[string]triplets.Set{
		"2 training rows, found 0":     {In: 1, Out: 1},
		"2 training rows, found 1":     Toy(1, 1),
		"row 7, input column 0":        nan,
		"row 1, second outcome column": infinite,
		"outcome column 1 is constant": flat,
	} {
		_, err := fit(t.Context(), d, 1)
		must.Refuse(t, err, want)
	}

	defer func() { must.Not(t, recover() == nil, "no panic for half a row") }()

	two := Toy(50, 1)
	two.In, two.X = 2, append(slices.Clone(two.X), Toy(50, 2).X...)
	q := Fitted(t, m, two, 1)
	_, _ = q.Predict(t.Context(), []float64{1, 2, 3})
}

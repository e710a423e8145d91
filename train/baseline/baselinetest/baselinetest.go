// Package baselinetest holds methods to the contract of baseline.Method, those of the
// program and those of a program of one's own. Limit: it knows methods for one and two
// inputs and outcomes, on a few dozen pairs.
package baselinetest

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

		d.X = append(d.X, x)
		d.Group = append(d.Group, i%3)
		for _, y := range []*[]float64{&d.Y1, &d.Y2} {
			*y = append(*y, 100+10*math.Sin(2*x)+3*rng.NormFloat64(), x/2+0.3*rng.NormFloat64())
		}
	}

	return d
}

// Settings returns settings with which a network learns Toy.
func Settings() baseline.Settings {
	c := train.DefaultConfig()
	c.Epochs = 500
	c.Batch = 16
	c.Hidden = []int{32, 32}

	return baseline.Settings{Config: c, Members: 3, Samples: 100, Estimate: train.EstimateOptions{Samples: 2}}
}

// Quick returns settings with which every method is fitted in a moment.
func Quick() baseline.Settings {
	s := Settings()
	s.Config.Epochs = 6
	s.Config.Hidden = []int{8}
	s.Samples = 4

	return s
}

// Fitted returns a method fitted with quick settings.
func Fitted(t *testing.T, m baseline.Info, data triplets.Set, seed uint64) baseline.Predictor {
	t.Helper()

	p, err := m.New(Quick()).Fit(t.Context(), data, seed)
	require.NoError(t, err)

	return p
}

// Predicted returns the predictions at x.
func Predicted(t *testing.T, p baseline.Predictor, x []float64) *baseline.Prediction {
	t.Helper()

	r, err := p.Predict(t.Context(), x)
	require.NoError(t, err)

	return r
}

func equalBits(a, b *baseline.Prediction) bool {
	return slices.EqualFunc(a.Mu, b.Mu, sameBits) && slices.EqualFunc(a.Total, b.Total, sameBits) &&
		slices.EqualFunc(a.Epistemic, b.Epistemic, sameBits)
}

func sameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

// Conformance tests that a method keeps the contract of Method and Predictor: shapes,
// determinism, other units and origins of inputs and outcomes, couples, rows that were left
// out, being stopped at any point, bad input.
func Conformance(t *testing.T, m baseline.Info) {
	x := []float64{-2.5, 1.3, 2.7, -9, 40}
	data := Toy(60, 1)

	original, err := json.Marshal(data)
	require.NoError(t, err)

	p := Fitted(t, m, data, 4)
	r := Predicted(t, p, x)
	t.Run("shape", func(t *testing.T) { shape(t, p, r, len(x)) })
	t.Run("deterministic", func(t *testing.T) {
		assert.True(t, equalBits(r, Predicted(t, Fitted(t, m, data, 4), x)), "the same data and seed give other numbers")
	})

	t.Run("condition by condition", func(t *testing.T) {
		for i, condition := range x {
			q := Predicted(t, p, []float64{condition})
			for j := range r.Out {
				k := i*r.Out + j
				if !same(q.Mu[j], r.Mu[k]) || !same(q.Total[j], r.Total[k]) || !same(q.Epistemic[j], r.Epistemic[k]) {
					t.Errorf("at %g alone: %g, %g, %g", condition, q.Mu[j], q.Total[j], q.Epistemic[j])
				}
			}
		}
	})

	t.Run("rows only", func(t *testing.T) { rowsOnly(t, m, data, x) })
	t.Run("units", func(t *testing.T) { units(t, m, data, x, r) })
	t.Run("couples", func(t *testing.T) { couples(t, m, x) })
	t.Run("stopped", func(t *testing.T) { stopped(t, m, data, p, x) })
	t.Run("errors", func(t *testing.T) { conformingErrors(t, m, p) })

	current, _ := json.Marshal(data)
	assert.Equal(t, original, current, "Fit changed the data")
}

// shape looks at predictions of n conditions of Toy, and of none.
func shape(t *testing.T, p baseline.Predictor, r *baseline.Prediction, n int) {
	require.Equal(t, n, r.N, "%d conditions of %d outcomes", r.N, r.Out)
	require.Equal(t, 2, r.Out, "%d conditions of %d outcomes", r.N, r.Out)

	for what, v := range map[string][]float64{"mean": r.Mu, "total": r.Total, "epistemic": r.Epistemic} {
		require.Len(t, v, r.N*r.Out, "%s has %d numbers", what, len(v))

		for i, y := range v {
			if math.IsNaN(y) || math.IsInf(y, 0) || what == "total" && y <= 0 {
				t.Errorf("%s %d is %g", what, i, y)
			}
		}
	}

	none := Predicted(t, p, nil)
	require.Equal(t, 0, none.N, "of no conditions: %+v", none)
	assert.Empty(t, none.Mu, "of no conditions: %+v", none)
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
	whole.Y1 = slices.Clone(data.Y1)
	whole.Y2 = slices.Clone(data.Y2)
	whole.Scale = triplets.ScaleOf(data.Out, data.Y1, data.Y2)
	whole.Part = make([]triplets.Part, data.N)
	for i := range data.N {
		if !slices.Contains(rows, i) {
			whole.Part[i] = triplets.Test
			for j := range data.Out {
				whole.Y1[i*data.Out+j] = 1e6
				whole.Y2[i*data.Out+j] = -1e6
			}
		}
	}

	a := Predicted(t, Fitted(t, m, plain, 2), x)
	b := Predicted(t, Fitted(t, m, whole.Of(triplets.Train), 2), x)
	assert.True(t, equalBits(a, b), "rows that were left out change the prediction")
}

// Other units of inputs and outcomes change nothing but the unit of the prediction, exactly: a power of
// two rounds nothing. Other origins change nothing but the mean, up to the rounding of sums, which
// training and the search for hyperparameters magnify.
func units(t *testing.T, m baseline.Info, data triplets.Set, x []float64, r *baseline.Prediction) {
	for _, c := range []struct {
		inFactor, inOrigin, outFactor, outOrigin float64 // factors and origins of inputs and outcomes
		mean, variance                           float64 // tolerances, of the deviation and the variance
	}{{inFactor: 1, outFactor: 4}, {inFactor: 4, outFactor: 1}, {1, 16, 1, -256, 5e-3, 1e-2}} {
		d := data
		d.X = scaled(data.X, c.inFactor, c.inOrigin)
		d.Y1 = scaled(data.Y1, c.outFactor, c.outOrigin)
		d.Y2 = scaled(data.Y2, c.outFactor, c.outOrigin)
		q := Predicted(t, Fitted(t, m, d, 4), scaled(x, c.inFactor, c.inOrigin))
		for k, v := range scaled(r.Total, c.outFactor*c.outFactor, 0) {
			mu := c.outFactor*r.Mu[k] + c.outOrigin
			epistemic := c.outFactor * c.outFactor * r.Epistemic[k]
			if !(math.Abs(q.Mu[k]-mu) <= c.mean*math.Sqrt(v)) || !(math.Abs(q.Total[k]-v) <= c.variance*v) ||
				!(math.Abs(q.Epistemic[k]-epistemic) <= c.variance*v) {
				t.Errorf("%+v, value %d: %g, %g, %g, expected %g, %g, %g", c, k, q.Mu[k], q.Total[k], q.Epistemic[k], mu, v,
					epistemic)
			}
		}
	}
}

// scaled returns the values times a factor, about another origin.
func scaled(values []float64, factor, origin float64) []float64 {
	var list []float64
	for _, y := range values {
		list = append(list, factor*y+origin)
	}

	return list
}

// A method can be fitted on couples.
func couples(t *testing.T, m baseline.Info, x []float64) {
	data := Toy(60, 1)
	data.Couples = true
	data.Y2 = data.Y1
	r := Predicted(t, Fitted(t, m, data, 4), x)
	for k, v := range r.Total {
		if !(v > 0) || math.IsInf(v, 0) || math.IsNaN(r.Mu[k]) || math.IsNaN(r.Epistemic[k]) {
			t.Errorf("value %d: %g, %g, %g", k, r.Mu[k], v, r.Epistemic[k])
		}
	}
}

// fuse is a context that is cancelled once Err was called more than left times.
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

// A fit stops whenever its context ends, and a prediction asks its context.
func stopped(t *testing.T, m baseline.Info, data triplets.Set, p baseline.Predictor, x []float64) {
	fit := m.New(Quick()).Fit

	whole := &fuse{t.Context(), math.MaxInt, 0}
	_, err := fit(whole, data, 4)
	require.NoError(t, err)
	require.NotZero(t, whole.asked, "asked %d times: %v", whole.asked, err)

	for _, left := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
		if left >= whole.asked {
			continue
		}

		q, err := fit(&fuse{t.Context(), left, 0}, data, 4)
		require.ErrorIs(t, err, context.Canceled, "stopped at look %d of %d: %v", left+1, whole.asked, err)
		assert.Nil(t, q, "stopped at look %d of %d: %v", left+1, whole.asked, err)
	}

	asked := &fuse{t.Context(), math.MaxInt, 0}
	_, err = p.Predict(asked, x)
	require.NoError(t, err)
	assert.NotZero(t, asked.asked, "predict asked %d times: %v", asked.asked, err)
}

func conformingErrors(t *testing.T, m baseline.Info, p baseline.Predictor) {
	done, stop := context.WithCancel(t.Context())
	stop()

	fit := m.New(Quick()).Fit
	_, err := fit(done, Toy(50, 1), 1)
	_, failed := p.Predict(done, []float64{1, 2})
	require.ErrorIs(t, err, context.Canceled, "cancelled: %v, %v", err, failed)
	assert.ErrorIs(t, failed, context.Canceled, "cancelled: %v, %v", err, failed)

	flat := Toy(50, 1)
	for i := range flat.N {
		flat.Y1[2*i+1] = 4
		flat.Y2[2*i+1] = 4
	}

	nan := Toy(50, 1)
	infinite := Toy(50, 1)
	nan.X[7] = math.NaN()
	infinite.Y2[3] = math.Inf(1)
	for want, d := range map[string]triplets.Set{
		"2 training rows, found 0":     {In: 1, Out: 1},
		"2 training rows, found 1":     Toy(1, 1),
		"row 7, input column 0":        nan,
		"row 1, second outcome column": infinite,
		"outcome column 1 is constant": flat,
	} {
		_, err := fit(t.Context(), d, 1)
		assert.ErrorContains(t, err, want)
	}

	two := Toy(50, 1)
	two.In = 2
	two.X = append(slices.Clone(two.X), Toy(50, 2).X...)
	q := Fitted(t, m, two, 1)
	predictHalf := func() { _, _ = q.Predict(t.Context(), []float64{1, 2, 3}) }
	assert.Panics(t, predictHalf, "prediction for one row and a half of two inputs")
}

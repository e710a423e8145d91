// Package baselinetest tests that a method keeps the contract of baseline.Method: the methods of this module, and
// methods of other programs. It tests with one and two inputs and outcomes, and with a few dozen pairs.
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

// Toy draws n pairs of two outcomes, 100 + 10·sin 2x and x/2, with noise of the deviations 3 and 0.3. |x| is between 1
// and 3, so that there is a gap in the middle. The pairs are in three groups.
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

// requireSame requires that two predictions have the same numbers.
func requireSame(t *testing.T, want, got *baseline.Prediction) {
	t.Helper()

	assert.Equal(t, want.Mu, got.Mu, "means")
	assert.Equal(t, want.Total, got.Total, "total variances")
	assert.Equal(t, want.Epistemic, got.Epistemic, "epistemic variances")
}

// Conformance tests that a method keeps the contract of Method and Predictor: shapes, determinism, other units and
// origins of inputs and outcomes, couples, rows that were left out, contexts that end at any point, and bad input.
func Conformance(t *testing.T, m baseline.Info) {
	x := []float64{-2.5, 1.3, 2.7, -9, 40}
	data := Toy(60, 1)

	original, err := json.Marshal(data)
	require.NoError(t, err)

	p := Fitted(t, m, data, 4)
	r := Predicted(t, p, x)
	t.Run("shape", func(t *testing.T) { shape(t, p, r, len(x)) })
	t.Run("deterministic", func(t *testing.T) {
		requireSame(t, r, Predicted(t, Fitted(t, m, data, 4), x))
	})

	t.Run("condition by condition", func(t *testing.T) {
		for i, condition := range x {
			q := Predicted(t, p, []float64{condition})
			for j := range r.Out {
				k := i*r.Out + j
				assertClose(t, r.Mu[k], q.Mu[j], "mean at %g alone", condition)
				assertClose(t, r.Total[k], q.Total[j], "total variance at %g alone", condition)
				assertClose(t, r.Epistemic[k], q.Epistemic[j], "epistemic variance at %g alone", condition)
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

// shape tests the shape and the numbers of r, a prediction of n conditions of Toy, and a prediction of none.
func shape(t *testing.T, p baseline.Predictor, r *baseline.Prediction, n int) {
	require.Equal(t, n, r.N, "conditions")
	require.Equal(t, 2, r.Out, "outcomes")

	for what, numbers := range map[string][]float64{"mean": r.Mu, "total": r.Total, "epistemic": r.Epistemic} {
		require.Len(t, numbers, r.N*r.Out, what)
		for i, y := range numbers {
			assertFinite(t, y, "%s %d", what, i)
		}
	}

	for i, total := range r.Total {
		assert.Positive(t, total, "total variance %d", i)
	}

	none := Predicted(t, p, nil)
	assert.Zero(t, none.N, "conditions of an empty prediction")
	assert.Empty(t, none.Mu, "means of an empty prediction")
}

// assertFinite asserts that a number is neither NaN nor infinite.
func assertFinite(t *testing.T, x float64, message ...any) {
	t.Helper()

	assert.False(t, math.IsNaN(x), message...)
	assert.False(t, math.IsInf(x, 0), message...)
}

// assertClose asserts that two numbers agree up to rounding, which depends on the order of the rows in a block of a
// network.
func assertClose(t *testing.T, want, got float64, message ...any) {
	t.Helper()

	assert.InDelta(t, want, got, 1e-6*(math.Abs(want)+math.Abs(got)), message...)
}

// rowsOnly tests that a method fitted on some rows of a set learns nothing of the other rows: neither their values and
// numbers, nor the scale of the whole set.
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
	b := Predicted(t, Fitted(t, m, whole.Only(triplets.Train), 2), x)
	requireSame(t, a, b)
}

// units tests that other units of inputs and outcomes change only the unit of the prediction. This is exact, because a
// factor that is a power of two rounds nothing. Other origins change only the mean, up to the rounding of sums, which
// the training and the search for hyperparameters magnify. r is the prediction at x in the original units.
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
			assert.InDelta(t, mu, q.Mu[k], c.mean*math.Sqrt(v), "%+v: mean %d", c, k)
			assert.InDelta(t, v, q.Total[k], c.variance*v, "%+v: total variance %d", c, k)
			assert.InDelta(t, epistemic, q.Epistemic[k], c.variance*v, "%+v: epistemic variance %d", c, k)
		}
	}
}

// scaled returns the values times a factor, plus an origin.
func scaled(values []float64, factor, origin float64) []float64 {
	var list []float64
	for _, y := range values {
		list = append(list, factor*y+origin)
	}

	return list
}

// couples tests that a method can be fitted on couples.
func couples(t *testing.T, m baseline.Info, x []float64) {
	data := Toy(60, 1)
	data.Couples = true
	data.Y2 = data.Y1
	r := Predicted(t, Fitted(t, m, data, 4), x)
	for k, v := range r.Total {
		assert.Positive(t, v, "total variance %d", k)
		assertFinite(t, v, "total variance %d", k)
		assert.False(t, math.IsNaN(r.Mu[k]), "mean %d is a number", k)
		assert.False(t, math.IsNaN(r.Epistemic[k]), "epistemic variance %d is a number", k)
	}
}

// fuse is a context that is cancelled after a number of calls of Err.
type fuse struct {
	context.Context
	limit int // calls that return nil
	calls int // calls so far
}

// Err counts the call, and returns context.Canceled after the last call that the limit allows.
func (f *fuse) Err() error {
	f.calls++
	if f.calls > f.limit {
		return context.Canceled
	}

	return nil
}

// stopped tests that a fit stops whenever its context ends, and that a prediction asks its context.
func stopped(t *testing.T, m baseline.Info, data triplets.Set, p baseline.Predictor, x []float64) {
	fit := m.New(Quick()).Fit

	whole := &fuse{t.Context(), math.MaxInt, 0}
	_, err := fit(whole, data, 4)
	require.NoError(t, err)
	require.Positive(t, whole.calls, "how often a fit asks its context")

	for _, limit := range []int{0, 1, whole.calls / 2, whole.calls - 1} {
		if limit >= whole.calls {
			continue // the fit would end before
		}

		q, err := fit(&fuse{t.Context(), limit, 0}, data, 4)
		require.ErrorIs(t, err, context.Canceled, "cancelled after %d of %d calls", limit, whole.calls)
		assert.Nil(t, q, "predictor of a fit cancelled after %d calls", limit)
	}

	prediction := &fuse{t.Context(), math.MaxInt, 0}
	_, err = p.Predict(prediction, x)
	require.NoError(t, err)
	assert.Positive(t, prediction.calls, "how often a prediction asks its context")
}

// conformingErrors tests that a cancelled context and data from which nothing can be learned are errors with the place,
// and that a prediction for a part of a row panics.
func conformingErrors(t *testing.T, m baseline.Info, p baseline.Predictor) {
	done, stop := context.WithCancel(t.Context())
	stop()

	fit := m.New(Quick()).Fit
	_, err := fit(done, Toy(50, 1), 1)
	require.ErrorIs(t, err, context.Canceled, "fit")

	_, err = p.Predict(done, []float64{1, 2})
	require.ErrorIs(t, err, context.Canceled, "prediction")

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

	noInputs := triplets.Set{N: 2, Out: 1, Y1: []float64{1, 2}, Y2: []float64{2, 1}}
	_, err = fit(t.Context(), noInputs, 1)
	assert.Error(t, err, "without inputs")

	two := Toy(50, 1)
	two.In = 2
	two.X = append(slices.Clone(two.X), Toy(50, 2).X...)
	q := Fitted(t, m, two, 1)
	predictHalf := func() { _, _ = q.Predict(t.Context(), []float64{1, 2, 3}) }
	assert.Panics(t, predictHalf, "prediction for one row and a half of two inputs")
}

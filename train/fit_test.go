package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// fitConfig returns settings for a training of six epochs.
func fitConfig() Config {
	c := DefaultConfig()
	c.Hidden = []int{16, 16}
	c.Epochs = 6
	c.Batch = 16
	c.Seed = 5
	return c
}

// modelBytes returns the file of a model.
func modelBytes(t *testing.T, m *Model) string {
	t.Helper()

	b, err := json.Marshal(m)
	require.NoError(t, err)

	return string(b)
}

// heldOutData returns triplets for a training, and every second of them to hold out.
func heldOutData() (data, held triplets.Set) {
	data = shapeData(70, 2, 2)

	var rows []int
	for i := 0; i < data.N; i += 2 {
		rows = append(rows, i)
	}

	return data, data.Select(rows)
}

// eachPairs runs a test with settings for each way to take pairs, with dropout.
func eachPairs(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, pairs := range []string{Symmetrised, Swap, Plain} {
		cfg := fitConfig()
		cfg.Pairs = pairs
		cfg.Dropout = 0.2
		t.Run(pairs, func(t *testing.T) { f(t, cfg) })
	}
}

// Held-out rows change neither the model nor its losses in training. Their own loss is taken in every second epoch, as
// asked, and in the last.
func TestHeldOutRowsChangeNothing(t *testing.T) {
	data, held := heldOutData()
	eachPairs(t, func(t *testing.T, cfg Config) {
		want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
		require.NoError(t, err)

		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		require.NoError(t, err)
		assert.Equal(t, modelBytes(t, want), modelBytes(t, m), "model")

		for i, e := range history {
			isAsked := e.Epoch%2 == 0 || e.Epoch == cfg.Epochs
			assert.Equal(t, isAsked, e.Judged, "epoch %d: held-out loss taken", e.Epoch)

			e.HeldOut = 0
			e.Judged = false
			assert.Equal(t, wantHistory[i], e, "epoch %d without its held-out loss", i+1)
		}
	})
}

// A held-out loss that is not a number, here from an outcome that overflows, is left out of the history.
func TestHeldOutLossOverflows(t *testing.T) {
	data, held := heldOutData()
	far := held.Select([]int{0, 1})
	far.Y1 = []float64{1e38, 1, 1, 1}
	eachPairs(t, func(t *testing.T, cfg Config) {
		_, want, err := Fit(context.Background(), data, cfg, nil)
		require.NoError(t, err)

		_, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: far, HeldOutEvery: 1})
		require.NoError(t, err)
		assert.Equal(t, want, history)
	})
}

// The last held-out loss is the loss of the final weights without dropout. Expected value: a trainer without dropout,
// whose loss the golden test compares with torch.
func TestHeldOutLoss(t *testing.T) {
	data, held := heldOutData()
	eachPairs(t, func(t *testing.T, cfg Config) {
		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		require.NoError(t, err)

		cfg.Dropout = 0
		l := newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden)
		withoutDropout := newTrainer(l, resolved(t, cfg.Kernels), cfg)
		copy(withoutDropout.p, m.params)

		want := withoutDropout.loss(packRows[float32](held, m.inputScale, m.outcomeScale), nil, nil)
		assert.Equal(t, want, history[len(history)-1].HeldOut)
	})
}

// smallConfig returns settings for a training of five epochs.
func smallConfig() Config {
	cfg := DefaultConfig()
	cfg.Epochs = 5
	cfg.Batch = 16
	cfg.Seed = 3
	return cfg
}

// mustFit returns a trained model.
func mustFit(t testing.TB, data triplets.Set, cfg Config) *Model {
	t.Helper()

	m, _, err := Fit(context.Background(), data, cfg, nil)
	require.NoError(t, err)

	return m
}

// Two trainings with the same data, settings and kernels give the same weights, and another seed gives others. The
// model names the kernels.
func TestFitDeterministic(t *testing.T) {
	data := shapeData(101, 3, 5)
	for _, name := range kernel.Names() {
		cfg := smallConfig()
		cfg.Kernels = name
		cfg.Pairs = Swap
		a := mustFit(t, data, cfg)
		b := mustFit(t, data, cfg)
		assert.Equal(t, b.params, a.params, "%s: weights of two trainings", name)
		assert.Equal(t, name, a.Kernels)

		cfg.Seed++
		assert.NotEqual(t, a.params, mustFit(t, data, cfg).params, "%s: weights with another seed", name)
	}
}

// A network learns y = sin(x0) + sin(x1) with noise of the deviation 0.3: the error of its mean is well below the
// noise, and its variance is near 0.09.
func TestFitLearns(t *testing.T) {
	data := shapeData(2000, 2, 1)
	for _, fb := range []string{DropWeights, Constant, Flag} {
		cfg := DefaultConfig()
		cfg.Epochs = 40
		cfg.Feedback = fb
		if fb == Constant {
			cfg.FeedbackValue = -3
		}

		seen := 0
		m, hist, err := Fit(context.Background(), data, cfg, func(e Epoch) { seen++ })
		require.NoError(t, err)

		assert.Equal(t, 40, seen, "%s: calls of the hook", fb)
		require.Len(t, hist, 40, "%s: epochs", fb)
		assert.Equal(t, 1, hist[0].Epoch, fb)
		assert.Equal(t, 40, hist[39].Epoch, fb)
		assert.Less(t, hist[39].Loss, hist[0].Loss, fb)

		var x []float64
		for i := -3; i <= 3; i++ {
			for j := -3; j <= 3; j++ {
				x = append(x, float64(i)/2, float64(j)/2)
			}
		}

		mu, v := m.Predict(x)

		squares := 0.0
		for i := range mu {
			d := mu[i] - math.Sin(x[2*i]) - math.Sin(x[2*i+1])
			squares += d * d
		}

		rmse := math.Sqrt(squares / float64(len(mu)))
		assert.LessOrEqual(t, rmse, 0.1, "%s: root mean square error of the mean", fb)
		assert.InDelta(t, 0.09, mean(v), 0.03, "%s: mean variance", fb)

		// The noise of y1 is independent of the noise of y2, so that y1 matters little to the answer about y2.
		again, _ := m.PredictGiven(x, mu)
		for i := range mu {
			assert.InDelta(t, mu[i], again[i], 0.3, "%s: second answer at %v", fb, x[2*i:2*i+2])
		}
	}
}

// Data in other units give the same network and predictions in these units: to the bit, as the units differ by powers
// of two.
func TestStandardise(t *testing.T) {
	data := shapeData(101, 2, 2)
	scaled := triplets.Set{N: data.N, In: 2, Out: 2}
	for _, x := range data.X {
		scaled.X = append(scaled.X, 1024*x)
	}

	for i := range data.Y1 {
		scaled.Y1 = append(scaled.Y1, data.Y1[i]/8)
		scaled.Y2 = append(scaled.Y2, data.Y2[i]/8)
	}

	a := mustFit(t, data, smallConfig())
	b := mustFit(t, scaled, smallConfig())
	assert.Equal(t, b.params, a.params, "weights differ after a change of units")

	mu, v := a.Predict(data.X)

	mu2, v2 := b.Predict(scaled.X)
	for i := range mu {
		require.Equal(t, mu[i]/8, mu2[i], "mean %d", i)
		require.Equal(t, v[i]/64, v2[i], "variance %d", i)
	}

	// Column 0 has the mean and the standard deviation of all values y1 and y2 of this column.
	var pooled []float64
	for i := 0; i < len(data.Y1); i += 2 {
		pooled = append(pooled, data.Y1[i], data.Y2[i])
	}

	m := a.OutcomeScale().Mean
	s := a.OutcomeScale().Std
	want := mean(pooled)

	ss := 0.0
	for _, y := range pooled {
		ss += (y - want) * (y - want)
	}

	assert.InDelta(t, want, m[0], 1e-12)
	assert.InDelta(t, math.Sqrt(ss/float64(len(pooled))), s[0], 1e-12)

	cfg := smallConfig()
	cfg.Standardise = false
	own := mustFit(t, data, cfg).OutcomeScale()
	assert.Equal(t, 0.0, own.Mean[0], "without standardising")
	assert.Equal(t, 1.0, own.Std[0], "without standardising")
}

// A constant input is an error of its own type, which states the column and the value.
func TestConstantInputError(t *testing.T) {
	data := shapeData(20, 2, 1)
	for i := range data.N {
		data.X[2*i+1] = 4.7
	}

	_, _, err := Fit(context.Background(), data, smallConfig(), nil)

	var constant *ConstantInputError
	require.ErrorAs(t, err, &constant)
	assert.Equal(t, 1, constant.Column)
	assert.Equal(t, 4.7, constant.Value)
}

// Data that nothing can be learned from, settings out of range and a loss that diverges are errors with the place, and
// there is no model.
func TestFitErrors(t *testing.T) {
	good := shapeData(20, 2, 1)
	edit := func(f func(*triplets.Set)) triplets.Set {
		d := triplets.Set{
			N: good.N, In: 2, Out: 1, X: slices.Clone(good.X), Y1: slices.Clone(good.Y1),
			Y2: slices.Clone(good.Y2),
		}

		f(&d)

		return d
	}

	for _, c := range []struct {
		name string
		data triplets.Set
		cfg  func(*Config)
		want string
	}{
		{"constant input", edit(func(d *triplets.Set) {
			for i := range d.N {
				d.X[2*i+1] = 4.7
			}
		}), nil, "input column 1 is constant (4.7)"},
		{"constant outcome", edit(func(d *triplets.Set) {
			for i := range d.N {
				d.Y1[i] = 2
				d.Y2[i] = 2
			}
		}), nil, "outcome column 0 is constant (2)"},
		{
			"one row",
			triplets.Set{N: 1, In: 2, Out: 1, X: []float64{1, 2}, Y1: []float64{1}, Y2: []float64{2}},
			nil,
			"at least 2 training rows, found 1",
		},
		{"no rows", triplets.Set{N: 0, In: 2, Out: 1}, nil, "at least 2 training rows, found 0"},
		{"NaN input", edit(func(d *triplets.Set) { d.X[7] = math.NaN() }), nil, "row 3, input column 1: expected a number " +
			"up to 1e+150, found NaN"},
		{"infinite outcome", edit(func(d *triplets.Set) { d.Y2[4] = math.Inf(1) }), nil, "row 4, second outcome column 0"},
		{
			"diverging", edit(func(d *triplets.Set) { d.Y1[3] = 1e30 }), func(c *Config) { c.Standardise = false },
			"in epoch 1",
		},
		{"bad setting", good, func(c *Config) { c.Pairs = "pairs" }, "pairs: expected symmetrised, swap or plain"},
	} {
		cfg := smallConfig()
		if c.cfg != nil {
			c.cfg(&cfg)
		}

		m, _, err := Fit(context.Background(), c.data, cfg, nil)
		require.ErrorContains(t, err, c.want, c.name)
		assert.Nil(t, m, c.name)
	}
}

// Slices that do not fit the shape of the set are a misuse: Fit panics.
func TestFitMisuse(t *testing.T) {
	bad := shapeData(20, 2, 1)
	bad.Y2 = bad.Y2[1:]
	assert.Panics(t, func() { _, _, _ = Fit(context.Background(), bad, smallConfig(), nil) })
}

// A training ends after the epoch in which its context is cancelled, and a cancelled context ends sampling.
func TestFitCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := smallConfig()
	cfg.Epochs = 1000000
	m, _, err := Fit(ctx, shapeData(50, 1, 1), cfg, func(e Epoch) {
		if e.Epoch == 2 {
			cancel()
		}
	})

	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "epoch 3")
	assert.Nil(t, m)

	model := mustFit(t, shapeData(50, 1, 1), smallConfig())
	_, err = model.Estimate(ctx, []float64{1}, EstimateOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

func ExampleFit() {
	data := triplets.Set{
		N: 4, In: 1, Out: 1, X: []float64{0, 1, 2, 3}, Y1: []float64{0, 1.1, 1.9, 3},
		Y2: []float64{0.1, 0.9, 2, 3.1},
	}

	cfg := DefaultConfig()
	cfg.Epochs = 300
	cfg.Dropout = 0
	cfg.Seed = 1
	model, history, err := Fit(context.Background(), data, cfg, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}

	mu, _ := model.Predict([]float64{1.5})

	est, err := model.Estimate(context.Background(), []float64{1.5}, EstimateOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}

	fmt.Printf("%d epochs, mean at 1.5: %.1f, C by %s\n", len(history), mu[0], est.Method)
	// Output: 300 epochs, mean at 1.5: 1.5, C by exact-1d
}

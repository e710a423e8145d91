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
	"os"
	"slices"
	"strings"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}

	return p
}

// Predicted are the predictions at x.
func Predicted(t *testing.T, p baseline.Predictor, x []float64) *baseline.Prediction {
	t.Helper()

	r, err := p.Predict(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}

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
	if err != nil {
		t.Fatal(err)
	}

	p := Fitted(t, m, data, 4)
	r := Predicted(t, p, x)
	t.Run("shape", func(t *testing.T) { shape(t, p, r, len(x)) })
	t.Run("deterministic", func(t *testing.T) {
		if !equalBits(r, Predicted(t, Fitted(t, m, data, 4), x)) {
			t.Error("the same data and seed give other numbers")
		}
	})

	t.Run("condition by condition", func(t *testing.T) {
		for i, at := range x {
			q := Predicted(t, p, []float64{at})
			for j := range r.Out {
				k := i*r.Out + j
				if !same(q.Mu[j], r.Mu[k]) || !same(q.Total[j], r.Total[k]) || !same(q.Epistemic[j], r.Epistemic[k]) {
					t.Errorf("at %g alone: %g, %g, %g", at, q.Mu[j], q.Total[j], q.Epistemic[j])
				}
			}
		}
	})

	t.Run("rows only", func(t *testing.T) { rowsOnly(t, m, data, x) })
	t.Run("units", func(t *testing.T) { units(t, m, data, x, r) })
	t.Run("shift", func(t *testing.T) { shift(t, m, data, x, r) })
	t.Run("couples", func(t *testing.T) { couples(t, m, x) })
	t.Run("stopped", func(t *testing.T) { stopped(t, m, data, p, x) })
	t.Run("errors", func(t *testing.T) { conformingErrors(t, m, p) })

	if after, _ := json.Marshal(data); !bytes.Equal(before, after) {
		t.Error("Fit changed the data")
	}
}

// shape looks at predictions of n conditions of Toy, and of none.
func shape(t *testing.T, p baseline.Predictor, r *baseline.Prediction, n int) {
	if r.N != n || r.Out != 2 {
		t.Fatalf("%d conditions of %d outcomes", r.N, r.Out)
	}

	for what, v := range map[string][]float64{"mean": r.Mu, "total": r.Total, "epistemic": r.Epistemic} {
		if len(v) != r.N*r.Out {
			t.Fatalf("%s has %d numbers", what, len(v))
		}

		for i, y := range v {
			if math.IsNaN(y) || math.IsInf(y, 0) || what == "total" && y <= 0 {
				t.Errorf("%s %d is %g", what, i, y)
			}
		}
	}

	if none := Predicted(t, p, nil); none.N != 0 || len(none.Mu) != 0 {
		t.Errorf("of no conditions: %+v", none)
	}
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
	if !equalBits(a, b) {
		t.Error("rows that were left out change the prediction")
	}
}

// Outcomes in units four times as small give means four times, variances sixteen
// times as large, exactly: a power of two rounds nothing.
func units(t *testing.T, m baseline.Info, data triplets.Set, x []float64, r *baseline.Prediction) {
	scaled := data
	scaled.Y1, scaled.Y2 = slices.Clone(data.Y1), slices.Clone(data.Y2)
	for k := range scaled.Y1 {
		scaled.Y1[k] *= 4
		scaled.Y2[k] *= 4
	}

	q := Predicted(t, Fitted(t, m, scaled, 4), x)
	for k := range r.Mu {
		if q.Mu[k] != 4*r.Mu[k] || q.Total[k] != 16*r.Total[k] || q.Epistemic[k] != 16*r.Epistemic[k] {
			t.Errorf("value %d: %g, %g, %g become %g, %g, %g", k, r.Mu[k], r.Total[k], r.Epistemic[k],
				q.Mu[k], q.Total[k], q.Epistemic[k])
		}
	}
}

// Inputs in units four times as small change nothing, exactly. Other origins of
// inputs and outcomes change nothing but the mean, up to the rounding of sums,
// which training and the search for hyperparameters magnify.
func shift(t *testing.T, m baseline.Info, data triplets.Set, x []float64, r *baseline.Prediction) {
	scaled := func(v []float64, factor, origin float64) []float64 {
		out := make([]float64, len(v))
		for i, y := range v {
			out[i] = factor*y + origin
		}

		return out
	}

	wide := data
	wide.X = scaled(data.X, 4, 0)
	q := Predicted(t, Fitted(t, m, wide, 4), scaled(x, 4, 0))
	if !equalBits(q, r) {
		t.Error("inputs in another unit give another prediction")
	}

	const east, up = 16, -256
	moved := data
	moved.X, moved.Y1, moved.Y2 = scaled(data.X, 1, east), scaled(data.Y1, 1, up), scaled(data.Y2, 1, up)
	q = Predicted(t, Fitted(t, m, moved, 4), scaled(x, 1, east))
	for k := range r.Mu {
		v := r.Total[k]
		if math.Abs(q.Mu[k]-up-r.Mu[k]) > 5e-3*math.Sqrt(v) || math.Abs(q.Total[k]-v) > 1e-2*v ||
			math.Abs(q.Epistemic[k]-r.Epistemic[k]) > 1e-2*v {
			t.Errorf("value %d: %g, %g, %g become %g, %g, %g", k, r.Mu[k], v, r.Epistemic[k], q.Mu[k], q.Total[k],
				q.Epistemic[k])
		}
	}
}

// A method can be fitted on couples. One whose v̂ is what the two outcomes of a
// pair share then finds everything shared, and on triplets of the same law little.
func couples(t *testing.T, m baseline.Info, x []float64) {
	data := Toy(60, 1)
	data.Couples, data.Y2 = true, data.Y1
	r := Predicted(t, Fitted(t, m, data, 4), x)
	for k, v := range r.Total {
		if !(v > 0) || math.IsInf(v, 0) || math.IsNaN(r.Mu[k]) || math.IsNaN(r.Epistemic[k]) {
			t.Errorf("value %d: %g, %g, %g", k, r.Mu[k], v, r.Epistemic[k])
		}
	}

	if !m.Shared || m.Slow && os.Getenv("DOUBLETAKE_LONG") == "" {
		return
	}

	share := func(data triplets.Set) float64 {
		s := Settings()
		s.Config.Epochs = 300

		p, err := m.New(s).Fit(t.Context(), data, 4)
		if err != nil {
			t.Fatal(err)
		}

		r, sum := Predicted(t, p, []float64{-2.5, -2, -1.5, 1.3, 1.7, 2.2, 2.7}), 0.0
		for k, v := range r.Total {
			sum += r.Epistemic[k] / v / float64(len(r.Total))
		}

		return sum
	}

	twice := Toy(300, 1)
	twice.Couples, twice.Y2 = true, twice.Y1
	if c, t3 := share(twice), share(Toy(300, 1)); c < 0.7 || t3 > 0.3 {
		t.Errorf("v̂ is %.2f of the total on couples, %.2f on triplets: expected all and little", c, t3)
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
	if _, err := fit(whole, data, 4); err != nil || whole.asked == 0 {
		t.Fatalf("asked %d times: %v", whole.asked, err)
	}

	for _, left := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
		if left >= whole.asked {
			continue
		}

		if q, err := fit(&fuse{t.Context(), left, 0}, data, 4); !errors.Is(err, context.Canceled) || q != nil {
			t.Errorf("stopped at look %d of %d: %v", left+1, whole.asked, err)
		}
	}

	asked := &fuse{t.Context(), math.MaxInt, 0}
	if _, err := p.Predict(asked, x); err != nil || asked.asked == 0 {
		t.Errorf("predict asked %d times: %v", asked.asked, err)
	}
}

func conformingErrors(t *testing.T, m baseline.Info, p baseline.Predictor) {
	done, stop := context.WithCancel(t.Context())
	stop()

	fit := m.New(Quick()).Fit
	if _, err := fit(done, Toy(50, 1), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("fit, cancelled: %v", err)
	}

	if _, err := p.Predict(done, []float64{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("predict, cancelled: %v", err)
	}

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
		if _, err := fit(t.Context(), d, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}

	defer func() {
		if r := recover(); r == nil {
			t.Error("no panic for half a row")
		}
	}()

	two := Toy(50, 1)
	two.In, two.X = 2, append(slices.Clone(two.X), Toy(50, 2).X...)
	q := Fitted(t, m, two, 1)
	_, _ = q.Predict(t.Context(), []float64{1, 2, 3})
}

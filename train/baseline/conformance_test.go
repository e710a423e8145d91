package baseline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"doubletake/train/triplets"
)

// quick are settings with which every method is fitted in a moment.
func quick() Settings {
	s := settings()
	s.Config.Epochs, s.Config.Hidden, s.Samples = 6, []int{8}, 4
	return s
}

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("DOUBLETAKE_LONG") != "" }

func fitted(t *testing.T, name string, data triplets.Set, seed uint64) Predictor {
	t.Helper()

	m, err := New(name, quick())
	if err != nil {
		t.Fatal(err)
	}

	p, err := m.Fit(ctx, data, seed)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

func predicted(t *testing.T, p Predictor, x []float64) *Prediction {
	t.Helper()

	r, err := p.Predict(ctx, x)
	if err != nil {
		t.Fatal(err)
	}

	return r
}

func equalBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// A method with networks takes the epochs after which its trainings end: with all of them
// it is the method without, with fewer another one.
func TestStopOfMethods(t *testing.T) {
	data, x := toy(60, 1), []float64{-2.5, 1.3, 2.7}
	for _, info := range methods {
		if info.Closed {
			continue
		}

		want := predicted(t, fitted(t, info.Name, data, 4), x)
		for _, stop := range []int{2, quick().Config.Epochs} {
			s := quick()
			s.Config.Stop = stop
			m, err := New(info.Name, s)
			if err != nil {
				t.Fatal(err)
			}

			p, err := m.Fit(ctx, data, 4)
			if err != nil {
				t.Errorf("%s: stopped after %d of %d epochs: %v", info.Name, stop, s.Config.Epochs, err)
				continue
			}

			if same := equalBits(predicted(t, p, x).Mu, want.Mu); same != (stop == s.Config.Epochs) {
				t.Errorf("%s: stopped after %d of %d epochs: the same as without %v", info.Name, stop, s.Config.Epochs, same)
			}
		}
	}
}

// Every method that New knows keeps the contract of Method and Predictor.
func TestConformance(t *testing.T) {
	x := []float64{-2.5, 1.3, 2.7, -9, 40}
	for _, info := range methods {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			data := toy(60, 1)
			before, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}

			p := fitted(t, info.Name, data, 4)
			r := predicted(t, p, x)
			t.Run("shape", func(t *testing.T) {
				if r.N != len(x) || r.Out != 2 {
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

				if none := predicted(t, p, nil); none.N != 0 || len(none.Mu) != 0 {
					t.Errorf("of no conditions: %+v", none)
				}
			})

			t.Run("deterministic", func(t *testing.T) {
				q := predicted(t, fitted(t, info.Name, data, 4), x)
				if !equalBits(r.Mu, q.Mu) || !equalBits(r.Total, q.Total) || !equalBits(r.Epistemic, q.Epistemic) {
					t.Error("the same data and seed give other numbers")
				}
			})

			t.Run("condition by condition", func(t *testing.T) {
				for i, at := range x {
					q := predicted(t, p, []float64{at})
					for j := range r.Out {
						k := i*r.Out + j
						if !same(q.Mu[j], r.Mu[k]) || !same(q.Total[j], r.Total[k]) || !same(q.Epistemic[j], r.Epistemic[k]) {
							t.Errorf("at %g alone: %g, %g, %g", at, q.Mu[j], q.Total[j], q.Epistemic[j])
						}
					}
				}
			})

			t.Run("rows only", func(t *testing.T) { rowsOnly(t, info.Name, data, x) })
			t.Run("units", func(t *testing.T) { units(t, info.Name, data, x, r) })
			t.Run("shift", func(t *testing.T) { shift(t, info.Name, data, x, r) })
			t.Run("couples", func(t *testing.T) { couples(t, info, x) })
			t.Run("stopped", func(t *testing.T) { stopped(t, info.Name, data, p, x) })
			t.Run("errors", func(t *testing.T) { conformingErrors(t, info.Name, p) })

			if after, _ := json.Marshal(data); !bytes.Equal(before, after) {
				t.Error("Fit changed the data")
			}
		})
	}
}

// same allows for another order of rows in a block of a network.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(math.Abs(a)+math.Abs(b)) }

// A method fitted on some rows of a set knows nothing of the others, nor of what
// they are called, how they are numbered and how the whole was scaled.
func rowsOnly(t *testing.T, name string, data triplets.Set, x []float64) {
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

	a, b := predicted(t, fitted(t, name, plain, 2), x), predicted(t, fitted(t, name, whole.Of(triplets.Train), 2), x)
	if !equalBits(a.Mu, b.Mu) || !equalBits(a.Total, b.Total) || !equalBits(a.Epistemic, b.Epistemic) {
		t.Error("rows that were left out change the prediction")
	}
}

// Outcomes in units four times as small give means four times, variances sixteen
// times as large, exactly: a power of two rounds nothing.
func units(t *testing.T, name string, data triplets.Set, x []float64, r *Prediction) {
	scaled := data
	scaled.Y1, scaled.Y2 = slices.Clone(data.Y1), slices.Clone(data.Y2)
	for k := range scaled.Y1 {
		scaled.Y1[k] *= 4
		scaled.Y2[k] *= 4
	}

	q := predicted(t, fitted(t, name, scaled, 4), x)
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
func shift(t *testing.T, name string, data triplets.Set, x []float64, r *Prediction) {
	scaled := func(v []float64, factor, origin float64) []float64 {
		out := make([]float64, len(v))
		for i, y := range v {
			out[i] = factor*y + origin
		}

		return out
	}

	wide := data
	wide.X = scaled(data.X, 4, 0)
	q := predicted(t, fitted(t, name, wide, 4), scaled(x, 4, 0))
	if !equalBits(q.Mu, r.Mu) || !equalBits(q.Total, r.Total) || !equalBits(q.Epistemic, r.Epistemic) {
		t.Error("inputs in another unit give another prediction")
	}

	const east, up = 16, -256
	moved := data
	moved.X, moved.Y1, moved.Y2 = scaled(data.X, 1, east), scaled(data.Y1, 1, up), scaled(data.Y2, 1, up)
	q = predicted(t, fitted(t, name, moved, 4), scaled(x, 1, east))
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
func couples(t *testing.T, info Info, x []float64) {
	data := toy(60, 1)
	data.Couples, data.Y2 = true, data.Y1
	r := predicted(t, fitted(t, info.Name, data, 4), x)
	for k, v := range r.Total {
		if !(v > 0) || math.IsInf(v, 0) || math.IsNaN(r.Mu[k]) || math.IsNaN(r.Epistemic[k]) {
			t.Errorf("value %d: %g, %g, %g", k, r.Mu[k], v, r.Epistemic[k])
		}
	}

	if !info.Shared || info.Slow && !long() {
		return
	}

	share := func(data triplets.Set) float64 {
		s := settings()
		s.Config.Epochs = 300
		m, err := New(info.Name, s)
		if err != nil {
			t.Fatal(err)
		}

		p, err := m.Fit(ctx, data, 4)
		if err != nil {
			t.Fatal(err)
		}

		r, sum := predicted(t, p, []float64{-2.5, -2, -1.5, 1.3, 1.7, 2.2, 2.7}), 0.0
		for k, v := range r.Total {
			sum += r.Epistemic[k] / v / float64(len(r.Total))
		}

		return sum
	}

	twice := toy(300, 1)
	twice.Couples, twice.Y2 = true, twice.Y1
	if c, t3 := share(twice), share(toy(300, 1)); c < 0.7 || t3 > 0.3 {
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
func stopped(t *testing.T, name string, data triplets.Set, p Predictor, x []float64) {
	m, err := New(name, quick())
	if err != nil {
		t.Fatal(err)
	}

	whole := &fuse{ctx, math.MaxInt, 0}
	if _, err := m.Fit(whole, data, 4); err != nil || whole.asked == 0 {
		t.Fatalf("asked %d times: %v", whole.asked, err)
	}

	for _, left := range []int{0, 1, whole.asked / 2, whole.asked - 1} {
		if left >= whole.asked {
			continue
		}

		if q, err := m.Fit(&fuse{ctx, left, 0}, data, 4); !errors.Is(err, context.Canceled) || q != nil {
			t.Errorf("stopped at look %d of %d: %v", left+1, whole.asked, err)
		}
	}

	asked := &fuse{ctx, math.MaxInt, 0}
	if _, err := p.Predict(asked, x); err != nil || asked.asked == 0 {
		t.Errorf("predict asked %d times: %v", asked.asked, err)
	}
}

func conformingErrors(t *testing.T, name string, p Predictor) {
	done, stop := context.WithCancel(ctx)
	stop()

	m, err := New(name, quick())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := m.Fit(done, toy(50, 1), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("fit, cancelled: %v", err)
	}

	if _, err := p.Predict(done, []float64{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("predict, cancelled: %v", err)
	}

	flat := toy(50, 1)
	for i := range flat.N {
		flat.Y1[2*i+1], flat.Y2[2*i+1] = 4, 4
	}

	nan, infinite := toy(50, 1), toy(50, 1)
	nan.X[7], infinite.Y2[3] = math.NaN(), math.Inf(1)
	for want, d := range map[string]triplets.Set{
		"2 training rows, found 0":     {In: 1, Out: 1},
		"2 training rows, found 1":     toy(1, 1),
		"row 7, input column 0":        nan,
		"row 1, second outcome column": infinite,
		"outcome column 1 is constant": flat,
	} {
		if _, err := m.Fit(ctx, d, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}

	defer func() {
		if r := recover(); r == nil {
			t.Error("no panic for half a row")
		}
	}()

	two := toy(50, 1)
	two.In, two.X = 2, append(slices.Clone(two.X), toy(50, 2).X...)
	q := fitted(t, name, two, 1)
	_, _ = q.Predict(ctx, []float64{1, 2, 3})
}

// Every method is described, and the page about the method explains it and names its cost.
func TestMethodsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/method.md")
	if err != nil {
		t.Fatal(err)
	}

	_, costs, _ := bytes.Cut(page, []byte("## What the methods claim and cost"))
	costs, _, _ = bytes.Cut(costs, []byte("\n## "))
	for i, m := range methods {
		word, _, _ := strings.Cut(m.Name, "-kronecker") // costs what laplace does
		if i > 0 && !bytes.Contains(costs, fmt.Appendf(nil, "`%s`", word)) {
			t.Errorf("docs/method.md does not say what %q costs", m.Name)
		}

		if m.Claim == "" || !bytes.Contains(page, fmt.Appendf(nil, "\n- **%s**", m.Name)) {
			t.Errorf("docs/method.md does not explain %q", m.Name)
		}

		if d, ok := Describe(m.Name); !ok || d.Claim != m.Claim || slices.Contains(Compared(), m.Name) != (i > 0) {
			t.Errorf("%s: %+v", m.Name, d)
		}
	}

	if _, ok := Describe("forest"); ok {
		t.Error("an unknown method is described")
	}
}

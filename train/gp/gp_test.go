package gp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"doubletake/internal/lists"
	"doubletake/internal/must"
	"doubletake/train/triplets"
)

type golden struct {
	Inputs      int
	Group       []int
	GroupInputs []int `json:"group_inputs"`
	X, Y1, Y2   []float64
	Z           []float64
	Noise       []float64
	NoiseAt     []float64 `json:"noise_at"`
	Cases       []struct {
		Theta, Gradient, Mean, Variance []float64
		LeftMean                        []float64 `json:"left_mean"`
		LeftVariance                    []float64 `json:"left_variance"`
		Value                           float64
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()

	b := must.Read(t, "testdata/additive.json")

	var g golden
	must.Do(t, json.Unmarshal(b, &g))

	return g
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()

	must.Be(t, len(got), len(want), "%s: numbers", what)

	for i := range got {
		must.Near(t, got[i], want[i], tol*(1+math.Abs(want[i])), "%s[%d]", what, i)
	}
}

// raw builds a model on data that are taken as standardised, as the witness does.
func (g golden) raw(theta []float64) *Model {
	n := len(g.Group)
	m := &Model{Data: Data{Inputs: g.Inputs, Outcomes: 1, X: g.X}, n: n, group: g.Group, workers: 2}
	for j := range g.Inputs {
		m.Columns = append(m.Columns, j)
		m.InputMean, m.InputStd = append(m.InputMean, 0), append(m.InputStd, 1)
		if !slices.Contains(g.GroupInputs, j) {
			m.Others = append(m.Others, j)
		}
	}

	m.OutputMean, m.OutputStd = []float64{0}, []float64{1}

	u := make([]float64, n)
	for i := range n {
		d := g.Y1[i] - g.Y2[i]
		u[i] = d * d / 2
		m.Y = append(m.Y, (g.Y1[i]+g.Y2[i])/2)
		m.condition = append(m.condition, i)
	}

	m.Noise = []Noise{fitNoise(g.X, g.Inputs, u)}
	for i := range n {
		m.Spread = append(m.Spread, m.Noise[0].at(g.X[i*g.Inputs:(i+1)*g.Inputs])/2)
	}

	m.Hyper = []Hyper{newShape(g.X, g.Inputs, m.Others).theta.hyper(theta)}

	return m
}

// Witness: the prototype, by torch's automatic differentiation.
func TestAgainstPrototype(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		m := g.raw(c.Theta)
		e := &evidence{shape: newShape(g.X, g.Inputs, m.Others), y: m.Y, noise: m.Spread}
		grad := make([]float64, len(c.Theta))
		v := e.value(c.Theta, grad)
		near(t, "likelihood", []float64{v}, []float64{c.Value}, 1e-6)
		near(t, "gradient", grad, c.Gradient, 1e-6)

		if w := e.value(c.Theta, nil); math.Abs(w-v) > 1e-12*math.Abs(v) {
			t.Errorf("value %v without gradient, %v with it", w, v)
		}

		m.factorise(context.Background())

		mu, claim, noise, err := m.Predict(context.Background(), g.Z)
		must.Do(t, err)

		near(t, "mean", mu, c.Mean, 1e-6)
		near(t, "variance", claim, c.Variance, 1e-6)
		near(t, "noise", noise, g.NoiseAt, 1e-6)

		mu, claim, noise, err = m.LeaveOut(context.Background(), nil)
		must.Do(t, err)

		near(t, "left-out mean", mu, c.LeftMean, 1e-6)
		near(t, "left-out variance", claim, c.LeftVariance, 1e-6)
		near(t, "training noise", noise, g.Noise, 1e-6)
	}
}

// rotor simulates pairs: four groups (runs) in input 0, of which input 2 is a function,
// at repeated conditions in input 1; input 3 is constant.
func rotor(seed uint64, out int) triplets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))

	d := triplets.Set{In: 4, Out: out}
	for g := range 4 {
		for k := range 14 {
			for range 1 + k%2 {
				x := []float64{float64(2 + g), float64(k) / 2, math.Log(float64(2+g)) + float64(k)/9, 7}
				d.X, d.Run, d.N = append(d.X, x...), append(d.Run, g), d.N+1
				for j := range out {
					y := float64(j+1)*math.Sin(x[1]+float64(j)) + 0.4*x[0] + 0.1*x[0]*x[1]
					sd := 0.1 + 0.03*x[1]
					d.Y1, d.Y2 = append(d.Y1, y+sd*rng.NormFloat64()), append(d.Y2, y+sd*rng.NormFloat64())
				}
			}
		}
	}

	return d
}

func mustFit(t testing.TB, d triplets.Set, o Options) *Model {
	t.Helper()
	o.Group = d.Run
	m := must.Get(Fit(context.Background(), d, o))(t)

	return m
}

// Witness: the process conditioned anew without the group, with the same
// hyperparameters, scales and noise.
func TestLeaveOutAgainstRetraining(t *testing.T) {
	d := rotor(1, 2)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: 2})
	must.Never(t, m.n != 4*14 || len(m.Columns) != 3 || !slices.Equal(m.Others, []int{1}),
		"%d conditions, columns %v, others %v", m.n, m.Columns, m.Others)

	mu, claim, noise, err := m.LeaveOut(context.Background(), nil)
	must.Do(t, err)

	for g := range 4 {
		r := *m
		r.n, r.X, r.Y, r.Spread, r.process = 0, nil, nil, nil, nil

		var keep, rows []int
		for k, h := range m.group {
			if h != g {
				keep = append(keep, k)
			}
		}

		r.n = len(keep)
		r.X, r.Y, r.Spread = lists.Rows(m.X, 3, keep), lists.Rows(m.Y, 2, keep), lists.Rows(m.Spread, 2, keep)
		r.factorise(context.Background())

		for i, h := range d.Run {
			if h == g {
				rows = append(rows, i)
			}
		}

		a, b, c, err := r.Predict(context.Background(), lists.Rows(d.X, 4, rows))
		must.Do(t, err)

		near(t, "mean", lists.Rows(mu, 2, rows), a, 1e-8)
		near(t, "variance", lists.Rows(claim, 2, rows), b, 1e-8)
		near(t, "noise", lists.Rows(noise, 2, rows), c, 1e-12)
	}
}

// An input that is constant in the training is dropped: a test condition with
// another value of it is predicted as if it had the same.
// Three pairs of weight one half count three measurements, as one pair of weight 3/2 does.
func TestWeightsCountRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))

	once := triplets.Set{N: 30, In: 1, Out: 1}
	for range once.N {
		x := 6 * r.Float64()
		once.X = append(once.X, x)
		once.Y1 = append(once.Y1, math.Sin(x)+0.2*r.NormFloat64())
		once.Y2 = append(once.Y2, math.Sin(x)+0.2*r.NormFloat64())
	}

	thrice := triplets.Set{N: 90, In: 1, Out: 1}
	for range 3 {
		thrice.X = append(thrice.X, once.X...)
		thrice.Y1, thrice.Y2 = append(thrice.Y1, once.Y1...), append(thrice.Y2, once.Y2...)
	}

	x := []float64{1, 2.2, 9}
	claims := func(d triplets.Set, weight float64) []float64 {
		d.Weight = slices.Repeat([]float64{weight}, d.N)
		m := must.Get(Fit(context.Background(), d, Options{}))(t)

		_, claim, _, err := m.Predict(context.Background(), x)
		must.Do(t, err)

		return claim
	}

	a, b, c := claims(once, 1.5), claims(thrice, 0.5), claims(thrice, 1)
	for i := range x {
		must.Not(t, math.Abs(a[i]/b[i]-1) > 1e-6 || math.Abs(c[i]/b[i]-1) < 0.01,
			"at %g: %v of one pair that counts three, %v of three; %v of nine", x[i], a[i], b[i], c[i])
	}
}

func TestConstantInputIsDropped(t *testing.T) {
	m := mustFit(t, rotor(2, 1), Options{GroupInputs: []int{0, 2}})
	a, va, _, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 7})
	must.Do(t, err)

	b, vb, _, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 9000})
	must.Do(t, err)
	must.Not(t, a[0] != b[0] || va[0] != vb[0], "%v ± %v and %v ± %v", a, va, b, vb)
}

// The same bytes for any number of workers and processors, and after storing.
func TestDeterministicAndStored(t *testing.T) {
	d := rotor(3, 3)
	ctx := context.Background()
	query := []float64{2.5, 3.3, 1.1, 7, 9, -2, 2.4, 7}
	var first []byte

	var want []float64
	for _, w := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(w)
		m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: w, HyperRows: 40})
		mu, claim, noise, err := m.Predict(ctx, query)
		must.Do(t, err)

		lmu, lclaim, _, err := m.LeaveOut(ctx, nil)
		must.Do(t, err)

		runtime.GOMAXPROCS(old)

		b := must.Get(json.Marshal(m))(t)

		all := slices.Concat(mu, claim, noise, lmu, lclaim)
		if first == nil {
			first, want = b, all
		}

		must.Not(t, !bytes.Equal(b, first) || !slices.Equal(all, want), "%d workers give another result", w)

		var back Model
		must.Do(t, json.Unmarshal(b, &back))

		bmu, bclaim, bnoise, err := back.Predict(ctx, query)
		must.Do(t, err)
		must.Not(t, !slices.Equal(slices.Concat(bmu, bclaim, bnoise), all[:len(all)-2*len(lmu)]),
			"the stored model predicts something else")
		must.Not(t, back.Conditions() != m.Conditions() || !slices.Equal(back.Hyper[0].Length, m.Hyper[0].Length),
			"the stored model is another one")
	}
}

// The search ends where the objective is not above that of 200 random
// hyperparameters, and well below that of its start.
func TestHyperparametersAreAMinimum(t *testing.T) {
	d := rotor(4, 1)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}})
	s := newShape(m.X, len(m.Columns), m.Others)
	e := &evidence{shape: s, y: m.Y, noise: m.Spread}
	mean, std, start := s.theta.prior()
	best := m.Hyper[0].Objective

	starts := s.theta.starts()
	for _, v := range starts {
		h, err := e.climb(context.Background(), v)
		must.Not(t, err != nil || h.Objective < best, "objective %v, from %v %v, %v", best, v, h.Objective, err)
	}

	must.Equal(t, len(starts), 3, "starts")

	if f := e.value(start, nil); best > f-5 {
		t.Errorf("objective %v, at the start %v", best, f)
	}

	rng := rand.New(rand.NewPCG(5, 1))

	v := make([]float64, len(mean))
	for range 200 {
		for i := range v {
			v[i] = mean[i] + std[i]*rng.NormFloat64()
		}

		if f := e.value(v, nil); f < best {
			t.Errorf("objective %v, but %v at %v", best, f, v)
		}
	}
}

func TestRefusals(t *testing.T) {
	d := rotor(1, 1)
	ctx := context.Background()
	bad := d
	bad.X = slices.Clone(d.X)
	bad.X[5] = math.NaN()
	flat := d
	flat.Y1, flat.Y2 = make([]float64, d.N), make([]float64, d.N)
	for _, c := range []struct {
		d     triplets.Set
		o     Options
		words string
	}{
		{bad, Options{}, "NaN"},
		{flat, Options{}, "outcome column 0 is constant (0)"},
		{d.Select([]int{0, 0}), Options{}, "no input varies over the 2 training rows"},
		{d, Options{MaxRows: 3, Group: d.Run}, "4 groups are more than 3"},
	} {
		_, err := Fit(ctx, c.d, c.o)
		must.Refuse(t, err, c.words)
	}

	_, err := Fit(ctx, d, Options{MaxRows: 3, Group: d.Run})

	var many *TooManyGroupsError
	must.Not(t, !errors.As(err, &many) || many.Groups != 4, "%v", err)

	stopped, cancel := context.WithCancel(ctx)
	cancel()

	if _, err := Fit(stopped, d, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}

	if _, _, _, err := mustFit(t, d, Options{}).Predict(stopped, d.X); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// One input that belongs to the group leaves no second kernel.
func TestOneInput(t *testing.T) {
	d := triplets.Set{N: 12, In: 1, Out: 1}

	rng := rand.New(rand.NewPCG(1, 9))
	for i := range d.N {
		x := float64(i) / 2
		d.X, d.Run = append(d.X, x), append(d.Run, i/3)
		d.Y1, d.Y2 = append(d.Y1, math.Cos(x)+0.05*rng.NormFloat64()), append(d.Y2, math.Cos(x)+0.05*rng.NormFloat64())
	}

	m := mustFit(t, d, Options{GroupInputs: []int{0}})
	if h := m.Hyper[0]; h.Shared != 0 || len(h.Lengths) != 0 {
		t.Errorf("%+v", h)
	}

	mu, claim, noise, err := m.Predict(context.Background(), []float64{1.25})
	must.Do(t, err)
	must.Not(t, math.Abs(mu[0]-math.Cos(1.25)) > 4*math.Sqrt(claim[0]+noise[0]) || noise[0] > 0.02, "%v ± %v, noise %v",
		mu, claim, noise)
}

func TestDamagedModelIsRefused(t *testing.T) {
	b := must.Get(json.Marshal(mustFit(t, rotor(1, 1), Options{HyperRows: 20})))(t)

	good := string(b)
	for old, with := range map[string]string{
		`"version":1`: `"version":2`, `gp","version":1`: `gp","version":3`,
		`"columns":[0,`: `"columns":[4,`, `"format":`: `format:`, `"x":[`: `"x":[1,`,
		`"length":[`: `"length":[1,`, `"coefficients":[`: `"coefficients":[1,`, `"outcome_std":[`: `"outcome_std":[-`,
		`"others":[`: `"others":[7,`,
	} {
		bad := strings.Replace(good, old, with, 1)
		must.Not(t, bad == good, "%s is not in %.300s", old, good)

		if err := json.Unmarshal([]byte(bad), new(Model)); err == nil {
			t.Errorf("with %s: no error", with)
		}
	}
}

// Witness: gonum, whose assembly is that of amd64. Every element is the same to the bit.
func TestCholeskyAndInvert(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum adds in another order here")
	}

	for _, n := range []int{1, 63, 64, 65, 127, 160, 320, 400} {
		rng := rand.New(rand.NewPCG(7, uint64(n)))
		a := make([]float64, n*n)
		for i := range n {
			for k := range i {
				a[i*n+k] = rng.NormFloat64() / math.Sqrt(float64(n))
			}

			a[i*n+i] = 3 + rng.Float64()
		}

		want := slices.Clone(a)
		compare := func(what string) {
			for i := range n {
				must.Never(t, !slices.Equal(a[i*n:i*n+i+1], want[i*n:i*n+i+1]), "%s of %d rows: another row %d", what, n, i)
			}
		}

		lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: want, Uplo: blas.Lower})
		must.Do(t, cholesky(n, a))

		compare("factor")
		lapack64.Potri(lower(n, want))
		invert(n, a, newRoom(n))
		compare("inverse")
	}
}

// One evaluation of the objective and its gradient, as many conditions and inputs
// as a rotor campaign has by default.
func BenchmarkEvidence(b *testing.B) {
	const n, in = 320, 5
	rng := rand.New(rand.NewPCG(1, 1))

	x, y, v := make([]float64, n*in), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}

	for i := range y {
		y[i], v[i] = rng.NormFloat64(), 0.1
	}

	e := &evidence{shape: newShape(x, in, []int{1, 2}), y: y, noise: v}
	_, _, start := e.theta.prior()
	grad := make([]float64, len(start))
	for b.Loop() {
		e.value(start, grad)
	}
}

// L·Lᵀ·weights are the means of the conditions. Witness: the definition of both.
func TestFactor(t *testing.T) {
	m := mustFit(t, rotor(3, 3), Options{GroupInputs: []int{0, 2}, HyperRows: 40})
	for j := range m.Outcomes {
		w, l := m.Factor(j)
		n := len(w)
		half, got, want := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			for k := range i + 1 {
				half[k] += l[i*n+k] * w[i]
			}
		}

		for i := range n {
			want[i] = m.Y[i*m.Outcomes+j]
			for k := range i + 1 {
				got[i] += l[i*n+k] * half[k]
			}
		}

		near(t, "means of the conditions", got, want, 1e-9)
	}
}

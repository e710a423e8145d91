package gp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
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

	b := testfile.Read(t, "testdata/additive.json")

	var g golden
	require.NoError(t, json.Unmarshal(b, &g))

	return g
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()

	require.Len(t, got, len(want), "%s: numbers", what)

	for i := range got {
		assert.InDelta(t, want[i], got[i], tol*(1+math.Abs(want[i])), "%s[%d]", what, i)
	}
}

// raw builds a model on data that are taken as standardised, as the witness does.
func (g golden) raw(theta []float64) *Model {
	n := len(g.Group)
	m := &Model{Data: Data{Inputs: g.Inputs, Outcomes: 1, X: g.X}, n: n, group: g.Group, workers: 2}
	for j := range g.Inputs {
		m.Columns = append(m.Columns, j)
		m.InputMean = append(m.InputMean, 0)
		m.InputStd = append(m.InputStd, 1)
		if !slices.Contains(g.GroupInputs, j) {
			m.Others = append(m.Others, j)
		}
	}

	m.OutputMean = []float64{0}
	m.OutputStd = []float64{1}

	u := make([]float64, n)
	for i := range n {
		d := g.Y1[i] - g.Y2[i]
		u[i] = d * d / 2
		m.Y = append(m.Y, (g.Y1[i]+g.Y2[i])/2)
		m.condition = append(m.condition, i)
	}

	m.Noise = []Noise{fitNoise(g.X, g.Inputs, u)}
	for i := range n {
		m.Spread = append(m.Spread, m.Noise[0].variance(g.X[i*g.Inputs:(i+1)*g.Inputs])/2)
	}

	m.Hyper = []Hyper{newSearchData(g.X, g.Inputs, m.Others).layout.hyper(theta)}

	return m
}

// Witness: the prototype, by torch's automatic differentiation.
func TestAgainstPrototype(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		m := g.raw(c.Theta)
		e := &evidence{searchData: newSearchData(g.X, g.Inputs, m.Others), y: m.Y, noise: m.Spread}
		grad := make([]float64, len(c.Theta))
		v := e.value(c.Theta, grad)
		near(t, "likelihood", []float64{v}, []float64{c.Value}, 1e-6)
		near(t, "gradient", grad, c.Gradient, 1e-6)

		if w := e.value(c.Theta, nil); math.Abs(w-v) > 1e-12*math.Abs(v) {
			t.Errorf("value %v without gradient, %v with it", w, v)
		}

		require.NoError(t, m.factorise(context.Background()))

		p, err := m.Predict(context.Background(), g.Z)
		require.NoError(t, err)

		near(t, "mean", p.Mu, c.Mean, 1e-6)
		near(t, "variance", p.Claim, c.Variance, 1e-6)
		near(t, "noise", p.Noise, g.NoiseAt, 1e-6)

		p, err = m.LeaveOut(context.Background(), nil)
		require.NoError(t, err)

		near(t, "left-out mean", p.Mu, c.LeftMean, 1e-6)
		near(t, "left-out variance", p.Claim, c.LeftVariance, 1e-6)
		near(t, "training noise", p.Noise, g.Noise, 1e-6)
	}
}

// rotor simulates pairs of four groups. Input 0 is the number of the group, input 2 is a function of the group and of
// input 1, whose conditions are repeated, and input 3 is constant.
func rotor(seed uint64, out int) triplets.Set {
	rng := rand.New(rand.NewPCG(seed, 1))

	d := triplets.Set{In: 4, Out: out}
	for g := range 4 {
		for k := range 14 {
			for range 1 + k%2 {
				x := []float64{float64(2 + g), float64(k) / 2, math.Log(float64(2+g)) + float64(k)/9, 7}
				d.X = append(d.X, x...)
				d.Run = append(d.Run, g)
				d.N++
				for j := range out {
					y := float64(j+1)*math.Sin(x[1]+float64(j)) + 0.4*x[0] + 0.1*x[0]*x[1]
					sd := 0.1 + 0.03*x[1]
					d.Y1 = append(d.Y1, y+sd*rng.NormFloat64())
					d.Y2 = append(d.Y2, y+sd*rng.NormFloat64())
				}
			}
		}
	}

	return d
}

func mustFit(t testing.TB, d triplets.Set, o Options) *Model {
	t.Helper()
	o.Group = d.Run
	m, err := Fit(context.Background(), d, o)
	require.NoError(t, err)

	return m
}

// Witness: the process conditioned anew without the group, with the same
// hyperparameters, scales and noise.
func TestLeaveOutAgainstRetraining(t *testing.T) {
	d := rotor(1, 2)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: 2})
	require.Equal(t, 4*14, m.n, "%d conditions, columns %v, others %v", m.n, m.Columns, m.Others)
	require.Len(t, m.Columns, 3, "%d conditions, columns %v, others %v", m.n, m.Columns, m.Others)
	require.Equal(t, []int{1}, m.Others, "%d conditions, columns %v, others %v", m.n, m.Columns, m.Others)

	p, err := m.LeaveOut(context.Background(), nil)
	require.NoError(t, err)

	for g := range 4 {
		r := *m
		r.n = 0
		r.X = nil
		r.Y = nil
		r.Spread = nil
		r.process = nil

		var keep, rows []int
		for k, h := range m.group {
			if h != g {
				keep = append(keep, k)
			}
		}

		r.n = len(keep)
		r.X, r.Y, r.Spread = lists.Rows(m.X, 3, keep), lists.Rows(m.Y, 2, keep), lists.Rows(m.Spread, 2, keep)
		require.NoError(t, r.factorise(context.Background()))

		for i, h := range d.Run {
			if h == g {
				rows = append(rows, i)
			}
		}

		got, err := r.Predict(context.Background(), lists.Rows(d.X, 4, rows))
		require.NoError(t, err)

		near(t, "mean", lists.Rows(p.Mu, 2, rows), got.Mu, 1e-8)
		near(t, "variance", lists.Rows(p.Claim, 2, rows), got.Claim, 1e-8)
		near(t, "noise", lists.Rows(p.Noise, 2, rows), got.Noise, 1e-12)
	}
}

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
		thrice.Y1 = append(thrice.Y1, once.Y1...)
		thrice.Y2 = append(thrice.Y2, once.Y2...)
	}

	x := []float64{1, 2.2, 9}
	claims := func(d triplets.Set, weight float64) []float64 {
		d.Weight = slices.Repeat([]float64{weight}, d.N)
		m, err := Fit(context.Background(), d, Options{})
		require.NoError(t, err)

		p, err := m.Predict(context.Background(), x)
		require.NoError(t, err)

		return p.Claim
	}

	a := claims(once, 1.5)
	b := claims(thrice, 0.5)
	c := claims(thrice, 1)
	for i := range x {
		require.InDelta(t, 1, a[i]/b[i], 1e-6,
			"at %g: %v of one pair that counts three, %v of three; %v of nine", x[i], a[i], b[i], c[i])
		assert.GreaterOrEqual(t, math.Abs(c[i]/b[i]-1), 0.01,
			"at %g: %v of one pair that counts three, %v of three; %v of nine", x[i], a[i], b[i], c[i])
	}
}

// An input that is constant in the training data is dropped: its value at a test condition does not matter.
func TestConstantInputIsDropped(t *testing.T) {
	m := mustFit(t, rotor(2, 1), Options{GroupInputs: []int{0, 2}})
	first, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 7})
	require.NoError(t, err)

	second, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 9000})
	require.NoError(t, err)
	require.Equal(t, second.Mu[0], first.Mu[0], "%+v and %+v", first, second)
	assert.Equal(t, second.Claim[0], first.Claim[0], "%+v and %+v", first, second)
}

// The result has the same bytes for any number of workers and processors, and the same predictions after storing.
func TestDeterministicAndStored(t *testing.T) {
	d := rotor(3, 3)
	ctx := context.Background()
	query := []float64{2.5, 3.3, 1.1, 7, 9, -2, 2.4, 7}
	var first []byte

	var want []float64
	for _, w := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(w)
		m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: w, HyperRows: 40})
		p, err := m.Predict(ctx, query)
		require.NoError(t, err)

		left, err := m.LeaveOut(ctx, nil)
		require.NoError(t, err)

		runtime.GOMAXPROCS(old)

		b, err := json.Marshal(m)
		require.NoError(t, err)

		all := slices.Concat(p.Mu, p.Claim, p.Noise, left.Mu, left.Claim)
		if first == nil {
			first = b
			want = all
		}

		require.Equal(t, first, b, "%d workers give another result", w)
		assert.Equal(t, want, all, "%d workers give another result", w)

		var back Model
		require.NoError(t, json.Unmarshal(b, &back))

		again, err := back.Predict(ctx, query)
		require.NoError(t, err)
		assert.Equal(t, all[:len(all)-2*len(left.Mu)], slices.Concat(again.Mu, again.Claim, again.Noise),
			"the stored model predicts something else")
		require.Equal(t, m.Conditions(), back.Conditions(), "the stored model is another one")
		assert.Equal(t, m.Hyper[0].Length, back.Hyper[0].Length, "the stored model is another one")
	}
}

// The search ends at an objective that is not above the objective of any of 200 random hyperparameters, and well below
// the objective of its start.
func TestHyperparametersAreAMinimum(t *testing.T) {
	d := rotor(4, 1)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}})
	s := newSearchData(m.X, len(m.Columns), m.Others)
	e := &evidence{searchData: s, y: m.Y, noise: m.Spread}
	prior := s.layout.prior()
	best := m.Hyper[0].Objective

	starts := s.layout.starts()
	for _, v := range starts {
		h, err := e.climb(context.Background(), v)
		require.NoError(t, err, "objective %v, from %v %v, %v", best, v, h.Objective, err)
		assert.GreaterOrEqual(t, h.Objective, best, "objective %v, from %v %v, %v", best, v, h.Objective, err)
	}

	assert.Len(t, starts, 3, "starts")

	if f := e.value(starts[0], nil); best > f-5 {
		t.Errorf("objective %v, at the start %v", best, f)
	}

	rng := rand.New(rand.NewPCG(5, 1))

	v := make([]float64, len(prior))
	for range 200 {
		for i := range v {
			v[i] = prior[i].mean + prior[i].std*rng.NormFloat64()
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
	flat.Y1 = make([]float64, d.N)
	flat.Y2 = make([]float64, d.N)
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
		if c.words == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.words)
		}
	}

	_, err := Fit(ctx, d, Options{MaxRows: 3, Group: d.Run})

	var many *TooManyGroupsError
	require.ErrorAs(t, err, &many, "%v", err)
	assert.Equal(t, 4, many.Groups, "%v", err)

	stopped, cancel := context.WithCancel(ctx)
	cancel()

	if _, err := Fit(stopped, d, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}

	if _, err := mustFit(t, d, Options{}).Predict(stopped, d.X); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// One input that belongs to the group leaves no second kernel.
func TestOneInput(t *testing.T) {
	d := triplets.Set{N: 12, In: 1, Out: 1}

	rng := rand.New(rand.NewPCG(1, 9))
	for i := range d.N {
		x := float64(i) / 2
		d.X = append(d.X, x)
		d.Run = append(d.Run, i/3)
		d.Y1 = append(d.Y1, math.Cos(x)+0.05*rng.NormFloat64())
		d.Y2 = append(d.Y2, math.Cos(x)+0.05*rng.NormFloat64())
	}

	m := mustFit(t, d, Options{GroupInputs: []int{0}})
	if h := m.Hyper[0]; h.Shared != 0 || len(h.Lengths) != 0 {
		t.Errorf("%+v", h)
	}

	p, err := m.Predict(context.Background(), []float64{1.25})
	require.NoError(t, err)
	require.InDelta(t, math.Cos(1.25), p.Mu[0], 4*math.Sqrt(p.Claim[0]+p.Noise[0]), "%+v", p)
	assert.LessOrEqual(t, p.Noise[0], 0.02, "%+v", p)
}

func TestDamagedModelIsRefused(t *testing.T) {
	b, err := json.Marshal(mustFit(t, rotor(1, 1), Options{HyperRows: 20}))
	require.NoError(t, err)

	good := string(b)
	for old, with := range map[string]string{
		`"version":1`: `"version":2`, `gp","version":1`: `gp","version":3`,
		`"columns":[0,`: `"columns":[4,`, `"format":`: `format:`, `"x":[`: `"x":[1,`,
		`"length":[`: `"length":[1,`, `"coefficients":[`: `"coefficients":[1,`, `"outcome_std":[`: `"outcome_std":[-`,
		`"others":[`: `"others":[7,`,
	} {
		bad := strings.Replace(good, old, with, 1)
		assert.NotEqual(t, good, bad, "%s is not in %.300s", old, good)

		if err := json.Unmarshal([]byte(bad), new(Model)); err == nil {
			t.Errorf("with %s: no error", with)
		}
	}
}

// Witness: gonum on amd64, whose assembly adds in this order. Every element is the same to the bit.
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
				if !slices.Equal(a[i*n:i*n+i+1], want[i*n:i*n+i+1]) {
					t.Fatalf("%s of %d rows: another row %d", what, n, i)
				}
			}
		}

		lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: want, Uplo: blas.Lower})
		require.NoError(t, cholesky(n, a))

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

	x := make([]float64, n*in)
	y := make([]float64, n)
	v := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}

	for i := range y {
		y[i] = rng.NormFloat64()
		v[i] = 0.1
	}

	e := &evidence{searchData: newSearchData(x, in, []int{1, 2}), y: y, noise: v}
	start := e.layout.starts()[0]
	grad := make([]float64, len(start))
	for b.Loop() {
		e.value(start, grad)
	}
}

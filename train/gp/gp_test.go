package gp

import (
	"context"
	"encoding/json"
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

// golden is the content of testdata/additive.json: data, and for some hyperparameters the results of the prototype.
type golden struct {
	Inputs      int
	Group       []int
	GroupInputs []int `json:"group_inputs"`
	X, Y1, Y2   []float64
	Z           []float64 // conditions that are predicted
	Noise       []float64 // by row of X
	NoiseAt     []float64 `json:"noise_at"` // by condition of Z
	Cases       []struct {
		Theta          []float64 // logarithms of the hyperparameters
		Value          float64   // objective
		Gradient       []float64
		Mean, Variance []float64 // at Z
		LeftMean       []float64 `json:"left_mean"`     // of each row without its group
		LeftVariance   []float64 `json:"left_variance"` // of each row without its group
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()

	b := testfile.Read(t, "testdata/additive.json")

	var g golden
	require.NoError(t, json.Unmarshal(b, &g))

	return g
}

// near checks that numbers agree with the wanted ones to a tolerance, which is absolute for small numbers and
// relative for large ones.
func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()

	require.Len(t, got, len(want), "%s: numbers", what)

	for i := range got {
		assert.InDelta(t, want[i], got[i], tolerance*(1+math.Abs(want[i])), "%s[%d]", what, i)
	}
}

// model builds a model on data that are taken as standardised, as the prototype takes them.
func (g golden) model(theta []float64) *Model {
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

// Witness: the prototype, whose gradient is by torch's automatic differentiation (testdata/make.py).
func TestAgainstPrototype(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		m := g.model(c.Theta)
		e := &evidence{searchData: newSearchData(g.X, g.Inputs, m.Others), y: m.Y, noise: m.Spread}
		grad := make([]float64, len(c.Theta))
		v := e.value(c.Theta, grad)
		near(t, "likelihood", []float64{v}, []float64{c.Value}, 1e-6)
		near(t, "gradient", grad, c.Gradient, 1e-6)

		assert.InEpsilon(t, v, e.value(c.Theta, nil), 1e-12, "objective without its gradient")

		require.NoError(t, m.factorise(context.Background(), keptRead))

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
	require.Equal(t, 4*14, m.n, "conditions")
	require.Equal(t, []int{0, 1, 2}, m.Columns, "inputs that vary")
	require.Equal(t, []int{1}, m.Others, "inputs that do not depend on the group")

	p, err := m.LeaveOut(context.Background(), nil)
	require.NoError(t, err)

	for _, rows := range lists.Alike(d.Run) {
		want, err := withoutConditions(t, m, rows).Predict(context.Background(), lists.Rows(d.X, 4, rows))
		require.NoError(t, err)

		near(t, "mean", lists.Rows(p.Mu, 2, rows), want.Mu, 1e-8)
		near(t, "variance", lists.Rows(p.Claim, 2, rows), want.Claim, 1e-8)
		near(t, "noise", lists.Rows(p.Noise, 2, rows), want.Noise, 1e-12)
	}
}

// Three repeats make three pairs of weight ½. Expected: together they count as one pair of weight 3/2. With weights
// of 1 they would count more, and the claims differ.
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

	onePair := claims(once, 1.5)
	repeats := claims(thrice, 0.5)
	threePairs := claims(thrice, 1)
	for i := range x {
		assert.InEpsilon(t, onePair[i], repeats[i], 1e-6, "claim at %g", x[i])
		assert.Greater(t, math.Abs(threePairs[i]/repeats[i]-1), 0.01, "difference of the claims at %g", x[i])
	}
}

// An input that is constant in the training data is dropped: its value at a test condition does not matter.
func TestConstantInputIsDropped(t *testing.T) {
	m := mustFit(t, rotor(2, 1), Options{GroupInputs: []int{0, 2}})
	first, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 7})
	require.NoError(t, err)

	second, err := m.Predict(context.Background(), []float64{3, 1, 1.2, 9000})
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

// The result has the same bytes for any number of workers and processors, and the same predictions after storing.
func TestDeterministicAndStored(t *testing.T) {
	d := rotor(3, 3)
	ctx := context.Background()
	query := []float64{2.5, 3.3, 1.1, 7, 9, -2, 2.4, 7}
	var first []byte   // stored form by one worker
	var want []float64 // predictions by one worker
	for _, workers := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(workers)
		m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: workers, HyperRows: 40})
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

		require.Equal(t, string(first), string(b), "stored form by %d workers", workers)
		require.Equal(t, want, all, "predictions by %d workers", workers)

		var back Model
		require.NoError(t, json.Unmarshal(b, &back))

		again, err := back.Predict(ctx, query)
		require.NoError(t, err)
		assert.Equal(t, p, again, "predictions of the stored model")
		assert.Equal(t, m.Conditions(), back.Conditions(), "conditions of the stored model")
		assert.Equal(t, m.Hyper, back.Hyper, "hyperparameters of the stored model")
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
		require.NoError(t, err)
		assert.GreaterOrEqual(t, h.Objective, best, "objective of the search from %v", v)
	}

	assert.Len(t, starts, 3, "starts")
	assert.Greater(t, e.value(starts[0], nil), best+5, "objective at the first start")

	rng := rand.New(rand.NewPCG(5, 1))
	v := make([]float64, len(prior))
	for range 200 {
		for i := range v {
			v[i] = prior[i].mean + prior[i].std*rng.NormFloat64()
		}

		assert.GreaterOrEqual(t, e.value(v, nil), best, "objective at %v", v)
	}
}

// Expected: errors that say what is wrong with the data.
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
		assert.ErrorContains(t, err, c.words)
	}

	_, err := Fit(ctx, d, Options{MaxRows: 3, Group: d.Run})
	var many *TooManyGroupsError
	require.ErrorAs(t, err, &many)
	assert.Equal(t, TooManyGroupsError{Groups: 4, Max: 3}, *many)
}

// Expected: the error of the context, from a fit and from a prediction.
func TestContextEnds(t *testing.T) {
	d := rotor(1, 1)
	stopped, cancel := context.WithCancel(context.Background())
	cancel()

	_, err := Fit(stopped, d, Options{})
	require.ErrorIs(t, err, context.Canceled)

	_, err = mustFit(t, d, Options{}).Predict(stopped, d.X)
	assert.ErrorIs(t, err, context.Canceled)
}

// If the only input depends on the group, there is no shared kernel. Expected at a condition between measured ones: the
// simulated cosine within four deviations, and at most eight times the simulated noise variance of 0.0025.
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
	assert.Zero(t, m.Hyper[0].Shared, "amplitude of the shared kernel")
	assert.Empty(t, m.Hyper[0].Lengths, "lengths of the shared kernel")

	p, err := m.Predict(context.Background(), []float64{1.25})
	require.NoError(t, err)
	assert.InDelta(t, math.Cos(1.25), p.Mu[0], 4*math.Sqrt(p.Claim[0]+p.Noise[0]), "mean")
	assert.LessOrEqual(t, p.Noise[0], 0.02, "noise")
}

// Expected: an error that names the damage.
func TestDamagedModelIsRefused(t *testing.T) {
	b, err := json.Marshal(mustFit(t, rotor(1, 1), Options{HyperRows: 20}))
	require.NoError(t, err)

	good := string(b)
	for _, c := range []struct{ old, damaged, words string }{
		{`"version":1`, `"version":2`, "version 1, found"},
		{`gp","version":1`, `gp","version":3`, "version 1, found"},
		{`"format":`, `format:`, "invalid character 'f'"},
		{`"x":[`, `"x":[1,`, "expected slices for 3 inputs and 1 outcomes"},
		{`"columns":[0,`, `"columns":[4,`, "expected ascending columns below 4"},
		{`"others":[`, `"others":[7,`, "expected ascending columns below 4"},
		{`"length":[`, `"length":[1,`, "outcome 0: expected hyperparameters of 3 inputs"},
		{`"coefficients":[`, `"coefficients":[1,`, "outcome 0: expected hyperparameters of 3 inputs"},
		{`"outcome_std":[`, `"outcome_std":[-`, "expected positive deviations"},
	} {
		bad := strings.Replace(good, c.old, c.damaged, 1)
		require.NotEqual(t, good, bad, "%s is in the stored model", c.old)
		assert.ErrorContains(t, json.Unmarshal([]byte(bad), new(Model)), c.words, c.damaged)
	}
}

// A stored model whose shared kernel has lengths but no inputs is refused. Expected: an error about the outcome.
func TestLengthsWithoutInputsAreRefused(t *testing.T) {
	stored := mustFit(t, rotor(1, 1), Options{HyperRows: 20}).Stored()
	stored.Others = nil
	stored.Hyper[0].Shared = 0

	b, err := json.Marshal(stored)
	require.NoError(t, err)
	assert.ErrorContains(t, json.Unmarshal(b, new(Model)), "outcome 0: expected hyperparameters of 3 inputs")
}

// An empty list of labels means the same as no list: no offsets. Expected: the same predictions, and the same stored
// form.
func TestNoLabels(t *testing.T) {
	d := rotor(1, 1)
	without := mustFit(t, d, Options{HyperRows: 20})
	empty := mustFit(t, d, Options{HyperRows: 20, Labels: []int{}, Level: []int{}})

	want, err := without.Predict(context.Background(), d.X)
	require.NoError(t, err)

	got, err := empty.Predict(context.Background(), d.X)
	require.NoError(t, err)
	assert.Equal(t, want, got, "predictions")

	wantStored, err := json.Marshal(without)
	require.NoError(t, err)

	stored, err := json.Marshal(empty)
	require.NoError(t, err)
	assert.Equal(t, string(wantStored), string(stored), "stored forms")

	damaged := strings.Replace(string(stored), `"version":1`, `"version":3,"labels":[]`, 1)
	assert.ErrorContains(t, json.Unmarshal([]byte(damaged), new(Model)), "version 1, found")
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
		lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: want, Uplo: blas.Lower})
		require.NoError(t, cholesky(n, a))
		requireEqualTriangles(t, n, want, a, "factor")

		lapack64.Potri(lower(n, want))
		invert(n, a, newRoom(n))
		requireEqualTriangles(t, n, want, a, "inverse")
	}
}

// requireEqualTriangles checks that the lower triangles of two n×n matrices have the same bits.
func requireEqualTriangles(t *testing.T, n int, want, got []float64, what string) {
	t.Helper()

	for i := range n {
		require.Equal(t, want[i*n:i*n+i+1], got[i*n:i*n+i+1], "%s of %d rows: row %d", what, n, i)
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

// The inputs of one set are divided by 2³³, to values about 1e-10. Expected: the same inputs vary, because a unit does
// not decide whether an input is constant, and the largest value of a column is part of the limit.
func TestSmallInputsVary(t *testing.T) {
	d := rotor(1, 1)
	want, err := Fit(t.Context(), d, Options{})
	require.NoError(t, err)

	d.X = slices.Clone(d.X)
	for i := range d.X {
		d.X[i] = math.Ldexp(d.X[i], -33)
	}

	got, err := Fit(t.Context(), d, Options{})
	require.NoError(t, err)
	assert.Equal(t, want.Columns, got.Columns, "inputs that vary")
}

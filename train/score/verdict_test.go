package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// shifted simulates n runs of one pair of two outcomes with deviation 1 about a
// mean of 0; the model predicts the mean bias.
func shifted(n int, bias float64) Set {
	rng := rand.New(rand.NewPCG(1, 2))

	s := Set{Set: triplets.Set{N: n, Out: 2}}
	for i := range n {
		s.Run = append(s.Run, i)
		for range 2 {
			s.Y1 = append(s.Y1, rng.NormFloat64())
			s.Y2 = append(s.Y2, rng.NormFloat64())
			s.Mu = append(s.Mu, bias)
		}
	}

	return s
}

// Expected: closed forms of the normal distribution. With a bias b, claimed
// deviation c and noise 1 the squared error is b², the ratio √(1+b²)/c, and
// coverage Φ(zc−b) − Φ(−zc−b). The grades follow from them and the limits; of the model's own
// claim only a bad one is made.
func TestTrust(t *testing.T) {
	phi := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	for _, c := range []struct {
		bias, claim, spread float64
		want                Grade
	}{
		{0, 1, 10, Holds},
		{0, 1.2, 10, Holds},
		{1, 1, 10, Fails},    // coverage .83
		{3, 1, 10, Fails},    // coverage .15
		{0, 0.45, 10, Fails}, // coverage .62
		{0, 4, 3, Wide},      // wider than the data's spread
		{0, 0.79, 1, Fails},  // coverage .88
		{0, 0.9, 1, Wide},    // coverage .92, .9 of the spread
		{0.5, 1, 10, Holds},  // coverage .92
		{3, 4, 100, Holds},   // a large error that is claimed
		{0.4, 2, 100, Wide},  // 68 % intervals hold .95, half width 9.8 times the error
		{1.2, 2, 100, Holds}, // 68 % intervals hold .79
	} {
		const n = 4000
		s := shifted(n, c.bias)
		v := fill(2*n, c.claim*c.claim)
		got := TrustOf(s, v, fill(2*n, 0.25), fill(2, c.spread), []int{0, 1}, nil)

		cover := func(z float64) float64 { return phi(z*c.claim-c.bias) - phi(-z*c.claim-c.bias) }
		for _, x := range []struct {
			name           string
			got, want, tol float64
		}{
			{"RMSE", got.RMSE * got.RMSE, c.bias * c.bias, 0.05 * (1 + c.bias)},
			{"claimed σ", got.ClaimedSigma, c.claim, 1e-12},
			{"claimed epistemic", got.ClaimedEpistemic, 0.5, 1e-12},
			{"68 %", got.At[0], cover(1), 0.02},
			{"98 %", got.At[3], cover(2.3263478740408408), 0.02},
			{"95 %", got.Inside, cover(1.959963984540054), 0.02},
			{"half width", got.Half, 1.959963984540054 * c.claim, 1e-9},
			{"ratio", got.Ratio, math.Sqrt(1+c.bias*c.bias) / c.claim, 0.05},
			{"width over spread", got.WidthOverSpread, c.claim / c.spread, 1e-12},
		} {
			assert.InDelta(t, x.want, x.got, x.tol, "bias %g, claim %g: %s", c.bias, c.claim, x.name)
		}

		if c.bias > 0 && math.Abs(got.EpistemicRatio/(c.bias/0.5)-1) > 0.05 {
			t.Errorf("bias %g: error over claim %g, expected %g", c.bias, got.EpistemicRatio, c.bias/0.5)
		}

		claim := got.Grade()
		got.Claimed = false
		if got.Grade() != c.want || got.Runs != n || got.Values != 4*n {
			t.Errorf("bias %g, claim %g: %s of %d runs, %d values, expected %s", c.bias, c.claim, got.Grade(), got.Runs,
				got.Values, c.want)
		}

		assert.Equal(t, Worst(c.want, Undecided), claim, "bias %g, claim %g: of the model's own claim", c.bias, c.claim)
	}
}

// The standard errors are those of the numbers' scatter over repeated simulations,
// within 10 %.
func TestTrustErrors(t *testing.T) {
	const n, repeats = 60, 1500
	rng := rand.New(rand.NewPCG(3, 4))

	var cov, ratio, rmse, covSE, ratioSE, rmseSE []float64
	for range repeats {
		s := Set{Set: triplets.Set{N: n, Out: 1}}
		for i := range n {
			shift := 0.5 * rng.NormFloat64() // of the run

			s.Run = append(s.Run, i/3)
			if i%3 > 0 {
				shift = s.Mu[i-1]
			}

			s.Mu = append(s.Mu, shift)
			s.Y1 = append(s.Y1, rng.NormFloat64()+2)
			s.Y2 = append(s.Y2, rng.NormFloat64()+2)
		}

		g := TrustOf(s, fill(n, 4), nil, nil, []int{0}, nil)
		cov = append(cov, g.Inside)
		ratio = append(ratio, g.Ratio)
		rmse = append(rmse, g.RMSE)
		covSE = append(covSE, g.InsideSE)
		ratioSE = append(ratioSE, g.RatioSE)
		rmseSE = append(rmseSE, g.RMSESE)
	}

	for _, c := range []struct {
		name  string
		v, se []float64
	}{{"coverage", cov, covSE}, {"ratio", ratio, ratioSE}, {"RMSE", rmse, rmseSE}} {
		_, scatter := MeanStd(c.v)
		if se, _ := MeanStd(c.se); math.Abs(se/scatter-1) > 0.1 {
			t.Errorf("%s: standard error %.4f, scatter %.4f", c.name, se, scatter)
		}
	}
}

// Intervals that are given count instead of those of normal laws. By hand: of the
// residuals ±1, 3 and 0 three lie within 2, and one within the 0.5 and 1.5 of their rows.
func TestTrustOfIntervals(t *testing.T) {
	s := Set{Set: triplets.Set{N: 2, Out: 1, Y1: []float64{1, 3}, Y2: []float64{-1, 0}, Run: []int{0, 1}}}
	s.Mu = []float64{0, 0}
	narrow := []float64{0.5, 1.5}
	half := []float64{2, 2}
	g := TrustOf(s, []float64{4, 4}, nil, []float64{10}, []int{0},
		&Intervals{Level: 0.98, Half: half, At: [4][]float64{narrow, half, half, {3, 3}}})

	if g.Level != 0.98 || g.Inside != 0.75 || g.At != [4]float64{0.25, 0.75, 0.75, 1} || g.Half != 2 || g.Claimed {
		t.Errorf("%+v", g)
	}
	assert.InDelta(t, 2/(10*1.959963984540054), g.WidthOverSpread, 1e-12, "width over spread")
}

// Where nothing can be measured nothing is claimed, and nothing is decided.
func TestTrustUndefined(t *testing.T) {
	one := shifted(5, 0)
	for i := range one.Run {
		one.Run[i] = 7
	}

	training := shifted(5, 0)
	training.Part = make([]triplets.Part, training.N)
	couples := shifted(5, 0)
	couples.Couples = true
	for name, s := range map[string]Set{
		"one run": one, "training": training, "couples": couples,
		"empty": {Set: triplets.Set{Out: 2}},
	} {
		g := TrustOf(s, fill(2*s.N, 1), nil, nil, []int{0, 1}, nil)
		if g.Grade() != Undecided || !math.IsNaN(g.InsideSE) || g.EpistemicRatioDefect == "" ||
			!math.IsNaN(g.EpistemicRatio) {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		in   []Grade
		want Grade
	}{
		{nil, Undecided},
		{[]Grade{Holds, Wide}, Wide},
		{[]Grade{Fails, Undecided, Holds}, Fails},
		{[]Grade{Holds, Holds}, Holds},
		{[]Grade{Undecided, Wide}, Undecided},
	} {
		assert.Equal(t, c.want, Worst(c.in...), "%v", c.in)
	}
}

// Means are over seeds; the grade is that of the means: .65 of 40 values is less than .9.
func TestMeanTrust(t *testing.T) {
	a := Trust{
		RMSE: 1, Level: 0.95, Inside: 0.95, InsideSE: 0.01, Ratio: 1, RatioSE: 0.01, Runs: 10, Values: 40, Effective: 40,
		EpistemicRatio: 2,
	}

	b := Trust{
		RMSE: 3, Level: 0.95, Inside: 0.35, InsideSE: 0.01, Ratio: 3, RatioSE: 0.01, Runs: 10, Values: 40, Effective: 40,
		EpistemicRatio: math.NaN(), EpistemicRatioDefect: "why",
	}

	m := MeanTrust([]Trust{a, b})
	if m.RMSE != 2 || math.Abs(m.Inside-0.65) > 1e-12 || m.Grade() != Fails || !math.IsNaN(m.EpistemicRatio) ||
		m.EpistemicRatioDefect != "why" {
		t.Errorf("%+v", m)
	}

	assert.Equal(t, a, MeanTrust([]Trust{a}), "got")
}

// The shares of Trust, of Judge and of Coverage are one count. Limits belong to the
// interval: in units of σ the values 1, −1 and 0 lie inside 68 %, 2 does not.
func TestCoverageIsOneNumber(t *testing.T) {
	s := shifted(200, 0.7)
	total := make([]float64, len(s.Mu))
	for k := range total {
		total[k] = 0.25 * float64(1+k%5)
	}

	trust := TrustOf(s, total, nil, nil, []int{0, 1}, nil)
	judged := Judge(s, total, nil)
	s.Var = total
	shares := Coverage(s, []float64{math.Erf(1 / math.Sqrt2), 0.95})
	for i, c := range []struct{ trust, judge float64 }{
		{trust.At[0], judged.Get("coverage68")}, {trust.Inside, judged.Get("coverage95")},
	} {
		require.True(t, near(c.trust, c.judge, 1e-12),
			"%g in Trust, %g in Judge, %g in Coverage", c.trust, c.judge, shares[i])
		assert.True(t, near(shares[i], c.judge, 1e-12),
			"%g in Trust, %g in Judge, %g in Coverage", c.trust, c.judge, shares[i])
	}

	edge := Set{Set: triplets.Set{N: 2, Out: 1, Y1: []float64{2, 4}, Y2: []float64{-2, 0}, Run: []int{0, 1}}}
	edge.Mu = []float64{0, 0}
	if got := TrustOf(edge, []float64{4, 4}, nil, nil, []int{0}, nil); got.At[0] != 0.75 {
		t.Errorf("%g of the values inside, expected 0.75", got.At[0])
	}
}

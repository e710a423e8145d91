package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/triplets"
)

// shifted simulates n runs of one pair of two outcomes, with deviation 1 about the mean 0. The model predicts the mean
// bias.
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

// The expected values are closed forms of the normal distribution. With a bias b, a predicted deviation c and noise 1,
// the squared error is b², the RMS residual √(1+b²), the ratio √(1+b²)/c, and the coverage Φ(zc−b) − Φ(−zc−b). The
// grades follow from them and the limits. The model's own claim is at best undecided.
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
		{0.4, 2, 100, Wide},  // 68 % intervals hold .94, half width 9.8 times the error
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
			{"RMS residual", got.Residual(), math.Sqrt(1 + c.bias*c.bias), 0.05 * (1 + c.bias)},
			{"width over spread", got.WidthOverSpread, c.claim / c.spread, 1e-12},
		} {
			assert.InDelta(t, x.want, x.got, x.tol, "bias %g, claim %g: %s", c.bias, c.claim, x.name)
		}

		if c.bias > 0 {
			assert.InEpsilon(t, c.bias/0.5, got.EpistemicRatio, 0.05, "bias %g: error over predicted error", c.bias)
		}

		assert.Equal(t, n, got.Runs)
		assert.Equal(t, 4*n, got.Values)
		assert.Equal(t, Worst(c.want, Undecided), got.Grade(), "bias %g, claim %g: grade of the claim", c.bias, c.claim)
		got.Claimed = false
		assert.Equal(t, c.want, got.Grade(), "bias %g, claim %g: grade", c.bias, c.claim)
	}
}

// The standard errors equal the scatter of the numbers over repeated simulations within 10 %.
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
		se, _ := MeanStd(c.se)
		assert.InEpsilon(t, scatter, se, 0.1, "standard error of %s", c.name)
	}
}

// Intervals that are given are judged, and not the ones of normal laws. By hand, three of the residuals 1, −1, 3 and 0
// lie within 2, and one lies within the half widths 0.5 and 1.5 of the rows. Their mean square is 11/4, which does not
// depend on the variances 4 and 9 that the model predicts.
func TestTrustOfIntervals(t *testing.T) {
	s := Set{Set: triplets.Set{N: 2, Out: 1, Y1: []float64{1, 3}, Y2: []float64{-1, 0}, Run: []int{0, 1}}}
	s.Mu = []float64{0, 0}
	narrow := []float64{0.5, 1.5}
	half := []float64{2, 2}
	g := TrustOf(s, []float64{4, 9}, nil, []float64{10}, []int{0},
		&Intervals{Level: 0.98, Half: half, At: [4][]float64{narrow, half, half, {3, 3}}})

	assert.Equal(t, 0.98, g.Level)
	assert.Equal(t, 0.75, g.Inside)
	assert.Equal(t, [4]float64{0.25, 0.75, 0.75, 1}, g.At)
	assert.Equal(t, 2.0, g.Half)
	assert.InDelta(t, math.Sqrt(11.0/4), g.Residual(), 1e-12, "RMS residual")
	assert.False(t, g.Claimed)
	assert.InDelta(t, 2/(10*1.959963984540054), g.WidthOverSpread, 1e-12, "width over spread")
}

// Without pairs that the model has not seen, all numbers are undefined, the grade is undecided and a reason is stated.
// The values of one run have no standard error between runs, and its grade is undecided too.
func TestTrustUndefined(t *testing.T) {
	training := shifted(5, 3)
	training.Part = make([]triplets.Part, training.N)
	couples := shifted(5, 3)
	couples.Couples = true
	for name, s := range map[string]Set{
		"training": training, "couples": couples, "empty": {Set: triplets.Set{Out: 2}},
	} {
		g := TrustOf(s, fill(2*s.N, 1), fill(2*s.N, 1), fill(2, 1), []int{0, 1}, nil)
		for k, v := range g.numbers() {
			assert.True(t, math.IsNaN(*v), "%s: number %d is %g", name, k, *v)
		}

		assert.Equal(t, "there are no pairs that the model has not seen", g.EpistemicRatioDefect, name)
		g.Claimed = false
		assert.Equal(t, Undecided, g.Grade(), name)
	}

	one := shifted(5, 3)
	for i := range one.Run {
		one.Run[i] = 7
	}

	g := TrustOf(one, fill(10, 16), fill(10, 9), fill(2, 10), []int{0, 1}, nil)
	assert.True(t, math.IsNaN(g.InsideSE), "one run: standard error of the share inside")
	assert.Equal(t, 1, g.Runs)
	g.Claimed = false
	assert.Equal(t, Undecided, g.Grade(), "one run")
}

// The ratio of the error to the predicted epistemic deviation is undefined if either is the root of a number that is
// not positive. The measured error of a pair is the product of its two residuals: opposite values have a negative one.
func TestEpistemicRatioDefect(t *testing.T) {
	good := shifted(5, 3)
	opposite := shifted(5, 0)
	for k, y := range opposite.Y1 {
		opposite.Y2[k] = -y
	}

	for _, c := range []struct {
		set       Set
		epistemic []float64
		want      string
	}{
		{good, fill(10, 9), ""},
		{good, nil, "the method claims no epistemic variance"},
		{good, fill(10, 0), "the claimed epistemic variances do not sum to a positive value"},
		{good, fill(10, -1), "the claimed epistemic variances do not sum to a positive value"},
		{good, fill(10, math.NaN()), "the claimed epistemic variances do not sum to a positive value"},
		{
			opposite, fill(10, 9),
			"the measured errors do not sum to a positive value: they are smaller than the noise of the pairs",
		},
	} {
		g := TrustOf(c.set, fill(10, 16), c.epistemic, nil, []int{0, 1}, nil)
		assert.Equal(t, c.want, g.EpistemicRatioDefect)
		assert.Equal(t, c.want != "", math.IsNaN(g.EpistemicRatio), "%q: ratio %g", c.want, g.EpistemicRatio)
	}
}

// The worst of no grades is undecided.
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

// MeanTrust averages over seeds, and the grade follows from the means: 0.65 of 40 values is less than 0.9. A ratio that
// one seed lacks is undefined, for the reason of that seed.
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
	assert.Equal(t, 2.0, m.RMSE)
	assert.InDelta(t, 0.65, m.Inside, 1e-12)
	assert.Equal(t, Fails, m.Grade())
	assert.True(t, math.IsNaN(m.EpistemicRatio))
	assert.Equal(t, "why", m.EpistemicRatioDefect)

	assert.Equal(t, a, MeanTrust([]Trust{a}), "the mean of one seed")
}

// Trust, Judge and Coverage count the same shares. A value at the limit is inside: of 1, −1, 0 and 2 deviations three
// are inside μ ± σ.
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
	assertNear(t, judged.Get("coverage68"), trust.At[0], 1e-12)
	assertNear(t, judged.Get("coverage68"), shares[0], 1e-12)
	assertNear(t, judged.Get("coverage95"), trust.Inside, 1e-12)
	assertNear(t, judged.Get("coverage95"), shares[1], 1e-12)

	edge := Set{Set: triplets.Set{N: 2, Out: 1, Y1: []float64{2, 4}, Y2: []float64{-2, 0}, Run: []int{0, 1}}}
	edge.Mu = []float64{0, 0}
	assert.Equal(t, 0.75, TrustOf(edge, []float64{4, 4}, nil, nil, []int{0}, nil).At[0])
}

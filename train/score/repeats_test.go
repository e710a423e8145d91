package score

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

// addPairs appends all pairs of the runs y of one condition to a set of one outcome. The r(r−1)/2 pairs of r runs have
// the weight 1/(r−1) each, so that every run counts once.
func addPairs(s *triplets.Set, condition int, y []float64) {
	for i := range y {
		for k := i + 1; k < len(y); k++ {
			s.Y1 = append(s.Y1, y[i])
			s.Y2 = append(s.Y2, y[k])
			s.Weight = append(s.Weight, 1/float64(len(y)-1))
			s.Run = append(s.Run, condition)
			s.Condition = append(s.Condition, condition)
			s.N++
		}
	}
}

// addDisjointPairs appends the first and the second run of y as a pair, the third and the fourth, and so on.
func addDisjointPairs(s *triplets.Set, condition int, y []float64) {
	for i := 1; i < len(y); i += 2 {
		s.Y1 = append(s.Y1, y[i-1])
		s.Y2 = append(s.Y2, y[i])
		s.Run = append(s.Run, condition)
		s.N++
	}
}

// All pairs of the repeats of a condition, weighted and clustered by condition, measure e without a bias. The standard
// error is right within 10 %. e scatters less than with disjoint pairs if a condition has more than two repeats.
// Expected values: simulated campaigns with two to six repeats, in which the mean is off by 0 or 1, so that e is ½.
func TestAllPairsOfRepeats(t *testing.T) {
	const conditions, campaigns, sigma, truth = 60, 1000, 1.0, 0.5

	cases := [][]int{{2}, {5}, {2, 3, 6}}
	if longtest.IsStudy() {
		cases = [][]int{{2}, {3}, {4}, {5}, {6}, {2, 3, 6}}
	}

	rng := rand.New(rand.NewPCG(15, 4))
	for _, repeats := range cases {
		var e, se, disjointE []float64
		for range campaigns {
			pairs := triplets.Set{In: 1, Out: 1}
			disjoint := triplets.Set{In: 1, Out: 1}
			for c := range conditions {
				off := float64(rng.IntN(2))
				y := make([]float64, repeats[c%len(repeats)])
				for i := range y {
					y[i] = off + sigma*rng.NormFloat64()
				}

				addPairs(&pairs, c, y)
				addDisjointPairs(&disjoint, c, y)
			}

			measured, standardError := errorOfZero(pairs)
			e = append(e, measured)
			se = append(se, standardError)

			measured, _ = errorOfZero(disjoint)
			disjointE = append(disjointE, measured)
		}

		mean, scatter := MeanStd(e)
		meanSE, _ := MeanStd(se)
		_, disjointScatter := MeanStd(disjointE)

		// Of six cases one is off by three standard errors too often; four are allowed.
		assert.InDelta(t, truth, mean, 4*scatter/math.Sqrt(campaigns), "r = %v: mean e", repeats)
		assert.InEpsilon(t, scatter, meanSE, 0.1, "r = %v: standard error of e", repeats)
		if slices.Max(repeats) > 2 {
			assert.Less(t, scatter, disjointScatter, "r = %v: scatter of e, and with disjoint pairs", repeats)
		}
	}
}

// errorOfZero returns e of a model that predicts 0, and its standard error.
func errorOfZero(s triplets.Set) (e, se float64) {
	set := Set{Set: s, Answers: triplets.Answers{Mu: make([]float64, s.N), Var: make([]float64, s.N)}}
	numbers := newNumbers(Parts)
	set.errors(numbers, []int{0}, numbered(s.Run))

	return numbers.find("e").Value, numbers.find("e_se").Value
}

// noisyCampaign simulates conditions with two runs of little noise and with six of much noise, and a model that
// predicts 0.9 of the true mean.
type noisyCampaign struct {
	pairs        Set
	runs, runsMu []float64 // outcome of each run, and the prediction for it
	noise        float64   // mean variance of the noise of a run
}

// newNoisyCampaign draws a campaign.
func newNoisyCampaign(rng *rand.Rand) noisyCampaign {
	const conditions = 60
	c := noisyCampaign{pairs: Set{Set: triplets.Set{Out: 1}}}
	sum := 0.0
	for condition := range conditions {
		repeats := 2
		sigma := 0.3
		if condition%2 == 1 {
			repeats = 6
			sigma = 1
		}

		truth := 2 * math.Sin(float64(condition))
		y := make([]float64, repeats)
		for i := range y {
			y[i] = truth + sigma*rng.NormFloat64()
			c.runs = append(c.runs, y[i])
			c.runsMu = append(c.runsMu, 0.9*truth)
			sum += sigma * sigma
		}

		before := c.pairs.N
		addPairs(&c.pairs.Set, condition, y)
		for range c.pairs.N - before {
			c.pairs.Mu = append(c.pairs.Mu, 0.9*truth)
		}
	}

	c.noise = sum / float64(len(c.runs))

	return c
}

// R² of weighted pairs is the R² of the runs, each once, up to rounding (closed form).
func TestWeightedR2(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 6))
	for range 20 {
		c := newNoisyCampaign(rng)
		assert.InDelta(t, R2(c.runs, c.runs, c.runsMu), Summarise(c.pairs).Get("r2"), 1e-12)
	}
}

// The noise in the ceiling of weighted pairs is on average the noise of the runs, because every run counts once.
// Without weights it is off by many standard errors: the conditions with more runs are noisier. Expected value: the
// simulation.
func TestWeightedCeiling(t *testing.T) {
	const campaigns = 400
	rng := rand.New(rand.NewPCG(15, 6))
	var weighted, plain []float64 // noise in the ceiling, less the true noise
	for range campaigns {
		c := newNoisyCampaign(rng)
		noise := 1 - Summarise(c.pairs).Get("noise_ceiling") // as a share of the variance
		weighted = append(weighted, noise*pooledVar(c.runs, c.runs, nil)-c.noise)

		c.pairs.Weight = nil
		noise = 1 - Summarise(c.pairs).Get("noise_ceiling")
		plain = append(plain, noise*pooledVar(c.pairs.Y1, c.pairs.Y2, nil)-c.noise)
	}

	assert.Less(t, math.Abs(standardErrors(weighted)), 3.0, "bias with weights, in standard errors")
	assert.Greater(t, math.Abs(standardErrors(plain)), 3.0, "bias without weights, in standard errors")
}

// standardErrors returns the mean of the values over its standard error.
func standardErrors(values []float64) float64 {
	mean, sd := MeanStd(values)
	return mean / (sd / math.Sqrt(float64(len(values))))
}

// A row of weight 2 counts as two equal rows. Judge and Summarise compute the same e.
func TestJudgeWeights(t *testing.T) {
	s := Set{Set: triplets.Set{
		N: 3, Out: 1, Y1: []float64{1, 2, 4}, Y2: []float64{1.5, 2.5, 3}, Run: []int{0, 1, 2}, Weight: []float64{2, 1, 1},
	}, Answers: triplets.Answers{Mu: []float64{0.5, 2, 3}}}
	v := []float64{0.3, 0.2, 0.4}
	twice := Set{Set: triplets.Set{
		N: 4, Out: 1, Y1: []float64{1, 1, 2, 4}, Y2: []float64{1.5, 1.5, 2.5, 3}, Run: []int{0, 0, 1, 2},
	}, Answers: triplets.Answers{Mu: []float64{0.5, 0.5, 2, 3}}}
	a := Judge(s, v, v)
	b := Judge(twice, []float64{0.3, 0.3, 0.2, 0.4}, []float64{0.3, 0.3, 0.2, 0.4})
	for _, key := range []string{"r2", "e", "sum_e_ratio", "sum_e_ratio_se", "square", "square_se", "qlike"} {
		assert.InDelta(t, b.Get(key), a.Get(key), 1e-12, "%s of a weighted row, and of the row twice", key)
	}

	assert.InDelta(t, a.Get("e"), Summarise(s).Get("e"), 1e-15)
}

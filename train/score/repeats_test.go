package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

// All r(r−1)/2 pairs of r repeats, weighted by 1/(r−1) and clustered by condition:
// over simulated campaigns with a known error of the mean, e is unbiased and its
// standard error is the deviation of e between campaigns, within 10 %, for
// r = 2 … 6 and for campaigns in which r differs. e of all pairs scatters less than
// that of disjoint ones where r is odd or above 2.
func TestAllPairsOfRepeats(t *testing.T) {
	const conditions, campaigns, sigma = 60, 1000, 1.0

	cases := [][]int{{2}, {5}, {2, 3, 6}}
	if longtest.IsStudy() {
		cases = [][]int{{2}, {3}, {4}, {5}, {6}, {2, 3, 6}}
	}

	rng := rand.New(rand.NewPCG(15, 4))
	for _, repeats := range cases {
		var e, se, disjoint []float64

		n := 0
		for c := range conditions {
			r := repeats[c%len(repeats)]
			n += r * (r - 1) / 2
		}

		const truth = 0.5 // the mean of off²

		for range campaigns {
			s := triplets.Set{N: n, In: 1, Out: 1, X: make([]float64, n)}

			half := triplets.Set{In: 1, Out: 1}
			for c := range conditions {
				off := float64(rng.IntN(2))
				r := repeats[c%len(repeats)]
				y := make([]float64, r)
				for i := range y {
					y[i] = off + sigma*rng.NormFloat64() // about μ = 0
				}

				for i := range y {
					for k := i + 1; k < r; k++ {
						s.Y1 = append(s.Y1, y[i])
						s.Y2 = append(s.Y2, y[k])
						s.Weight = append(s.Weight, 1/float64(r-1))
						s.Run = append(s.Run, c)
					}

					if i%2 == 1 {
						half.Y1 = append(half.Y1, y[i-1])
						half.Y2 = append(half.Y2, y[i])
						half.Run = append(half.Run, c)
						half.N++
					}
				}
			}

			half.X = make([]float64, half.N)
			m := summaryOf(s)
			e = append(e, m[0])
			se = append(se, m[1])
			disjoint = append(disjoint, summaryOf(half)[0])
		}

		mean, sd := MeanStd(e)
		stated, _ := MeanStd(se)
		_, before := MeanStd(disjoint)

		assert.InDelta(t, truth, mean, 3*sd/math.Sqrt(campaigns), "r = %v: mean e", repeats)

		assert.InDelta(t, 1, stated/sd, 0.1, "r = %v: standard error %.4f, e scatters by %.4f", repeats, stated, sd)
		assert.False(t, repeats[len(repeats)-1] > 2 && sd >= before,
			"r = %v: e scatters by %.4f, of disjoint pairs by %.4f", repeats, sd, before)

		t.Logf("r = %v: e %.4f (truth %.4f), SE stated %.4f, true %.4f, disjoint %.4f", repeats, mean, truth, stated, sd,
			before)
	}
}

// summaryOf returns e and its standard error of a model that predicts 0.
func summaryOf(s triplets.Set) [2]float64 {
	set := Set{Set: s, Answers: triplets.Answers{Mu: make([]float64, s.N), Var: make([]float64, s.N)}}
	m := newNumbers(Parts)
	_, runs := dense(s.Run)
	set.errors(m, []int{0}, s.Run, runs)

	return [2]float64{m.find("e").Value, m.find("e_se").Value}
}

// Weighted pairs count every run once. R² is that of the runs themselves, each once
// (closed form, to rounding), whatever the numbers of repeats. The noise in the
// ceiling, of a simulated campaign whose conditions with more repeats are noisier, is
// on average that of its runs, Σr·σ²/Σr. Pairs without weights are off by many standard
// errors.
func TestWeightedFit(t *testing.T) {
	const campaigns, conditions = 400, 60
	rng := rand.New(rand.NewPCG(15, 6))

	var weighted, plain []float64
	for c := range campaigns {
		s := triplets.Set{Out: 1}
		var mu, runs, runMu []float64

		noise := 0.0
		for g := range conditions {
			r := 2
			sigma := 0.3
			if g%2 == 1 {
				r = 6
				sigma = 1
			}

			m := 2 * math.Sin(float64(g))

			y := make([]float64, r)
			for i := range y {
				y[i] = m + sigma*rng.NormFloat64()
				runs = append(runs, y[i])
				runMu = append(runMu, 0.9*m)
				noise += sigma * sigma
			}

			for i := range y {
				for k := i + 1; k < r; k++ {
					s.Y1 = append(s.Y1, y[i])
					s.Y2 = append(s.Y2, y[k])
					mu = append(mu, 0.9*m)
					s.Weight = append(s.Weight, 1/float64(r-1))
					s.Condition = append(s.Condition, g)
				}
			}
		}

		s.N = len(s.Y1)
		s.Run = s.Condition
		set := Set{Set: s, Answers: triplets.Answers{Mu: mu}}
		got := Summarise(set)
		require.InDelta(t, R2(runs, runs, runMu), got.Get("r2"), 1e-12, "campaign %d: R² of weighted pairs", c)

		truth := noise / float64(len(runs))
		weighted = append(weighted, (1-got.Get("noise_ceiling"))*pooledVar(runs, runs, nil)-truth)
		set.Weight = nil
		plain = append(plain, (1-Summarise(set).Get("noise_ceiling"))*pooledVar(s.Y1, s.Y2, nil)-truth)
	}

	for _, c := range []struct {
		name string
		v    []float64
		good bool
	}{{"weighted", weighted, true}, {"plain", plain, false}} {
		mean, sd := MeanStd(c.v)
		z := mean / (sd / math.Sqrt(campaigns))
		assert.Equal(t, c.good, math.Abs(z) < 3,
			"%s: the noise in the ceiling is off by %.5f, %.1f standard errors", c.name, mean, z)

		t.Logf("%s: off by %.5f, %.1f standard errors", c.name, mean, z)
	}
}

// Judge and Summarise measure one and the same e, and two equal rows are one of
// twice the weight.
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

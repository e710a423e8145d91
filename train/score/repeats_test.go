package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/train/triplets"
)

// All r(r−1)/2 pairs of r repeats, weighted by 1/(r−1) and clustered by condition:
// over simulated campaigns with a known error of the mean, e is unbiased and its
// standard error is the deviation of e between campaigns, within 10 %, for
// r = 2 … 6 and for campaigns in which r differs. e of all pairs scatters less than
// that of disjoint ones where r is odd or above 2.
func TestAllPairsOfRepeats(t *testing.T) {
	const conditions, campaigns, sigma = 60, 1500, 1.0
	rng := rand.New(rand.NewPCG(15, 4))
	for _, repeats := range [][]int{{2}, {3}, {4}, {5}, {6}, {2, 3, 6}} {
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
						s.Y1, s.Y2 = append(s.Y1, y[i]), append(s.Y2, y[k])
						s.Weight, s.Run = append(s.Weight, 1/float64(r-1)), append(s.Run, c)
					}
					if i%2 == 1 {
						half.Y1, half.Y2 = append(half.Y1, y[i-1]), append(half.Y2, y[i])
						half.Run = append(half.Run, c)
						half.N++
					}
				}
			}
			half.X = make([]float64, half.N)
			m := summaryOf(s)
			e, se = append(e, m[0]), append(se, m[1])
			disjoint = append(disjoint, summaryOf(half)[0])
		}
		mean, sd := MeanStd(e)
		stated, _ := MeanStd(se)
		_, before := MeanStd(disjoint)
		if off := (mean - truth) / (sd / math.Sqrt(campaigns)); math.Abs(off) > 3 {
			t.Errorf("r = %v: mean e %.4f, truth %.4f: %.1f standard errors apart", repeats, mean, truth, off)
		}
		if math.Abs(stated/sd-1) > 0.1 {
			t.Errorf("r = %v: standard error %.4f, e scatters by %.4f", repeats, stated, sd)
		}
		if repeats[len(repeats)-1] > 2 && sd >= before {
			t.Errorf("r = %v: e scatters by %.4f, of disjoint pairs by %.4f", repeats, sd, before)
		}
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

package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

// By hand: three rows of two runs.
func TestJudgeEvent(t *testing.T) {
	e := JudgeEvent([]float64{0.5, 0.2, 1}, []float64{0.1, 0, 0.2}, []bool{true, false, true}, []bool{true, true, true},
		[]int{4, 4, 9})

	// (1−½)(1−½) = ¼, (0−0.2)(1−0.2) = −0.16, 0; V 0.3 in all. Happened 1, ½, 1: of the
	// mean 5/6 the runs' sums are off by −1/6 and 1/6, so that SE² = 2·2/36/9.
	for what, d := range map[string]float64{
		"claimed": e.Claimed - 1.7/3, "happened": e.Happened - 5.0/6, "its SE": e.HappenedSE - math.Sqrt(4.0/36/9),
		"error": e.Error - 0.03, "V": e.V - 0.1, "ratio": e.Ratio - 0.3,
	} {
		if !(math.Abs(d) < 1e-15) {
			t.Errorf("%s is off by %v", what, d)
		}
	}
}

// Simulation with known truth: p ~ U(0, 1), claimed p̂ = p + 0.1·z kept in [0, 1]. The
// pairs measure the mean of (p − p̂)² without knowing p, within four standard errors,
// and a V that is this mean is calibrated.
func TestEventMeasuresItsError(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const n = 20000
	var p, v []float64
	var in1, in2 []bool
	var run []int

	truth := 0.0
	for i := range n {
		q := r.Float64()
		c := min(max(q+0.1*r.NormFloat64(), 0), 1)
		truth += (q - c) * (q - c) / n
		p, in1, in2, run = append(p, c), append(in1, r.Float64() < q), append(in2, r.Float64() < q), append(run, i)
	}

	for range n {
		v = append(v, truth)
	}

	e := JudgeEvent(p, v, in1, in2, run)
	if !(math.Abs(e.Error-truth) < 4*e.ErrorSE) || !(math.Abs(e.Ratio-1) < 4*e.RatioSE) || e.RatioSE > 0.3 ||
		math.Abs(e.Claimed-e.Happened) > 0.02 {
		t.Errorf("%+v, true error %v", e, truth)
	}
}

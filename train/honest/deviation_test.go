package honest

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Expected: the deviation of normal values, 1, with the scatter of a standard deviation of 0.87 of their number
// (the logarithm of one of ν degrees of freedom scatters by 1/√2ν), and that far values do not move it.
func TestDeviation(t *testing.T) {
	const runs, samples = 60, 4000
	r := rand.New(rand.NewPCG(1, 34))
	var logarithm []float64
	for range samples {
		v := make([]float64, runs)
		for i := range v {
			v[i] = r.NormFloat64()
		}

		d := deviation(v)
		logarithm = append(logarithm, math.Log(d))

		if far := deviation(append(v, 100, -1000, math.NaN())); !(far < 1.1*d) {
			t.Fatalf("%g, with two far values %g", d, far)
		}
	}

	mean, sd := stat.MeanStdDev(logarithm, nil)
	if share := 1 / (2 * runs * sd * sd); math.Abs(mean) > 0.02 || math.Abs(share/efficiency-1) > 0.07 {
		t.Errorf("the mean logarithm is %.3f, the share of the freedom %.3f, expected 0 and %g", mean, share, efficiency)
	}

	if d := deviation([]float64{0, 0, 0, 1}); d != 0 || deviation(nil) != 0 {
		t.Errorf("mostly zeros deviate by %g", d)
	}
}

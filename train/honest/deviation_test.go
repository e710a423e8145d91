package honest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// Expected: the deviation 1 of normal values. Its logarithm scatters as the logarithm of a standard deviation of ν
// degrees of freedom does, by 1/√2ν, with ν = 0.87 times the number of values. Two far values and a NaN move it by
// less than 10 %. It is 0 if most values are 0, and without values.
func TestDeviation(t *testing.T) {
	const runs, samples = 60, 4000
	r := rand.New(rand.NewPCG(1, 34))
	var logs []float64 // of the deviations
	for range samples {
		v := make([]float64, runs)
		for i := range v {
			v[i] = r.NormFloat64()
		}

		d := deviation(v)
		logs = append(logs, math.Log(d))
		require.Less(t, deviation(append(v, 100, -1000, math.NaN())), 1.1*d, "deviation with two far values")
	}

	mean, sd := stat.MeanStdDev(logs, nil)
	assert.InDelta(t, 0, mean, 0.02, "mean logarithm")
	assert.InEpsilon(t, efficiency, 1/(2*runs*sd*sd), 0.07, "share of the degrees of freedom")
	assert.Zero(t, deviation([]float64{0, 0, 0, 1}), "deviation of mostly zeros")
	assert.Zero(t, deviation(nil), "deviation without values")
}

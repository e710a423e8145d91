package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

// The expected values come from scipy's polygamma (testdata/make.py). FewConditions is the smallest number of
// conditions with a factor below four.
func TestR2FactorAgainstScipy(t *testing.T) {
	_, want := golden(t)
	for n := 2; n <= 12; n++ {
		assertNear(t, want.R2Factor[fmt.Sprint(n)], R2Factor(n), 1e-12, "%d conditions", n)
	}

	assert.Less(t, R2Factor(FewConditions), 4.0)
	assert.Greater(t, R2Factor(FewConditions-1), 4.0)
}

// The deviation of ln(1−R²) over many sets of seven conditions is the one from which R2Factor follows, if errors and
// outcomes are independent normal numbers.
func TestR2FactorMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, reps = 7, 20000
	logs := make([]float64, reps)

	y := make([]float64, n)
	mu := make([]float64, n)
	for r := range logs {
		for i := range y {
			y[i] = rng.NormFloat64()
			mu[i] = y[i] + 0.3*rng.NormFloat64()
		}

		logs[r] = math.Log(1 - R2(y, y, mu))
	}

	_, sd := MeanStd(logs)

	// Its standard error is about 1/√(2·20000) = 0.5 %, a little more with these tails. Four of them are allowed.
	assert.InEpsilon(t, math.Log(R2Factor(n))/1.959964, sd, 0.03)
}

// noisyPairs draws 50 numbers x, and pairs y1 and y2 of x with noise.
func noisyPairs() (x, y1, y2 []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		truth := rng.NormFloat64()
		x = append(x, truth)
		y1 = append(y1, truth+rng.NormFloat64())
		y2 = append(y2, truth+rng.NormFloat64())
	}

	return x, y1, y2
}

// R² is 1 for the values themselves, and 0 for the mean of the set. It is undefined for an outcome that is constant.
func TestR2(t *testing.T) {
	x, y1, y2 := noisyPairs()
	mean := (average(y1, nil) + average(y2, nil)) / 2
	assert.Equal(t, 1.0, R2(x, x, x))
	assert.InDelta(t, 0, R2(y1, y2, slices.Repeat([]float64{mean}, len(x))), 1e-14)
	assert.True(t, math.IsNaN(R2([]float64{0.1, 0.1, 0.1}, []float64{0.1, 0.1, 0.1}, []float64{1, 2, 3})))
}

// R² of a line by least squares is the squared correlation.
func TestR2OfLine(t *testing.T) {
	x, y1, y2 := noisyPairs()
	m := (average(y1, nil) + average(y2, nil)) / 2
	mx := average(x, nil)

	var sxy, sxx, syy float64
	for i := range x {
		for _, y := range []float64{y1[i], y2[i]} {
			sxy += (x[i] - mx) * (y - m)
			sxx += (x[i] - mx) * (x[i] - mx)
			syy += (y - m) * (y - m)
		}
	}

	line := make([]float64, len(x))
	for i := range line {
		line[i] = m + sxy/sxx*(x[i]-mx)
	}

	assertNear(t, sxy*sxy/sxx/syy, R2(y1, y2, line), 1e-13)
}

// y1 = (0, 2) and y2 = (1, 3) have half squared differences of ½ and the variance 5/4, so that the ceiling is 1 − 0.4.
// The best μ for the pairs themselves, their mean ½(y1+y2), has residuals ±½(y1−y2), half the noise: R² = ½(1 +
// ceiling).
func TestNoiseCeiling(t *testing.T) {
	assertNear(t, 0.6, NoiseCeiling([]float64{0, 2}, []float64{1, 3}, nil), 1e-15)

	_, y1, y2 := noisyPairs()
	means := make([]float64, len(y1))
	for i := range means {
		means[i] = (y1[i] + y2[i]) / 2
	}

	assertNear(t, (1+NoiseCeiling(y1, y2, nil))/2, R2(y1, y2, means), 1e-13)
}

// 2, 4, 4, 4, 5, 5, 7, 9 has the mean 5 and the sum of squares 32. One value has no deviation, and no value no mean.
func TestMeanStd(t *testing.T) {
	mean, std := MeanStd([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	assert.Equal(t, 5.0, mean)
	assertNear(t, math.Sqrt(32.0/7), std, 1e-15)

	mean, std = MeanStd([]float64{3})
	assert.Equal(t, 3.0, mean)
	assert.True(t, math.IsNaN(std), "deviation of one value")

	mean, std = MeanStd(nil)
	assert.True(t, math.IsNaN(mean), "mean of nothing")
	assert.True(t, math.IsNaN(std), "deviation of nothing")

	mean, std = MeanStd([]float64{0.1, 0.1, 0.1})
	assert.Equal(t, 0.1, mean, "the mean of equal values is exact")
	assert.Equal(t, 0.0, std)
}

// The standard error is s/√n for clusters of one value, and the standard error of the means of clusters for equal
// clusters, whose means here are 2.5, 5 and 6. One cluster has none.
func TestClusteredMeanClosedForms(t *testing.T) {
	v := []float64{1, 4, 2, 8, 5, 7}
	wantMean, deviation := MeanStd(v)
	mean, se := ClusteredMean(v, []int{5, 4, 3, 2, 1, 0})
	assertNear(t, wantMean, mean, 1e-15)
	assertNear(t, deviation/math.Sqrt(6), se, 1e-14)

	_, deviation = MeanStd([]float64{2.5, 5, 6})
	_, se = ClusteredMean(v, []int{9, 9, -1, -1, 4, 4})
	assertNear(t, deviation/math.Sqrt(3), se, 1e-14)

	mean, se = ClusteredMean(v, make([]int, 6))
	assertNear(t, wantMean, mean, 1e-15)
	assert.True(t, math.IsNaN(se), "standard error of one cluster")

	mean, se = ClusteredMean(nil, nil)
	assert.True(t, math.IsNaN(mean), "mean of nothing")
	assert.True(t, math.IsNaN(se), "standard error of nothing")
}

// Values have a random effect per cluster, τ² = 1, and noise σ² = 1. With 13 values in each of 40 clusters the variance
// of the mean is (τ² + σ²/13)/40. A standard error without clusters would be 2.7 times too small.
func TestClusteredMeanMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const g, size, reps = 40, 13, 2000
	v := make([]float64, g*size)
	id := make([]int, g*size)

	se2 := 0.0
	covered := 0
	for range reps {
		for c := range g {
			a := rng.NormFloat64()
			for k := range size {
				v[c*size+k] = a + rng.NormFloat64()
				id[c*size+k] = c
			}
		}

		m, se := ClusteredMean(v, id)
		se2 += se * se / float64(reps)

		if math.Abs(m) < 2.0227*se { // Student's t, 39 degrees of freedom, 95 %
			covered++
		}
	}

	want := (1 + 1.0/size) / g
	assert.InDelta(t, want, se2, 4*math.Sqrt(2.0/(g-1)/reps)*want, "mean squared standard error")

	assert.InDelta(t, 0.95, float64(covered)/reps, 4*math.Sqrt(0.95*0.05/reps), "share of intervals with the truth")
}

// calibrated draws a set whose model is off by b ~ N(0, C·scale), so that E[e] = C·scale
// (docs/method.md#what-is-reported). The covariance is calibrated if scale is 1.
func calibrated(rng *rand.Rand, runs, channels int, scale float64) Set {
	n := runs * channels
	s := Set{Set: triplets.Set{N: n, Out: 1}}
	for r := range runs {
		c := math.Exp(rng.NormFloat64())
		b := math.Sqrt(c*scale) * rng.NormFloat64()
		for range channels {
			m := rng.NormFloat64()
			s.Mu = append(s.Mu, m+b)
			s.Y1 = append(s.Y1, m+0.5*rng.NormFloat64())
			s.Y2 = append(s.Y2, m+0.5*rng.NormFloat64())
			s.Cov = append(s.Cov, c)
			s.Run = append(s.Run, r)
		}
	}

	return s
}

// E[e] is scale·C whatever the noise, so that the mean of Σe/ΣC is the scale, and its scatter over repetitions the
// standard error.
func TestSumERatioMonteCarlo(t *testing.T) {
	for _, scale := range []float64{1, 4} {
		rng := rand.New(rand.NewPCG(7, uint64(scale)))

		reps := 400
		if !longtest.IsStudy() {
			reps = 100
		}

		ratio := make([]float64, reps)
		se2 := 0.0
		agree := 0.0
		for r := range ratio {
			m := Summarise(calibrated(rng, 400, 5, scale))
			ratio[r] = m.Get("sum_e_ratio")
			se2 += m.Get("sum_e_ratio_se") * m.Get("sum_e_ratio_se") / float64(reps)
			agree += m.Get("calibrated_fraction") / float64(reps)
		}

		mean, sd := MeanStd(ratio)
		assert.InDelta(t, scale, mean, 4*sd/math.Sqrt(float64(reps)),
			"scale %v: ratio %v ± %v", scale, mean, sd/math.Sqrt(float64(reps)))

		// Squared normal numbers of log-normal sizes have heavy tails, which allow 20 %.
		assert.InEpsilon(t, sd, math.Sqrt(se2), 0.2, "scale %v: standard error of the ratio", scale)

		if scale == 1 { // 95 % by construction, somewhat less because e is skewed
			assert.Greater(t, agree, 0.85, "share of bins that agree")
			assert.Less(t, agree, 0.99, "share of bins that agree")
		} else { // e is four times C, so that hardly a bin agrees
			assert.Less(t, agree, 0.3, "share of bins that agree")
		}
	}
}

// Equal values of C are in one bin. Here three values of C are equal each, so that each of the four is a bin; e equals
// C except for the negative one. The expected numbers were computed by hand.
func TestCalibrateCov(t *testing.T) {
	cov := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, -1, -1, -1}
	e := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, 0, 0, 0}
	id := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	c := CalibrateCov(cov, e, id, 6)
	require.Len(t, c.Bins, 4)

	for i, want := range []float64{-1, 1, 2, 3} {
		b := c.Bins[i]
		assert.Equal(t, 3, b.N, "values of bin %d", i)
		assert.Equal(t, 3, b.Runs, "runs of bin %d", i)
		assert.Equal(t, want, b.MeanCov, "mean C of bin %d", i)
		assert.Equal(t, max(0, want), b.MeanE, "mean e of bin %d", i)
		assert.Equal(t, i > 0, b.Agrees, "whether bin %d agrees", i)
	}

	assertNear(t, 0.25, c.NonPositive, 1e-15)
	assertNear(t, 18.0/15, c.Ratio, 1e-15)
	assert.Equal(t, 0.75, c.Agreeing)
}

// 103 distinct values are divided into ten bins of 10 or 11 values.
func TestCalibrateCovDistinct(t *testing.T) {
	var cov, e []float64
	var id []int
	for i := range 103 {
		cov = append(cov, float64((i*37)%103))
		e = append(e, 1)
		id = append(id, i)
	}

	c := CalibrateCov(cov, e, id, 0)
	require.Len(t, c.Bins, 10)

	total := 0
	for _, b := range c.Bins {
		total += b.N
		assert.Contains(t, []int{10, 11}, b.N, "values of a bin")
	}

	assert.Equal(t, 103, total, "values of all bins")
}

// The ratio is undefined if the covariances do not sum to a positive number, if there are none, or if one is NaN.
func TestCalibrateCovUndefined(t *testing.T) {
	c := CalibrateCov([]float64{-1, -2}, []float64{1, 1}, []int{0, 1}, 0)
	assert.True(t, math.IsNaN(c.Ratio))
	assert.Equal(t, "the covariances do not sum to a positive value", c.Undefined)

	assert.Equal(t, "no rows", CalibrateCov(nil, nil, nil, 0).Undefined)

	c = CalibrateCov([]float64{1, math.NaN()}, []float64{1, 1}, []int{0, 1}, 0)
	assert.Equal(t, "a value it is computed from is not finite", c.Undefined)
	assert.Nil(t, c.Bins)
}

package contrast

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostUnits is the largest number of units that Units looks for.
const mostUnits = 1_000_000

// Units returns the number of units that each arm needs so that an interval at a level excludes the limit with
// probability power, if the difference and the scatter stay as they are. It returns 0 if each arm would need more than
// mostUnits.
func Units(arms []Arm, limit, level, power float64) int {
	e := estimates(arms, pointByPoint)[0]
	variance := 0.0 // of the difference by one unit in each arm
	squares := 0.0  // sum of the squared parts of the arms in this variance
	for _, a := range arms {
		_, unitVariance := a.moments(0)
		part := a.Weight[0] * a.Weight[0] * unitVariance
		variance += part
		squares += math.Pow(part, 2)
	}

	enough := func(n int) bool {
		if variance == 0 {
			return e.Difference != limit
		}

		delta := (e.Difference - limit) / math.Sqrt(variance/float64(n))
		df := float64(n-1) * variance * variance / squares // Satterthwaite

		return Power(delta, df, level) >= power
	}

	high := 2
	for ; !enough(high); high *= 2 {
		if high > mostUnits {
			return 0
		}
	}

	// Bisect: low units are not enough, or low is 1.
	low := high / 2
	for low+1 < high {
		mid := (low + high) / 2
		if enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}

	if high > mostUnits {
		return 0
	}

	return max(high, 2)
}

// powerPoints is the number of points of the quadrature of Power.
const powerPoints = 100

// Power returns the probability that an interval at a level, with df degrees of freedom, excludes a limit that is delta
// standard errors away from the true difference: the probability that |t| of a noncentral t distribution exceeds its
// critical value. It integrates over the quantiles of the measured scatter.
func Power(delta, df, level float64) float64 {
	t := student(df).Quantile((1 + level) / 2)

	excluded := func(u float64) float64 { // probability if the measured scatter is its quantile u
		s := math.Sqrt(2 * mathext.GammaIncRegInv(df/2, u) / df) // measured scatter over the true one
		return distuv.UnitNormal.CDF(delta-t*s) + distuv.UnitNormal.CDF(-delta-t*s)
	}

	return quad.Fixed(excluded, 0, 1, powerPoints, nil, 0)
}

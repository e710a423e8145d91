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
// probability power, if the difference and the scatter stay as they are. It returns 0 if they are more than mostUnits.
func Units(arms []Arm, limit, level, power float64) int {
	e := estimates(arms, false)[0]
	v := 0.0
	v2 := 0.0
	for _, a := range arms {
		_, s2 := a.moments(0)
		v += a.Weight[0] * a.Weight[0] * s2
		v2 += math.Pow(a.Weight[0]*a.Weight[0]*s2, 2)
	}

	enough := func(n int) bool {
		if v == 0 {
			return e.Difference != limit
		}
		return Power((e.Difference-limit)/math.Sqrt(v/float64(n)), float64(n-1)*v*v/v2, level) >= power
	}

	high := 2
	for ; !enough(high); high *= 2 {
		if high > mostUnits {
			return 0
		}
	}

	low := high / 2
	for low+1 < high {
		mid := (low + high) / 2
		if enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}

	return max(high, 2)
}

// Power returns the probability that an interval at a level, with df degrees of freedom, excludes a limit that is delta
// standard errors away from the true difference: the probability that |t| of a noncentral t distribution exceeds its
// critical value. It integrates over the quantiles of the measured scatter.
func Power(delta, df, level float64) float64 {
	t := student(df).Quantile((1 + level) / 2)

	return quad.Fixed(func(u float64) float64 {
		s := math.Sqrt(2 * mathext.GammaIncRegInv(df/2, u) / df)
		return distuv.UnitNormal.CDF(delta-t*s) + distuv.UnitNormal.CDF(-delta-t*s)
	}, 0, 1, 100, nil, 0)
}

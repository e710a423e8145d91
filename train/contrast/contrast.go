// Package contrast compares two configurations by the units that were exchanged between them: runs, motors or days. The
// values of one unit are not independent, so that each unit counts once.
//
// The interval of a mean difference is Welch's. Differences over conditions have a simultaneous band, whose critical
// value is a quantile of the largest |t| under the units' own correlation (docs/contrast.md).
package contrast

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Arm contains at least two units that share a mean: the units of one side, the units of one side at one condition, or
// differences of pairs.
type Arm struct {
	Weight []float64   // by point: weight of the arm's mean in the difference; 0 if the arm is not part of it
	Curves [][]float64 // units × points
}

// Estimate is a difference at one point.
type Estimate struct {
	Difference float64
	SE         float64 // standard error
	DF         float64 // degrees of freedom of the standard error
	Low        float64 // lower end of the interval
	High       float64 // upper end of the interval
}

// Mean returns the difference of arms that have one point, with Welch's interval at a level. There must be at least one
// arm.
func Mean(arms []Arm, level float64) Estimate {
	return estimates(arms, pointByPoint)[0].Within(level)
}

// Within returns an estimate with its interval at a level, by Student's t.
func (e Estimate) Within(level float64) Estimate {
	return e.within(student(e.DF).Quantile((1 + level) / 2))
}

// Above returns the probability that the true difference is above a limit, if all differences were equally probable
// before the measurement. Without scatter it is 0 or 1.
func (e Estimate) Above(limit float64) float64 {
	if e.SE == 0 {
		if e.Difference > limit {
			return 1
		}

		return 0
	}
	return student(e.DF).CDF((e.Difference - limit) / e.SE)
}

// within returns an estimate with the interval of ± t standard errors.
func (e Estimate) within(t float64) Estimate {
	e.Low = e.Difference - t*e.SE
	e.High = e.Difference + t*e.SE
	return e
}

// student returns Student's t distribution with df degrees of freedom.
func student(df float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: df} }

// pointByPoint is the value of pool with which estimates takes the variance of the units from each point by itself.
const pointByPoint = false

// estimates returns the differences at the points, with Welch's standard errors and degrees of freedom (Satterthwaite).
// If pool is true, the variance of the units is the same at all points, and is estimated from all of them together.
func estimates(arms []Arm, pool bool) []Estimate {
	list := make([]Estimate, len(arms[0].Weight))
	pooled, pooledDF := pooledVariance(arms)
	for p := range list {
		e := &list[p]
		variance := 0.0 // of the difference
		squares := 0.0  // sum of the squared variances of the arms' means over their degrees of freedom
		allDF := 0.0
		for _, a := range arms {
			if a.Weight[p] == 0 {
				continue
			}

			mean, unitVariance := a.moments(p)
			if pool {
				unitVariance = pooled
			}

			n := float64(len(a.Curves))
			part := a.Weight[p] * a.Weight[p] * unitVariance / n
			e.Difference += a.Weight[p] * mean
			variance += part
			squares += part * part / (n - 1)
			allDF = allDF + n - 1
		}

		e.SE = math.Sqrt(variance)
		switch {
		case pool:
			e.DF = pooledDF
		case variance == 0:
			e.DF = allDF
		default:
			e.DF = variance * variance / squares
		}
	}

	return list
}

// pooledVariance returns the variance of the units about the means of their arms, over all points at which the arms
// have a weight, and its degrees of freedom.
func pooledVariance(arms []Arm) (variance, df float64) {
	sum := 0.0
	for _, a := range arms {
		for p, weight := range a.Weight {
			if weight == 0 {
				continue
			}

			_, unitVariance := a.moments(p)
			sum += unitVariance * float64(len(a.Curves)-1)
			df += float64(len(a.Curves) - 1)
		}
	}

	return sum / df, df
}

// moments returns the mean and the variance of the units at a point.
func (a Arm) moments(p int) (mean, variance float64) {
	n := float64(len(a.Curves))
	for _, c := range a.Curves {
		mean += c[p] / n
	}

	for _, c := range a.Curves {
		variance += (c[p] - mean) * (c[p] - mean) / (n - 1)
	}

	return mean, variance
}

// Package contrast compares two configurations by the units that were exchanged between them: runs,
// motors, days. Values of one unit are not independent, so each unit counts once.
//
// Means have Welch's interval. Differences over conditions have a simultaneous band, whose critical
// value is that of the largest |t| under the units' own correlation (docs/contrast.md).
package contrast

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Arm is the units that share a mean, at least two: one side, one side at one condition, or the
// differences of pairs.
type Arm struct {
	Weight []float64   // of its mean in the difference, by point; 0: it has no part there
	Curves [][]float64 // units × points
}

// Estimate is a difference at one point.
type Estimate struct {
	Difference, SE, DF float64
	Low, High          float64
}

// Mean is the difference of arms of one point, with Welch's interval.
func Mean(arms []Arm, level float64) Estimate {
	e := estimates(arms, false)[0]
	return e.within(student(e.DF).Quantile((1 + level) / 2))
}

// Above is the probability that the difference is above a limit, of no prior knowledge.
func (e Estimate) Above(limit float64) float64 {
	if e.SE == 0 {
		return map[bool]float64{true: 1}[e.Difference > limit]
	}
	return student(e.DF).CDF((e.Difference - limit) / e.SE)
}

func (e Estimate) within(t float64) Estimate {
	e.Low, e.High = e.Difference-t*e.SE, e.Difference+t*e.SE
	return e
}

func student(df float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: df} }

// estimates are the differences at the points. Where each arm has a part at one of several points, pool
// takes one scatter of the units for all.
func estimates(arms []Arm, pool bool) []Estimate {
	out := make([]Estimate, len(arms[0].Weight))
	sum, free := 0.0, 0.0
	for _, a := range arms {
		for p := range out {
			if _, s2 := a.moments(p); a.Weight[p] != 0 {
				sum, free = sum+s2*float64(len(a.Curves)-1), free+float64(len(a.Curves)-1)
			}
		}
	}

	for p := range out {
		e := &out[p]
		v, v2, all := 0.0, 0.0, 0.0
		for _, a := range arms {
			if a.Weight[p] == 0 {
				continue
			}

			mean, s2 := a.moments(p)

			if pool {
				s2 = sum / free
			}

			n := float64(len(a.Curves))
			part := a.Weight[p] * a.Weight[p] * s2 / n
			e.Difference += a.Weight[p] * mean
			v, v2, all = v+part, v2+part*part/(n-1), all+n-1
		}

		e.SE, e.DF = math.Sqrt(v), v*v/v2
		if pool {
			e.DF = free
		} else if v == 0 {
			e.DF = all
		}
	}

	return out
}

// moments are the mean and the variance of the units at a point.
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

// draws of the law of the largest |t|: its quantile at 95 % is then known to half a percent in level.
const draws = 2000

// Band is the differences at all points with a band that holds all of them together with probability
// level. The law of the largest |t| is simulated for as many units with their scatter and their
// correlation between points, shrunk for what few units do not determine.
func Band(arms []Arm, level float64) []Estimate {
	pool, points := separate(arms), len(arms[0].Weight)
	out := estimates(arms, pool)

	scale := scales(arms, pool)
	root := correlation(arms, scale, pool)

	fake := make([]Arm, len(arms))
	for k, a := range arms {
		fake[k] = Arm{Weight: a.Weight, Curves: make([][]float64, len(a.Curves))}
		for i := range a.Curves {
			fake[k].Curves[i] = make([]float64, points)
		}
	}

	random := rand.New(rand.NewPCG(0, 0x636f6e7472617374))
	most, z := make([]float64, draws), make([]float64, points)
	for i := range most {
		for k, a := range arms {
			for _, c := range fake[k].Curves {
				for p := range z {
					z[p] = random.NormFloat64()
				}

				for p := range c {
					if c[p] = 0; a.Weight[p] != 0 {
						for q := range p + 1 {
							c[p] += scale[k] * root.At(p, q) * z[q]
						}
					}
				}
			}
		}

		for _, e := range estimates(fake, pool) {
			if t := math.Abs(e.Difference) / e.SE; t > most[i] { // no scatter: NaN
				most[i] = t
			}
		}
	}

	slices.Sort(most)
	critical := most[int(math.Ceil(level*draws))-1]
	for p, e := range out {
		out[p] = e.within(critical)
	}

	return out
}

// scales are the arms' deviations, but for a common factor. Their logarithms are shrunk towards the mean by
// the share of their scatter that equal deviations would show (James and Stein).
func scales(arms []Arm, equal bool) []float64 {
	scale := make([]float64, len(arms))
	mean, chance := 0.0, 0.0
	for k, a := range arms {
		sum, parts := 0.0, 0.0
		for p, w := range a.Weight {
			if _, s2 := a.moments(p); w != 0 {
				sum, parts = sum+s2, parts+1
			}
		}

		equal = equal || sum == 0
		scale[k] = math.Log(sum/parts) / 2
		mean += scale[k] / float64(len(arms))
		chance += mathext.Zeta(2, float64(len(a.Curves)-1)/2) / 4 * (1 - 1/float64(len(arms)))
	}

	scatter := 0.0
	for _, s := range scale {
		scatter += (s - mean) * (s - mean)
	}

	for k, s := range scale {
		if scale[k] = 1; !equal && scatter > chance {
			scale[k] = math.Exp((s - mean) * (1 - chance/scatter))
		}
	}

	return scale
}

// separate reports whether each arm has a part at one of several points.
func separate(arms []Arm) bool {
	for _, a := range arms {
		parts := 0
		for _, w := range a.Weight {
			if w != 0 {
				parts++
			}
		}

		if parts > 1 || len(a.Weight) == 1 {
			return false
		}
	}

	return true
}

// correlation is the root of the units' correlation between points. With ν degrees of freedom r² of
// unrelated points is 1/ν on average; the correlations are shrunk by what that makes of all r².
func correlation(arms []Arm, scale []float64, separate bool) *mat.TriDense {
	points := len(arms[0].Weight)
	r := mat.NewSymDense(points, nil)
	free := 0.0
	for k, a := range arms {
		free += float64(len(a.Curves) - 1)
		if separate {
			continue
		}

		for p := range points {
			mp, _ := a.moments(p)
			for q := range p + 1 {
				mq, _ := a.moments(q)
				for _, c := range a.Curves {
					r.SetSym(p, q, r.At(p, q)+(c[p]-mp)*(c[q]-mq)/(scale[k]*scale[k]))
				}
			}
		}
	}

	d, sum, honest := make([]float64, points), 0.0, 0.0
	for p := range d {
		d[p] = math.Sqrt(r.At(p, p))
		for q := range p {
			if d[p]*d[q] == 0 {
				r.SetSym(p, q, 0)
				continue
			}

			v := r.At(p, q) / (d[p] * d[q])
			r.SetSym(p, q, v)
			sum, honest = sum+v*v, honest+(free*v*v-1)/max(free-1, 1)
		}
	}

	keep := 0.0
	if sum > 0 {
		keep = math.Sqrt(min(1, max(0, honest/sum)))
	}

	keep = min(keep, 1-1e-9) // so that the root exists
	for p := range d {
		r.SetSym(p, p, 1)
		for q := range p {
			r.SetSym(p, q, keep*r.At(p, q))
		}
	}

	var root mat.Cholesky
	root.Factorize(r)
	l := mat.NewTriDense(points, mat.Lower, nil)
	root.LTo(l)

	return l
}

// Units is the number of units in each arm with which an interval at a level has the limit outside with
// probability power, if the difference is the one found and the scatter stays; 0 above a million.
func Units(arms []Arm, limit, level, power float64) int {
	e := estimates(arms, false)[0]
	v, v2 := 0.0, 0.0
	for _, a := range arms {
		_, s2 := a.moments(0)
		v, v2 = v+a.Weight[0]*a.Weight[0]*s2, v2+math.Pow(a.Weight[0]*a.Weight[0]*s2, 2)
	}

	enough := func(n int) bool {
		if v == 0 {
			return e.Difference != limit
		}
		return Power((e.Difference-limit)/math.Sqrt(v/float64(n)), float64(n-1)*v*v/v2, level) >= power
	}

	high := 2
	for ; !enough(high); high *= 2 {
		if high > 1e6 {
			return 0
		}
	}

	low := high / 2
	for low+1 < high {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}

	return max(high, 2)
}

// Power is the probability that an interval at a level, of so many degrees of freedom, has a limit outside
// from which the true difference is delta standard errors away: |t| of a noncentral t, by quadrature
// over the quantiles of the scatter.
func Power(delta, df, level float64) float64 {
	t := student(df).Quantile((1 + level) / 2)

	return quad.Fixed(func(u float64) float64 {
		s := math.Sqrt(2 * mathext.GammaIncRegInv(df/2, u) / df)
		return distuv.UnitNormal.CDF(delta-t*s) + distuv.UnitNormal.CDF(-delta-t*s)
	}, 0, 1, 100, nil, 0)
}

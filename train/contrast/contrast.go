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

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
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
	return estimates(arms, false)[0].Within(level)
}

// Within is an estimate with its interval at a level, by Student's t.
func (e Estimate) Within(level float64) Estimate {
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
// level. The law of the largest |t|, each for its degrees of freedom, is simulated for as many units with their
// scatter and their correlation between points, shrunk for what few units do not determine.
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

	seed := uint64(0) // of the data, so that the draws' error is not the same in all campaigns of one kind
	for _, a := range arms {
		for _, c := range a.Curves {
			for _, v := range c {
				seed = seed*0x9e3779b97f4a7c15 + math.Float64bits(v)
			}
		}
	}

	random := rand.New(rand.NewPCG(seed, 0x636f6e7472617374))
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
			if z := normalised(math.Abs(e.Difference)/e.SE, e.DF); z > most[i] { // no scatter: NaN
				most[i] = z
			}
		}
	}

	slices.Sort(most)
	critical := most[int(math.Ceil(level*draws))-1]
	for p, e := range out {
		a := critical * (8*e.DF + 3) / (8*e.DF + 1)
		out[p] = e.within(math.Sqrt(e.DF * math.Expm1(a*a/e.DF)))
	}

	return out
}

// normalised is t of so many degrees of freedom as the normal deviate of nearly the same probability
// (Wallace 1959), so that points of unequal degrees of freedom compare.
func normalised(t, df float64) float64 {
	return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
}

// scales are the arms' deviations, but for a common factor. Their logarithms, without the bias of few units, are shrunk
// towards the mean, each by the share of its variance that few units explain (DerSimonian and Laird).
func scales(arms []Arm, equal bool) []float64 {
	scale, weight := make([]float64, len(arms)), make([]float64, len(arms))
	for k, a := range arms {
		s2, free := a.scatter()
		if scale[k], weight[k] = 0, 1; s2 == 0 {
			equal = true
			continue
		}

		scale[k] = (math.Log(s2) + math.Log(free/2) - mathext.Digamma(free/2)) / 2
		weight[k] = 4 / mathext.Zeta(2, free/2)
	}

	w, w2 := floats.Sum(weight), floats.Dot(weight, weight)
	mean, q := floats.Dot(weight, scale)/w, 0.0
	for k, s := range scale {
		q += weight[k] * (s - mean) * (s - mean)
	}

	between := 0.0
	if !equal && len(arms) > 1 {
		between = max(0, (q-float64(len(arms)-1))/(w-w2/w))
	}

	for k := range scale {
		weight[k] = 1 / (between + 1/weight[k])
	}

	mean = floats.Dot(weight, scale) / floats.Sum(weight)
	for k, s := range scale {
		if scale[k] = 1; between > 0 {
			scale[k] = math.Exp((s - mean) * between * weight[k])
		}
	}

	return scale
}

// scatter is the mean variance of an arm's units over its points, and the degrees of freedom of that mean: more
// than those of one variance, as far as the points are unrelated.
func (a Arm) scatter() (s2, free float64) {
	free = float64(len(a.Curves) - 1)
	var own [][]float64 // deviations of the units, by point
	for p, w := range a.Weight {
		if w == 0 {
			continue
		}

		mean, v := a.moments(p)
		s2 += v
		own = append(own, lists.Each(a.Curves, func(c []float64) float64 { return c[p] - mean }))
	}

	sum, points := 0.0, float64(len(own)) // of squared covariances, without bias (normal values)
	for _, d := range own {
		for _, e := range own {
			sum += floats.Dot(d, e) * floats.Dot(d, e)
		}
	}

	if sum = (sum/free - s2*s2) / ((free + 2) * (free - 1)) * free; free == 1 {
		sum = s2 * s2 // two units do not tell
	}

	sum = min(max(sum, s2*s2/points), s2*s2)

	return s2 / points, free * s2 * s2 / sum
}

// separate reports whether each arm has a part at one of several points.
func separate(arms []Arm) bool {
	for _, a := range arms {
		parts := len(lists.Keep(a.Weight, func(w float64) bool { return w != 0 }))
		if parts > 1 || len(a.Weight) == 1 {
			return false
		}
	}

	return true
}

// correlation is the root of the units' correlation between points. Few units show correlations where there are
// none; all are shrunk by one factor. The square that has the mean of all r² as its expectation gave too narrow
// bands of three units, the adjusted one, (ν r² − 1)/(ν − 1), too wide ones of strong correlations; their mean is
// taken.
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
		mean := sum / float64(points*(points-1)/2)
		keep = math.Sqrt(min(1, (unshrunk(mean, free)/mean+max(0, honest/sum))/2))
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

// unshrunk is the square of a correlation whose estimates with so many degrees of freedom have the mean square r2;
// 0 of one degree, with which every estimate is ±1.
func unshrunk(r2, free float64) float64 {
	if free <= 1 {
		return 0
	}

	low, high := 0.0, 1.0
	for range 40 {
		if mid := (low + high) / 2; meanSquare(mid, free) < r2 {
			low = mid
		} else {
			high = mid
		}
	}

	return low
}

// meanSquare is the mean square of estimates of a correlation of normal values,
// 1 − (1 − 1/ν)(1 − ρ²) ₂F₁(1, 1; ν/2 + 1; ρ²).
func meanSquare(rho2, free float64) float64 {
	sum, term := 0.0, 1.0
	for n := 0.0; term > 1e-9 && n < 1e4; n++ {
		sum += term
		term *= (n + 1) / (free/2 + 1 + n) * rho2
	}

	return 1 - (1-1/free)*(1-rho2)*sum
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

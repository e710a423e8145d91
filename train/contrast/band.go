package contrast

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"doubletake/internal/lists"
)

// draws is the number of draws of the largest |t|. The level of its quantile at 95 % is then known to half a percent.
const draws = 2000

// Band returns the differences at all points with a simultaneous band, which contains all true differences together
// with probability level. The band's critical value is a quantile of the largest |t| of all points. Band simulates
// the law of the largest |t|, with the number of units and the scatter of each arm, and with the units' correlation
// between points. The correlation is shrunk, because few units show it badly.
func Band(arms []Arm, level float64) []Estimate {
	pool := separate(arms)
	list := estimates(arms, pool)
	simulation := &simulation{arms: arms, pool: pool, scale: scales(arms, pool)}
	simulation.root = correlationRoot(arms, simulation.scale, pool)
	largest := simulation.largest()
	slices.Sort(largest)
	critical := largest[lists.Share(level, draws)-1]
	for p, e := range list {
		list[p] = e.within(denormalised(critical, e.DF))
	}

	return list
}

// simulation draws the largest |t| of comparisons without a difference.
type simulation struct {
	arms  []Arm
	pool  bool          // one scatter counts for all points
	scale []float64     // deviation of each arm's units
	root  *mat.TriDense // lower Cholesky factor of the correlation between points
}

// largest returns draws of the largest |t|, as normal deviates.
func (s *simulation) largest() []float64 {
	fake := make([]Arm, len(s.arms))
	for k, a := range s.arms {
		fake[k] = Arm{Weight: a.Weight, Curves: make([][]float64, len(a.Curves))}
		for i := range a.Curves {
			fake[k].Curves[i] = make([]float64, len(a.Weight))
		}
	}

	random := rand.New(rand.NewPCG(seedOf(s.arms), 0x636f6e7472617374)) // "contrast"
	largest := make([]float64, draws)
	for i := range largest {
		for k := range fake {
			s.draw(fake[k], s.scale[k], random)
		}

		for _, e := range estimates(fake, s.pool) {
			// Without scatter the deviate is NaN, which is not larger than any number.
			if z := normalised(math.Abs(e.Difference)/e.SE, e.DF); z > largest[i] {
				largest[i] = z
			}
		}
	}

	return largest
}

// draw replaces the curves of an arm by random ones with the given deviation and the correlation of the simulation.
func (s *simulation) draw(arm Arm, scale float64, random *rand.Rand) {
	z := make([]float64, len(arm.Weight))
	for _, curve := range arm.Curves {
		for p := range z {
			z[p] = random.NormFloat64()
		}

		for p := range curve {
			curve[p] = 0
			if arm.Weight[p] == 0 {
				continue
			}

			for q := range p + 1 {
				curve[p] += scale * s.root.At(p, q) * z[q]
			}
		}
	}
}

// seedOf returns a seed that depends on the data, so that the error of the draws is not the same in all campaigns of
// one kind.
func seedOf(arms []Arm) uint64 {
	seed := uint64(0)
	for _, a := range arms {
		for _, c := range a.Curves {
			for _, v := range c {
				seed = seed*0x9e3779b97f4a7c15 + math.Float64bits(v) // the golden ratio in 64 bits
			}
		}
	}

	return seed
}

// normalised returns the normal deviate that has nearly the same probability as t with df degrees of freedom
// (Wallace 1959), so that points of unequal degrees of freedom can be compared.
func normalised(t, df float64) float64 {
	return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
}

// denormalised returns the t with df degrees of freedom whose normal deviate is z. It is the inverse of normalised.
func denormalised(z, df float64) float64 {
	a := z * (8*df + 3) / (8*df + 1)
	return math.Sqrt(df * math.Expm1(a*a/df))
}

// scales returns the deviations of the arms' units, up to a common factor. It corrects the logarithm of each
// deviation for the bias of few units, and shrinks it towards the mean of all logarithms by the method of DerSimonian
// and Laird (1986). If areEqual is true, or an arm has no scatter, all deviations are 1.
func scales(arms []Arm, areEqual bool) []float64 {
	logs := make([]float64, len(arms))   // of the deviations
	weight := make([]float64, len(arms)) // inverse variance of each logarithm
	for k, a := range arms {
		variance, free := a.scatter()
		if variance == 0 {
			areEqual = true
			break
		}

		logs[k] = (math.Log(variance) + math.Log(free/2) - mathext.Digamma(free/2)) / 2
		weight[k] = 4 / mathext.Zeta(2, free/2)
	}

	between := 0.0 // variance of the logarithms between arms
	if !areEqual && len(arms) > 1 {
		between = varianceBetween(logs, weight)
	}

	if between == 0 {
		return slices.Repeat([]float64{1}, len(arms))
	}

	for k := range weight {
		weight[k] = 1 / (between + 1/weight[k])
	}

	mean := floats.Dot(weight, logs) / floats.Sum(weight)
	scale := make([]float64, len(arms))
	for k, log := range logs {
		scale[k] = math.Exp((log - mean) * between * weight[k])
	}

	return scale
}

// varianceBetween returns the variance of the true values of some estimates beyond the variances of the estimates, by
// the method of moments of DerSimonian and Laird (1986). weight has the inverse variance of each estimate.
func varianceBetween(estimates, weight []float64) float64 {
	sum := floats.Sum(weight)
	mean := floats.Dot(weight, estimates) / sum
	q := 0.0 // Cochran's Q, the weighted sum of squared deviations
	for k, v := range estimates {
		q += weight[k] * (v - mean) * (v - mean)
	}

	return max(0, (q-float64(len(estimates)-1))/(sum-floats.Dot(weight, weight)/sum))
}

// scatter returns the mean variance of an arm's units over its points, and the degrees of freedom of this mean. The
// less the points are related, the more degrees of freedom the mean has.
func (a Arm) scatter() (mean, meanFree float64) {
	free := float64(len(a.Curves) - 1)
	s2 := 0.0           // sum of the variances at the points
	var own [][]float64 // by point: deviations of the units from their mean
	for p, w := range a.Weight {
		if w == 0 {
			continue
		}

		center, v := a.moments(p)
		s2 += v

		deviations := make([]float64, len(a.Curves))
		for i, curve := range a.Curves {
			deviations[i] = curve[p] - center
		}

		own = append(own, deviations)
	}

	points := float64(len(own))
	sum := 0.0 // sum of the squared covariances between points, times free²
	for _, d := range own {
		for _, e := range own {
			sum += floats.Dot(d, e) * floats.Dot(d, e)
		}
	}

	unbiased := s2 * s2 // two units cannot show that points are unrelated
	if free > 1 {
		// The estimate of the sum of squared covariances that is unbiased for normal values.
		unbiased = (sum/free - s2*s2) / ((free + 2) * (free - 1)) * free
	}

	// The lower limit is reached by unrelated points, the upper one by points that are all equal.
	unbiased = min(max(unbiased, s2*s2/points), s2*s2)

	return s2 / points, free * s2 * s2 / unbiased
}

// separate reports whether there are several points, and each arm has a weight at one point at most.
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

// correlationRoot returns the lower Cholesky factor of the units' correlation between points, whose off-diagonal
// elements are shrunk by one factor. If areSeparate is true, the correlation is the unit matrix.
func correlationRoot(arms []Arm, scale []float64, areSeparate bool) *mat.TriDense {
	points := len(arms[0].Weight)
	r := mat.NewSymDense(points, nil)
	if !areSeparate {
		addProducts(r, arms, scale)
	}

	free := 0.0
	for _, a := range arms {
		free += float64(len(a.Curves) - 1)
	}

	normalise(r)
	keep := shrinkage(r, free)
	for p := range points {
		r.SetSym(p, p, 1)
		for q := range p {
			r.SetSym(p, q, keep*r.At(p, q))
		}
	}

	// A correlation matrix that is shrunk is positive definite, so that Factorize finds a factor.
	var root mat.Cholesky
	root.Factorize(r)
	l := mat.NewTriDense(points, mat.Lower, nil)
	root.LTo(l)

	return l
}

// addProducts adds to r the products of the units' deviations at all pairs of points, in units of each arm's scale.
func addProducts(r *mat.SymDense, arms []Arm, scale []float64) {
	for k, a := range arms {
		for p := range r.SymmetricDim() {
			mp, _ := a.moments(p)
			for q := range p + 1 {
				mq, _ := a.moments(q)
				for _, c := range a.Curves {
					r.SetSym(p, q, r.At(p, q)+(c[p]-mp)*(c[q]-mq)/(scale[k]*scale[k]))
				}
			}
		}
	}
}

// normalise divides the off-diagonal products of deviations by the deviations at both points, which makes them
// correlations. The correlation with a point without scatter is 0.
func normalise(r *mat.SymDense) {
	d := make([]float64, r.SymmetricDim())
	for p := range d {
		d[p] = math.Sqrt(r.At(p, p))
		for q := range p {
			if d[p]*d[q] == 0 {
				r.SetSym(p, q, 0)
			} else {
				r.SetSym(p, q, r.At(p, q)/(d[p]*d[q]))
			}
		}
	}
}

// mostKept is the largest result of shrinkage. It is below 1, so that the Cholesky factor exists even if correlations
// are ±1.
const mostKept = 1 - 1e-9

// shrinkage returns the factor by which the correlations r are shrunk, because few units show correlations even if
// there are none. free is the number of degrees of freedom ν of the units.
//
// The factor is the root of the mean of two estimates of ρ²/r², where ρ is the true correlation. The first takes the
// ρ² with which the expectation of r² is the mean of all r² (unshrunk); alone it gave too narrow bands with three
// units. The second takes the adjusted square (ν r² − 1)/(ν − 1); alone it gave too wide bands with strong
// correlations.
func shrinkage(r *mat.SymDense, free float64) float64 {
	points := r.SymmetricDim()
	squares := 0.0
	adjusted := 0.0
	for p := range points {
		for q := range p {
			hasScatter := math.Sqrt(r.At(p, p))*math.Sqrt(r.At(q, q)) != 0
			if !hasScatter {
				continue
			}

			v := r.At(p, q)
			squares += v * v
			adjusted += (free*v*v - 1) / max(free-1, 1)
		}
	}

	if squares == 0 {
		return 0
	}

	mean := squares / float64(points*(points-1)/2)
	byMean := unshrunk(mean, free) / mean
	byAdjusted := max(0, adjusted/squares)

	return min(math.Sqrt(min(1, (byMean+byAdjusted)/2)), mostKept)
}

// bisections is the number of times that the unit interval is halved, which leaves 1e-12.
const bisections = 40

// unshrunk returns the squared correlation ρ² with which estimates of the correlation have the mean square r2. free
// is the number of their degrees of freedom. unshrunk returns 0 for one degree of freedom, with which every estimate
// is ±1.
func unshrunk(r2, free float64) float64 {
	if free <= 1 {
		return 0
	}

	low := 0.0
	high := 1.0
	for range bisections {
		mid := (low + high) / 2
		if meanSquare(mid, free) < r2 {
			low = mid
		} else {
			high = mid
		}
	}

	return low
}

// Ends of the series of meanSquare.
const (
	leastTerm = 1e-9 // the series ends after a term of this size
	mostTerms = 1e4  // with ρ² near 1 and few degrees of freedom it converges slowly
)

// meanSquare returns the mean square of the estimates of a correlation of normal values with free degrees of freedom ν:
// 1 − (1 − 1/ν)(1 − ρ²) ₂F₁(1, 1; ν/2 + 1; ρ²), with the series of the hypergeometric function.
func meanSquare(rho2, free float64) float64 {
	sum := 0.0
	term := 1.0
	for n := 0.0; term > leastTerm && n < mostTerms; n++ {
		sum += term
		term *= (n + 1) / (free/2 + 1 + n) * rho2
	}

	return 1 - (1-1/free)*(1-rho2)*sum
}

package scale

import "math"

// Table returns half widths of intervals at many conditions faster than Mixture.Half, which it agrees with to at least
// five digits. It is not safe for concurrent use.
//
// In units of the root of the claim, the law at a condition depends on two numbers only: the distance and the noise,
// both over the claim. Table computes half widths on a grid of the logarithms of these two numbers, each when it is
// first needed, and interpolates their logarithms.
type Table struct {
	*Predictor
	level             float64
	dependsOnDistance bool             // whether the law depends on the distance
	nodes             map[node]float64 // known points: ln of the half width over the root of the claim
	m                 Mixture          // room
}

// node is a point of the grid, by its numbers of steps from 0.
type node struct {
	distance int // ln of the distance over the claim
	noise    int // ln of the noise over the claim

	known bool // whether the distance is Known; distance is then 0
}

const (
	tablePoints = 6       // of the interpolating polynomial, in each direction
	tableStep   = 1.0 / 3 // step of the logarithms
	leastNoise  = -30.0   // ln of a noise over the claim that counts as no noise
)

// Table returns a table of the half widths of intervals with the given level.
func (s *Scale) Table(level float64) *Table {
	return &Table{
		Predictor: s.Predictor(), level: level, dependsOnDistance: s.UsesDistance(), nodes: map[node]float64{},
	}
}

// Half returns the half width of the interval for the law that SetLaw sets with the same arguments.
func (t *Table) Half(claim, distance, noise float64) float64 {
	unit := t.s.claim(claim)
	lnNoise := max(math.Log(max(noise, 0)/unit), leastNoise)
	lnDistance := 0.0
	known := distance == Known
	if t.dependsOnDistance && !known {
		lnDistance = math.Log(distance / unit)
	}

	// Numbers that are not finite have no place on the grid.
	size := math.Abs(lnDistance) + math.Abs(lnNoise) + unit
	if !(size < math.MaxFloat64) {
		t.SetLaw(&t.m, claim, distance, noise)
		return t.m.Half(t.level)
	}

	firstDistance, distanceWeights := lagrange(lnDistance)
	firstNoise, noiseWeights := lagrange(lnNoise)
	sum := 0.0
	for a, u := range distanceWeights {
		for b, v := range noiseWeights {
			if u != 0 && v != 0 {
				sum += u * v * t.lnHalf(node{firstDistance + a, firstNoise + b, known})
			}
		}
	}

	return math.Exp(sum) * math.Sqrt(unit)
}

// lnHalf returns ln of the half width at a point of the grid, where the claim is 1.
func (t *Table) lnHalf(n node) float64 {
	v, known := t.nodes[n]
	if known {
		return v
	}

	// The search of Mixture.Half begins with these variances. It finds the same half width from any others,
	// up to its tolerance.
	t.m.epistemic = 1
	t.m.noise = 0
	distance := math.Exp(float64(n.distance) * tableStep)
	if n.known {
		distance = Known
	}

	t.setLaws(&t.m, 1, distance, math.Exp(float64(n.noise)*tableStep))
	v = math.Log(t.m.Half(t.level))
	t.nodes[n] = v

	return v
}

// lagrange returns the weights of Lagrange's polynomial through the tablePoints points of the grid about x, and the
// first of these points.
func lagrange(x float64) (first int, w [tablePoints]float64) {
	x /= tableStep
	first = int(math.Floor(x)) - tablePoints/2 + 1
	for i := range w {
		w[i] = 1
		for k := range w {
			if k != i {
				w[i] *= (x - float64(first+k)) / float64(i-k)
			}
		}
	}

	return first, w
}

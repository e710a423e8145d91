package scale

import "math"

// A Table gives half widths of intervals at many conditions. But for its unit the law at a
// condition has two parameters, the distance and the noise over the claim: half widths over the
// claim's root are solved for on a grid of their logarithms, as it is needed, and interpolated
// between. They are those of Mixture.Half to five digits at least. It is not safe for concurrent use.
type Table struct {
	*Predictor
	level    float64
	distance bool // whether the law depends on it
	nodes    map[[2]int]float64
	m        Mixture
}

const (
	tablePoints = 6       // of the interpolating polynomial
	tableStep   = 1.0 / 3 // of the logarithms
	leastNoise  = -30.0   // of the logarithms: less is none
)

// Table prepares half widths of a level.
func (s *Scale) Table(level float64) *Table {
	return &Table{Predictor: s.Predictor(), level: level, distance: s.UsesDistance(), nodes: map[[2]int]float64{}}
}

// Half is the half width of the interval of the law that At makes.
func (t *Table) Half(claim, distance, noise float64) float64 {
	unit := t.s.claim(claim)
	far, loud := 0.0, max(math.Log(max(noise, 0)/unit), leastNoise)
	if t.distance {
		far = math.Log(distance / unit)
	}

	if at := math.Abs(far) + math.Abs(loud) + unit; !(at < math.MaxFloat64) { // of predictions that are not finite
		t.At(&t.m, claim, distance, noise)
		return t.m.Half(t.level)
	}

	i, wi := lagrange(far)
	j, wj := lagrange(loud)
	sum := 0.0
	for a, u := range wi {
		for b, v := range wj {
			if u != 0 && v != 0 {
				sum += u * v * t.node(i+a, j+b)
			}
		}
	}

	return math.Exp(sum) * math.Sqrt(unit)
}

// node is the logarithm of the half width at a point of the grid, where the claim is one unit.
func (t *Table) node(far, loud int) float64 {
	at := [2]int{far, loud}
	v, known := t.nodes[at]
	if !known {
		t.m.epistemic, t.m.noise = 1, 0 // where the search begins
		t.law(&t.m, 1, math.Exp(float64(far)*tableStep), math.Exp(float64(loud)*tableStep))
		v = math.Log(t.m.Half(t.level))
		t.nodes[at] = v
	}

	return v
}

// lagrange returns the weights of the polynomial through the points of the grid about x, and the
// first of them.
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

package train

import (
	"cmp"
	"math"
	"slices"
)

// piecewise integrates the second answer of a network with one outcome exactly, in float64. Its estimates average over
// y = μ + σε fed back, with standard normal ε. As a function of ε the network is piecewise linear: the mean is
// m = a + bε, and the raw variance likewise, between two kinks. So
//
//	C = σ·Σ b·(Φ(u) − Φ(l)),  E[m] = Σ [a·(Φ(u) − Φ(l)) + b·(φ(l) − φ(u))],
//
// with sums over the pieces [l, u] (docs/method.md#how-c-is-integrated; C by Stein's lemma). The variance v is not a
// polynomial of ε: E[v] is integrated by Gauss–Legendre on each piece.
//
// integratePiece finds the pieces by recursion: the units of layer 0 divide [−reach, reach] at their kinks. On each
// part, the units of layer 1 are linear and divide it further, and so on. On a piece of the last layer, addPiece adds
// its part. A piecewise is not safe for concurrent use.
type piecewise struct {
	*layout
	p     []float64  // parameters, in the places of layout
	forms [][]linear // [layer]: pre-activations on the current piece; the last are the mean and the raw variance
	kinks [][]kink   // [hidden layer]: kinks of its units on the current piece

	mu     float64 // mean of the first answer
	pieces []segment
	sums   pieceSums // over the pieces so far
	edge   edge      // end of the latest piece
}

// integrated is what integrate finds at one condition, in the network's units.
type integrated struct {
	cov, delta, kappa float64 // C, δ and κ

	mu, sigma float64   // of the first answer
	pieces    []segment // m − μ as a function of ε; the next call of integrate overwrites them
}

// pieceSums contains sums over the pieces, from which C, δ and κ follow.
type pieceSums struct {
	slope    float64 // C/σ, the mean slope of m
	shift    float64 // E[m−μ], which is δ
	square   float64 // E[(m−μ)²]
	variance float64 // E[v]
}

// edge is an end of a piece, with the normal distribution function and density there.
type edge struct{ place, cdf, pdf float64 }

// segment is m − μ on a piece. The piece begins where the one before ends.
type segment struct {
	linear
	hi float64 // end of the piece
}

// draws are sampled ε with running sums.
type draws struct {
	eps     []float64 // ascending
	sum     []float64 // [i]: sum of the first i values of eps
	squares []float64 // [i]: sum of their squares
}

// newDraws returns the draws eps, sorted, with their sums.
func newDraws(eps []float32) *draws {
	d := &draws{make([]float64, len(eps)), make([]float64, len(eps)+1), make([]float64, len(eps)+1)}
	for i, e := range eps {
		d.eps[i] = float64(e)
	}

	slices.Sort(d.eps)

	for i, e := range d.eps {
		d.sum[i+1] = d.sum[i] + e
		d.squares[i+1] = d.squares[i] + float64(e*e)
	}

	return d
}

// sampled returns CovRaw, (1/M) Σ y·m(y) − μ² over the M draws y = μ + σε. On a piece m is linear, so that its sums
// over the draws follow from the sums of ε and ε².
func (f integrated) sampled(d *draws) float64 {
	c := 0.0  // Σ(m−μ)
	ec := 0.0 // Σε(m−μ)
	start := 0
	n := len(d.eps)
	for i, s := range f.pieces {
		end := n
		if i+1 < len(f.pieces) {
			k, _ := slices.BinarySearch(d.eps[start:], s.hi)
			end = start + k
		}

		s1 := d.sum[end] - d.sum[start]
		s2 := d.squares[end] - d.squares[start]
		c += float64(s.a*float64(end-start)) + float64(s.b*s1)
		ec += float64(s.a*s1) + float64(s.b*s2)
		start = end
	}

	m := float64(n)
	raw := float64(float64(f.mu*f.sigma) * (d.sum[n] / m))
	raw += float64(f.mu * (c / m))

	return raw + float64(f.sigma*(ec/m))
}

// linear is the function a + b·ε.
type linear struct{ a, b float64 }

// kink is the ε at which the pre-activation of a unit is 0.
type kink struct {
	place float64
	unit  int
}

// reach is the greatest |ε| that is integrated. The probability of greater ones is 2e-19.
const reach = 9

// newPiecewise returns memory for the integration of a network with those parameters.
func newPiecewise(l *layout, params []float64) *piecewise {
	p := &piecewise{layout: l, p: params}
	for i := range l.depth() + 1 {
		p.forms = append(p.forms, make([]linear, l.fanOut(i)))
		p.kinks = append(p.kinks, nil)
	}

	return p
}

// integrate integrates the second answer at the condition x, which is in the network's units. none is the value of the
// feedback input without feedback.
func (p *piecewise) integrate(x []float32, none float64) integrated {
	mu, variance := p.firstAnswer(x, none)
	sigma := math.Sqrt(variance)

	f := p.startForms(x, mu, 1)
	for j := range f {
		f[j].b = sigma * p.p[p.at(0, p.inputs, j)]
	}

	p.mu = mu
	p.sums = pieceSums{}
	p.pieces = p.pieces[:0]
	p.integratePiece(0, -reach, reach)

	delta := p.sums.shift
	varianceOfMean := p.sums.square - float64(delta*delta)

	return integrated{
		cov: sigma * p.sums.slope, delta: delta, kappa: p.sums.variance + varianceOfMean - variance,
		mu: mu, sigma: sigma, pieces: p.pieces,
	}
}

// firstAnswer returns the first answer at the condition x.
func (p *piecewise) firstAnswer(x []float32, none float64) (mu, variance float64) {
	p.startForms(x, none, 0)

	for i := range p.depth() {
		p.nextForms(i, 0)
	}

	o := p.forms[p.depth()]

	return o[0].a, Variance(o[1].a)
}

// startForms sets the pre-activations of layer 0 for y fed back and the flag b, as constants in ε. It returns them.
func (p *piecewise) startForms(x []float32, y, b float64) []linear {
	f := p.forms[0]
	for j := range f {
		s := p.p[p.b[0]+j]
		for i, xi := range x {
			s += float64(float64(xi) * p.p[p.at(0, i, j)])
		}

		s += float64(y * p.p[p.at(0, p.inputs, j)])
		if p.flag > 0 {
			s += float64(b * p.p[p.at(0, p.inputs+1, j)])
		}

		f[j] = linear{s, 0}
	}

	return f
}

// nextForms computes the pre-activations of layer i+1. The units of layer i that are positive immediately above eps are
// active.
func (p *piecewise) nextForms(i int, eps float64) {
	dst := p.forms[i+1]
	for j := range dst {
		dst[j] = linear{p.p[p.b[i+1]+j], 0}
	}

	for u, f := range p.forms[i] {
		value := f.a + float64(f.b*eps)
		rises := value == 0 && f.b > 0
		if value > 0 || rises {
			p.add(i, u, 1)
		}
	}
}

// add adds unit u of layer i to the pre-activations of layer i+1 (sign 1), or takes it away (sign −1).
func (p *piecewise) add(i, u int, sign float64) {
	f := p.forms[i][u]
	f.a *= sign
	f.b *= sign

	dst := p.forms[i+1]
	if i+1 == p.depth() {
		for j := range dst {
			w := p.p[p.at(i+1, u, j)]
			dst[j].a += float64(w * f.a)
			dst[j].b += float64(w * f.b)
		}

		return
	}

	w := p.p[p.at(i+1, u, 0):]
	w = w[:len(dst)]
	for j, wj := range w {
		dst[j].a += float64(wj * f.a)
		dst[j].b += float64(wj * f.b)
	}
}

// integratePiece integrates over [lo, hi], on which the pre-activations of layer i are linear. It divides the interval
// at the kinks of the layer's units.
func (p *piecewise) integratePiece(i int, lo, hi float64) {
	if i == p.depth() {
		p.addPiece(p.forms[i][0], p.forms[i][1], lo, hi)
		return
	}

	k := p.kinks[i][:0]
	for u, f := range p.forms[i] {
		if f.b == 0 {
			continue
		}

		if root := -f.a / f.b; root > lo && root < hi {
			k = append(k, kink{root, u})
		}
	}

	slices.SortFunc(k, func(a, b kink) int { return cmp.Or(cmp.Compare(a.place, b.place), a.unit-b.unit) })

	p.kinks[i] = k
	p.nextForms(i, lo)

	for _, q := range k {
		if q.place > lo {
			p.integratePiece(i+1, lo, q.place)
			lo = q.place
		}

		sign := -1.0 // the unit ends to be active at its kink
		if p.forms[i][q.unit].b > 0 {
			sign = 1
		}

		p.add(i, q.unit, sign)
	}

	p.integratePiece(i+1, lo, hi)
}

// addPiece adds the piece [lo, hi] to the sums. m is the mean on the piece, and r the raw variance.
func (p *piecewise) addPiece(m, r linear, lo, hi float64) {
	a := m.a - p.mu
	b := m.b
	p.pieces = append(p.pieces, segment{linear{a, b}, hi})

	// The end of a piece is the beginning of the next, except for the first piece of a condition.
	if lo != p.edge.place || len(p.pieces) == 1 {
		p.edge = edge{lo, normCDF(lo), normPDF(lo)}
	}

	start := p.edge
	p.edge = edge{hi, normCDF(hi), normPDF(hi)}
	mass := p.edge.cdf - start.cdf
	fl := start.pdf
	fh := p.edge.pdf
	first := fl - fh                                          // ∫εφ
	second := mass + (float64(lo*fl) - float64(hi*fh))        // ∫ε²φ
	p.sums.slope += float64(b * mass)                         // Stein's lemma
	p.sums.shift += float64(a*mass) + float64(b*first)        // E[m−μ]
	p.sums.square += float64(a*a*mass) + float64(2*a*b*first) // E[(m−μ)²]
	p.sums.square += float64(b * b * second)
	p.addVariance(r, lo, hi)
}

// addVariance adds the integral of the variance over [lo, hi] to p.sums. r is the raw variance. The panels of the
// integration are longer in the tails, so that they must end where a tail begins.
func (p *piecewise) addVariance(r linear, lo, hi float64) {
	for lo < hi {
		end := hi
		step := legendreStep
		switch {
		case lo < -tail:
			end = min(hi, -tail)
			step = legendreTail
		case lo < tail:
			end = min(hi, tail)
		default:
			step = legendreTail
		}

		rule := legendre5[:]
		if end-lo <= legendreShort {
			rule = legendre3[:]
		}

		n := math.Ceil((end - lo) / step)
		h := (end - lo) / n
		for i := range int(n) {
			mid := lo + float64((float64(i)+0.5)*h)
			for _, q := range rule {
				e := mid + float64(0.5*h*q.node)
				v := Variance(r.a + float64(r.b*e))
				p.sums.variance += float64(0.5 * h * q.weight * v * normPDF(e))
			}
		}

		lo = end
	}
}

// Panels of the Gauss–Legendre integration, in standard deviations. Its error is below 1e-9 if the raw variance changes
// by at most 4 on a standard deviation, and below 2e-6 if it changes by at most 10.
const (
	legendreStep  = 0.5 // longest panel, with five nodes
	legendreShort = 0.2 // three nodes are enough for intervals up to this length
	legendreTail  = 1.5 // longest panel in a tail
	tail          = 6   // a tail begins here: the density is below 1e-8
)

// legendreNode is a node of a rule on [−1, 1] with its weight.
type legendreNode struct{ node, weight float64 }

// The Gauss–Legendre rules with five and three nodes (Abramowitz & Stegun, table 25.4).
var (
	legendre5 = [5]legendreNode{
		{-0.906179845938663993, 0.236926885056189088},
		{-0.538469310105683091, 0.478628670499366468},
		{0, 0.568888888888888889},
		{0.538469310105683091, 0.478628670499366468},
		{0.906179845938663993, 0.236926885056189088},
	}
	legendre3 = [3]legendreNode{
		{-0.774596669241483377, 0.555555555555555556},
		{0, 0.888888888888888889},
		{0.774596669241483377, 0.555555555555555556},
	}
)

package train

import (
	"cmp"
	"math"
	"slices"
)

// piecewise integrates the second answer of a network with one outcome exactly.
// Along y = μ + σε a ReLU network is piecewise linear in ε, m = a + bε and raw
// = a' + b'ε between kinks, so that (docs/method.md#how-c-is-integrated; Stein's lemma for C)

//	C = σ·Σ b·ΔΦ,  E[m] = Σ (a·ΔΦ + b·(φ(l)−φ(u))),

// sums over the pieces [l, u]. E[v] is no polynomial; each piece is integrated
// by Gauss–Legendre. All in float64; not safe for concurrent use.
type piecewise struct {
	*layout
	p       []float64
	forms   [][]linear // pre-activations per layer, the head last
	kinks   [][]kink   // per hidden layer
	mu      float64
	c, m, q float64 // Σ b·ΔΦ, E[m−μ], E[(m−μ)²]
	v       float64 // E[v]
	pieces  []segment
	sigma   float64
	edge    edge
}

// edge is an end of a piece with the normal distribution and density there.
type edge struct{ at, cdf, pdf float64 }

// segment is m − μ on a piece, which ends at hi.
type segment struct {
	linear
	hi float64
}

// draws are sampled ε, ascending, with sums of all before each and their
// squares'.
type draws struct{ eps, sum, squares []float64 }

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

// sampled returns (1/M) Σ y·m(y) − μ² over sampled y = μ + σε, at the condition
// of the last integrate: on a piece m is linear, so its sum follows from those
// of ε and ε², however many there are.
func (p *piecewise) sampled(d *draws) float64 {
	c, ec, from, n := 0.0, 0.0, 0, len(d.eps) // Σ(m−μ), Σε(m−μ)
	for i, s := range p.pieces {
		to := n
		if i+1 < len(p.pieces) {
			k, _ := slices.BinarySearch(d.eps[from:], s.hi)
			to = from + k
		}

		s1, s2 := d.sum[to]-d.sum[from], d.squares[to]-d.squares[from]
		c += float64(s.a*float64(to-from)) + float64(s.b*s1)
		ec += float64(s.a*s1) + float64(s.b*s2)
		from = to
	}

	m := float64(n)
	raw := float64(float64(p.mu*p.sigma) * (d.sum[n] / m))
	raw += float64(p.mu * (c / m))

	return raw + float64(p.sigma*(ec/m))
}

// linear is the function a + b·ε.
type linear struct{ a, b float64 }

type kink struct {
	at   float64
	unit int
}

// reach is the range of ε integrated over; beyond lie 2e-19 of the probability.
const reach = 9

func newPiecewise(l *layout, params []float64) *piecewise {
	p := &piecewise{layout: l, p: params}
	for i := range l.depth() + 1 {
		p.forms = append(p.forms, make([]linear, l.fanOut(i)))
		p.kinks = append(p.kinks, nil)
	}

	return p
}

// integrate returns C, δ and κ at inputs x (network units); none is what the
// feedback input reads without feedback.
func (p *piecewise) integrate(x []float32, none float64) (cov, delta, kappa float64) {
	mu, variance := p.first(x, none)
	sigma := math.Sqrt(variance)

	f := p.start(x, mu, 1)
	for j := range f {
		f[j].b = sigma * p.p[p.at(0, p.in, j)]
	}

	p.mu, p.c, p.m, p.q, p.v, p.sigma = mu, 0, 0, 0, 0, sigma
	p.pieces = p.pieces[:0]
	p.piece(0, -reach, reach)

	return sigma * p.c, p.m, p.v + (p.q - float64(p.m*p.m)) - variance
}

// first is the answer without feedback.
func (p *piecewise) first(x []float32, none float64) (mu, variance float64) {
	p.start(x, none, 0)

	for i := range p.depth() {
		p.next(i, 0)
	}

	o := p.forms[p.depth()]

	return o[0].a, Softplus(o[1].a) + 1e-6
}

// start sets the first pre-activations for y fed back with presence bit b,
// constant in ε.
func (p *piecewise) start(x []float32, y, b float64) []linear {
	f := p.forms[0]
	for j := range f {
		s := p.p[p.b[0]+j]
		for i, xi := range x {
			s += float64(float64(xi) * p.p[p.at(0, i, j)])
		}

		s += float64(y * p.p[p.at(0, p.in, j)])
		if p.flag > 0 {
			s += float64(b * p.p[p.at(0, p.in+1, j)])
		}

		f[j] = linear{s, 0}
	}

	return f
}

// next computes layer i+1 with the units of layer i active that are positive
// just right of ε.
func (p *piecewise) next(i int, eps float64) {
	dst := p.forms[i+1]
	for j := range dst {
		dst[j] = linear{p.p[p.b[i+1]+j], 0}
	}

	for u, f := range p.forms[i] {
		if at := f.a + float64(f.b*eps); at > 0 || at == 0 && f.b > 0 {
			p.add(i, u, 1)
		}
	}
}

// add switches unit u of layer i on (sign 1) or off (−1) in layer i+1.
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

// piece integrates over [lo, hi], where the pre-activations of layer i are
// linear.
func (p *piecewise) piece(i int, lo, hi float64) {
	if i == p.depth() {
		p.integral(p.forms[i][0], p.forms[i][1], lo, hi)
		return
	}

	k := p.kinks[i][:0]
	for u, f := range p.forms[i] {
		if f.b == 0 {
			continue
		}

		if at := -f.a / f.b; at > lo && at < hi {
			k = append(k, kink{at, u})
		}
	}

	slices.SortFunc(k, func(a, b kink) int { return cmp.Or(cmp.Compare(a.at, b.at), a.unit-b.unit) })

	p.kinks[i] = k
	p.next(i, lo)

	for _, q := range k {
		if q.at > lo {
			p.piece(i+1, lo, q.at)
			lo = q.at
		}

		if p.forms[i][q.unit].b > 0 {
			p.add(i, q.unit, 1)
		} else {
			p.add(i, q.unit, -1)
		}
	}

	p.piece(i+1, lo, hi)
}

// integral adds the piece [lo, hi] with mean m and raw variance r.
func (p *piecewise) integral(m, r linear, lo, hi float64) {
	a, b := m.a-p.mu, m.b
	p.pieces = append(p.pieces, segment{linear{a, b}, hi})

	// Pieces come in order: hi of one is lo of the next.
	if lo != p.edge.at || len(p.pieces) == 1 {
		p.edge = edge{lo, normCDF(lo), normPDF(lo)}
	}

	from := p.edge
	p.edge = edge{hi, normCDF(hi), normPDF(hi)}
	mass, fl, fh := p.edge.cdf-from.cdf, from.pdf, p.edge.pdf
	first := fl - fh                                   // ∫εφ
	second := mass + (float64(lo*fl) - float64(hi*fh)) // ∫ε²φ
	p.c += float64(b * mass)                           // Stein
	p.m += float64(a*mass) + float64(b*first)          // E[m−μ]
	p.q += float64(a*a*mass) + float64(2*a*b*first)    // E[(m−μ)²]
	p.q += float64(b * b * second)
	for lo < hi {
		// Panels end at the tails' beginnings, and are longer there.
		to, step := hi, legendreStep
		switch {
		case lo < -tail:
			to, step = min(hi, -tail), legendreTail
		case lo < tail:
			to = min(hi, tail)
		default:
			step = legendreTail
		}

		rule := legendre5[:]
		if to-lo <= legendreShort {
			rule = legendre3[:]
		}

		n := math.Ceil((to - lo) / step)
		h := (to - lo) / n
		for i := range int(n) {
			mid := lo + float64((float64(i)+0.5)*h)
			for _, q := range rule {
				e := mid + float64(0.5*h*q.at)
				v := Softplus(r.a+float64(r.b*e)) + 1e-6
				p.v += float64(0.5 * h * q.weight * v * normPDF(e))
			}
		}

		lo = to
	}
}

// Gauss–Legendre with five nodes (Abramowitz & Stegun, table 25.4): panels of
// half a standard deviation bring its error below 1e-9; three nodes do on
// shorter ones, and longer ones where the density is below 1e-8.
const (
	legendreStep  = 0.5
	legendreShort = 0.2
	legendreTail  = 1.5
	tail          = 6
)

type legendreNode struct{ at, weight float64 }

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

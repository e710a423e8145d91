package honest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"doubletake/train/honest/interval"
)

// form is what distinguishes the variants: means and deviations of the normal
// priors of b1, b2, b3 (deviation 0 fixes the value) and whether v̂ is part of
// the covariance that is compared with the pairs.
type form struct {
	mean, std [3]float64
	offset    bool
}

// formOf returns the form of a variant.
func formOf(v interval.Variant) (form, error) {
	e := form{mean: [3]float64{0, 1, 0}}

	b := form{mean: [3]float64{0.25, 0.75, 0.7}, std: [3]float64{0.25, 0.5, 1}}
	switch v {
	case interval.VariantB, interval.VariantO:
		b.offset = v.OnTop()
		return b, nil
	}

	e.offset = v.OnTop()

	return e, v.Check()
}

// Constants of the fit, in standardised units.
const (
	outcomeStd       = 0.5   // prior deviation of ln β_j between outcomes
	defaultEffective = 3     // pairs that a group counts for, per outcome
	minStart         = 1e-4  // the mean covariance the search starts from, at least
	vanishing        = 1e-4  // a covariance below it is none: the share of Var(y) that scores use as floor
	gradientEnd      = 1e-12 // size of the gradient at which the search ends
	rounding         = 1e-13 // relative error of the objective
)

var (
	meanBound    = [2]float64{-15, 5} // of ln C at the mean of the features
	outcomeBound = [2]float64{-3, 3}  // of ln β_j about its mean
	slopeBound   = [3][2]float64{{-0.2, 1.5}, {0, 3}, {-1, 5}}
)

// LeftOut holds the predictions for one group by a model that was trained
// without it, and the pairs measured there. Slices are row-major N×Out unless
// stated otherwise, in the data's own units (variances in unit²).
type LeftOut struct {
	Name     string
	N        int
	Mu       []float64 // mean
	Claim    []float64 // v̂, the model's own epistemic variance
	Noise    []float64 // σ², the variance of one measurement that the model states
	Y1, Y2   []float64
	Distance []float64 // N; to the measured groups, see interval.Axis.Distance
	Outside  []bool    // N
	Run      []int     // N

	// Condition, unless nil, numbers the conditions of the rows (N). The fit then
	// takes the mean of all measurements of a condition as one value, with the
	// noise that the model states.
	Condition []int
	// Weight is how many pairs each row then counts for (N); nil: one.
	Weight []float64
}

func (l LeftOut) check(out int) {
	n := l.N * out
	if len(l.Mu) != n || len(l.Claim) != n || len(l.Noise) != n || len(l.Y1) != n || len(l.Y2) != n ||
		len(l.Distance) != l.N || len(l.Outside) != l.N || len(l.Run) != l.N ||
		l.Condition != nil && len(l.Condition) != l.N || l.Weight != nil && len(l.Weight) != l.N {
		panic(fmt.Sprintf("honest: left-out group %q of %d rows and %d outcomes has a slice of another length",
			l.Name, l.N, out))
	}
}

// cell is one value of the likelihood: s² = ½(y1+y2−2μ)², whose expectation is
// T = base + 2C.
type cell struct {
	weight  float64
	square  float64 // s²
	base    float64 // noise, and 2v̂ where the variant has it
	outcome int
	x       [3]float64 // ln v̂, ln d, outside; about their means
}

// likelihood is the negative logarithm of the posterior of the parameters b0,
// b1, b2, b3, u_1, u_2, … with ln C_j = b0 + u_j + Σ b·x.
type likelihood struct {
	out    int
	form   form
	cells  []cell
	origin [3]float64 // weighted means of the features
	start  float64    // b0
}

// newLikelihood standardises the left-out pairs. claimed takes the noise from
// the model; otherwise it is the mean ½(y1−y2)² of the group, per outcome.
func newLikelihood(left []LeftOut, scale []float64, f form, effective float64, claimed bool) *likelihood {
	p := &likelihood{out: len(scale), form: f}
	for _, l := range left {
		l.check(p.out)
		first := len(p.cells)

		if l.Condition == nil {
			p.addPairs(l, scale, claimed)
		} else {
			p.addConditions(l, scale)
		}

		rows := float64((len(p.cells) - first) / p.out)
		for i := first; i < len(p.cells); i++ {
			p.cells[i].weight = effective / rows
		}
	}

	var sum, excess float64
	for _, c := range p.cells {
		sum += c.weight
		excess += c.weight * (c.square - c.noise(f)) / 2

		for k, x := range c.x {
			p.origin[k] += c.weight * x
		}
	}

	for k := range p.origin {
		p.origin[k] /= sum
	}

	for i := range p.cells {
		for k := range p.origin {
			p.cells[i].x[k] -= p.origin[k]
		}
	}

	p.start = math.Log(max(excess/sum, minStart))

	return p
}

// noise is base without the model's own variance. Features must not be centred yet.
func (c cell) noise(f form) float64 {
	if f.offset {
		return c.base - 2*math.Exp(c.x[0])
	}
	return c.base
}

func (p *likelihood) add(square, noise, claim, distance float64, outside bool, outcome int) {
	claim = max(claim, interval.MinClaim)
	c := cell{square: square, base: noise, outcome: outcome, x: [3]float64{math.Log(claim), math.Log(distance), 0}}
	if outside {
		c.x[2] = 1
	}

	if p.form.offset {
		c.base += 2 * claim
	}

	p.cells = append(p.cells, c)
}

func (p *likelihood) addPairs(l LeftOut, scale []float64, claimed bool) {
	pair := make([]float64, p.out)
	for k := range l.Y1 {
		d := l.Y1[k] - l.Y2[k]
		pair[k%p.out] += d * d / 2 / float64(l.N)
	}

	for k := range l.Y1 {
		i, j := k/p.out, k%p.out
		s2, a := scale[j]*scale[j], pair[j]
		if claimed {
			a = l.Noise[k]
		}

		s := l.Y1[k] + l.Y2[k] - 2*l.Mu[k]
		p.add(s*s/2/s2, a/s2, l.Claim[k]/s2, l.Distance[i], l.Outside[i], j)
	}
}

// addConditions adds each condition's mean ȳ of c pairs, whose variance about
// the truth is σ²/2c: 2(ȳ−μ)² has the expectation σ²/c + 2C.
func (p *likelihood) addConditions(l LeftOut, scale []float64) {
	rows := map[int][]int{}

	var order []int
	for i, c := range l.Condition {
		if rows[c] == nil {
			order = append(order, c)
		}
		rows[c] = append(rows[c], i)
	}

	for _, c := range order {
		n, pairs := float64(len(rows[c])), float64(len(rows[c]))
		if l.Weight != nil {
			pairs = 0
			for _, i := range rows[c] {
				pairs += l.Weight[i]
			}
		}

		for j, s := range scale {
			var y, mu, noise, claim, distance float64
			for _, i := range rows[c] {
				k := i*p.out + j
				y += (l.Y1[k] + l.Y2[k] - 2*l.Mu[k]) / (2 * n)
				mu += l.Mu[k]
				noise, claim, distance = noise+l.Noise[k]/n, claim+l.Claim[k]/n, distance+l.Distance[i]/n
			}

			p.add(2*y*y/(s*s), noise/pairs/(s*s), claim/(s*s), distance, l.Outside[rows[c][0]], j)
		}
	}
}

// value returns the objective at theta and, unless nil, sets its gradient and
// Hessian.
func (p *likelihood) value(theta, grad []float64, hess *mat.SymDense) float64 {
	n := 4 + p.out

	if grad != nil {
		clear(grad)
	}

	if hess != nil {
		hess.Zero()
	}

	f := 0.0

	second := make([][10]float64, p.out) // of the features 1, x, upper triangle, per outcome
	for _, c := range p.cells {
		eta := theta[0] + theta[4+c.outcome]
		for k, x := range c.x {
			eta += theta[1+k] * x
		}

		v := math.Exp(min(eta, 300))
		t := c.base + 2*v
		f += c.weight * 0.5 * (math.Log(t) + c.square/t)

		if grad == nil {
			continue
		}

		first := c.weight * v * (t - c.square) / (t * t)

		feature := [4]float64{1, c.x[0], c.x[1], c.x[2]}
		for a, x := range feature {
			grad[a] += first * x
		}

		grad[4+c.outcome] += first

		if hess == nil {
			continue
		}

		w := first + c.weight*2*v*v*(2*c.square-t)/(t*t*t)

		m, at := &second[c.outcome], 0
		for a, x := range feature {
			for _, y := range feature[a:] {
				m[at] += w * x * y
				at++
			}
		}
	}

	if hess != nil {
		for j, m := range second {
			at := 0
			for a := range 4 {
				for b := a; b < 4; b++ {
					hess.SetSym(a, b, hess.At(a, b)+m[at])

					if a == 0 {
						hess.SetSym(b, 4+j, m[at])
					}

					at++
				}
			}

			hess.SetSym(4+j, 4+j, m[0])
		}
	}

	for i := 1; i < n; i++ {
		m, s := 0.0, outcomeStd
		if i < 4 {
			m, s = p.form.mean[i-1], p.form.std[i-1]
		}

		if s == 0 {
			continue
		}

		d := (theta[i] - m) / s
		f += 0.5 * d * d

		if grad != nil {
			grad[i] += d / s
		}

		if hess != nil {
			hess.SetSym(i, i, hess.At(i, i)+1/(s*s))
		}
	}

	return f
}

// bounds returns the limits of the parameters; fixed ones have equal limits.
func (p *likelihood) bounds() (lo, hi []float64) {
	lo, hi = []float64{meanBound[0]}, []float64{meanBound[1]}
	for k := range 3 {
		b := slopeBound[k]
		if p.form.std[k] == 0 {
			b = [2]float64{p.form.mean[k], p.form.mean[k]}
		}

		lo, hi = append(lo, b[0]), append(hi, b[1])
	}

	for range p.out {
		lo, hi = append(lo, outcomeBound[0]), append(hi, outcomeBound[1])
	}

	return lo, hi
}

// minimise finds the minimum within the bounds by a damped Newton method on the
// parameters that are not held at a bound (Bertsekas 1982).
func (p *likelihood) minimise() ([]float64, error) {
	lo, hi := p.bounds()
	n := len(lo)
	theta, next, grad, nextGrad := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	theta[0] = min(max(p.start, lo[0]), hi[0])
	copy(theta[1:4], p.form.mean[:])
	hess := mat.NewSymDense(n, nil)
	damping := 0.0

	f := p.value(theta, grad, hess)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("fit covariance of left-out pairs: a value is not finite")
	}

	for range 500 {
		var free []int
		for i, g := range grad {
			if lo[i] < hi[i] && !(theta[i] <= lo[i] && g > 0) && !(theta[i] >= hi[i] && g < 0) {
				free = append(free, i)
			}
		}

		if size(grad, free) <= gradientEnd {
			return theta, nil
		}

		improved := false
		for ; damping < 1e12; damping = max(10*damping, 1e-6) {
			if !newtonStep(next, theta, grad, hess, free, damping) {
				continue
			}

			for i := range next {
				next[i] = min(max(next[i], lo[i]), hi[i])
			}

			// Close to the minimum the value no longer resolves an improvement;
			// the gradient still does.
			v, tol := p.value(next, nextGrad, nil), rounding*(1+math.Abs(f))
			improved = v < f-tol || v <= f+tol && size(nextGrad, free) < 0.5*size(grad, free)
			if improved {
				break
			}
		}

		if !improved { // rounding: nothing near is better
			return theta, nil
		}

		copy(theta, next)

		if damping /= 100; damping < 1e-9 {
			damping = 0
		}

		f = p.value(theta, grad, hess)
	}

	return nil, errors.New("fit covariance of left-out pairs: no minimum after 500 steps")
}

// size is the largest component of v among those listed.
func size(v []float64, listed []int) float64 {
	s := 0.0
	for _, i := range listed {
		s = max(s, math.Abs(v[i]))
	}

	return s
}

// newtonStep sets next to theta − (H + damping·I)⁻¹·grad over the free
// parameters. It returns false where that matrix is not positive definite.
func newtonStep(next, theta, grad []float64, hess *mat.SymDense, free []int, damping float64) bool {
	h := mat.NewSymDense(len(free), nil)

	g := mat.NewVecDense(len(free), nil)
	for a, i := range free {
		g.SetVec(a, grad[i])

		for b, k := range free {
			h.SetSym(a, b, hess.At(i, k))
		}

		h.SetSym(a, a, h.At(a, a)+damping)
	}

	var chol mat.Cholesky

	var step mat.VecDense
	if !chol.Factorize(h) || chol.SolveVecTo(&step, g) != nil {
		return false
	}

	copy(next, theta)

	for a, i := range free {
		next[i] -= step.AtVec(a)
	}

	return true
}

// FitCovariance learns C from left-out pairs by the likelihood of
// s = (y1+y2−2μ)/√2, which is normal with variance A + 2C, A being the noise of
// one measurement. Each group counts for effective pairs (0: 3) however many it
// has. scale holds the deviation of each training outcome; claimed takes A from
// LeftOut.Noise instead of from the pairs' differences.
//
// Errors: an unknown variant, no groups, a scale that is not positive, a value
// that is not finite.
func FitCovariance(left []LeftOut, scale []float64, variant interval.Variant, effective float64, claimed bool) (
	*interval.Covariance, error,
) {
	f, err := formOf(variant)
	if err != nil {
		return nil, err
	}

	if len(left) == 0 {
		return nil, errors.New("fit covariance of left-out pairs: there are no left-out groups")
	}

	for j, s := range scale {
		if !(s > 0) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("fit covariance of left-out pairs: outcome column %d: "+
				"expected a positive deviation of the training values, found %g", j, s)
		}
	}

	if effective == 0 {
		effective = defaultEffective
	}

	p := newLikelihood(left, scale, f, effective, claimed)
	theta, err := p.minimise()
	if err != nil {
		return nil, err
	}

	c := &interval.Covariance{
		Variant: variant, Claim: theta[1], Distance: theta[2], Outside: theta[3], Scale: slices.Clone(scale),
	}
	for _, u := range theta[4:] {
		b := theta[0] + u
		for k, o := range p.origin {
			b -= theta[1+k] * o
		}

		c.LnBeta = append(c.LnBeta, b)
	}

	return c, nil
}

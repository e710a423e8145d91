package train

import (
	"context"
	"math"

	"doubletake/train/kernel"
)

// Values of Config.Head: what the network says of a condition
// (docs/method.md#joint-head).
const (
	TwoAnswers = ""           // mean and variance; given an outcome it answers again
	Joint      = "joint"      // mean, noise A and covariance C of the two outcomes of a pair, outcome by outcome
	JointFull  = "joint-full" // the same with full matrices over the outcomes
)

// headColumns is the number of numbers the network gives for d outcomes.
func headColumns(c Config, d int) int {
	switch c.Head {
	case Joint:
		return 3 * d
	case JointFull:
		return d + d*(d+1)
	case Binned:
		return d * c.bins() * (c.bins() + 1)
	}

	return 2 * d
}

// pairLaw is the law of the two outcomes of a pair at one condition, in network units.
type pairLaw interface {
	read(o []float32)                                   // sets the law from a row of the head's numbers
	first(mu, v []float64)                              // writes mean and variance of one outcome
	given(y []float32, mu, v []float64)                 // writes mean and variance of y2 where y1 = y is known
	closedForm(eps []float32, r *Estimates) func(i int) // returns a function that writes the estimates of condition i
}

// newPairLaw returns the law that the model's head states, nil for two answers.
func newPairLaw(m *Model) pairLaw {
	switch m.Config.Head {
	case TwoAnswers:
		return nil
	case Binned:
		return newBinned(m.bins, m.Config.bins())
	}

	return newLaw(m.Config.Head, m.Out)
}

// law is the joint law of a pair at one condition, in network units:
//
//	(y1, y2)|x ~ N([μ; μ], [[A+C, C], [C, A+C]]),
//
// A and C d×d. Of a diagonal head only the diagonals are used.
type law struct {
	d, full       int // full is 1 for full matrices
	mu, a, c      []float64
	m, x, y       []float64 // factor of A+C, and room
	la, lc        []float64 // lower factors of A and C
	slopeA, slopC []float64 // of their diagonals by the head's numbers
}

func newLaw(head string, d int) *law {
	l := &law{d: d}
	if head == JointFull {
		l.full = 1
	}

	for _, v := range []*[]float64{&l.mu, &l.slopeA, &l.slopC, &l.y} {
		*v = make([]float64, d)
	}

	for _, v := range []*[]float64{&l.a, &l.c, &l.m, &l.x, &l.la, &l.lc} {
		*v = make([]float64, d*d)
	}

	return l
}

// readLaw reads the law from a row of the head's numbers: means, then A, then C, as
// softplus + 1e-6 each, or as the lower triangles of Cholesky factors whose
// diagonals are softplus, row by row, A with 1e-6 added to its diagonal.
func readLaw[T kernel.Float](l *law, o []T) {
	d := l.d
	for j := range d {
		l.mu[j] = float64(o[j])
	}

	if l.full == 0 {
		for j := range d {
			l.a[j*d+j] = softplus(float64(o[d+j])) + 1e-6
			l.c[j*d+j] = softplus(float64(o[2*d+j])) + 1e-6
		}

		return
	}

	at := d
	for _, f := range []struct{ factor, slope, to []float64 }{{l.la, l.slopeA, l.a}, {l.lc, l.slopC, l.c}} {
		for i := range d {
			for j := range i + 1 {
				r := float64(o[at])
				at++

				if i == j {
					r, f.slope[i] = softplusSlope(r)
				}

				f.factor[i*d+j] = r
			}
		}

		for i := range d {
			for j := range i + 1 {
				s := 0.0
				for k := range j + 1 {
					s += float64(f.factor[i*d+k] * f.factor[j*d+k])
				}

				f.to[i*d+j], f.to[j*d+i] = s, s
			}
		}
	}

	for i := range d {
		l.a[i*d+i] += 1e-6
	}
}

func (l *law) read(o []float32) { readLaw(l, o) }

// total writes the variances of one outcome, the diagonal of A + C.
func (l *law) total(v []float64) {
	for j := range v {
		v[j] = l.a[j*l.d+j] + l.c[j*l.d+j]
	}
}

// first implements pairLaw.
func (l *law) first(mu, v []float64) {
	copy(mu, l.mu)
	l.total(v)
}

// given implements pairLaw:
//
//	μ + C(A+C)⁻¹(y − μ),  A + C − C(A+C)⁻¹C.
func (l *law) given(y []float32, mu, v []float64) {
	d := l.d
	if l.full == 0 {
		for j := range d {
			a, c := l.a[j*d+j], l.c[j*d+j]
			k := c / (a + c)
			mu[j] = l.mu[j] + float64(k*(float64(y[j])-l.mu[j]))
			v[j] = a + c - float64(k*c)
		}

		return
	}

	l.factorTotal()

	// X = M⁻½C, column by column; the answers follow from it and M⁻½(y − μ).
	copy(l.x, l.c)

	for j := range d {
		l.y[j] = float64(y[j]) - l.mu[j]
	}

	l.forward(l.y, 1)
	l.forward(l.x, d)

	for j := range d {
		shift, less := 0.0, 0.0
		for k := range d {
			shift += float64(l.x[k*d+j] * l.y[k])
			less += float64(l.x[k*d+j] * l.x[k*d+j])
		}

		mu[j] = l.mu[j] + shift
		v[j] = l.a[j*d+j] + l.c[j*d+j] - less
	}
}

// factorTotal writes the lower Cholesky factor of A + C to m.
func (l *law) factorTotal() {
	for i := range l.m {
		l.m[i] = l.a[i] + l.c[i]
	}
	cholesky(l.m, l.d)
}

// forward solves m·z = b for w columns b, d×w, in place.
func (l *law) forward(b []float64, w int) { solveLower(l.m, b, l.d, w) }

func solveLower(m, b []float64, d, w int) {
	for i := range d {
		for k := range i {
			f := m[i*d+k]
			for q := range w {
				b[i*w+q] -= float64(f * b[k*w+q])
			}
		}

		for q := range w {
			b[i*w+q] /= m[i*d+i]
		}
	}
}

// cholesky replaces the lower triangle of l, d×d, by its Cholesky factor.
func cholesky(l []float64, d int) {
	for a := range d {
		for b := range a + 1 {
			s := l[a*d+b]
			for k := range b {
				s -= float64(l[a*d+k] * l[b*d+k])
			}

			if a == b {
				l[a*d+a] = math.Sqrt(s)
			} else {
				l[a*d+b] = s / l[b*d+b]
			}
		}
	}
}

// closedForm implements pairLaw. Everything but the sampled CovRaw is known: C is
// the head's own, δ = κ = u = 0. Draws for CovRaw come from the law of one outcome.
func (l *law) closedForm(eps []float32, r *Estimates) func(i int) {
	d := l.d
	mean, square := make([]float64, d), make([]float64, d*d) // of ε

	n := float64(len(eps) / d)
	for i := 0; i < len(eps); i += d {
		for j, a := range eps[i : i+d] {
			mean[j] += float64(a) / n
			for k, b := range eps[i : i+d] {
				square[j*d+k] += float64(float64(a)*float64(b)) / n
			}
		}
	}

	gain, drift := make([]float64, d*d), make([]float64, d)

	return func(i int) {
		copy(r.Mu[i*d:], l.mu)
		l.total(r.Var[i*d : (i+1)*d])
		l.factorTotal()

		// y = μ + mε, m(y) = μ + Kmε with Km = C·m⁻ᵀ = (m⁻¹C)ᵀ.
		copy(l.x, l.c)
		l.forward(l.x, d)

		for j := range d {
			drift[j] = 0
			for k := range d {
				gain[j*d+k] = l.x[k*d+j]
				drift[j] += float64(l.x[k*d+j] * mean[k])
			}
		}

		for j := range d {
			raw, noise := 0.0, 0.0
			for a := range j + 1 {
				noise += float64(l.m[j*d+a] * mean[a])
				for b := range d {
					raw += float64(float64(l.m[j*d+a]*gain[j*d+b]) * square[a*d+b])
				}
			}

			r.Cov[i*d+j] = l.c[j*d+j]
			r.CovRaw[i*d+j] = raw + float64(l.mu[j]*(noise+drift[j]))
		}
	}
}

// laws calls f for each condition after e.l was set to its law.
func (e *evaluator) laws(ctx context.Context, xs []float32, f func(i int)) error {
	n := len(xs) / e.in
	for s := 0; s < n; s += e.block {
		if err := ctx.Err(); err != nil {
			return stoppedAt(s, n, err)
		}

		rows := min(e.block, n-s)
		for r := range rows {
			copy(e.z[r*e.ldIn:(r+1)*e.ldIn], xs[(s+r)*e.in:(s+r+1)*e.in])
		}

		padded := kernel.PadRows(rows)
		clear(e.z[rows*e.ldIn : padded*e.ldIn])
		e.net.forward(padded, nil)

		for r := range rows {
			e.l.read(e.o[r*e.headN : r*e.headN+e.heads])
			f(s + r)
		}
	}

	return nil
}

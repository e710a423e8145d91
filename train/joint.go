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

// joint evaluates the loss of a joint head with full matrices, for kernel.Group
// triplets at once.
//
// With s = (y1 + y2 − 2μ)/√2, r = (y1 − y2)/√2, T = A + 2C the likelihood of a pair
// falls into two: s has the variance T, r has A. The loss of an outcome is
//
//	½{sg[T^β](ln T + s²/T) + sg[A^β](ln A + r²/A)},
//
// T^β and A^β held constant in the gradient as in the β-NLL (kernel.Set.JointGrad); of
// full matrices |T|^(β/d), and quadratic forms.
type joint[T kernel.Float] struct {
	program *kernel.Program
	room    []T
	// Slots of the targets, their weight, the head's numbers, the gradient by these,
	// and twice the loss.
	y1, y2, c, o, g, loss int32
}

// slots builds a program. Slot 0 is zero, slot 1 takes what is not needed.
type slots struct {
	steps     []kernel.Step
	constants map[int32]float64
	size      int32
}

const (
	zero  = int32(0)
	waste = int32(1)
)

// take returns the first of n new slots.
func (s *slots) take(n int) int32 {
	s.size += int32(n)
	return s.size - int32(n)
}

func (s *slots) set(values ...float64) int32 {
	at := s.take(len(values))
	for i, v := range values {
		s.constants[at+int32(i)] = v
	}
	return at
}

func (s *slots) add(step kernel.Step) { s.steps = append(s.steps, step) }

func newJoint[T kernel.Float](cfg Config, outcomes, columns int) *joint[T] {
	s := &slots{size: 2, constants: map[int32]float64{}}
	d := int32(outcomes)
	triangle := d * (d + 1) / 2
	take := func(n int32) int32 { return s.take(int(n)) }
	one, two, minus, half := s.set(1), s.set(2), s.set(-1), math.Sqrt2/2
	floor, power := s.set(1e-6), s.set(cfg.Beta/float64(d))
	sum, difference := s.set(half, half, -math.Sqrt2), s.set(half, -half)
	root := sum + 2
	j := &joint[T]{c: take(1), y1: take(d), y2: take(d), o: take(int32(columns)), g: take(int32(columns)), loss: take(1)}

	// s and r.
	z := [2]int32{take(d), take(d)}
	for q := range d {
		s.add(kernel.Step{P: j.y1 + q, PStep: d, Q: sum, QStep: 1, N: 3, To: z[0] + q, Also: waste})
		s.add(kernel.Step{P: j.y1 + q, PStep: d, Q: difference, QStep: 1, N: 2, To: z[1] + q, Also: waste})
	}
	// The factors: L by rows where the head wrote them, the slopes of the diagonals;
	// LA and 2·LC by columns.
	var l, slope, columnsOf [2]int32
	for f, scale := range []int32{one, two} {
		l[f], slope[f], columnsOf[f] = j.o+d+int32(f)*triangle, take(d), take(d*d)
		at := l[f]
		for i := range d {
			for k := range i + 1 {
				if i == k {
					s.add(kernel.Step{Init: at, To: at, Also: slope[f] + i, Kind: kernel.Softplus})
				}
				s.add(kernel.Step{Init: at, To: waste, Scale: scale, Also: columnsOf[f] + k*d + i})
				at++
			}
		}
	}
	row := func(f int, i int32) int32 { return l[f] + i*(i+1)/2 }
	// A and T = A + 2C, lower triangles.
	m := [2]int32{take((d + 1) * d), take((d + 1) * d)} // of T and A, below them D·(solution of z)
	for i := range d {
		for k := range i + 1 {
			jitter := zero
			if i == k {
				jitter = floor
			}
			a, t := m[1]+i*d+k, m[0]+i*d+k
			s.add(kernel.Step{Init: jitter, P: row(0, i), PStep: 1, Q: row(0, k), QStep: 1, N: k + 1, To: a, Also: waste})
			s.add(kernel.Step{Init: a, P: row(1, i), PStep: 1, Q: columnsOf[1] + k, QStep: d, N: k + 1, To: t, Also: waste})
		}
	}
	w, x, xs := take((d+1)*d), take(d*d), take(d*d)
	logs, quadratic, exp, weight, less := take(d), take(1), take(1), take(1), take(1)
	h, u, uw := take(d*d), take(d), take(d)
	by := [2]int32{take(d * d), take(d * d)} // twice the gradients by T and by A
	for f, v := range m {
		// v = LDLᵀ: v becomes LD, w −L, its diagonal −1/D. z is one row more. M ≥ 1e-6, and so is D.
		for i := range d + 1 {
			for k := range min(i+1, d) {
				st := kernel.Step{Init: v + i*d + k, P: v + i*d, PStep: 1, Q: w + k*d, QStep: 1, N: k,
					To: v + i*d + k, Scale: w + k*d + k, Also: w + i*d + k}
				if i == d {
					st.Init = z[f] + k
				}
				if i == k {
					st.Kind, st.Scale = kernel.Pivot, floor
				}
				s.add(st)
			}
		}
		// The weight c·|M|^(β/d), and twice the loss, weight·(ln|M| + zᵀM⁻¹z).
		for i := range d {
			s.add(kernel.Step{Init: v + i*d + i, To: waste, Also: logs + i, Kind: kernel.Log})
		}
		s.add(kernel.Step{P: logs, PStep: 1, Q: power, N: d, To: waste, Also: exp, Kind: kernel.Exp})
		s.add(kernel.Step{P: exp, Q: j.c, N: 1, To: weight, Scale: minus, Also: less})
		s.add(kernel.Step{P: v + d*d, PStep: 1, Q: w + d*d, QStep: 1, N: d, To: waste, Scale: minus, Also: quadratic})
		s.add(kernel.Step{Init: quadratic, P: logs, PStep: 1, Q: one, N: d, To: quadratic, Also: waste})
		first := j.loss
		if f == 0 {
			first = zero
		}
		s.add(kernel.Step{Init: first, P: quadratic, Q: weight, N: 1, To: j.loss, Also: waste})
		// x = L⁻¹ and xs = −D⁻¹x below their diagonals.
		for i := range d {
			for k := range i {
				s.add(kernel.Step{Init: w + i*d + k, P: w + i*d + k + 1, PStep: 1, Q: x + (k+1)*d + k, QStep: d, N: i - k - 1,
					To: x + i*d + k, Scale: w + i*d + i, Also: xs + i*d + k})
			}
		}
		// −M⁻¹ = xᵀ·xs and u = −M⁻¹z, both also times −weight.
		for i := range d {
			for k := range i + 1 {
				from := xs + i*d + k
				if i == k {
					from = w + i*d + i
				}
				s.add(kernel.Step{Init: from, P: x + (i+1)*d + i, PStep: d, Q: xs + (i+1)*d + k, QStep: d, N: d - 1 - i,
					To: waste, Scale: less, Also: h + i*d + k})
			}
			s.add(kernel.Step{Init: w + d*d + i, P: x + (i+1)*d + i, PStep: d, Q: w + d*d + i + 1, QStep: 1, N: d - 1 - i,
				To: u + i, Scale: less, Also: uw + i})
		}
		// Both triangles of weight·(M⁻¹ − M⁻¹zzᵀM⁻¹); by A what T depends on it is added.
		for i := range d {
			for k := range i + 1 {
				st := kernel.Step{Init: h + i*d + k, P: uw + i, Q: u + k, N: 1, To: by[f] + i*d + k, Scale: one, Also: by[f] + k*d + i}
				if f == 1 {
					st.PStep, st.QStep, st.N = by[0]+i*d+k-st.P, one-st.Q, 2
				}
				s.add(st)
			}
			if f == 0 {
				s.add(kernel.Step{Init: uw + i, To: waste, Scale: root, Also: j.g + i})
			}
		}
	}
	// By the numbers of the factors.
	at := j.g + d
	for f := range columnsOf {
		g := by[1-f]
		for i := range d {
			for k := range i + 1 {
				st := kernel.Step{P: g + i*d + k, PStep: 1, Q: columnsOf[f] + k*d + k, QStep: 1, N: d - k, To: at, Also: waste}
				if i == k {
					st.To, st.Scale, st.Also = waste, slope[f]+i, at
				}
				s.add(st)
				at++
			}
		}
	}
	j.program = kernel.NewProgram(s.steps)
	j.room = aligned[T](int(s.size) * kernel.Group)
	for slot, v := range s.constants {
		for i := range kernel.Group {
			j.room[int(slot)*kernel.Group+i] = T(v)
		}
	}
	return j
}

// jointLoss returns the loss of the first n rows of o and writes its gradient to do.
// The kernels want the numbers of a head one after the other, each of all triplets.
func (t *trainer[T]) jointLoss(n int) float64 {
	d, ld, rows := t.out, t.headN, kernel.PadLane(n)
	columns := wideColumns(t.heads)
	if t.joint == nil {
		o, g, flat := t.raw, t.graw, d*rows
		t.k.Transpose(o, rows, t.o, ld, rows, columns)
		loss := t.k.JointGrad(g[:flat], g[flat:3*flat], o[:flat], o[flat:3*flat], t.t1[:flat], t.t2[:flat], t.c[:flat], t.beta)
		clear(g[3*flat : columns*rows])
		t.k.Transpose(t.do, ld, g, rows, columns, rows)
		return float64(loss)
	}
	j, loss := t.joint, 0.0
	for from := 0; from < rows; from += kernel.Group {
		lanes := min(kernel.Group, rows-from)
		slot := func(s int32) []T { return j.room[int(s)*kernel.Group:] }
		for q := range d {
			copy(slot(j.y1 + int32(q))[:lanes], t.t1[q*rows+from:])
			copy(slot(j.y2 + int32(q))[:lanes], t.t2[q*rows+from:])
		}
		copy(slot(j.c)[:lanes], t.c[from:])
		t.k.Transpose(slot(j.o), kernel.Group, t.o[from*ld:], ld, lanes, columns)
		t.k.Run(j.program, j.room)
		t.k.Transpose(t.do[from*ld:], ld, slot(j.g), kernel.Group, columns, lanes)
		for _, l := range slot(j.loss)[:min(lanes, n-from)] {
			loss += float64(l)
		}
	}
	return 0.5 * loss
}

// wideColumns is how many columns of a head's numbers are transposed.
func wideColumns(heads int) int { return (heads + 7) / 8 * 8 }

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

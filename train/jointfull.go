package train

import (
	"math"

	"doubletake/train/kernel"
)

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
	jointSlots
	program *kernel.Program
	room    []T
}

// jointSlots are those of x, y1, y2, of the head's numbers, in whose place the gradient
// by them comes, of the triplets' weight, of twice the loss, and of doubt: −1e-6 times
// the sum of M's diagonal over D's, which rounding errors of D grow with.
type jointSlots struct{ triplet, o, c, loss, doubt int32 }

// mostDoubt is where float64 takes over: at a correlation of two outcomes of 0.9995.
const mostDoubt = -1e-3

// jointProgram makes the program of a joint. Slot 0 is zero, slot 1 takes what is not needed.
type jointProgram struct {
	jointSlots
	d, size   int32
	steps     []kernel.Step
	constants map[int32]float64

	one, minus, two, root, power int32    // constants: 1, −1, 2, −√2, β/d,
	floor                        int32    // and 1e-6, after which there are d−1 zeros
	m                            [2]int32 // T and A by rows, below them s and r
	head, columns                [2]int32 // factors of A and C: as the head gives them; A's and twice C's by columns
	slope                        [2]int32 // of the factors' diagonals by the head's numbers
	u                            [2]int32 // T⁻¹s and A⁻¹r times the weight
}

const waste = 1

// take returns the first of n new slots.
func (p *jointProgram) take(n int32) int32 {
	p.size += n
	return p.size - n
}

// set returns the first of new slots with these values in all lanes.
func (p *jointProgram) set(values ...float64) int32 {
	at := p.take(int32(len(values)))
	for i, v := range values {
		p.constants[at+int32(i)] = v
	}

	return at
}

func (p *jointProgram) add(steps ...kernel.Step) { p.steps = append(p.steps, steps...) }

// Slots and factors: one, or one for each output.
func slot(at int32) kernel.Slots        { return kernel.Slots{At: at} }
func slots(at, next int32) kernel.Slots { return kernel.Slots{At: at, Next: next} }
func factor(at int32) kernel.Factors    { return kernel.Factors{At: at} }
func factors(at, step, next int32) kernel.Factors {
	return kernel.Factors{At: at, Step: step, Next: next}
}
func triangular(from, i int32) int32 { return from + i*(i+1)/2 } // row i of a triangle

// newJoint writes the program of the loss and its gradient (docs/method.md#joint-head).
func newJoint[T kernel.Float](cfg Config, l *layout) *joint[T] {
	d := int32(l.out)
	p := &jointProgram{d: d, size: 2, constants: map[int32]float64{}}
	p.one, p.minus, p.two, p.root = p.set(1), p.set(-1), p.set(2), p.set(-math.Sqrt2)
	p.floor = p.set(append([]float64{1e-6}, make([]float64, d-1)...)...)
	p.power = p.set(cfg.Beta / float64(d))
	p.triplet, p.o = p.take(int32(kernel.PadLane(l.in+2*l.out))), p.take(int32(l.headN))
	p.c, p.loss, p.doubt = p.take(1), p.take(1), p.take(1)
	p.head = [2]int32{p.o + d, triangular(p.o+d, d)}
	for f := range 2 {
		p.m[f], p.columns[f], p.slope[f], p.u[f] = p.take((d+1)*d), p.take(d*d), p.take(d), p.take(d)
	}

	p.deviations(p.triplet + int32(l.in))
	p.matrices()

	// One waits for its own results; two fill each other's gaps.
	t, a := p.term(0), p.term(1)
	for i := range t {
		p.add(t[i], a[i])
	}

	p.gradient()

	j := &joint[T]{p.jointSlots, kernel.NewProgram(p.steps), aligned[T](int(p.size) * kernel.Group)}
	for at, v := range p.constants {
		for i := range kernel.Group {
			j.room[int(at)*kernel.Group+i] = T(v)
		}
	}

	return j
}

// deviations makes s and r of the outcomes from y on.
func (p *jointProgram) deviations(y int32) {
	d, half := p.d, math.Sqrt2/2
	sum, difference := p.set(half, half), p.set(half, -half)
	s, r := slots(p.m[0]+d*d, 1), slots(p.m[1]+d*d, 1)
	p.add(kernel.Step{Count: d, N: 2, P: factors(sum, 1, 0), Q: factors(y, d, 1), To: s},
		kernel.Step{Count: d, N: 1, Init: s, P: factor(p.root), Q: factors(p.o, 0, 1), To: s},
		kernel.Step{Count: d, N: 2, P: factors(difference, 1, 0), Q: factors(y, d, 1), To: r})
}

// matrices makes the factors, with softplus of their diagonals, and the lower triangles
// of A and T = A + 2C.
func (p *jointProgram) matrices() {
	d := p.d
	for f, scale := range []int32{p.one, p.two} {
		for i := range d {
			r := slot(triangular(p.head[f], i) + i)
			p.add(kernel.Step{Count: 1, Kind: kernel.Softplus, Init: r, To: r, Also: slot(p.slope[f] + i)})
		}

		for i := range d {
			p.add(kernel.Step{
				Count: i + 1, N: 1, P: factor(scale), Q: factors(triangular(p.head[f], i), 0, 1),
				To: slots(p.columns[f]+i, d),
			})
		}
	}

	for k := range d {
		t, a := slots(p.m[0]+k*d+k, d), slots(p.m[1]+k*d+k, d)
		row := func(f int) kernel.Factors { return factors(triangular(p.head[f], k), 1, 0) }
		column := func(f int) kernel.Factors { return factors(p.columns[f]+k, d, 1) }
		p.add(kernel.Step{Count: d - k, N: k + 1, Init: slots(p.floor, 1), P: row(0), Q: column(0), To: a},
			kernel.Step{Count: d - k, N: k + 1, Init: a, P: row(1), Q: column(1), To: t})
	}
}

// term returns the steps of w(ln|M| + zᵀM⁻¹z), w = c·|M|^(β/d), for T and s or A and r:
// they add it to the loss, and put w(M⁻¹ − M⁻¹zzᵀM⁻¹) in M's place.
func (p *jointProgram) term(f int) (steps []kernel.Step) {
	d, v, w, x := p.d, p.m[f], p.take((p.d+1)*p.d), p.take(p.d*p.d)
	less, u := p.take(1), v+d*d
	add := func(more ...kernel.Step) { steps = append(steps, more...) }

	// M is LDLᵀ: v becomes LD, w −L, its diagonal −1/D. z is one row more. As M ≥ 1e-6, D
	// is, too.
	before := p.take(d) // 1e-6 of M's diagonal
	add(kernel.Step{Count: d, N: 1, P: factor(p.floor), Q: factors(v, 0, d+1), To: slots(before, 1)})

	for k := range d {
		pivot, below := slot(v+k*d+k), slots(v+(k+1)*d+k, d)
		inverse, left := w+k*d+k, factors(w+k*d, 1, 0)
		add(kernel.Step{
			Count: 1, N: k, Kind: kernel.Pivot, Init: pivot, P: left, Q: factors(v+k*d, 1, 0), To: pivot,
			Scale: p.floor, Also: slot(inverse),
		},
			kernel.Step{
				Count: d - k, N: k, Kind: kernel.Scaled, Init: below, P: left, Q: factors(v+(k+1)*d, 1, d), To: below,
				Scale: inverse, Also: slots(w+(k+1)*d+k, d),
			})
	}

	sum := slot(p.doubt)
	if f == 0 {
		sum = slot(0)
	}

	add(kernel.Step{Count: 1, N: d, Init: sum, P: factors(before, 1, 0), Q: factors(w, d+1, 0), To: slot(p.doubt)})
	add(p.weigh(f, v, w, less)...)

	// x gets L⁻¹ without its diagonal, turned, v gets w·D⁻¹L⁻¹.
	add(kernel.Step{Count: d, N: 1, P: factor(less), Q: factors(w, 0, d+1), To: slots(v, d+1)})

	for i := int32(1); i < d; i++ {
		add(kernel.Step{
			Count: i, N: i - 1, Kind: kernel.Scaled, Init: slots(w+i*d, 1), P: factors(w+i*d+1, 1, 0),
			Q: factors(x+1, 1, d), To: slots(x+i, d), Scale: v + i*d + i, Also: slots(v+i*d, 1),
		})
	}

	// v gets the product of the two, w·M⁻¹; u gets −M⁻¹z, p.u w·M⁻¹z.
	for i := range d {
		inverse, row, n := factors(x+i*d+i+1, 1, 0), slots(v+i*d, 1), d-1-i
		add(kernel.Step{Count: i + 1, N: n, Init: row, P: inverse, Q: factors(v+(i+1)*d, d, 1), To: row},
			kernel.Step{
				Count: 1, N: n, Kind: kernel.Scaled, Init: slot(w + d*d + i), P: inverse, Q: factors(w+d*d+i+1, 1, 0),
				To: slot(u + i), Scale: less, Also: slot(p.u[f] + i),
			})
	}

	for i := range d {
		row := slots(v+i*d, 1)
		add(kernel.Step{
			Count: i + 1, N: 1, Kind: kernel.Scaled, Init: row, P: factor(p.u[f] + i), Q: factors(u, 0, 1), To: row,
			Scale: p.one, Also: slots(v+i, d),
		})
	}

	return steps
}

// weigh returns the steps of a term from its decomposition on: less gets −w, and the
// loss grows by w(ln|M| + zᵀM⁻¹z).
func (p *jointProgram) weigh(f int, v, w, less int32) (steps []kernel.Step) {
	d, n := p.d, (p.d+3)/4
	logs, product, quadratic, power, weight := p.take(n), p.take(1), p.take(1), p.take(1), p.take(1)
	add := func(more ...kernel.Step) { steps = append(steps, more...) }

	// Logarithms of products of four diagonal elements, which float32 holds.
	for i := range n {
		st := kernel.Step{Count: 1, Init: slot(v + 4*i*(d+1)), To: slot(product)}
		for q := 4*i + 1; q < min(4*i+4, d); q++ {
			add(st)
			st.Init, st.N, st.P, st.Q = slot(0), 1, factor(product), factor(v+q*(d+1))
		}

		st.Kind, st.Also = kernel.Log, slot(logs+i)
		add(st)
	}

	sum := slot(p.loss)
	if f == 0 {
		sum = slot(0)
	}

	add(kernel.Step{
		Count: 1, N: n, Kind: kernel.Exp, P: factors(logs, 1, 0), Q: factor(p.power), To: slot(waste),
		Also: slot(power),
	},
		kernel.Step{
			Count: 1, N: 1, Kind: kernel.Scaled, P: factor(power), Q: factor(p.c), To: slot(weight), Scale: p.minus,
			Also: slot(less),
		},
		kernel.Step{
			Count: 1, N: d, Kind: kernel.Scaled, P: factors(v+d*d, 1, 0), Q: factors(w+d*d, 1, 0), To: slot(waste),
			Scale: p.minus, Also: slot(quadratic),
		},
		kernel.Step{Count: 1, N: n, Init: slot(quadratic), P: factors(logs, 1, 0), Q: factor(p.one), To: slot(quadratic)},
		kernel.Step{Count: 1, N: 1, Init: sum, P: factor(quadratic), Q: factor(weight), To: slot(p.loss)})

	return steps
}

// gradient puts the gradient by the head's numbers in their place, from those by T and A
// (twice, as the terms are).
func (p *jointProgram) gradient() {
	d := p.d
	p.add(kernel.Step{Count: d, N: 1, P: factor(p.root), Q: factors(p.u[0], 0, 1), To: slots(p.o, 1)})

	for i := range d { // A is also in T
		a := slots(p.m[1]+i*d, 1)
		p.add(kernel.Step{
			Count: i + 1, N: 1, Kind: kernel.Scaled, Init: a, P: factor(p.one), Q: factors(p.m[0]+i*d, 0, 1),
			To: a, Scale: p.one, Also: slots(p.m[1]+i, d),
		})
	}

	for i := range d { // by the factors; above their diagonals they are zero
		for f := range 2 {
			row, to := p.m[1-f]+i*d, triangular(p.head[f], i)
			p.add(kernel.Step{Count: i, N: d, P: factors(row, 1, 0), Q: factors(p.columns[f], 1, d), To: slots(to, 1)},
				kernel.Step{
					Count: 1, N: d - i, Kind: kernel.Scaled, P: factors(row+i, 1, 0), Q: factors(p.columns[f]+i*d+i, 1, 0),
					To: slot(waste), Scale: p.slope[f] + i, Also: slot(to + i),
				})
		}
	}
}

// jointLoss returns the loss of the first n rows of o and writes its gradient to do.
// The kernels want a number of all triplets one after the other, not all numbers of one.
func (t *trainer[T]) jointLoss(n int) float64 {
	ld, rows, flat := t.headN, kernel.PadLane(n), t.out*kernel.PadLane(n)
	if t.joint == nil {
		o, g, y := t.raw, t.graw, t.turned[t.in*rows:]
		t.k.Transpose(o, rows, t.o, ld, rows, ld)
		t.k.Transpose(t.turned, rows, t.triplets, t.tripletN, rows, t.tripletN)
		loss := t.k.JointGrad(g[:flat], g[flat:3*flat], o[:flat], o[flat:3*flat], y[:flat], y[flat:2*flat], t.c[:flat],
			t.beta)
		clear(g[3*flat : ld*rows])
		t.k.Transpose(t.do, ld, g, rows, ld, rows)

		return float64(loss)
	}

	j, loss := t.joint, [4]float64{}
	at := func(s int32) []T { return j.room[int(s)*kernel.Group:] }
	for from := 0; from < rows; from += kernel.Group {
		lanes := min(kernel.Group, rows-from)
		copy(at(j.c)[:lanes], t.c[from:])
		t.k.Transpose(at(j.triplet), kernel.Group, t.triplets[from*t.tripletN:], t.tripletN, lanes, t.tripletN)
		t.k.Transpose(at(j.o), kernel.Group, t.o[from*ld:], ld, lanes, ld)
		t.k.Run(j.program, j.room)

		if doubtful(at(j.doubt)[:min(lanes, n-from)]) {
			t.k.Transpose(at(j.o), kernel.Group, t.o[from*ld:], ld, lanes, ld)
			j.runExact(t.exact)
		}

		t.k.Transpose(t.do[from*ld:], ld, at(j.o), kernel.Group, ld, lanes)

		for l := at(j.loss)[:lanes]; len(l) > 0; l = l[4:] { // in parts, which need not wait for each other
			for i, x := range l[:4] {
				loss[i] += float64(x)
			}
		}
	}

	return 0.5 * (loss[0] + loss[1] + loss[2] + loss[3])
}

func doubtful[T kernel.Float](doubt []T) bool {
	for _, x := range doubt {
		if !(x >= mostDoubt) {
			return true
		}
	}

	return false
}

// runExact is kernel.Set.Run in float64.
func (j *joint[T]) runExact(e *joint[float64]) {
	from, to := j.triplet*kernel.Group, (j.loss+1)*kernel.Group
	for i, x := range j.room[from:to] {
		e.room[int(from)+i] = float64(x)
	}

	portable64.Run(e.program, e.room)

	for i, x := range e.room[from:to] {
		j.room[int(from)+i] = T(x)
	}
}

var portable64 = kernel.Portable[float64]()

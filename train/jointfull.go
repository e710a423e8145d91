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
	program *kernel.Program
	room    []T
	// Slots of x, y1, y2, of their weight, of the head's numbers, in whose place the
	// gradient by them comes, and of twice the loss.
	triplet, c, o, loss int32
}

// builder makes a program. Slot 0 is zero, slot 1 takes what is not needed.
type builder struct {
	steps     []kernel.Step
	constants map[int32]float64
	size      int32
}

const waste = 1

// take returns the first of n new slots.
func (b *builder) take(n int32) int32 {
	b.size += n
	return b.size - n
}

// set returns the first of new slots with these values in all lanes.
func (b *builder) set(values ...float64) int32 {
	at := b.take(int32(len(values)))
	for i, v := range values {
		b.constants[at+int32(i)] = v
	}
	return at
}

func (b *builder) add(step kernel.Step) { b.steps = append(b.steps, step) }

// newJoint writes the program of the loss and its gradient (docs/method.md#joint-head).
func newJoint[T kernel.Float](cfg Config, l *layout) *joint[T] {
	b := &builder{size: 2, constants: map[int32]float64{}}
	d := int32(l.out)
	one, minus, two, root := b.set(1), b.set(-1), b.set(2), b.set(-math.Sqrt2)
	floor := b.set(append([]float64{1e-6}, make([]float64, d-1)...)...)
	power, half := b.set(cfg.Beta/float64(d)), math.Sqrt2/2
	sum, difference := b.set(half, half), b.set(half, -half)
	j := &joint[T]{triplet: b.take(int32(kernel.PadLane(l.in + 2*l.out))), c: b.take(1), loss: b.take(1), o: b.take(int32(l.headN))}
	y, mu := j.triplet+int32(l.in), j.o
	type step = kernel.Step
	every := func(at, next int32) kernel.Slots { return kernel.Slots{At: at, Next: next} }
	at := func(slot int32) kernel.Slots { return kernel.Slots{At: slot} }
	factors := func(at, step, next int32) kernel.Factors { return kernel.Factors{At: at, Step: step, Next: next} }
	the := func(slot int32) kernel.Factors { return kernel.Factors{At: slot} }

	m := [2]int32{b.take((d + 1) * d), b.take((d + 1) * d)} // T and A by rows, below them s and r
	b.add(step{Count: d, N: 2, P: factors(sum, 1, 0), Q: factors(y, d, 1), To: every(m[0]+d*d, 1)})
	b.add(step{Count: d, N: 1, Init: every(m[0]+d*d, 1), P: the(root), Q: factors(mu, 0, 1), To: every(m[0]+d*d, 1)})
	b.add(step{Count: d, N: 2, P: factors(difference, 1, 0), Q: factors(y, d, 1), To: every(m[1]+d*d, 1)})
	// The factors L: softplus of the diagonals, in place; LA and 2·LC by columns.
	row := func(from, i int32) int32 { return from + i*(i+1)/2 }
	head := [2]int32{j.o + d, row(j.o+d, d)}
	slope, columnsOf := [2]int32{b.take(d), b.take(d)}, [2]int32{b.take(d * d), b.take(d * d)}
	for f, scale := range []int32{one, two} {
		for i := range d {
			r := at(row(head[f], i) + i)
			b.add(step{Count: 1, Kind: kernel.Softplus, Init: r, To: r, Also: at(slope[f] + i)})
		}
		for i := range d {
			b.add(step{Count: i + 1, N: 1, P: the(scale), Q: factors(row(head[f], i), 0, 1), To: every(columnsOf[f]+i, d)})
		}
	}
	// The lower triangles of A, by columns, and T = A + 2C.
	for k := range d {
		column, a := every(m[0]+k*d+k, d), every(m[1]+k*d+k, d)
		by := func(f int) kernel.Factors { return factors(columnsOf[f]+k, d, 1) }
		b.add(step{Count: d - k, N: k + 1, Init: every(floor, 1), P: factors(row(head[0], k), 1, 0), Q: by(0), To: a})
		b.add(step{Count: d - k, N: k + 1, Init: a, P: factors(row(head[1], k), 1, 0), Q: by(1), To: column})
	}
	scaledU := [2]int32{b.take(d), b.take(d)}
	algebra := func(f int) (steps []step) {
		add := func(step step) { steps = append(steps, step) }
		v, w, x := m[f], b.take((d+1)*d), b.take(d*d)
		logs, product, quadratic, exp, weight, less := b.take(d), b.take(1), b.take(1), b.take(1), b.take(1), b.take(1)
		// M in v is LDLᵀ: v becomes LD, w −L, its diagonal −1/D. z is one row more. As M ≥ 1e-6, D is, too.
		for k := range d {
			pivot, below := v+k*d+k, v+(k+1)*d+k
			inverse, left := w+k*d+k, factors(w+k*d, 1, 0)
			add(step{Count: 1, N: k, Kind: kernel.Pivot, Init: at(pivot), P: left, Q: factors(v+k*d, 1, 0),
				To: at(pivot), Scale: floor, Also: at(inverse)})
			add(step{Count: d - k, N: k, Kind: kernel.Scaled, Init: every(below, d), P: left, Q: factors(v+(k+1)*d, 1, d),
				To: every(below, d), Scale: inverse, Also: every(w+(k+1)*d+k, d)})
		}
		// The weight c·|M|^(β/d), and twice the loss, weight·(ln|M| + zᵀM⁻¹z).
		// Logarithms of the product of four diagonal elements, which float32 holds.
		n := int32(0)
		for i := int32(0); i < d; i += 4 {
			st := step{Count: 1, Init: at(v + i*d + i), To: at(product)}
			for q := i + 1; q < min(i+4, d); q++ {
				add(st)
				st.Init, st.N, st.P, st.Q = at(0), 1, the(product), the(v+q*d+q)
			}
			st.Kind, st.Also = kernel.Log, at(logs+n)
			add(st)
			n++
		}
		add(step{Count: 1, N: n, Kind: kernel.Exp, P: factors(logs, 1, 0), Q: the(power), To: at(waste), Also: at(exp)})
		add(step{Count: 1, N: 1, Kind: kernel.Scaled, P: the(exp), Q: the(j.c), To: at(weight),
			Scale: minus, Also: at(less)})
		add(step{Count: 1, N: d, Kind: kernel.Scaled, P: factors(v+d*d, 1, 0), Q: factors(w+d*d, 1, 0), To: at(waste),
			Scale: minus, Also: at(quadratic)})
		add(step{Count: 1, N: n, Init: at(quadratic), P: factors(logs, 1, 0), Q: the(one), To: at(quadratic)})
		loss := step{Count: 1, N: 1, P: the(quadratic), Q: the(weight), To: at(j.loss)}
		if f == 1 {
			loss.Init = at(j.loss)
		}
		add(loss)
		// x gets L⁻¹ without its diagonal, turned, v gets weight·D⁻¹L⁻¹.
		add(step{Count: d, N: 1, P: the(less), Q: factors(w, 0, d+1), To: every(v, d+1)})
		for i := int32(1); i < d; i++ {
			add(step{Count: i, N: i - 1, Kind: kernel.Scaled, Init: every(w+i*d, 1), P: factors(w+i*d+1, 1, 0),
				Q: factors(x+1, 1, d), To: every(x+i, d), Scale: v + i*d + i, Also: every(v+i*d, 1)})
		}
		// v gets the product of the two, weight·M⁻¹; u = −M⁻¹z, also times −weight.
		u := v + d*d
		for i := range d {
			inverse, n := factors(x+i*d+i+1, 1, 0), d-1-i
			add(step{Count: i + 1, N: n, Init: every(v+i*d, 1), P: inverse, Q: factors(v+(i+1)*d, d, 1), To: every(v+i*d, 1)})
			add(step{Count: 1, N: n, Kind: kernel.Scaled, Init: at(w + d*d + i), P: inverse, Q: factors(w+d*d+i+1, 1, 0),
				To: at(u + i), Scale: less, Also: at(scaledU[f] + i)})
		}
		// Twice the gradient, weight·(M⁻¹ − M⁻¹zzᵀM⁻¹), both triangles of it for T.
		for i := range d {
			g := step{Count: i + 1, N: 1, Init: every(v+i*d, 1), P: the(scaledU[f] + i), Q: factors(u, 0, 1),
				To: every(v+i*d, 1)}
			if f == 0 {
				g.Kind, g.Scale, g.Also = kernel.Scaled, one, every(v+i, d)
			}
			add(g)
		}
		return steps
	}
	// One waits for its own results; two fill each other's gaps.
	t, a := algebra(0), algebra(1)
	for i := range t {
		b.add(t[i])
		b.add(a[i])
	}
	// By μ, and by A, which is also in T.
	b.add(step{Count: d, N: 1, P: the(root), Q: factors(scaledU[0], 0, 1), To: every(j.o, 1)})
	for i := range d {
		b.add(step{Count: i + 1, N: 1, Kind: kernel.Scaled, Init: every(m[1]+i*d, 1), P: the(one),
			Q: factors(m[0]+i*d, 0, 1), To: every(m[1]+i*d, 1), Scale: one, Also: every(m[1]+i, d)})
	}
	// By the factors; above their diagonals they are zero.
	for i := range d {
		for f := range columnsOf {
			g, to := m[1-f]+i*d, row(head[f], i)
			b.add(step{Count: i, N: d, P: factors(g, 1, 0), Q: factors(columnsOf[f], 1, d), To: every(to, 1)})
			b.add(step{Count: 1, N: d - i, Kind: kernel.Scaled, P: factors(g+i, 1, 0), Q: factors(columnsOf[f]+i*d+i, 1, 0),
				To: at(waste), Scale: slope[f] + i, Also: at(to + i)})
		}
	}
	j.program = kernel.NewProgram(b.steps)
	j.room = aligned[T](int(b.size) * kernel.Group)
	for slot, v := range b.constants {
		for i := range kernel.Group {
			j.room[int(slot)*kernel.Group+i] = T(v)
		}
	}
	return j
}

// jointLoss returns the loss of the first n rows of o and writes its gradient to do.
// The kernels want a number of all triplets one after the other, not all numbers of one.
func (t *trainer[T]) jointLoss(n int) float64 {
	ld, rows, flat := t.headN, kernel.PadLane(n), t.out*kernel.PadLane(n)
	if t.joint == nil {
		o, g, y := t.raw, t.graw, t.turned[t.in*rows:]
		t.k.Transpose(o, rows, t.o, ld, rows, ld)
		t.k.Transpose(t.turned, rows, t.triplets, t.tripletN, rows, t.tripletN)
		loss := t.k.JointGrad(g[:flat], g[flat:3*flat], o[:flat], o[flat:3*flat], y[:flat], y[flat:2*flat], t.c[:flat], t.beta)
		clear(g[3*flat : ld*rows])
		t.k.Transpose(t.do, ld, g, rows, ld, rows)
		return float64(loss)
	}
	j, loss := t.joint, [4]float64{}
	slot := func(s int32) []T { return j.room[int(s)*kernel.Group:] }
	for from := 0; from < rows; from += kernel.Group {
		lanes := min(kernel.Group, rows-from)
		copy(slot(j.c)[:lanes], t.c[from:])
		t.k.Transpose(slot(j.triplet), kernel.Group, t.triplets[from*t.tripletN:], t.tripletN, lanes, t.tripletN)
		t.k.Transpose(slot(j.o), kernel.Group, t.o[from*ld:], ld, lanes, ld)
		t.k.Run(j.program, j.room)
		t.k.Transpose(t.do[from*ld:], ld, slot(j.o), kernel.Group, ld, lanes)
		for l := slot(j.loss)[:lanes]; len(l) > 0; l = l[4:] { // in parts, which need not wait for each other
			for i, x := range l[:4] {
				loss[i] += float64(x)
			}
		}
	}
	return 0.5 * (loss[0] + loss[1] + loss[2] + loss[3])
}

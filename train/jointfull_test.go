package train

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"doubletake/train/kernel"
)

// fullTrainer returns a trainer with n random triplets of d outcomes in its block, and
// what the head says of them: large numbers are far from any law of a trained network.
func fullTrainer[T kernel.Float](k *kernel.Set[T], d, n int, beta, large float64) *trainer[T] {
	cfg := DefaultConfig()
	cfg.Head, cfg.Beta, cfg.Hidden = JointFull, beta, []int{4}
	t := newTrainer(layoutOf(2, d, cfg), k, cfg)
	p := newStream(7, uint64(d))
	var data []T

	var idx []int32
	for i := range n {
		idx = append(idx, int32(i))
		for range 2 + 2*d {
			data = append(data, T(float32(normQuantile(uniform(p)))))
		}
	}

	t.fill(data, idx, nil, t.rows(n))
	t.weigh(idx, 1/float64(n*d))

	for i := range n {
		for j := range t.heads {
			t.o[i*t.headN+j] = T(float32(large * normQuantile(uniform(p))))
		}
	}

	return t
}

// fullLoss is the loss of a triplet with β = 0, by gonum's Cholesky factors.
func fullLoss(o, y1, y2 []float64) float64 {
	d := len(y1)
	l := newLaw(JointFull, d)
	readLaw(l, o)

	loss := 0.0
	for sign, noise := range map[float64]float64{1: 2, -1: 0} { // T and s, A and r
		m, z := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
		for i := range d {
			for j := range i + 1 {
				m.SetSym(i, j, l.a[i*d+j]+noise*l.c[i*d+j])
			}
			z.SetVec(i, (y1[i]-l.mu[i]+sign*(y2[i]-l.mu[i]))/math.Sqrt2)
		}

		var c mat.Cholesky

		var u mat.VecDense
		if !c.Factorize(m) || c.SolveVecTo(&u, z) != nil {
			return math.NaN()
		}

		loss += 0.5 * (c.LogDet() + mat.Dot(z, &u))
	}

	return loss
}

// Loss and gradient of any number of outcomes against gonum's factors, the gradient by
// central differences.
func TestJointFullIsItsLaw(t *testing.T) {
	for d := 1; d <= 9; d++ {
		const n = 3
		tr := fullTrainer(kernel.Portable[float64](), d, n, 0, 1)
		got := tr.jointLoss(n)

		want := 0.0
		for i := range n {
			y := tr.triplets[i*tr.tripletN+2:]
			o := tr.o[i*tr.headN:][:tr.heads]
			want += fullLoss(o, y[:d], y[d:2*d]) / float64(n*d)

			for j := range o {
				const h = 1e-5
				at := o[j]
				o[j] = at + h
				up := fullLoss(o, y[:d], y[d:2*d])
				o[j] = at - h
				down := fullLoss(o, y[:d], y[d:2*d])
				o[j] = at

				g := (up - down) / (2 * h) / float64(n*d)
				if x := tr.do[i*tr.headN+j]; math.Abs(x-g) > 1e-5*(1+math.Abs(g)) {
					t.Fatalf("d = %d, triplet %d: gradient %d is %.9g, expected %.9g", d, i, j, x, g)
				}
			}
		}

		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("d = %d: loss %.15g, expected %.15g", d, got, want)
		}
	}
}

// In float32 the loss is that of float64, also of matrices near singular ones.
func TestJointFullSets(t *testing.T) {
	eachSet(t, jointFullSet[float64], jointFullSet[float32])
}

func jointFullSet[T kernel.Float](t *testing.T, k *kernel.Set[T]) {
	const n = 41 // a group and a part of one
	for _, d := range []int{1, 2, 5, 8} {
		ref := fullTrainer(kernel.Portable[float64](), d, n, 0.5, 0.3)
		want := ref.jointLoss(n)

		size := 0.0
		for _, g := range ref.do {
			size = max(size, math.Abs(g))
		}

		tr := fullTrainer(k, d, n, 0.5, 0.3)
		if got := tr.jointLoss(n); math.Abs(got-want) > 1e-5*math.Abs(want) {
			t.Errorf("d = %d: loss %g, expected %g", d, got, want)
		}

		for i, g := range tr.do {
			if math.Abs(float64(g)-ref.do[i]) > 1e-4*size {
				t.Fatalf("d = %d: gradient %d is %g, expected %g (of at most %g)", d, i, g, ref.do[i], size)
			}
		}

		// Matrices that rounding makes singular.
		ref, tr = fullTrainer(kernel.Portable[float64](), d, n, 0.5, 10), fullTrainer(k, d, n, 0.5, 10)
		want, got := ref.jointLoss(n), tr.jointLoss(n)
		if math.Abs(got-want) > 1e-6*math.Abs(want) {
			t.Errorf("d = %d, large numbers: loss %g, expected %g", d, got, want)
		}

		for i := range n {
			row, size := ref.do[i*ref.headN:][:ref.heads], 0.0
			for _, g := range row {
				size = max(size, math.Abs(g))
			}

			for j, g := range tr.do[i*ref.headN:][:ref.heads] {
				if math.Abs(float64(g)-row[j]) > 1e-4*size {
					t.Fatalf("d = %d, large numbers: gradient %d of triplet %d is %g, expected %g (of at most %g)", d, j, i, g,
						row[j], size)
				}
			}
		}
	}
}

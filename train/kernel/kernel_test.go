package kernel

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every set is tested against the definition of its functions, evaluated
// naively in float64, and so also against the portable set.

// random returns n numbers of the standard normal distribution.
func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}

	return v
}

// shape is the shape of a product: rows×n, summed over k.
type shape struct{ rows, k, n int }

// gemmShapes are the shapes of the three experiments and odd ones.
var gemmShapes = []shape{
	{96, 8, 64},
	{96, 4, 64},
	{96, 64, 64},
	{96, 64, 16},
	{96, 12, 64},
	{8, 4, 16},
	{24, 20, 48},
	{40, 64, 80},
	{16, 128, 128},
	{104, 48, 32},
	{240, 64, 16},
	{4, 8, 64},
	{20, 20, 128},
	{28, 64, 192},
}

// eachSet runs a test with every set of this machine.
func eachSet(t *testing.T, f func(t *testing.T, k *Set[float32])) {
	for _, name := range Names() {
		k, err := Resolve(name)
		require.NoError(t, err)

		t.Run(name, func(t *testing.T) { f(t, k) })
	}
}

// close32 requires that got is want but for rounding. scale is the sum of the magnitudes of the terms of want: terms
// that cancel leave an error relative to their size. A NaN is not close to anything.
func close32(t *testing.T, what string, got float32, want, scale float64) {
	t.Helper()

	isClose := math.Abs(float64(got)-want) <= 1e-6*scale
	if !isClose {
		t.Fatalf("%s = %.9g, expected %.9g (the terms have the size %.3g)", what, got, want, scale)
	}
}

// gemmCase has random operands for Dense, DenseReLU and Back.
type gemmCase struct {
	shape
	lda  int // row stride of a
	a    []float32
	w    []float32
	bias []float32
	h    []float32
	keep []uint16 // n/Lane words a row
}

const gemmAlpha = 1.25

// eachGemm runs a test with operands of every shape, with and without a gap between the rows of a.
func eachGemm(t *testing.T, f func(t *testing.T, set *Set[float32], c *gemmCase)) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range gemmShapes {
			for _, gap := range []int{0, 4, 13} {
				lda := s.k + gap
				c := &gemmCase{
					shape: s, lda: lda, a: random(r, s.rows*lda), w: random(r, s.k*s.n), bias: random(r, s.n),
					h: random(r, s.rows*s.n), keep: make([]uint16, s.rows*s.n/Lane),
				}

				for i := range c.keep {
					c.keep[i] = uint16(r.Uint32())
				}

				f(t, set, c)
			}
		}
	})
}

func (c *gemmCase) String() string {
	return fmt.Sprintf("%d×%d×%d, stride %d", c.rows, c.k, c.n, c.lda)
}

// product returns element (i, j) of α·a·w by its definition, and the sum of the magnitudes of its terms.
func (c *gemmCase) product(i, j int) (sum, scale float64) {
	for q := range c.k {
		term := gemmAlpha * float64(c.a[i*c.lda+q]) * float64(c.w[q*c.n+j])
		sum += term
		scale += math.Abs(term)
	}

	return sum, scale
}

// isKept reports the bit of element (i, j).
func (c *gemmCase) isKept(i, j int) bool {
	word := c.keep[i*c.n/Lane+j/Lane]
	return word>>(j%Lane)&1 == 1
}

// Dense adds the bias to the product, and writes nothing beyond the result.
func TestDense(t *testing.T) {
	eachGemm(t, func(t *testing.T, set *Set[float32], c *gemmCase) {
		size := c.rows * c.n
		guard := random(rand.New(rand.NewPCG(1, 3)), c.n) // a row behind the result
		z := append(make([]float32, size), guard...)
		set.Dense(z, MatrixOf(c.a, c.lda), c.w, c.bias, Size{c.rows, c.k, c.n}, gemmAlpha)

		for i := range c.rows {
			for j := range c.n {
				sum, scale := c.product(i, j)
				bias := float64(c.bias[j])
				close32(t, c.String(), z[i*c.n+j], sum+bias, scale+math.Abs(bias))
			}
		}

		require.Equal(t, guard, z[size:], "%s: numbers behind the result", c)
	})
}

// DenseReLU is Dense with zeros for negative elements and for those whose bit is 0.
func TestDenseReLU(t *testing.T) {
	eachGemm(t, func(t *testing.T, set *Set[float32], c *gemmCase) {
		z := make([]float32, c.rows*c.n)
		set.DenseReLU(z, MatrixOf(c.a, c.lda), c.w, c.bias, Keep{c.keep, c.n / Lane}, Size{c.rows, c.k, c.n}, gemmAlpha)

		for i := range c.rows {
			for j := range c.n {
				if !c.isKept(i, j) {
					require.Zero(t, z[i*c.n+j], "%s: dropped element", c)
					continue
				}

				sum, scale := c.product(i, j)
				bias := float64(c.bias[j])
				close32(t, c.String(), z[i*c.n+j], max(0, sum+bias), scale+math.Abs(bias))
			}
		}
	})
}

// With the stride 0 all rows have the same bits. Here all of them are 1, so that DenseReLU is max(0, Dense), to the
// bit.
func TestDenseReLUSameBits(t *testing.T) {
	eachGemm(t, func(t *testing.T, set *Set[float32], c *gemmCase) {
		want := make([]float32, c.rows*c.n)
		set.Dense(want, MatrixOf(c.a, c.lda), c.w, c.bias, Size{c.rows, c.k, c.n}, gemmAlpha)
		for i, z := range want {
			want[i] = max(0, z)
		}

		ones := make([]uint16, c.n/Lane)
		for i := range ones {
			ones[i] = math.MaxUint16
		}

		got := make([]float32, c.rows*c.n)
		set.DenseReLU(got, MatrixOf(c.a, c.lda), c.w, c.bias, Keep{ones, 0}, Size{c.rows, c.k, c.n}, gemmAlpha)
		require.Equal(t, want, got, c.String())
	})
}

// Back is the product without a bias, with zeros for the elements whose h is not positive.
func TestBack(t *testing.T) {
	eachGemm(t, func(t *testing.T, set *Set[float32], c *gemmCase) {
		dx := make([]float32, c.rows*c.n)
		set.Back(dx, MatrixOf(c.a, c.lda), c.w, c.h, Size{c.rows, c.k, c.n}, gemmAlpha)

		for i := range c.rows {
			for j := range c.n {
				if c.h[i*c.n+j] <= 0 {
					require.Zero(t, dx[i*c.n+j], "%s: element with h ≤ 0", c)
					continue
				}

				sum, scale := c.product(i, j)
				close32(t, c.String(), dx[i*c.n+j], sum, scale)
			}
		}
	})
}

// A NaN in one row stays a NaN, and does not reach the other rows.
func TestGemmKeepsNaN(t *testing.T) {
	const rows, k, n = 8, 4, 16
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		a := make([]float32, rows*k)
		a[0] = float32(math.NaN())
		z := make([]float32, rows*n)
		keepAll := []uint16{math.MaxUint16}
		set.DenseReLU(z, MatrixOf(a, k), make([]float32, k*n), make([]float32, n), Keep{keepAll, 0}, Size{rows, k, n}, 1)

		require.True(t, math.IsNaN(float64(z[0])), "the first row is %g, expected NaN", z[0])
		assert.Zero(t, z[n], "the second row")
	})
}

// Outer adds α·aᵀ·d to g, and the column sums of d to sum unless sum is nil.
func TestOuter(t *testing.T) {
	const alpha = 0.75
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range gemmShapes {
			for _, lda := range []int{s.k, s.k + 4} {
				what := fmt.Sprintf("%d×%d×%d, stride %d", s.rows, s.k, s.n, lda)
				a := random(r, s.rows*lda)
				d := random(r, s.rows*s.n)
				g0 := random(r, s.k*s.n)
				sum0 := random(r, s.n)

				g := slices.Clone(g0)
				sum := slices.Clone(sum0)
				set.Outer(g, sum, MatrixOf(a, lda), d, Size{s.rows, s.k, s.n}, alpha)

				withoutSum := slices.Clone(g0)
				set.Outer(withoutSum, nil, MatrixOf(a, lda), d, Size{s.rows, s.k, s.n}, alpha)
				require.Equal(t, g, withoutSum, "%s: without a sum", what)

				for j := range s.n {
					want := float64(sum0[j])
					scale := math.Abs(want)
					for i := range s.rows {
						want += float64(d[i*s.n+j])
						scale += math.Abs(float64(d[i*s.n+j]))
					}

					close32(t, what+": sum", sum[j], want, scale)
				}

				for q := range s.k {
					for j := range s.n {
						want := float64(g0[q*s.n+j])
						scale := math.Abs(want)
						for i := range s.rows {
							term := alpha * float64(a[i*lda+q]) * float64(d[i*s.n+j])
							want += term
							scale += math.Abs(term)
						}

						close32(t, what+": g", g[q*s.n+j], want, scale)
					}
				}
			}
		}
	})
}

// Rows are added one after the other, so that every set gives the same bytes.
func TestAddRows(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(21, 22))
		for _, s := range []struct{ rows, n int }{{0, 16}, {1, 16}, {13, 48}, {96, 64}} {
			d := random(r, s.rows*s.n)
			sum := random(r, s.n+1) // the last number must not change
			want := slices.Clone(sum)
			for i, x := range d {
				want[i%s.n] += x
			}

			set.AddRows(sum, d, s.rows, s.n)

			require.Equal(t, want, sum, "%d×%d", s.rows, s.n)
		}
	})
}

// Transpose swaps rows and columns, and does not change the gaps between the rows of dst.
func TestTranspose(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, s := range []struct{ rows, cols int }{{64, 64}, {4, 64}, {12, 64}, {4, 4}, {20, 12}, {48, 80}, {8, 16}} {
			lds := s.cols + 3
			ldd := s.rows + 5
			src := random(r, s.rows*lds)
			dst := random(r, s.cols*ldd)

			want := slices.Clone(dst)
			for i := range s.cols {
				for j := range s.rows {
					want[i*ldd+j] = src[j*lds+i]
				}
			}

			set.Transpose(MatrixOf(dst, ldd), MatrixOf(src, lds), s.rows, s.cols)

			require.Equal(t, want, dst, "%d×%d", s.rows, s.cols)
		}
	})
}

// The bits of all sets are the same, and they are 0 with the probability drop/65536. The number of zeros is binomial:
// it may be off by 4.5 standard deviations.
func TestBits(t *testing.T) {
	const words = 32 * 640
	for _, drop := range []uint16{0, 1, 3277, 32768, 6554, 65535} {
		var first []uint16 // the bits of the first set
		eachSet(t, func(t *testing.T, set *Set[float32]) {
			s := NewLanes(42)
			dst := make([]uint16, words)
			set.Bits(dst[:32*40], drop, s)
			set.Bits(dst[32*40:], drop, s) // goes on with the state of the first call

			if first == nil {
				first = dst
			}

			require.Equal(t, first, dst, "drop %d: the bits of the first set and of this set", drop)

			zeros := 0
			for _, word := range dst {
				zeros += bits.OnesCount16(^word)
			}

			n := 16 * float64(words)
			p := float64(drop) / 65536
			deviation := math.Sqrt(n * p * (1 - p))
			assert.InDelta(t, n*p, float64(zeros), 4.5*deviation+1e-9, "drop %d: zeros", drop)
		})
	}
}

// xoshiro is an xoshiro256++ generator, written as its authors' C code.
type xoshiro [4]uint64

// next returns the next number, and advances the state.
func (x *xoshiro) next() uint64 {
	result := bits.RotateLeft64(x[0]+x[3], 23) + x[0]
	shifted := x[1] << 17
	x[2] ^= x[0]
	x[3] ^= x[1]
	x[1] ^= x[2]
	x[0] ^= x[3]
	x[2] ^= shifted
	x[3] = bits.RotateLeft64(x[3], 45)

	return result
}

// The generator is xoshiro256++. Expected first outputs for the state 1, 2, 3, 4: its authors' C code, and the test
// vector of the Rust crate rand_xoshiro. With drop = 32768 only the 16th number decides: the bits are its complement.
func TestBitsGenerator(t *testing.T) {
	x := xoshiro{1, 2, 3, 4}
	var numbers []uint64
	for range 16 {
		numbers = append(numbers, x.next())
	}

	require.Equal(t, []uint64{41943041, 58720359, 3588806011781223}, numbers[:3], "the generator of this test")
	last := numbers[15]

	eachSet(t, func(t *testing.T, set *Set[float32]) {
		var s Lanes
		for i := range s {
			for lane := range s[i] {
				s[i][lane] = uint64(i + 1)
			}
		}

		dst := make([]uint16, 32)
		set.Bits(dst, 32768, &s)

		for i, word := range dst {
			part := i % 4 // of the number, 16 bits each
			require.Equal(t, ^uint16(last>>(16*part)), word, "word %d", i)
		}

		for i := range s {
			for lane := range s[i] {
				require.Equal(t, x[i], s[i][lane], "state %d of lane %d", i, lane)
			}
		}
	})
}

// wide converts numbers to float64.
func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}

	return w
}

// lossCase has the arguments of LossGrad.
type lossCase struct{ mu, raw, t1, t2, c []float32 }

// newLossCase draws arguments with raw from −40 to 40 and at its special values. Every third element has the same
// target twice.
func newLossCase(r *rand.Rand, n int) lossCase {
	l := lossCase{mu: random(r, n), raw: random(r, n), t1: random(r, n), t2: random(r, n), c: random(r, n)}
	for i := range n {
		l.raw[i] *= 12
		l.c[i] = max(l.c[i], -l.c[i])
		if i%3 == 0 {
			l.t2[i] = l.t1[i]
		}
	}

	copy(l.raw, []float32{0, float32(math.Copysign(0, -1)), 1e-8, -1e-8, 88, -88})

	return l
}

// Expected values: the portable code in float64, which the golden tests of package train compare with torch. In
// 1 − q²/v and in q1 + q2 digits cancel, so that the errors of the derivatives are relative to the terms.
func TestLossGrad(t *testing.T) {
	const n = 4096
	const leastNormal = 1.2e-38 // of float32
	reference := Portable[float64]()
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, beta := range []float32{0, 0.5, 1, 0.3} {
			l := newLossCase(r, n)
			wantMu := make([]float64, n)
			wantRaw := make([]float64, n)
			want := reference.LossGrad(wantMu, wantRaw, wide(l.mu), wide(l.raw), wide(l.t1), wide(l.t2), wide(l.c),
				float64(beta))

			gmu := make([]float32, n)
			graw := make([]float32, n)
			sum := set.LossGrad(gmu, graw, l.mu, l.raw, l.t1, l.t2, l.c, beta)
			assert.InDelta(t, want, float64(sum), 1e-5*math.Abs(want), "β = %g: loss", beta)

			for i := range n {
				raw := float64(l.raw[i])
				v := softplusOf(raw)
				q := math.Max(math.Abs(float64(l.t1[i]-l.mu[i])), math.Abs(float64(l.t2[i]-l.mu[i])))
				perVariance := float64(l.c[i]) * math.Pow(v, float64(beta)) / v
				require.InDelta(t, wantMu[i], gmu[i], 3e-6*perVariance*q, "β = %g, raw %g: ∂μ", beta, raw)

				slope := 1 / (1 + math.Exp(-raw)) // of softplus
				tolerance := 5e-6*perVariance*slope*(1+q*q/v) + leastNormal
				require.InDelta(t, wantRaw[i], graw[i], tolerance, "β = %g, raw %g: ∂raw", beta, raw)
			}
		}
	})
}

// softplusOf returns softplus(raw) + 1e-6 by package math.
func softplusOf(raw float64) float64 {
	return math.Max(raw, 0) + math.Log1p(math.Exp(-math.Abs(raw))) + 1e-6
}

// Expected values: softplus(raw) + 1e-6 by package math.
func TestVariance(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		raw := newLossCase(rand.New(rand.NewPCG(7, 9)), 4096).raw
		v := slices.Clone(raw)
		set.Variance(v)

		for i := range v {
			want := softplusOf(float64(raw[i]))
			require.InDelta(t, want, v[i], 3e-7*want, "raw %g", raw[i])
		}
	})
}

// Expected values: the formulas of AdamStep in float64, 50 steps long. The first gradients are 0, and the next ones
// about ε.
func TestAdam(t *testing.T) {
	const n = 160
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(9, 10))
		w := random(r, n)
		m := make([]float32, n)
		v := make([]float32, n)

		wantW := wide(w)
		wantM := make([]float64, n)
		wantV := make([]float64, n)
		power1 := 1.0 // β1 to the power of the step
		power2 := 1.0 // β2 to the power of the step
		for step := range 50 {
			g := random(r, n)
			for i := range 16 {
				g[i] = 0 // never moves, never divides 0 by 0
			}

			for i := 16; i < 32; i++ {
				g[i] *= 1e-9
			}

			power1 *= 0.9
			power2 *= 0.999
			s := AdamStep[float32]{
				Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001,
				Rate: float32(1e-2 / (1 - power1)), RootScale: float32(1 / math.Sqrt(1-power2)), Eps: 1e-8, Decay: 1 - 1e-3,
			}

			for i := range n {
				gi := float64(g[i])
				wantM[i] = 0.9*wantM[i] + 0.1*gi
				wantV[i] = 0.999*wantV[i] + 0.001*gi*gi
				wantW[i] = float64(s.Decay)*wantW[i] - 1e-2*(wantM[i]/(1-power1))/(math.Sqrt(wantV[i]/(1-power2))+1e-8)
			}

			set.Adam(w, g, m, v, s)

			require.Equal(t, make([]float32, n), g, "gradient after step %d", step)
			for i, want := range wantW {
				require.InDelta(t, want, w[i], 5e-6*math.Max(1, math.Abs(want)), "step %d: weight %d", step, i)
			}
		}
	})
}

// The moments of a dead unit, whose gradient stays 0, end in zero and not in subnormal numbers.
func TestAdamMomentsEndInZero(t *testing.T) {
	const n = 160
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(9, 11))
		w := random(r, n)
		m := random(r, n)
		v := make([]float32, n)
		for i := range v {
			v[i] = m[i] * m[i]
		}

		s := AdamStep[float32]{
			Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.9, OneMinusBeta2: 0.1, Rate: 0, RootScale: 1, Eps: 1e-8, Decay: 1,
		}
		for range 2000 {
			set.Adam(w, make([]float32, n), m, v, s)
		}

		assert.Equal(t, make([]float32, n), m, "first moments")
		assert.Equal(t, make([]float32, n), v, "second moments")
	})
}

// The portable exp, log and log1p have small relative errors. Expected values: package math.
func TestElementary(t *testing.T) {
	for _, c := range []struct {
		name      string
		f         func(float32) float32
		reference func(float64) float64
		low, high float64 // range of the argument
		tolerance float64
	}{
		{"exp", exp32, math.Exp, -87, 88, 1.5e-7},
		{"log below √½", log32, math.Log, 1e-6, 0.7, 2e-7},
		{"log near 1", log32, math.Log, 0.7, 1.5, 3e-7},
		{"log above", log32, math.Log, 1.5, 1e6, 2e-7},
		{"log1p", log1p32, math.Log1p, 1e-12, 1, 2e-7},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			worst := 0.0
			for range 200000 {
				x := float32(c.low + (c.high-c.low)*r.Float64())
				want := c.reference(float64(x))
				worst = max(worst, math.Abs(float64(c.f(x))-want)/math.Abs(want))
			}

			assert.LessOrEqual(t, worst, c.tolerance, "worst relative error")
		})
	}
}

// Below −87.25, exp is the least normal number and not 0.
func TestExpLeast(t *testing.T) {
	assert.Positive(t, exp32(-200))
	assert.Less(t, exp32(-200), float32(2e-38))
}

// Expected values: the sums in float64, one by one; only their order differs.
func TestSums(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, n := range []int{0, 16, 48, 256} {
			c := random(r, n)
			w := random(r, n)
			e := random(r, n)

			var want, size [3]float64
			for i := range c {
				ci := float64(c[i])
				wi := float64(w[i])
				ei := float64(e[i])
				for k, term := range []float64{wi * ci, wi * ei * ci, wi * ci * ci} {
					want[k] += term
					size[k] += math.Abs(term)
				}
			}

			got := set.Sums(c, w, e)
			for k, sum := range got {
				assert.InDelta(t, want[k], sum, 1e-14*size[k], "%d numbers, sum %d", n, k)
			}

			assert.Zero(t, testing.AllocsPerRun(10, func() { set.Sums(c, w, e) }), "%d numbers: allocations", n)
		}
	})
}

// "auto" is the fastest set, or the set in the environment. A set given by its name wins over the environment.
func TestResolve(t *testing.T) {
	for _, c := range []struct{ name, environment, want string }{
		{"auto", "", Names()[0]},
		{"", "portable", "portable"},
		{"auto", "portable", "portable"},
		{"portable", "sse9", "portable"},
	} {
		t.Setenv(EnvVar, c.environment)

		k, err := Resolve(c.name)
		require.NoError(t, err, "%+v", c)
		assert.Equal(t, c.want, k.Name, "%+v", c)
	}
}

// The error for an unknown name lists the names. If the name comes from the environment variable, the error says so.
func TestResolveRefuses(t *testing.T) {
	_, err := Resolve("sse9")
	require.EqualError(t, err, `choose kernels "sse9": expected auto, portable or avx2`, "stated name")
	require.NotErrorIs(t, err, ErrUnavailable)

	t.Setenv(EnvVar, "sse9")

	_, err = Resolve("auto")
	require.EqualError(t, err, "read the environment variable DOUBLETAKE_KERNELS: "+
		`choose kernels "sse9": expected auto, portable or avx2`, "name in the environment")
	assert.NotErrorIs(t, err, ErrUnavailable)
}

// zeros returns n zeros.
func zeros(n int) []float32 { return make([]float32, n) }

// The functions panic if a size is not padded, or if a slice is too short for its shape. In each case all arguments
// but one are right for 16×4 · 4×16.
func TestMisuse(t *testing.T) {
	const rows, k, n = 16, 4, 16
	a := zeros(rows * k)
	w := zeros(k * n)
	z := zeros(rows * n)
	bias := zeros(n)
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		for name, call := range map[string]func(){
			"rows not padded":  func() { set.Dense(z, MatrixOf(a, k), w, bias, Size{rows - 1, k, n}, 1) },
			"result too short": func() { set.Dense(z[1:], MatrixOf(a, k), w, bias, Size{rows, k, n}, 1) },
			"bias too short":   func() { set.Dense(z, MatrixOf(a, k), w, bias[1:], Size{rows, k, n}, 1) },
			"bits too short": func() {
				set.DenseReLU(z, MatrixOf(a, k), w, bias, Keep{make([]uint16, rows-1), 1}, Size{rows, k, n}, 1)
			},
			"gradient too short": func() { set.Outer(w[1:], nil, MatrixOf(a, k), z, Size{rows, k, n}, 1) },
			"lengths differ":     func() { set.Adam(zeros(16), zeros(32), zeros(16), zeros(16), AdamStep[float32]{}) },
			"sum too short":      func() { set.AddRows(zeros(15), zeros(16), 1, 16) },
			"bits not padded":    func() { set.Bits(make([]uint16, 31), 1, NewLanes(1)) },
		} {
			assert.Panics(t, call, name)
		}
	})
}

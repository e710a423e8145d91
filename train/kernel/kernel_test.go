package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every set is tested against the definition of its functions, evaluated
// naively in float64, and so also against the portable set.

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}

	return v
}

// Shapes of the three experiments and odd ones: rows, k, n.
var gemmShapes = [][3]int{
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

func eachSet(t *testing.T, f func(t *testing.T, k *Set[float32])) {
	for _, name := range Names() {
		k, err := Resolve(name)
		require.NoError(t, err)

		t.Run(name, func(t *testing.T) { f(t, k) })
	}
}

func close32(t *testing.T, what string, got float32, want, scale float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= 1e-6*scale) {
		t.Fatalf("%s = %.9g, expected %.9g (off by %.2g of %.3g)", what, got, want, d/scale, scale)
	}
}

func TestGemm(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range gemmShapes {
			rows := s[0]
			k := s[1]
			n := s[2]
			for _, lda := range []int{k, k + 4, k + 13} {
				what := fmt.Sprintf("%d×%d×%d, stride %d", rows, k, n, lda)
				a := random(r, rows*lda)
				w := random(r, k*n)
				b := random(r, n)
				h := random(r, rows*n)

				keep := make([]uint16, rows*n/Lane+3)
				for i := range keep {
					keep[i] = uint16(r.Uint32())
				}

				stride := n / Lane
				const alpha = 1.25

				// One guard row behind each result must stay as it is.
				dense := random(r, rows*n+n)
				relu := make([]float32, rows*n+n)
				back := make([]float32, rows*n+n)
				guard := append([]float32(nil), dense[rows*n:]...)
				set.Dense(dense, a, lda, w, b, rows, k, n, alpha)
				set.DenseReLU(relu, a, lda, w, b, keep, stride, rows, k, n, alpha)
				set.Back(back, a, lda, w, h, rows, k, n, alpha)

				for i := range rows {
					for j := range n {
						sum := 0.0
						scale := 0.0
						for q := range k {
							p := float64(a[i*lda+q]) * float64(w[q*n+j])
							sum += p
							scale += math.Abs(p)
						}

						scale = alpha*scale + math.Abs(float64(b[j]))
						z := alpha*sum + float64(b[j])
						close32(t, what+": Dense", dense[i*n+j], z, scale)

						if keep[i*stride+j/16]>>(j%16)&1 == 0 || z < 0 {
							z = 0
						}

						close32(t, what+": DenseReLU", relu[i*n+j], z, scale)

						z = alpha * sum
						if h[i*n+j] <= 0 {
							z = 0
						}

						close32(t, what+": Back", back[i*n+j], z, scale)

						if keep[i*stride+j/16]>>(j%16)&1 == 0 && relu[i*n+j] != 0 {
							t.Fatalf("%s: dropped element is %g", what, relu[i*n+j])
						}
					}
				}

				for i, g := range guard {
					if dense[rows*n+i] != g {
						t.Fatalf("%s: wrote beyond the result", what)
					}
				}

				// Stride 0: one row of bits for all.
				ones := make([]uint16, n/Lane)
				for i := range ones {
					ones[i] = math.MaxUint16
				}

				set.DenseReLU(relu, a, lda, w, b, ones, 0, rows, k, n, alpha)

				for i := range rows * n {
					if relu[i] != max(0, dense[i]) {
						t.Fatalf("%s: ReLU of %g is %g", what, dense[i], relu[i])
					}
				}
			}
		}
	})
}

func TestGemmKeepsNaN(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		a := make([]float32, 8*4)
		w := make([]float32, 4*16)
		b := make([]float32, 16)
		z := make([]float32, 8*16)
		a[0] = float32(math.NaN())
		set.DenseReLU(z, a, 4, w, b, []uint16{math.MaxUint16}, 0, 8, 4, 16, 1)

		require.True(t, math.IsNaN(float64(z[0])),
			"rows with and without NaN give %g and %g, expected NaN and 0", z[0], z[16])
		assert.Equal(t, float32(0), z[16], "rows with and without NaN give %g and %g, expected NaN and 0", z[0], z[16])
	})
}

func TestOuter(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range gemmShapes {
			rows := s[0]
			k := s[1]
			n := s[2]
			for _, lda := range []int{k, k + 4} {
				for _, withSum := range []bool{false, true} {
					what := fmt.Sprintf("%d×%d×%d, stride %d, sum %v", rows, k, n, lda, withSum)
					a := random(r, rows*lda)
					d := random(r, rows*n)
					g0 := random(r, k*n)
					s0 := random(r, n)
					g := append([]float32(nil), g0...)
					sum := append([]float32(nil), s0...)

					const alpha = 0.75
					if withSum {
						set.Outer(g, sum, a, lda, d, rows, k, n, alpha)
					} else {
						set.Outer(g, nil, a, lda, d, rows, k, n, alpha)
					}

					for j := range n {
						total := float64(s0[j])
						scale := math.Abs(float64(s0[j]))
						for i := range rows {
							total += float64(d[i*n+j])
							scale += math.Abs(float64(d[i*n+j]))
						}

						if !withSum {
							total = float64(s0[j])
						}

						close32(t, what+": sum", sum[j], total, scale)

						for q := range k {
							total := 0.0
							scale := 0.0
							for i := range rows {
								p := float64(a[i*lda+q]) * float64(d[i*n+j])
								total += p
								scale += math.Abs(p)
							}

							close32(t, what+": g", g[q*n+j], float64(g0[q*n+j])+alpha*total, alpha*scale+math.Abs(float64(g0[q*n+j])))
						}
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
		for _, s := range [][2]int{{0, 16}, {1, 16}, {13, 48}, {96, 64}} {
			rows := s[0]
			n := s[1]
			d := random(r, rows*n)
			sum := random(r, n+1)
			want := append([]float32(nil), sum...)
			for i, x := range d {
				want[i%n] += x
			}

			set.AddRows(sum, d, rows, n)

			for i, w := range want {
				if sum[i] != w {
					t.Fatalf("%d×%d: sum %d = %g, expected %g", rows, n, i, sum[i], w)
				}
			}
		}
	})
}

func TestTranspose(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, s := range [][2]int{{64, 64}, {4, 64}, {12, 64}, {4, 4}, {20, 12}, {48, 80}, {8, 16}} {
			rows := s[0]
			cols := s[1]
			lds := cols + 3
			ldd := rows + 5
			src := random(r, rows*lds)
			dst := random(r, cols*ldd)
			before := append([]float32(nil), dst...)
			set.Transpose(dst, ldd, src, lds, rows, cols)

			for i := range cols {
				for j := range ldd {
					want := before[i*ldd+j]
					if j < rows {
						want = src[j*lds+i]
					}

					if dst[i*ldd+j] != want {
						t.Fatalf("%d×%d: element %d, %d is %g, expected %g", rows, cols, i, j, dst[i*ldd+j], want)
					}
				}
			}
		}
	})
}

// Bits of all sets are the same numbers, and zero as often as asked.
func TestBits(t *testing.T) {
	for _, drop := range []uint16{0, 1, 3277, 32768, 6554, 65535} {
		var first []uint16
		eachSet(t, func(t *testing.T, set *Set[float32]) {
			s := NewLanes(42)
			dst := make([]uint16, 32*640)
			set.Bits(dst[:32*40], drop, s) // the state carries over
			set.Bits(dst[32*40:], drop, s)

			if first == nil {
				first = dst
			}

			zeros := 0
			for i, b := range dst {
				if b != first[i] {
					t.Fatalf("drop %d: word %d is %04x, in the first set %04x", drop, i, b, first[i])
				}

				for ; b != math.MaxUint16; b |= b + 1 {
					zeros++
				}
			}

			n := float64(16 * len(dst))
			p := float64(drop) / 65536
			if sd := math.Sqrt(n * p * (1 - p)); math.Abs(float64(zeros)-n*p) > 4.5*sd+1e-9 {
				t.Errorf("drop %d: %d zeros of %.0f, expected %.0f ± %.0f", drop, zeros, n, n*p, sd)
			}
		})
	}
}

// The generator is xoshiro256++: first outputs for the state 1, 2, 3, 4 as its
// authors' C code gives them (41943041, 58720359, 3588806011781223, …; also
// the test vector of the Rust crate rand_xoshiro). With drop = 32768 only the
// last, 16th, number decides: the bits are the complement of output 16.
func TestBitsGenerator(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		var s Lanes
		for i := range 4 {
			for j := range 8 {
				s[i][j] = uint64(i + 1)
			}
		}

		// An independent xoshiro256++.
		x := [4]uint64{1, 2, 3, 4}
		next := func() uint64 {
			rotl := func(v uint64, k int) uint64 { return v<<k | v>>(64-k) }
			out := rotl(x[0]+x[3], 23) + x[0]
			u := x[1] << 17
			x[2] ^= x[0]
			x[3] ^= x[1]
			x[1] ^= x[2]
			x[0] ^= x[3]
			x[2] ^= u
			x[3] = rotl(x[3], 45)

			return out
		}

		var out uint64
		for i := range 16 {
			out = next()
			if want := []uint64{41943041, 58720359, 3588806011781223}; i < len(want) && out != want[i] {
				t.Fatalf("output %d of the check itself is %d, expected %d", i, out, want[i])
			}
		}

		dst := make([]uint16, 32)
		set.Bits(dst, 32768, &s)

		for i, b := range dst {
			if want := ^uint16(out >> (16 * (i % 4))); b != want {
				t.Fatalf("word %d is %04x, expected %04x", i, b, want)
			}
		}

		for i := range 4 {
			for j := range 8 {
				if s[i][j] != x[i] {
					t.Fatalf("state %d of lane %d is %d, expected %d", i, j, s[i][j], x[i])
				}
			}
		}
	})
}

func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}

	return w
}

// LossGrad, Variance and Adam against the same formulas in float64 (package
// math); the golden tests of package train compare with torch.
func TestLossGrad(t *testing.T) {
	ref := Portable[float64]()
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(7, 8))

		const n = 4096
		for _, beta := range []float32{0, 0.5, 1, 0.3} {
			mu := random(r, n)
			raw := random(r, n)
			t1 := random(r, n)
			t2 := random(r, n)
			c := random(r, n)
			for i := range raw {
				raw[i] *= 12 // −40…40
				c[i] = float32(math.Abs(float64(c[i])))
				if i%3 == 0 {
					t2[i] = t1[i]
				}
			}

			copy(raw, []float32{0, float32(math.Copysign(0, -1)), 1e-8, -1e-8, 88, -88})
			gmu := make([]float32, n)
			graw := make([]float32, n)
			g64 := make([]float64, n)
			h64 := make([]float64, n)
			sum := set.LossGrad(gmu, graw, mu, raw, t1, t2, c, beta)

			want := ref.LossGrad(g64, h64, wide(mu), wide(raw), wide(t1), wide(t2), wide(c), float64(beta))
			assert.InDelta(t, want, float64(sum), 1e-5*math.Abs(want), "β = %g: loss %g, expected %g", beta, sum, want)

			v := append([]float32(nil), raw...)
			set.Variance(v)

			for i := range n {
				if w := math.Max(float64(raw[i]), 0) + math.Log1p(math.Exp(-math.Abs(float64(raw[i])))) +
					1e-6; math.Abs(float64(v[i])-w) > 3e-7*w {
					t.Fatalf("variance of raw %g is %.9g, expected %.9g", raw[i], v[i], w)
				}

				// In 1 − q²/v and in q1 + q2 digits cancel: the error is
				// relative to the terms.
				q := math.Max(math.Abs(float64(t1[i]-mu[i])), math.Abs(float64(t2[i]-mu[i])))

				s := float64(c[i]) * math.Pow(float64(v[i]), float64(beta)) / float64(v[i])
				if math.Abs(float64(gmu[i])-g64[i]) > 3e-6*s*q {
					t.Fatalf("β = %g, raw %g: ∂μ %.9g, expected %.9g", beta, raw[i], gmu[i], g64[i])
				}

				sg := 1 / (1 + math.Exp(-float64(raw[i])))
				if math.Abs(float64(graw[i])-h64[i]) > 5e-6*s*sg*(1+q*q/float64(v[i]))+1.2e-38 {
					t.Fatalf("β = %g, raw %g: ∂raw %.9g, expected %.9g", beta, raw[i], graw[i], h64[i])
				}
			}
		}
	})
}

func TestAdam(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		r := rand.New(rand.NewPCG(9, 10))
		const n = 160
		w := random(r, n)
		m := make([]float32, n)
		v := make([]float32, n)

		w64 := make([]float64, n)
		m64 := make([]float64, n)
		v64 := make([]float64, n)
		for i := range w {
			w64[i] = float64(w[i])
		}

		b1t := 1.0
		b2t := 1.0
		for step := range 50 {
			g := random(r, n)
			for i := range 16 {
				g[i] = 0 // never moves, never divides 0 by 0
			}

			for i := 16; i < 32; i++ {
				g[i] *= 1e-9 // about ε
			}

			b1t *= 0.9
			b2t *= 0.999
			s := AdamStep[float32]{
				0.9, float32(1 - 0.9), 0.999, float32(1 - 0.999), float32(1e-2 / (1 - b1t)), float32(1 / math.Sqrt(1-b2t)), 1e-8,
				1 - 1e-3,
			}

			for i := range n {
				gi := float64(g[i])
				m64[i] = 0.9*m64[i] + 0.1*gi
				v64[i] = 0.999*v64[i] + 0.001*gi*gi
				w64[i] = float64(s.Decay)*w64[i] - 1e-2*(m64[i]/(1-b1t))/(math.Sqrt(v64[i]/(1-b2t))+1e-8)
			}

			set.Adam(w, g, m, v, s)

			for i := range n {
				if g[i] != 0 {
					t.Fatalf("gradient %d is %g after the step, expected 0", i, g[i])
				}
				if math.Abs(float64(w[i])-w64[i]) > 5e-6*math.Max(1, math.Abs(w64[i])) {
					t.Fatalf("step %d: weight %d is %.9g, expected %.9g", step, i, w[i], w64[i])
				}
			}
		}

		// A dead unit's moments end in zero, not in subnormal numbers.
		for range 2000 {
			g := make([]float32, n)
			set.Adam(w, g, m, v, AdamStep[float32]{0.9, 0.1, 0.9, 0.1, 0, 1, 1e-8, 1})
		}

		for i := range n {
			require.Equal(t, float32(0), m[i], "moments %d are %g, %g after 2000 zero gradients, expected 0", i, m[i], v[i])
			require.Equal(t, float32(0), v[i], "moments %d are %g, %g after 2000 zero gradients, expected 0", i, m[i], v[i])
		}
	})
}

// Portable exp, log and log1p against package math.
func TestElementary(t *testing.T) {
	worst := func(name string, f func(float32) float32, ref func(float64) float64, lo, hi, tol float64) {
		r := rand.New(rand.NewPCG(11, 12))

		top := 0.0
		for range 200000 {
			x := float32(lo + (hi-lo)*r.Float64())
			want := ref(float64(x))
			if e := math.Abs(float64(f(x))-want) / math.Abs(want); e > top {
				top = e
			}
		}

		assert.LessOrEqual(t, top, tol, "%s: worst relative error %.2g, allowed %.2g", name, top, tol)

		t.Logf("%s: worst relative error %.2g", name, top)
	}

	worst("exp", exp32, math.Exp, -87, 88, 1.5e-7)
	worst("log below √½", log32, math.Log, 1e-6, 0.7, 2e-7)
	worst("log near 1", log32, math.Log, 0.7, 1.5, 3e-7)
	worst("log above", log32, math.Log, 1.5, 1e6, 2e-7)
	worst("log1p", log1p32, math.Log1p, 1e-12, 1, 2e-7)

	if e := exp32(-200); !(e > 0 && e < 2e-38) {
		t.Errorf("exp(−200) = %g, expected the least normal number", e)
	}
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
				x := float64(c[i])
				y := float64(w[i])
				z := float64(e[i])
				for k, v := range []float64{y * x, y * z * x, y * x * x} {
					want[k] += v
					size[k] += math.Abs(v)
				}
			}

			got := set.Sums(c, w, e)
			for k := range got {
				if d := math.Abs(got[k] - want[k]); !(d <= 1e-14*size[k]) {
					t.Errorf("%d numbers, sum %d: %.17g, expected %.17g", n, k, got[k], want[k])
				}
			}

			if a := testing.AllocsPerRun(10, func() { set.Sums(c, w, e) }); a > 0 {
				t.Errorf("Sums allocates %g times", a)
			}
		}
	})
}

func TestResolve(t *testing.T) {
	t.Setenv(EnvVar, "")

	if k, err := Resolve("auto"); err != nil || k.Name != Names()[0] {
		t.Errorf("auto: %v, %v; expected %s", k, err, Names()[0])
	}

	t.Setenv(EnvVar, "portable")

	if k, err := Resolve(""); err != nil || k.Name != "portable" {
		t.Errorf("auto with %s=portable: %v, %v", EnvVar, k, err)
	}

	t.Setenv(EnvVar, "sse9")

	if _, err := Resolve("auto"); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("unknown name: %v, expected an error that names the choices", err)
	}

	if k, err := Resolve("portable"); err != nil || k.Name != "portable" {
		t.Errorf("a name given wins over the environment: %v, %v", k, err)
	}
}

func TestMisuse(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set[float32]) {
		for name, f := range map[string]func(){
			"rows not padded": func() {
				set.Dense(make([]float32, 1000), make([]float32, 1000), 4, make([]float32, 64), make([]float32, 16), 15, 4, 16, 1)
			},
			"result too short": func() {
				set.Dense(make([]float32, 255), make([]float32, 64), 4, make([]float32, 64), make([]float32, 16), 16, 4, 16, 1)
			},
			"bias too short": func() {
				set.Dense(make([]float32, 256), make([]float32, 64), 4, make([]float32, 64), make([]float32, 15), 16, 4, 16, 1)
			},
			"bits too short": func() {
				set.DenseReLU(make([]float32, 256), make([]float32, 64), 4, make([]float32, 64), make([]float32, 16),
					make([]uint16, 15), 1, 16, 4, 16, 1)
			},
			"gradient too short": func() {
				set.Outer(make([]float32, 63), nil, make([]float32, 64), 4, make([]float32, 256), 16, 4, 16, 1)
			},
			"lengths differ": func() {
				set.Adam(make([]float32, 16), make([]float32, 32), make([]float32, 16), make([]float32, 16), AdamStep[float32]{})
			},
			"sum of rows too short": func() { set.AddRows(make([]float32, 15), make([]float32, 16), 1, 16) },
			"bits not padded":       func() { set.Bits(make([]uint16, 31), 1, NewLanes(1)) },
		} {
			func() {
				defer func() {
					assert.NotNil(t, recover(), "%s: no panic", name)
				}()

				f()
			}()
		}
	})
}

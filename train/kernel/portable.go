package kernel

import "math"

// Portable returns the set in plain Go. It rounds products before they are added, by
// explicit conversions that forbid fusing, so that every architecture gives the same
// bits. The functions below implement the functions of a Set.
func Portable[T Float]() *Set[T] {
	return &Set[T]{
		Name: "portable", Dense: dense[T], DenseReLU: denseReLU[T], Back: back[T], Outer: outer[T],
		Transpose: transpose[T], LossGrad: lossGrad[T], Adam: adam[T], Bits: bernoulli,
		Variance: variance[T], Sums: sums[T], AddRows: addRows[T],
	}
}

// gemm4 returns the product of 2 rows of a, k numbers each, and 4 columns of w. n is the row stride of w. Eight
// sums, with their operands, fit into sixteen registers.
func gemm4[T Float](a0, a1, w []T, k, n int) (s00, s01, s02, s03, s10, s11, s12, s13 T) {
	a0 = a0[:k]
	a1 = a1[:k]
	for i, x0 := range a0 {
		x1 := a1[i]
		r := w[i*n : i*n+4 : i*n+4]
		s00 += T(x0 * r[0])
		s10 += T(x1 * r[0])
		s01 += T(x0 * r[1])
		s11 += T(x1 * r[1])
		s02 += T(x0 * r[2])
		s12 += T(x1 * r[2])
		s03 += T(x0 * r[3])
		s13 += T(x1 * r[3])
	}

	return
}

// gemm fills z with a·w.
func gemm[T Float](z []T, a Matrix[T], w []T, s Size) {
	k := s.K
	n := s.N
	for r := 0; r < s.Rows; r += 2 {
		a0 := a.Data[r*a.Stride : r*a.Stride+k]
		a1 := a.Data[(r+1)*a.Stride : (r+1)*a.Stride+k]

		z0 := z[r*n : (r+1)*n]
		z1 := z[(r+1)*n : (r+2)*n]
		for c := 0; c < n; c += 4 {
			z0[c], z0[c+1], z0[c+2], z0[c+3], z1[c], z1[c+1], z1[c+2], z1[c+3] = gemm4(a0, a1, w[c:], k, n)
		}
	}
}

func dense[T Float](z []T, a Matrix[T], w, b []T, size Size, alpha T) {
	n := size.N
	checkGemm(z, a, w, size)
	need(len(b) >= n, "bias is too short")
	gemm(z, a, w, size)

	b = b[:n]
	for r := range size.Rows {
		zr := z[r*n : (r+1)*n]
		for c, bc := range b {
			zr[c] = T(alpha*zr[c]) + bc
		}
	}
}

func denseReLU[T Float](z []T, a Matrix[T], w, b []T, keep Keep, size Size, alpha T) {
	n := size.N
	checkGemm(z, a, w, size)
	need(len(b) >= n, "bias is too short")
	checkKeep(keep, size)
	gemm(z, a, w, size)

	b = b[:n]
	for r := range size.Rows {
		zr := z[r*n : (r+1)*n]

		bits := keep.Bits[r*keep.Stride:]
		for c, bc := range b {
			v := T(alpha*zr[c]) + bc

			// NaN stays NaN, as with max(0, NaN) in torch: one must see that a network
			// has diverged.
			if v <= 0 || bits[c>>4]>>(c&15)&1 == 0 {
				v = 0
			}

			zr[c] = v
		}
	}
}

func back[T Float](dx []T, dy Matrix[T], wt, h []T, size Size, alpha T) {
	checkGemm(dx, dy, wt, size)
	need(len(h) >= size.Rows*size.N, "h is too short")
	gemm(dx, dy, wt, size)

	h = h[:size.Rows*size.N]
	for i, x := range h {
		if x > 0 {
			dx[i] = T(alpha * dx[i])
		} else {
			dx[i] = 0
		}
	}
}

func outer[T Float](g, sum []T, a Matrix[T], d []T, size Size, alpha T) {
	checkOuter(g, sum, a, d, size)

	rows := size.Rows
	n := size.N
	for i := 0; i < size.K; i += 2 {
		for c := 0; c < n; c += 4 {
			var s00, s01, s02, s03, s10, s11, s12, s13 T
			for r := range rows {
				ar := a.Data[r*a.Stride+i:][:2:2]
				x0 := ar[0]
				x1 := ar[1]
				y := d[r*n+c : r*n+c+4 : r*n+c+4]
				s00 += T(x0 * y[0])
				s10 += T(x1 * y[0])
				s01 += T(x0 * y[1])
				s11 += T(x1 * y[1])
				s02 += T(x0 * y[2])
				s12 += T(x1 * y[2])
				s03 += T(x0 * y[3])
				s13 += T(x1 * y[3])
			}

			g0 := g[i*n+c : i*n+c+4]
			g1 := g[(i+1)*n+c : (i+1)*n+c+4]
			g0[0] += T(alpha * s00)
			g0[1] += T(alpha * s01)
			g0[2] += T(alpha * s02)
			g0[3] += T(alpha * s03)
			g1[0] += T(alpha * s10)
			g1[1] += T(alpha * s11)
			g1[2] += T(alpha * s12)
			g1[3] += T(alpha * s13)
		}
	}

	if sum == nil {
		return
	}

	sum = sum[:n]
	for c := range sum {
		var s T
		for r := range rows {
			s += d[r*n+c]
		}

		sum[c] += s
	}
}

func addRows[T Float](sum, d []T, rows, n int) {
	checkRows(len(sum), len(d), rows, n)

	sum = sum[:n]
	for r := range rows {
		for c, x := range d[r*n : (r+1)*n] {
			sum[c] += x
		}
	}
}

func transpose[T Float](dst, src Matrix[T], rows, cols int) {
	checkTranspose(dst, src, rows, cols)

	for r := range rows {
		s := src.Data[r*src.Stride : r*src.Stride+cols]
		for c, x := range s {
			dst.Data[c*dst.Stride+r] = x
		}
	}
}

// VarianceFloor is added to softplus(raw), so that no variance is 0. The assembly has the same number.
const VarianceFloor = 1e-6

func lossGrad[T Float](gmu, graw, mu, raw, t1, t2, c []T, beta T) T {
	checkEqual(len(mu), len(gmu), len(graw), len(raw), len(t1), len(t2), len(c))

	var sum T
	for i := range mu {
		v, e, h := softplus(raw[i])
		a := t1[i] - mu[i]
		b := t2[i] - mu[i]
		l, s, rest := betaTerm(v, c[i], beta, T(a*a)+T(b*b))
		sum += l
		gmu[i] = -T(s * (a + b))
		graw[i] = bySlope(T(s*rest), e, h)
	}

	return sum
}

// softplus returns v = softplus(r) + VarianceFloor, and e and h for bySlope: e = exp(−|r|), and h = √e for r < 0,
// otherwise 1. A product with h twice is more exact than a product with e, which is subnormal at r = −100.
func softplus[T Float](r T) (v, e, h T) {
	e, h = tails(r)
	v = log1p(e) + VarianceFloor
	if r > 0 {
		v = r + v
	}

	return v, e, h
}

// tails returns e and h of softplus.
func tails[T Float](r T) (e, h T) {
	h = exp(-T(0.5 * abs(r)))
	e = T(h * h)

	if !(r < 0) {
		h = 1
	}

	return e, h
}

// bySlope returns g times the derivative of softplus at r, which is 1/(1+e), or e/(1+e) for r < 0. softplus(r) returns
// e and h.
func bySlope[T Float](g, e, h T) T { return T(T(g/(1+e)*h) * h) }

// betaTerm returns the numbers of LossGrad for one element, with q = q1² + q2² and s = ½c·v^β: the loss
// s·(log v + q/2v), and s/v and 1 − q/2v for its derivatives.
func betaTerm[T Float](v, c, beta, q T) (loss, slope, rest T) {
	iv := 1 / v
	lv := log(v)
	s := T(0.5*c) * exp(T(beta*lv))
	e2 := T(T(0.5*q) * iv)

	return T(s * (lv + e2)), T(s * iv), 1 - e2
}

func variance[T Float](raw []T) {
	checkEqual(len(raw))

	for i, r := range raw {
		v := log1p(exp(-abs(r))) + VarianceFloor
		if r > 0 {
			v = r + v
		}

		raw[i] = v
	}
}

// sums implements Set.Sums. It adds two partial sums of each, so that an addition need not wait for the one before.
func sums[T Float](c, w, e []T) [3]float64 {
	checkEqual(len(c), len(w), len(e))

	var a, b [3]float64
	for i := 0; i+2 <= len(c); i += 2 {
		x := float64(c[i])
		y := float64(c[i+1])
		wx := float64(float64(w[i]) * x)
		wy := float64(float64(w[i+1]) * y)
		a[0] += wx
		b[0] += wy
		a[1] += float64(wx * float64(e[i]))
		b[1] += float64(wy * float64(e[i+1]))
		a[2] += float64(wx * x)
		b[2] += float64(wy * y)
	}

	return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]}
}

// tiny is the size below which Adam's moments become 0. If the gradient of a unit stays 0, its moments decay to
// subnormal numbers, with which processors are a hundred times slower. Moments below 1e-35 do not change a weight
// any more.
const tiny = 1e-35

func adam[T Float](w, g, m, v []T, s AdamStep[T]) {
	checkEqual(len(w), len(g), len(m), len(v))

	for i, gi := range g {
		mi := T(s.Beta1*m[i]) + T(s.OneMinusBeta1*gi)
		vi := T(s.Beta2*v[i]) + T(s.OneMinusBeta2*T(gi*gi))

		if abs(mi) < tiny {
			mi = 0
		}

		if vi < tiny {
			vi = 0
		}

		m[i] = mi
		v[i] = vi
		den := T(T(math.Sqrt(float64(vi)))*s.RootScale) + s.Eps
		w[i] = T(s.Decay*w[i]) - T(s.Rate*mi)/den
		g[i] = 0
	}
}

// bernoulli implements Set.Bits. Each of 64 elements compares a random number of 16 bits with drop, bit by bit from the
// lowest on. After the last bit, an element of res is 1 if its number is below drop. The random words are xoshiro256++.
func bernoulli(dst []uint16, drop uint16, s *Lanes) {
	checkBits(len(dst))

	for ; len(dst) > 0; dst = dst[32:] {
		for j := range 8 {
			s0 := s[0][j]
			s1 := s[1][j]
			s2 := s[2][j]
			s3 := s[3][j]

			var res uint64
			for b := range 16 {
				u := s0 + s3
				u = (u<<23 | u>>41) + s0
				t := s1 << 17
				s2 ^= s0
				s3 ^= s1
				s1 ^= s2
				s0 ^= s3
				s2 ^= t
				s3 = s3<<45 | s3>>19

				if drop>>b&1 == 1 {
					res |= u
				} else {
					res &= u
				}
			}

			s[0][j] = s0
			s[1][j] = s1
			s[2][j] = s2
			s[3][j] = s3
			d := dst[4*j : 4*j+4]
			d[0] = ^uint16(res)
			d[1] = ^uint16(res >> 16)
			d[2] = ^uint16(res >> 32)
			d[3] = ^uint16(res >> 48)
		}
	}
}

// abs returns the magnitude of x.
func abs[T Float](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

// Coefficients and ranges shared with the assembly.
const (
	log2e  = 1.44269504088896341
	ln2Hi  = 0.693145751953125 // 12 trailing zero bits: n·ln2Hi is exact
	ln2Lo  = 1.42860682030941723212e-6
	expMin = -87.25 // below, exp is taken as exp(−87.25) = 1.3e-38, the least normal number
)

// is32 reports whether T is float32, in which 1 + 2⁻³⁰ is 1.
func is32[T Float]() bool {
	one := T(1)
	small := T(1.0 / (1 << 30))
	return one+small == one
}

// exp returns eˣ, by package math for float64 and by exp32 for float32.
func exp[T Float](x T) T {
	if is32[T]() {
		return T(exp32(float32(x)))
	}
	return T(math.Exp(float64(x)))
}

// log returns the natural logarithm, by package math for float64 and by log32 for float32.
func log[T Float](x T) T {
	if is32[T]() {
		return T(log32(float32(x)))
	}
	return T(math.Log(float64(x)))
}

// log1p returns log(1+x), by package math for float64 and by log1p32 for float32.
func log1p[T Float](x T) T {
	if is32[T]() {
		return T(log1p32(float32(x)))
	}
	return T(math.Log1p(float64(x)))
}

// exp32 returns eˣ for x ≤ 88 with an error of about 1 ulp. Smaller x than expMin count as expMin. With n the
// nearest integer to x/ln 2, eˣ is 2ⁿ·e^r: r = x − n·ln 2 is computed in two steps (Cody and Waite), and e^r
// by the Taylor polynomial of degree 7 for |r| ≤ ½ln 2.
func exp32(x float32) float32 {
	if !(x >= expMin) {
		if math.IsNaN(float64(x)) {
			return x
		}
		x = expMin
	}

	n := float32(math.RoundToEven(float64(float32(x * log2e))))
	r := x - float32(n*ln2Hi)
	r -= float32(n * ln2Lo)
	p := float32(expC7)
	p = float32(p*r) + expC6
	p = float32(p*r) + expC5
	p = float32(p*r) + expC4
	p = float32(p*r) + expC3
	p = float32(p*r) + 0.5
	p = float32(p*r) + 1
	p = float32(p*r) + 1

	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// Coefficients of the Taylor polynomial.
const (
	expC3 = 1.0 / 6
	expC4 = 1.0 / 24
	expC5 = 1.0 / 120
	expC6 = 1.0 / 720
	expC7 = 1.0 / 5040
)

// log32 returns the natural logarithm of a positive normal number x. With x = m·2ⁿ, √½ ≤ m < √2 and s =
// (m−1)/(m+1), log m is 2·artanh(s), a series in s with |s| ≤ 0.172.
func log32(x float32) float32 {
	b := math.Float32bits(x) - sqrtHalfBits
	n := float32(int32(b) >> 23)
	m := math.Float32frombits(b&0x007fffff + sqrtHalfBits)
	s := (m - 1) / (m + 1)
	z := float32(s * s)
	p := float32(2.0 / 9)
	p = float32(p*z) + 2.0/7
	p = float32(p*z) + 2.0/5
	p = float32(p*z) + 2.0/3
	lm := float32(s*2) + float32(float32(p*z)*s)

	return float32(n*ln2Hi) + (lm + float32(n*ln2Lo))
}

// sqrtHalfBits are the bits of √½ as a float32.
const sqrtHalfBits = 0x3f3504f3

// log1p32 returns log(1+x) for 0 ≤ x ≤ 1 with full relative accuracy, as 2·artanh(s) with s = x/(2+x) ≤ ⅓.
func log1p32(x float32) float32 {
	s := x / (2 + x)
	z := float32(s * s)
	p := float32(2.0 / 17)
	p = float32(p*z) + 2.0/15
	p = float32(p*z) + 2.0/13
	p = float32(p*z) + 2.0/11
	p = float32(p*z) + 2.0/9
	p = float32(p*z) + 2.0/7
	p = float32(p*z) + 2.0/5
	p = float32(p*z) + 2.0/3

	return float32(s*2) + float32(float32(p*z)*s)
}

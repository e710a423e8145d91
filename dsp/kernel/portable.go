package kernel

import "math"

// Portable returns the set in plain Go. An explicit conversion rounds every product that is added or subtracted, so
// that no architecture fuses the two operations and all machines agree to the bit.
func Portable() *Set {
	return &Set{
		Name: "portable", Stages: stages, Twist: twist, LoadPair: loadPair[float64], LoadPair32: loadPair[float32],
		LoadComplex: loadComplex, StoreComplex: storeComplex, AddPower: addPower, Untangle: untangle,
	}
}

const (
	sin60 = 0.86602540378443864676
	cos72 = 0.30901699437494742410
	cos36 = 0.80901699437494742410 // −cos 144°
	sin72 = 0.95105651629515357212
	sin36 = 0.58778525229247312917 // sin 144°
)

// mul returns the product of the complex numbers a and b, with each partial product rounded.
func mul(ar, ai, br, bi float64) (re, im float64) {
	return float64(ar*br) - float64(ai*bi), float64(ar*bi) + float64(ai*br)
}

// row returns the real parts and the imaginary parts of vector i of x.
func row(x []float64, i int) (re, im []float64) {
	v := x[i*Vec : i*Vec+Vec]
	return v[:Lanes], v[Lanes:]
}

// stages implements Set.Stages.
func stages(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)

	factors := 2 * (a - 1) * b
	for j := range q {
		group := tw[2*(a*b-1)*j:]
		if b == 1 {
			butterfly(a, y[a*j*Vec:], x[j*Vec:], group, 1, q)
			continue
		}

		second := ones()
		if !last {
			second = group[factors:]
		}

		for k := range s {
			source := x[(s*j+k)*Vec:]
			target := y[(s*a*b*j+k)*Vec:]
			for i := range b {
				butterfly(a, tmp[a*i*Vec:], source[s*q*i*Vec:], group[2*(a-1)*i:], 1, s*q*b)
			}

			for i := range a {
				butterfly(b, target[s*i*Vec:], tmp[i*Vec:], second, s*a, a)
			}
		}
	}
}

// ones returns the twiddles of a last stage, which are all 1. A product with them equals the other factor, but may have
// another sign of a zero. The assembly does not compute these products.
func ones() []float64 { return []float64{1, 0, 1, 0, 1, 0, 1, 0} }

// butterfly transforms radix vectors of x, xStep vectors apart, to vectors of y, yStep vectors apart. It
// multiplies all results except the first by the twiddles tw. checkStages has checked the radix.
//
// The functions for each radix name the inputs a, b, c …, with r and i for real and imaginary parts: ar
// and ai are the parts of a.
func butterfly(radix int, y, x, tw []float64, yStep, xStep int) {
	switch radix {
	case 2:
		radix2(y, x, tw, yStep, xStep)
	case 3:
		radix3(y, x, tw, yStep, xStep)
	case 4:
		radix4(y, x, tw, yStep, xStep)
	case 5:
		radix5(y, x, tw, yStep, xStep)
	}
}

func radix2(y, x, tw []float64, yStep, xStep int) {
	ar, ai := row(x, 0)
	br, bi := row(x, xStep)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, yStep)
	for l := range Lanes {
		mr, mi := ar[l]-br[l], ai[l]-bi[l]
		y0r[l], y0i[l] = ar[l]+br[l], ai[l]+bi[l]
		y1r[l], y1i[l] = mul(mr, mi, tw[0], tw[1])
	}
}

func radix3(y, x, tw []float64, yStep, xStep int) {
	t := tw[:4]
	ar, ai := row(x, 0)
	br, bi := row(x, xStep)
	cr, ci := row(x, 2*xStep)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, yStep)
	y2r, y2i := row(y, 2*yStep)
	for l := range Lanes {
		sr, si := br[l]+cr[l], bi[l]+ci[l]

		// −i·sin 60°·(b − c)
		dr, di := float64(sin60*(bi[l]-ci[l])), float64(sin60*(cr[l]-br[l]))
		mr, mi := ar[l]-float64(0.5*sr), ai[l]-float64(0.5*si)
		y0r[l], y0i[l] = ar[l]+sr, ai[l]+si
		y1r[l], y1i[l] = mul(mr+dr, mi+di, t[0], t[1])
		y2r[l], y2i[l] = mul(mr-dr, mi-di, t[2], t[3])
	}
}

func radix4(y, x, tw []float64, yStep, xStep int) {
	t := tw[:6]
	ar, ai := row(x, 0)
	br, bi := row(x, xStep)
	cr, ci := row(x, 2*xStep)
	dr, di := row(x, 3*xStep)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, yStep)
	y2r, y2i := row(y, 2*yStep)
	y3r, y3i := row(y, 3*yStep)
	for l := range Lanes {
		pr, pi := ar[l]+cr[l], ai[l]+ci[l]
		mr, mi := ar[l]-cr[l], ai[l]-ci[l]
		qr, qi := br[l]+dr[l], bi[l]+di[l]
		nr, ni := bi[l]-di[l], dr[l]-br[l] // −i·(b − d)
		y0r[l], y0i[l] = pr+qr, pi+qi
		y1r[l], y1i[l] = mul(mr+nr, mi+ni, t[0], t[1])
		y2r[l], y2i[l] = mul(pr-qr, pi-qi, t[2], t[3])
		y3r[l], y3i[l] = mul(mr-nr, mi-ni, t[4], t[5])
	}
}

func radix5(y, x, tw []float64, yStep, xStep int) {
	t := tw[:8]
	ar, ai := row(x, 0)
	br, bi := row(x, xStep)
	cr, ci := row(x, 2*xStep)
	dr, di := row(x, 3*xStep)
	er, ei := row(x, 4*xStep)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, yStep)
	y2r, y2i := row(y, 2*yStep)
	y3r, y3i := row(y, 3*yStep)
	y4r, y4i := row(y, 4*yStep)
	for l := range Lanes {
		fr, fi := br[l]+er[l], bi[l]+ei[l]
		gr, gi := cr[l]+dr[l], ci[l]+di[l]
		mr, mi := bi[l]-ei[l], er[l]-br[l] // −i·(b − e)
		nr, ni := ci[l]-di[l], dr[l]-cr[l] // −i·(c − d)
		y0r[l], y0i[l] = (ar[l]+fr)+gr, (ai[l]+fi)+gi
		pr, qr, ur, vr := fifth(ar[l], fr, gr, mr, nr)
		pi, qi, ui, vi := fifth(ai[l], fi, gi, mi, ni)
		y1r[l], y1i[l] = mul(pr+ur, pi+ui, t[0], t[1])
		y2r[l], y2i[l] = mul(qr+vr, qi+vi, t[2], t[3])
		y3r[l], y3i[l] = mul(qr-vr, qi-vi, t[4], t[5])
		y4r[l], y4i[l] = mul(pr-ur, pi-ui, t[6], t[7])
	}
}

// fifth returns the sums that radix5 needs, for real or for imaginary parts: p and q from the input a and the sums
// f = b + e and g = c + d, and u and v from the differences m and n. Outputs 1 and 4 are p ± u, outputs 2 and 3 are
// q ± v.
func fifth(a, f, g, m, n float64) (p, q, u, v float64) {
	p = a + float64(cos72*f) - float64(cos36*g)
	q = a - float64(cos36*f) + float64(cos72*g)
	u = float64(sin72*m) + float64(sin36*n)
	v = float64(sin36*m) - float64(sin72*n)

	return p, q, u, v
}

// twist implements Set.Twist.
func twist(y, x, near, far []float64, stride, groups int) {
	checkTwist(y, x, near, far, stride, groups)

	for g := range groups {
		block := y[g*stride : g*stride+Lanes*Vec]
		for k := range Lanes {
			i := Lanes*g + k
			xr, xi := row(x, i)
			nr, ni := row(near, i)

			fr, fi := far[2*i], far[2*i+1]
			for l := range Lanes {
				wr, wi := mul(nr[l], ni[l], fr, fi)
				block[l*Vec+k], block[l*Vec+Lanes+k] = mul(xr[l], xi[l], wr, wi)
			}
		}
	}
}

// loadPair implements Set.LoadPair and Set.LoadPair32.
func loadPair[S Number](dst []float64, a, b []S, turn, lane []float64, meanA, meanB float64, stride, rows, jump,
	groups int,
) {
	checkPair(dst, a, b, turn, lane, stride, rows, jump, groups)
	cos, sin := row(lane, 0)
	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		first := r * stride
		rowA := a[first : first+Lanes]
		rowB := b[first : first+Lanes]

		c, s := turn[2*r], turn[2*r+1]
		for l := range Lanes {
			w := (0.5 - float64(c*cos[l])) + float64(s*sin[l])
			re[l] = (float64(rowA[l]) - meanA) * w
			im[l] = (float64(rowB[l]) - meanB) * w
		}
	}
}

// loadComplex implements Set.LoadComplex.
func loadComplex(dst, src []float64, stride, rows, jump, groups int) {
	checkLoad(dst, src, stride, rows, jump, groups)

	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		numbers := src[2*r*stride : 2*r*stride+2*Lanes]
		for l := range Lanes {
			re[l] = numbers[2*l]
			im[l] = numbers[2*l+1]
		}
	}
}

// storeComplex implements Set.StoreComplex.
func storeComplex(dst, src []float64, stride, rows int) {
	checkComplex(src, dst, stride, rows)

	for r := range rows {
		re, im := row(src, r)

		numbers := dst[2*r*stride : 2*r*stride+2*Lanes]
		for l := range Lanes {
			numbers[2*l] = re[l]
			numbers[2*l+1] = im[l]
		}
	}
}

// square returns the squared magnitude of a complex number.
func square(re, im float64) float64 { return float64(re*re) + float64(im*im) }

// addPower implements Set.AddPower.
func addPower(sum, x []float64, stride, rows int) {
	checkPower(sum, x, stride, rows)

	for r := range rows {
		re, im := row(x, r)
		lanes := sum[r*stride : r*stride+len(re)]
		for l := range lanes {
			lanes[l] += square(re[l], im[l])
		}
	}
}

// untangle implements Set.Untangle.
func untangle(x, y []float32, low, high []float64, scale float64) {
	checkUntangle(x, y, low, high)

	last := len(high) - 2
	for k := range x {
		zr, zi := low[2*k], low[2*k+1]
		wr, wi := high[last-2*k], high[last-2*k+1]

		// x[k] is stored last, because y may be x.
		y[k] = float32(square(zr-wr, zi+wi) * scale)
		x[k] = float32(square(zr+wr, zi-wi) * scale)
	}
}

// around implements Around. It compares the bits as integers: numbers that are not negative have the same
// order as their bits. It avoids branches, which the processor would often predict wrongly.
func around(x []float64, mark float64) (below int, low, high float64) {
	limit := math.Float64bits(mark)
	most := uint64(0)
	least := math.Float64bits(math.Inf(1))
	for _, v := range x {
		b := math.Float64bits(v)
		less := uint64(int64(b-limit) >> 63) // all bits set if v < mark, otherwise none
		below -= int(less)
		most = max(most, b&less)
		least = min(least, b|less)
	}

	return below, math.Float64frombits(most), math.Float64frombits(least)
}

// sum implements Sum.
func sum[S Number](x []S) float64 {
	var acc [4][8]float64

	n := len(x) &^ 31
	for first := 0; first < n; first += 32 {
		for i := range acc {
			v := x[first+8*i : first+8*i+8]
			for l := range 8 {
				acc[i][l] += float64(v[l])
			}
		}
	}

	var s [8]float64
	for l := range s {
		s[l] = (acc[0][l] + acc[1][l]) + (acc[2][l] + acc[3][l])
	}

	return finish(&s, x[n:])
}

// finish completes Sum: it adds the eight partial sums of the whole blocks, and the values left after the last block.
func finish[T Number](s *[8]float64, rest []T) float64 {
	sum := ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
	for _, v := range rest {
		sum += float64(v)
	}

	return sum
}

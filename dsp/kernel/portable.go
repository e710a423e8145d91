package kernel

import "math"

// Portable returns the set in plain Go. Every product is rounded by an explicit
// conversion, so that no architecture fuses it into an addition and all machines
// agree to the bit.
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

// mul is the complex product, each partial product rounded.
func mul(ar, ai, br, bi float64) (re, im float64) {
	return float64(ar*br) - float64(ai*bi), float64(ar*bi) + float64(ai*br)
}

// row returns a vector as two slices of lanes.
func row(x []float64, i int) (re, im []float64) {
	v := x[i*Vec : i*Vec+Vec]
	return v[:Lanes], v[Lanes:]
}

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
			from, to := x[(s*j+k)*Vec:], y[(s*a*b*j+k)*Vec:]
			for i := range b {
				butterfly(a, tmp[a*i*Vec:], from[s*q*i*Vec:], group[2*(a-1)*i:], 1, s*q*b)
			}

			for i := range a {
				butterfly(b, to[s*i*Vec:], tmp[i*Vec:], second, s*a, a)
			}
		}
	}
}

// ones are twiddles of a last radix: with them products are exact.
func ones() []float64 { return []float64{1, 0, 1, 0, 1, 0, 1, 0} }

// butterfly takes vectors of x, in apart, to vectors of y, out apart, and multiplies all
// but the first by tw.
func butterfly(radix int, y, x, tw []float64, out, in int) {
	switch radix {
	case 2:
		radix2(y, x, tw, out, in)
	case 3:
		radix3(y, x, tw, out, in)
	case 4:
		radix4(y, x, tw, out, in)
	case 5:
		radix5(y, x, tw, out, in)
	}
}

func radix2(y, x, tw []float64, out, in int) {
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	y0r, y0i := row(y, 0)

	y1r, y1i := row(y, out)
	for l := range Lanes {
		a, b, c, d := ar[l], ai[l], br[l], bi[l]
		y0r[l], y0i[l] = a+c, b+d
		y1r[l], y1i[l] = mul(a-c, b-d, tw[0], tw[1])
	}
}

func radix3(y, x, tw []float64, out, in int) {
	t := tw[:4]
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	cr, ci := row(x, 2*in)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, out)

	y2r, y2i := row(y, 2*out)
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

func radix4(y, x, tw []float64, out, in int) {
	t := tw[:6]
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	cr, ci := row(x, 2*in)
	dr, di := row(x, 3*in)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, out)
	y2r, y2i := row(y, 2*out)

	y3r, y3i := row(y, 3*out)
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

func radix5(y, x, tw []float64, out, in int) {
	t := tw[:8]
	x0r, x0i := row(x, 0)
	x1r, x1i := row(x, in)
	x2r, x2i := row(x, 2*in)
	x3r, x3i := row(x, 3*in)
	x4r, x4i := row(x, 4*in)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, out)
	y2r, y2i := row(y, 2*out)
	y3r, y3i := row(y, 3*out)

	y4r, y4i := row(y, 4*out)
	for l := range Lanes {
		ar, ai := x0r[l], x0i[l]
		br, bi := x1r[l]+x4r[l], x1i[l]+x4i[l]
		er, ei := x1i[l]-x4i[l], x4r[l]-x1r[l] // −i times the odd parts
		cr, ci := x2r[l]+x3r[l], x2i[l]+x3i[l]
		dr, di := x2i[l]-x3i[l], x3r[l]-x2r[l]
		y0r[l], y0i[l] = (ar+br)+cr, (ai+bi)+ci
		pr, qr, ur, vr := fifth(ar, br, cr, er, dr)
		pi, qi, ui, vi := fifth(ai, bi, ci, ei, di)
		y1r[l], y1i[l] = mul(pr+ur, pi+ui, t[0], t[1])
		y2r[l], y2i[l] = mul(qr+vr, qi+vi, t[2], t[3])
		y3r[l], y3i[l] = mul(qr-vr, qi-vi, t[4], t[5])
		y4r[l], y4i[l] = mul(pr-ur, pi-ui, t[6], t[7])
	}
}

func fifth(a, b, c, e, d float64) (p, q, u, v float64) {
	p = a + float64(cos72*b) - float64(cos36*c)
	q = a - float64(cos36*b) + float64(cos72*c)
	u = float64(sin72*e) + float64(sin36*d)
	v = float64(sin36*e) - float64(sin72*d)

	return p, q, u, v
}

func twist(y, x, near, far []float64, stride, groups int) {
	checkTwist(y, x, near, far, stride, groups)

	for g := range groups {
		out := y[g*stride : g*stride+Lanes*Vec]
		for k := range Lanes {
			i := Lanes*g + k
			xr, xi := row(x, i)
			nr, ni := row(near, i)

			fr, fi := far[2*i], far[2*i+1]
			for l := range Lanes {
				wr, wi := mul(nr[l], ni[l], fr, fi)
				out[l*Vec+k], out[l*Vec+Lanes+k] = mul(xr[l], xi[l], wr, wi)
			}
		}
	}
}

func loadPair[S Number](dst []float64, a, b []S, turn, lane []float64, meanA, meanB float64, stride, rows, jump,
	groups int,
) {
	checkPair(dst, a, b, turn, lane, stride, rows, jump, groups)
	cos, sin := row(lane, 0)
	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		at := r * stride
		a, b := a[at:at+Lanes], b[at:at+Lanes]

		c, s := turn[2*r], turn[2*r+1]
		for l := range Lanes {
			w := (0.5 - float64(c*cos[l])) + float64(s*sin[l])
			re[l], im[l] = (float64(a[l])-meanA)*w, (float64(b[l])-meanB)*w
		}
	}
}

func loadComplex(dst, src []float64, stride, rows, jump, groups int) {
	checkLoad(dst, src, stride, rows, jump, groups)

	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		from := src[2*r*stride : 2*r*stride+2*Lanes]
		for l := range Lanes {
			re[l], im[l] = from[2*l], from[2*l+1]
		}
	}
}

func storeComplex(dst, src []float64, stride, rows int) {
	checkComplex(src, dst, stride, rows)

	for r := range rows {
		re, im := row(src, r)

		to := dst[2*r*stride : 2*r*stride+2*Lanes]
		for l := range Lanes {
			to[2*l], to[2*l+1] = re[l], im[l]
		}
	}
}

// square is the squared magnitude.
func square(re, im float64) float64 { return float64(re*re) + float64(im*im) }

func addPower(sum, x []float64, stride, rows int) {
	checkPower(sum, x, stride, rows)

	for r := range rows {
		re, im := row(x, r)
		to := sum[r*stride : r*stride+len(re)]
		for l := range to {
			to[l] += square(re[l], im[l])
		}
	}
}

func untangle(x, y []float32, low, high []float64, scale float64) {
	checkUntangle(x, y, low, high)

	at := len(high) - 2
	for k := range x {
		zr, zi, wr, wi := low[2*k], low[2*k+1], high[at], high[at+1]
		y[k] = float32(square(zr-wr, zi+wi) * scale)
		x[k] = float32(square(zr+wr, zi-wi) * scale)
		at -= 2
	}
}

// around compares bits, which of numbers that are not negative are in the same order.
func around(x []float64, mark float64) (below int, low, high float64) {
	limit, most, least := math.Float64bits(mark), uint64(0), math.Float64bits(math.Inf(1))
	for _, v := range x {
		b := math.Float64bits(v)
		less := uint64(int64(b-limit) >> 63) // all bits, or none
		below -= int(less)
		most, least = max(most, b&less), min(least, b|less)
	}

	return below, math.Float64frombits(most), math.Float64frombits(least)
}

func sum[S Number](x []S) float64 {
	var acc [4][8]float64

	n := len(x) &^ 31
	for at := 0; at < n; at += 32 {
		for i := range acc {
			v := x[at+8*i : at+8*i+8]
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

package kernel

import "math"

// Portable returns the set in plain Go. Every product is rounded by an explicit
// conversion, so that no architecture fuses it into an addition and all machines
// agree to the bit.
func Portable[T Number]() *Set[T] {
	set := &Set[T]{
		Name: "portable", Stages: stages[T], Twist: twist[T], LoadPair32: loadPair[T, float32],
		LoadComplex: loadComplex[T], StoreComplex: storeComplex[T], AddPower: addPower[T],
		Untangle: untangle[T],
	}

	if wide, ok := any(set).(*Set[float64]); ok {
		wide.LoadPair = loadPair[float64, float64]
	}

	return set
}

const (
	sin60 = 0.86602540378443864676
	cos72 = 0.30901699437494742410
	cos36 = 0.80901699437494742410 // −cos 144°
	sin72 = 0.95105651629515357212
	sin36 = 0.58778525229247312917 // sin 144°
)

// mul is the complex product, each partial product rounded.
func mul[T Number](ar, ai, br, bi T) (re, im T) {
	return T(ar*br) - T(ai*bi), T(ar*bi) + T(ai*br)
}

// row returns a vector as two slices of lanes.
func row[T Number](x []T, i int) (re, im []T) {
	vec, lanes := Vec[T](), Lanes[T]()
	v := x[i*vec : i*vec+vec]
	return v[:lanes], v[lanes:]
}

func stages[T Number](y, x, tw, tmp []T, a, b, q, s int, last bool) {
	checkStages(y, x, tw, tmp, a, b, q, s, last)

	vec, factors := Vec[T](), 2*(a-1)*b
	for j := range q {
		group := tw[2*(a*b-1)*j:]
		if b == 1 {
			butterfly(a, y[a*j*vec:], x[j*vec:], group, 1, q)
			continue
		}

		second := ones[T]()
		if !last {
			second = group[factors:]
		}

		for k := range s {
			from, to := x[(s*j+k)*vec:], y[(s*a*b*j+k)*vec:]
			for i := range b {
				butterfly(a, tmp[a*i*vec:], from[s*q*i*vec:], group[2*(a-1)*i:], 1, s*q*b)
			}

			for i := range a {
				butterfly(b, to[s*i*vec:], tmp[i*vec:], second, s*a, a)
			}
		}
	}
}

// ones are twiddles of a last radix: with them products are exact.
func ones[T Number]() []T { return []T{1, 0, 1, 0, 1, 0, 1, 0} }

// butterfly takes vectors of x, in apart, to vectors of y, out apart, and multiplies all
// but the first by tw.
func butterfly[T Number](radix int, y, x, tw []T, out, in int) {
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

func radix2[T Number](y, x, tw []T, out, in int) {
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	y0r, y0i := row(y, 0)

	y1r, y1i := row(y, out)
	for l := range Lanes[T]() {
		a, b, c, d := ar[l], ai[l], br[l], bi[l]
		y0r[l], y0i[l] = a+c, b+d
		y1r[l], y1i[l] = mul(a-c, b-d, tw[0], tw[1])
	}
}

func radix3[T Number](y, x, tw []T, out, in int) {
	t := tw[:4]
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	cr, ci := row(x, 2*in)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, out)

	y2r, y2i := row(y, 2*out)
	for l := range Lanes[T]() {
		sr, si := br[l]+cr[l], bi[l]+ci[l]

		// −i·sin 60°·(b − c)
		dr, di := T(sin60*(bi[l]-ci[l])), T(sin60*(cr[l]-br[l]))
		mr, mi := ar[l]-T(0.5*sr), ai[l]-T(0.5*si)
		y0r[l], y0i[l] = ar[l]+sr, ai[l]+si
		y1r[l], y1i[l] = mul(mr+dr, mi+di, t[0], t[1])
		y2r[l], y2i[l] = mul(mr-dr, mi-di, t[2], t[3])
	}
}

func radix4[T Number](y, x, tw []T, out, in int) {
	t := tw[:6]
	ar, ai := row(x, 0)
	br, bi := row(x, in)
	cr, ci := row(x, 2*in)
	dr, di := row(x, 3*in)
	y0r, y0i := row(y, 0)
	y1r, y1i := row(y, out)
	y2r, y2i := row(y, 2*out)

	y3r, y3i := row(y, 3*out)
	for l := range Lanes[T]() {
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

func radix5[T Number](y, x, tw []T, out, in int) {
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
	for l := range Lanes[T]() {
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

func fifth[T Number](a, b, c, e, d T) (p, q, u, v T) {
	p = a + T(cos72*b) - T(cos36*c)
	q = a - T(cos36*b) + T(cos72*c)
	u = T(sin72*e) + T(sin36*d)
	v = T(sin36*e) - T(sin72*d)

	return p, q, u, v
}

func twist[T Number](y, x, near, far []T, stride, groups int) {
	checkTwist(y, x, near, far, stride, groups)

	lanes, vec := Lanes[T](), Vec[T]()
	for g := range groups {
		out := y[g*stride : g*stride+lanes*vec]
		for k := range lanes {
			i := lanes*g + k
			xr, xi := row(x, i)
			nr, ni := row(near, i)

			fr, fi := far[2*i], far[2*i+1]
			for l := range lanes {
				wr, wi := mul(nr[l], ni[l], fr, fi)
				out[l*vec+k], out[l*vec+lanes+k] = mul(xr[l], xi[l], wr, wi)
			}
		}
	}
}

// parts returns a mean as the sum of two numbers of the type, the second 0 for
// float64. Subtracting one after the other rounds as subtracting the mean would.
func parts[T Number](mean float64) (hi, lo T) {
	hi = T(mean)
	return hi, T(mean - float64(hi))
}

func loadPair[T, S Number](dst []T, a, b []S, turn, lane []T, meanA, meanB float64, stride, rows, jump, groups int) {
	checkPair(dst, a, b, turn, lane, stride, rows, jump, groups)
	cos, sin := row(lane, 0)
	lanes := Lanes[T]()
	hiA, loA := parts[T](meanA)

	hiB, loB := parts[T](meanB)
	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		at := r * stride
		a, b := a[at:at+lanes], b[at:at+lanes]

		c, s := turn[2*r], turn[2*r+1]
		for l := range lanes {
			w := (0.5 - T(c*cos[l])) + T(s*sin[l])
			re[l], im[l] = ((T(a[l])-hiA)-loA)*w, ((T(b[l])-hiB)-loB)*w
		}
	}
}

func loadComplex[T Number](dst, src []T, stride, rows, jump, groups int) {
	checkLoad(dst, src, stride, rows, jump, groups)

	lanes := Lanes[T]()
	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		from := src[2*r*stride : 2*r*stride+2*lanes]
		for l := range lanes {
			re[l], im[l] = from[2*l], from[2*l+1]
		}
	}
}

func storeComplex[T Number](dst, src []T, stride, rows int) {
	checkComplex(src, dst, stride, rows)

	lanes := Lanes[T]()
	for r := range rows {
		re, im := row(src, r)

		to := dst[2*r*stride : 2*r*stride+2*lanes]
		for l := range lanes {
			to[2*l], to[2*l+1] = re[l], im[l]
		}
	}
}

// square is the squared magnitude, in float64.
func square[T Number](re, im T) float64 {
	a, b := float64(re), float64(im)
	return float64(a*a) + float64(b*b)
}

func addPower[T Number](sum []float64, x []T, stride, rows int) {
	checkPower(sum, x, stride, rows)

	for r := range rows {
		re, im := row(x, r)
		to := sum[r*stride : r*stride+len(re)]
		for l := range to {
			to[l] += square(re[l], im[l])
		}
	}
}

func untangle[T Number](x, y []float32, low, high []T, scale float64) {
	checkUntangle(x, y, low, high)

	at := len(high) - 2
	for k := range x {
		zr, zi, wr, wi := float64(low[2*k]), float64(low[2*k+1]), float64(high[at]), float64(high[at+1])
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

func sum[T Number](x []T) float64 {
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

package kernel

// Portable is the set in plain Go. Every product is rounded by an explicit
// float64 conversion, so that no architecture fuses it into an addition and
// all machines agree to the bit.
var Portable = &Set{
	Name:  "portable",
	Radix: [6]func(y, x, tw []float64, q, s int){2: radix2, 3: radix3, 4: radix4, 5: radix5},
	Last:  [6]func(y, x []float64, s int){2: last(radix2, 2), 3: last(radix3, 3), 4: last(radix4, 4), 5: last(radix5, 5)},
	Twist: twist, LoadPair: loadPair[float64], LoadPair32: loadPair[float32],
	LoadComplex: loadComplex, StoreComplex: storeComplex, SetPower: setPower, AddPower: addPower,
	Sum: sum[float64], Sum32: sum[float32],
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

// last runs a stage without twiddles: with factors 1 the stage's own products
// are exact, so that it gives the same numbers.
func last(radix func(y, x, tw []float64, q, s int), r int) func(y, x []float64, s int) {
	ones := make([]float64, 2*(r-1))
	for i := range r - 1 {
		ones[2*i] = 1
	}
	return func(y, x []float64, s int) { radix(y, x, ones, 1, s) }
}

// row returns a vector as two arrays of lanes.
func row(x []float64, i int) (re, im *[Lanes]float64) {
	v := x[i*Vec : i*Vec+Vec]
	return (*[Lanes]float64)(v), (*[Lanes]float64)(v[Lanes:])
}

func radix2(y, x, tw []float64, q, s int) {
	checkRadix(len(y), len(x), len(tw), 2, q, s)
	for j := range q {
		wr, wi := tw[2*j], tw[2*j+1]
		for k := range s {
			ar, ai := row(x, s*j+k)
			br, bi := row(x, s*(j+q)+k)
			y0r, y0i := row(y, 2*s*j+k)
			y1r, y1i := row(y, 2*s*j+s+k)
			for l := range Lanes {
				y0r[l], y0i[l] = ar[l]+br[l], ai[l]+bi[l]
				y1r[l], y1i[l] = mul(ar[l]-br[l], ai[l]-bi[l], wr, wi)
			}
		}
	}
}

func radix3(y, x, tw []float64, q, s int) {
	checkRadix(len(y), len(x), len(tw), 3, q, s)
	for j := range q {
		t := tw[4*j : 4*j+4]
		for k := range s {
			ar, ai := row(x, s*j+k)
			br, bi := row(x, s*(j+q)+k)
			cr, ci := row(x, s*(j+2*q)+k)
			y0r, y0i := row(y, 3*s*j+k)
			y1r, y1i := row(y, 3*s*j+s+k)
			y2r, y2i := row(y, 3*s*j+2*s+k)
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
	}
}

func radix4(y, x, tw []float64, q, s int) {
	checkRadix(len(y), len(x), len(tw), 4, q, s)
	for j := range q {
		t := tw[6*j : 6*j+6]
		for k := range s {
			ar, ai := row(x, s*j+k)
			br, bi := row(x, s*(j+q)+k)
			cr, ci := row(x, s*(j+2*q)+k)
			dr, di := row(x, s*(j+3*q)+k)
			y0r, y0i := row(y, 4*s*j+k)
			y1r, y1i := row(y, 4*s*j+s+k)
			y2r, y2i := row(y, 4*s*j+2*s+k)
			y3r, y3i := row(y, 4*s*j+3*s+k)
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
	}
}

func radix5(y, x, tw []float64, q, s int) {
	checkRadix(len(y), len(x), len(tw), 5, q, s)
	for j := range q {
		t := tw[8*j : 8*j+8]
		for k := range s {
			x0r, x0i := row(x, s*j+k)
			x1r, x1i := row(x, s*(j+q)+k)
			x2r, x2i := row(x, s*(j+2*q)+k)
			x3r, x3i := row(x, s*(j+3*q)+k)
			x4r, x4i := row(x, s*(j+4*q)+k)
			y0r, y0i := row(y, 5*s*j+k)
			y1r, y1i := row(y, 5*s*j+s+k)
			y2r, y2i := row(y, 5*s*j+2*s+k)
			y3r, y3i := row(y, 5*s*j+3*s+k)
			y4r, y4i := row(y, 5*s*j+4*s+k)
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
	checkTwist(len(y), len(x), len(near), len(far), stride, groups)
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

func loadPair[T float32 | float64](dst []float64, a, b []T, turn, lane []float64, meanA, meanB float64, stride, rows,
	jump, groups int,
) {
	checkPair(len(dst), len(a), len(b), len(turn), len(lane), stride, rows, jump, groups)
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
	checkLoad(len(dst), len(src), stride, rows, jump, groups)
	for i := range rows * groups {
		re, im := row(dst, i)
		r := i/rows*jump + i%rows
		from := src[2*r*stride : 2*r*stride+Vec]
		for l := range Lanes {
			re[l], im[l] = from[2*l], from[2*l+1]
		}
	}
}

func storeComplex(dst, src []float64, stride, rows int) {
	checkComplex(len(src), len(dst), stride, rows)
	for r := range rows {
		re, im := row(src, r)
		to := dst[2*r*stride : 2*r*stride+Vec]
		for l := range Lanes {
			to[2*l], to[2*l+1] = re[l], im[l]
		}
	}
}

func setPower(sum, x []float64, stride, rows int) {
	checkPower(len(sum), len(x), stride, rows)
	for r := range rows {
		re, im := row(x, r)
		to := sum[r*stride : r*stride+Lanes]
		for l := range Lanes {
			to[l] = float64(re[l]*re[l]) + float64(im[l]*im[l])
		}
	}
}

func addPower(sum, x []float64, stride, rows int) {
	checkPower(len(sum), len(x), stride, rows)
	for r := range rows {
		re, im := row(x, r)
		to := sum[r*stride : r*stride+Lanes]
		for l := range Lanes {
			to[l] += float64(re[l]*re[l]) + float64(im[l]*im[l])
		}
	}
}

func sum[T float32 | float64](x []T) float64 {
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

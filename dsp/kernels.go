package dsp

// Stockham butterflies, decimation in frequency: x holds s interleaved
// sequences of radix·q points, y receives s·radix interleaved sequences of q
// points. Portable versions; every product is rounded by an explicit float64
// conversion, so that no architecture fuses it into an addition and all
// machines agree to the bit.

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

func radix2(y, x, tw []complex128, q, s int) {
	for j := range q {
		wr, wi := real(tw[j]), imag(tw[j])
		x0 := x[s*j : s*j+s]
		x1 := x[s*(j+q) : s*(j+q)+s][:len(x0)]
		y0 := y[2*s*j : 2*s*j+s][:len(x0)]
		y1 := y[2*s*j+s : 2*s*j+2*s][:len(x0)]
		for k, a := range x0 {
			b := x1[k]
			y0[k] = a + b
			y1[k] = complex(mul(real(a)-real(b), imag(a)-imag(b), wr, wi))
		}
	}
}

func radix3(y, x, tw []complex128, q, s int) {
	for j := range q {
		t := tw[2*j : 2*j+2]
		w1r, w1i, w2r, w2i := real(t[0]), imag(t[0]), real(t[1]), imag(t[1])
		x0 := x[s*j : s*j+s]
		x1 := x[s*(j+q) : s*(j+q)+s][:len(x0)]
		x2 := x[s*(j+2*q) : s*(j+2*q)+s][:len(x0)]
		y0 := y[3*s*j : 3*s*j+s][:len(x0)]
		y1 := y[3*s*j+s : 3*s*j+2*s][:len(x0)]
		y2 := y[3*s*j+2*s : 3*s*j+3*s][:len(x0)]
		for k, a := range x0 {
			b, c := x1[k], x2[k]
			sr, si := real(b)+real(c), imag(b)+imag(c)
			// −i·sin 60°·(b − c)
			dr, di := float64(sin60*(imag(b)-imag(c))), float64(sin60*(real(c)-real(b)))
			mr, mi := real(a)-float64(0.5*sr), imag(a)-float64(0.5*si)
			y0[k] = complex(real(a)+sr, imag(a)+si)
			y1[k] = complex(mul(mr+dr, mi+di, w1r, w1i))
			y2[k] = complex(mul(mr-dr, mi-di, w2r, w2i))
		}
	}
}

func radix4(y, x, tw []complex128, q, s int) {
	for j := range q {
		t := tw[3*j : 3*j+3]
		w1r, w1i, w2r, w2i, w3r, w3i := real(t[0]), imag(t[0]), real(t[1]), imag(t[1]), real(t[2]), imag(t[2])
		x0 := x[s*j : s*j+s]
		x1 := x[s*(j+q) : s*(j+q)+s][:len(x0)]
		x2 := x[s*(j+2*q) : s*(j+2*q)+s][:len(x0)]
		x3 := x[s*(j+3*q) : s*(j+3*q)+s][:len(x0)]
		y0 := y[4*s*j : 4*s*j+s][:len(x0)]
		y1 := y[4*s*j+s : 4*s*j+2*s][:len(x0)]
		y2 := y[4*s*j+2*s : 4*s*j+3*s][:len(x0)]
		y3 := y[4*s*j+3*s : 4*s*j+4*s][:len(x0)]
		for k, a := range x0 {
			b, c, d := x1[k], x2[k], x3[k]
			pr, pi := real(a)+real(c), imag(a)+imag(c)
			mr, mi := real(a)-real(c), imag(a)-imag(c)
			qr, qi := real(b)+real(d), imag(b)+imag(d)
			nr, ni := imag(b)-imag(d), real(d)-real(b) // −i·(b − d)
			y0[k] = complex(pr+qr, pi+qi)
			y1[k] = complex(mul(mr+nr, mi+ni, w1r, w1i))
			y2[k] = complex(mul(pr-qr, pi-qi, w2r, w2i))
			y3[k] = complex(mul(mr-nr, mi-ni, w3r, w3i))
		}
	}
}

// radix4First is radix4 for s = 1, where the loop over interleaved sequences
// has one turn and would cost more than its body.
func radix4First(y, x, tw []complex128, q, _ int) {
	x0 := x[:q]
	x1, x2, x3 := x[q : 2*q][:len(x0)], x[2*q : 3*q][:len(x0)], x[3*q : 4*q][:len(x0)]
	for j, a := range x0 {
		t, o := tw[3*j:3*j+3], y[4*j:4*j+4]
		b, c, d := x1[j], x2[j], x3[j]
		pr, pi := real(a)+real(c), imag(a)+imag(c)
		mr, mi := real(a)-real(c), imag(a)-imag(c)
		qr, qi := real(b)+real(d), imag(b)+imag(d)
		nr, ni := imag(b)-imag(d), real(d)-real(b) // −i·(b − d)
		o[0] = complex(pr+qr, pi+qi)
		o[1] = complex(mul(mr+nr, mi+ni, real(t[0]), imag(t[0])))
		o[2] = complex(mul(pr-qr, pi-qi, real(t[1]), imag(t[1])))
		o[3] = complex(mul(mr-nr, mi-ni, real(t[2]), imag(t[2])))
	}
}

func radix5(y, x, tw []complex128, q, s int) {
	for j := range q {
		t := tw[4*j : 4*j+4]
		x0 := x[s*j : s*j+s]
		x1 := x[s*(j+q) : s*(j+q)+s][:len(x0)]
		x2 := x[s*(j+2*q) : s*(j+2*q)+s][:len(x0)]
		x3 := x[s*(j+3*q) : s*(j+3*q)+s][:len(x0)]
		x4 := x[s*(j+4*q) : s*(j+4*q)+s][:len(x0)]
		y0 := y[5*s*j : 5*s*j+s][:len(x0)]
		y1 := y[5*s*j+s : 5*s*j+2*s][:len(x0)]
		y2 := y[5*s*j+2*s : 5*s*j+3*s][:len(x0)]
		y3 := y[5*s*j+3*s : 5*s*j+4*s][:len(x0)]
		y4 := y[5*s*j+4*s : 5*s*j+5*s][:len(x0)]
		for k, a := range x0 {
			b, c, d, e := x1[k], x2[k], x3[k], x4[k]
			ar, ai := real(a), imag(a)
			br, bi, er, ei := real(b)+real(e), imag(b)+imag(e), real(b)-real(e), imag(b)-imag(e)
			cr, ci, dr, di := real(c)+real(d), imag(c)+imag(d), real(c)-real(d), imag(c)-imag(d)
			pr, pi := ar+float64(cos72*br)-float64(cos36*cr), ai+float64(cos72*bi)-float64(cos36*ci)
			qr, qi := ar-float64(cos36*br)+float64(cos72*cr), ai-float64(cos36*bi)+float64(cos72*ci)
			// −i times the odd parts
			ur, ui := float64(sin72*ei)+float64(sin36*di), -float64(sin72*er)-float64(sin36*dr)
			vr, vi := float64(sin36*ei)-float64(sin72*di), float64(sin72*dr)-float64(sin36*er)
			y0[k] = complex(ar+br+cr, ai+bi+ci)
			y1[k] = complex(mul(pr+ur, pi+ui, real(t[0]), imag(t[0])))
			y2[k] = complex(mul(qr+vr, qi+vi, real(t[1]), imag(t[1])))
			y3[k] = complex(mul(qr-vr, qi-vi, real(t[2]), imag(t[2])))
			y4[k] = complex(mul(pr-ur, pi-ui, real(t[3]), imag(t[3])))
		}
	}
}

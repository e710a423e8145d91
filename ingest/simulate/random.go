package simulate

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
)

// A stream is one sequence of random numbers for one purpose.
type stream struct{ src *rand.ChaCha8 }

// newStream derives a stream from the campaign's seed and a list of words that
// name campaign, condition and purpose: ChaCha8 seeded with the SHA-256 digest
// of all of them. Streams of different names are independent, and none
// depends on how much of another was used.
func newStream(seed uint64, name ...any) *stream {
	h := sha256.New()
	fmt.Fprintf(h, "doubletake/simulate/%s|seed=%d", Version, seed)

	for _, n := range name {
		fmt.Fprintf(h, "|%v", n)
	}

	return &stream{rand.NewChaCha8([32]byte(h.Sum(nil)))}
}

// uniform returns a number in (0, 1], so that its logarithm is finite.
func (s *stream) uniform() float64 { return float64(s.src.Uint64()>>11+1) * 0x1p-53 }

// Ziggurat of Marsaglia and Tsang (J. Stat. Soft. 5(8), 2000) with 256 layers
// of area zigV under exp(−x²/2), x ≥ 0; the lowest layer includes the tail
// beyond zigR. Unlike there, the layer's number and the position in it come
// from different bits of the draw (Doornik, 2005).
const (
	zigN = 256
	zigR = 3.6541528853610088
	zigV = 0.00492867323399
)

// Edges of the layers and the tables of the fast path: a draw of B bits and a
// sign, j, lies at x = j·w[i] and is accepted at once when |j| < k[i].
var (
	zigX   [zigN + 1]float64 // zigX[0] is the lowest layer's width as if it were a rectangle; zigX[256] = 0
	zigF   [zigN + 1]float64 // exp(−zigX²/2)
	zigW32 [zigN]float32     // zigX / 2²⁴
	zigK32 [zigN]int32
	zigW64 [zigN]float64 // zigX / 2⁵³
	zigK64 [zigN]int64
)

func init() {
	f := func(x float64) float64 { return math.Exp(-0.5 * x * x) }
	zigX[0], zigX[1] = zigV/f(zigR), zigR
	for i := 2; i < zigN; i++ {
		zigX[i] = math.Sqrt(-2 * math.Log(zigV/zigX[i-1]+f(zigX[i-1])))
	}

	for i := range zigN {
		zigF[i] = f(zigX[i])
		q := zigX[i+1] / zigX[i]
		zigW32[i], zigK32[i] = float32(zigX[i]*0x1p-24), int32(q*0x1p24)
		zigW64[i], zigK64[i] = zigX[i]*0x1p-53, int64(q*0x1p53)
	}

	zigF[zigN] = 1
}

// norm returns a standard normal number.
func (s *stream) norm() float64 {
	u := s.src.Uint64()
	i := u & (zigN - 1)

	j := int64(u)>>10 | 1 // odd, so that the values are symmetric about zero
	if max(j, -j) < zigK64[i] {
		return float64(j) * zigW64[i]
	}

	return s.normSlow(int(i), float64(j)*zigW64[i])
}

// normSlow decides what the fast path could not: x in layer i is outside the
// next layer's edge.
func (s *stream) normSlow(i int, x float64) float64 {
	for {
		if i == 0 {
			if math.Abs(x) < zigR {
				return x
			}

			for { // Marsaglia's tail method
				t := -math.Log(s.uniform()) / zigR
				if -2*math.Log(s.uniform()) > t*t {
					return math.Copysign(zigR+t, x)
				}
			}
		}

		if math.Abs(x) < zigX[i+1] || zigF[i]+s.uniform()*(zigF[i+1]-zigF[i]) < math.Exp(-0.5*x*x) {
			return x
		}

		u := s.src.Uint64()
		i = int(u & (zigN - 1))
		x = float64(int64(u)>>10|1) * zigW64[i]
	}
}

// fill fills dst with standard normal numbers of single precision, two to a
// 64-bit draw. Successive calls continue one sequence if all but the last have
// even length.
func (s *stream) fill(dst []float32) {
	src := s.src

	n := len(dst) &^ 1
	for t := 0; t < n; t += 2 {
		u := src.Uint64()
		a, b := uint32(u), uint32(u>>32)
		d := dst[t : t+2 : t+2]
		i, j := a&(zigN-1), int32(a)>>7|1
		x := float32(j) * zigW32[i]
		if max(j, -j) >= zigK32[i] {
			x = float32(s.normSlow(int(i), float64(x)))
		}

		d[0] = x
		i, j = b&(zigN-1), int32(b)>>7|1
		x = float32(j) * zigW32[i]
		if max(j, -j) >= zigK32[i] {
			x = float32(s.normSlow(int(i), float64(x)))
		}

		d[1] = x
	}

	if n < len(dst) {
		dst[n] = float32(s.norm())
	}
}

// ar1 is first-order autoregressive noise of unit variance, started stationary:
// x' = a·x + √(1−a²)·ε.
type ar1 struct {
	s    *stream
	a, b float64
	x    float64
}

// newAR1 returns the process with corner frequency fcHz sampled at rateHz,
// a = exp(−2π·fc/rate). The first next is a stationary draw.
func newAR1(s *stream, fcHz, rateHz float64) *ar1 {
	a := math.Exp(-2 * math.Pi * fcHz / rateHz)
	return &ar1{s: s, a: a, b: math.Sqrt(1 - a*a), x: s.norm()}
}

func (p *ar1) next() float64 {
	p.x = p.a*p.x + p.b*p.s.norm()
	return p.x
}

// resonator is narrow-band noise of unit variance: white noise through a
// two-pole resonator, started stationary.
type resonator struct {
	s      *stream
	c, r2  float64 // y = c·y₁ − r²·y₂ + g·ε
	g      float64
	y1, y2 float64
}

// newResonator returns the process with centre f0Hz and quality q.
func newResonator(s *stream, f0Hz, q, rateHz float64) *resonator {
	r := math.Exp(-math.Pi * f0Hz / (q * rateHz))
	r2 := r * r
	c := 2 * r * math.Cos(2*math.Pi*f0Hz/rateHz)
	p := &resonator{s: s, c: c, r2: r2, g: 1 / math.Sqrt(ar2Variance(c, -r2))}

	// Two successive values of a stationary AR(2): unit variance, correlation
	// φ1/(1−φ2).
	rho := c / (1 + r2)
	p.y2 = s.norm()
	p.y1 = rho*p.y2 + math.Sqrt(1-rho*rho)*s.norm()

	return p
}

func (p *resonator) next() float64 {
	y := p.c*p.y1 - p.r2*p.y2 + p.g*p.s.norm()
	p.y2, p.y1 = p.y1, y
	return y
}

// ar2Variance is the variance of y = φ1·y₁ + φ2·y₂ + ε with unit-variance ε
// (Yule–Walker).
func ar2Variance(phi1, phi2 float64) float64 {
	return (1 - phi2) / ((1 + phi2) * ((1-phi2)*(1-phi2) - phi1*phi1))
}

// slow is a slowly varying process: an Ornstein–Uhlenbeck process of unit
// variance sampled at slowRateHz and interpolated linearly.
type slow struct {
	p      *ar1
	a, b   float64 // values at grid points at and at+1
	at     int64
	rateHz float64
}

// slowRateHz is the grid of slow processes.
const slowRateHz = 200.0

func newSlow(s *stream, tauS, rateHz float64) *slow {
	// exp(−1/(τ·rate)) is a corner at 1/(2πτ).
	p := newAR1(s, 1/(2*math.Pi*tauS), slowRateHz)
	return &slow{p: p, a: p.next(), b: p.next(), rateHz: rateHz}
}

// fill continues the process over len(dst) samples from sample start on,
// scaled and shifted: dst = offset + scale·x. start never falls.
func (s *slow) fill(dst []float64, start int64, offset, scale float64) {
	step := slowRateHz / s.rateHz
	for t := 0; t < len(dst); {
		pos := float64(start+int64(t)) * step
		for int64(pos) > s.at {
			s.at++
			s.a, s.b = s.b, s.p.next()
		}

		base := offset + scale*s.a

		slope := scale * (s.b - s.a)
		for at := s.at; t < len(dst); t++ {
			pos = float64(start+int64(t)) * step
			if int64(pos) > at {
				break
			}

			dst[t] = base + slope*(pos-float64(at))
		}
	}
}

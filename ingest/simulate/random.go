package simulate

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
)

// A stream is a sequence of random numbers for one purpose.
type stream struct{ src *rand.ChaCha8 }

// newStream returns the stream with a name: words for the campaign, the condition and the purpose. It seeds
// ChaCha8 with the SHA-256 digest of the campaign's seed and the name. Streams with different names are
// independent, and no stream depends on how many numbers of another were used.
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

// The ziggurat of Marsaglia and Tsang (J. Stat. Soft. 5(8), 2000) for normal numbers has 256 layers
// of area zigV under exp(−x²/2), x ≥ 0. The lowest layer includes the tail beyond zigR. Unlike the
// paper, the number of the layer and the position in it come from different bits of the draw
// (Doornik, 2005).
const (
	zigN = 256
	zigR = 3.6541528853610088
	zigV = 0.00492867323399
)

// The tables of the ziggurat. A draw j in layer i lies at x = j·zigW[i], and is accepted at once if
// |j| < zigK[i], as it is then also inside the next layer. The tables 32 are for draws of 24 bits and a sign, the
// tables 64 for draws of 53 bits and a sign.
var (
	zigX   [zigN + 1]float64 // edges of the layers; zigX[0] is the width of a rectangle with the lowest layer's area
	zigF   [zigN + 1]float64 // exp(−zigX²/2)
	zigW32 [zigN]float32     // zigX/2²⁴
	zigK32 [zigN]int32       // 2²⁴ times the ratio of the next edge to this edge
	zigW64 [zigN]float64     // zigX/2⁵³
	zigK64 [zigN]int64       // 2⁵³ times that ratio
)

func init() {
	density := func(x float64) float64 { return math.Exp(-0.5 * x * x) }
	zigX[0] = zigV / density(zigR)
	zigX[1] = zigR
	for i := 2; i < zigN; i++ {
		zigX[i] = math.Sqrt(-2 * math.Log(zigV/zigX[i-1]+density(zigX[i-1])))
	}

	for i := range zigN {
		zigF[i] = density(zigX[i])
		ratio := zigX[i+1] / zigX[i]
		zigW32[i] = float32(zigX[i] * 0x1p-24)
		zigK32[i] = int32(ratio * 0x1p24)
		zigW64[i] = zigX[i] * 0x1p-53
		zigK64[i] = int64(ratio * 0x1p53)
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

// normSlow returns a standard normal number from a draw x in layer i that is beyond the edge of the next layer. It
// accepts x, or takes a number from the tail, or draws again.
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

// fill fills dst with standard normal numbers of single precision, two from each
// 64-bit draw. Successive calls give the same numbers as one call with their total length, if all
// lengths except the last are even.
func (s *stream) fill(dst []float32) {
	src := s.src

	n := len(dst) &^ 1
	for t := 0; t < n; t += 2 {
		u := src.Uint64()
		pair := dst[t : t+2 : t+2]

		half := uint32(u)
		i := half & (zigN - 1)
		j := int32(half)>>7 | 1
		x := float32(j) * zigW32[i]
		if max(j, -j) >= zigK32[i] {
			x = float32(s.normSlow(int(i), float64(x)))
		}

		pair[0] = x

		half = uint32(u >> 32)
		i = half & (zigN - 1)
		j = int32(half)>>7 | 1
		x = float32(j) * zigW32[i]
		if max(j, -j) >= zigK32[i] {
			x = float32(s.normSlow(int(i), float64(x)))
		}

		pair[1] = x
	}

	if n < len(dst) {
		dst[n] = float32(s.norm())
	}
}

// ar1 is first-order autoregressive noise of unit variance: x' = a·x + b·ε with b = √(1−a²). It is
// stationary from the start.
type ar1 struct {
	s    *stream
	a, b float64
	x    float64
}

// newAR1 returns the process with the corner frequency fcHz, sampled at rateHz: a = exp(−2π·fc/rate).
func newAR1(s *stream, fcHz, rateHz float64) *ar1 {
	a := math.Exp(-2 * math.Pi * fcHz / rateHz)
	return &ar1{s: s, a: a, b: math.Sqrt(1 - a*a), x: s.norm()}
}

// next returns the next value.
func (p *ar1) next() float64 {
	p.x = p.a*p.x + p.b*p.s.norm()
	return p.x
}

// resonator is narrow-band noise of unit variance: white noise ε through a two-pole resonator,
// y = c·y₁ − r²·y₂ + g·ε. It is stationary from the start.
type resonator struct {
	s        *stream
	c, r2, g float64
	y1, y2   float64 // the latest value, and the one before
}

// newResonator returns the process with the centre frequency f0Hz and the quality q, sampled at rateHz.
func newResonator(s *stream, f0Hz, q, rateHz float64) *resonator {
	r := math.Exp(-math.Pi * f0Hz / (q * rateHz))
	r2 := r * r
	c := 2 * r * math.Cos(2*math.Pi*f0Hz/rateHz)
	p := &resonator{s: s, c: c, r2: r2, g: 1 / math.Sqrt(ar2Variance(c, -r2))}

	// Two successive values of the stationary process have unit variance and the correlation φ1/(1−φ2),
	// with φ1 = c and φ2 = −r².
	rho := c / (1 + r2)
	p.y2 = s.norm()
	p.y1 = rho*p.y2 + math.Sqrt(1-rho*rho)*s.norm()

	return p
}

// next returns the next value.
func (p *resonator) next() float64 {
	y := p.c*p.y1 - p.r2*p.y2 + p.g*p.s.norm()
	p.y2 = p.y1
	p.y1 = y
	return y
}

// ar2Variance returns the variance of y = φ1·y₁ + φ2·y₂ + ε if ε has unit variance (Yule–Walker).
func ar2Variance(phi1, phi2 float64) float64 {
	return (1 - phi2) / ((1 + phi2) * ((1-phi2)*(1-phi2) - phi1*phi1))
}

// slow is a slowly varying process: an Ornstein–Uhlenbeck process of unit variance on a grid of
// slowRateHz, with straight lines between the grid points.
type slow struct {
	p      *ar1
	index  int64   // the grid point before the latest sample
	a, b   float64 // values at the grid points index and index+1
	rateHz float64 // sampling rate of fill
}

// slowRateHz is the rate of the grid of slow processes.
const slowRateHz = 200.0

// newSlow returns the process with the correlation time tauS in s.
func newSlow(s *stream, tauS, rateHz float64) *slow {
	// The corner frequency 1/(2πτ) gives a = exp(−1/(τ·rate)).
	p := newAR1(s, 1/(2*math.Pi*tauS), slowRateHz)
	return &slow{p: p, a: p.next(), b: p.next(), rateHz: rateHz}
}

// fill fills dst with offset + scale·x for the values x of the process from sample start on. start must not fall from
// call to call.
func (s *slow) fill(dst []float64, start int64, offset, scale float64) {
	step := slowRateHz / s.rateHz
	for t := 0; t < len(dst); {
		pos := float64(start+int64(t)) * step
		for int64(pos) > s.index {
			s.index++
			s.a = s.b
			s.b = s.p.next()
		}

		base := offset + scale*s.a

		slope := scale * (s.b - s.a)
		for index := s.index; t < len(dst); t++ {
			pos = float64(start+int64(t)) * step
			if int64(pos) > index {
				break
			}

			dst[t] = base + slope*(pos-float64(index))
		}
	}
}

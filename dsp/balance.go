package dsp

import (
	"fmt"
	"math"
	"strconv"

	"doubletake/internal/lists"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// WindAxes turns body-axis forces, fx aft and fz up, at angle of attack
// alphaDeg into lift and drag (docs/method.md#random-samples): L = F_z cos α − F_x sin α,
// D = F_x cos α + F_z sin α.
func WindAxes(fx, fz, alphaDeg float64) (lift, drag float64) {
	sin, cos := math.Sincos(alphaDeg * math.Pi / 180)
	return fz*cos - fx*sin, fx*cos + fz*sin
}

// Coefficient divides a force in N by q·c·b, dynamic pressure in Pa times chord times
// span in m.
func Coefficient(forceN, qPa, chordM, spanM float64) float64 { return forceN / (qPa * chordM * spanM) }

// MomentsAbout moves moments about the origin in N·m to the point at r in m, in place: M − r × F of each sample.
// Moments may be nil, and forces whose arm is 0.
func MomentsAbout(moments, forces [3][]float64, r [3]float64) {
	for i, m := range moments {
		for s, j := range []int{(i + 1) % 3, (i + 2) % 3} {
			arm := float64(1-2*s) * r[j]
			for k := range m {
				if arm != 0 {
					m[k] -= float64(arm * forces[3-i-j][k])
				}
			}
		}
	}
}

// DynamicPressure is ½ρU² in Pa for ρ in kg/m³ and U in m/s.
func DynamicPressure(densityKgM3, speedMS float64) float64 {
	return 0.5 * densityKgM3 * speedMS * speedMS
}

// AirDensity is the density in kg/m³ of dry air at a static pressure in Pa and
// a temperature in °C, p/(R·T) with R = 287.05 J/(kg·K).
func AirDensity(pressurePa, temperatureC float64) float64 {
	return pressurePa / (287.05 * (temperatureC + 273.15))
}

// The blocks of CheckBalance, and the level of the family of tests of a run.
const (
	balanceBlockS = 0.5 // length a block should have, s
	balanceBlocks = 10  // blocks per half
	minBlocks     = 4   // the fewest a test rests on; shorter records get shorter blocks
	testLevel     = 0.05
)

// BalanceConsistency is what CheckBalance found; slices have one value per
// channel.
type BalanceConsistency struct {
	Blocks int     // blocks per half
	BlockS float64 // their length, s

	IntegralTimeS []float64 // integral time scale ∫₀ρ(τ)dτ of the autocorrelation ρ
	NEff          []float64 // effective number of independent samples in the record
	BlockT        []float64 // Welch's t of the second half's block means against the first's
	P             []float64 // its two-sided p-value, before Holm's correction
	Detectable    []float64 // drift between the halves found with 80 % power, in standard deviations of the samples
	Power         float64   // the largest of Detectable: the drift found in every channel
	Flags         []Flag    // "drift", "short-blocks", "correlated-blocks", "constant"
}

// CheckBalance asks whether the two halves of a balance recording agree
// (docs/method.md#do-the-halves-agree): Welch's t of the block means, 10 blocks of 500 ms per half of a
// record of 10 s. A longer record gets 10 longer blocks; a shorter one as many
// blocks of 500 ms as fit, and, below 4 of them, 4 shorter blocks, which is
// flagged. Standard errors come from the blocks only: consecutive samples are
// correlated, and σ/√N would read drift into records that have none.
//
// channels are equally long and sampled at rateHz. Records too short to cut, a
// rate that is none and samples that are no numbers are *fault.Error.
func CheckBalance(channels [][]float64, rateHz float64) (*BalanceConsistency, error) {
	if len(channels) == 0 {
		panic("dsp: balance record without channels")
	}

	n := len(channels[0])
	for _, x := range channels {
		if len(x) != n {
			panic(fmt.Sprintf("dsp: balance channels of %d and %d samples", n, len(x)))
		}
	}

	switch {
	case !(rateHz > 0) || math.IsInf(rateHz, 0):
		return nil, wrong("", "a sampling rate above 0 Hz", strconv.FormatFloat(rateHz, 'g', 6, 64),
			"state the rate if the file does not")

	case n < 4*minBlocks:
		return nil, wrong("", fmt.Sprintf("at least %d samples to compare halves", 4*minBlocks), strconv.Itoa(n),
			"record longer")
	}

	for c, x := range channels {
		for i, v := range x {
			if !finite(v) {
				return nil, wrong(fmt.Sprintf("channel %d, sample %d", c+1, i), "a finite number", fmt.Sprint(v), "")
			}
		}
	}

	b := &BalanceConsistency{}
	b.divide(n, rateHz)
	acf := newAutocorrelation(n)

	within := make([]float64, n)
	for c, x := range channels {
		tau := acf.integral(x)
		b.IntegralTimeS = append(b.IntegralTimeS, 0.5*tau/rateHz)
		b.NEff = append(b.NEff, float64(n)/tau)
		if !b.compareHalves(c, x, testLevel/float64(2*len(channels))) {
			continue
		}

		half := n / 2

		// What makes blocks correlated is the scale within the halves; a step
		// between them is what the test looks for. Half a sample of the scale is
		// the sample itself: white noise has none beyond it, however slowly it
		// is sampled, and its blocks are independent however short.
		copy(within, x)

		for _, h := range [][]float64{within[:half], within[half:]} {
			m := mean(h)
			for i := range h {
				h[i] -= m
			}
		}

		if scale := 0.5 * (acf.integral(within) - 1) / rateHz; b.BlockS < 10*scale {
			b.Flags = append(b.Flags, Flag{
				Code: "correlated-blocks", Channel: c, Statistic: b.BlockS / scale,
				Text: fmt.Sprintf("blocks of %.3g s are only %.2g integral time scales (%.3g s) long: their means are "+
					"correlated, p-values too small", b.BlockS, b.BlockS/scale, scale),
			})
		}
	}

	b.flagDrift(channels)

	return b, nil
}

// divide sets number and length of the blocks of a record of n samples, and
// flags blocks that are shorter than they should be.
func (b *BalanceConsistency) divide(n int, rateHz float64) {
	half := n / 2
	b.Blocks = balanceBlocks

	// A tolerance of a millionth: 5 s at 1000.0001 Hz are 10 blocks.
	if fit := int(float64(half) / (balanceBlockS * rateHz) * (1 + 1e-6)); fit < balanceBlocks {
		b.Blocks = max(fit, minBlocks)
	}

	b.BlockS = float64(half/b.Blocks) / rateHz
	if b.BlockS < balanceBlockS*(1-1e-6)-1/rateHz {
		b.Flags = append(b.Flags, Flag{
			Code: "short-blocks", Channel: -1, Statistic: b.BlockS,
			Text: fmt.Sprintf("the record of %.3g s allows %d blocks of %.3g s per half, shorter than %g s", float64(n)/rateHz,
				b.Blocks, b.BlockS, balanceBlockS),
		})
	}
}

// compareHalves tests whether the block means of the two halves of channel c
// agree, and appends the test's numbers. level is what one side of one channel
// has of the family's level. A constant channel is flagged; it returns false.
func (b *BalanceConsistency) compareHalves(c int, x []float64, level float64) (ok bool) {
	half := len(x) / 2
	first, second := blockMeans(x[:half], b.Blocks), blockMeans(x[half:2*half], b.Blocks)
	t, dof, p, ok := WelchT(first, second)
	detectable := math.Inf(1)

	std := stat.PopStdDev(x, nil)
	if ok && std > 0 {
		v1, v2 := stat.Variance(first, nil), stat.Variance(second, nil)
		se := math.Sqrt((v1 + v2) / float64(b.Blocks))

		// Power 80 % at the level one channel has left of the family's.
		q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: dof}
		detectable = (q.Quantile(1-level) + q.Quantile(0.8)) * se / std
	} else {
		b.Flags = append(b.Flags, Flag{
			Code: "constant", Channel: c,
			Text: "the channel does not vary: its halves cannot be tested",
		})
	}

	b.BlockT, b.P, b.Detectable = append(b.BlockT, t), append(b.P, p), append(b.Detectable, detectable)
	b.Power = max(b.Power, detectable)

	return ok
}

// flagDrift flags the channels whose halves differ at the level of all of them
// together.
func (b *BalanceConsistency) flagDrift(channels [][]float64) {
	for c, adjusted := range Holm(b.P) {
		if adjusted < testLevel {
			f, g := SplitHalves(channels[c : c+1])
			std := stat.PopStdDev(channels[c], nil)
			b.Flags = append(b.Flags, Flag{
				Code: "drift", Channel: c, Statistic: b.BlockT[c], P: adjusted,
				Text: fmt.Sprintf("the mean moves by %+.2g standard deviations of the samples between the halves (Welch t = %.1f "+
					"of %d against %d block means)", (g[0]-f[0])/std, b.BlockT[c], b.Blocks, b.Blocks),
			})
		}
	}
}

// blockMeans cuts x into blocks contiguous blocks, tail dropped.
func blockMeans(x []float64, blocks int) []float64 {
	n := len(x) / blocks
	return lists.Make(blocks, func(i int) float64 { return mean(x[i*n : (i+1)*n]) })
}

// autocorrelation computes integral times of records of one length.
type autocorrelation struct {
	n    int
	fft  *FFT
	pad  []float64
	coef []complex128
}

func newAutocorrelation(n int) *autocorrelation {
	m := nextSmooth(2 * n)
	return &autocorrelation{n: n, fft: NewFFT(m), pad: make([]float64, m), coef: make([]complex128, m/2+1)}
}

// integral returns 1 + 2Σρ_k, the variance of the mean in units of σ²/N, the
// sum by Geyer's initial positive sequence: pairs ρ_2m + ρ_2m+1 up to the
// first that is not positive, beyond which the estimates are noise. For an
// oscillating correlation that stops early and errs on the side of fewer
// effective samples. At least 1/N; 1 for a constant.
func (a *autocorrelation) integral(x []float64) float64 {
	m := mean(x)
	clear(a.pad[a.n:])

	for i, v := range x {
		a.pad[i] = v - m
	}

	a.fft.Coefficients(a.coef, a.pad)

	// The power spectrum is real and even: its transform is the
	// autocovariance, and a second forward transform does for the inverse.
	size := len(a.pad)
	for k, c := range a.coef {
		p := real(c)*real(c) + imag(c)*imag(c)
		a.pad[k] = p
		if k > 0 {
			a.pad[size-k] = p
		}
	}

	a.fft.Coefficients(a.coef, a.pad)

	c0 := real(a.coef[0])
	if !(c0 > 0) {
		return 1
	}

	tau := -1.0
	for k := 0; k+1 < a.n; k += 2 {
		pair := (real(a.coef[k]) + real(a.coef[k+1])) / c0
		if pair <= 0 {
			break
		}

		tau += 2 * pair
	}

	return max(tau, 1/float64(a.n))
}

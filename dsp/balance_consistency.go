package dsp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/ingest/fault"
)

// Limits of CheckBalance.
const (
	balanceBlockS = 0.5 // length a block should have, s
	balanceBlocks = 10  // greatest number of blocks per half
	minBlocks     = 4   // fewest blocks per half; shorter records get shorter blocks

	minBalanceSamples = 4 * minBlocks // two samples in each block of both halves
)

// testLevel is the significance level of all consistency tests of a run together.
const testLevel = 0.05

// BalanceConsistency is the result of CheckBalance. Slices have one value per
// channel.
type BalanceConsistency struct {
	Blocks int     // blocks per half
	BlockS float64 // length of a block, s

	IntegralTimeS []float64 // integral time scale ∫₀ρ(τ)dτ of the autocorrelation ρ
	NEff          []float64 // effective number of independent samples in the record
	BlockT        []float64 // Welch's t of the second half's block means against the first's
	P             []float64 // two-sided p-value of BlockT, before Holm's correction
	Detectable    []float64 // drift between the halves found with 80 % power, in standard deviations of the samples
	Power         float64   // the largest of Detectable: this drift is found in every channel
	Flags         []Flag    // "drift", "short-blocks", "correlated-blocks", "constant"
}

// CheckBalance tests whether the two halves of a balance recording agree
// (docs/method.md#do-the-halves-agree). It cuts each half into blocks and compares the means of
// the blocks by Welch's t. A half has balanceBlocks blocks of balanceBlockS, longer ones in a
// longer record, and fewer in a shorter one. If fewer than minBlocks would fit, it has minBlocks
// shorter blocks, and the result has a flag. Standard errors come from the blocks, because
// consecutive samples are correlated: σ/√N would be too small, and find drift in records
// without drift.
//
// channels are equally long and sampled at rateHz. CheckBalance returns a *fault.Error if the
// record is too short to cut, the rate is not above 0, or a sample is not finite.
func CheckBalance(channels [][]float64, rateHz float64) (*BalanceConsistency, error) {
	if err := checkBalanceRecord(channels, rateHz); err != nil {
		return nil, err
	}

	n := len(channels[0])
	b := &BalanceConsistency{}
	b.divide(n, rateHz)
	acf := newAutocorrelation(n)

	// Holm's correction tests the smallest p-value of all channels at this level, half of it on
	// each side.
	oneSided := testLevel / float64(2*len(channels))

	for c, x := range channels {
		tau := acf.integral(x)
		b.IntegralTimeS = append(b.IntegralTimeS, 0.5*tau/rateHz)
		b.NEff = append(b.NEff, float64(n)/tau)
		if b.compareHalves(c, x, oneSided) {
			b.flagCorrelatedBlocks(acf, c, x, rateHz)
		}
	}

	b.flagDrift(channels)

	return b, nil
}

// checkBalanceRecord returns a *fault.Error if the record is too short, the rate is not above 0, or
// a sample is not finite, and another error if there are no channels or their lengths differ.
func checkBalanceRecord(channels [][]float64, rateHz float64) error {
	if len(channels) == 0 {
		return errors.New("check balance record: expected at least one channel, found none")
	}

	n := len(channels[0])
	for _, x := range channels {
		if len(x) != n {
			return fmt.Errorf("check balance record: expected channels of equal length, found %d and %d samples", n, len(x))
		}
	}

	if !(rateHz > 0) || math.IsInf(rateHz, 0) {
		return wrong("", "a sampling rate above 0 Hz", fault.Digits(rateHz, 6),
			"state the rate if the file does not")
	}

	if n < minBalanceSamples {
		return wrong("", fmt.Sprintf("at least %d samples to compare halves", minBalanceSamples), strconv.Itoa(n),
			"record longer")
	}

	for c, x := range channels {
		for i, v := range x {
			if !finite(v) {
				return wrong(fmt.Sprintf("channel %d, sample %d", c+1, i), "a finite number", fmt.Sprint(v), fromZero)
			}
		}
	}

	return nil
}

// flagCorrelatedBlocks flags channel c if its blocks are shorter than ten integral time scales: the
// means of neighbouring blocks are then correlated.
//
// The scale is taken about the mean of each half, because a step between the halves, which the test
// looks for, must not count as correlation. It does not include the half sampling interval that a
// sample contributes by itself: white noise then has a scale of 0, and its blocks are independent
// however short they are.
func (b *BalanceConsistency) flagCorrelatedBlocks(acf *autocorrelation, c int, x []float64, rateHz float64) {
	half := len(x) / 2
	deviations := slices.Clone(x)
	subtractMean(deviations[:half])
	subtractMean(deviations[half:])

	scale := 0.5 * (acf.integral(deviations) - 1) / rateHz
	if !(b.BlockS < 10*scale) {
		return
	}

	b.Flags = append(b.Flags, Flag{
		Code: "correlated-blocks", Channel: c, Statistic: b.BlockS / scale,
		Text: fmt.Sprintf("blocks of %s s are only %s integral time scales (%s s) long: their means are "+
			"correlated, p-values too small", fault.Digits(b.BlockS, 3), fault.Digits(b.BlockS/scale, 2),
			fault.Digits(scale, 3)),
	})
}

// subtractMean subtracts the mean of x from x, in place.
func subtractMean(x []float64) {
	m := mean(x)
	for i := range x {
		x[i] -= m
	}
}

// divide sets the number and the length of the blocks for a record of n samples, and
// flags blocks that are shorter than balanceBlockS.
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
			Text: fmt.Sprintf("the record of %s s allows %d blocks of %s s per half, shorter than %g s",
				fault.Digits(float64(n)/rateHz, 3), b.Blocks, fault.Digits(b.BlockS, 3), balanceBlockS),
		})
	}
}

// compareHalves tests whether the block means of the two halves of channel c, with samples x,
// agree. It appends the results to BlockT, P and Detectable. level is the significance level of
// one side of the test. compareHalves flags a constant channel and returns false for it.
func (b *BalanceConsistency) compareHalves(c int, x []float64, level float64) (ok bool) {
	half := len(x) / 2
	first := blockMeans(x[:half], b.Blocks)
	second := blockMeans(x[half:2*half], b.Blocks)
	t, dof, p, ok := WelchT(first, second)
	detectable := math.Inf(1)

	std := stat.PopStdDev(x, nil)
	if ok && std > 0 {
		v1 := stat.Variance(first, nil)
		v2 := stat.Variance(second, nil)
		se := math.Sqrt((v1 + v2) / float64(b.Blocks))

		// Detected with a power of 80 %.
		q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: dof}
		detectable = (q.Quantile(1-level) + q.Quantile(0.8)) * se / std
	} else {
		b.Flags = append(b.Flags, Flag{
			Code: "constant", Channel: c,
			Text: "the channel does not vary: its halves cannot be tested",
		})
	}

	b.BlockT = append(b.BlockT, t)
	b.P = append(b.P, p)
	b.Detectable = append(b.Detectable, detectable)
	b.Power = max(b.Power, detectable)

	return ok
}

// flagDrift flags the channels whose halves differ significantly after Holm's correction for
// the number of channels.
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

// blockMeans cuts x into equal contiguous blocks and returns their means. The last samples are
// left out if the length is not a multiple of blocks.
func blockMeans(x []float64, blocks int) []float64 {
	n := len(x) / blocks
	means := make([]float64, blocks)
	for i := range means {
		means[i] = mean(x[i*n : (i+1)*n])
	}

	return means
}

// autocorrelation computes integral times of records of one length.
type autocorrelation struct {
	n    int          // samples of a record
	fft  *FFT         // of twice as many samples or more, so that the correlation does not wrap around
	pad  []float64    // the record with zeros after it, then its power spectrum
	coef []complex128 // transform of pad
}

// newAutocorrelation returns memory for records of n samples.
func newAutocorrelation(n int) *autocorrelation {
	m := nextSmooth(2 * n)
	return &autocorrelation{n: n, fft: NewFFT(m), pad: make([]float64, m), coef: make([]complex128, m/2+1)}
}

// integral returns 1 + 2Σρ_k over all lags k > 0, with ρ_k the autocorrelation of x. The variance of the mean of x is
// σ²/N times this number. The sum is Geyer's initial positive sequence: it adds the pairs ρ_2m + ρ_2m+1 and stops
// before the first pair that is not positive, because later estimates are noise. If the correlation oscillates, the sum
// stops early, and the number of effective samples is too small rather than too large. The result is at least 1/N, and
// 1 for a constant record.
func (a *autocorrelation) integral(x []float64) float64 {
	m := mean(x)
	clear(a.pad[a.n:])

	for i, v := range x {
		a.pad[i] = v - m
	}

	a.fft.Coefficients(a.coef, a.pad)

	// The power spectrum is real and even: its transform is the
	// autocovariance, and a second forward transform serves as the inverse.
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

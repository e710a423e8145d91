package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Tone is a line of a spectrum.
type Tone struct {
	Hz         float64
	MeanSquare float64 // the line's mean square without the floor, unit²
}

// Background is the spectrum of a channel without the source under test.
type Background struct {
	BinHz   float64
	Density []float64 // unit²/Hz
	Tones   []Tone    // by frequency
}

// BackgroundRecording is the background of one channel in one recording.
type BackgroundRecording struct {
	File    string  // names the recording
	Seconds float64 // its length, which is its weight in means over recordings
	*Background
}

// A level is near the background if it is less than NearBackgroundDB above the background's
// level in the same bins. A tone of the background is flagged if it is less than
// BackgroundToneDB below a line: it may move the line's level by up to 0.9 dB.
const (
	NearBackgroundDB = 6
	BackgroundToneDB = 20
)

// BackgroundBetween returns the background's mean square from lo to hi in Hz, averaged over the recordings with their
// lengths as weights. It also returns the strongest tone in that range or less than a bin outside, and the file in
// which the tone was recorded. If there is no tone, tone is nil and file is "". list must not be empty.
func BackgroundBetween(list []BackgroundRecording, lo, hi float64) (meanSquare float64, tone *Tone, file string) {
	seconds := 0.0
	for _, b := range list {
		meanSquare += float64(b.MeanSquare(lo, hi) * b.Seconds)
		seconds += b.Seconds

		for i, t := range b.Tones {
			inBand := t.Hz > lo-b.BinHz && t.Hz < hi+b.BinHz
			if inBand && (tone == nil || t.MeanSquare > tone.MeanSquare) {
				tone = &b.Tones[i]
				file = b.File
			}
		}
	}

	return meanSquare / seconds, tone, file
}

// BackgroundBin returns the power that the background gives the bin at hz of a spectrum, averaged over the recordings
// with their lengths as weights. The spectrum's bins are binHz apart, and the noise bandwidth of its window is
// noiseBandwidth, in bins. BackgroundBin returns 0 if list is empty.
//
// Background.Bin calculates with a Hann window. BackgroundBin replaces another window by a Hann window on wider bins
// that has the same noise bandwidth in Hz.
func BackgroundBin(list []BackgroundRecording, hz, binHz, noiseBandwidth float64) float64 {
	seconds := 0.0
	for _, b := range list {
		seconds += b.Seconds
	}

	power := 0.0
	for _, b := range list {
		power += b.Bin(hz, binHz*noiseBandwidth/noiseBins) * b.Seconds / seconds
	}

	return power
}

// A tone of a background is toneAboveDB above the median of the bins within ±backgroundAround
// bins. In the mean of backgroundLeast segments of noise, one bin in 10^25 is so far above.
const (
	toneAboveDB      = 10 // dB
	backgroundAround = 24 // bins
	backgroundLeast  = 8  // fewest segments
	shortestSegment  = 64 // samples
)

// MeasureBackground averages the spectrum of a channel over an interval. A segment is
// half a second long, rounded up to a power of two of samples. It is shorter if fewer than
// backgroundLeast segments would fit. An interval of less than backgroundLeast·shortestSegment
// samples is a *fault.Error.
func MeasureBackground(ctx context.Context, src Source, channel int, start, samples int64, rateHz float64,
) (*Background, error) {
	n := segmentFor(rateHz / 2)
	for n > shortestSegment && int64(backgroundLeast*n) > samples {
		n /= 2
	}

	if int64(backgroundLeast*n) > samples {
		return nil, wrong("", fmt.Sprintf("at least %d samples of background", backgroundLeast*n),
			fmt.Sprint(samples), "")
	}

	w := NewWelch(n)
	p, err := averagePower(ctx, src, w, channel, start, samples)
	if err != nil {
		return nil, err
	}

	b := &Background{BinHz: rateHz / float64(n), Density: make([]float64, len(p))}
	density := w.DensityFactor(rateHz)
	for k, v := range p {
		b.Density[k] = v * density
	}

	b.Tones = backgroundTones(p, b.BinHz, w.ToneFactor())

	return b, nil
}

// backgroundTones returns the tones of the spectrum p with bins binHz apart. The mean square of a
// tone is toneFactor times the power of its bins (Welch.ToneFactor).
func backgroundTones(p []float64, binHz, toneFactor float64) []Tone {
	var tones []Tone
	for k := 2; k+2 < len(p); k++ {
		if !isPeak(p, k) {
			continue
		}

		neighbours := p[max(1, k-backgroundAround):min(len(p), k+backgroundAround+1)]
		floor := slices.Sorted(slices.Values(neighbours))[len(neighbours)/2]
		if !(p[k] > floor*math.Pow(10, toneAboveDB/10.)) {
			continue
		}

		sum := 0.0
		for i := k - 2; i <= k+2; i++ {
			sum += max(0, p[i]-floor)
		}

		tones = append(tones, Tone{Hz: binHz * (float64(k) + binOffset(p, k)), MeanSquare: sum * toneFactor})
	}

	return tones
}

// isPeak reports whether no bin within two bins of k has more power than k. Bin k+1 must have
// less power. If two neighbouring bins are equal, the second alone is a peak.
func isPeak(p []float64, k int) bool {
	return p[k] >= max(p[k-2], p[k-1], p[k+2]) && p[k] > p[k+1]
}

// MeanSquare returns the background's mean square from lo to hi in Hz. Each bin
// extends half a bin to both sides.
func (b *Background) MeanSquare(lo, hi float64) float64 {
	sum := 0.0
	for k := max(0, int(lo/b.BinHz+0.5)); k < len(b.Density); k++ {
		lower := b.BinHz * (float64(k) - 0.5)
		upper := b.BinHz * (float64(k) + 0.5)
		if lower >= hi {
			break
		}

		sum += b.Density[k] * max(0, min(hi, upper)-max(lo, lower))
	}

	return sum
}

// Bin returns the power that the background gives the bin at hz of a Hann-windowed spectrum
// with bins binHz apart. Noise of density D gives noiseBins·binHz·D. A line gives its mean square
// less the loss between bins (docs/method.md#split-half-spectra).
//
// Bin averages the density over the window's main lobe, |W(d)/W(0)|² = (sin πd/(πd·(1−d²)))² at a
// distance of d bins. The background's spectrum has already spread each line over its own bins.
// So Bin uses a narrower lobe, of bins √(binHz² − b.BinHz²) apart. If that is less than an eighth
// of b.BinHz, Bin takes the density of one bin of the background. If binHz is smaller than
// b.BinHz, the power of a line is too low.
func (b *Background) Bin(hz, binHz float64) float64 {
	const parts = 16 // steps per bin in the sum over the lobe
	step := math.Sqrt(max(0, binHz*binHz-b.BinHz*b.BinHz)) / parts
	if step*parts < b.BinHz/8 {
		lo := max(0, hz-b.BinHz/2)
		hi := hz + b.BinHz/2
		return noiseBins * binHz * b.MeanSquare(lo, hi) / (hi - lo)
	}

	sum := 0.0
	weight := 0.0
	for i := -2 * parts; i < 2*parts; i++ {
		lower := hz + float64(i)*step
		if lower < 0 {
			continue
		}

		d := (float64(i) + 0.5) / parts // no midpoint is 0 or ±1
		w := math.Sin(math.Pi*d) / (math.Pi * d * (1 - d*d))
		sum += w * w * b.MeanSquare(lower, lower+step)
		weight += w * w * step
	}

	return noiseBins * binHz * sum / weight
}

// binOffset returns how far a line lies from its largest bin k, in bins, −½ to ½. p is the power spectrum under a Hann
// window. With r the ratio of the larger neighbour's amplitude to the peak's amplitude, the offset is (2r − 1)/(r + 1)
// (Grandke, 1983). binOffset returns 0 if bin k has no power or only one neighbour.
func binOffset(p []float64, k int) float64 {
	if k == 0 || k+1 >= len(p) || p[k] <= 0 {
		return 0
	}

	if p[k+1] > p[k-1] {
		r := math.Sqrt(p[k+1] / p[k])
		return max(0, (2*r-1)/(r+1))
	}

	r := math.Sqrt(p[k-1] / p[k])

	return -max(0, (2*r-1)/(r+1))
}

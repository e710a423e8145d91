package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Tone is a line of a spectrum.
type Tone struct {
	Hz         float64
	MeanSquare float64 // of the line, the floor taken off
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
	Seconds float64 // its length, by which recordings are weighted
	*Background
}

// A level less than NearBackgroundDB above the background in the same bins is
// near it. A tone of the background less than BackgroundToneDB below a line is
// flagged: it moves the line's level by up to 0.9 dB.
const (
	NearBackgroundDB = 6
	BackgroundToneDB = 20
)

// BackgroundBetween returns the background's mean square from lo to hi in Hz,
// averaged over the recordings by their length, and the strongest tone there
// with the file it is in; tone is nil where there is none. list is not empty.
func BackgroundBetween(list []BackgroundRecording, lo, hi float64) (meanSquare float64, tone *Tone, file string) {
	seconds := 0.0
	for _, b := range list {
		meanSquare += float64(b.MeanSquare(lo, hi) * b.Seconds)
		seconds += b.Seconds

		for i, t := range b.Tones {
			if t.Hz > lo-b.BinHz && t.Hz < hi+b.BinHz && (tone == nil || t.MeanSquare > tone.MeanSquare) {
				tone, file = &b.Tones[i], b.File
			}
		}
	}

	return meanSquare / seconds, tone, file
}

// BackgroundBin returns what a bin at hz of a spectrum with bins of binHz under a
// window of that noise bandwidth reads of the background (Background.Bin),
// averaged over the recordings by their length.
func BackgroundBin(list []BackgroundRecording, hz, binHz, noiseBins float64) float64 {
	seconds, p := 0.0, 0.0
	for _, b := range list {
		seconds += b.Seconds
	}

	for _, b := range list {
		p += b.Bin(hz, binHz*noiseBins/1.5) * b.Seconds / seconds
	}

	return p
}

// Tones of a background are 10 dB above the median of the bins within ±24 of
// them; of the mean of eight segments of noise one bin in 10^25 does.
const (
	toneAboveDB      = 10
	backgroundAround = 24
	backgroundLeast  = 8 // segments
)

// MeasureBackground averages the spectrum of a channel over an interval:
// segments of half a second (a power of two of samples), shorter where there
// would be fewer than eight. An interval of less than 512 samples is a *fault.Error.
func MeasureBackground(ctx context.Context, src Source, channel int, start, samples int64, rateHz float64,
) (_ *Background, err error) {
	defer fault.Catch(&err)

	n := segmentFor(rateHz / 2)
	for n > 64 && int64(backgroundLeast*n) > samples {
		n /= 2
	}

	unless(int64(backgroundLeast*n) <= samples, "", fmt.Sprintf("at least %d samples of background", backgroundLeast*n),
		fmt.Sprint(samples), "")

	w := NewWelch(n)
	p := averagePower(ctx, src, w, channel, start, samples)

	b := &Background{BinHz: rateHz / float64(n)}

	density := w.DensityFactor(rateHz)
	b.Density = lists.Each(p, func(v float64) float64 { return v * density })

	for k := 2; k+2 < len(p); k++ {
		if p[k] < p[k-1] || p[k] <= p[k+1] || p[k] < p[k-2] || p[k] < p[k+2] {
			continue
		}

		around := p[max(1, k-backgroundAround):min(len(p), k+backgroundAround+1)]
		floor := slices.Sorted(slices.Values(around))[len(around)/2]
		if !(p[k] > floor*math.Pow(10, toneAboveDB/10.)) {
			continue
		}

		sum := 0.0
		for i := k - 2; i <= k+2; i++ {
			sum += max(0, p[i]-floor)
		}

		b.Tones = append(b.Tones, Tone{Hz: b.BinHz * (float64(k) + between(p, k)), MeanSquare: sum * w.ToneFactor()})
	}

	return b, nil
}

// MeanSquare is the background's mean square from lo to hi in Hz, each bin
// standing for half a bin to both sides.
func (b *Background) MeanSquare(lo, hi float64) float64 {
	sum := 0.0
	for k := max(0, int(lo/b.BinHz+0.5)); k < len(b.Density); k++ {
		from, to := b.BinHz*(float64(k)-0.5), b.BinHz*(float64(k)+0.5)
		if from >= hi {
			break
		}

		sum += b.Density[k] * max(0, min(hi, to)-max(lo, from))
	}

	return sum
}

// Bin is what a bin at hz of a Hann-windowed spectrum with bins of binHz would
// read of it: noise of density D reads 1.5·binHz·D, a line its mean square less
// the loss between bins (docs/method.md#split-half-spectra). It is the density averaged over the
// window's main lobe, |W(d)/W(0)|² = (sin πd/(πd·(1−d²)))², d bins off. The
// background's own bins have spread lines already: the lobe is narrower by that
// much, in squares. Lines in bins narrower than the background's read too low.
func (b *Background) Bin(hz, binHz float64) float64 {
	const parts = 16 // of a bin
	step := math.Sqrt(max(0, binHz*binHz-b.BinHz*b.BinHz)) / parts
	if step*parts < b.BinHz/8 {
		lo, hi := max(0, hz-b.BinHz/2), hz+b.BinHz/2
		return 1.5 * binHz * b.MeanSquare(lo, hi) / (hi - lo)
	}

	sum, of := 0.0, 0.0
	for i := -2 * parts; i < 2*parts; i++ {
		at := hz + float64(i)*step
		if at < 0 {
			continue
		}

		d := (float64(i) + 0.5) / parts // no midpoint is 0 or ±1
		w := math.Sin(math.Pi*d) / (math.Pi * d * (1 - d*d))
		sum += w * w * b.MeanSquare(at, at+step)
		of += w * w * step
	}

	return 1.5 * binHz * sum / of
}

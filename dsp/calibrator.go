package dsp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// CalibratorSettings describe the recording of a sound calibrator.
type CalibratorSettings struct {
	RateHz         float64
	Start, Samples int64   // first sample of the recording in the source, and number of samples
	Channel        int     // its number in the source, from 0
	FrequencyHz    float64 // nominal frequency of the tone; 0: the frequency of the strongest line (strongestHz)
	Blocks         int     // number of blocks for the stability check, fewer in a short recording; 0: defaultBlocks
}

// CalibratorTone describes the tone in a calibrator's recording.
type CalibratorTone struct {
	FrequencyHz float64    // of the line, interpolated between bins
	RMS         float64    // of all blocks within BandHz, in the recording's unit
	BandHz      [2]float64 // edges of a third of an octave around the tone
	BlockRMS    []float64  // [block]: as RMS
	SpreadDB    float64    // level of the loudest block minus level of the quietest; infinite if a block is silent

	// AboveDB is the level of the tone minus the level of the noise in BandHz. The window limits it to about 55 dB for a
	// tone between two bins.
	AboveDB float64
}

const (
	// defaultBlocks is the number of blocks if the settings name none.
	defaultBlocks = 10

	// leastBlocks is the fewest blocks whose levels show a drift.
	leastBlocks = 4

	// calibratorAboveDB is the least level of a calibrator's tone above the noise in its band. The
	// noise is not subtracted; it then adds less than 0.05 dB.
	calibratorAboveDB = 20

	// binsPerTone is the least number of bins from 0 Hz to the tone. Its band then has 24 bins or more,
	// and a Hann window spreads less than 1e-6 of the tone beyond the band.
	binsPerTone = 104

	// toneGuard is how many bins to each side of the tone's bin the noise leaves out.
	toneGuard = 4
)

// Calibrator measures the tone of a calibrator's recording: its rms within a third of an octave, in all blocks together
// and in each block. The blocks have equal lengths. Calibrator uses the mean power spectrum of the Hann-windowed
// segments of a block, and leaves out the samples of the block behind its last whole segment. The mean square of a tone
// is Welch.ToneFactor times the sum over its bins (docs/method.md#split-half-spectra).
//
// It returns a *fault.Error if the recording is silent, if it is too short for leastBlocks blocks of one segment (or
// for Blocks, if that is fewer), if the tone is less than calibratorAboveDB above the noise of the band, or if the band
// reaches beyond half of the sampling rate.
func Calibrator(ctx context.Context, src Source, s CalibratorSettings) (*CalibratorTone, error) {
	s.Blocks = cmp.Or(s.Blocks, defaultBlocks)
	if s.Blocks < 2 {
		return nil, fmt.Errorf("measure calibrator: expected at least 2 blocks, found %d", s.Blocks)
	}

	f := s.FrequencyHz
	if f == 0 {
		var err error
		f, err = strongestHz(ctx, src, s)
		if err != nil {
			return nil, err
		}
	}

	if !(f > 0 && f*math.Pow(2, 1./6) < s.RateHz/2) {
		return nil, wrong("", fmt.Sprintf("a tone below half of the sampling rate of %g Hz", s.RateHz),
			fmt.Sprintf("%g Hz", f), "")
	}

	n := segmentFor(binsPerTone * s.RateHz / f)
	least := min(s.Blocks, leastBlocks)
	segments := int(s.Samples / int64(n))
	if segments < least {
		hint := recordLonger
		if s.FrequencyHz == 0 { // the line may be hum of the mains, in a channel without the tone
			hint += fmt.Sprintf("; or, if the strongest line, at %s Hz, is not the calibrator's tone: is it this channel?",
				fault.Digits(f, 4))
		}

		return nil, tooShort(s, least, n, hint)
	}

	s.Blocks = min(s.Blocks, segments) // a block has at least one segment

	w := NewWelch(n)
	spectra, err := calibratorSpectra(ctx, src, s, w)
	if err != nil {
		return nil, err
	}

	return measureTone(spectra, w, f, s.RateHz)
}

// measureTone measures the tone near the frequency f from the mean power spectrum of each block. It returns a
// *fault.Error if the tone is less than calibratorAboveDB above the noise of its band, or if all samples are 0.
func measureTone(spectra [][]float64, w *Welch, f, rateHz float64) (*CalibratorTone, error) {
	// The bins lo … hi are the third of an octave around the tone.
	bin := rateHz / float64(w.SegLen())
	lo := int(math.Ceil(f * math.Pow(2, -1./6) / bin))
	hi := int(f * math.Pow(2, 1./6) / bin)

	t := &CalibratorTone{BandHz: [2]float64{bin * (float64(lo) - 0.5), bin * (float64(hi) + 0.5)}}
	blocks := float64(len(spectra))
	quiet := math.Inf(1) // mean square of the quietest block
	loud := 0.0          // mean square of the loudest block
	all := 0.0           // mean square of all blocks
	for _, p := range spectra {
		sum := 0.0
		for k := lo; k <= hi; k++ {
			sum += p[k]
		}

		meanSquare := sum * w.ToneFactor()
		t.BlockRMS = append(t.BlockRMS, math.Sqrt(meanSquare))
		quiet = min(quiet, meanSquare)
		loud = max(loud, meanSquare)
		all += meanSquare / blocks
	}

	t.RMS = math.Sqrt(all)
	t.SpreadDB = 10 * math.Log10(loud/quiet)
	mean := meanOfSpectra(spectra)
	top := lo + argmax(mean[lo:hi+1]) // the tone's bin
	t.FrequencyHz = bin * (float64(top) + binOffset(mean, top))
	noise := calibratorNoise(mean, lo, hi, top)
	t.AboveDB = 10 * math.Log10(max(0, all/w.ToneFactor()-noise)/noise)
	if !(t.AboveDB >= calibratorAboveDB) { // AboveDB is NaN if all samples are 0
		found := "silence"
		if all > 0 {
			found = fmt.Sprintf("%.1f dB", t.AboveDB)
		}

		want := fmt.Sprintf("a calibrator's tone near %.6g Hz, %d dB and more above the noise from %.5g to %.5g Hz", f,
			calibratorAboveDB, t.BandHz[0], t.BandHz[1])

		return nil, wrong("", want, found, "is it this channel, and this frequency?")
	}

	return t, nil
}

// meanOfSpectra returns the mean of spectra of equal lengths, bin by bin.
func meanOfSpectra(spectra [][]float64) []float64 {
	mean := make([]float64, len(spectra[0]))
	for _, p := range spectra {
		for k, v := range p {
			mean[k] += v / float64(len(spectra))
		}
	}

	return mean
}

// calibratorSpectra returns the mean power spectrum of each of s.Blocks blocks of a recording.
func calibratorSpectra(ctx context.Context, src Source, s CalibratorSettings, w *Welch) ([][]float64, error) {
	blockSamples := s.Samples / int64(s.Blocks)

	var spectra [][]float64
	for b := range s.Blocks {
		p, err := averagePower(ctx, src, w, s.Channel, s.Start+int64(b)*blockSamples, blockSamples)
		if err != nil {
			return nil, err
		}

		spectra = append(spectra, p)
	}

	return spectra, nil
}

// calibratorNoise returns the sum of the noise in the bins lo … hi of the spectrum p: their number times the
// median of the bins that are more than toneGuard away from the tone's bin.
func calibratorNoise(p []float64, lo, hi, tone int) float64 {
	var floor []float64
	for k := lo; k <= hi; k++ {
		if k < tone-toneGuard || k > tone+toneGuard {
			floor = append(floor, p[k])
		}
	}

	slices.Sort(floor)

	return floor[len(floor)/2] * float64(hi-lo+1)
}

// The range in which strongestHz looks for a tone, and the width of its bins.
const (
	lowestToneHz   = 20   // sound below it is wind and handling
	highestTone    = 0.45 // of the sampling rate; filters attenuate tones above it
	widestToneBins = 5    // Hz
)

// strongestHz returns the frequency of the strongest line from lowestToneHz to highestTone. It returns a *fault.Error
// if the recording is silent or too short for one segment, or if the sampling rate is too low for that range.
func strongestHz(ctx context.Context, src Source, s CalibratorSettings) (float64, error) {
	n := segmentFor(s.RateHz / widestToneBins)
	if int64(n) > s.Samples {
		return 0, tooShort(s, 1, n, recordLonger)
	}

	p, err := averagePower(ctx, src, NewWelch(n), s.Channel, s.Start, s.Samples)
	if err != nil {
		return 0, err
	}

	bin := s.RateHz / float64(n)
	lo := int(math.Ceil(lowestToneHz / bin))
	hi := int(highestTone * float64(n))
	if lo >= hi {
		return 0, wrong("", fmt.Sprintf("a sampling rate for tones above %d Hz", lowestToneHz),
			fmt.Sprintf("%g Hz", s.RateHz), "")
	}

	strongest := lo + argmax(p[lo:hi])
	if p[strongest] == 0 {
		return 0, wrong("", "a calibrator's tone", "silence", "is it this channel?")
	}

	return bin * float64(strongest), nil
}

// recordLonger is the hint about a recording that is too short.
const recordLonger = "record longer"

// tooShort returns the error that the recording has fewer samples than the given number of blocks, of n samples each.
func tooShort(s CalibratorSettings, blocks, n int, hint string) error {
	samples := int64(blocks) * int64(n)
	want := fmt.Sprintf("at least %d samples (%s s)", samples, fault.Digits(float64(samples)/s.RateHz, 3))
	if blocks > 1 {
		want += fmt.Sprintf(" for %d blocks", blocks)
	}

	return &fault.Error{Want: want, Found: strconv.FormatInt(s.Samples, 10), Hint: hint}
}

// argmax returns the index of the largest value, the first of equals.
func argmax(x []float64) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}

	return best
}

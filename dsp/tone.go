package dsp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
)

// CalibratorSettings describe the recording of a sound calibrator.
type CalibratorSettings struct {
	RateHz         float64
	Start, Samples int64
	Channel        int
	FrequencyHz    float64 // nominal; 0: the strongest line above 20 Hz
	Blocks         int     // for the stability check, fewer of a short recording; 0: 10
}

// CalibratorTone is what a calibrator's recording holds, in its own unit.
type CalibratorTone struct {
	FrequencyHz float64    // of the line, interpolated between bins
	RMS         float64    // of the whole recording, within BandHz
	BandHz      [2]float64 // third of an octave around the line's bin
	BlockRMS    []float64  // of each block
	SpreadDB    float64    // the loudest block over the quietest
	AboveDB     float64    // the tone's power over that of the noise in its band; beyond 55 dB limited by the window
}

// leastBlocks are the fewest blocks whose levels show a drift.
const leastBlocks = 4

// calibratorAboveDB is how far a calibrator's tone must be above the noise of
// its band: the noise, which is not taken off, then adds less than 0.05 dB.
const calibratorAboveDB = 20

// Calibrator measures the tone of a calibrator's recording: the rms within a
// third of an octave around it, by Welch segments (a tone's mean
// square is Σ 2P_k/(N·Σw²) over its bins, docs/method.md#split-half-spectra), of the whole and of equal blocks of
// it. The bins are 1/104 of the frequency wide or narrower, 24 and more to the
// band, so that what a Hann window spreads beyond it is below 1e-6 of the tone.
//
// It is a *fault.Error when the recording is too short for a segment in each of 4 blocks,
// and when nothing is 20 dB above the noise of the band.
func Calibrator(ctx context.Context, src Source, s CalibratorSettings) (_ *CalibratorTone, err error) {
	defer fault.Catch(&err)

	s.Blocks = cmp.Or(s.Blocks, 10)
	if s.Blocks < 2 {
		panic(fmt.Sprintf("dsp: calibrator in %d blocks", s.Blocks))
	}

	f := s.FrequencyHz
	if f == 0 {
		n := segmentFor(s.RateHz / 5)
		if int64(n) > s.Samples {
			return nil, tooShortFor(s, n)
		}

		w := NewWelch(n)
		p := averagePower(ctx, src, w, s.Channel, s.Start, s.Samples)

		bin := s.RateHz / float64(n)
		from, to := int(math.Ceil(20/bin)), int(0.45*float64(n))
		unless(from < to, "", "a sampling rate for tones above 20 Hz", fmt.Sprintf("%g Hz", s.RateHz), "")
		f = bin * float64(from+argmax(p[from:to]))
	}

	unless(f > 0 && f*math.Pow(2, 1./6) < s.RateHz/2, "",
		fmt.Sprintf("a tone below half of the sampling rate of %g Hz", s.RateHz), fmt.Sprintf("%g Hz", f), "")

	n := segmentFor(104 * s.RateHz / f)

	if most := int(s.Samples / int64(n)); most < s.Blocks {
		if s.Blocks = most; most < leastBlocks {
			s.Blocks = leastBlocks
			return nil, tooShortFor(s, n)
		}
	}

	per := s.Samples / int64(s.Blocks)

	w := NewWelch(n)
	bin := s.RateHz / float64(n)
	lo, hi := int(math.Ceil(f*math.Pow(2, -1./6)/bin)), int(f*math.Pow(2, 1./6)/bin)
	t := &CalibratorTone{BandHz: [2]float64{bin * (float64(lo) - 0.5), bin * (float64(hi) + 0.5)}}
	mean := make([]float64, w.Bins())

	quiet, loud, all := math.Inf(1), 0.0, 0.0
	for b := range s.Blocks {
		p := averagePower(ctx, src, w, s.Channel, s.Start+int64(b)*per, per)

		sum := 0.0
		for k := lo; k <= hi; k++ {
			sum += p[k]
		}

		for k, v := range p {
			mean[k] += v / float64(s.Blocks)
		}

		ms := sum * w.ToneFactor()
		t.BlockRMS = append(t.BlockRMS, math.Sqrt(ms))
		quiet, loud, all = min(quiet, ms), max(loud, ms), all+ms/float64(s.Blocks)
	}

	t.RMS = math.Sqrt(all)
	t.SpreadDB = 10 * math.Log10(loud/quiet)
	top := lo + argmax(mean[lo:hi+1])
	t.FrequencyHz = bin * (float64(top) + between(mean, top))

	// The floor: the median of the band without the line.
	var rest []float64
	for k := lo; k <= hi; k++ {
		if k < top-4 || k > top+4 {
			rest = append(rest, mean[k])
		}
	}

	slices.Sort(rest)
	noise := rest[len(rest)/2] * float64(hi-lo+1)
	t.AboveDB = 10 * math.Log10(max(0, all/w.ToneFactor()-noise)/noise)
	if !(t.AboveDB >= calibratorAboveDB) { // also where all is zero
		found := "silence"
		if all > 0 {
			found = fmt.Sprintf("%.1f dB", t.AboveDB)
		}

		return nil, &fault.Error{
			Want: fmt.Sprintf("a calibrator's tone near %.6g Hz, %d dB and more above the noise from %.5g to %.5g Hz", f,
				calibratorAboveDB, t.BandHz[0], t.BandHz[1]),
			Found: found, Hint: "is it this channel, and this frequency?",
		}
	}

	return t, nil
}

func tooShortFor(s CalibratorSettings, n int) error {
	return &fault.Error{
		Want: fmt.Sprintf("at least %d samples (%.3g s) for %d blocks", int64(n)*int64(s.Blocks),
			float64(n)*float64(s.Blocks)/s.RateHz, s.Blocks),
		Found: fmt.Sprintf("%d", s.Samples), Hint: "record longer",
	}
}

// segmentFor is the power of two from x on.
func segmentFor(x float64) int {
	n := 64
	for float64(n) < x {
		n *= 2
	}

	return n
}

func argmax(x []float64) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}

	return best
}

// between is where between the bins around k a line lies whose spectrum by a
// Hann window is p: from the ratio r of the larger neighbour's amplitude to the
// peak's, (2r − 1)/(r + 1) (Grandke, 1983).
func between(p []float64, k int) float64 {
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

// averagePower is the mean of the power spectra of the contiguous segments of
// an interval, the rest at its end dropped; segment by segment, so
// that memory does not grow with the interval.
func averagePower(ctx context.Context, src Source, w *Welch, channel int, start, samples int64) []float64 {
	n := int64(w.SegLen())
	segments := samples / n
	mean, one := make([]float64, w.Bins()), make([]float64, w.Bins())

	blocks(ctx, src, channel, start, segments*n, n, func(at int64, x []float64) {
		if slices.ContainsFunc(x, func(v float64) bool { return !finite(v) }) {
			fault.Raise(badSample(x, channel, start+at))
		}

		w.SegmentPower(one, x)

		for k, p := range one {
			mean[k] += p / float64(segments)
		}
	})

	return mean
}

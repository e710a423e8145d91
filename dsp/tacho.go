package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Tachometer is the channel of a source that counts the shaft's revolutions.
type Tachometer struct {
	Channel      int     // its number in the source, from 0
	PulsesPerRev int     // pulses in one revolution
	Falling      bool    // the falling edges count, rather than the rising ones
	Threshold    float64 // level that an edge crosses, in the source's unit; NaN: midway between the extremes
}

// tachoBlock is how many samples are read at a time.
const tachoBlock = 1 << 14

// Pulses are the pulses of a tachometer.
type Pulses struct {
	Times  []float64 // of the edges, ascending, in samples from the start of the interval, with fractions
	PerRev int       // pulses in one revolution
	Sharp  int       // number of sharp edges (sharpSlope)
}

// Limits of edges, as parts of the range of the tachometer's signal.
const (
	edgeDepth  = 0.2 // a pulse must rise from this depth below the threshold to this height above it
	sharpSlope = 0.9 // an edge is sharp if it rises by more than this from one sample to the next
)

// FindPulses returns the pulses of a tachometer. It interpolates the edges, which are the crossings of the threshold,
// between samples. A pulse counts only if the signal was edgeDepth below the threshold before the edge and rises to
// edgeDepth above it, so that noise on an edge is not a pulse. If the signal crosses the threshold several times on the
// way, the last crossing counts. A sharp edge (Pulses.Sharp) is only known to lie between two samples; PulseLossDB
// returns by how much levels are then too low.
//
// FindPulses reads the samples twice, block by block. It returns a *fault.Error if the pulses are fewer than the pulses
// of two revolutions.
func FindPulses(ctx context.Context, src Source, start, samples int64, t Tachometer) (*Pulses, error) {
	whole := interval{start, samples}
	lo, hi, err := t.extremes(ctx, src, whole)
	if err != nil {
		return nil, err
	}

	level := t.Threshold
	if math.IsNaN(level) {
		level = (lo + hi) / 2
	}

	sign := 1.0
	if t.Falling {
		sign = -1
	}

	p := &Pulses{PerRev: t.PulsesPerRev}
	finder := edgeFinder{pulses: p, depth: edgeDepth * (hi - lo), steepRise: sharpSlope * (hi - lo)}
	finder.last = math.NaN()
	finder.edge = math.NaN()

	blocks := t.blocks(src, whole)
	for blocks.more() {
		x, offset, err := blocks.read(ctx)
		if err != nil {
			return nil, err
		}

		for i, v := range x {
			finder.add(sign*(v-level), float64(offset)+float64(i))
		}
	}

	least := 2*t.PulsesPerRev + 1
	if len(p.Times) < least {
		return nil, wrong("tachometer", fmt.Sprintf("at least %d pulses (2 revolutions)", least),
			strconv.Itoa(len(p.Times)), "check the channel, pulses_per_rev and threshold")
	}

	return p, nil
}

// edgeFinder finds the pulses of a signal that is given sample by sample, less the threshold.
type edgeFinder struct {
	pulses    *Pulses // takes the pulses
	depth     float64 // how far the signal must be below and then above the threshold
	steepRise float64 // an edge that rises by more from one sample to the next is sharp

	last  float64 // the sample before; NaN: none
	edge  float64 // time of the latest crossing of the threshold, in samples; NaN: none
	sharp bool    // the latest crossing is sharp
	armed bool    // the signal was depth below the threshold since the latest pulse
}

// add takes the next sample, at a time in samples.
func (f *edgeFinder) add(v, time float64) {
	if f.last < 0 && v >= 0 {
		f.edge = time - v/(v-f.last)
		f.sharp = v-f.last > f.steepRise
	}

	switch {
	case v < -f.depth:
		f.armed = true

	case v > f.depth && f.armed && !math.IsNaN(f.edge):
		f.pulses.Times = append(f.pulses.Times, f.edge)
		f.armed = false

		if f.sharp {
			f.pulses.Sharp++
		}
	}

	f.last = v
}

// blocks returns a reader of the tachometer's samples.
func (t *Tachometer) blocks(src Source, whole interval) *blockReader {
	return &blockReader{interval: whole, src: src, channel: t.Channel, size: tachoBlock, place: "tachometer, "}
}

// extremes returns the least and the greatest sample. It returns an error if a sample is not finite or
// all samples are equal.
func (t *Tachometer) extremes(ctx context.Context, src Source, whole interval) (lo, hi float64, err error) {
	lo = math.Inf(1)
	hi = math.Inf(-1)

	blocks := t.blocks(src, whole)
	for blocks.more() {
		x, offset, err := blocks.read(ctx)
		if err != nil {
			return 0, 0, err
		}

		for i, v := range x {
			if !finite(v) {
				return 0, 0, wrong(fmt.Sprintf("tachometer, sample %d", whole.start+offset+int64(i)), "a finite number",
					fmt.Sprint(v), fromZero)
			}

			lo = min(lo, v)
			hi = max(hi, v)
		}
	}

	if !(hi > lo) {
		return 0, 0, wrong("tachometer", "pulses", fmt.Sprintf("a channel stuck at %g", lo), "was it connected?")
	}

	return lo, hi, nil
}

// PulseLossDB returns by how many dB the synchronous average of a shaft order is too low if the edges of
// the tachometer are sharp. The error of an edge is then uniform over ±½ sample, with a variance of 1/12.
// Between two edges the error of the angle is a mean of both errors, whose variance is 1/18 on average.
// The amplitude that remains is exp(−(2π·order/samplesPerRev)²/36).
func PulseLossDB(order int, samplesPerRev float64) float64 {
	phi := 2 * math.Pi * float64(order) / samplesPerRev
	return 20 / math.Ln10 * phi * phi / 36
}

// Check returns one flag if a revolution is longer or shorter than their median by more than half the
// distance of two pulses: pulses were missed or doubled. Otherwise it returns nil.
func (p *Pulses) Check() []Flag {
	rev := make([]float64, 0, len(p.Times))
	for i := p.PerRev; i < len(p.Times); i++ {
		rev = append(rev, p.Times[i]-p.Times[i-p.PerRev])
	}

	if len(rev) == 0 {
		return nil
	}

	med := slices.Sorted(slices.Values(rev))[len(rev)/2]
	n := 0
	for _, r := range rev {
		if math.Abs(r-med) > 0.5*med/float64(p.PerRev) {
			n++
		}
	}

	if n == 0 {
		return nil
	}

	return []Flag{{
		Code: "tacho-pulses", Channel: -1, Statistic: float64(n),
		Text: fmt.Sprintf("%d of %d revolutions on the tachometer differ from their median by more than half a pulse: "+
			"pulses were missed or doubled", n, len(rev)),
	}}
}

// ShaftHz returns the mean speed in rev/s over the whole revolutions between the times begin and end, in
// samples as Times. It returns 0 if there is no whole revolution.
func (p *Pulses) ShaftHz(rateHz, begin, end float64) float64 {
	lo, hi := p.revolutions(begin, end)
	if hi <= lo {
		return 0
	}

	return float64((hi-lo)/p.PerRev) * rateHz / (p.Times[hi] - p.Times[lo])
}

// HalvesHz returns the mean speed of each half of a run of that many samples, in rev/s. It returns a
// *fault.Error if a half has no whole revolution.
func (p *Pulses) HalvesHz(rateHz float64, samples int64) ([2]float64, error) {
	var hz [2]float64
	half := float64(samples / 2)
	for h := range hz {
		hz[h] = p.ShaftHz(rateHz, float64(h)*half, float64(h+1)*half)
		if !(hz[h] > 0) {
			return hz, wrong("tachometer", "a whole revolution in each half", fmt.Sprintf("none in half %d", h+1), "")
		}
	}

	return hz, nil
}

// revolutions returns the numbers of the first and the last pulse of the whole revolutions between the
// times begin and end, in samples as Times. They are equal if there is no whole revolution.
func (p *Pulses) revolutions(begin, end float64) (lo, hi int) {
	lo, _ = slices.BinarySearch(p.Times, begin)
	hi, _ = slices.BinarySearch(p.Times, end)
	hi--
	if hi < lo {
		return 0, 0
	}

	return lo, lo + (hi-lo)/p.PerRev*p.PerRev
}

// Thresholds of the tachometer's flags.
const (
	speedDiffers = 0.02 // relative difference of the stated and the measured speed; real speeds drift by 1 to 2 %
	pulseLossDB  = 0.05 // PulseLossDB of the highest harmonic
)

// tachometerFlags returns the flags about the tachometer and the speed that it measures. It returns nil
// if the run has no tachometer.
func (s *rotor) tachometerFlags() []Flag {
	if s.Pulses == nil {
		return nil
	}

	flags := s.Pulses.Check()
	mostSharp := 2*s.Pulses.Sharp > len(s.Pulses.Times)
	if s.Settings.Amplitude == "synchronous" && mostSharp {
		perRev := s.RateHz / s.shaftHz
		if loss := PulseLossDB(s.harmonics*s.blades, perRev); loss > pulseLossDB {
			flags = append(flags, Flag{
				Code: "tacho-resolution", Channel: -1, Statistic: loss,
				Text: fmt.Sprintf("the tachometer's pulses rise within a sample and are known to ±½ of %.0f per revolution: "+
					"harmonic %d reads about %.2g dB low, lower ones less with the square of their number; sample faster, or smooth "+
					"the pulses before they are sampled",
					perRev, s.harmonics, loss),
			})
		}
	}

	if d := s.shaftHz/s.stated - 1; s.stated > 0 && math.Abs(d) > speedDiffers {
		flags = append(flags, Flag{
			Code: "speed-differs", Channel: -1, Statistic: d,
			Text: fmt.Sprintf("the tachometer has %.6g rev/min, the conditions %.6g (%+.1f %%): is the speed in rev/s, or "+
				"pulses_per_rev another?", 60*s.shaftHz, 60*s.stated, 100*d),
		})
	}

	return flags
}

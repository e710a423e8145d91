package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Tachometer is the channel of a source that counts the shaft's revolutions.
type Tachometer struct {
	Channel      int
	PulsesPerRev int
	Falling      bool    // the falling edges count, not the rising ones
	Threshold    float64 // level of an edge, in the channel's unit; NaN: midway between its extremes
}

// tachoBlock is how many samples are read at a time.
const tachoBlock = 1 << 14

// Pulses are the edges of a tachometer.
type Pulses struct {
	Times  []float64 // in samples from the start of the interval, between samples
	PerRev int       // pulses in one revolution
	Sharp  int       // how many of them rise within a sample
}

// FindPulses returns the edges of a tachometer in samples from start on,
// interpolated between samples. An edge counts once the signal has left the
// threshold by a fifth of its range to the other side, so that noise on an edge
// is no pulse. Of an edge that rises within a sample (Pulses.Sharp) only the two
// samples it lies between are known (PulseLossDB). Samples are read twice, block
// by block. A channel without pulses is a *fault.Error.
func FindPulses(ctx context.Context, src Source, start, samples int64, t Tachometer) (_ *Pulses, err error) {
	defer fault.Catch(&err)

	each := func(f func(at int64, x []float64)) {
		err := fault.Try(func() { blocks(ctx, src, t.Channel, start, samples, tachoBlock, f) })
		if f, ok := err.(*fault.Error); ok {
			f.Place = "tachometer, " + f.Place
		}

		fault.Raise(err)
	}

	lo, hi := math.Inf(1), math.Inf(-1)
	bad := int64(-1)
	each(func(at int64, x []float64) {
		for i, v := range x {
			if !finite(v) && bad < 0 {
				bad = start + at + int64(i)
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	})
	unless(bad < 0, fmt.Sprintf("tachometer, sample %d", bad), "a finite number", "none", "")
	unless(hi > lo, "tachometer", "pulses", fmt.Sprintf("a channel stuck at %g", lo), "was it connected?")

	level := t.Threshold
	if math.IsNaN(level) {
		level = (lo + hi) / 2
	}

	sign := 1.0
	if t.Falling {
		sign = -1
	}

	depth := 0.2 * (hi - lo)
	before, edge := math.NaN(), math.NaN()
	p := &Pulses{PerRev: t.PulsesPerRev}
	armed, steep := false, false
	each(func(at int64, x []float64) {
		for i, v := range x {
			v = sign * (v - level)
			if before < 0 && v >= 0 { // of the crossings on one edge the last counts
				edge = float64(at) + float64(i) - v/(v-before)
				steep = v-before > 0.9*(hi-lo)
			}

			switch {
			case v < -depth:
				armed = true

			case v > depth && armed && !math.IsNaN(edge):
				p.Times = append(p.Times, edge)
				armed = false

				if steep {
					p.Sharp++
				}
			}

			before = v
		}
	})
	need := 2*t.PulsesPerRev + 1
	unless(len(p.Times) >= need, "tachometer", fmt.Sprintf("at least %d pulses (2 revolutions)", need),
		strconv.Itoa(len(p.Times)), "check the channel, pulses_per_rev and threshold")

	return p, nil
}

// PulseLossDB is how much too low the synchronous average reads an order of the
// shaft whose pulses are sharp, at that many samples per revolution. A pulse's
// time is then off by an even ±½ sample, of variance 1/12, the angle between two
// pulses by a mean of the two, of variance 1/18 on average over the angle: an
// amplitude of exp(−(2π·order/samples)²/36) remains.
func PulseLossDB(order int, samplesPerRev float64) float64 {
	phi := 2 * math.Pi * float64(order) / samplesPerRev
	return 20 / math.Ln10 * phi * phi / 36
}

// Check returns a flag where the intervals of pulses one revolution apart are
// uneven by more than half a pulse: pulses were missed or doubled.
func (p *Pulses) Check() []Flag {
	rev := make([]float64, 0, len(p.Times))
	for i := p.PerRev; i < len(p.Times); i++ {
		rev = append(rev, p.Times[i]-p.Times[i-p.PerRev])
	}

	if len(rev) == 0 {
		return nil
	}

	med := slices.Sorted(slices.Values(rev))[len(rev)/2]
	n := len(lists.Keep(rev, func(r float64) bool { return math.Abs(r-med) > 0.5*med/float64(p.PerRev) }))
	if n == 0 {
		return nil
	}

	return []Flag{{
		Code: "tacho-pulses", Channel: -1, Statistic: float64(n),
		Text: fmt.Sprintf("%d of %d revolutions on the tachometer differ from their median by more than half a pulse: "+
			"pulses were missed or doubled", n, len(rev)),
	}}
}

// ShaftHz returns the mean speed in rev/s over the whole revolutions between the
// samples from and to, 0 where there is none.
func (p *Pulses) ShaftHz(rateHz, from, to float64) float64 {
	lo, hi := p.revolutions(from, to)
	if hi <= lo {
		return 0
	}

	return float64((hi-lo)/p.PerRev) * rateHz / (p.Times[hi] - p.Times[lo])
}

// HalvesHz returns the speed in rev/s of each half of a run of that many
// samples. A half without a whole revolution is a *fault.Error.
func (p *Pulses) HalvesHz(rateHz float64, samples int64) (hz [2]float64, err error) {
	half := float64(samples / 2)
	for h := range hz {
		if hz[h] = p.ShaftHz(rateHz, float64(h)*half, float64(h+1)*half); !(hz[h] > 0) {
			return hz, wrong("tachometer", "a whole revolution in each half", fmt.Sprintf("none in half %d", h+1), "")
		}
	}

	return hz, nil
}

// revolutions finds the first and last pulse of the whole revolutions in an
// interval.
func (p *Pulses) revolutions(from, to float64) (lo, hi int) {
	lo, _ = slices.BinarySearch(p.Times, from)
	hi, _ = slices.BinarySearch(p.Times, to)
	hi--
	if hi < lo {
		return 0, 0
	}

	return lo, lo + (hi-lo)/p.PerRev*p.PerRev
}

// Thresholds of the tachometer's flags: the relative difference between the
// stated and the measured speed (real speeds drift by 1 to 2 %), and the loss of
// the highest harmonic by pulses that rise within a sample.
const (
	speedDiffers = 0.02
	pulseLossDB  = 0.05
)

// tachometerFlags are the doubts about the tachometer and the speed by it.
func (s *rotor) tachometerFlags() []Flag {
	if s.Pulses == nil {
		return nil
	}

	flags := s.Pulses.Check()
	if s.Settings.Amplitude == "synchronous" && 2*s.Pulses.Sharp > len(s.Pulses.Times) {
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

// synchronous replaces the lines' powers by those of the time-synchronous
// average. Its noise is the floor in one part of R revolutions: from that come
// the predicted deviation and, where the line is not above it, the upper bound.
func (s *rotor) synchronous(ctx context.Context, src Source, run *rotorRun) {
	half := float64(s.Samples / 2)
	for c, mic := range s.Microphones {
		for h := range 2 {
			lines := run.Channels[c].Halves[h].Lines
			orders := lists.Make(len(lines), func(m int) int { return (m + 1) * s.blades })
			p, revs, err := Synchronous(ctx, src, s.Start, mic.Channel, mic.Scale, s.Pulses, float64(h)*half, float64(h+1)*half,
				orders)
			fault.Raise(err)

			for m := range lines {
				l := &lines[m]

				// The floor is per bin of a Hann window, 1.5 bins wide in noise.
				noise := l.Floor / (NoiseBins(s.Settings.Window) * run.BinHz) * run.ShaftHz[h] / float64(revs)
				l.UpperBound = p[m] < 4*noise // 6 dB, as for spectra
				l.Power = math.Max(p[m], noise*1e-3)
				l.SDdB = 20 / math.Ln10 * math.Sqrt(noise/(2*l.Power))
			}
		}
	}
}

// Synchronous returns the mean squares of shaft orders in a channel by the
// time-synchronous average (docs/method.md#split-half-spectra) over the whole revolutions between
// samples from and to (relative to start): the Fourier coefficients, over the
// shaft's angle, of what repeats with every revolution. The angle runs evenly
// from pulse to pulse. A line's power is |A_k|²/2 with
// A_k = (1/πR)·Σ p(t_n) e^(−ikθ_n) Δθ_n over R revolutions, so that nothing is
// interpolated but the angle. revs is R. Samples are multiplied with scale.
func Synchronous(ctx context.Context, src Source, start int64, channel int, scale float64, p *Pulses, from, to float64,
	orders []int,
) (power []float64, revs int, err error) {
	defer fault.Catch(&err)

	lo, hi := p.revolutions(from, to)
	unless(hi > lo, "tachometer", "a whole revolution", "none in the half", "")

	times := p.Times[lo : hi+1]
	revs = (hi - lo) / p.PerRev
	sum := make([]complex128, len(orders))
	first := int64(math.Ceil(times[0]))
	last := int64(math.Floor(times[len(times)-1]))
	step := 2 * math.Pi / float64(p.PerRev)
	k := 0
	angle := func(t float64) float64 {
		for k+2 < len(times) && t >= times[k+1] {
			k++
		}
		return step * (float64(k) + (t-times[k])/(times[k+1]-times[k]))
	}

	total := step * float64(len(times)-1)
	prev := 0.0 // angle halfway to the sample before
	blocks(ctx, src, channel, start+first, last-first+1, tachoBlock, func(at int64, x []float64) {
		for i, v := range x {
			at := first + at + int64(i)
			theta := angle(float64(at))

			next := total // the last sample covers the rest
			if at < last {
				keep := k
				next = angle(float64(at) + 0.5)
				k = keep
			}

			d := next - prev
			prev = next

			for j, o := range orders {
				sin, cos := math.Sincos(float64(o) * theta)
				sum[j] += complex(v*d*cos, -v*d*sin)
			}
		}
	})
	for _, s := range sum {
		a := scale / (math.Pi * float64(revs))
		re, im := real(s)*a, imag(s)*a
		power = append(power, (re*re+im*im)/2)
	}

	return power, revs, nil
}

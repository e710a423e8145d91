package dsp

import (
	"context"
	"math"
)

// emergentNoise is the least ratio of a line's power to the noise of the time-synchronous average: 6 dB,
// as for spectra. Below it the power is an upper bound.
const emergentNoise = 4

// leastPower is the least power of a line relative to that noise. It is positive, so that the line's level is
// finite.
const leastPower = 1e-3

// synchronous sets Power, UpperBound and SDdB of all lines in run by the time-synchronous average. An
// average over R revolutions passes noise in a bandwidth of 1/R of the shaft's frequency. The floor of
// the line in that bandwidth is the noise of the line's power.
func (s *rotor) synchronous(ctx context.Context, src Source, run *rotorRun) error {
	half := float64(s.Samples / 2)
	for c, mic := range s.Microphones {
		for h := range 2 {
			lines := run.Channels[c].Halves[h].Lines
			orders := make([]int, len(lines))
			for m := range orders {
				orders[m] = (m + 1) * s.blades
			}

			stretch := Stretch{
				Start: s.Start, Channel: mic.Channel, Scale: mic.Scale, Begin: float64(h) * half, End: float64(h+1) * half,
			}
			p, revs, err := Synchronous(ctx, src, stretch, s.Pulses, orders)
			if err != nil {
				return err
			}

			for m := range lines {
				l := &lines[m]

				// The floor is a power per bin. The window's noise bandwidth makes it a power per Hz.
				noise := l.Floor / (NoiseBins(s.Settings.Window) * run.BinHz) * run.ShaftHz[h] / float64(revs)
				l.UpperBound = p[m] < emergentNoise*noise
				l.Power = math.Max(p[m], leastPower*noise)
				l.SDdB = 20 / math.Ln10 * math.Sqrt(noise/(2*l.Power))
			}
		}
	}

	return nil
}

// shaftAngle calculates the angle of a shaft. The angle is 0 at the first pulse and grows evenly from
// pulse to pulse.
type shaftAngle struct {
	times []float64 // of the pulses, in samples
	step  float64   // angle between two pulses, radians
	k     int       // number of the latest pulse before the time of the last call
}

// advance returns the angle at a time in samples. Times must not fall from call to call.
func (a *shaftAngle) advance(t float64) float64 {
	for a.k+2 < len(a.times) && t >= a.times[a.k+1] {
		a.k++
	}

	return a.step * (float64(a.k) + (t-a.times[a.k])/(a.times[a.k+1]-a.times[a.k]))
}

// Stretch is a part of a channel that Synchronous averages over the angle of a shaft.
type Stretch struct {
	Start      int64   // sample of the source from which Begin, End and the times of pulses count
	Begin, End float64 // ends of the stretch, in samples after Start
	Channel    int     // its number in the source, from 0
	Scale      float64 // factor from samples to the physical unit
}

// Synchronous returns the mean squares of shaft orders in a channel by the time-synchronous average
// (docs/method.md#split-half-spectra) over the whole revolutions in a stretch. They are Fourier coefficients over the
// shaft's angle θ. The mean square of order k is |A_k|²/2, with A_k = (1/πR)·Σ p(t_n) e^(−ikθ_n) Δθ_n over the samples
// p(t_n) of R revolutions. Only the angle is interpolated: it grows evenly from pulse to pulse. Δθ_n reaches from the
// middle between the sample before and this sample to the middle between this sample and the next.
//
// power has one value per order, and revs is R. If there is no whole revolution, Synchronous returns a *fault.Error.
func Synchronous(ctx context.Context, src Source, stretch Stretch, p *Pulses, orders []int) (
	power []float64, revs int, err error,
) {
	lo, hi := p.revolutions(stretch.Begin, stretch.End)
	if hi <= lo {
		return nil, 0, wrong("tachometer", "a whole revolution", "none in the half", "")
	}

	times := p.Times[lo : hi+1]
	revs = (hi - lo) / p.PerRev
	angle := shaftAngle{times: times, step: 2 * math.Pi / float64(p.PerRev)}
	sums, err := fourierSums(ctx, src, stretch, angle, orders)
	if err != nil {
		return nil, 0, err
	}

	for _, s := range sums {
		a := stretch.Scale / (math.Pi * float64(revs))
		re := real(s) * a
		im := imag(s) * a
		power = append(power, (re*re+im*im)/2)
	}

	return power, revs, nil
}

// fourierSums returns Σ p(t_n) e^(−ikθ_n) Δθ_n for each order k, over the samples from the first pulse of angle to its
// last one.
func fourierSums(ctx context.Context, src Source, stretch Stretch, angle shaftAngle, orders []int) (
	[]complex128, error,
) {
	pulses := len(angle.times)
	first := int64(math.Ceil(angle.times[0]))
	last := int64(math.Floor(angle.times[pulses-1]))
	total := angle.step * float64(pulses-1)
	halfway := 0.0 // angle midway between the sample before and this one

	sums := make([]complex128, len(orders))
	blocks := blockReader{
		interval: interval{stretch.Start + first, last - first + 1}, src: src, channel: stretch.Channel, size: tachoBlock,
	}
	for blocks.more() {
		x, offset, err := blocks.read(ctx)
		if err != nil {
			return nil, err
		}

		for i, v := range x {
			n := first + offset + int64(i)
			theta := angle.advance(float64(n))

			next := total // angle midway between this sample and the next; the last sample covers the rest
			if n < last {
				ahead := angle // a copy, so that angle stays at this sample
				next = ahead.advance(float64(n) + 0.5)
			}

			d := next - halfway
			halfway = next

			for j, order := range orders {
				sin, cos := math.Sincos(float64(order) * theta)
				sums[j] += complex(v*d*cos, -v*d*sin)
			}
		}
	}

	return sums, nil
}

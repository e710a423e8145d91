package stages

import (
	"context"
	"fmt"
	"math"

	"doubletake/dsp"
	"doubletake/ingest"
)

// speedFound names the condition that the analysis of a run finds out, if any.
func (f *fileTables) speedFound() string {
	switch {
	case f.src.in.Tachometer != nil:
		return "rpm_measured"
	case f.b.e.DSP.Track != nil:
		return "rpm_tracked"
	}
	return ""
}

// speedDiffers is the relative difference between the speed that was set and the
// one measured from which it is told: real speeds drift by 1 to 2 %.
const speedDiffers = 0.02

// pulseLossDB is the loss of the highest harmonic, by pulses that are known to a
// sample, from which it is told.
const pulseLossDB = 0.05

// tachometer reads the pulses of a run (in samples from its beginning) and settles
// the speed of each half by them.
func (f *fileTables) tachometer(ctx context.Context, rd ingest.Reader, res *fileResult, run runResult, s *dsp.RotorSettings, nominal float64, note *runNote) ([]float64, error) {
	t := f.src.in.Tachometer
	c, err := ingest.FindChannel(res.Info, t.Channel)
	if err != nil {
		return nil, err
	}
	for _, r := range run.Run.Recordings {
		ch := res.Info.Channels[r.Channels[0]]
		if r.Channels[0] == c {
			return nil, &ingest.DataError{Path: res.Path, Place: "channel " + ch.Name, Want: "a microphone", Found: "the tachometer", Hint: "leave it out of channels"}
		}
		if tacho := res.Info.Channels[c]; tacho.Samples != ch.Samples || tacho.RateHz != ch.RateHz {
			return nil, &ingest.DataError{
				Path: res.Path, Place: "channel " + tacho.Name, Want: fmt.Sprintf("a tachometer sampled as the microphones are, %d samples at %g Hz", ch.Samples, ch.RateHz),
				Found: fmt.Sprintf("%d at %g Hz", tacho.Samples, tacho.RateHz),
			}
		}
	}
	o := dsp.Tachometer{Channel: c, PulsesPerRev: t.PulsesPerRev, Falling: t.Edge == "falling", Threshold: math.NaN()}
	if t.Threshold != nil {
		o.Threshold = *t.Threshold
	}
	pulses, sharp, err := dsp.Pulses(ctx, rd, s.Start, s.Samples, o)
	if err != nil {
		return nil, err
	}
	note.Flags = append(note.Flags, dsp.CheckPulses(pulses, t.PulsesPerRev)...)
	half := float64(s.Samples / 2)
	for h := range 2 {
		v := dsp.ShaftSpeed(pulses, t.PulsesPerRev, s.RateHz, float64(h)*half, float64(h+1)*half)
		if !(v > 0) {
			return nil, &dsp.Error{Place: "tachometer", Want: "a whole revolution in each half", Found: fmt.Sprintf("none in half %d", h+1)}
		}
		s.HalfShaftHz[h] = v
	}
	s.ShaftHz = (s.HalfShaftHz[0] + s.HalfShaftHz[1]) / 2
	if d := f.b.e.DSP; d.Amplitude == "synchronous" && 2*sharp > len(pulses) {
		perRev := s.RateHz / s.ShaftHz
		if loss := dsp.PulseLossDB(s.Harmonics*s.Blades, perRev); loss > pulseLossDB {
			note.Flags = append(note.Flags, dsp.Flag{
				Code: "tacho-resolution", Channel: -1, Statistic: loss,
				Text: fmt.Sprintf("the tachometer's pulses rise within a sample and are known to ±½ of %.0f per revolution: harmonic %d reads about %.2g dB low, lower ones less with the square of their number; sample faster, or smooth the pulses before they are sampled",
					perRev, s.Harmonics, loss),
			})
		}
	}
	if d := s.ShaftHz/nominal - 1; nominal > 0 && math.Abs(d) > speedDiffers {
		note.Flags = append(note.Flags, dsp.Flag{
			Code: "speed-differs", Channel: -1, Statistic: d,
			Text: fmt.Sprintf("the tachometer has %.6g rev/min, the conditions %.6g (%+.1f %%): is the speed in rev/s, or pulses_per_rev another?", 60*s.ShaftHz, 60*nominal, 100*d),
		})
	}
	return pulses, nil
}

// synchronous replaces the lines' powers by those of the time-synchronous
// average. What it rests on beside the line is the floor in one part of R
// revolutions: from that come the predicted deviation and, where the line does
// not stand above it, the upper bound.
func synchronous(ctx context.Context, rd ingest.Reader, s dsp.RotorSettings, pulses []float64, pulsesPerRev int, out *dsp.RotorRun) error {
	half := float64(s.Samples / 2)
	for c := range out.Channels {
		for h := range 2 {
			lines := out.Channels[c].Halves[h].Lines
			orders := make([]int, len(lines))
			for m := range lines {
				orders[m] = (m + 1) * s.Blades
			}
			scale := 1.0
			if s.Scale != nil {
				scale = s.Scale[c]
			}
			p, revs, err := dsp.Synchronous(ctx, rd, s.Start, s.Channels[c], scale, pulses, pulsesPerRev, float64(h)*half, float64(h+1)*half, orders)
			if err != nil {
				return err
			}
			for m := range lines {
				l := &lines[m]
				// The floor is per bin of a Hann window, 1.5 bins wide in noise.
				noise := l.Floor / (1.5 * out.BinHz) * out.ShaftHz[h] / float64(revs)
				l.UpperBound = p[m] < 4*noise // 6 dB, as for spectra
				l.Power = math.Max(p[m], noise*1e-3)
				l.SDdB = 20 / math.Ln10 * math.Sqrt(noise/(2*l.Power))
			}
		}
	}
	return nil
}

package dspstage

import (
	"context"
	"fmt"
	"maps"
	"math"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/pipeline/stages/ingeststage"
)

// withSpeed adds the shaft speed that was measured to the conditions of a
// recording: rpm_measured by a tachometer, rpm_tracked in the sound; and what is
// derived of it.
func (f *fileTables) withSpeed(conditions map[string]float64, halvesHz [2]float64) (map[string]float64, error) {
	name := ""
	switch {
	case f.src.In.Tachometer != nil:
		name = "rpm_measured"
	case f.src.DSP.Track != nil:
		name = "rpm_tracked"
	}

	if name == "" || halvesHz == [2]float64{} {
		return conditions, nil
	}

	out := maps.Clone(conditions)
	out[name] = 30 * (halvesHz[0] + halvesHz[1])
	if err := f.src.Derive.AddConditions(out); err != nil {
		return nil, &fault.Error{Want: "a finite number", Found: err.Error()}
	}

	return out, nil
}

// tachometer reads the pulses of a run, in samples from its beginning.
func (f *fileTables) tachometer(ctx context.Context, rd ingest.Reader, res *ingeststage.FileResult,
	run ingeststage.RunResult, start, samples int64,
) (*dsp.Pulses, error) {
	t := f.src.In.Tachometer
	c, err := ingest.FindChannel(res.Info, t.Channel)
	if err != nil {
		return nil, err
	}

	for _, r := range run.Run.Recordings {
		ch := res.Info.Channels[r.Channels[0]]
		if r.Channels[0] == c {
			return nil, &fault.Error{
				Path: res.Path, Place: "channel " + ch.Name, Want: "a microphone",
				Found: "the tachometer", Hint: "leave it out of channels",
			}
		}

		if tacho := res.Info.Channels[c]; tacho.Samples != ch.Samples || tacho.RateHz != ch.RateHz {
			return nil, &fault.Error{
				Path: res.Path, Place: "channel " + tacho.Name,
				Want:  fmt.Sprintf("a tachometer sampled as the microphones are, %d samples at %g Hz", ch.Samples, ch.RateHz),
				Found: fmt.Sprintf("%d at %g Hz", tacho.Samples, tacho.RateHz),
			}
		}
	}

	o := dsp.Tachometer{Channel: c, PulsesPerRev: t.PulsesPerRev, Falling: t.Edge == "falling", Threshold: math.NaN()}
	if t.Threshold != nil {
		o.Threshold = *t.Threshold
	}

	return dsp.FindPulses(ctx, rd, start, samples, o)
}

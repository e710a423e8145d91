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
func (f *fileTables) withSpeed(rec ingest.Recording, halvesHz [2]float64) map[string]float64 {
	name := ""
	switch {
	case f.src.In.Tachometer != nil:
		name = "rpm_measured"
	case f.src.DSP.Track != nil:
		name = "rpm_tracked"
	}

	if name == "" || halvesHz == [2]float64{} {
		return rec.Conditions
	}

	out := maps.Clone(rec.Conditions)
	out[name] = 30 * (halvesHz[0] + halvesHz[1])
	if err := f.src.Derive.AddConditions(out, rec.Labels); err != nil {
		fault.Raise(&fault.Error{Want: "a finite number", Found: err.Error()})
	}

	return out
}

// tachometer reads the pulses of a run, in samples from its beginning.
func (f *fileTables) tachometer(ctx context.Context, run ingeststage.RunResult, start, samples int64) *dsp.Pulses {
	res := f.res
	t := f.src.In.Tachometer
	c := fault.Get(ingest.FindChannel(res.Info, t.Channel))
	for _, r := range run.Run.Recordings {
		ch, tacho := res.Info.Channels[r.Channels[0]], res.Info.Channels[c]
		fault.Unless(r.Channels[0] != c,
			fault.At(res.Path, "channel "+ch.Name, "a microphone", "the tachometer", "leave it out of channels"))
		fault.Unless(tacho.Samples == ch.Samples && tacho.RateHz == ch.RateHz, fault.At(res.Path, "channel "+tacho.Name,
			fmt.Sprintf("a tachometer sampled as the microphones are, %d samples at %g Hz", ch.Samples, ch.RateHz),
			fmt.Sprintf("%d at %g Hz", tacho.Samples, tacho.RateHz), ""))
	}

	o := dsp.Tachometer{Channel: c, PulsesPerRev: t.PulsesPerRev, Falling: t.Edge == "falling", Threshold: math.NaN()}
	if t.Threshold != nil {
		o.Threshold = *t.Threshold
	}

	return fault.Get(dsp.FindPulses(ctx, f.rd, start, samples, o))
}

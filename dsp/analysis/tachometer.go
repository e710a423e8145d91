package analysis

import (
	"context"
	"fmt"
	"maps"
	"math"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
)

// withSpeed returns the conditions of a recording. If the shaft speed was measured, it adds the speed and the
// conditions that are derived from it: rpm_measured if a tachometer measured the speed, rpm_tracked if it was found in
// the sound. halvesHz is the speed in each half of the recording; 0 in both halves means that it is not known.
func (r *Rows) withSpeed(rec ingest.Recording, halvesHz [2]float64) (map[string]float64, error) {
	name := ""
	switch {
	case r.source.Settings.Tachometer != nil:
		name = "rpm_measured"
	case r.source.DSP.Track != nil:
		name = "rpm_tracked"
	}

	isKnown := halvesHz[0] != 0 || halvesHz[1] != 0
	if name == "" || !isKnown {
		return rec.Conditions, nil
	}

	conditions := map[string]float64{}
	maps.Copy(conditions, rec.Conditions) // which is nil if the recording has none
	meanHz := (halvesHz[0] + halvesHz[1]) / 2
	conditions[name] = 60 * meanHz
	if err := r.source.Derive.AddConditions(conditions, rec.Labels); err != nil {
		return nil, &fault.Error{Want: "a finite number", Found: err.Error()}
	}

	return conditions, nil
}

// tachometer finds the pulses of the tachometer in a run. start is the first sample of the run, samples its length.
func (r *Rows) tachometer(ctx context.Context, run recording.Run, start, samples int64) (*dsp.Pulses,
	error,
) {
	file := r.file
	t := r.source.Settings.Tachometer
	k, err := ingest.FindChannel(file.Info, t.Channel)
	if err != nil {
		return nil, err
	}

	tacho := file.Info.Channels[k]
	for _, rec := range run.Run.Recordings {
		ch := file.Info.Channels[rec.Channels[0]]
		if rec.Channels[0] == k {
			return nil, fault.At(file.Path, "channel "+ch.Name, "a microphone", "the tachometer", "leave it out of channels")
		}

		if tacho.Samples != ch.Samples || tacho.RateHz != ch.RateHz {
			return nil, fault.At(file.Path, "channel "+tacho.Name,
				fmt.Sprintf("a tachometer sampled as the microphones are, %d samples at %g Hz", ch.Samples, ch.RateHz),
				fmt.Sprintf("%d at %g Hz", tacho.Samples, tacho.RateHz), "")
		}
	}

	o := dsp.Tachometer{Channel: k, PulsesPerRev: t.PulsesPerRev, Falling: t.Edge == "falling", Threshold: math.NaN()}
	if t.Threshold != nil {
		o.Threshold = *t.Threshold
	}

	return dsp.FindPulses(ctx, r.rd, start, samples, o)
}

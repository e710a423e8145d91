package ingeststage

import (
	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/stages/plan"
)

// NewRun describes a run for the experiment's construction. samples is its
// length, scale and units are those of its channels after calibration.
func NewRun(b *plan.Builder, info ingest.Info, run ingest.Run, samples int64, scale []float64,
	units []string,
) *dsp.Run {
	d := &b.Exp.DSP
	r := &dsp.Run{
		RateHz: info.Channels[run.Recordings[0].Channels[0]].RateHz, Start: run.Row0, Samples: samples,
		Seed: plan.SeedOf(d.Seed, b.Construction.Describe().Name, run.ID), Settings: &d.Settings,
	}
	if _, spectra := b.Construction.(dsp.OfSpectra); spectra {
		for i, rec := range run.Recordings {
			r.Microphones = append(r.Microphones, dsp.Microphone{
				Channel: rec.Channels[0], Scale: scale[i], Unit: units[i], Conditions: rec.Conditions,
			})
		}
	}
	return r
}

// Package analysis reads the recordings of a campaign and computes rows of pairs from them. A Reader opens one file,
// assembles its runs, calibrates its channels and computes their statistics. Rows takes what a Reader returned and asks
// the construction for the pairs of each run. The caller decides when a file is read, and keeps the results: this
// package does not know tasks or configurations.
package analysis

import (
	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/table"
)

// Source says how the recordings of a campaign are read, and how pairs are made from them.
type Source struct {
	campaign.Source // how files become runs with conditions

	Construction dsp.Construction // how pairs are made
	DSP          *dsp.Settings    // settings of the construction
	Balance      *balance.Balance // how columns become outcomes; nil for microphones
	Options      ingest.Options   // how files are opened

	// Seed returns the seed of the random numbers that the construction draws for the run with an ID. Without Seed all
	// runs have the seed 0.
	Seed func(run string) uint64

	// ChannelsListed reports whether the channels used are the channels with a row in the table of microphones.
	ChannelsListed bool

	Conditions []string // conditions of the tables, for messages
	// Cells appends the first cells of a row to a table: the run, the recording, its conditions and its names.
	Cells func(tab *table.Table, run string, rec ingest.Recording)
}

// Run describes a run for the construction. samples is the run's length; scale and units are the factors and units of
// its channels after calibration.
func (s *Source) Run(info ingest.Info, run ingest.Run, samples int64, scale []float64, units []string) *dsp.Run {
	described := &dsp.Run{
		RateHz: info.Channels[run.Recordings[0].Channels[0]].RateHz, Start: run.Row0, Samples: samples, Settings: s.DSP,
	}

	if s.Seed != nil {
		described.Seed = s.Seed(run.ID)
	}

	if _, spectra := s.Construction.(dsp.OfSpectra); spectra {
		for i, rec := range run.Recordings {
			described.Microphones = append(described.Microphones, dsp.Microphone{
				Channel: rec.Channels[0], Scale: scale[i], Unit: units[i], Conditions: rec.Conditions,
			})
		}
	}

	return described
}

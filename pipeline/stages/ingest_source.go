package stages

import (
	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/dsp/balance"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// Source describes how the recordings of an experiment are read and how pairs are made from them.
type Source struct {
	pairs.Columns                        // columns of the tables
	Ingest        setting.Campaign       // settings, completed by facts about the campaign
	DSP           config.DSP             // settings of the construction
	Construction  dsp.Construction       // how pairs are made
	inventory     *campaign.Inventory    // what is known of the campaign before its files are opened
	Grouping      campaign.Grouping      // how the channels of a file become recordings
	Options       ingest.Options         // how files are opened
	Reader        []kv.Pair              // the program that reads the files, as a part of tasks' keys
	Settings      []kv.Pair              // settings that are part of the key of a file's task
	Calibrator    *engine.Dep            // the sensitivities by the calibrator; nil without a calibrator
	Convert       map[string]units.Named // conversions of conditions that come from no table
	Balance       *balance.Balance       // how columns become outcomes; nil for microphones
}

// analysis returns how the files are read and analysed.
func (s *Source) analysis() *analysis.Source {
	name := s.Construction.Describe().Name
	return &analysis.Source{
		Source: *s.campaign(), Construction: s.Construction, DSP: &s.DSP.Settings, Balance: s.Balance, Options: s.Options,
		ChannelsListed: s.inventory.ChannelsListed, Conditions: s.Conditions, Cells: s.Cells,
		Seed: func(run string) uint64 { return plan.SeedOf(s.DSP.Seed, name, run) },
	}
}

// campaign returns how the files become runs with conditions.
func (s *Source) campaign() *campaign.Source {
	return &campaign.Source{
		Settings: &s.Ingest, Roles: s.inventory.Roles, Grouping: s.Grouping, Labels: s.Labels, Convert: s.Convert,
		Derive: s.Derive,
	}
}

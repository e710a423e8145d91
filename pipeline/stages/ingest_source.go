package stages

import (
	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/report/pairs"
)

// Source describes how the recordings of an experiment are read and how pairs are made from them.
type Source struct {
	pairs.Columns                     // columns of the tables
	Ingest        setting.Campaign    // settings, completed by facts about the campaign
	DSP           config.DSP          // settings of the construction
	Construction  dsp.Construction    // how pairs are made
	reading       *analysis.Source    // how the files are read and analysed
	inventory     *campaign.Inventory // what is known of the campaign before its files are opened
	Reader        []kv.Pair           // the program that reads the files, as a part of tasks' keys
	Settings      []kv.Pair           // settings that are part of the key of a file's task
	Calibrator    *engine.Dep         // the sensitivities by the calibrator; nil without a calibrator
}

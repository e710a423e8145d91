package plan

import (
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// Builder is what the stages train and report are given.
type Builder struct {
	Experiment
	Columns
	Exp       *config.Experiment // the settings, completed by the stages
	Plan      *engine.Plan
	Stage     string           // that is being planned
	Extra     []config.Split   // splits asked for on the command line
	ExtraFits []bool           // train: which of Extra apply to this experiment
	Warnings  []ingest.Warning // found while planning

	Campaign     simulate.Campaign      // simulate: the campaign
	Construction dsp.Construction       // ingest: how pairs are made; nil for a table of pairs
	Pairs        string                 // ingest: the kind of pairs
	Source       *Source                // ingest: how recordings are read; nil for a table of pairs
	Raw          []RawFile              // ingest: the raw files
	PerFile      []*campaign.Conditions // ingest: the rows of the table about each of them
	Background   *engine.Dep            // dsp: contents of the background's recordings; nil without
	Known        []map[string]float64   // ingest: condition values known before any file is read
	Recordings   []engine.Dep           // ingest: results per file
	Table        *PairTable             // ingest: a table of pairs, of the user's
}

// PairKind returns the kind of the experiment's pairs.
func (b *Builder) PairKind() string { return PairKind(b.Experiment, b.Construction) }

// Owns reports whether a task is the experiment's, perhaps with other variants.
func (b *Builder) Owns(t *engine.Task) bool {
	return t.Experiment == b.Exp.Name || slices.Contains(t.Shared, b.Exp.Name)
}

// Published is the path below workdir at which a result of the stage that is being
// planned appears.
func (b *Builder) Published(parts ...string) string { return b.Experiment.Published(b.Stage, parts...) }

package app

import (
	"errors"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/pipeline"
	"doubletake/train/baseline"
)

// Extensions are the parts that a program of one's own adds to this one. Configurations
// name them like the parts of this program: pipeline.yaml, its schema and
// all messages know them. A name that is taken is an error.
type Extensions struct {
	Formats       []ingest.Format       // readers of raw files: ingest: {format: NAME}, or by their first bytes
	Outcomes      []dsp.SpectralOutcome // of microphones: dsp: {outcomes: [NAME]}
	Constructions []dsp.Construction    // of the outcomes y1 and y2: dsp: {triplets: NAME}
	Methods       []baseline.Info       // to compare with: train: {compare: [NAME]}
	Executors     []pipeline.Executor   // of tasks outside of this process: pipeline run --executor NAME
}

// register registers the extensions with the packages that look them up by name. It is called before anything is read.
func (e Extensions) register() error {
	return errors.Join(format.Register(e.Formats...), dsp.RegisterOutcomes(e.Outcomes...),
		dsp.RegisterConstructions(e.Constructions...), baseline.Register(e.Methods...),
		pipeline.RegisterExecutors(e.Executors...))
}

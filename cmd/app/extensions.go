package app

import (
	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/train/baseline"
)

// Extensions are what a program of one's own has in addition to this one. Configurations
// name them as they name what the program has: pipeline.yaml, its schema, the completion
// and all messages know them. A name that is taken is an error.
type Extensions struct {
	Formats []ingest.Format // readers of raw files: ingest: {format: NAME}, or by their first bytes
	Methods []baseline.Info // to compare with: train: {compare: [NAME]}
}

// register hands the extensions to the packages that know them by name, before anything
// is read.
func (e Extensions) register() error {
	if err := format.Register(e.Formats...); err != nil {
		return err
	}

	return baseline.Register(e.Methods...)
}

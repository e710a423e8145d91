package stages

import (
	"context"

	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// checkFiles opens the files of an experiment, reads their headers and assembles their runs. It finds missing columns
// and channels, units that cannot be used, recordings of one run that no condition tells apart, rates that differ or
// are in another unit, and runs that the construction cannot analyse, for instance because they are too short.
//
// checkFiles reads a table of pairs and the recordings of a calibrator whole, and few samples of most other files
// (analysis.Source.CheckFiles). It returns r with the conditions of all recordings that it could read, or of the pairs
// of the table.
func checkFiles(ctx context.Context, exp plan.Experiment, r ingestResult) (ingestResult, []ingest.Warning, error) {
	if r.Pairs != nil && r.Pairs.Toy == nil {
		warnings, err := r.checkTable(exp)
		return r, warnings, err
	}

	if r.Recordings == nil || r.Recordings.written != nil {
		return r, nil, nil
	}

	chain, err := r.Recordings.measureChain(ctx, exp)
	if err != nil {
		return r, nil, err
	}

	var readers []*analysis.Reader
	for i := range r.Recordings.Files {
		file := &r.Recordings.Files[i]
		readers = append(readers, &analysis.Reader{
			Source: r.Recordings.Reading, Chain: chain, Name: file.Name, Facts: &file.Facts, Path: file.raw.File.Open,
		})
	}

	read, err := r.Recordings.Reading.CheckFiles(ctx, readers)
	r.Known = read.Conditions()
	if err != nil {
		return r, read.Warnings, err
	}

	err = r.moveToSetPoints()

	return r, read.Warnings, err
}

// checkTable reads a table of pairs, checks its outcomes, and stores its conditions and set points. It returns the
// warnings.
func (r *ingestResult) checkTable(exp plan.Experiment) ([]ingest.Warning, error) {
	read, err := pairs.CheckResults(&r.Pairs.ResultTable, len(exp.Train.Splits) > 0, exp.Train.Outcomes)
	if err != nil {
		return nil, err
	}

	r.Known = read.Conditions()

	return read.Warnings, r.moveToSetPoints()
}

package stages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"doubletake/dsp/analysis"
	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/recording"
	"doubletake/internal/parallel"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
)

// checkFiles opens the files of an experiment, reads their headers and assembles their runs. It finds missing columns
// and channels, units that cannot be used, recordings of one run that no condition tells apart, rates that differ or
// are in another unit, and runs that the construction cannot analyse, for instance because they are too short.
//
// checkFiles reads a table of pairs and the recordings of a calibrator whole. It also reads all samples of the first
// files, up to maxScanned bytes, if their samples may not be numbers. It reads the first and the last second of any
// other file.
//
// checkFiles returns r with the conditions of all recordings that it could read, or of the pairs of the table. The
// error joins the errors of at most maxFaults files.
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

	n := len(r.Recordings.Files)
	scanned := r.Recordings.scannedFiles()
	files := make([]*FileResult, n)
	errs := make([]error, n)
	parallel.Do(runtime.GOMAXPROCS(0), n, func(i int) {
		files[i], errs[i] = r.Recordings.checkFile(ctx, i, i < scanned, chain)
	})

	warnings, err := r.gather(files, errs)
	if err != nil {
		return r, warnings, err
	}

	err = r.moveToSetPoints()

	return r, warnings, err
}

// checkTable reads a table of pairs, checks its outcomes, and stores its conditions and set points. It returns the
// warnings.
func (r *ingestResult) checkTable(exp plan.Experiment) ([]ingest.Warning, error) {
	pairTable, err := r.Pairs.Read()
	if err != nil {
		return nil, err
	}

	warnings := pairTable.Warnings
	if len(exp.Train.Splits) > 0 {
		constant, err := pairs.WarnConstant(r.Pairs.Files[0].Name, pairTable, exp.Train.Outcomes)
		if err != nil {
			return nil, err
		}

		warnings = append(warnings, constant...)
	}

	r.Known = pairTable.Conditions()
	if err := r.moveToSetPoints(); err != nil {
		return nil, err
	}

	return warnings, nil
}

// checkFile checks file i as its task would read it. It reads all samples if whole is true, and few otherwise.
func (r *Recordings) checkFile(ctx context.Context, i int, whole bool, chain *calibration.Chain) (*FileResult,
	error,
) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	file := &r.Files[i]
	reader := &analysis.Reader{
		Source: r.analysis(), Chain: chain, Name: file.Name, Facts: &file.Facts, Path: file.raw.File.Open,
	}

	return reader.Check(ctx, whole)
}

// maxFaults is the largest number of bad files that checkFiles names.
const maxFaults = 10

// gather stores the conditions of all recordings and returns the warnings about the files. It returns the first warning
// of each code, with the number of files that have one. The error joins the errors of the first maxFaults bad files and
// counts the others.
func (r *ingestResult) gather(files []*FileResult, errs []error) ([]ingest.Warning, error) {
	rec := r.Recordings
	var warnings []ingest.Warning
	var faults []error
	var readable []*FileResult   // files without error
	affected := map[string]int{} // number of files by the code of a warning
	for i, res := range files {
		if isBadRecording(rec.Source, errs[i]) {
			warnings = append(warnings, ingest.Warn(rec.Files[i].Name, "", "it will be left out: %v", errs[i]))
			continue
		}

		if errs[i] != nil {
			faults = append(faults, errs[i])
			continue
		}

		readable = append(readable, res)
		for _, warning := range recording.FirstOfCodes(res.Warnings) {
			affected[warning.Code]++
			if affected[warning.Code] == 1 {
				warnings = append(warnings, warning)
			}
		}
	}

	for k, warning := range warnings {
		if n := affected[warning.Code]; n > 0 {
			warnings[k].Text += fmt.Sprintf(" (in %d of %d files)", n, len(files))
		}
	}

	if n := len(faults) - maxFaults; n > 0 {
		faults = append(faults[:maxFaults], fmt.Errorf("and %d more files", n))
	}

	read := campaign.Campaign{Files: readable}
	r.Known = read.Conditions()
	warnings = append(warnings, read.Check()...)

	return warnings, errors.Join(faults...)
}

// maxScanned bounds the bytes of an experiment's files whose samples checkFiles reads to find samples that are not
// numbers.
const maxScanned = 256 << 20

// scannedFiles returns how many files have all their samples read: the first ones, up to maxScanned bytes.
func (r *Recordings) scannedFiles() int {
	total := int64(0)
	for i, file := range r.Files {
		if fi, err := os.Stat(file.raw.File.Open); err == nil {
			total += fi.Size()
		}

		if total > maxScanned {
			return i
		}
	}

	return len(r.Files)
}

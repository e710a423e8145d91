package stages

import (
	"context"

	"doubletake/dsp/analysis"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
)

// fileRun is the work of the task of one file.
type fileRun struct {
	src        *Source
	file       *File
	background *engine.Dep // a Background; nil without recordings of the background
	spectra    bool        // the construction computes spectra
}

// run computes the rows of the file and writes the outputs of its task.
func (r fileRun) run(ctx context.Context, job *engine.Job) error {
	tables, notes, err := r.rows(ctx, job)
	if err != nil {
		return err
	}

	if err := taskfile.WriteTable(job, tripletsArrow, tables.Triplets); err != nil {
		return err
	}

	if r.spectra {
		if err := taskfile.WriteTable(job, spectraArrow, tables.Spectra); err != nil {
			return err
		}
	}

	return taskfile.WriteJSON(job, notesJSON, notes)
}

// rows computes the rows of the file. It returns empty tables and the reason in the notes if stage ingest skipped the
// file, or if the file turns out to be bad and the configuration says to go on without it.
func (r fileRun) rows(ctx context.Context, job *engine.Job) (*analysis.Rows, *analysis.FileNotes, error) {
	source := r.src.Reading
	tables := analysis.NewRows(source)
	tables.Loads = source.Loads(r.file.File, r.src.inventory.Project)

	var res *FileResult
	if kept, ok := r.file.Kept.Get(job); ok {
		tables.Kept = kept
		res = kept.Found
	} else if err := taskfile.ReadJSON(job.Input(r.file.Result.Task, r.file.Result.Output), &res); err != nil {
		return nil, nil, err
	}

	if r.background != nil {
		var err error
		tables.Background, err = readBackground(job.Input(r.background.Task, r.background.Output))
		if err != nil {
			return nil, nil, err
		}
	}

	notes := &analysis.FileNotes{Skipped: res.Skipped}
	if res.Skipped != nil {
		return tables, notes, nil
	}

	err := tables.AddFile(ctx, res, r.file.raw.Path(job), notes)
	if source.Skips(err) {
		skipped := &Skipped{Path: r.file.Name, Reason: err.Error()}
		return analysis.NewRows(source), &analysis.FileNotes{Skipped: skipped}, nil
	}

	if err != nil {
		return nil, nil, err
	}

	return tables, notes, nil
}

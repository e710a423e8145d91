package analysis

import (
	"context"
	"fmt"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/background"
	"doubletake/dsp/balance"
	"doubletake/dsp/pairtable"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/table"
)

// Rows collects the rows of one file in tables.
type Rows struct {
	*pairtable.Table

	Loads      *balance.Loads         // nil for microphones
	Background *background.Background // nil without recordings of the background
	Kept       *Kept                  // what a Reader kept of the file; nil if there is nothing

	source *Source
	rd     ingest.Reader // the open file
	file   *recording.File
}

// NewRows returns empty tables of a file of the source.
func NewRows(source *Source) *Rows {
	return &Rows{source: source, Table: &pairtable.Table{
		Triplets: &table.Table{}, Spectra: &table.Table{}, Cells: source.Cells, Derive: source.Derive,
		Conditions: source.Conditions,
	}}
}

// AddFile computes the rows of all runs of a file, and adds the notes about them. file is what a Reader returned, and
// path opens it.
func (r *Rows) AddFile(ctx context.Context, file *recording.File, path string, notes *FileNotes) error {
	r.file = file
	rd, err := format.Open(path, r.source.Options.In(ctx, file.Path))
	if err != nil {
		return fault.Named(err, file.Path)
	}
	defer rd.Close()

	r.rd = rd
	for _, run := range file.Runs {
		note := RunNote{Run: run.Run.ID}
		if err := r.addRun(ctx, run, &note, notes); err != nil {
			return fault.Named(fault.Placed(err, file.Path, run.Run.Place), file.Path)
		}

		notes.Notes = append(notes.Notes, note)
	}

	return nil
}

// addRun computes the rows of a run. It returns an error if the construction takes neither spectra nor series.
func (r *Rows) addRun(ctx context.Context, run recording.Run, note *RunNote, notes *FileNotes) error {
	switch c := r.source.Construction.(type) {
	case dsp.OfSpectra:
		return r.spectraRun(ctx, c, run, note)
	case dsp.OfSeries:
		return r.seriesRun(ctx, c, run, note, notes)
	default:
		return fmt.Errorf("expected a construction of spectra or of series, found a %T", c)
	}
}

// describe describes a run of microphones for the construction, with the background of its channels and the pulses of
// its tachometer. It returns an error if the background lacks a channel, or if the pulses cannot be found.
func (r *Rows) describe(ctx context.Context, run recording.Run) (*dsp.Run, error) {
	described := r.source.Run(r.file.Info, run.Run, run.Stats[0].Samples, run.Scale, run.Units)
	described.Subtract = r.source.Settings.Background != nil && r.source.Settings.Background.Subtract
	if r.Background != nil {
		for i, rec := range run.Run.Recordings {
			name := r.file.Info.Channels[rec.Channels[0]].Name
			background, err := r.Background.Recordings(name, run.Units[i], r.file.Path)
			if err != nil {
				return nil, err
			}

			described.Microphones[i].Background = background
		}
	}

	if r.source.Settings.Tachometer != nil {
		pulses, err := r.tachometer(ctx, run, described.Start, described.Samples)
		if err != nil {
			return nil, err
		}

		described.Pulses = pulses
	}

	return described, nil
}

// spectraRun computes the rows of a run of microphones.
func (r *Rows) spectraRun(ctx context.Context, c dsp.OfSpectra, run recording.Run, note *RunNote) error {
	described, err := r.describe(ctx, run)
	if err != nil {
		return err
	}

	recs := slices.Clone(run.Run.Recordings)
	var names []string
	for _, rec := range recs {
		names = append(names, "channel "+r.file.Info.Channels[rec.Channels[0]].Name)
	}

	segments, err := c.Spectra(described)
	if err != nil {
		return err
	}

	an, giveBack, err := r.analyser(ctx, segments)
	if err != nil {
		return err
	}
	defer giveBack() // the spectra of the pairs are parts of it

	pairs, err := c.Pairs(ctx, r.rd, described, an)
	if err != nil {
		return err
	}

	note.add(pairs, names)
	for i := range recs {
		recs[i].Conditions, err = r.withSpeed(recs[i], pairs.ShaftHz)
		if err != nil {
			return err
		}
	}

	for _, s := range pairs.Spectra {
		r.AddSpectrum(run.Run.ID, recs[s.Recording], run.Units[s.Recording], pairs.BinHz, s)
	}

	return r.Add(pairs, run.Run.ID, recs)
}

// analyser returns an analyser that has loaded segments, and a function that the caller must call when it is done. It
// takes the analyser that the Reader kept if that has loaded the segments, and otherwise an idle one.
func (r *Rows) analyser(ctx context.Context, segments *dsp.Segments) (*dsp.Analyser, func(), error) {
	if an := r.Kept.Spectra(segments); an != nil {
		return an, func() {}, nil // r.Kept returns it to the idle ones
	}

	an := BorrowAnalyser()
	giveBack := func() { ReturnAnalyser(an) }
	if err := an.Load(ctx, r.rd, segments); err != nil {
		giveBack()
		return nil, nil, err
	}

	return an, giveBack, nil
}

// seriesRun computes the rows of a run of a balance.
func (r *Rows) seriesRun(ctx context.Context, c dsp.OfSeries, run recording.Run, note *RunNote,
	notes *FileNotes,
) error {
	rec := run.Run.Recordings[0]
	samples := run.Stats[0].Samples
	columns := r.Kept.Series(run.Run.ID)
	if columns == nil {
		var err error
		columns, err = recording.ReadColumns(ctx, r.rd, rec.Channels, run.Run.Row0, samples)
		if err != nil {
			return err
		}
	}

	series, warnings, err := r.Loads.Series(ctx, r.file, rec, columns)
	notes.Warnings = append(notes.Warnings, warnings...)
	if err != nil {
		return err
	}

	pairs, err := c.Pairs(r.source.Run(r.file.Info, run.Run, samples, nil, nil), series)
	if err != nil {
		return err
	}

	var names []string
	for _, s := range series {
		names = append(names, s.Name)
	}

	note.add(pairs, names)

	return r.Add(pairs, run.Run.ID, run.Run.Recordings)
}

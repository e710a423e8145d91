package stages

import (
	"context"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/dsp/pairtable"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/table"
)

// fileTables collects the rows of one file.
type fileTables struct {
	*pairtable.Table

	src        *Source
	loads      *balance.Loads // nil for microphones
	background *Background    // nil without recordings of the background
	reading    *Reading       // results of stage ingest in memory; nil if there are none

	rd  ingest.Reader // the open file
	res *FileResult
}

// newFileTables returns empty tables of a file of the source.
func newFileTables(src *Source) *fileTables {
	return &fileTables{src: src, Table: &pairtable.Table{
		Triplets: &table.Table{}, Spectra: &table.Table{}, Cells: src.Cells, Derive: src.Derive, Conditions: src.Conditions,
	}}
}

// file computes the rows of all runs of a file, and adds the notes about them.
func (f *fileTables) file(ctx context.Context, res *FileResult, path string, notes *FileNotes) error {
	f.res = res
	rd, err := format.Open(path, f.src.Options.In(ctx, res.Path))
	if err != nil {
		return fault.Named(err, res.Path)
	}
	defer rd.Close()

	f.rd = rd
	for _, run := range res.Runs {
		note := RunNote{Run: run.Run.ID}
		var err error
		switch c := f.src.Construction.(type) {
		case dsp.OfSpectra:
			err = f.spectraRun(ctx, c, run, &note)
		case dsp.OfSeries:
			err = f.seriesRun(ctx, c, run, &note, notes)
		}

		if err != nil {
			return fault.Named(fault.Placed(err, res.Path, run.Run.Place), res.Path)
		}

		notes.Notes = append(notes.Notes, note)
	}

	return nil
}

// spectraRun computes the rows of a run of microphones.
func (f *fileTables) spectraRun(ctx context.Context, c dsp.OfSpectra, run RunResult, note *RunNote) error {
	r := newRun(f.src, f.res.Info, run.Run, run.Stats[0].Samples, run.Scale, run.Units)
	r.Subtract = f.src.Ingest.Background != nil && f.src.Ingest.Background.Subtract
	recs := slices.Clone(run.Run.Recordings)
	var names []string
	for i, rec := range recs {
		name := f.res.Info.Channels[rec.Channels[0]].Name
		names = append(names, "channel "+name)
		if f.background == nil {
			continue
		}

		background, err := f.background.Recordings(name, run.Units[i], f.res.Path)
		if err != nil {
			return err
		}

		r.Microphones[i].Background = background
	}

	if f.src.Ingest.Tachometer != nil {
		pulses, err := f.tachometer(ctx, run, r.Start, r.Samples)
		if err != nil {
			return err
		}

		r.Pulses = pulses
	}

	segments, err := c.Spectra(r)
	if err != nil {
		return err
	}

	an, giveBack, err := f.analyser(ctx, segments)
	if err != nil {
		return err
	}
	defer giveBack() // the spectra of the pairs are parts of it

	pairs, err := c.Pairs(ctx, f.rd, r, an)
	if err != nil {
		return err
	}

	note.add(pairs, names)
	for i := range recs {
		recs[i].Conditions, err = f.withSpeed(recs[i], pairs.ShaftHz)
		if err != nil {
			return err
		}
	}

	for _, s := range pairs.Spectra {
		f.AddSpectrum(run.Run.ID, recs[s.Recording], run.Units[s.Recording], pairs.BinHz, s)
	}

	return f.Add(pairs, run.Run.ID, recs)
}

// analyser returns an analyser that has loaded segments, and a function that the caller must call when it is done. It
// takes the analyser of stage ingest if that has loaded the segments, and otherwise an idle one.
func (f *fileTables) analyser(ctx context.Context, segments *dsp.Segments) (*dsp.Analyser, func(), error) {
	if an := f.reading.Spectra(segments); an != nil {
		return an, func() {}, nil // f.reading returns it to the idle ones
	}

	an := borrowAnalyser()
	giveBack := func() { returnAnalyser(an) }
	if err := an.Load(ctx, f.rd, segments); err != nil {
		giveBack()
		return nil, nil, err
	}

	return an, giveBack, nil
}

// seriesRun computes the rows of a run of a balance.
func (f *fileTables) seriesRun(ctx context.Context, c dsp.OfSeries, run RunResult, note *RunNote,
	notes *FileNotes,
) error {
	rec := run.Run.Recordings[0]
	samples := run.Stats[0].Samples
	columns := f.reading.Series(run.Run.ID)
	if columns == nil {
		var err error
		columns, err = recording.ReadColumns(ctx, f.rd, rec.Channels, run.Run.Row0, samples)
		if err != nil {
			return err
		}
	}

	series, warnings, err := f.loads.Series(ctx, f.res, rec, columns)
	notes.Warnings = append(notes.Warnings, warnings...)
	if err != nil {
		return err
	}

	pairs, err := c.Pairs(newRun(f.src, f.res.Info, run.Run, samples, nil, nil), series)
	if err != nil {
		return err
	}

	var names []string
	for _, s := range series {
		names = append(names, s.Name)
	}

	note.add(pairs, names)

	return f.Add(pairs, run.Run.ID, run.Run.Recordings)
}

// add copies the counts and flags of a run. names are the names of its recordings or series; if there are several, add
// puts the name in front of a flag's text.
func (n *RunNote) add(pairs *dsp.Pairs, names []string) {
	n.Dropped = pairs.Dropped
	n.Bounds = pairs.Bounds
	n.Levels = pairs.Levels
	n.Near = pairs.Near
	for _, flag := range pairs.Flags {
		if flag.Channel >= 0 && len(names) > 1 {
			flag.Text = names[flag.Channel] + ": " + flag.Text
		}
		n.Flags = append(n.Flags, flag)
	}
}

package dspstage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/table"
	"doubletake/ingest/units"
	"doubletake/pipeline/stages/ingeststage"
)

// fileTables collects the rows of one file.
type fileTables struct {
	src        *ingeststage.Source
	loads      *balance.Loads       // nil for microphones
	background *Background          // nil without recordings of the background
	reading    *ingeststage.Reading // results of stage ingest in memory; nil if there are none
	names      []string             // names of the outcomes, which all runs must have
	triplets   *table.Table
	spectra    *table.Table

	rd  ingest.Reader // the open file
	res *ingeststage.FileResult
}

// newFileTables returns empty tables of a file of the source.
func newFileTables(src *ingeststage.Source) *fileTables {
	return &fileTables{src: src, triplets: &table.Table{}, spectra: &table.Table{}}
}

// file computes the rows of all runs of a file, and adds the notes about them.
func (f *fileTables) file(ctx context.Context, res *ingeststage.FileResult, path string, notes *FileNotes) error {
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
func (f *fileTables) spectraRun(ctx context.Context, c dsp.OfSpectra, run ingeststage.RunResult, note *RunNote) error {
	r := ingeststage.NewRun(f.src, f.res.Info, run.Run, run.Stats[0].Samples, run.Scale, run.Units)
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
		f.spectrum(run.Run.ID, recs[s.Recording], run.Units[s.Recording], pairs.BinHz, s)
	}

	return f.rows(pairs, run.Run.ID, recs)
}

// analyser returns an analyser that has loaded segments, and a function that the caller must call when it is done. It
// takes the analyser of stage ingest if that has loaded the segments, and otherwise an idle one.
func (f *fileTables) analyser(ctx context.Context, segments *dsp.Segments) (*dsp.Analyser, func(), error) {
	if an := f.reading.Spectra(segments); an != nil {
		return an, func() {}, nil // f.reading returns it to the idle ones
	}

	an := ingeststage.BorrowAnalyser()
	giveBack := func() { ingeststage.ReturnAnalyser(an) }
	if err := an.Load(ctx, f.rd, segments); err != nil {
		giveBack()
		return nil, nil, err
	}

	return an, giveBack, nil
}

// seriesRun computes the rows of a run of a balance.
func (f *fileTables) seriesRun(ctx context.Context, c dsp.OfSeries, run ingeststage.RunResult, note *RunNote,
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

	pairs, err := c.Pairs(ingeststage.NewRun(f.src, f.res.Info, run.Run, samples, nil, nil), series)
	if err != nil {
		return err
	}

	var names []string
	for _, s := range series {
		names = append(names, s.Name)
	}

	note.add(pairs, names)

	return f.rows(pairs, run.Run.ID, run.Run.Recordings)
}

// rows appends the rows of a run.
func (f *fileTables) rows(pairs *dsp.Pairs, run string, recs []ingest.Recording) error {
	if len(pairs.Rows) == 0 {
		return nil
	}

	if err := f.checkOutcomes(pairs); err != nil {
		return err
	}

	for _, row := range pairs.Rows {
		f.src.Cells(f.triplets, run, recs[row.Recording])
	}

	f.outcomes(pairs)

	for _, row := range pairs.Rows {
		rec := recs[row.Recording]
		if err := f.derived(pairs, row, strings.TrimPrefix(rec.ID, run), rec); err != nil {
			return err
		}
	}

	return nil
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

// checkOutcomes returns an error if the outcomes of a run differ from the outcomes of the file's other runs.
func (f *fileTables) checkOutcomes(pairs *dsp.Pairs) error {
	var names []string
	for _, outcome := range pairs.Outcomes {
		names = append(names, outcome.Name)
	}

	if f.names == nil {
		f.names = names
	}

	if !slices.Equal(names, f.names) {
		return fault.At("", "", "the outcomes of the file's other runs, "+strings.Join(f.names, ", "),
			strings.Join(names, ", "), "")
	}

	return nil
}

// outcomes appends the outcomes of a run's rows and their by-products.
func (f *fileTables) outcomes(pairs *dsp.Pairs) {
	for k, outcome := range pairs.Outcomes {
		for h, member := range pairs.Members {
			doc := outcome.Description + member
			if outcome.Note != "" {
				doc += "; " + outcome.Note
			}

			column := f.triplets.Make(fmt.Sprintf("%s_%d", outcome.Name, h+1), outcome.Unit, doc)
			for _, row := range pairs.Rows {
				column.Floats = append(column.Floats, row.Values[k].Y[h])
			}
		}

		for i := range outcome.ByProducts {
			f.byProduct(pairs, k, i)
		}
	}
}

// byProduct appends by-product i of outcome k: for each of the two members of a pair, or once if the pair has one
// value.
func (f *fileTables) byProduct(pairs *dsp.Pairs, k, i int) {
	outcome := pairs.Outcomes[k]
	product := outcome.ByProducts[i]
	for h, member := range pairs.Members {
		name := fmt.Sprintf("%s_%s_%d", outcome.Name, product.Suffix, h+1)
		doc := product.Description + member
		if product.Single {
			name = outcome.Name + "_" + product.Suffix
			doc = product.Description
		}

		column := f.triplets.Make(name, product.Unit, doc)
		for _, row := range pairs.Rows {
			v := row.Values[k].ByProducts[i][h]
			if product.Bool {
				column.Bools = append(column.Bools, v != 0)
			} else {
				column.Floats = append(column.Floats, v)
			}
		}

		if product.Single {
			return
		}
	}
}

// derived appends the derived outcomes of a row. Their first value is computed from y1 alone and the second from y2
// alone, so that they are as independent as the outcomes. channel names the recording in messages.
func (f *fileTables) derived(pairs *dsp.Pairs, row dsp.Row, channel string, rec ingest.Recording) error {
	names := f.src.Derive.Outcomes()
	if len(names) == 0 {
		return nil
	}

	var values [2]map[string]float64
	for h := range values {
		values[h] = maps.Clone(rec.Conditions)
		for k, outcome := range pairs.Outcomes {
			values[h][outcome.Name] = row.Values[k].Y[h]
		}

		if err := f.src.Derive.AddOutcomes(values[h], rec.Labels); err != nil {
			place := strings.TrimSpace(fmt.Sprintf("%s y%d", channel, h+1))
			return fault.At("", place, "a finite number", err.Error(), "")
		}
	}

	for _, name := range names {
		unit := ""
		if u, ok := units.OfName(name); ok {
			unit = u.Text
		}

		for h := range values {
			v, ok := values[h][name]
			if !ok {
				return fault.At("", channel, fmt.Sprintf("the numbers of %s = %s", name, f.src.Derive.Text(name)),
					fmt.Sprintf("conditions %v and outcomes %v", f.src.Conditions, f.names), "")
			}

			doc := strings.TrimPrefix(pairs.Members[h], ", ") + "; derived: " + f.src.Derive.Text(name)
			table.AddCell(f.triplets, fmt.Sprintf("%s_%d", name, h+1), unit, doc, v)
		}
	}

	return nil
}

// spectrum appends the spectra of the two halves of a recording, and the lines and bins that were used.
func (f *fileTables) spectrum(run string, rec ingest.Recording, unit string, binHz float64, s dsp.Spectra) {
	for h, half := range s.Halves {
		f.src.Cells(f.spectra, run, rec)
		table.AddCell(f.spectra, "half", "", "1 or 2", h+1)
		table.AddCell(f.spectra, "bin_hz", "Hz", "spacing of the bins; the first is at 0 Hz", binHz)
		table.AddCell(f.spectra, "shaft_hz", "Hz", "shaft speed used, rev/s", half.ShaftHz)
		table.AddCell(f.spectra, "power", unit+"²", "one-sided power per bin; a sine on a bin reads its mean square",
			half.Spectrum)

		lines := half.Lines
		table.AddCell(f.spectra, "line_hz", "Hz", "harmonics: frequency of the largest bin", lineCells(lines, peakHz))
		table.AddCell(f.spectra, "line_power", unit+"²", "harmonics: mean square", lineCells(lines, linePower))
		table.AddCell(f.spectra, "floor", unit+"²", "harmonics: floor per bin",
			lineCells(lines, func(line dsp.Line) float64 { return line.Floor }))
		table.AddCell(f.spectra, "search_lo", "", "harmonics: first bin searched",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Search[0]) }))
		table.AddCell(f.spectra, "search_hi", "", "harmonics: last bin searched",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Search[1]) }))
		table.AddCell(f.spectra, "band_lo", "", "harmonics: first bin of the line",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Band[0]) }))
		table.AddCell(f.spectra, "band_hi", "", "harmonics: last bin of the line",
			lineCells(lines, func(line dsp.Line) float64 { return float64(line.Band[1]) }))

		orders := half.ShaftOrders
		table.AddCell(f.spectra, "shaft_order", "", "orders of the shaft that are no multiple of the blade count",
			lineCells(orders, func(line dsp.Line) float64 { return float64(line.Order) }))
		table.AddCell(f.spectra, "shaft_order_hz", "Hz", "their frequency", lineCells(orders, peakHz))
		table.AddCell(f.spectra, "shaft_order_power", unit+"²", "their mean square", lineCells(orders, linePower))
	}
}

// peakHz returns the frequency of a line's largest bin.
func peakHz(line dsp.Line) float64 { return line.PeakHz }

// linePower returns the mean square of a line.
func linePower(line dsp.Line) float64 { return line.Power }

// lineCells returns a value of each line.
func lineCells(lines []dsp.Line, value func(line dsp.Line) float64) []float32 {
	var cells []float32
	for _, line := range lines {
		cells = append(cells, float32(value(line)))
	}

	return cells
}

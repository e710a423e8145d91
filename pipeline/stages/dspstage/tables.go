package dspstage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// fileTables collects one file's rows.
type fileTables struct {
	src        *plan.Source
	loads      *Loads
	background *Background          // nil: none was recorded
	reading    *ingeststage.Reading // what the ingest stage left; nil: nothing
	names      []string             // of the outcomes
	trip, spec table.Table

	rd  ingest.Reader // the open file
	res *ingeststage.FileResult
}

func (f *fileTables) file(ctx context.Context, res *ingeststage.FileResult, path string, notes *FileNotes) (err error) {
	defer fault.Catch(&err)
	f.res = res
	f.rd, err = format.Open(path, f.src.Options.In(ctx, res.Path))
	fault.Raise(ingeststage.Named(err, res.Path))
	defer f.rd.Close()

	for _, run := range res.Runs {
		note := RunNote{Run: run.Run.ID}
		err := fault.Try(func() {
			switch c := f.src.Construction.(type) {
			case dsp.OfSpectra:
				f.spectraRun(ctx, c, run, &note)
			case dsp.OfSeries:
				f.seriesRun(ctx, c, run, &note, notes)
			}
		})
		fault.Raise(ingeststage.Named(ingeststage.Placed(err, res.Path, run.Run.Place), res.Path))
		notes.Notes = append(notes.Notes, note)
	}

	return nil
}

// spectraRun makes the rows of a run of microphones.
func (f *fileTables) spectraRun(ctx context.Context, c dsp.OfSpectra, run ingeststage.RunResult, note *RunNote) {
	r := ingeststage.NewRun(f.src, f.res.Info, run.Run, run.Stats[0].Samples, run.Scale, run.Units)
	recs := run.Run.Recordings
	names := make([]string, len(recs))
	for i, rec := range recs {
		name := f.res.Info.Channels[rec.Channels[0]].Name
		names[i] = "channel " + name

		if f.background != nil {
			r.Microphones[i].Background = f.background.Of(name, run.Units[i], f.res.Path)
		}
	}

	if f.src.In.Tachometer != nil {
		r.Pulses = f.tachometer(ctx, run, r.Start, r.Samples)
	}

	load := fault.Get(c.Spectra(r))
	an := f.reading.Spectra(load)
	if an == nil {
		an = ingeststage.BorrowAnalyser()
		defer ingeststage.ReturnAnalyser(an)
		fault.Raise(an.Load(ctx, f.rd, load))
	}

	p := fault.Get(c.Pairs(ctx, f.rd, r, an))
	note.add(p, names)

	recs = slices.Clone(recs)
	for i := range recs {
		recs[i].Conditions = f.withSpeed(recs[i], p.ShaftHz)
	}

	for _, s := range p.Spectra {
		f.spectrum(run.Run.ID, recs[s.Recording], run.Units[s.Recording], p.BinHz, s)
	}

	f.rows(p, run.Run.ID, recs)
}

// seriesRun makes the rows of a run of a balance.
func (f *fileTables) seriesRun(ctx context.Context, c dsp.OfSeries, run ingeststage.RunResult, note *RunNote,
	notes *FileNotes,
) {
	rec := run.Run.Recordings[0]
	samples := run.Stats[0].Samples
	chans := f.reading.Series(run.Run.ID)
	if chans == nil {
		chans = fault.Get(ingeststage.ReadColumns(ctx, f.rd, rec.Channels, run.Run.Row0, samples))
	}

	series, warnings, err := f.loads.Series(ctx, f.res, rec, chans)
	notes.Warnings = append(notes.Warnings, warnings...)
	fault.Raise(err)

	names := lists.Each(series, func(s dsp.Series) string { return s.Name })
	p := fault.Get(c.Pairs(ingeststage.NewRun(f.src, f.res.Info, run.Run, samples, nil, nil), series))
	note.add(p, names)
	f.rows(p, run.Run.ID, run.Run.Recordings)
}

// rows appends the rows of a run.
func (f *fileTables) rows(p *dsp.Pairs, run string, recs []ingest.Recording) {
	f.same(p)
	for _, row := range p.Rows {
		f.src.Cells(&f.trip, run, recs[row.Recording])
	}

	if len(p.Rows) > 0 {
		f.outcomes(p)
	}

	for _, row := range p.Rows {
		rec := recs[row.Recording]
		f.derived(p, row, strings.TrimPrefix(rec.ID, run), rec)
	}
}

// add takes over the counts and flags of a run. names are those of its
// recordings or series, put before a flag's text where there are several.
func (n *RunNote) add(p *dsp.Pairs, names []string) {
	n.Dropped, n.Bounds, n.Levels, n.Near = p.Dropped, p.Bounds, p.Levels, p.Near
	for _, flag := range p.Flags {
		if flag.Channel >= 0 && len(names) > 1 {
			flag.Text = names[flag.Channel] + ": " + flag.Text
		}
		n.Flags = append(n.Flags, flag)
	}
}

// same refuses a run whose outcomes are not those of the file's other runs.
func (f *fileTables) same(p *dsp.Pairs) {
	if len(p.Rows) == 0 {
		return
	}

	names := lists.Each(p.Outcomes, func(o dsp.Outcome) string { return o.Name })
	if f.names == nil {
		f.names = names
	}

	fault.Unless(slices.Equal(names, f.names), fault.At("", "", "the outcomes of the file's other runs, "+
		strings.Join(f.names, ", "), strings.Join(names, ", "), ""))
}

// outcomes appends the values of a run's rows, in the order of the outcomes.
func (f *fileTables) outcomes(p *dsp.Pairs) {
	for k, o := range p.Outcomes {
		for h, member := range p.Members {
			doc := o.Description + member
			if o.Note != "" {
				doc += "; " + o.Note
			}

			c := f.trip.Make(fmt.Sprintf("%s_%d", o.Name, h+1), o.Unit, doc)
			for _, row := range p.Rows {
				c.Floats = append(c.Floats, row.Values[k].Y[h])
			}
		}

		for i, by := range o.ByProducts {
			for h, member := range p.Members {
				name, doc := fmt.Sprintf("%s_%s_%d", o.Name, by.Suffix, h+1), by.Description+member
				if by.Single && h > 0 {
					break
				} else if by.Single {
					name, doc = o.Name+"_"+by.Suffix, by.Description
				}

				c := f.trip.Make(name, by.Unit, doc)
				for _, row := range p.Rows {
					if v := row.Values[k].ByProducts[i][h]; by.Bool {
						c.Bools = append(c.Bools, v != 0)
					} else {
						c.Floats = append(c.Floats, v)
					}
				}
			}
		}
	}
}

// derived appends the derived outcomes of a row: those of y1 are computed of y1 alone,
// those of y2 of y2, so that they are as independent as the outcomes are. channel names the
// recording in its run.
func (f *fileTables) derived(p *dsp.Pairs, row dsp.Row, channel string, rec ingest.Recording) {
	names := f.src.Derive.Outcomes()
	if len(names) == 0 {
		return
	}

	var values [2]map[string]float64
	for h := range values {
		values[h] = maps.Clone(rec.Conditions)
		for k, o := range p.Outcomes {
			values[h][o.Name] = row.Values[k].Y[h]
		}

		if err := f.src.Derive.AddOutcomes(values[h], rec.Labels); err != nil {
			place := strings.TrimSpace(fmt.Sprintf("%s y%d", channel, h+1))
			fault.Raise(fault.At("", place, "a finite number", err.Error(), ""))
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
				fault.Raise(fault.At("", channel, fmt.Sprintf("the numbers of %s = %s", name, f.src.Derive.Text(name)),
					fmt.Sprintf("conditions %v and outcomes %v", f.src.Conditions, f.names), ""))
			}

			doc := strings.TrimPrefix(p.Members[h], ", ") + "; derived: " + f.src.Derive.Text(name)
			f.trip.Cell(fmt.Sprintf("%s_%d", name, h+1), unit, doc, v)
		}
	}
}

// spectrum appends the two halves' spectra of a recording, and what of them
// was used.
func (f *fileTables) spectrum(run string, rec ingest.Recording, unit string, binHz float64, s dsp.Spectra) {
	for h, half := range s.Halves {
		f.src.Cells(&f.spec, run, rec)
		f.spec.Cell("half", "", "1 or 2", h+1)
		f.spec.Cell("bin_hz", "Hz", "spacing of the bins; the first is at 0 Hz", binHz)
		f.spec.Cell("shaft_hz", "Hz", "shaft speed used, rev/s", half.ShaftHz)
		f.spec.Cell("power", unit+"²", "one-sided power per bin; a sine on a bin reads its mean square", half.Spectrum)

		lines := half.Lines
		list := func(name, unit, doc string, value func(l dsp.Line) float64) {
			v := lists.Each(lines, func(l dsp.Line) float32 { return float32(value(l)) })

			f.spec.Cell(name, unit, doc, v)
		}

		hz := func(l dsp.Line) float64 { return l.PeakHz }
		power := func(l dsp.Line) float64 { return l.Power }

		list("line_hz", "Hz", "harmonics: frequency of the largest bin", hz)
		list("line_power", unit+"²", "harmonics: mean square", power)
		list("floor", unit+"²", "harmonics: floor per bin", func(l dsp.Line) float64 { return l.Floor })
		list("search_lo", "", "harmonics: first bin searched", func(l dsp.Line) float64 { return float64(l.Search[0]) })
		list("search_hi", "", "harmonics: last bin searched", func(l dsp.Line) float64 { return float64(l.Search[1]) })
		list("band_lo", "", "harmonics: first bin of the line", func(l dsp.Line) float64 { return float64(l.Band[0]) })
		list("band_hi", "", "harmonics: last bin of the line", func(l dsp.Line) float64 { return float64(l.Band[1]) })

		lines = half.ShaftOrders
		list("shaft_order", "", "orders of the shaft that are no multiple of the blade count",
			func(l dsp.Line) float64 { return float64(l.Order) })
		list("shaft_order_hz", "Hz", "their frequency", hz)
		list("shaft_order_power", unit+"²", "their mean square", power)
	}
}

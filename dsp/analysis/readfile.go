package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/stats"
)

// Reader reads one raw file.
type Reader struct {
	Source *Source
	Chain  *calibration.Chain // how samples become physical units
	Name   string             // the file's name, for messages
	Facts  *campaign.Facts    // what is known about the file before it is opened
	Path   string             // the path that opens the file
	Held   []byte             // the contents; nil if they are not in memory
	Kept   *Kept              // takes what the analysis of the file needs; nil if it is not wanted

	extent extent
	rd     ingest.Reader // the open file
	info   ingest.Info   // its header, without warnings
}

// extent says how much of a file is read.
type extent int

const (
	whole        extent = iota // all samples, with statistics of the whole runs
	samplesCheck               // for a check whether the file can be used: all samples, if they may not be numbers
	endsCheck                  // for such a check: the first and the last second
)

// open opens the file. stats.Pass calls it again after a read that failed.
func (r *Reader) open(ctx context.Context) (ingest.Reader, error) {
	return format.OpenHeld(r.Path, r.Held, r.Source.Options.In(ctx, r.Name))
}

// named adds the file's name to an error.
func (r *Reader) named(err error) error { return fault.Named(err, r.Name) }

// Read opens the file, assembles its runs and computes their statistics.
func (r *Reader) Read(ctx context.Context) (*recording.File, error) {
	var err error
	r.rd, err = r.open(ctx)
	if err != nil {
		return nil, r.named(err)
	}
	defer r.rd.Close()

	r.info = r.rd.Info()
	warnings := r.info.Warnings
	r.info.Warnings = nil
	runs, more, err := r.Source.Runs(ctx, r.rd, r.Name, r.Facts)
	if err != nil {
		return nil, err
	}

	res := &recording.File{Path: r.Name, Info: r.info}
	res.Warnings = slices.Concat(warnings, more, recording.WarnSimulated(r.Source.Settings.Data, r.info))

	for _, run := range runs {
		rr, warnings, err := r.run(ctx, run, len(runs) == 1)
		if err != nil {
			return nil, err
		}

		doubts, err := rr.Check(r.info, r.Source.Settings.Flow())
		if err != nil {
			return nil, err
		}

		sweeps := rr.WarnSweep(r.rd, !r.Source.Grouping.Together)
		res.Warnings = slices.Concat(res.Warnings, warnings, doubts, sweeps, r.warnFullScale(rr))
		res.Runs = append(res.Runs, rr)
	}

	return res, nil
}

// run reads a run, computes its statistics and keeps the samples or spectra that the analysis needs. alone tells
// whether it is the file's only run.
func (r *Reader) run(ctx context.Context, run ingest.Run, alone bool) (recording.Run, []ingest.Warning, error) {
	if r.extent != whole {
		return r.checkRun(ctx, run)
	}

	pass := stats.NewPass(r.rd, run)
	series, unread := r.keep(ctx, pass, run, alone)
	sums, warnings, err := pass.Stats(ctx, r.open)
	if err != nil {
		return recording.Run{}, nil, r.named(err)
	}

	rr, err := r.runResult(run, sums)
	if err != nil {
		return recording.Run{}, nil, err
	}

	if r.Source.Grouping.Together {
		if unread != nil {
			return recording.Run{}, nil, r.named(unread)
		}

		rr.Integral = balance.IntegralTimes(series, r.info, run) // zeros if series is nil
		r.Kept.SetSeries(run.ID, series)
	}

	return rr, warnings, nil
}

// checkRun checks whether a run can be used. It reads few samples, so that the statistics in its result are not those
// of the whole run.
func (r *Reader) checkRun(ctx context.Context, run ingest.Run) (recording.Run, []ingest.Warning, error) {
	if err := r.fits(run); err != nil {
		return recording.Run{}, nil, err
	}

	sums, warnings, err := recording.ScanForCheck(ctx, r.rd, run, r.extent == endsCheck)
	if err != nil {
		return recording.Run{}, nil, r.named(err)
	}

	rr, err := r.runResult(run, sums)
	if err != nil {
		return recording.Run{}, nil, err
	}

	if r.Source.Grouping.Together {
		rr.Integral = balance.IntegralTimes(nil, r.info, run)
	}

	return rr, warnings, nil
}

// keep reads the columns of a balance and returns them. With a sampling rate it reads them whatever their size, because
// the integral times need them. Without a rate it returns nil unless r.Kept can hold them. For the only run of a
// file of microphones it stores the spectra in r.Kept and returns nil. It drops errors about spectra, because the
// analysis computes the spectra again and reports them.
func (r *Reader) keep(ctx context.Context, pass *stats.Pass, run ingest.Run, alone bool) ([][]float64, error) {
	n := recording.Length(r.info, run)
	if n == 0 {
		return nil, nil
	}

	if r.Source.Grouping.Together {
		channels := run.Recordings[0].Channels
		small := r.Kept != nil && n*int64(len(channels)) <= maxKept
		if r.info.Channels[channels[0]].RateHz > 0 || small {
			return recording.ReadColumns(ctx, pass, channels, run.Row0, n)
		}

		return nil, nil
	}

	c, ofSpectra := r.Source.Construction.(dsp.OfSpectra)
	if ofSpectra && r.Kept != nil && alone {
		an := BorrowAnalyser()
		if err := r.load(ctx, an, pass, c, run); err != nil {
			ReturnAnalyser(an)
		} else {
			r.Kept.SetSpectra(an)
		}
	}

	return nil, nil
}

// load loads the spectra of a run.
func (r *Reader) load(ctx context.Context, an *dsp.Analyser, pass *stats.Pass, c dsp.OfSpectra, run ingest.Run) error {
	rr, err := r.runResult(run, make([]stats.Summary, len(run.Recordings)))
	if err != nil {
		return err
	}

	segments, err := c.Spectra(r.Source.Run(r.info, run, recording.Length(r.info, run), rr.Scale, rr.Units))
	if err != nil {
		return err
	}

	return an.Load(ctx, pass, segments)
}

// warnFullScale returns warnings about channels of a run that are taken as parts of full scale and are far above it.
func (r *Reader) warnFullScale(run recording.Run) []ingest.Warning {
	var warnings []ingest.Warning
	for i, ch := range run.Channels() {
		scale, err := r.Chain.Scale(r.info, ch)
		if err != nil || !scale.Relative {
			continue
		}

		warnings = append(warnings, recording.WarnFullScale(r.info, ch, run.Stats[i].Scaled(1/scale.Factor))...)
	}

	return warnings
}

// runResult calibrates the channels of a run and returns its result. sums are the statistics of the reader's samples.
func (r *Reader) runResult(run ingest.Run, sums []stats.Summary) (recording.Run, error) {
	rr := recording.Run{Run: run}
	for i, ch := range rr.Channels() {
		s, err := r.Chain.Scale(r.info, ch)
		if err != nil {
			return recording.Run{}, err
		}

		if r.Chain.Measured != nil {
			rr.Spread = append(rr.Spread, s.SpreadDB)
		}

		sum := sums[i].Scaled(s.Factor)
		if math.IsInf(sum.RMS, 0) || math.IsInf(sum.Std, 0) {
			return recording.Run{}, fault.At(r.info.Path, "channel "+r.info.Channels[ch].Name,
				"samples whose squares are numbers", fmt.Sprintf("%g to %g", sum.Min, sum.Max), "the file may be damaged")
		}

		rr.Stats = append(rr.Stats, sum)
		rr.How = append(rr.How, s.How)
		rr.Units = append(rr.Units, s.Unit)
		rr.Scale = append(rr.Scale, s.Factor)
	}

	return rr, nil
}

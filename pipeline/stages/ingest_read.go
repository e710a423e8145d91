package stages

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/dsp"
	"doubletake/dsp/balance"
	"doubletake/dsp/calibration"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/ingest/stats"
	"doubletake/pipeline/stages/plan"
)

// reader reads one raw file.
type reader struct {
	src     *Source
	chain   *calibration.Chain // how samples become physical units
	reading *Reading           // keeps results for stage dsp; nil if they are not wanted
	file    File
	path    string // the path that opens the file
	held    []byte // the contents; nil if they are not in memory
	check   bool   // check whether the file can be used; statistics are not of the whole run
	ends    bool   // with check: read only the first and the last second

	rd   ingest.Reader // the open file
	info ingest.Info   // its header, without warnings
}

// open opens the file. stats.Pass calls it again after a read that failed.
func (r *reader) open(ctx context.Context) (ingest.Reader, error) {
	return format.OpenHeld(r.path, r.held, r.src.Options.In(ctx, r.file.Name))
}

// named adds the file's name to an error.
func (r *reader) named(err error) error { return fault.Named(err, r.file.Name) }

// read opens the file, assembles its runs and computes their statistics.
func (r *reader) read(ctx context.Context) (*FileResult, error) {
	var err error
	r.rd, err = r.open(ctx)
	if err != nil {
		return nil, r.named(err)
	}
	defer r.rd.Close()

	r.info = r.rd.Info()
	warnings := r.info.Warnings
	r.info.Warnings = nil
	runs, more, err := r.src.campaign().Runs(ctx, r.rd, r.file.Name, &r.file.Facts)
	if err != nil {
		return nil, err
	}

	res := &FileResult{Path: r.file.Name, Info: r.info}
	res.Warnings = slices.Concat(warnings, more, recording.WarnSimulated(r.src.Ingest.Data, r.info))

	for _, run := range runs {
		rr, warnings, err := r.run(ctx, run, len(runs) == 1)
		if err != nil {
			return nil, err
		}

		doubts, err := rr.Check(r.info, r.src.Ingest.Flow())
		if err != nil {
			return nil, err
		}

		res.Warnings = slices.Concat(res.Warnings, warnings, doubts)
		res.Runs = append(res.Runs, rr)
	}

	return res, nil
}

// run reads a run, computes its statistics and keeps the samples or spectra that stage dsp needs. alone tells whether
// it is the file's only run.
func (r *reader) run(ctx context.Context, run ingest.Run, alone bool) (RunResult, []ingest.Warning, error) {
	if r.check {
		return r.checkRun(ctx, run)
	}

	pass := stats.NewPass(r.rd, run)
	series, unread := r.keep(ctx, pass, run, alone)
	sums, warnings, err := pass.Stats(ctx, r.open)
	if err != nil {
		return RunResult{}, nil, r.named(err)
	}

	rr, err := r.runResult(run, sums)
	if err != nil {
		return RunResult{}, nil, err
	}

	if r.src.Grouping.Together {
		if unread != nil {
			return RunResult{}, nil, r.named(unread)
		}

		rr.Integral = balance.IntegralTimes(series, r.info, run) // zeros if series is nil
		r.reading.SetSeries(run.ID, series)
	}

	return rr, warnings, nil
}

// checkRun checks whether a run can be used. It reads few samples, so that the statistics in its result are not those
// of the whole run.
func (r *reader) checkRun(ctx context.Context, run ingest.Run) (RunResult, []ingest.Warning, error) {
	if err := r.fits(run); err != nil {
		return RunResult{}, nil, err
	}

	sums, warnings, err := recording.ScanForCheck(ctx, r.rd, run, r.ends)
	if err != nil {
		return RunResult{}, nil, r.named(err)
	}

	rr, err := r.runResult(run, sums)
	if err != nil {
		return RunResult{}, nil, err
	}

	if r.src.Grouping.Together {
		rr.Integral = balance.IntegralTimes(nil, r.info, run)
	}

	return rr, warnings, nil
}

// keep reads the columns of a balance and returns them. With a sampling rate it reads them whatever their size, because
// the integral times need them. Without a rate it returns nil unless r.reading can hold them. For the only run of a
// file of microphones it stores the spectra in r.reading and returns nil. It drops errors about spectra, because the
// task of stage dsp computes the spectra again and reports them.
func (r *reader) keep(ctx context.Context, pass *stats.Pass, run ingest.Run, alone bool) ([][]float64, error) {
	n := recording.Length(r.info, run)
	if n == 0 {
		return nil, nil
	}

	if r.src.Grouping.Together {
		channels := run.Recordings[0].Channels
		small := r.reading != nil && n*int64(len(channels)) <= maxHeld
		if r.info.Channels[channels[0]].RateHz > 0 || small {
			return recording.ReadColumns(ctx, pass, channels, run.Row0, n)
		}

		return nil, nil
	}

	c, ofSpectra := r.src.Construction.(dsp.OfSpectra)
	if ofSpectra && r.reading != nil && alone {
		an := borrowAnalyser()
		if err := r.load(ctx, an, pass, c, run); err != nil {
			returnAnalyser(an)
		} else {
			r.reading.SetSpectra(an)
		}
	}

	return nil, nil
}

// load loads the spectra of a run.
func (r *reader) load(ctx context.Context, an *dsp.Analyser, pass *stats.Pass, c dsp.OfSpectra, run ingest.Run) error {
	rr, err := r.runResult(run, make([]stats.Summary, len(run.Recordings)))
	if err != nil {
		return err
	}

	segments, err := c.Spectra(newRun(r.src, r.info, run, recording.Length(r.info, run), rr.Scale, rr.Units))
	if err != nil {
		return err
	}

	return an.Load(ctx, pass, segments)
}

// runResult calibrates the channels of a run and returns its result. sums are the statistics of the reader's samples.
func (r *reader) runResult(run ingest.Run, sums []stats.Summary) (RunResult, error) {
	rr := RunResult{Run: run}
	for i, ch := range rr.Channels() {
		s, err := r.chain.Scale(r.info, ch)
		if err != nil {
			return RunResult{}, err
		}

		if r.chain.Measured != nil {
			rr.Spread = append(rr.Spread, s.SpreadDB)
		}

		sum := sums[i].Scaled(s.Factor)
		if math.IsInf(sum.RMS, 0) || math.IsInf(sum.Std, 0) {
			return RunResult{}, fault.At(r.info.Path, "channel "+r.info.Channels[ch].Name,
				"samples whose squares are numbers", fmt.Sprintf("%g to %g", sum.Min, sum.Max), "the file may be damaged")
		}

		rr.Stats = append(rr.Stats, sum)
		rr.How = append(rr.How, s.How)
		rr.Units = append(rr.Units, s.Unit)
		rr.Scale = append(rr.Scale, s.Factor)
	}

	return rr, nil
}

// newRun describes a run for the experiment's construction. samples is the run's length; scale and units are the
// factors and units of its channels after calibration.
func newRun(src *Source, info ingest.Info, run ingest.Run, samples int64, scale []float64,
	units []string,
) *dsp.Run {
	r := &dsp.Run{
		RateHz: info.Channels[run.Recordings[0].Channels[0]].RateHz, Start: run.Row0, Samples: samples,
		Seed: plan.SeedOf(src.DSP.Seed, src.Construction.Describe().Name, run.ID), Settings: &src.DSP.Settings,
	}

	if _, spectra := src.Construction.(dsp.OfSpectra); spectra {
		for i, rec := range run.Recordings {
			r.Microphones = append(r.Microphones, dsp.Microphone{
				Channel: rec.Channels[0], Scale: scale[i], Unit: units[i], Conditions: rec.Conditions,
			})
		}
	}

	return r
}

package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// Skipped is a recording left out under on_bad_recording: skip.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// RunResult is what ingest found out about one run.
type RunResult struct {
	Run   ingest.Run      `json:"run"`
	Stats []stats.Summary `json:"stats"` // of the channels of its recordings, in order, in Unit
	Units []string        `json:"units"` // per channel, after calibration
	Scale []float64       `json:"scale"` // per channel, from the reader's samples to Units
	How   []string        `json:"how"`   // per channel, where Scale comes from
	// per channel, of a calibrator's recording; NaN is not JSON: nil without one
	Spread []float64 `json:"spread_db,omitempty"`
	// per channel of a balance, s; 0 where it is unknown
	Integral []float64 `json:"integral_s,omitempty"`
}

// FileResult is what ingest found out about one file.
type FileResult struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Info     ingest.Info      `json:"info"`
	Runs     []RunResult      `json:"runs"`
	Warnings []ingest.Warning `json:"warnings"`
	Skipped  *Skipped         `json:"skipped,omitempty"`
}

// planFile adds the task that opens one file, assembles its runs, and
// computes their statistics.
func (r *Recordings) planFile(exp plan.Experiment, f *File) {
	src := r.Source
	handoff := engine.NewHandoff[*Reading](exp.ID("dsp", f.Name))
	t := &engine.Task{
		ID: exp.ID("ingest", f.Name), Stage: "ingest", Version: version, Config: src.Settings, Local: f.keyed(src),
		Weight: 0.0075, Packed: true,
		Run: func(ctx context.Context, j *engine.Job) error {
			cal, err := Sensitivities(src, j)
			if err != nil {
				return err
			}

			var reading *Reading // nil: each task reads by itself
			if src.In.Tachometer == nil && handoff.Wanted(j) {
				reading = NewReading()
				handoff.Put(j, reading)
			}

			rd := &reader{src: src, cal: cal, reading: reading, file: *f, path: f.Path(j), held: f.Held(j)}

			res, err := rd.read(ctx)
			if err != nil {
				reason, bad := BadRecording(src, err)
				if !bad {
					return err
				}

				res = &FileResult{Path: f.Name, Skipped: &Skipped{f.Name, reason}}
			}

			res.SHA256 = f.SHA256(j)
			if reading != nil {
				reading.Found = res
			}

			return plan.WriteJSON(j, fileJSON, res)
		},
	}

	f.Needs(t)

	if src.Calibrator != nil {
		t.Deps = append(t.Deps, *src.Calibrator)
	}

	exp.Add(t)
	f.Reading, f.Result = handoff, engine.Dep{Task: t.ID, Output: fileJSON}
}

// BadRecording reports whether err is the fault of the data and the policy is
// to go on without such recordings.
func BadRecording(src *plan.Source, err error) (reason string, skip bool) {
	var data *fault.Error
	if src.In.OnBadRecording != "fail" && errors.As(err, &data) {
		return err.Error(), true
	}

	return "", false
}

// LeftOut reports whether one of several runs of a file cannot be used and is left out under
// on_bad_recording: warn, and the warning of it.
func LeftOut(src *plan.Source, file string, run ingest.Run, runs int, err error) (ingest.Warning, bool) {
	reason, bad := BadRecording(src, err)
	if !bad || src.In.OnBadRecording != "warn" || runs == 1 {
		return ingest.Warning{}, false
	}

	text := fmt.Sprintf("%s is left out: %s", run.ID, reason)

	return ingest.Warning{Path: file, Code: "left-out", Text: text}, true
}

// Named replaces the path a file was opened by with the name the user knows.
func Named(err error, path, name string) error {
	var data *fault.Error
	if errors.As(err, &data) {
		switch data.Path {
		case path:
			d := *data
			d.Path = name
			return &d

		case name:
			return err // it names the file already
		}
	}

	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}

	return nil
}

// reader reads one raw file.
type reader struct {
	src     *plan.Source
	cal     []Sensitivity // of the calibrator's recordings; nil without them
	reading *Reading      // what it keeps for stage dsp; nil: nothing
	file    File
	path    string // that it is opened by
	held    []byte // its contents, nil where they are not in memory
}

func (r *reader) open(ctx context.Context) (ingest.Reader, error) {
	return format.OpenHeld(r.path, r.held, r.src.Options.In(ctx))
}

func (r *reader) named(err error) error { return Named(err, r.path, r.file.Name) }

// read opens the file, assembles its runs and computes their statistics. Under
// on_bad_recording: warn it leaves out runs that cannot be used, if others
// remain.
func (r *reader) read(ctx context.Context) (*FileResult, error) {
	rd, err := r.open(ctx)
	if err != nil {
		return nil, r.named(err)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = r.file.Name
	res := &FileResult{Path: r.file.Name}
	res.warn(info.Warnings)
	info.Warnings = nil
	res.Info = info

	runs, warnings, err := r.runs(ctx, rd, info)
	if err != nil {
		return nil, err
	}

	res.Warnings = append(res.Warnings, warnings...)
	res.Warnings = append(res.Warnings, simulatedByContent(r.src, info)...)

	var last error // of a run that is left out
	for _, run := range runs {
		rr, warnings, err := r.run(ctx, rd, info, run, len(runs) == 1)
		if err != nil {
			w, leave := LeftOut(r.src, r.file.Name, run, len(runs), err)
			if !leave {
				return nil, err
			}

			res.Warnings = append(res.Warnings, w)
			last = err
			continue
		}

		res.warn(warnings)
		res.Warnings = append(res.Warnings, dropouts(info, rr)...)
		res.Warnings = append(res.Warnings, apart(info, rr)...)
		res.Runs = append(res.Runs, rr)
	}

	if len(res.Runs) == 0 {
		return nil, last
	}

	return res, nil
}

// warn adds warnings of the file.
func (f *FileResult) warn(list []ingest.Warning) {
	for _, w := range list {
		w.Path = f.Path
		f.Warnings = append(f.Warnings, w)
	}
}

// runs assembles the runs of an open file with their conditions.
func (r *reader) runs(ctx context.Context, rd ingest.Reader, info ingest.Info) ([]ingest.Run, []ingest.Warning, error) {
	constants, err := attributeConditions(r.src, info, r.file.Sidecar)
	if err != nil {
		return nil, nil, err
	}

	conds, group := r.file.Rows, r.src.Grouping
	if len(r.src.In.InFile) > 0 {
		if conds, group, err = conditionTable(ctx, rd, info, r.src); err != nil {
			return nil, nil, r.named(err)
		}
	}

	group.From, group.Within = conditionSources(r.src, r.file.Sidecar), plan.Tolerances(r.src.In.Within)
	opened := func(string) (ingest.Info, error) { return info, nil }
	runs, warnings, err := campaign.Assemble([]string{r.file.Name}, opened, conds, r.src.Pattern, constants, group)
	if err != nil {
		return nil, nil, r.named(err)
	}

	if err := channelConditions(r.src, info, runs); err != nil {
		return nil, nil, err
	}

	for _, run := range runs {
		for i, rec := range run.Recordings {
			run.Recordings[i].Labels = kept(r.src, rec.Labels)
			if err := settle(r.src, rec.Conditions); err != nil {
				place := strings.TrimPrefix(rec.ID, r.file.Name)
				return nil, nil, &fault.Error{Path: r.file.Name, Place: place, Want: "a finite number", Found: err.Error()}
			}
		}
	}

	if !r.src.Grouping.Together {
		for _, rec := range runs[0].Recordings {
			if err := ingest.RequireTimeSeries(rd, rec.Channels); err != nil {
				return nil, nil, r.named(err)
			}
		}
	}

	return runs, warnings, nil
}

// run reads a run; alone says that it is the file's only one.
func (r *reader) run(ctx context.Context, rd ingest.Reader, info ingest.Info, run ingest.Run, alone bool) (RunResult,
	[]ingest.Warning, error,
) {
	if r.src.Grouping.Together {
		return r.balanceRun(ctx, rd, info, run)
	}

	var sums []stats.Summary
	var warnings []ingest.Warning

	var err error
	if r.reading != nil && alone {
		sums, warnings, err = r.loadSpectra(ctx, info, rd, run)
	} else {
		sums, warnings, err = stats.Scan(ctx, rd, run)
	}

	if err != nil {
		sums, warnings, err = r.withoutBadChannels(ctx, rd, &run, err)
	}

	if err != nil {
		return RunResult{}, nil, r.named(err)
	}

	rr, err := r.calibrated(info, run, sums)

	return rr, warnings, err
}

// balanceRun reads a run of a balance and keeps its samples for stage dsp.
func (r *reader) balanceRun(ctx context.Context, rd ingest.Reader, info ingest.Info, run ingest.Run) (RunResult,
	[]ingest.Warning, error,
) {
	n, channels := length(info, run), run.Recordings[0].Channels
	wanted := info.Channels[channels[0]].RateHz > 0 || r.reading != nil && n*int64(len(channels)) <= MaxHeld

	var series [][]float64
	var unread error
	var sums []stats.Summary
	var warnings []ingest.Warning

	var err error
	if n > 0 && wanted {
		pass := stats.NewPass(rd, run)
		series, unread = ReadRun(ctx, pass, run, n)
		sums, warnings, err = pass.Stats(ctx, r.open)
	} else { // Scan reports 0 samples
		sums, warnings, err = stats.Scan(ctx, rd, run)
	}

	if err != nil {
		return RunResult{}, nil, r.named(err)
	}

	rr, err := r.calibrated(info, run, sums)
	if err != nil {
		return rr, nil, err
	}

	if unread != nil {
		return rr, nil, r.named(unread)
	}

	rr.Integral = integralTimes(series, info, run) // 0 of no series
	r.reading.SetSeries(run.ID, series)

	return rr, warnings, nil
}

// loadSpectra is stats.Scan, and on the way loads the spectra of the run. The task of
// stage dsp reports errors of the spectra.
func (r *reader) loadSpectra(ctx context.Context, info ingest.Info, rd ingest.Reader, run ingest.Run) ([]stats.Summary,
	[]ingest.Warning, error,
) {
	c, ok := r.src.Construction.(dsp.OfSpectra)

	n := length(info, run)
	if !ok || n == 0 {
		return stats.Scan(ctx, rd, run)
	}

	rr, err := r.calibrated(info, run, make([]stats.Summary, len(run.Recordings)))
	if err != nil {
		return stats.Scan(ctx, rd, run)
	}

	load, err := c.Spectra(NewRun(r.src, info, run, n, rr.Scale, rr.Units))
	if err != nil {
		return stats.Scan(ctx, rd, run)
	}

	pass := stats.NewPass(rd, run)

	an := BorrowAnalyser()
	if err := an.Load(ctx, pass, load); err == nil {
		r.reading.SetSpectra(an)
	} else {
		ReturnAnalyser(an)
	}

	return pass.Stats(ctx, r.open)
}

// withoutBadChannels takes the microphones with samples that are no numbers out of a run, if
// others remain, under on_bad_recording: warn; otherwise the error stays.
func (r *reader) withoutBadChannels(ctx context.Context, rd ingest.Reader, run *ingest.Run, bad error) ([]stats.Summary,
	[]ingest.Warning, error,
) {
	if _, data := BadRecording(r.src, bad); !data || r.src.In.OnBadRecording != "warn" || len(run.Recordings) < 2 {
		return nil, nil, bad
	}

	all, warnings, err := stats.ScanAll(ctx, rd, *run)
	if err != nil {
		return nil, nil, bad
	}

	var sound []ingest.Recording
	var sums []stats.Summary

	info := rd.Info()
	for i, rec := range run.Recordings { // of one channel each
		if s := all[i]; s.NaN == 0 {
			sound, sums = append(sound, rec), append(sums, s)
		} else {
			warnings = append(warnings, ingest.Warning{Path: info.Path, Code: "left-out", Text: fmt.Sprintf(
				"%s is left out: %d of %d samples of channel %s are no finite numbers, the first is sample %d", rec.ID, s.NaN,
				s.Samples, info.Channels[rec.Channels[0]].Name, run.Row0+s.FirstNaN)})
		}
	}

	if len(sound) == 0 || len(sound) == len(all) {
		return nil, nil, bad
	}

	run.Recordings = sound

	return sums, warnings, nil
}

// calibrated is the result of a run whose channels have the statistics sums, in
// the reader's samples.
func (r *reader) calibrated(info ingest.Info, run ingest.Run, sums []stats.Summary) (RunResult, error) {
	rr := RunResult{Run: run}
	for _, rec := range run.Recordings {
		for _, ch := range rec.Channels {
			s, err := ScaleOf(r.src, r.cal, info, ch)
			if err != nil {
				return rr, err
			}

			if r.cal != nil {
				rr.Spread = append(rr.Spread, s.SpreadDB)
			}

			rr.Stats = append(rr.Stats, scaled(sums[len(rr.Units)], s.Factor))
			rr.How, rr.Units, rr.Scale = append(rr.How, s.How), append(rr.Units, s.Unit), append(rr.Scale, s.Factor)
		}
	}

	return rr, nil
}

func scaled(s stats.Summary, f float64) stats.Summary {
	s.Min, s.Max, s.Mean, s.RMS, s.Std = s.Min*f, s.Max*f, s.Mean*f, s.RMS*math.Abs(f), s.Std*math.Abs(f)
	return s
}

// NewRun describes a run for the experiment's construction. samples is its
// length, scale and units are those of its channels after calibration.
func NewRun(src *plan.Source, info ingest.Info, run ingest.Run, samples int64, scale []float64,
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

// length returns the number of samples of a run; 0 where the file has not as
// many, or none.
func length(info ingest.Info, run ingest.Run) int64 {
	samples := info.Channels[run.Recordings[0].Channels[0]].Samples
	from, to := run.Interval(samples)
	if to > samples {
		return 0
	}

	return max(0, to-from)
}

// ReadRun reads the columns of a balance's run, n samples of each.
func ReadRun(ctx context.Context, rd dsp.Source, run ingest.Run, n int64) ([][]float64, error) {
	return ReadColumns(ctx, rd, run.Recordings[0].Channels, run.Row0, n)
}

// ReadColumns reads n samples of each channel from start on, some at a time. rd
// is an ingest.Reader or passes its samples on.
func ReadColumns(ctx context.Context, rd dsp.Source, channels []int, start, n int64) ([][]float64, error) {
	out, part := make([][]float64, len(channels)), make([][]float64, len(channels))
	for i := range out {
		out[i] = make([]float64, n)
	}

	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		m := min(n-at, 1<<16)
		for i := range out {
			part[i] = out[i][at : at+m]
		}

		got, err := rd.Read(channels, start+at, part)
		if int64(got) < m {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}

		at += m
	}

	return out, nil
}

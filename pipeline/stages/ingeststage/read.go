package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
	"doubletake/internal/lists"
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

// channels lists the channels of the run, as Stats.
func (r *RunResult) channels() []int {
	return slices.Concat(lists.Each(r.Run.Recordings, func(rec ingest.Recording) []int { return rec.Channels })...)
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
		Run: func(ctx context.Context, j *engine.Job) (err error) {
			defer fault.Catch(&err)
			rd := &reader{src: src, cal: Sensitivities(src, j), file: *f, path: f.Path(j), held: f.Held(j)}
			if src.In.Tachometer == nil && handoff.Wanted(j) { // else each task reads by itself
				rd.reading = NewReading()
				handoff.Put(j, rd.reading)
			}

			res, err := rd.read(ctx)
			if BadRecording(src, err) {
				res = &FileResult{Path: f.Name, Skipped: &Skipped{f.Name, err.Error()}}
			} else {
				fault.Raise(err)
			}

			res.SHA256 = f.SHA256(j)
			if rd.reading != nil {
				rd.reading.Found = res
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
func BadRecording(src *plan.Source, err error) bool {
	_, ofData := errors.AsType[*fault.Error](err)
	return src.In.OnBadRecording != "fail" && ofData
}

// Named adds the name of a file to an error that has another one, or none.
func Named(err error, name string) error {
	if data, is := errors.AsType[*fault.Error](err); err == nil || is && data.Path == name {
		return err
	}

	return fmt.Errorf("read %s: %w", name, err)
}

// Placed gives an error of data that names no file a path and a place, made of the one that it has.
func Placed(err error, path string, place func(string) string) error {
	data, is := errors.AsType[*fault.Error](err)
	if !is || data.Path != "" {
		return err
	}

	c := *data
	c.Path, c.Place = path, place(data.Place)

	return &c
}

// reader reads one raw file.
type reader struct {
	src     *plan.Source
	cal     []Sensitivity // of the calibrator's recordings; nil without them
	reading *Reading      // what it keeps for stage dsp; nil: nothing
	file    File
	path    string // that it is opened by
	held    []byte // its contents, nil where they are not in memory
	check   bool   // whether they can be used is all that is asked
	ends    bool   // by their beginning and end

	rd   ingest.Reader // the open file
	info ingest.Info   // what it holds, without warnings
}

func (r *reader) open(ctx context.Context) (ingest.Reader, error) {
	return format.OpenHeld(r.path, r.held, r.src.Options.In(ctx, r.file.Name))
}

// raise raises an error, if there is one, under the file's name.
func (r *reader) raise(err error) { fault.Raise(Named(err, r.file.Name)) }

// read opens the file, assembles its runs and computes their statistics.
func (r *reader) read(ctx context.Context) (res *FileResult, err error) {
	defer fault.Catch(&err)
	r.rd, err = r.open(ctx)
	r.raise(err)
	defer r.rd.Close()
	r.info = r.rd.Info()
	warnings := r.info.Warnings
	r.info.Warnings = nil
	runs, more := r.runs(ctx)
	res = &FileResult{Path: r.file.Name, Info: r.info}
	res.Warnings = slices.Concat(warnings, more, simulatedByContent(r.src, r.info))

	for _, run := range runs {
		rr, warnings := r.run(ctx, run, len(runs) == 1)
		res.Warnings = slices.Concat(res.Warnings, warnings, dropouts(r.info, rr), apart(r.info, rr))
		res.Runs = append(res.Runs, rr)
	}

	return res, nil
}

// runs assembles the runs of an open file with their conditions.
func (r *reader) runs(ctx context.Context) ([]ingest.Run, []ingest.Warning) {
	file := fault.Get(r.file.stated(r.src, &r.info))
	conds, group := r.file.Rows, r.src.Grouping
	if len(r.src.In.InFile) > 0 {
		r.raise(fault.Try(func() { conds, group = r.conditionTable(ctx) }))
	}

	runs, warnings, err := campaign.Assemble(r.info, conds, file, group)
	r.raise(err)
	for _, run := range runs {
		for i, rec := range run.Recordings {
			nameRun(r.src, &run.Recordings[i])
			if err := settle(r.src, rec.Conditions, run.Recordings[i].Labels); err != nil {
				place := strings.TrimPrefix(rec.ID, r.file.Name)
				fault.Raise(fault.At(r.file.Name, place, "a finite number", err.Error(), ""))
			}
		}
	}

	if !r.src.Grouping.Together {
		for _, rec := range runs[0].Recordings {
			r.raise(ingest.RequireTimeSeries(r.rd, rec.Channels))
		}
	}

	return runs, warnings
}

// run reads a run; alone says that it is the file's only one. On the way it keeps what stage dsp needs of the samples.
func (r *reader) run(ctx context.Context, run ingest.Run, alone bool) (rr RunResult, warnings []ingest.Warning) {
	var sums []stats.Summary
	var series [][]float64
	var unread, err error
	if r.check {
		fault.Raise(r.fits(run))
		sums, warnings, err = r.scan(ctx, run)
	} else {
		pass := stats.NewPass(r.rd, run)
		series, unread = r.keep(ctx, pass, run, alone)
		sums, warnings, err = pass.Stats(ctx, r.open)
	}

	r.raise(err)
	rr = r.calibrated(run, sums)
	if r.src.Grouping.Together {
		r.raise(unread)
		rr.Integral = integralTimes(series, r.info, run) // 0 of no series
		r.reading.SetSeries(run.ID, series)
	}

	return rr, warnings
}

// keep reads the columns of a balance, or loads the spectra of microphones, errors of which the task of stage dsp
// reports.
func (r *reader) keep(ctx context.Context, pass *stats.Pass, run ingest.Run, alone bool) (series [][]float64,
	unread error,
) {
	n, channels := length(r.info, run), run.Recordings[0].Channels
	c, ofSpectra := r.src.Construction.(dsp.OfSpectra)
	switch {
	case n == 0:
	case r.src.Grouping.Together:
		if r.info.Channels[channels[0]].RateHz > 0 || r.reading != nil && n*int64(len(channels)) <= MaxHeld {
			return ReadColumns(ctx, pass, channels, run.Row0, n)
		}

	case ofSpectra && r.reading != nil && alone:
		an := BorrowAnalyser()
		err := fault.Try(func() {
			rr := r.calibrated(run, make([]stats.Summary, len(run.Recordings)))
			load := fault.Get(c.Spectra(NewRun(r.src, r.info, run, n, rr.Scale, rr.Units)))
			fault.Raise(an.Load(ctx, pass, load))
		})
		if err == nil {
			r.reading.SetSpectra(an)
		} else {
			ReturnAnalyser(an)
		}
	}

	return nil, nil
}

// calibrated is the result of a run whose channels have the statistics sums, in
// the reader's samples.
func (r *reader) calibrated(run ingest.Run, sums []stats.Summary) RunResult {
	rr := RunResult{Run: run}
	for i, ch := range rr.channels() {
		s := fault.Get(ScaleOf(r.src, r.cal, r.info, ch))
		if r.cal != nil {
			rr.Spread = append(rr.Spread, s.SpreadDB)
		}

		sum := scaled(sums[i], s.Factor)
		if math.IsInf(sum.RMS, 0) || math.IsInf(sum.Std, 0) {
			fault.Raise(fault.At(r.info.Path, "channel "+r.info.Channels[ch].Name, "samples whose squares are numbers",
				fmt.Sprintf("%g to %g", sum.Min, sum.Max), "the file may be damaged"))
		}

		rr.Stats = append(rr.Stats, sum)
		rr.How, rr.Units, rr.Scale = append(rr.How, s.How), append(rr.Units, s.Unit), append(rr.Scale, s.Factor)
	}

	return rr
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

// length returns the number of samples of a run, which lies in the file.
func length(info ingest.Info, run ingest.Run) int64 {
	from, to := run.Interval(info.Channels[run.Recordings[0].Channels[0]].Samples)
	return to - from
}

// ReadColumns reads n samples of each channel from start on, some at a time. rd
// is an ingest.Reader or passes its samples on.
func ReadColumns(ctx context.Context, rd dsp.Source, channels []int, start, n int64) ([][]float64, error) {
	out := lists.Make(len(channels), func(int) []float64 { return make([]float64, n) })
	part := make([][]float64, len(channels))
	for at := int64(0); at < n; at += 1 << 16 {
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
	}

	return out, nil
}

// analysers are idle ones: to make one costs more than to analyse a short file.
var analysers = sync.Pool{New: func() any { return dsp.NewAnalyser() }}

// BorrowAnalyser returns an idle analyser, to be given back to ReturnAnalyser.
func BorrowAnalyser() *dsp.Analyser { return analysers.Get().(*dsp.Analyser) }

// ReturnAnalyser makes an analyser idle.
func ReturnAnalyser(a *dsp.Analyser) { analysers.Put(a) }

// Reading is what one pass over the samples of a file leaves in memory for the
// task of stage dsp: of microphones the spectra, of a balance the samples. The
// task gives the same bytes without it. A nil Reading holds nothing.
type Reading struct {
	Found    *FileResult            // of the task that read, as stage dsp would decode it
	analyser *dsp.Analyser          // holds spectra; nil: none
	series   map[string][][]float64 // by run: the balance's columns
	held     int                    // samples in series
}

// MaxHeld bounds the samples of a balance that a Reading holds (32 MiB).
const MaxHeld = 4 << 20

// NewReading returns an empty Reading.
func NewReading() *Reading { return &Reading{series: map[string][][]float64{}} }

// SetSpectra stores an analyser that has loaded the spectra of the file's run.
func (r *Reading) SetSpectra(a *dsp.Analyser) {
	r.Free()
	r.analyser = a
}

// Spectra returns the analyser if it holds the spectra asked for, else nil.
func (r *Reading) Spectra(s *dsp.Segments) *dsp.Analyser {
	if r == nil || r.analyser == nil || !r.analyser.Holds(s) {
		return nil
	}
	return r.analyser
}

// SetSeries stores the columns of a run, unless the Reading would hold more than
// MaxHeld samples.
func (r *Reading) SetSeries(run string, series [][]float64) {
	if r == nil || len(series) == 0 {
		return
	}

	if n := len(series) * len(series[0]); r.held+n <= MaxHeld {
		r.held += n
		r.series[run] = series
	}
}

// Series returns the columns of a run that are held, else nil.
func (r *Reading) Series(run string) [][]float64 {
	if r == nil {
		return nil
	}

	return r.series[run]
}

// Free gives the analyser back.
func (r *Reading) Free() {
	if r != nil && r.analyser != nil {
		ReturnAnalyser(r.analyser)
		r.analyser = nil
	}
}

// A stretch of equal samples is reported from constantSamples on, if it also lasts
// constantS where the rate is known: a gate, a connection that dropped out, a
// logger that repeated its last value. Shorter ones are a quantised signal.
const (
	constantSamples = 100
	constantS       = 0.05
)

// part names the samples of a file that a run is; "" where it is the whole file.
func (r RunResult) part(info ingest.Info) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Run.ID, info.Path)+": ", ": ")
}

// dropouts reports recordings that are constant for a while.
func dropouts(info ingest.Info, run RunResult) (out []ingest.Warning) {
	for i, c := range run.channels() {
		s, ch := run.Stats[i], info.Channels[c]
		if s.Constant < constantSamples || s.Constant >= s.Samples ||
			ch.RateHz > 0 && float64(s.Constant) < constantS*ch.RateHz {
			continue
		}

		what := fmt.Sprintf("%d samples", s.Constant)
		if ch.RateHz > 0 {
			what += fmt.Sprintf(" (%.3g s)", float64(s.Constant)/ch.RateHz)
		}

		out = append(out, ingest.Warn(info.Path, "constant-stretch",
			"%schannel %s is constant for %s of %d: a dropout, a noise gate or a stopped logger", run.part(info), ch.Name, what,
			s.Samples))
	}

	return out
}

// Limits of apart: the difference of level, that of two microphones alone, and the share of a run's microphones
// that may differ.
const (
	apartDB    = 20
	pairDB     = 60
	apartShare = 3 // a third
)

// apart reports microphones whose level is 20 dB from both that come before and after them in the
// run, or, at an end, from the two nearest: a dead capsule, another gain, a cable that picks up hum. Of two
// microphones it reports the quieter, which may be dead.
func apart(info ingest.Info, run RunResult) []ingest.Warning {
	n := len(run.Stats)
	if n < 2 || len(run.Run.Recordings) != n { // channels of a balance are no neighbours
		return nil
	}

	channels := run.channels()
	name := func(k int) string { return info.Channels[channels[k]].Name }
	level := lists.Each(run.Stats, func(s stats.Summary) float64 { return 20 * math.Log10(s.Std) })

	var out []ingest.Warning
	for i := range level {
		near, least, of := [2]int{i - 1, i + 1}, float64(apartDB), "its neighbours "
		switch {
		case n == 2:
			near, least, of = [2]int{1 - i, 1 - i}, pairDB, "its neighbour "
		case i == 0:
			near[0] = 2
		case i == n-1:
			near[1] = n - 3
		}

		a, b := level[i]-level[near[0]], level[i]-level[near[1]]
		d := math.Min(math.Abs(a), math.Abs(b))
		if !(d >= least) || a*b < 0 || n == 2 && a > 0 || math.IsInf(d, 0) ||
			run.Units[near[0]] != run.Units[i] || run.Units[near[1]] != run.Units[i] {
			continue // constant channels are named as stuck
		}

		side := map[bool]string{true: "below", false: "above"}[a < 0]
		if of += name(near[0]); n > 2 {
			of += " and " + name(near[1])
		}

		out = append(out, ingest.Warn(info.Path, "level-apart", "%schannel %s is %.0f dB %s %s: check capsule, gain, "+
			"cable and place, and leave it out with channels if it is at fault", run.part(info), name(i), d, side, of))
	}

	if apartShare*len(out) > max(n, apartShare) {
		return nil // the levels of this array differ by themselves
	}

	return out
}

// integralTimes are the integral time scales of a balance run's channels in s,
// 0 where they are unknown: no rate, too few samples, a constant channel.
func integralTimes(series [][]float64, info ingest.Info, run ingest.Run) []float64 {
	channels := run.Recordings[0].Channels
	out := make([]float64, len(channels))
	if series == nil {
		return out
	}

	if c, err := dsp.CheckBalance(series, info.Channels[channels[0]].RateHz); err == nil { // else too short, or no rate
		for i, v := range c.IntegralTimeS {
			if v > 0 && v-v == 0 {
				out[i] = v
			}
		}
	}

	return out
}

package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/stats"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/triplets"
)

// CheckFiles opens the files of an experiment, reads their headers and assembles
// their runs: it finds missing columns and channels, units that cannot be used,
// recordings of one run that no condition tells apart, rates that differ or are in
// another unit, and runs that the construction cannot analyse, as too short ones. Of
// files whose samples may be no numbers it reads the samples, up to maxScanned bytes, of others
// the first and the last second; a table of pairs and the calibrator's recordings it reads whole. It
// returns the result with the conditions of all recordings that could be
// read, or those of the table. The error joins those of at most maxFaults files.
func CheckFiles(ctx context.Context, exp plan.Experiment, r Result) (_ Result, warnings []ingest.Warning, err error) {
	defer fault.Catch(&err)
	if r.Pairs != nil && r.Pairs.Toy == nil {
		warnings = r.checkTable(exp)
		return r, warnings, nil
	}

	if r.Recordings == nil || r.Recordings.Simulated {
		return r, nil, nil
	}

	var cal []Sensitivity
	if r.Recordings.Calibrator != nil {
		cal = measureCalibrator(ctx, exp, r.Recordings.Source)
	}

	n, scanned := len(r.Recordings.Files), r.Recordings.scanned()
	files, errs := make([]*FileResult, n), make([]error, n)
	parallel.Do(runtime.GOMAXPROCS(0), n, func(i int) {
		files[i], errs[i] = r.Recordings.checkFile(ctx, i, i < scanned, cal)
	})

	if warnings, err = r.gather(files, errs); err == nil {
		r.atSetPoints()
	}

	return r, warnings, err
}

// checkTable reads a table of pairs.
func (r *Result) checkTable(exp plan.Experiment) []ingest.Warning {
	p := readTables(r.Pairs.Files, r.Pairs.Options)
	checkConstant(exp, r.Pairs.Files[0].Name, p)
	r.Known = rowsOf(p)
	r.atSetPoints()

	return p.Warnings
}

// checkConstant warns of outcomes of a table that are one number, which training leaves out unless it names them or all
// are.
func checkConstant(exp plan.Experiment, path string, p *campaign.PairTable) {
	named := len(exp.Train.Outcomes) > 0
	if p.N < 2 || len(exp.Train.Splits) == 0 {
		return
	}

	trained, same := p.Outcomes, []string(nil)
	if named {
		trained = exp.Train.Outcomes
	}

	for _, name := range trained {
		if k := slices.Index(p.Outcomes, name); k >= 0 && triplets.ScaleOf(1, p.Y1[k], p.Y2[k]).Std[0] == 0 {
			same = append(same, fmt.Sprintf("%s is %g in all %d pairs", name, p.Y1[k][0], p.N))
		}
	}

	if len(same) > 0 && (named || len(same) == len(trained)) {
		fault.Raise(fault.At(path, "", "outcomes that vary", same[0],
			"nothing can be learnt of it: name the other columns under table: {y1: …, y2: …}, or repeats"))
	}

	for _, text := range same {
		p.Warnings = append(p.Warnings, ingest.Warn(path, "constant-outcome", "%s: nothing is trained on it", text))
	}
}

// checkFile reads a file as its task does, but few of its samples.
func (r *Recordings) checkFile(ctx context.Context, i int, whole bool, cal []Sensitivity) (o *FileResult, err error) {
	defer fault.Catch(&err)
	fault.Raise(ctx.Err())
	f := &reader{src: r.Source, cal: cal, file: r.Files[i], path: r.Files[i].File.Open, check: true, ends: !whole}
	o = fault.Get(f.read(ctx))
	alike := 0
	for _, run := range o.Runs {
		keys := lists.Each(run.Run.Recordings, func(rec ingest.Recording) string { return fmt.Sprint(rec.Conditions) })
		for _, same := range lists.Alike(keys) {
			alike = max(alike, len(same))
		}
	}

	if alike > 1 {
		o.Warnings = append(o.Warnings, ingest.Warn(o.Path, "alike", "%d microphones of one run have equal conditions; give "+
			"what tells them apart (an angle for each channel: a column channel in the table of conditions, or inside: "+
			"{theta_deg: ARRAY}), or choose one with channels", alike))
	}

	unused := lists.Keep(o.Info.Channels, func(c ingest.Channel) bool { return c.Role() == "" })
	if n := len(unused) - len(r.In.Channels); r.listed && n > 0 && r.In.Tachometer == nil {
		o.Warnings = append(o.Warnings, ingest.Warn(o.Path, "unlisted-channels",
			"%d of %d channels have no row in %s: they are not used", n, len(unused), r.In.Microphones))
	}

	_, microphones := r.Construction.(dsp.OfSpectra)
	if hint := rateHint(o.rateHz(), r.In.RateHz); hint != "" && microphones {
		o.Warnings = append(o.Warnings, ingest.Warn(o.Path, "rate-unit", "%s", hint))
	}

	checkColumns(&r.In, o.Info)

	return o, nil
}

// rateHz is the sampling rate of the first channel used: 1000.0000000000001 Hz is 1000 Hz.
func (o *FileResult) rateHz() float64 {
	rate := o.Info.Channels[o.Runs[0].Run.Recordings[0].Channels[0]].RateHz
	rate, _ = strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 9, 64), 64)

	return rate
}

// checkColumns checks the units of a balance's outcomes.
func checkColumns(in *config.Ingest, info ingest.Info) {
	for _, c := range in.Columns {
		k, err := ingest.FindChannel(info, c.Value)
		if _, given := config.Find(in.Units, c.Name); err == nil && !given { // else a load, or a unit that was checked
			ConvertSeries(info.Path, c.Value, c.Name, info.Channels[k].Unit, nil)
		}
	}
}

// maxFaults is how many bad files CheckFiles names.
const maxFaults = 10

// checked are the codes of the warnings of recordings that gather passes on.
var checked = []string{
	"clock-unit", "odd-rate", "rates-contradict", "start-times", "missing-code", "spikes", "alike", "rate-unit",
	"unlisted-channels",
}

// gather joins what to warn of in the files: of each code the first warning, with the number of files that have one.
// It keeps the conditions of all recordings.
func (r *Result) gather(files []*FileResult, errs []error) (warnings []ingest.Warning, err error) {
	rec := r.Recordings
	r.Known = nil

	var bad []error
	var read []int              // files that can be
	codes := map[string][]int{} // files by code
	for i, o := range files {
		if BadRecording(rec.Source, errs[i]) {
			warnings = append(warnings, ingest.Warn(rec.Files[i].Name, "", "it will be left out: %v", errs[i]))
			continue
		} else if errs[i] != nil {
			bad = append(bad, errs[i])
			continue
		}

		read = append(read, i)
		for _, run := range o.Runs {
			r.Known = append(r.Known, lists.Each(run.Run.Recordings, func(rec ingest.Recording) condition.Values {
				return condition.Values{Numbers: rec.Conditions, Names: rec.Labels}
			})...)
		}

		for _, w := range o.Warnings {
			if in := codes[w.Code]; slices.Contains(checked, w.Code) && !slices.Contains(in, i) {
				if codes[w.Code] = append(in, i); len(in) == 0 {
					warnings = append(warnings, w)
				}
			}
		}
	}

	for k, w := range warnings {
		if in := codes[w.Code]; in != nil {
			warnings[k].Text += fmt.Sprintf(" (in %d of %d files)", len(in), len(files))
		}
	}

	if n := len(bad) - maxFaults; n > 0 {
		bad = append(bad[:maxFaults], fmt.Errorf("and %d more files", n))
	}

	rates := lists.Each(read, func(i int) float64 { return files[i].rateHz() })
	groups := lists.Alike(rates)
	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	if len(groups) > 1 {
		first := func(g []int) string { return rec.Files[read[g[0]]].Name }
		parts := lists.Each(groups, func(g []int) string {
			return fmt.Sprintf("%g Hz in %d (first %s)", rates[g[0]], len(g), first(g))
		})

		warnings = append(warnings, ingest.Warn(first(groups[1]), "rates", "the sampling rates of the files differ: %s",
			strings.Join(parts, ", ")))
	}

	return warnings, errors.Join(bad...)
}

// maxScanned bounds the bytes of an experiment whose samples CheckFiles reads to find those that
// are no numbers.
const maxScanned = 256 << 20

// fits reports a run that the construction cannot analyse, by its header: a recording that is too
// short, a harmonic above the Nyquist frequency.
func (r *reader) fits(run ingest.Run) error {
	n := length(r.info, run)
	if n == 0 || r.src.In.Tachometer != nil {
		return nil // reported when samples are read, or only pulses give the speed
	}

	described := NewRun(r.src, r.info, run, n, make([]float64, len(run.Recordings)), make([]string, len(run.Recordings)))
	var err error
	switch c := r.src.Construction.(type) {
	case dsp.OfSpectra:
		_, err = c.Spectra(described)

	case dsp.Drawer:
		_, _, err = c.Draw(described, int(n))
	}

	hint := rateHint(described.RateHz, r.src.In.RateHz)
	if data, is := errors.AsType[*fault.Error](err); is && hint != "" && len(described.Microphones) > 0 {
		data.Hint = hint + "; else " + data.Hint
	}

	return Placed(err, r.info.Path, run.Place)
}

// lowRateHz is the sampling rate below which that of microphones is probably in kHz.
const lowRateHz = 500

// rateHint asks for the rate in another unit where it is no microphone's; "" where it may be.
func rateHint(rate, stated float64) string {
	from := "in the file"
	if stated > 0 {
		from = "rate_hz"
	}

	if !(rate > 0 && rate < lowRateHz) {
		return ""
	}

	return fmt.Sprintf("a sampling rate of %g Hz (%s) may be meant in kHz: write rate_hz: %g", rate, from, 1000*rate)
}

// scan is stats.Scan of a check: it reads the first and the last second of files of integers, and of those
// that are too many to be read whole, and finds samples that are no numbers or cannot be read.
func (r *reader) scan(ctx context.Context, run ingest.Run) (sums []stats.Summary, warnings []ingest.Warning,
	err error,
) {
	ends := r.ends
	if q, ok := r.rd.(ingest.Quantized); ok {
		step, _, _ := q.Quantum()
		ends = ends || step > 0
	}

	c := r.info.Channels[run.Recordings[0].Channels[0]]
	from, to := run.Interval(c.Samples)
	second := max(1, int64(c.RateHz))
	if !ends || from+second >= to {
		return stats.Scan(ctx, r.rd, run)
	}

	for _, row := range []int64{from, max(from, to-second)} {
		run.Row0, run.Row1 = row, min(to, row+second)

		var found []ingest.Warning
		if sums, found, err = stats.Scan(ctx, r.rd, run); err != nil {
			return nil, nil, err
		}

		warnings = append(warnings, found...)
	}

	return sums, warnings, nil
}

// scanned is how many of the first files have their samples read.
func (r *Recordings) scanned() int {
	total := int64(0)
	for i, f := range r.Files {
		if fi, err := os.Stat(f.File.Open); err == nil {
			total += fi.Size()
		}

		if total > maxScanned {
			return i
		}
	}

	return len(r.Files)
}

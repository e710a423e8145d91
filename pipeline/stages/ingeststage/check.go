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
	"doubletake/ingest/setting"
	"doubletake/ingest/stats"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/triplets"
)

// CheckFiles opens the files of an experiment, reads their headers and assembles their runs. It finds missing columns
// and channels, units that cannot be used, recordings of one run that no condition tells apart, rates that differ or
// are in another unit, and runs that the construction cannot analyse, for instance because they are too short.
//
// CheckFiles reads a table of pairs and the recordings of a calibrator whole. It also reads all samples of the first
// files, up to maxScanned bytes, if their samples may not be numbers. It reads the first and the last second of any
// other file.
//
// CheckFiles returns r with the conditions of all recordings that it could read, or of the pairs of the table. The
// error joins the errors of at most maxFaults files.
func CheckFiles(ctx context.Context, exp plan.Experiment, r Result) (Result, []ingest.Warning, error) {
	if r.Pairs != nil && r.Pairs.Toy == nil {
		warnings, err := r.checkTable(exp)
		return r, warnings, err
	}

	if r.Recordings == nil || r.Recordings.Simulated {
		return r, nil, nil
	}

	var calibrations []Sensitivity
	if r.Recordings.Calibrator != nil {
		var err error
		calibrations, err = measureCalibrator(ctx, exp, r.Recordings.Source)
		if err != nil {
			return r, nil, err
		}
	}

	n := len(r.Recordings.Files)
	scanned := r.Recordings.scannedFiles()
	files := make([]*FileResult, n)
	errs := make([]error, n)
	parallel.Do(runtime.GOMAXPROCS(0), n, func(i int) {
		files[i], errs[i] = r.Recordings.checkFile(ctx, i, i < scanned, calibrations)
	})

	warnings, err := r.gather(files, errs)
	if err != nil {
		return r, warnings, err
	}

	err = r.moveToSetPoints()

	return r, warnings, err
}

// checkTable reads a table of pairs, checks its outcomes, and stores its conditions and set points. It returns the
// warnings.
func (r *Result) checkTable(exp plan.Experiment) ([]ingest.Warning, error) {
	pairTable, err := readTables(r.Pairs.Files, r.Pairs.Options)
	if err != nil {
		return nil, err
	}

	if err := checkConstant(exp, r.Pairs.Files[0].Name, pairTable); err != nil {
		return nil, err
	}

	r.Known = rowsOf(pairTable)
	if err := r.moveToSetPoints(); err != nil {
		return nil, err
	}

	return pairTable.Warnings, nil
}

// checkConstant adds a warning to the table for each outcome that is one number in all pairs: training leaves it out.
// It returns an error if the configuration names such an outcome, or if all outcomes are constant.
func checkConstant(exp plan.Experiment, path string, pairTable *campaign.PairTable) error {
	if pairTable.N < 2 || len(exp.Train.Splits) == 0 {
		return nil
	}

	named := len(exp.Train.Outcomes) > 0
	trained := pairTable.Outcomes
	if named {
		trained = exp.Train.Outcomes
	}

	var same []string
	for _, name := range trained {
		k := slices.Index(pairTable.Outcomes, name)
		if k >= 0 && triplets.ScaleOf(1, pairTable.Y1[k], pairTable.Y2[k]).Std[0] == 0 {
			same = append(same, fmt.Sprintf("%s is %g in all %d pairs", name, pairTable.Y1[k][0], pairTable.N))
		}
	}

	if len(same) > 0 && (named || len(same) == len(trained)) {
		return fault.At(path, "", "outcomes that vary", same[0],
			"nothing can be learnt of it: name the other columns under table: {y1: …, y2: …}, or repeats")
	}

	for _, text := range same {
		pairTable.Warnings = append(pairTable.Warnings,
			ingest.Warn(path, "constant-outcome", "%s: nothing is trained on it", text))
	}

	return nil
}

// checkFile checks file i as its task would read it, and adds warnings that only concern the check. It reads all
// samples if whole is true, and few otherwise.
func (r *Recordings) checkFile(ctx context.Context, i int, whole bool, calibrations []Sensitivity) (*FileResult,
	error,
) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	rd := &reader{
		src: r.Source, calibrations: calibrations, file: r.Files[i], path: r.Files[i].File.Open, check: true, ends: !whole,
	}
	res, err := rd.read(ctx)
	if err != nil {
		return nil, err
	}

	if n := mostAlike(res.Runs); n > 1 {
		res.Warnings = append(res.Warnings, ingest.Warn(res.Path, "alike", "%d microphones of one run have equal "+
			"conditions; give what tells them apart (an angle for each channel: a column channel in the table of "+
			"conditions, or inside: "+
			"{theta_deg: ARRAY}), or choose one with channels", n))
	}

	channels := 0
	for _, channel := range res.Info.Channels {
		if channel.Role() == "" {
			channels++
		}
	}

	if unused := channels - len(r.Ingest.Channels); r.channelsListed && unused > 0 && r.Ingest.Tachometer == nil {
		res.Warnings = append(res.Warnings, ingest.Warn(res.Path, "unlisted-channels",
			"%d of %d channels have no row in %s: they are not used", unused, channels, r.Ingest.Microphones.File))
	}

	if _, microphones := r.Construction.(dsp.OfSpectra); microphones {
		if hint := rateHint(res.rateHz(), r.Ingest.RateHz); hint != "" {
			res.Warnings = append(res.Warnings, ingest.Warn(res.Path, "rate-unit", "%s", hint))
		}
	}

	if err := checkColumns(&r.Ingest, res.Info); err != nil {
		return nil, err
	}

	return res, nil
}

// mostAlike returns the largest number of recordings of one run that have equal conditions. It is 1 if conditions tell
// all recordings apart.
func mostAlike(runs []RunResult) int {
	most := 0
	for _, run := range runs {
		alike := map[string]int{}
		for _, rec := range run.Run.Recordings {
			conditions := fmt.Sprint(rec.Conditions)
			alike[conditions]++
			most = max(most, alike[conditions])
		}
	}

	return most
}

// rateHz returns the sampling rate of the first channel used, rounded to nine digits: 1000.0000000000001 Hz is 1000 Hz.
func (o *FileResult) rateHz() float64 {
	rate := o.Info.Channels[o.Runs[0].Run.Recordings[0].Channels[0]].RateHz
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 9, 64), 64) // a formatted number can be parsed

	return rounded
}

// checkColumns returns an error if the unit of a balance's column cannot be converted to the unit of its outcome. It
// skips loads of a matrix, which are not columns of the file, and units that the configuration states: stage dsp checks
// the former, setUnits the latter.
func checkColumns(settings *setting.Campaign, info ingest.Info) error {
	for _, column := range settings.Columns {
		k, err := ingest.FindChannel(info, column.Value)
		_, given := setting.Find(settings.Units, column.Name)
		if err != nil || given {
			continue
		}

		if _, _, err := ConvertSeries(info.Path, column.Value, column.Name, info.Channels[k].Unit, nil); err != nil {
			return err
		}
	}

	return nil
}

// maxFaults is the largest number of bad files that CheckFiles names.
const maxFaults = 10

// checkedCodes lists the codes of the warnings about recordings that gather passes on. Reading a few samples finds the
// others only by chance.
var checkedCodes = []string{
	"clock-unit", "odd-rate", "rates-contradict", "start-times", "missing-code", "spikes", "alike", "rate-unit",
	"unlisted-channels", codeImplausible,
}

// gather stores the conditions of all recordings and returns the warnings about the files. It returns the first warning
// of each code, with the number of files that have one. The error joins the errors of the files, of which it names
// maxFaults.
func (r *Result) gather(files []*FileResult, errs []error) ([]ingest.Warning, error) {
	rec := r.Recordings
	r.Known = nil

	var warnings []ingest.Warning
	var faults []error
	var readable []int           // indices of the files without error
	affected := map[string]int{} // number of files by the code of a warning
	for i, res := range files {
		if BadRecording(rec.Source, errs[i]) {
			warnings = append(warnings, ingest.Warn(rec.Files[i].Name, "", "it will be left out: %v", errs[i]))
			continue
		}

		if errs[i] != nil {
			faults = append(faults, errs[i])
			continue
		}

		readable = append(readable, i)
		for _, run := range res.Runs {
			for _, recording := range run.Run.Recordings {
				r.Known = append(r.Known, condition.Values{Numbers: recording.Conditions, Names: recording.Labels})
			}
		}

		for _, warning := range firstOfCodes(res.Warnings) {
			affected[warning.Code]++
			if affected[warning.Code] == 1 {
				warnings = append(warnings, warning)
			}
		}
	}

	for k, warning := range warnings {
		if n := affected[warning.Code]; n > 0 {
			warnings[k].Text += fmt.Sprintf(" (in %d of %d files)", n, len(files))
		}
	}

	if n := len(faults) - maxFaults; n > 0 {
		faults = append(faults[:maxFaults], fmt.Errorf("and %d more files", n))
	}

	warnings = append(warnings, rec.warnRates(files, readable)...)
	warnings = append(warnings, warnCutShort(files, readable)...)
	warnings = append(warnings, warnNumberedColumns(files, readable)...)

	return warnings, errors.Join(faults...)
}

// firstOfCodes returns the first warning of each code in checkedCodes.
func firstOfCodes(warnings []ingest.Warning) []ingest.Warning {
	seen := map[string]bool{}
	var list []ingest.Warning
	for _, warning := range warnings {
		if slices.Contains(checkedCodes, warning.Code) && !seen[warning.Code] {
			seen[warning.Code] = true
			list = append(list, warning)
		}
	}

	return list
}

// warnRates warns if the sampling rates of the readable files differ. readable contains their indices.
func (r *Recordings) warnRates(files []*FileResult, readable []int) []ingest.Warning {
	var rates []float64
	for _, i := range readable {
		rates = append(rates, files[i].rateHz())
	}

	groups := lists.Alike(rates)
	if len(groups) < 2 {
		return nil
	}

	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	var parts []string
	for _, group := range groups {
		first := r.Files[readable[group[0]]].Name
		parts = append(parts, fmt.Sprintf("%g Hz in %d (first %s)", rates[group[0]], len(group), first))
	}

	return []ingest.Warning{ingest.Warn(r.Files[readable[groups[1][0]]].Name, "rates",
		"the sampling rates of the files differ: %s", strings.Join(parts, ", "))}
}

// warnCutShort warns of recordings that are shorter than their siblings. It does not judge files of which parts are
// used. readable contains the indices of the files that could be read.
func warnCutShort(files []*FileResult, readable []int) []ingest.Warning {
	var lengths []campaign.Length
	for _, i := range readable {
		run := files[i].Runs[0].Run
		channel := files[i].Info.Channels[run.Recordings[0].Channels[0]]
		if run.ID != run.Path {
			return nil
		}

		lengths = append(lengths, campaign.Length{File: files[i].Path, Samples: channel.Samples, RateHz: channel.RateHz})
	}

	return campaign.WarnCutShort(lengths)
}

// warnNumberedColumns warns if texts without names of columns have different numbers of columns: column 3 of one may be
// column 2 of the other. readable contains the indices of the files that could be read.
func warnNumberedColumns(files []*FileResult, readable []int) []ingest.Warning {
	var first *FileResult
	for _, i := range readable {
		file := files[i]
		switch {
		case !file.Info.HasNumberedColumns():
		case first == nil:
			first = file
		case len(file.Info.Channels) != len(first.Info.Channels):
			return []ingest.Warning{ingest.Warn(file.Path, "numbered-columns", "its %d columns have no names, and %s has %d: "+
				"the same number may mean another quantity in the two; exclude one kind of file, or read each kind in an "+
				"experiment of its own", len(file.Info.Channels), first.Path, len(first.Info.Channels))}
		}
	}

	return nil
}

// maxScanned bounds the bytes of an experiment's files whose samples CheckFiles reads to find samples that are not
// numbers.
const maxScanned = 256 << 20

// fits returns an error if the construction cannot analyse a run, as far as the file's header tells: if the recording
// is too short, or a harmonic is above the Nyquist frequency.
func (r *reader) fits(run ingest.Run) error {
	n := length(r.info, run)
	if n == 0 || r.src.Ingest.Tachometer != nil {
		return nil // the samples' reader reports an empty run; with a tachometer only its pulses give the speed
	}

	described := NewRun(r.src, r.info, run, n, make([]float64, len(run.Recordings)), make([]string, len(run.Recordings)))
	var err error
	switch c := r.src.Construction.(type) {
	case dsp.OfSpectra:
		_, err = c.Spectra(described)

	case dsp.Drawer:
		_, _, err = c.Draw(described, int(n))
	}

	hint := rateHint(described.RateHz, r.src.Ingest.RateHz)
	if data, ok := errors.AsType[*fault.Error](err); ok && hint != "" && len(described.Microphones) > 0 {
		data.Hint = hint + "; else " + data.Hint
	}

	return Placed(err, r.info.Path, run.Place)
}

// lowRateHz is the sampling rate below which a microphone's rate is probably in kHz.
const lowRateHz = 500

// rateHint suggests another unit if the rate is implausible for a microphone, and returns "" otherwise. stated is the
// rate in the configuration, or 0.
func rateHint(rate, stated float64) string {
	if !(rate > 0 && rate < lowRateHz) {
		return ""
	}

	place := "in the file"
	if stated > 0 {
		place = "rate_hz"
	}

	return fmt.Sprintf("a sampling rate of %g Hz (%s) may be meant in kHz: write rate_hz: %g", rate, place, 1000*rate)
}

// scanForCheck reads samples of a run with stats.Scan, to find samples that are not numbers or cannot be read. It reads
// all of them only if r.ends is false and the samples may not be numbers, which integers always are. Otherwise it reads
// the first and the last second, and returns the statistics of the last second.
func (r *reader) scanForCheck(ctx context.Context, run ingest.Run) ([]stats.Summary, []ingest.Warning, error) {
	onlyEnds := r.ends
	if q, ok := r.rd.(ingest.Quantized); ok {
		step, _, _ := q.Quantum()
		onlyEnds = onlyEnds || step > 0
	}

	channel := r.info.Channels[run.Recordings[0].Channels[0]]
	begin, end := run.Interval(channel.Samples)
	second := max(1, int64(channel.RateHz))
	if !onlyEnds || begin+second >= end {
		return stats.Scan(ctx, r.rd, run)
	}

	var sums []stats.Summary
	var warnings []ingest.Warning
	for _, row := range []int64{begin, max(begin, end-second)} {
		run.Row0 = row
		run.Row1 = min(end, row+second)

		last, found, err := stats.Scan(ctx, r.rd, run)
		if err != nil {
			return nil, nil, err
		}

		sums = last
		warnings = append(warnings, found...)
	}

	return sums, warnings, nil
}

// scannedFiles returns how many files have all their samples read: the first ones, up to maxScanned bytes.
func (r *Recordings) scannedFiles() int {
	total := int64(0)
	for i, file := range r.Files {
		if fi, err := os.Stat(file.File.Open); err == nil {
			total += fi.Size()
		}

		if total > maxScanned {
			return i
		}
	}

	return len(r.Files)
}

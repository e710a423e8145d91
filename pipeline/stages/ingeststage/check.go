package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
)

// opened is what the header of one file shows.
type opened struct {
	rates      []float64
	conditions []map[string]float64 // of its recordings
	labels     []map[string]string  // of its recordings
	alike      int                  // recordings of one run with equal conditions
	clock      []ingest.Warning     // of a doubtful unit of the time, and of the rate it gives
	err        error
}

// CheckFiles opens the files of an experiment, reads their headers and assembles
// their runs: it finds missing columns and channels, units that cannot be used,
// recordings of one run that no condition tells apart, rates that differ or are in
// another unit, and runs that the construction cannot analyse, as too short ones. Of
// files whose samples may be no numbers it reads the samples, up to maxScanned bytes; a
// table of pairs it reads whole. It returns the result with the conditions of all recordings that could be
// read, or those of the table. The error joins those of at most maxFaults files.
func CheckFiles(ctx context.Context, r Result) (Result, []ingest.Warning, error) {
	if r.Pairs != nil && r.Pairs.Table != nil {
		return checkTable(r)
	}

	if r.Recordings == nil || r.Recordings.Simulated {
		return r, nil, nil
	}

	files, scanned := make([]opened, len(r.Recordings.Files)), r.Recordings.scanned()
	var wg sync.WaitGroup

	places := make(chan bool, runtime.GOMAXPROCS(0))
	for i := range files {
		places <- true
		wg.Go(func() {
			files[i] = r.Recordings.checkFile(ctx, i, i < scanned)
			<-places
		})
	}

	wg.Wait()

	known, warnings, err := r.Recordings.gather(files)
	r.Known, r.KnownLabels = known, nil
	if err == nil {
		err = r.atSetPoints()
	}

	for _, f := range files {
		if f.err == nil {
			r.KnownLabels = append(r.KnownLabels, f.labels...)
		}
	}

	return r, warnings, err
}

// checkTable reads a table of pairs.
func checkTable(r Result) (Result, []ingest.Warning, error) {
	p, err := r.Pairs.read()
	if err != nil {
		return r, nil, err
	}

	seen := map[string]bool{}

	r.Known, r.KnownLabels = nil, nil
	for i := range p.N {
		c, l := map[string]float64{}, map[string]string{}
		for k, name := range p.Inputs {
			c[name] = p.X[i*len(p.Inputs)+k]
		}

		for k, name := range p.Labels {
			l[name] = p.Texts[i*len(p.Labels)+k]
		}

		if key := fmt.Sprint(conditionsOf(r.Conditions, c), l); !seen[key] {
			seen[key] = true
			r.Known, r.KnownLabels = append(r.Known, c), append(r.KnownLabels, l)
		}
	}

	for i, w := range p.Warnings {
		for _, f := range r.Pairs.Table.Files {
			if w.Path == f.Path {
				p.Warnings[i].Path = f.Name
			}
		}
	}

	return r, p.Warnings, r.atSetPoints()
}

func (r *Recordings) checkFile(ctx context.Context, i int, scan bool) (o opened) {
	if o.err = ctx.Err(); o.err != nil {
		return o
	}

	f := &reader{src: r.Source, file: r.Files[i], path: r.Files[i].File.Open}
	rd, err := f.open(ctx)
	if err != nil {
		o.err = f.named(err)
		return o
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = f.file.Name
	for _, w := range info.Warnings {
		if w.Code == "clock-unit" || w.Code == "odd-rate" {
			o.clock = append(o.clock, w)
		}
	}

	runs, _, err := f.runs(ctx, rd, info)
	if err != nil {
		o.err = err
		return o
	}

	for _, run := range runs {
		seen := map[string]int{}
		for _, rec := range run.Recordings {
			o.conditions, o.labels = append(o.conditions, rec.Conditions), append(o.labels, rec.Labels)
			rate := info.Channels[rec.Channels[0]].RateHz
			o.rates = append(o.rates, rate)
			key := conditionsOf(r.Conditions, rec.Conditions)
			seen[key]++

			if n := seen[key]; n > 1 {
				o.alike = max(o.alike, n)
			}
		}
	}

	if o.err = checkColumns(&r.In, info); o.err != nil {
		return o
	}

	if r.In.OnBadRecording == "warn" && (len(runs) > 1 || len(runs[0].Recordings) > 1) {
		return o // the task leaves out a part, and names it
	}

	for _, run := range runs {
		if o.err = f.fits(info, run); o.err != nil {
			return o
		}

		if scan {
			if o.err = f.finite(ctx, rd, run); o.err != nil {
				return o
			}
		}
	}

	return o
}

// conditionsOf writes the values of all conditions of a recording.
func conditionsOf(names []string, c map[string]float64) string {
	parts := make([]string, len(names))
	for i, name := range names {
		v, ok := c[name]
		parts[i] = strconv.FormatBool(ok) + strconv.FormatFloat(v, 'g', -1, 64)
	}

	return strings.Join(parts, ",")
}

// checkColumns checks the units of a balance's outcomes.
func checkColumns(in *config.Ingest, info ingest.Info) error {
	stated := byName(in.Units)
	for _, c := range in.Columns {
		k, err := ingest.FindChannel(info, c.Value)
		if _, given := stated[c.Name]; err != nil || given {
			continue // a load of the balance's matrix; units of the configuration were checked
		}

		if _, err := units.ToName(c.Name, info.Channels[k].Unit); err != nil {
			_, _, err = ConvertSeries(info.Path, c.Value, c.Name, info.Channels[k].Unit, nil)
			return err
		}
	}

	return nil
}

// maxFaults is how many bad files CheckFiles names.
const maxFaults = 10

// gather joins what the files show: the conditions of their recordings, and what to warn of.
func (r *Recordings) gather(files []opened) (known []map[string]float64, warnings []ingest.Warning, err error) {
	warn := func(i int, code, format string, args ...any) {
		warnings = append(warnings, ingest.Warning{Path: r.Files[i].Name, Code: code, Text: fmt.Sprintf(format, args...)})
	}
	var errs []error
	var alike []int              // files with recordings that no condition tells apart
	rates := map[float64][]int{} // files by rate
	clocks := map[string]int{}   // files by code of a warning of their clock
	for _, o := range files {
		for _, w := range o.clock {
			clocks[w.Code]++
		}
	}

	var order []float64 // of the rates, as they come
	for i, o := range files {
		if o.err != nil {
			if reason, skip := BadRecording(r.Source, o.err); skip {
				warn(i, "", "it will be left out: %s", reason)
			} else {
				errs = append(errs, o.err)
			}

			continue
		}

		known = append(known, o.conditions...)
		for _, w := range o.clock {
			if n := clocks[w.Code]; n > 0 { // of the first file
				warn(i, w.Code, "%s (in %d of %d files)", w.Text, n, len(files))
				delete(clocks, w.Code)
			}
		}

		if o.alike > 1 {
			alike = append(alike, i)
		}

		if len(o.rates) > 0 {
			rate := o.rates[0]
			if rates[rate] == nil {
				order = append(order, rate)
			}

			rates[rate] = append(rates[rate], i)
		}
	}

	if n := len(errs) - maxFaults; n > 0 {
		errs = append(errs[:maxFaults], fmt.Errorf("and %d more files", n))
	}

	if len(alike) > 0 {
		warn(alike[0], "alike", "%d microphones of one run have equal conditions, in %d of %d files; give what tells them "+
			"apart (an angle for each channel: a column channel in the table of conditions, or inside: {theta_deg: ARRAY}), "+
			"or choose one with channels", files[alike[0]].alike, len(alike), len(files))
	}

	if _, microphones := r.Construction.(dsp.OfSpectra); microphones {
		for _, rate := range order {
			if hint := rateHint(rate, r.In.RateHz); hint != "" {
				warn(rates[rate][0], "rate-unit", "%s (in %d of %d files)", hint, len(rates[rate]), len(files))
			}
		}
	}

	if len(order) > 1 {
		slices.SortStableFunc(order, func(x, y float64) int { return len(rates[y]) - len(rates[x]) })

		var parts []string
		for _, rate := range order {
			in := rates[rate]
			parts = append(parts, fmt.Sprintf("%g Hz in %d (first %s)", rate, len(in), r.Files[in[0]].Name))
		}

		warn(rates[order[1]][0], "rates", "the sampling rates of the files differ: %s", strings.Join(parts, ", "))
	}

	return known, warnings, errors.Join(errs...)
}

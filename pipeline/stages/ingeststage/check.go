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

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/units"
	"doubletake/pipeline/stages/plan"
)

// opened is what the header of one file shows.
type opened struct {
	rates      []float64
	conditions []map[string]float64 // of its recordings
	alike      int                  // recordings of one run with equal conditions
	err        error
}

// CheckFiles opens the files of an experiment, reads their headers and assembles
// their runs: it finds missing columns and channels, units that cannot be used,
// recordings of one run that no condition tells apart, and rates that differ. It
// reads no samples but those of tables inside the files; a table of pairs it reads
// whole. Afterwards b.Known holds the conditions of all recordings that could be
// read, or those of the table. The error joins those of at most maxFaults files.
func CheckFiles(ctx context.Context, b *plan.Builder) ([]ingest.Warning, error) {
	if b.Table != nil {
		return checkTable(b)
	}
	if b.Source == nil || b.Campaign != nil {
		return nil, nil
	}
	files := make([]opened, len(b.Raw))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				files[i] = checkFile(ctx, b, i)
			}
		}()
	}
	for i := range b.Raw {
		next <- i
	}
	close(next)
	wg.Wait()
	return gather(b, files)
}

// checkTable reads a table of pairs.
func checkTable(b *plan.Builder) ([]ingest.Warning, error) {
	p, err := campaign.ReadTables(b.Table.Files, b.Table.Options)
	if err != nil {
		return nil, NamedTable(err, b.Table.Files)
	}
	seen := map[string]bool{}
	b.Known = nil
	for x := range slices.Chunk(p.X, len(p.Inputs)) {
		c := map[string]float64{}
		for k, name := range p.Inputs {
			c[name] = x[k]
		}
		if key := conditionsOf(b, c); !seen[key] {
			seen[key] = true
			b.Known = append(b.Known, c)
		}
	}
	for i, w := range p.Warnings {
		for _, f := range b.Table.Files {
			if w.Path == f.Path {
				p.Warnings[i].Path = f.Name
			}
		}
	}
	return p.Warnings, nil
}

func checkFile(ctx context.Context, b *plan.Builder, i int) (o opened) {
	if o.err = ctx.Err(); o.err != nil {
		return o
	}
	r := b.Raw[i]
	f := &file{b: b, src: b.Source, conditions: b.PerFile[i], sidecar: b.Sidecars[r.Name], name: r.Name, path: r.File.Open}
	rd, err := f.open()
	if err != nil {
		o.err = f.named(err)
		return o
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = f.name
	runs, _, err := f.runs(ctx, rd, info)
	if err != nil {
		o.err = err
		return o
	}
	for _, run := range runs {
		seen := map[string]int{}
		for _, rec := range run.Recordings {
			o.conditions = append(o.conditions, rec.Conditions)
			o.rates = append(o.rates, info.Channels[rec.Channels[0]].RateHz)
			seen[conditionsOf(b, rec.Conditions)]++
		}
		for _, n := range seen {
			if n > 1 {
				o.alike = max(o.alike, n)
			}
		}
	}
	o.err = checkColumns(b, info)
	return o
}

// conditionsOf writes the values of all conditions of a recording.
func conditionsOf(b *plan.Builder, c map[string]float64) string {
	parts := make([]string, len(b.Conditions))
	for i, name := range b.Conditions {
		v, ok := c[name]
		parts[i] = strconv.FormatBool(ok) + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(parts, ",")
}

// checkColumns checks the units of a balance's outcomes.
func checkColumns(b *plan.Builder, info ingest.Info) error {
	stated := statedUnits(b.Source.In)
	for _, c := range b.Source.In.Columns {
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

// gather joins what the files show.
func gather(b *plan.Builder, files []opened) (warnings []ingest.Warning, err error) {
	warn := func(i int, code, format string, args ...any) {
		warnings = append(warnings, ingest.Warning{Path: b.Raw[i].Name, Code: code, Text: fmt.Sprintf(format, args...)})
	}
	var errs []error
	var known []map[string]float64
	bad := 0
	rates := map[float64]int{} // of files, by rate
	var order []float64
	first := map[float64]int{}
	alike, alikeAt := 0, -1
	for i, o := range files {
		if o.err != nil {
			if reason, skip := BadRecording(b.Source, o.err); skip {
				warn(i, "", "it will be left out: %s", reason)
				continue
			}
			if bad++; bad <= maxFaults {
				errs = append(errs, o.err)
			}
			continue
		}
		known = append(known, o.conditions...)
		if o.alike > 1 {
			if alike++; alikeAt < 0 {
				alikeAt = i
			}
		}
		for _, r := range o.rates[:min(1, len(o.rates))] {
			if rates[r]++; rates[r] == 1 {
				order, first[r] = append(order, r), i
			}
		}
	}
	if bad > maxFaults {
		errs = append(errs, fmt.Errorf("and %d more files", bad-maxFaults))
	}
	if alike > 0 {
		warn(alikeAt, "alike", "%d microphones of one run have equal conditions, in %d of %d files; give what tells them "+
			"apart (an angle for each channel: a column channel in the table of conditions, or inside: {theta_deg: ARRAY}), "+
			"or choose one with channels", files[alikeAt].alike, alike, len(files))
	}
	if len(order) > 1 {
		slices.SortStableFunc(order, func(x, y float64) int { return rates[y] - rates[x] })
		var parts []string
		for _, r := range order {
			parts = append(parts, fmt.Sprintf("%g Hz in %d (first %s)", r, rates[r], b.Raw[first[r]].Name))
		}
		warn(first[order[1]], "rates", "the sampling rates of the files differ: %s", strings.Join(parts, ", "))
	}
	b.Known = known
	return warnings, errors.Join(errs...)
}

package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/internal/lists"
	"doubletake/pipeline/inspect"
	"doubletake/report"
)

func runInspect(c *call) error {
	o := ingest.Options{RateHz: c.Float64("rate"), Format: c.String("format"), Truncated: c.String("truncated")}
	if err := format.Check(o); err != nil {
		return usage("%v", err)
	}

	in := fault.Get(inspect.File(c.ctx, c.arg(0), o))
	draw := -1
	if rec := in.Recording; rec != nil && c.String("channel") != "" {
		info := ingest.Info{Path: in.Path, Channels: lists.Each(rec.Channels, func(c inspect.Channel) ingest.Channel {
			return ingest.Channel{Name: c.Name}
		})}
		draw = fault.Get(ingest.FindChannel(info, c.String("channel")))
	}

	if c.Bool("json") {
		return printJSON(c.stdout, in)
	}

	printInspection(c.stdout, in, draw)

	return nil
}

// most bounds how many channels, attributes or columns a terminal is shown.
const most = 40

// few are the first of a list.
func few[T any](list []T) []T { return list[:min(most, len(list))] }

// more counts the others.
func more[T any](w io.Writer, list []T, words string) {
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(w, words, n)
	}
}

func printInspection(w io.Writer, in *inspect.Description, draw int) {
	fmt.Fprintf(w, "%s: %s, %d bytes\n", in.Path, in.Kind, in.Bytes)

	switch {
	case in.Recording != nil:
		printRecording(w, in.Recording, draw)
	case in.Table != nil:
		printTable(w, in.Table)
	case in.Model != nil:
		printModel(w, in)
	}

	for _, s := range in.Warnings {
		fmt.Fprintln(w, "warning:", s)
	}
}

func num[T ~float64](n T) string {
	if math.IsNaN(float64(n)) {
		return "–"
	}
	return strconv.FormatFloat(float64(n), 'g', 5, 64)
}

func printRecording(w io.Writer, r *inspect.Recording, draw int) {
	fmt.Fprintf(w, "%s, %s\n", r.Format, r.Encoding)

	for _, a := range few(r.Attributes) {
		fmt.Fprintf(w, "  %s: %s\n", a.Name, strings.ReplaceAll(a.Value, "\n", "; "))
	}

	more(w, r.Attributes, "  … and %d more attributes (--json lists them)\n")

	fmt.Fprintln(w)
	l := report.Listing{Heads: []string{
		"#", "channel", "unit", "rate Hz", "samples", "duration s", "min", "max", "mean (DC)", "rms", "clipped", "constant",
		"not finite",
	}}
	orDash := func(v float64) string {
		if v == 0 {
			return "–"
		}
		return strconv.FormatFloat(v, 'g', 8, 64)
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }

	for i, c := range few(r.Channels) {
		unit := c.Unit
		switch {
		case unit == "":
			unit = "–"
		case c.Converted != "":
			unit += " (" + c.Converted + ")"
		}

		name := c.Name
		if c.Role != "" {
			name += " (" + c.Role + ")"
		}

		l.Add(strconv.Itoa(i+1), name, unit, orDash(c.RateHz), count(c.Samples), orDash(c.DurationS), num(c.Min),
			num(c.Max), num(c.DC), num(c.RMS), count(c.Clipped), count(c.Constant), count(c.NaN))
	}

	l.Write(w, width(w))

	more(w, r.Channels, "… and %d more channels (--json lists them)\n")

	for _, u := range few(r.Unread) {
		fmt.Fprintf(w, "not read: %s: %s\n", u.Name, u.Reason)
	}

	more(w, r.Unread, "… and %d more\n")

	if draw < 0 {
		draw = slices.IndexFunc(r.Channels, func(c inspect.Channel) bool { return c.Spectrum != nil })
	}

	if draw < 0 || r.Channels[draw].Spectrum == nil {
		printRows(w, r)
	} else {
		drawSpectrum(w, r.Channels[draw])
	}
}

// printRows previews the first samples.
func printRows(w io.Writer, r *inspect.Recording) {
	l := report.Listing{Heads: []string{"channel"}}
	for _, c := range few(r.Channels) {
		cells := []string{c.Name}
		for k, v := range c.First {
			cells = append(cells, num(v))
			if len(l.Heads) < len(cells) {
				l.Heads = append(l.Heads, strconv.Itoa(k+1))
			}
		}

		l.Add(cells...)
	}

	fmt.Fprintln(w, "\nfirst samples:")
	l.Write(w, width(w))
}

// drawSpectrum draws levels over a linear frequency axis: each column is the
// strongest bin of its share.
func drawSpectrum(w io.Writer, c inspect.Channel) {
	const width, height = 72, 12
	s := c.Spectrum
	bins := len(s.Power) - 1 // without 0 Hz
	cols := min(width, bins)
	level := make([]float64, cols)

	top, bottom := math.Inf(-1), math.Inf(1)
	for i := range level {
		p := 0.0
		for k := 1 + i*bins/cols; k < 1+(i+1)*bins/cols; k++ {
			p = max(p, float64(s.Power[k]))
		}

		level[i] = 10 * math.Log10(p)
		if p > 0 {
			top, bottom = max(top, level[i]), min(bottom, level[i])
		}
	}

	if math.IsInf(top, 0) {
		return
	}

	bottom = max(bottom, top-96)
	step := max(1, math.Ceil((top-bottom)/height))
	top = math.Ceil(top)

	unit := cmp.Or(c.Unit, "unit")

	fmt.Fprintf(w, "\nspectrum of %s: dB re 1 %s rms, %d segments of %.4g Hz\n", c.Name, unit, s.Segments, s.BinHz)

	blocks := []rune(" ▁▂▃▄▅▆▇█")
	for row := range height {
		lo := top - step*float64(row+1)

		var b strings.Builder
		for _, l := range level {
			f := (l - lo) / step
			b.WriteRune(blocks[int(math.Round(8*max(0, min(1, f))))])
		}

		fmt.Fprintf(w, "%6.0f │%s\n", top-step*float64(row), strings.TrimRight(b.String(), " "))
	}

	end := strconv.FormatFloat(s.BinHz*float64(bins), 'g', 6, 64) + " Hz"
	fmt.Fprintf(w, "       └%s\n        0%s%s\n", strings.Repeat("─", cols), strings.Repeat(" ", max(1, cols-1-len(end))),
		end)

	for _, p := range s.Peaks {
		fmt.Fprintf(w, "line at %.6g Hz: %.1f dB, %.0f dB above its surroundings\n", p.Hz, 10*math.Log10(p.Power), p.AboveDB)
	}
}

func printTable(w io.Writer, t *inspect.Table) {
	fmt.Fprintf(w, "%d rows, %d columns\n", t.Rows, len(t.Columns))

	for _, kv := range t.Metadata {
		if !strings.HasPrefix(kv.Key, "config:") {
			fmt.Fprintf(w, "  %s: %s\n", kv.Key, kv.Value)
		}
	}

	fmt.Fprintln(w)
	l := report.Listing{Heads: []string{
		"column", "type", "unit", "missing", "distinct", "min", "max", "mean", "first values",
	}}

	for _, c := range t.Columns {
		first := strings.Join(c.First[:min(3, len(c.First))], ", ")
		if r := []rune(first); len(r) > 60 {
			first = string(r[:59]) + "…"
		}

		unit := cmp.Or(c.Unit, "–")

		for _, how := range []string{"converted from ", "derived: "} {
			if i := strings.Index(c.Description, how); i >= 0 {
				unit += " (" + c.Description[i:] + ")"
			}
		}

		l.Add(c.Name, c.Type, unit, strconv.Itoa(c.Missing), strconv.Itoa(c.Distinct), num(c.Min), num(c.Max), num(c.Mean),
			first)
	}

	l.Write(w, width(w))
}

func printModel(w io.Writer, in *inspect.Description) {
	m := in.Model
	fmt.Fprintf(w, "experiment %s, split %s, seed %d: held out %s; %s data, %s pairs, %d training triplets\n\n",
		m.Experiment, m.Split, m.Seed, m.HeldOut, m.Data, m.Pairs, m.Triplets)
	l := report.Listing{Heads: []string{"", "name", "unit", "trained from", "to"}}
	for _, i := range m.Inputs {
		l.Add("input", i.Name, i.Unit, fmt.Sprint(i.Min), fmt.Sprint(i.Max))
	}

	for _, o := range m.Outcomes {
		l.Add("outcome", o.Name, o.Unit)
	}

	l.Write(w, width(w))
}

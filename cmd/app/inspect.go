package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest"
	"doubletake/pipeline/inspect"
	"doubletake/report"
)

func newInspectCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "show a recording, a table or a model", ArgsUsage: "FILE",
		Description: "FILE is a recording (WAV, NPY, NPZ, MAT, HDF5, TDMS, delimited text), a table of this program " +
			"(.arrow), or a model.json or its folder.\n\n" +
			"With --calibrator LEVEL a recording is also read as that of a sound calibrator: the sensitivity a run would " +
			"take from each of its channels, " +
			"and whether the tone is steady enough to be taken.\n\n" +
			"Example: pipeline inspect data/run_12.h5 --channel /Table1/Ds02-TACHO\n\n" +
			"Example: pipeline inspect data/calibrator.wav --calibrator 94\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "channel", Usage: "the channel whose spectrum is drawn, by name or number from 1; not " +
				"given: the first that has one"},
			&cli.Float64Flag{Name: "rate", Usage: "sampling rate in Hz where the file does not state it"},
			&cli.StringFlag{Name: "format", Usage: "format of the file, where its content does not show it"},
			&cli.StringFlag{Name: "truncated", Usage: "use: look into a file that is cut short"},
			&cli.Float64Flag{Name: "calibrator", Usage: "read it as a calibrator's recording: the level of its tone in dB re " +
				"20 µPa, e.g. 94 or 114"},
			&cli.Float64Flag{Name: "calibrator-hz", Usage: "frequency of its tone in Hz; not given: the strongest line above " +
				"20 Hz"},
			&cli.Float64Flag{Name: "from-s", Usage: "with --calibrator: first second of it to use"},
			&cli.Float64Flag{Name: "to-s", Usage: "with --calibrator: last second of it to use; not given: to the end"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("pipeline inspect takes one FILE, found %q", c.Args().Slice())
			}

			o := ingest.Options{RateHz: c.Float64("rate"), Format: c.String("format"), Truncated: c.String("truncated")}
			if err := inspect.CheckOptions(o); err != nil {
				return usage("%v", err)
			}

			calibrator, err := calibratorOptions(c)
			if err != nil {
				return err
			}

			in, err := inspect.File(c.Context, c.Args().First(), o)
			if err != nil {
				return err
			}

			draw := -1
			if rec := in.Recording; rec != nil && c.String("channel") != "" {
				var info ingest.Info
				info.Path = in.Path
				for _, ch := range rec.Channels {
					info.Channels = append(info.Channels, ingest.Channel{Name: ch.Name})
				}

				if draw, err = ingest.FindChannel(info, c.String("channel")); err != nil {
					return err
				}
			}

			if calibrator != nil {
				if err := inspect.MeasureCalibrator(c.Context, in, o, draw, *calibrator); err != nil {
					return err
				}
			}

			if c.Bool("json") {
				return printJSON(stdout, in)
			}

			printInspection(stdout, in, draw)

			return nil
		},
	}
}

// calibratorOptions reads the options of a calibrator's recording; nil without.
func calibratorOptions(c *cli.Context) (*inspect.Calibrator, error) {
	if !c.IsSet("calibrator") {
		for _, name := range []string{"calibrator-hz", "from-s", "to-s"} {
			if c.IsSet(name) {
				return nil, usage("--%s belongs to --calibrator LEVEL", name)
			}
		}

		return nil, nil
	}

	o := inspect.DefaultCalibrator(c.Float64("calibrator"))
	o.FrequencyHz, o.FromS, o.ToS = c.Float64("calibrator-hz"), c.Float64("from-s"), c.Float64("to-s")
	flags := map[string]string{
		"level_db": "calibrator", "frequency_hz": "calibrator-hz", "from_s": "from-s",
		"to_s": "to-s",
	}

	var err error
	o.Check(func(setting, text string) {
		if err == nil {
			err = usage("--%s: %s", flags[setting], text)
		}
	})

	return &o, err
}

// most bounds how many channels, attributes or columns a terminal is shown.
const most = 40

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

	for i, a := range r.Attributes {
		if i == most {
			fmt.Fprintf(w, "  … and %d more attributes (--json lists them)\n", len(r.Attributes)-most)
			break
		}

		fmt.Fprintf(w, "  %s: %s\n", a.Name, strings.ReplaceAll(a.Value, "\n", "; "))
	}

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

	for i, c := range r.Channels {
		if i == most {
			break
		}

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

	if n := len(r.Channels) - most; n > 0 {
		fmt.Fprintf(w, "… and %d more channels (--json lists them)\n", n)
	}

	printCalibrator(w, r)

	for i, u := range r.Unread {
		if i == most {
			fmt.Fprintf(w, "… and %d more\n", len(r.Unread)-most)
			break
		}

		fmt.Fprintf(w, "not read: %s: %s\n", u.Name, u.Reason)
	}

	if draw < 0 {
		for i, c := range r.Channels {
			if c.Spectrum != nil {
				draw = i
				break
			}
		}
	}

	switch {
	case draw < 0 || r.Channels[draw].Spectrum == nil:
		printRows(w, r)
	default:
		drawSpectrum(w, r.Channels[draw])
	}
}

// printCalibrator prints each channel's sensitivity as a calibrator's recording
// gives it, and whether it passes.
func printCalibrator(w io.Writer, r *inspect.Recording) {
	for _, c := range r.Channels {
		t := c.Calibrator
		if t == nil {
			continue
		}

		unit := cmp.Or(c.Unit, "unit")

		if t.PaPerUnit > 0 {
			above := fmt.Sprintf("%.0f dB", t.AboveDB)
			if t.AboveDB > 55 { // the window's own floor
				above = "more than 55 dB"
			}

			fmt.Fprintf(w, "\n%s as a calibrator of %g dB re 20 µPa: tone at %.6g Hz of %.6g %s rms, %s above the noise "+
				"around it\n", c.Name, t.LevelDB, t.FrequencyHz, t.RMS, unit, above)
			fmt.Fprintf(w, "  sensitivity: %.6g %s/Pa (%.6g Pa per %s)\n", t.UnitPerPa, unit, t.PaPerUnit, unit)
			fmt.Fprintf(w, "  steady: %.3f dB between %d blocks of %.3g s; %g dB are allowed\n", t.SpreadDB, t.Blocks, t.BlockS,
				t.AllowedDB)
		} else {
			fmt.Fprintf(w, "\n%s as a calibrator of %g dB re 20 µPa:\n", c.Name, t.LevelDB)
		}

		if t.Accepted {
			fmt.Fprintln(w, "  a run would take it")
		} else {
			fmt.Fprintln(w, "  a run would refuse it:", t.Fault)
		}
	}
}

// printRows previews the first samples.
func printRows(w io.Writer, r *inspect.Recording) {
	l := report.Listing{Heads: []string{"channel"}}
	for _, c := range r.Channels[:min(most, len(r.Channels))] {
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

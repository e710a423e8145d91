package stages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// runNote is what dsp has to say of a run besides its triplets.
type runNote struct {
	Run     string     `json:"run"`
	Flags   []dsp.Flag `json:"flags,omitempty"`
	Dropped int        `json:"dropped,omitempty"` // recordings left out under censored: drop
	Bounds  int        `json:"bounds,omitempty"`  // levels that are upper bounds
	Levels  int        `json:"levels,omitempty"`
	Near    int        `json:"near,omitempty"` // levels less than nearBackgroundDB above the background behind them
}

// fileNotes is what dsp has to say of a file.
type fileNotes struct {
	Notes    []runNote        `json:"notes"`
	Skipped  *skipped         `json:"skipped,omitempty"`
	Warnings []ingest.Warning `json:"warnings,omitempty"`
}

const notesJSON = "notes.json"

// dsp adds the tasks from recordings to triplets.arrow and spectra.arrow.
func (b *builder) dsp() error {
	if b.src == nil {
		return b.takePairs()
	}
	src, raw, d := b.src, b.raw, b.e.DSP
	spectra := !src.grouping.Together
	if spectra && slices.Contains(b.conditions, "rpm") && slices.Contains(b.conditions, "rps") {
		return b.f.Errorf(b.at+".ingest", "the shaft speed is a condition twice: rpm (1/min) and rps (rev/s); keep one")
	}
	if spectra && d.Track == nil && src.in.Tachometer == nil && !slices.Contains(b.conditions, "rpm") && !slices.Contains(b.conditions, "rps") {
		return b.f.Errorf(b.at+".dsp", "the shaft speed is not known: expected a condition rpm (in 1/min) or rps (in rev/s), a tachometer, or track: {range_hz: [from, to]} to find it in the sound; the conditions are %v", b.conditions)
	}
	if spectra && !slices.Contains(b.conditions, "blades") {
		return b.f.Errorf(b.at+".ingest", "the number of blades is not known: expected a condition blades, e.g. constants: {blades: 2}; the conditions are %v", b.conditions)
	}
	for _, w := range d.Within {
		if !slices.Contains(b.conditions, w.Name) {
			return b.f.Errorf(b.at+".dsp.within."+w.Name, "%q is not a condition of this experiment, which has %v", w.Name, b.conditions)
		}
	}
	// Only what the construction reads is part of the key.
	unread := []string{"dsp.within"}
	if spectra {
		unread = append(unread, "dsp.samples", "dsp.chord_m", "dsp.span_m", "dsp.density_kg_m3", "dsp.temperature_c", "dsp.pressure_pa", "dsp.seed")
	} else {
		for _, k := range []string{"segments", "window", "harmonics", "tolerance", "min_bins", "amplitude", "output", "speed", "track", "emergence_db", "censored", "distance"} {
			unread = append(unread, "dsp."+k)
		}
		if d.Triplets != "random-samples" {
			unread = append(unread, "dsp.samples", "dsp.seed")
		}
	}
	cfg := without(settings("dsp", d), unread...)
	if spectra && src.in.Tachometer != nil {
		cfg = append(cfg, settings("ingest.tachometer", *src.in.Tachometer)...)
	}
	if !spectra {
		cfg = append(cfg, settings("ingest", struct {
			Columns []config.NamedString `key:"columns"`
			Units   []config.NamedString `key:"units"`
			Axes    string               `key:"axes"`
			Balance *config.Balance      `key:"balance"`
		}{src.in.Columns, src.in.Units, src.in.Axes, src.in.Balance})...)
	}
	bg := b.measureBackground(src)
	b.background = bg
	var parts []engine.Dep // per-file tables, in file order
	for i, r := range raw {
		in := b.recordings[i]
		outputs := []string{"triplets.arrow", notesJSON}
		if spectra {
			outputs = append(outputs, "spectra.arrow")
		}
		t := &engine.Task{
			ID: b.id("dsp", r.name), Stage: "dsp", Version: dspVersion, Config: cfg, Weight: 0.05,
			Local: []engine.KV{{Key: "conditions", Value: strings.Join(b.conditions, ",")}, {Key: "on_bad_recording", Value: src.in.OnBadRecording}},
			Deps:  []engine.Dep{in},
		}
		r.needs(t)
		if bg != nil {
			t.Deps = append(t.Deps, *bg)
		}
		tare, err := b.needsTare(src, t, r.name, b.perFile[i])
		if err != nil {
			return err
		}
		t.Run = func(ctx context.Context, j *engine.Job) error {
			var res fileResult
			if err := readJSON(j.Input(in.Task, in.Output), &res); err != nil {
				return err
			}
			out := &fileTables{b: b, src: src, spectra: spectra, tare: tare}
			out.ahead, _ = j.Left().(*ahead)
			defer out.ahead.free()
			if bg != nil {
				var err error
				if out.background, err = readBackground(j.Input(bg.Task, bg.Output)); err != nil {
					return err
				}
			}
			notes := &fileNotes{Skipped: res.Skipped}
			if res.Skipped == nil {
				if err := out.file(ctx, &res, r.path(j), notes); err != nil {
					reason, bad := badRecording(src, err)
					if !bad {
						return err
					}
					out = &fileTables{b: b, src: src, spectra: spectra}
					notes = &fileNotes{Skipped: &skipped{r.name, reason}}
				}
			}
			for name, tab := range map[string]*table.Table{"triplets.arrow": &out.trip, "spectra.arrow": &out.spec} {
				if slices.Contains(outputs, name) {
					dg, err := tab.WriteFile(j.Output(name))
					if err != nil {
						return err
					}
					j.SetDigest(name, dg)
				}
			}
			return writeJSON(j.Output(notesJSON), notes)
		}
		b.add(t)
		for _, o := range outputs {
			parts = append(parts, engine.Dep{Task: t.ID, Output: o})
		}
	}
	if bg != nil {
		parts = append(parts, *bg)
	}
	b.assemble(src, cfg, parts)
	return nil
}

// nothingLeft says why no triplet is left: the reasons of the first files.
func nothingLeft(notes []fileNotes) string {
	const few = 5
	var why []string
	n := 0
	for _, f := range notes {
		if f.Skipped == nil {
			continue
		}
		if n++; n <= few {
			why = append(why, f.Skipped.Reason)
		}
	}
	switch {
	case n == 0:
		return "every recording was dropped"
	case n == 1:
		return "the one file was left out: " + why[0]
	case n > few:
		why = append(why, fmt.Sprintf("and %d more", n-few))
	}
	return fmt.Sprintf("%d files were left out: %s", n, strings.Join(why, "; "))
}

// assemble adds the task that joins the files' tables.
func (b *builder) assemble(src *source, cfg []engine.KV, parts []engine.Dep) {
	t := &engine.Task{
		ID: b.id("triplets"), Stage: "dsp", Version: dspVersion, Config: cfg, Deps: parts, Weight: 0.2,
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.published("triplets.arrow")}},
	}
	if b.e.DSP.Triplets == "repeats" {
		t.Local = settings("dsp", struct {
			Within []config.NamedNumber `key:"within"`
		}{b.e.DSP.Within})
	}
	spectra := slices.ContainsFunc(parts, func(d engine.Dep) bool { return d.Output == "spectra.arrow" })
	if spectra {
		t.Publish = append(t.Publish, engine.Link{Output: "spectra.arrow", Path: b.published("spectra.arrow")})
	}
	meta := append(b.meta(settings("ingest", src.in), cfg),
		table.KV{Key: "pairs", Value: pairs(b.e)}, table.KV{Key: "construction", Value: b.e.DSP.Triplets})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		Release()
		var trip table.Table
		notes := []fileNotes{}
		var pictures []string // the files' spectra: joined batch by batch, never all in memory
		contents := sha256.New()
		for _, p := range parts {
			path := j.Input(p.Task, p.Output)
			if p.Output == "spectra.arrow" {
				pictures = append(pictures, path)
				fmt.Fprintln(contents, j.InputDigest(p.Task, p.Output))
				continue
			}
			if p.Output == backgroundData {
				bg, err := readBackground(path)
				if err != nil {
					return err
				}
				notes = append(notes, fileNotes{Warnings: bg.Warnings})
				continue
			}
			if p.Output == notesJSON {
				var n fileNotes
				if err := readJSON(path, &n); err != nil {
					return err
				}
				notes = append(notes, n)
				continue
			}
			part, err := table.Read(path)
			if err != nil {
				return err
			}
			if part.Rows() == 0 {
				continue // a skipped file
			}
			if err := trip.Append(part); err != nil {
				return fmt.Errorf("join tables: %s: %w", p.Task, err)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if trip.Rows() == 0 {
			return &ingest.DataError{Path: b.f.Path, Place: b.at, Want: "at least one triplet", Found: "none: " + nothingLeft(notes)}
		}
		if b.e.DSP.Triplets == "repeats" {
			if err := b.pairRepeats(&trip); err != nil {
				return err
			}
		}
		if b.e.DSP.Couples {
			couple(&trip)
		}
		write := func(name string, tab *table.Table) error {
			tab.Meta = meta
			dg, err := tab.WriteFile(j.Output(name))
			j.SetDigest(name, dg)
			return err
		}
		if spectra {
			if _, err := table.Concat(j.Output("spectra.arrow"), meta, pictures); err != nil {
				return err
			}
			j.SetDigest("spectra.arrow", hex.EncodeToString(contents.Sum(nil)))
		}
		return errors.Join(write("triplets.arrow", &trip), writeJSON(j.Output(notesJSON), notes))
	}
	b.add(t)
}

// couple makes every second outcome the first (METHOD §1, couples).
func couple(t *table.Table) {
	for i := range t.Columns {
		if base, ok := strings.CutSuffix(t.Columns[i].Name, "_2"); ok {
			if first := t.Column(base + "_1"); first != nil {
				c := &t.Columns[i]
				c.Floats, c.Bools = slices.Clone(first.Floats), slices.Clone(first.Bools)
			}
		}
	}
}

// outcomes lists the names of a triplet table's outcomes, in table order: the
// float columns NAME_1 with a NAME_2 that are no by-product of a level.
func outcomes(t *table.Table) []string {
	var out []string
	for _, c := range t.Columns {
		base, ok := strings.CutSuffix(c.Name, "_1")
		if !ok || c.Floats == nil || t.Column(base+"_2") == nil {
			continue
		}
		byProduct := false
		for _, suffix := range []string{"_rho_db", "_sd", "_hz", "_background"} {
			if level, ok := strings.CutSuffix(base, suffix); ok && t.Column(level+"_1") != nil {
				byProduct = true
			}
		}
		if !byProduct {
			out = append(out, base)
		}
	}
	return out
}

// pairRepeats joins runs at equal conditions: the first of a pair gives y1, the
// second y2.
func (b *builder) pairRepeats(t *table.Table) error {
	n := t.Rows()
	tol := make([]float64, 0, len(b.conditions))
	var cols [][]float64
	for _, c := range b.conditions {
		if foundByDSP(c) {
			continue
		}
		v, err := t.Floats(c)
		if err != nil {
			return fmt.Errorf("pair repeats: %w", err)
		}
		cols = append(cols, v)
		w := 0.0
		for _, e := range b.e.DSP.Within {
			if e.Name == c {
				w = e.Value
			}
		}
		tol = append(tol, w)
	}
	x := make([][]float64, n)
	for i := range x {
		for _, c := range cols {
			x[i] = append(x[i], c[i])
		}
	}
	tol = apart(t, x, tol)
	pairs, _ := dsp.PairRepeats(x, tol)
	if len(pairs) == 0 {
		return &ingest.DataError{Path: b.f.Path, Place: b.at + ".dsp", Want: "conditions that were measured more than once", Found: fmt.Sprintf("%d runs, all at different conditions", n), Hint: "allow a tolerance with within: {condition: …}, or take same-run pairs"}
	}
	// Until here every run's outcome stands in both columns of its row.
	for i := range t.Columns {
		c := &t.Columns[i]
		member := 0
		if base, ok := strings.CutSuffix(c.Name, "_2"); ok && t.Column(base+"_1") != nil {
			member = 1
		}
		out := table.Column{Name: c.Name, Unit: c.Unit, Description: c.Description}
		for _, p := range pairs {
			k := p[member]
			switch {
			case c.Strings != nil:
				s := c.Strings[p[0]]
				if other := c.Strings[p[1]]; other != s {
					s += " + " + other
				}
				out.Strings = append(out.Strings, s)
			case c.Floats != nil:
				out.Floats = append(out.Floats, c.Floats[k])
			case c.Bools != nil:
				out.Bools = append(out.Bools, c.Bools[k])
			}
		}
		t.Columns[i] = out
	}
	return nil
}

// apart keeps microphones apart that no condition tells from each other: where
// recordings of one run have equal conditions, each pairs with its own channel
// of other runs only. A run is no repeat of itself (METHOD §1).
func apart(t *table.Table, x [][]float64, tol []float64) []float64 {
	runs, recordings := t.Column("run").Strings, t.Column("recording").Strings
	alike := false
	for i := 1; i < len(x); i++ {
		for k := i - 1; k >= 0 && runs[k] == runs[i] && !alike; k-- {
			pair, _ := dsp.PairRepeats([][]float64{x[k], x[i]}, tol)
			alike = len(pair) > 0
		}
	}
	if !alike {
		return tol
	}
	index := map[string]int{}
	for i := range x {
		channel := strings.TrimPrefix(recordings[i], runs[i])
		if _, ok := index[channel]; !ok {
			index[channel] = len(index)
		}
		x[i] = append(x[i], float64(index[channel]))
	}
	return append(tol, 0)
}

// fileTables collects one file's rows.
type fileTables struct {
	b          *builder
	src        *source
	spectra    bool
	tare       *tare       // the recording without wind; nil: none
	gravity    *dsp.Polar  // made of it, when first needed
	background *background // nil: none was recorded
	ahead      *ahead      // what ingest left; nil: nothing
	trip, spec table.Table
}

// cell appends to the column of that name, which it makes if need be. All rows
// of a table come through here in one order, so the columns agree.
func cell(t *table.Table, name, unit, doc string, v any) {
	c := t.Column(name)
	if c == nil {
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: doc})
		c = &t.Columns[len(t.Columns)-1]
	}
	switch v := v.(type) {
	case string:
		c.Strings = append(c.Strings, v)
	case float64:
		c.Floats = append(c.Floats, v)
	case bool:
		c.Bools = append(c.Bools, v)
	case int:
		c.Ints = append(c.Ints, int64(v))
	case []float32:
		c.Lists = append(c.Lists, v)
	}
}

func (f *fileTables) file(ctx context.Context, res *fileResult, path string, notes *fileNotes) error {
	rd, err := ingest.Open(path, f.src.options)
	if err != nil {
		return named(err, path, res.Path)
	}
	defer rd.Close()
	var last error // of a run that is left out
	for _, run := range res.Runs {
		note := runNote{Run: run.Run.ID}
		if f.spectra {
			err = f.rotorRun(ctx, rd, res, run, &note)
		} else {
			err = f.balanceRun(ctx, rd, res, run, &note, notes)
		}
		var de *dsp.Error
		if errors.As(err, &de) {
			place := de.Place
			if run.Run.ID != res.Path {
				place = strings.TrimSuffix(strings.TrimPrefix(run.Run.ID, res.Path)+", "+place, ", ")
			}
			err = &ingest.DataError{Path: res.Path, Place: place, Want: de.Want, Found: de.Found, Hint: de.Hint}
		}
		if err != nil {
			err = named(err, path, res.Path)
			if reason, bad := badRecording(f.src, err); bad && f.src.in.OnBadRecording == "warn" && len(res.Runs) > 1 {
				notes.Warnings = append(notes.Warnings, ingest.Warning{Path: res.Path, Code: "left-out", Text: fmt.Sprintf("%s is left out: %s", run.Run.ID, reason)})
				last = err
				continue
			}
			return err
		}
		notes.Notes = append(notes.Notes, note)
	}
	if len(notes.Notes) == 0 {
		return last
	}
	return nil
}

func (f *fileTables) common(t *table.Table, run, recording string, conditions map[string]float64) {
	cell(t, "run", "", "one acquisition at one condition", run)
	cell(t, "recording", "", "one channel of a run, or the group that makes one outcome vector", recording)
	for _, c := range f.b.conditions {
		v, ok := conditions[c]
		if !ok {
			v = math.NaN()
		}
		u, d := unitOf(c)
		cell(t, c, u, d, v)
	}
}

// rotorSettings says how the microphones of a run are analysed, and the shaft
// speed in rev/s that its conditions state. samples is the length of the run,
// scale the factor of each microphone.
func (b *builder) rotorSettings(src *source, info ingest.Info, run ingest.Run, samples int64, scale []float64) (s dsp.RotorSettings, nominal float64, err error) {
	d := b.e.DSP
	recs := run.Recordings
	first := recs[0].Conditions
	for _, name := range []string{"blades", "rpm", "rps"} {
		for _, r := range recs {
			if r.Conditions[name] != first[name] {
				return s, 0, &ingest.DataError{Path: info.Path, Want: "one value of " + name + " for all channels of a run", Found: fmt.Sprintf("%g and %g", first[name], r.Conditions[name])}
			}
		}
	}
	blades := first["blades"]
	if blades != math.Trunc(blades) || blades < 1 || blades > 1000 {
		return s, 0, &ingest.DataError{Path: info.Path, Want: "a whole number of blades", Found: fmt.Sprintf("blades = %g", blades)}
	}
	rate := info.Channels[recs[0].Channels[0]].RateHz
	if rate == 0 {
		return s, 0, &ingest.DataError{Path: info.Path, Want: "a sampling rate", Found: "none in the file", Hint: "state it in the configuration: ingest: {rate_hz: …}"}
	}
	s = dsp.RotorSettings{
		RateHz: rate, Start: run.Row0, Samples: samples, Scale: scale, Segments: d.Segments, Blades: int(blades), Harmonics: d.Harmonics,
		Tolerance: d.Tolerance, MinBins: d.MinBins, Amplitude: strings.Replace(d.Amplitude, "synchronous", "band", 1), Speed: d.Speed, EmergenceDB: d.EmergenceDB, KeepSpectra: true,
	}
	for _, r := range recs {
		s.Channels = append(s.Channels, r.Channels[0])
	}
	nominal = first["rpm"] / 60
	if v, ok := first["rps"]; ok {
		nominal = v
	}
	switch {
	case src.in.Tachometer != nil: // speeds are set by who reads it
	case d.Track != nil:
		s.TrackLoHz, s.TrackHiHz = d.Track.RangeHz[0], d.Track.RangeHz[1]
	default:
		s.ShaftHz = nominal
		if !(s.ShaftHz > 0) {
			return s, 0, &ingest.DataError{Path: info.Path, Want: "a shaft speed above zero", Found: fmt.Sprintf("%g rev/s", nominal)}
		}
	}
	return s, nominal, nil
}

// rotorRun turns the microphones of a run into a triplet each.
func (f *fileTables) rotorRun(ctx context.Context, rd ingest.Reader, res *fileResult, run runResult, note *runNote) error {
	d := f.b.e.DSP
	recs := run.Run.Recordings
	info := res.Info
	info.Path = res.Path
	s, nominal, err := f.b.rotorSettings(f.src, info, run.Run, run.Stats[0].Samples, run.Scale)
	if err != nil {
		return err
	}
	var pulses []float64
	if f.src.in.Tachometer != nil {
		if pulses, err = f.tachometer(ctx, rd, res, run, &s, nominal, note); err != nil {
			return err
		}
	}
	out, err := f.ahead.evaluate(ctx, rd, s)
	if err != nil {
		return err
	}
	if d.Amplitude == "synchronous" {
		if err := synchronous(ctx, rd, s, pulses, f.src.in.Tachometer.PulsesPerRev, out); err != nil {
			return err
		}
	}
	tacho := note.Flags
	note.Flags = slices.Clone(out.Flags)
	defer func() { note.Flags = append(tacho, note.Flags...) }()
	for i, f := range out.Flags {
		if f.Channel >= 0 && len(recs) > 1 {
			note.Flags[i].Text = "channel " + res.Info.Channels[recs[f.Channel].Channels[0]].Name + ": " + f.Text
		}
	}
	for i, ch := range out.Channels {
		conditions := recs[i].Conditions
		if name := f.speedFound(); name != "" {
			conditions = map[string]float64{name: 30 * (out.ShaftHz[0] + out.ShaftHz[1])}
			for k, v := range recs[i].Conditions {
				conditions[k] = v
			}
		}
		f.spectrum(run.Run.ID, recs[i], conditions, run.Units[i], out, ch)
		if d.Censored == "drop" && slices.Contains(ch.Emergent, false) {
			note.Dropped++
			continue
		}
		var behind []*backgroundChannel
		if f.background != nil {
			if behind, err = f.background.of(res.Info.Channels[recs[i].Channels[0]].Name, run.Units[i], res.Path); err != nil {
				return err
			}
		}
		f.common(&f.trip, run.Run.ID, recs[i].ID, conditions)
		told := len(note.Flags)
		f.levels(ch, i, run.Units[i], out.BinHz, behind, note)
		for k := told; k < len(note.Flags) && len(recs) > 1; k++ {
			note.Flags[k].Text = "channel " + res.Info.Channels[recs[i].Channels[0]].Name + ": " + note.Flags[k].Text
		}
	}
	return nil
}

// Reference levels: 20 µPa, and the rms of a full-scale sine (AES17), so that a
// full-scale sine reads 0 dBFS.
const refPa = 20e-6

var refFullScale = math.Sqrt(0.5)

// reference is what levels of a unit are relative to, and how they are called.
func reference(unit string) (ref float64, level string) {
	switch unit {
	case "Pa":
		return refPa, "dB re 20 µPa"
	case "full-scale":
		return refFullScale, "dBFS"
	}
	return 1, "dB re 1 " + unit
}

// A level is told to be near the background less than nearBackgroundDB above
// what the background has in the same bins; a tone of the background is told
// from toneBelowDB below the line on: it then moves the level by up to 0.9 dB.
const (
	nearBackgroundDB = 6
	toneBelowDB      = 20
)

// levels appends the outcomes of one recording: per harmonic the level of both
// halves, and beside it what METHOD §1 wants known of it.
//
// background are the recordings without the source that have this channel.
func (f *fileTables) levels(ch dsp.RotorChannel, number int, unit string, binHz float64, background []*backgroundChannel, note *runNote) {
	d := f.b.e.DSP
	level := func(p float64) float64 { return p }
	name, levelUnit, what := "power", unit+"²", "mean square"
	if d.Output == "dB" {
		name, what = "db", "level"
		var ref float64
		ref, levelUnit = reference(unit)
		level = func(p float64) float64 { return dsp.LevelDB(p, ref) }
	}
	shift := 0.0
	if d.Distance != nil {
		shift = dsp.DistanceDB(d.Distance.FromM, d.Distance.ToM)
		what += fmt.Sprintf(", normalised from %g m to %g m", d.Distance.FromM, d.Distance.ToM)
	}
	repeats := d.Triplets == "repeats"
	for m := range ch.Halves[0].Lines {
		base := fmt.Sprintf("bpf%d_%s", m+1, name)
		doc := fmt.Sprintf("%s of harmonic %d of the blade passing frequency (%s)", what, m+1, d.Amplitude)
		l := [2]dsp.Line{ch.Halves[0].Lines[m], ch.Halves[1].Lines[m]}
		if repeats { // one outcome a run: the mean of its halves, in both places until runs are paired
			l[0] = wholeRun(l, d.Segments)
			l[1] = l[0]
		}
		for h := range 2 {
			v := level(l[h].Power)
			if d.Output == "dB" {
				v += shift
			} else {
				v *= math.Pow(10, shift/10)
			}
			cell(&f.trip, fmt.Sprintf("%s_%d", base, h+1), levelUnit, doc+half(h, repeats), v)
		}
		for h := range 2 {
			cell(&f.trip, fmt.Sprintf("%s_rho_db_%d", base, h+1), "dB", "line above the floor, per bin"+half(h, repeats), 10*math.Log10(l[h].Rho))
		}
		for h := range 2 {
			cell(&f.trip, fmt.Sprintf("%s_sd_%d", base, h+1), "dB", "predicted standard deviation of the level"+half(h, repeats), l[h].SDdB)
		}
		for h := range 2 {
			cell(&f.trip, fmt.Sprintf("%s_hz_%d", base, h+1), "Hz", "frequency of the line"+half(h, repeats), l[h].PeakHz)
		}
		for h := range 2 {
			cell(&f.trip, fmt.Sprintf("%s_bound_%d", base, h+1), "", "the level is an upper bound"+half(h, repeats), l[h].UpperBound)
			note.Levels++
			if l[h].UpperBound {
				note.Bounds++
			}
		}
		for h := range 2 {
			if background == nil {
				break
			}
			b, tone, file := behind(background, l[h], binHz, d.Amplitude)
			v := level(b)
			if d.Output == "dB" {
				v += shift
			} else {
				v *= math.Pow(10, shift/10)
			}
			cell(&f.trip, fmt.Sprintf("%s_background_%d", base, h+1), levelUnit, "level of the background's recordings in the same bins, not subtracted"+half(h, repeats), v)
			if l[h].Power < b*math.Pow(10, nearBackgroundDB/10.) {
				note.Near++
			}
			if tone != nil && tone.MeanSquare > l[h].Power*math.Pow(10, -toneBelowDB/10.) {
				note.Flags = append(note.Flags, dsp.Flag{Code: "background-tone", Channel: number, Statistic: 10 * math.Log10(tone.MeanSquare/l[h].Power), Text: fmt.Sprintf(
					"harmonic %d at %.5g Hz%s has a tone of the background (%s) at %.5g Hz in its bins, %+.1f dB re the line: it is not subtracted", m+1, l[h].PeakHz, half(h, repeats), file, tone.Hz, 10*math.Log10(tone.MeanSquare/l[h].Power))})
			}
		}
		cell(&f.trip, base+"_emergent", "", fmt.Sprintf("the line stands %g dB above the floor over both halves together", d.EmergenceDB), ch.Emergent[m])
	}
}

func half(h int, repeats bool) string {
	if repeats {
		return [2]string{", first run", ", second run"}[h]
	}
	return [2]string{", first half", ", second half"}[h]
}

// wholeRun joins the lines of the two halves of a run: mean square over both,
// as of one estimate from twice the segments.
func wholeRun(l [2]dsp.Line, segments int) dsp.Line {
	w := l[0]
	w.Power = (l[0].Power + l[1].Power) / 2
	w.Rho = (l[0].PeakPower + l[1].PeakPower) / (l[0].Floor + l[1].Floor)
	w.PeakHz = (l[0].PeakHz + l[1].PeakHz) / 2
	w.SDdB = 10 / math.Ln10 * math.Sqrt((1+2*w.Rho)/float64(2*segments)) / (1 + w.Rho)
	w.UpperBound = l[0].UpperBound && l[1].UpperBound
	return w
}

// spectrum appends the two halves' spectra of a recording, and what of them
// was used.
func (f *fileTables) spectrum(run string, rec ingest.Recording, conditions map[string]float64, unit string, out *dsp.RotorRun, ch dsp.RotorChannel) {
	for h, half := range ch.Halves {
		f.common(&f.spec, run, rec.ID, conditions)
		cell(&f.spec, "half", "", "1 or 2", h+1)
		cell(&f.spec, "bin_hz", "Hz", "spacing of the bins; the first is at 0 Hz", out.BinHz)
		cell(&f.spec, "shaft_hz", "Hz", "shaft speed used, rev/s", half.ShaftHz)
		cell(&f.spec, "power", unit+"²", "one-sided power per bin; a sine on a bin reads its mean square", half.Spectrum)
		lists := map[string][]float32{}
		for _, l := range half.Lines {
			for k, v := range map[string]int{"search_lo": l.Search[0], "search_hi": l.Search[1], "band_lo": l.Band[0], "band_hi": l.Band[1]} {
				lists[k] = append(lists[k], float32(v))
			}
			lists["line_hz"] = append(lists["line_hz"], float32(l.PeakHz))
			lists["line_power"] = append(lists["line_power"], float32(l.Power))
			lists["floor"] = append(lists["floor"], float32(l.Floor))
		}
		for _, l := range half.ShaftOrders {
			lists["shaft_order"] = append(lists["shaft_order"], float32(l.Order))
			lists["shaft_order_hz"] = append(lists["shaft_order_hz"], float32(l.PeakHz))
			lists["shaft_order_power"] = append(lists["shaft_order_power"], float32(l.Power))
		}
		for _, c := range [][3]string{
			{"line_hz", "Hz", "harmonics: frequency of the largest bin"},
			{"line_power", unit + "²", "harmonics: mean square"},
			{"floor", unit + "²", "harmonics: floor per bin"},
			{"search_lo", "", "harmonics: first bin searched"},
			{"search_hi", "", "harmonics: last bin searched"},
			{"band_lo", "", "harmonics: first bin of the line"},
			{"band_hi", "", "harmonics: last bin of the line"},
			{"shaft_order", "", "orders of the shaft that are no multiple of the blade count"},
			{"shaft_order_hz", "Hz", "their frequency"},
			{"shaft_order_power", unit + "²", "their mean square"},
		} {
			v := lists[c[0]]
			if v == nil {
				v = []float32{}
			}
			cell(&f.spec, c[0], c[1], c[2], v)
		}
	}
}

// seedOf derives a seed from the experiment's seed and a run's name.
func seedOf(seed uint64, purpose, run string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(seed, 10) + "\x00" + purpose + "\x00" + run))
	return h.Sum64()
}

// Package dspstage plans stage dsp: one task per raw file, which turns its runs
// into rows of triplets and spectra, and one task that joins the rows into
// triplets.arrow and spectra.arrow. The formulas are in package dsp.
package dspstage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 5: the background of a line; 6: repeats pair no two microphones of one run;
// 7: sharp tachometer pulses; 8: units are converted to those of the names.
const version = 8

// runNote holds dsp's notes about a run.
type runNote struct {
	Run     string     `json:"run"`
	Flags   []dsp.Flag `json:"flags,omitempty"`
	Dropped int        `json:"dropped,omitempty"` // recordings left out under censored: drop
	Bounds  int        `json:"bounds,omitempty"`  // levels that are upper bounds
	Levels  int        `json:"levels,omitempty"`
	Near    int        `json:"near,omitempty"` // levels less than dsp.NearBackgroundDB above the background
}

// FileNotes holds dsp's notes about a file.
type FileNotes struct {
	Notes    []runNote            `json:"notes"`
	Skipped  *ingeststage.Skipped `json:"skipped,omitempty"`
	Warnings []ingest.Warning     `json:"warnings,omitempty"`
}

const NotesJSON = "notes.json"

// dsp adds the tasks from recordings to triplets.arrow and spectra.arrow.
func Plan(b *plan.Builder) error {
	if b.Source == nil {
		return takePairs(b)
	}
	src, raw, d := b.Source, b.Raw, b.Exp.DSP
	_, spectra := b.Construction.(dsp.OfSpectra)
	if err := checkShaft(b, src); err != nil {
		return err
	}
	for _, w := range d.Within {
		if !slices.Contains(b.Conditions, w.Name) {
			return b.File.Errorf(b.At+".dsp.within."+w.Name, "%q is not a condition of this experiment, which has %v", w.Name,
				b.Conditions)
		}
	}
	cons := b.Construction.Describe()
	cfg := settingsRead(b, src, spectra)
	bg := measureBackground(b, src)
	b.Background = bg
	var parts []engine.Dep // per-file tables, in file order
	for i, r := range raw {
		in := b.Recordings[i]
		outputs := []string{"triplets.arrow", NotesJSON}
		if spectra {
			outputs = append(outputs, "spectra.arrow")
		}
		t := &engine.Task{
			ID: b.ID("dsp", r.Name), Stage: "dsp", Version: version + cons.Version, Config: cfg, Weight: 0.012,
			Pool: b.Analysers,
			Local: []kv.Pair{
				{Key: "conditions", Value: strings.Join(b.Conditions, ",")},
				{Key: "on_bad_recording", Value: src.In.OnBadRecording},
			},
			Deps: []engine.Dep{in},
		}
		r.Needs(t)
		if bg != nil {
			t.Deps = append(t.Deps, *bg)
		}
		tare, err := NeedsTare(b, src, t, r.Name, b.PerFile[i])
		if err != nil {
			return err
		}
		t.Run = func(ctx context.Context, j *engine.Job) error {
			var res ingeststage.FileResult
			if err := plan.ReadJSON(j.Input(in.Task, in.Output), &res); err != nil {
				return err
			}
			out := &fileTables{b: b, src: src, loads: &Loads{B: b, Src: src, Tare: tare}}
			out.reading, _ = b.Readings[r.Name].Get(j)
			if bg != nil {
				var err error
				if out.background, err = ReadBackground(j.Input(bg.Task, bg.Output)); err != nil {
					return err
				}
			}
			notes := &FileNotes{Skipped: res.Skipped}
			if res.Skipped == nil {
				if err := out.file(ctx, &res, r.Path(j), notes); err != nil {
					reason, bad := ingeststage.BadRecording(src, err)
					if !bad {
						return err
					}
					out = &fileTables{}
					notes = &FileNotes{Skipped: &ingeststage.Skipped{Path: r.Name, Reason: reason}}
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
			return plan.WriteJSON(j.Output(NotesJSON), notes)
		}
		b.Add(t)
		for _, o := range outputs {
			parts = append(parts, engine.Dep{Task: t.ID, Output: o})
		}
	}
	if bg != nil {
		parts = append(parts, *bg)
	}
	assemble(b, src, cfg, parts)
	return nil
}

// settingsRead returns the settings that the tasks of files read: only those of
// the construction are part of the key.
func settingsRead(b *plan.Builder, src *plan.Source, spectra bool) []kv.Pair {
	keys := append([]string{"triplets", "couples"}, b.Construction.Describe().Settings...)
	cfg := plan.Only("dsp", plan.Settings("dsp", b.Exp.DSP), keys...)
	if spectra && src.In.Tachometer != nil {
		cfg = append(cfg, plan.Settings("ingest.tachometer", *src.In.Tachometer)...)
	}
	if !spectra {
		cfg = append(cfg, plan.Settings("ingest", struct {
			Columns []config.NamedString `key:"columns"`
			Units   []config.NamedString `key:"units"`
			Axes    string               `key:"axes"`
			Balance *config.Balance      `key:"balance"`
		}{src.In.Columns, src.In.Units, src.In.Axes, src.In.Balance})...)
	}
	cfg = append(cfg, b.Derived(slices.Concat(b.Found, b.Derive.Outcomes()))...)
	return append(cfg, src.Reader...)
}

// checkShaft reports what a construction that needs the shaft's speed lacks.
func checkShaft(b *plan.Builder, src *plan.Source) error {
	if !b.Construction.Describe().Shaft {
		return nil
	}
	has := func(condition string) bool { return slices.Contains(b.Conditions, condition) }
	switch {
	case has("rpm") && has("rps"):
		return b.File.Errorf(b.At+".ingest", "both rpm (1/min) and rps (rev/s) are given as conditions; keep one")
	case b.Exp.DSP.Track == nil && src.In.Tachometer == nil && !has("rpm") && !has("rps"):
		return b.File.Errorf(b.At+".dsp", "the shaft speed is not known: expected a condition rpm (in 1/min) or rps (in "+
			"rev/s), a tachometer, or track: {range_hz: [from, to]} to find it in the sound; the conditions are %v",
			b.Conditions)
	case !has("blades"):
		return b.File.Errorf(b.At+".ingest", "the number of blades is not known: expected a condition blades, e.g. "+
			"constants: {blades: 2}; the conditions are %v", b.Conditions)
	}
	return nil
}

// nothingLeft returns why no triplet is left: the reasons of the first files.
func nothingLeft(notes []FileNotes) string {
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
func assemble(b *plan.Builder, src *plan.Source, cfg []kv.Pair, parts []engine.Dep) {
	t := &engine.Task{
		ID: b.ID("triplets"), Stage: "dsp", Version: version + b.Construction.Describe().Version, Config: cfg, Deps: parts,
		Weight:  0.2,
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.Published("triplets.arrow")}},
	}
	if b.Construction.Describe().Repeats {
		t.Version++ // since runs without a partner are named
		t.Local = plan.Settings("dsp", struct {
			Within []config.NamedString `key:"within"`
		}{b.Exp.DSP.Within})
		t.Deps = slices.Concat(parts, b.Recordings)
	}
	spectra := slices.ContainsFunc(parts, func(d engine.Dep) bool { return d.Output == "spectra.arrow" })
	if spectra {
		t.Publish = append(t.Publish, engine.Link{Output: "spectra.arrow", Path: b.Published("spectra.arrow")})
	}
	meta := append(b.Meta(plan.Settings("ingest", src.In), cfg),
		kv.Pair{Key: "pairs", Value: b.PairKind()}, kv.Pair{Key: "construction", Value: b.Exp.DSP.Triplets})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		var trip table.Table
		notes := []FileNotes{}
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
				bg, err := ReadBackground(path)
				if err != nil {
					return err
				}
				notes = append(notes, FileNotes{Warnings: bg.Warnings})
				continue
			}
			if p.Output == NotesJSON {
				var n FileNotes
				if err := plan.ReadJSON(path, &n); err != nil {
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
				return &fault.Error{
					Path: b.File.Path, Place: b.At + ".dsp", Want: "the same outcomes of every file",
					Found: "others in " + p.Task, Err: err,
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if trip.Rows() == 0 {
			return &fault.Error{
				Path: b.File.Path, Place: b.At, Want: "at least one triplet",
				Found: "none: " + nothingLeft(notes),
			}
		}
		if b.Construction.Describe().Repeats {
			alone, err := repeats(b, j, &trip)
			if err != nil {
				return err
			}
			notes = append(notes, FileNotes{Warnings: alone})
		}
		if b.Exp.DSP.Couples {
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
		return errors.Join(write("triplets.arrow", &trip), plan.WriteJSON(j.Output(NotesJSON), notes))
	}
	b.Add(t)
}

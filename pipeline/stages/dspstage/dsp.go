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
	"hash"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 5: the background of a line; 6: repeats pair no two microphones of one run;
// 7: sharp tachometer pulses; 8: units are converted to those of the names;
// 9: speeds that the sound contradicts, copies of files.
const version = 10

// RunNote holds dsp's notes about a run.
type RunNote struct {
	Run     string     `json:"run"`
	Flags   []dsp.Flag `json:"flags,omitempty"`
	Dropped int        `json:"dropped,omitempty"` // recordings left out under censored: drop
	Bounds  int        `json:"bounds,omitempty"`  // levels that are upper bounds
	Levels  int        `json:"levels,omitempty"`
	Near    int        `json:"near,omitempty"` // levels less than dsp.NearBackgroundDB above the background
}

// FileNotes holds dsp's notes about a file.
type FileNotes struct {
	Notes    []RunNote            `json:"notes"`
	Skipped  *ingeststage.Skipped `json:"skipped,omitempty"`
	Warnings []ingest.Warning     `json:"warnings,omitempty"`
}

const NotesJSON = "notes.json"

const (
	tripletsArrow = "triplets.arrow"
	spectraArrow  = "spectra.arrow"
)

// Result is what later stages need of stage dsp.
type Result struct {
	Triplets   engine.Dep  // triplets.arrow
	Notes      engine.Dep  // a []FileNotes
	Spectra    *engine.Dep // spectra.arrow; nil where none are computed
	Background *engine.Dep // a Background; nil without recordings of it
}

// stage plans the tasks of one experiment.
type stage struct {
	exp        plan.Experiment
	rec        *ingeststage.Recordings
	cons       dsp.Description
	spectra    bool        // the construction computes some
	background *engine.Dep // nil without
	pairs      string      // their kind
	cfg, local []kv.Pair   // settings that the tasks of files read
}

// Plan adds the tasks from recordings, or from a table of pairs, to triplets.arrow and
// spectra.arrow.
func Plan(exp plan.Experiment, ing ingeststage.Result) (_ Result, err error) {
	defer fault.Catch(&err)
	if ing.Recordings == nil {
		return planPairs(exp, ing), nil
	}

	rec := ing.Recordings
	s := &stage{exp: exp, rec: rec, cons: rec.Construction.Describe(), pairs: ing.PairKind}
	_, s.spectra = rec.Construction.(dsp.OfSpectra)
	s.check()
	s.cfg = s.settingsRead()
	s.local = append([]kv.Pair{
		{Key: "conditions", Value: strings.Join(rec.Conditions, ",")},
		{Key: "on_bad_recording", Value: rec.In.OnBadRecording},
	}, rec.LabelSetting()...)
	s.background = planBackground(exp, rec)

	const most = 3 // outputs of a file's task
	parts := make([]engine.Dep, 0, most*len(rec.Files))
	for i := range rec.Files {
		parts = s.appendOutputs(parts, s.planFile(&rec.Files[i]))
	}

	if ing.Shards != nil {
		each, files := len(parts)/len(rec.Files), parts

		parts = nil
		for _, r := range ing.Shards {
			t := s.planShard(rec.Files[r[0]].Name, files[each*r[0]:each*r[1]])
			parts = s.appendOutputs(parts, t)
		}
	}

	if s.background != nil {
		parts = append(parts, *s.background)
	}

	out := s.planTriplets(parts, ing)
	out.Background = s.background

	return out, nil
}

// planFile adds the task that makes the rows of one file.
func (s *stage) planFile(f *ingeststage.File) *engine.Task {
	src, bg := s.rec.Source, s.background
	t := &engine.Task{
		ID: s.exp.ID("dsp", f.Name), Stage: "dsp", Version: version + s.cons.Version, Config: s.cfg, Local: s.local,
		Weight: 0.012, Deps: []engine.Dep{f.Result}, Packed: true,
	}

	f.Needs(t)

	if bg != nil {
		t.Deps = append(t.Deps, *bg)
	}

	for _, tare := range slices.Backward(f.Tares) {
		if !slices.Contains(t.Files, *tare.File) {
			tare.Needs(t)
		}
	}

	if f.Share > 0 {
		t.Local = append(slices.Clone(t.Local), kv.Pair{Key: "share of the drift", Value: fmt.Sprint(f.Share)})
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		tables := &fileTables{src: src, loads: &Loads{Src: src, File: f}}

		var res *ingeststage.FileResult
		if reading, ok := f.Reading.Get(j); ok {
			tables.reading, res = reading, reading.Found
		} else {
			fault.Raise(plan.ReadJSON(j.Input(f.Result.Task, f.Result.Output), &res))
		}

		if bg != nil {
			tables.background = fault.Get(ReadBackground(j.Input(bg.Task, bg.Output)))
		}

		notes := &FileNotes{Skipped: res.Skipped}
		if res.Skipped == nil {
			err := tables.file(ctx, res, f.Path(j), notes)
			if ingeststage.BadRecording(src, err) {
				tables = &fileTables{}
				notes = &FileNotes{Skipped: &ingeststage.Skipped{Path: f.Name, Reason: err.Error()}}
			} else {
				fault.Raise(err)
			}
		}

		fault.Raise(plan.WriteTable(j, tripletsArrow, &tables.trip))
		if s.spectra {
			fault.Raise(plan.WriteTable(j, spectraArrow, &tables.spec))
		}

		return plan.WriteJSON(j, NotesJSON, notes)
	}

	return s.exp.Add(t)
}

// appendOutputs appends the outputs of a task that makes rows.
func (s *stage) appendOutputs(to []engine.Dep, t *engine.Task) []engine.Dep {
	to = append(to, engine.Dep{Task: t.ID, Output: tripletsArrow}, engine.Dep{Task: t.ID, Output: NotesJSON})
	if s.spectra {
		to = append(to, engine.Dep{Task: t.ID, Output: spectraArrow})
	}

	return to
}

// planShard adds the task that joins the tables of consecutive files.
func (s *stage) planShard(first string, parts []engine.Dep) *engine.Task {
	t := &engine.Task{
		ID: s.exp.ID("triplets", first), Stage: "dsp", Version: version, Deps: parts, Weight: 0.05, Replaces: true,
		Run: func(ctx context.Context, j *engine.Job) (err error) {
			defer fault.Catch(&err)
			all := s.join(ctx, j, parts)
			if s.spectra {
				all.writeSpectra(j, nil)
			}

			return errors.Join(plan.WriteTable(j, tripletsArrow, all.triplets), plan.WriteJSON(j, NotesJSON, all.notes...))
		},
	}

	return s.exp.Add(t)
}

// settingsRead returns the settings that the tasks of files read: only those of
// the construction are part of the key.
func (s *stage) settingsRead() []kv.Pair {
	src := s.rec.Source
	keys := append([]string{"triplets", "couples"}, s.cons.Settings...)
	cfg := plan.Only("dsp", plan.Settings("dsp", src.DSP), keys...)
	if s.spectra && src.In.Tachometer != nil {
		cfg = append(cfg, plan.Settings("ingest.tachometer", *src.In.Tachometer)...)
	}

	if !s.spectra {
		cfg = append(cfg, plan.Only("ingest", plan.Settings("ingest", src.In), "columns", "units", "axes", "balance")...)
	}

	cfg = append(cfg, src.Derived(slices.Concat(src.Derive.Conditions(), src.Derive.Outcomes()))...) // columns state them

	return append(cfg, src.Reader...)
}

// check raises the error of conditions that the construction needs and that are not there, or are none.
func (s *stage) check() {
	src := s.rec.Source
	has := func(condition string) bool { return slices.Contains(src.Conditions, condition) }
	if s.cons.Shaft {
		speed := src.DSP.Track != nil || src.In.Tachometer != nil || has("rpm") || has("rps")
		s.exp.Refuse(has("rpm") && has("rps"), "ingest",
			"both rpm (1/min) and rps (rev/s) are given as conditions; keep one")
		s.exp.Refuse(!speed, "dsp", "the shaft speed is not known: expected a condition rpm (in 1/min) or rps (in "+
			"rev/s), a tachometer, or track: {range_hz: [from, to]} to find it in the sound; the conditions are %v",
			src.Conditions)
		s.exp.Refuse(!has("blades"), "ingest", "the number of blades is not known: expected a condition blades, e.g. "+
			"constants: {blades: 2}; the conditions are %v", src.Conditions)
	}

	s.exp.Refuse(src.DSP.Across != "" && !s.cons.Repeats, "dsp.across",
		"belongs to triplets: repeats, whose runs are paired; %s makes pairs of each run", src.DSP.Triplets)
	for _, w := range src.DSP.Within {
		s.exp.Refuse(!has(w.Name), "dsp.within."+w.Name, "%q is not a condition of this experiment, which has %v", w.Name,
			src.Conditions)
	}
}

// nothingLeft returns why no triplet is left: the reasons of the first files.
func nothingLeft(notes []FileNotes) string {
	const few = 5
	left := lists.Keep(notes, func(f FileNotes) bool { return f.Skipped != nil })
	why := lists.Each(left, func(f FileNotes) string { return f.Skipped.Reason })
	n := len(why)
	switch {
	case n == 0:
		return "every recording was dropped"
	case n == 1:
		return "the one file was left out: " + why[0]
	case n > few:
		why = append(why[:few], fmt.Sprintf("and %d more", n-few))
	}

	return fmt.Sprintf("%d files were left out: %s", n, strings.Join(why, "; "))
}

// planTriplets adds the task that joins the files' tables.
func (s *stage) planTriplets(parts []engine.Dep, ing ingeststage.Result) Result {
	within := s.exp.Ingest.Within
	meta := append(s.exp.Meta(plan.Settings("ingest", s.rec.In), s.cfg),
		kv.Pair{Key: "pairs", Value: s.pairs},
		kv.Pair{Key: "construction", Value: s.exp.DSP.Triplets})
	if across := s.rec.DSP.Across; across != "" {
		meta = append(meta, kv.Pair{Key: "config:dsp.across", Value: across})
	}

	t := &engine.Task{
		ID: s.exp.ID("triplets"), Stage: "dsp", Version: version + s.cons.Version, Config: plan.Stated(meta), Weight: 0.2,
		Deps: slices.Concat(parts, ing.Results), Replaces: ing.Shards != nil,
		Publish: []engine.Link{{Output: tripletsArrow, Path: s.exp.Published("dsp", tripletsArrow)}},
	}

	if s.cons.Repeats {
		t.Version++ // since runs without a partner are named
		t.Local = plan.Only("dsp", plan.Settings("dsp", s.rec.DSP), "within", "across")
	}

	t.Local = append(t.Local, ing.Points.Settings(within)...)

	out := Result{
		Triplets: engine.Dep{Task: t.ID, Output: tripletsArrow},
		Notes:    engine.Dep{Task: t.ID, Output: NotesJSON},
	}

	if s.spectra {
		t.Publish = append(t.Publish, engine.Link{Output: spectraArrow, Path: s.exp.Published("dsp", spectraArrow)})
		out.Spectra = &engine.Dep{Task: t.ID, Output: spectraArrow}
	}

	results, points := ing.Results, ing.Points // and no more of what is known
	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		checkCopies(j, results)
		all := s.join(ctx, j, parts)
		fault.Unless(all.triplets.Rows() > 0,
			fault.At(s.exp.File.Path, s.exp.At, "at least one triplet", "none: "+nothingLeft(all.notes), ""))
		points.AddSetPoints(within, all.triplets)

		if s.cons.Repeats {
			all.notes = append(all.notes, FileNotes{Warnings: s.pairRepeats(all.triplets)})
		}

		if s.exp.DSP.Couples {
			couple(all.triplets)
		}

		if s.spectra {
			all.writeSpectra(j, meta)
		}

		all.triplets.Meta = meta

		return errors.Join(plan.WriteTable(j, tripletsArrow, all.triplets), plan.WriteJSON(j, NotesJSON, all.notes))
	}

	s.exp.Add(t)

	return out
}

// joined is what the files of an experiment give together.
type joined struct {
	triplets *table.Table
	notes    []FileNotes
	spectra  []string  // the files' tables: joined batch by batch, never all in memory
	digests  hash.Hash // of them
}

// join reads the parts, of files or of shards.
func (s *stage) join(ctx context.Context, j *engine.Job, parts []engine.Dep) *joined {
	all := &joined{triplets: &table.Table{}, digests: sha256.New()}
	for _, p := range parts {
		fault.Raise(ctx.Err())
		path := j.Input(p.Task, p.Output)
		switch p.Output {
		case spectraArrow:
			all.spectra = append(all.spectra, path)
			fmt.Fprintln(all.digests, j.InputDigest(p.Task, p.Output))

		case backgroundData:
			all.notes = append(all.notes, FileNotes{Warnings: fault.Get(ReadBackground(path)).Warnings})

		case NotesJSON:
			fault.Raise(plan.EachJSON(path, func(n *FileNotes) { all.notes = append(all.notes, *n) }))

		default:
			part := fault.Get(table.Read(path))
			if part.Rows() == 0 {
				continue // a skipped file
			}

			if err := all.triplets.Append(part); err != nil {
				fault.Raise(&fault.Error{
					Path: s.exp.File.Path, Place: s.exp.At + ".dsp", Want: "the same outcomes of every file",
					Found: "others in " + p.Task, Err: err,
				})
			}
		}
	}

	return all
}

// writeSpectra joins the files' spectra. Their digest is that of the files' digests.
func (all *joined) writeSpectra(j *engine.Job, meta []kv.Pair) {
	fault.Get(table.Concat(j.Output(spectraArrow), meta, all.spectra))
	j.SetDigest(spectraArrow, hex.EncodeToString(all.digests.Sum(nil)))
}

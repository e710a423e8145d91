package stages

// Stage dsp has one task for each raw file, which computes rows of triplets and spectra from the runs of the file. One
// more task joins the rows into triplets.arrow and spectra.arrow. The formulas are in package dsp.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/dsp/background"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/report/pairs/repeats"
)

// dspVersion is the version of the results of stage dsp. Raise it when the stage gives another result for the same
// input: its tasks then run again.
const dspVersion = 14

// Outputs of the tasks of this stage.
const (
	notesJSON     = "notes.json" // a FileNotes, or several; in the task of all triplets a []analysis.FileNotes
	tripletsArrow = "triplets.arrow"
	spectraArrow  = "spectra.arrow"
)

// dspResult is the part of stage dsp that later stages need.
type dspResult struct {
	Triplets   engine.Dep  // triplets.arrow
	Notes      engine.Dep  // a []analysis.FileNotes
	Spectra    *engine.Dep // spectra.arrow; nil if the construction computes no spectra
	Background *engine.Dep // a Background; nil without recordings of the background
}

// dspStage plans the tasks of one experiment.
type dspStage struct {
	exp        plan.Experiment
	rec        *Recordings
	cons       dsp.Description
	spectra    bool        // the construction computes spectra
	background *engine.Dep // a Background; nil without recordings of the background
	pairs      string      // the kind of the pairs
	config     []kv.Pair   // settings that the tasks of files read
	local      []kv.Pair   // the part of the keys of these tasks that is not a setting
}

// repeatsVersion is added to the version of tasks that pair repeats. It is raised if only the pairing changes.
const repeatsVersion = 1

// planDSP adds the tasks that make triplets.arrow and spectra.arrow, from recordings or from a table of pairs.
func planDSP(exp plan.Experiment, ing ingestResult) (dspResult, error) {
	if ing.Recordings == nil {
		return planTableTriplets(exp, ing), nil
	}

	rec := ing.Recordings
	s := &dspStage{exp: exp, rec: rec, cons: rec.Reading.Construction.Describe(), pairs: ing.PairKind}
	_, s.spectra = rec.Reading.Construction.(dsp.OfSpectra)
	if err := rec.Check(); err != nil {
		return dspResult{}, exp.Located("ingest", err)
	}

	s.config = s.settingsRead()
	s.local = append([]kv.Pair{
		{Key: "conditions", Value: strings.Join(rec.Conditions, ",")},
		{Key: "on_bad_recording", Value: rec.Ingest.OnBadRecording},
	}, plan.LabelSetting(&rec.Columns)...)
	if b := rec.Ingest.Background; b != nil && b.Subtract {
		s.local = append(s.local, kv.Pair{Key: "background", Value: "subtracted"})
	}

	s.background = planBackground(exp, rec)

	const most = 3 // outputs of a file's task
	parts := make([]engine.Dep, 0, most*len(rec.Files))
	for i := range rec.Files {
		parts = s.appendOutputs(parts, s.planFile(&rec.Files[i]))
	}

	if ing.Shards != nil {
		parts = s.planShards(parts, ing.Shards)
	}

	if s.background != nil {
		parts = append(parts, *s.background)
	}

	res := s.planTriplets(parts, ing)
	res.Background = s.background

	return res, nil
}

// planFile adds the task that computes the rows of one file.
func (s *dspStage) planFile(f *File) *engine.Task {
	task := &engine.Task{
		ID: s.exp.ID("dsp", f.Name), Stage: "dsp", Version: dspVersion + s.cons.Version, Config: s.config, Local: s.local,
		Weight: 0.012, Deps: []engine.Dep{f.Result}, Packed: true,
	}

	f.raw.Needs(task)

	if s.background != nil {
		task.Deps = append(task.Deps, *s.background)
	}

	for _, name := range slices.Backward(f.Tares) {
		tare := s.exp.OnDisk(name)
		if !slices.Contains(task.Files, *tare.File) {
			tare.Needs(task)
		}
	}

	if f.Share > 0 {
		task.Local = append(slices.Clone(task.Local), kv.Pair{Key: "share of the drift", Value: fmt.Sprint(f.Share)})
	}

	run := fileRun{src: s.rec.Source, file: f, background: s.background, spectra: s.spectra}
	task.Run = run.run

	return s.exp.Add(task)
}

// settingsRead returns the settings that the tasks of files read. Of the section dsp these are the settings of the
// construction.
func (s *dspStage) settingsRead() []kv.Pair {
	src := s.rec.Source
	keys := append([]string{"triplets", "couples"}, s.cons.Settings...)
	read := plan.Only("dsp", plan.Settings("dsp", src.DSP), keys...)
	if s.spectra && src.Ingest.Tachometer != nil {
		read = append(read, plan.Settings("ingest.tachometer", *src.Ingest.Tachometer)...)
	}

	if !s.spectra {
		own := plan.Only("ingest", plan.Settings("ingest", src.Ingest), "columns", "units", "axes", "balance")
		read = append(read, own...)
	}

	// The columns state the definitions of derived conditions and outcomes.
	derived := slices.Concat(src.Derive.Conditions(), src.Derive.Outcomes())
	read = append(read, plan.DerivedSettings(&src.Columns, derived)...)

	return append(read, src.Reader...)
}

// planTriplets adds the task that joins the tables of the files, pairs repeats, and writes triplets.arrow.
func (s *dspStage) planTriplets(parts []engine.Dep, ing ingestResult) dspResult {
	meta := append(s.exp.Meta(plan.Settings("ingest", s.rec.Ingest), s.config),
		kv.Pair{Key: "pairs", Value: s.pairs},
		kv.Pair{Key: "construction", Value: s.exp.DSP.Triplets})
	if across := s.rec.DSP.Across; across != "" {
		meta = append(meta, kv.Pair{Key: "config:dsp.across", Value: across})
	}

	task := &engine.Task{
		ID: s.exp.ID("triplets"), Stage: "dsp", Version: dspVersion + s.cons.Version, Config: plan.Stated(meta), Weight: 0.2,
		Deps: slices.Concat(parts, ing.Results), Replaces: ing.Shards != nil,
		Publish: []engine.Link{{Output: tripletsArrow, Path: s.exp.Published("dsp", tripletsArrow)}},
	}

	if s.cons.Repeats {
		task.Version += repeatsVersion
		task.Local = plan.Only("dsp", plan.Settings("dsp", s.rec.DSP), "within", "across")
		conditions := pairing(s.exp, s.rec).Conditions
		stated := s.exp.Variants().Stated()
		isOther := func(name string) bool { return !slices.Contains(stated, name) }
		if shared := strings.Join(slices.DeleteFunc(conditions, isOther), ", "); shared != "" {
			task.Local = append(task.Local, kv.Pair{Key: "stated conditions", Value: shared})
		}
	}

	if s.background != nil {
		task.Local = append(task.Local, kv.Pair{Key: "background", Value: "notes by how much levels read high"})
	}

	task.Local = append(task.Local, plan.PointSettings(ing.Points, s.exp.Ingest.Tolerances)...)

	res := dspResult{
		Triplets: engine.Dep{Task: task.ID, Output: tripletsArrow},
		Notes:    engine.Dep{Task: task.ID, Output: notesJSON},
	}

	if s.spectra {
		task.Publish = append(task.Publish, engine.Link{Output: spectraArrow, Path: s.exp.Published("dsp", spectraArrow)})
		res.Spectra = &engine.Dep{Task: task.ID, Output: spectraArrow}
	}

	// The task keeps only these parts of ing in memory.
	files := ing.Results
	points := ing.Points
	task.Run = func(ctx context.Context, job *engine.Job) error {
		if err := checkCopies(job, files); err != nil {
			return err
		}

		all, err := s.join(ctx, job, parts)
		if err != nil {
			return err
		}

		return s.writeTriplets(job, all, points, meta)
	}

	s.exp.Add(task)

	return res
}

// writeTriplets pairs the rows of all files, if they are repeats, and writes the tables.
func (s *dspStage) writeTriplets(job *engine.Job, all *analysis.Joined, points condition.Points, meta []kv.Pair) error {
	if all.Triplets.Rows() == 0 {
		return fault.At(s.exp.File.Path, s.exp.Key, "at least one triplet", "none: "+analysis.NothingLeft(all.Notes), "")
	}

	if err := pairs.AddSetPoints(all.Triplets, s.exp.Ingest.Tolerances, points); err != nil {
		return err
	}

	if s.cons.Repeats {
		warnings, err := pairing(s.exp, s.rec).Pair(all.Triplets)
		if err != nil {
			return err
		}

		all.Notes = append(all.Notes, analysis.FileNotes{Warnings: warnings})
	}

	if b := s.rec.Ingest.Background; b != nil && !b.Subtract {
		all.Notes = append(all.Notes, analysis.FileNotes{Warnings: background.WarnHigh(s.exp.File.Path, all.Triplets)})
	}

	if s.exp.DSP.Couples {
		repeats.Couple(all.Triplets)
	}

	if s.spectra {
		if err := writeSpectra(job, all, meta); err != nil {
			return err
		}
	}

	all.Triplets.Meta = meta

	if err := taskfile.WriteTable(job, tripletsArrow, all.Triplets); err != nil {
		return err
	}

	return taskfile.WriteJSON(job, notesJSON, all.Notes)
}

// Package ingeststage plans stage ingest: one task per raw file, which opens it,
// finds its conditions, calibrates its channels and computes their statistics,
// and one task that joins the results into recordings.arrow.
package ingeststage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
	"doubletake/pipeline/table"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 3: constant stretches are reported; 4: recordings state their calibration;
// 5: packed numbers are unpacked, MATLAB's axes are read alike in all versions;
// 6: axes by their names, units of time; 7: clipped floating-point samples, levels apart;
// 8: headers of text files, codes and spikes.
const version = 8

const (
	fileJSON        = "recordings.json"  // FileResults
	recordingsArrow = "recordings.arrow" // the index of all recordings
	pairsArrow      = "pairs.arrow"      // the pairs of a table
)

// Result is what later stages need of stage ingest.
type Result struct {
	plan.Columns

	Data         string           // the kind of data, where a file's name says simulated
	Construction dsp.Construction // how pairs are made; nil for a table of pairs
	PairKind     string           // same-run, repeat-run or synthetic (docs/method.md#units-of-data)
	Known        condition.Rows   // of recordings, where they are known before any file is read
	Points       plan.Points      // set points, of which Known holds the values; as far as they are known likewise
	Results      []engine.Dep     // FileResults of the files, without their channels where shards join them
	Shards       [][2]int         // of the files
	Index        *engine.Dep      // recordings.arrow
	Warnings     []ingest.Warning

	Recordings *Recordings // of a campaign; nil for a table of pairs
	Pairs      *Pairs      // of a table; nil for recordings
}

// Recordings are the raw files of a campaign and how they are read.
type Recordings struct {
	*plan.Source
	Files       []File
	Backgrounds []plan.RawFile // recordings of the background
	Simulated   bool
	sidecar     []config.NamedString // conditions that the files next to the recordings state, by their names there
	listed      bool                 // the channels are those of the table of microphones
	warnings    []ingest.Warning
}

// File is a raw file with what is known of it before it is opened.
type File struct {
	plan.RawFile
	Rows    *campaign.Conditions      // its rows of the table of conditions; nil without one
	Named   []condition.Condition     // what its name states
	Sidecar []condition.Condition     // what the file next to it states
	Tares   []plan.RawFile            // the recordings without wind before its runs and after them
	Share   float64                   // of the way between the two at which its runs are, where the drift is taken out
	Result  engine.Dep                // its FileResult
	Reading *engine.Handoff[*Reading] // from its task to that of stage dsp
	known   condition.Rows            // of its runs, while the experiment is planned
}

// Plan adds the tasks that read the files of an experiment.
func Plan(exp plan.Experiment, sim simulatestage.Result) (out Result, err error) {
	defer fault.Catch(&err)
	if exp.DSP.Triplets == "table" {
		return planPairs(exp, sim), nil
	}

	rec := findFiles(exp, sim)
	exp.Ingest.Data = rec.In.Data
	rec.construct(exp)
	rec.checkSettings(exp)
	rec.warnings = append(rec.warnings,
		rec.Table.NameOccasions(condition.RunColumn(rec.In.Run), exp.Roles().Occasions, rec.Labels)...)
	rec.rows()
	for i := range rec.Files { // the file's task tells what contradicts or cannot be derived
		rec.Files[i].known, _ = rec.Files[i].stating(rec.Source)
	}

	rec.exclude(exp)
	fault.Raise(rec.Table.CheckLabels(rec.Labels))
	rec.findTares(exp)

	rec.Settings = append(rec.settingsRead(), rec.Derived(rec.BeforeAnalysis())...)
	rec.Calibrator = planCalibrator(exp, rec.Source)

	out = Result{
		Columns: rec.Columns, Data: rec.In.Data, Construction: rec.Construction, Recordings: rec,
		PairKind: pairKind(exp, rec.Construction), Warnings: rec.warnings,
	}

	for i := range rec.Files {
		f := &rec.Files[i]
		for k := range f.known {
			f.known[k].Names = kept(rec.Source, f.known[k].Names, "")
		}

		rec.planFile(exp, f)
		out.Known, out.Results, f.known = append(out.Known, f.known...), append(out.Results, f.Result), nil
	}

	for _, label := range out.Labels {
		names, _ := out.Known.Strings(label) // checked with the labels
		out.Warnings = append(out.Warnings, campaign.WarnAlike(exp.File.Path, label, names)...)
	}

	out.Shards = plan.Shards(rec.names())
	out.Results, out.Index = planIndex(exp, rec, out.Shards, out.Results)
	out.atSetPoints()

	return out, nil
}

// names are those of the files.
func (r *Recordings) names() []string {
	return lists.Each(r.Files, func(f File) string { return f.Name })
}

// construct settles the conditions that are known, with those of the files next to them, and the construction.
func (r *Recordings) construct(exp plan.Experiment) {
	r.Construction = dsp.Configure(dsp.Find(r.DSP.Triplets, len(r.In.Columns) > 0), &r.DSP.Settings)
	if r.DSP.Track != nil && r.Construction != nil && r.Construction.Describe().Shaft {
		r.Found = append(r.Found, "rpm_tracked")
	}

	if r.In.Tachometer != nil {
		r.Found = append(r.Found, "rpm_measured")
	}

	for i := range r.Files {
		r.readSidecar(exp, &r.Files[i])
	}

	numbers, texts := r.states(r.Table)
	if run := r.In.Run; run != "" {
		exp.OneOf(slices.Concat(numbers, texts), run, "ingest.run", "is not among what names and tables state, which is")
	}

	r.Conditions = unique(without(numbers, r.isRun), r.Found)
	r.SetTexts(exp, without(texts, r.isRun))
}

// isRun reports whether a column names the run.
func (r *Recordings) isRun(name string) bool { return name == condition.RunColumn(r.In.Run) }

// conditions lists the names of the conditions that the campaign states, with those of a table, in its order,
// and the names of the labels.
func (r *Recordings) conditions(table *campaign.Conditions) (numbers, texts []string) {
	numbers, texts = r.states(table)
	return without(numbers, r.isRun), without(texts, r.isRun)
}

// states lists the same with the name of the run.
func (r *Recordings) states(table *campaign.Conditions) (numbers, texts []string) {
	if table != nil {
		numbers, texts = slices.Clone(table.Names), slices.Clone(table.Labels)
	}

	if r.Pattern != nil {
		numbers, texts = append(numbers, r.Pattern.Names()...), append(texts, r.Pattern.LabelNames()...)
	}

	constants := lists.Each(r.In.Constants, func(c config.NamedNumber) string { return c.Name })
	of := func(a config.NamedString) string { return a.Name }
	isName := func(n string) bool { return slices.Contains(r.Roles.Declared(), n) }
	attributes, sidecar, inFile := lists.Each(r.In.Attributes, of), lists.Each(r.sidecar, of), lists.Each(r.In.InFile, of)

	return unique(numbers, constants, without(attributes, isName), inFile, without(sidecar, isName)),
		unique(texts, lists.Keep(slices.Concat(attributes, sidecar), isName))
}

// unique lists the names in order, each once.
func unique(names ...[]string) []string {
	_, distinct := lists.Index(slices.Concat(names...))
	return distinct
}

// checkSettings settles what is derived, in which units, how channels are grouped and how the
// files are opened, and reports settings that do not fit together.
func (r *Recordings) checkSettings(exp plan.Experiment) {
	outcomes := dsp.OutcomeNames(r.Construction, &exp.DSP.Settings, SeriesNames(&r.In, exp.DSP.ChordM > 0))
	r.SetDerived(exp, nil, outcomes)
	columns := lists.Each(r.In.Columns, func(c config.NamedString) string { return c.Name })
	r.Check(exp, slices.Concat(r.Derive.Outcomes(), columns))
	checkUnits(exp, r.Source)
	readAs(exp, r.Source)
}

// settingsRead returns the settings that the task of one file reads.
func (r *Recordings) settingsRead() []kv.Pair {
	s := append(config.Flatten("ingest", r.In, "others"), // but those that the planning settles
		kv.Pair{Key: "ingest.on_bad_recording", Value: r.In.OnBadRecording},
		kv.Pair{Key: "ingest.data", Value: r.In.Data})
	s = append(s, r.Reader...)
	if r.In.Microphones != "" {
		s = append(s, kv.Pair{Key: "ingest.microphones: chains", Value: fmt.Sprint(r.Chains)})
	}

	if r.In.Balance != nil { // of it ingest reads only which columns are wanted
		s = append(s, kv.Pair{Key: "ingest.balance: columns read", Value: strings.Join(r.Grouping.Channels, ", ")})
	}

	return s
}

// readAs settles how the channels are grouped and the files opened.
func readAs(exp plan.Experiment, src *plan.Source) {
	in := &src.In
	src.Options = ingest.Options{
		Format: in.Format, RateHz: in.RateHz, Truncated: in.Truncated,
		Text: in.Text, Arrays: in.Arrays,
	}

	for _, code := range in.Missing {
		if v, err := strconv.ParseFloat(code, 64); err == nil {
			src.Options.Missing = append(src.Options.Missing, v)
		}
	}

	findReader(exp, src)

	switch src.Construction.(type) {
	case dsp.OfSpectra:
		const other = "belongs to balances; for microphones name channels"
		exp.Refuse(len(in.Columns) > 0, "ingest.columns", other)
		exp.Refuse(in.Balance != nil, "ingest.balance", other)

		src.Grouping = campaign.Grouping{Channels: in.Channels}
		if in.Tachometer != nil {
			src.Grouping.Except = []string{in.Tachometer.Channel}
		}

	case dsp.OfSeries:
		const other = "belongs to microphones"
		exp.Refuse(len(in.Columns) == 0, "ingest",
			"expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which outcome")
		exp.Refuse(in.Microphones != "", "ingest.microphones", other)
		exp.Refuse(in.Calibration != nil, "ingest.calibration", other)

		readMatrix(exp, in)
		src.Forces = measuresForces(in)
		src.Grouping = campaign.Grouping{Together: true, Channels: balanceColumns(in, src.Conditions)}
		checkBalance(exp, src)
	}

	src.Grouping.Roles, src.Grouping.Within = src.Roles, plan.Tolerances(in.Within)
	for _, a := range in.Attributes {
		if name, ofChannel := strings.CutPrefix(a.Value, "@"); ofChannel {
			src.Grouping.Own = append(src.Grouping.Own, [2]string{a.Name, name})
		}
	}

	if in.Calibration != nil && in.Calibration.Calibrator == nil && in.Microphones == "" {
		_, _, err := in.Calibration.Factor("full-scale")
		exp.Refuse(err != nil, "ingest.calibration", "%v", err)
	}
}

// stating lists the conditions and all names of a file's runs, where pattern, table and constants give them without
// opening it, and the first error.
func (f *File) stating(src *plan.Source) (out condition.Rows, err error) {
	file, err := f.stated(src, nil)
	rows := []campaign.ConditionRow{{}}
	if f.Rows != nil {
		rows = f.Rows.Rows
	}

	within := plan.Tolerances(src.In.Within)
	for _, row := range rows {
		v, bad := condition.Merge(f.Name, within, slices.Concat(file, row.Given())...)
		err = cmp.Or(err, bad, settle(src, v.Numbers, v.Names))
		out = append(out, v)
	}

	return out, err
}

// nameRun moves the name of a recording's run, where a source states it, to the label plan.RunLabel.
func nameRun(src *plan.Source, rec *ingest.Recording) {
	key := condition.RunColumn(src.In.Run)
	name := rec.Labels[key]
	if v, ok := rec.Conditions[key]; ok && name == "" {
		name = strconv.FormatFloat(v, 'g', -1, 64)
	}

	delete(rec.Conditions, key)
	rec.Labels = kept(src, rec.Labels, name)
}

// kept returns the labels that the tables have, and the name of the run, if it has one.
func kept(src *plan.Source, labels map[string]string, run string) map[string]string {
	maps.DeleteFunc(labels, func(n, _ string) bool { return !slices.Contains(src.Labels, n) })
	if run != "" {
		labels[plan.RunLabel] = run
	}

	return labels
}

// keyed are the settings of the file's task that belong to no other file.
func (f *File) keyed(src *plan.Source) (local []kv.Pair) {
	if f.Rows != nil {
		for i, row := range f.Rows.Describe() {
			local = append(local, kv.Pair{Key: "conditions row " + strconv.Itoa(i+1), Value: row})
			if run, ok := f.Rows.Rows[i].Name(condition.RunColumn(src.In.Run)); ok {
				local = append(local, kv.Pair{Key: "run " + strconv.Itoa(i+1), Value: run})
			}
		}
	}

	for _, c := range f.Sidecar {
		value := c.Name
		if !c.IsName {
			value = strconv.FormatFloat(c.Value, 'g', -1, 64)
		}

		local = append(local, kv.Pair{Key: "sidecar " + c.Column, Value: value})
	}

	for _, w := range src.In.Within { // of set points in the name and of measured values
		if src.Pattern != nil && slices.Contains(src.Pattern.Names(), w.Name) {
			local = append(local, kv.Pair{Key: "within " + w.Name, Value: w.Value})
		}
	}

	for i, v := range f.known {
		for _, n := range src.Labels {
			local = append(local, kv.Pair{Key: "label " + n + " " + strconv.Itoa(i+1), Value: v.Names[n]})
		}
	}

	return local
}

// planIndex adds the task that writes recordings.arrow: the index of all
// recordings with statistics, digests and quality. Of many files it joins shards, whose short
// FileResults are returned in place of the files'.
func planIndex(exp plan.Experiment, rec *Recordings, shards [][2]int, results []engine.Dep) ([]engine.Dep,
	*engine.Dep,
) {
	meta := exp.Meta(plan.Settings("ingest", rec.In))
	columns := plan.Columns{Conditions: rec.BeforeAnalysis(), Labels: rec.Labels, Derive: rec.Derive}
	add := func(t engine.Task, meta []kv.Pair) string {
		t.Run = func(_ context.Context, j *engine.Job) error { return writeIndex(j, columns, meta, t.Deps) }
		return exp.Add(&t).ID
	}

	t := engine.Task{
		ID: exp.ID("recordings"), Stage: "ingest", Version: version, Deps: results, Weight: 0.05, Replaces: shards != nil,
		Local: append([]kv.Pair{{Key: "conditions", Value: strings.Join(columns.Conditions, ",")}},
			columns.LabelSetting()...),
	}

	var short, parts []engine.Dep
	for _, r := range shards {
		s := t
		s.ID, s.Deps = exp.ID("recordings", rec.Files[r[0]].Name), results[r[0]:r[1]]
		id := add(s, nil)
		short = append(short, engine.Dep{Task: id, Output: fileJSON})
		parts = append(parts, engine.Dep{Task: id, Output: recordingsArrow})
	}

	if shards != nil {
		results, t.Deps = short, parts
	}

	t.Config = plan.Stated(meta)
	t.Publish = []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}}

	return results, &engine.Dep{Task: add(t, meta), Output: recordingsArrow}
}

// writeIndex writes the rows of some files, or joins those that others wrote. A shard, which writes no metadata, leaves
// what later tasks need of its files.
func writeIndex(j *engine.Job, columns plan.Columns, meta []kv.Pair, deps []engine.Dep) (err error) {
	defer fault.Catch(&err)
	t := &table.Table{Meta: meta}
	var short []FileResult
	for _, d := range deps {
		path := j.Input(d.Task, d.Output)
		if d.Output == fileJSON {
			fault.Raise(plan.EachJSON(path, func(res *FileResult) {
				addToIndex(t, columns, res)
				res.Info, res.Runs = ingest.Info{}, nil // no later task needs them
				short = append(short, *res)
			}))
		} else if part := fault.Get(table.Read(path)); part.Rows() > 0 { // else of skipped files
			fault.Raise(t.Append(part))
		}
	}

	if meta == nil {
		fault.Raise(plan.WriteJSON(j, fileJSON, short...))
	}

	return plan.WriteTable(j, recordingsArrow, t)
}

// addToIndex appends a row for each channel of a file's recordings.
func addToIndex(t *table.Table, columns plan.Columns, res *FileResult) {
	for _, run := range res.Runs {
		i := 0
		for _, rec := range run.Run.Recordings {
			for _, ch := range rec.Channels {
				columns.Cells(t, run.Run.ID, rec)
				indexChannel(t, res, run, ch, i)
				i++
			}
		}
	}
}

// indexChannel appends what ingest found out about channel ch of a file, the i-th of the run.
func indexChannel(t *table.Table, res *FileResult, run RunResult, ch, i int) {
	c, s := res.Info.Channels[ch], run.Stats[i]
	at := func(list []float64) float64 {
		if list == nil {
			return math.NaN()
		}
		return list[i]
	}

	text := func(name, doc string, v any) { t.Cell(name, "", doc, v) }

	text("file", "raw file", res.Path)
	text("channel", "channel of the file", c.Name)
	text("format", "file format", res.Info.Format)
	text("encoding", "sample encoding", res.Info.Encoding)
	text("unit", "unit of the samples after calibration", run.Units[i])
	t.Cell("scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	text("calibration", "where that comes from", run.How[i])
	t.Cell("calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest", at(run.Spread))

	t.Cell("rate_hz", "Hz", "sampling rate", orNaN(c.RateHz))
	text("row0", "first sample of the run in the file", int(run.Run.Row0))
	text("samples", "samples of the run", int(s.Samples))
	t.Cell("duration_s", "s", "duration of the run", orNaN(float64(s.Samples)/c.RateHz))

	t.Cell("min", "see column unit", "smallest sample", s.Min)
	t.Cell("max", "see column unit", "largest sample", s.Max)
	t.Cell("mean", "see column unit", "mean", s.Mean)
	t.Cell("rms", "see column unit", "root mean square about zero", s.RMS)
	t.Cell("std", "see column unit", "standard deviation about the mean", s.Std)
	t.Cell("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(at(run.Integral)))

	text("clipped", "samples in runs of three or more at the channel's extreme value", int(s.Clipped))
	text("longest_constant", "longest stretch of equal samples", int(s.Constant))
	text("sha256", "content hash of the raw file", res.SHA256)
}

func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

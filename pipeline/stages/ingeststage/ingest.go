// Package ingeststage plans stage ingest: one task per raw file, which opens it,
// finds its conditions, calibrates its channels and computes their statistics,
// and one task that joins the results into recordings.arrow.
package ingeststage

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 3: constant stretches are reported; 4: recordings state their calibration;
// 5: packed numbers are unpacked, MATLAB's axes are read alike in all versions;
// 6: axes by their names, units of time; 7: clipped floating-point samples, levels apart.
const version = 7

const (
	fileJSON        = "recordings.json"  // FileResults
	recordingsArrow = "recordings.arrow" // the index of all recordings
	pairsArrow      = "pairs.arrow"      // the pairs of a table
)

// Result is what later stages need of stage ingest.
type Result struct {
	plan.Columns

	Data         string               // the kind of data, where a file's name says simulated
	Construction dsp.Construction     // how pairs are made; nil for a table of pairs
	PairKind     string               // same-run, repeat-run or synthetic (docs/method.md#units-of-data)
	Known        []map[string]float64 // condition values, where they are known before any file is read
	KnownLabels  []map[string]string  // of the same rows
	Points       plan.Points          // set points, of which Known holds the values; as far as they are known likewise
	Results      []engine.Dep         // FileResults of the files, without their channels where shards join them
	Shards       [][2]int             // of the files
	Index        *engine.Dep          // recordings.arrow
	Warnings     []ingest.Warning

	Recordings *Recordings // of a campaign; nil for a table of pairs
	Pairs      *Pairs      // of a table; nil for recordings
}

// Pairs are those of a table, which need no analysis.
type Pairs struct {
	Settings []kv.Pair       // that they are read with
	Output   engine.Dep      // pairs.arrow
	Table    *plan.PairTable // how they are read; nil for the simulated toy
	Toy      *simulate.Toy   // nil for a table of the user's
}

// Recordings are the raw files of a campaign and how they are read.
type Recordings struct {
	*plan.Source
	Files       []File
	Backgrounds []plan.RawFile // recordings of the background
	Simulated   bool
}

// File is a raw file with what is known of it before it is opened.
type File struct {
	plan.RawFile
	Rows    *campaign.Conditions      // its rows of the table of conditions; nil without one
	Sidecar []config.NamedNumber      // the conditions in the file next to it
	Result  engine.Dep                // its FileResult
	Reading *engine.Handoff[*Reading] // from its task to that of stage dsp
}

// Plan adds the tasks that read the files of an experiment.
func Plan(exp plan.Experiment, sim simulatestage.Result) (Result, error) {
	if exp.DSP.Triplets == "table" {
		return planPairs(exp, sim)
	}

	found, err := findFiles(exp, sim)
	if err != nil {
		return Result{}, err
	}

	exp.Ingest.Data = found.in.Data

	rec := &Recordings{Source: found.source(exp), Backgrounds: found.backgrounds, Simulated: sim.Campaign != nil}
	if rec.Files, err = rec.sidecars(exp, found.files); err != nil {
		return Result{}, err
	}

	if err := rec.checkSettings(exp); err != nil {
		return Result{}, err
	}

	rows, err := found.rows()
	if err != nil {
		return Result{}, err
	}

	for i := range rec.Files {
		rec.Files[i].Rows = rows[i]
	}

	if rec.Table != nil {
		if err := rec.Table.CheckLabels(rec.Labels); err != nil {
			return Result{}, err
		}
	}

	rec.Settings = append(rec.settingsRead(), rec.Derived(rec.BeforeAnalysis())...)
	rec.Calibrator = planCalibrator(exp, rec.Source)
	if err := rec.takeBackground(exp); err != nil {
		return Result{}, err
	}

	out := Result{
		Columns: rec.Columns, Data: found.in.Data, Construction: rec.Construction, Recordings: rec,
		PairKind: pairKind(exp, rec.Construction), Warnings: found.warnings,
	}

	names := make([]string, len(rec.Files))
	out.Results = make([]engine.Dep, 0, len(names))
	for i := range rec.Files {
		f := &rec.Files[i]
		names[i] = f.Name
		known, labels := f.known(rec.Source)
		out.Known, out.KnownLabels = append(out.Known, known...), append(out.KnownLabels, labels...)
		rec.planFile(exp, f)
		out.Results = append(out.Results, f.Result)
	}

	out.Shards = plan.Shards(names)
	out.Results, out.Index = planIndex(exp, rec, out.Shards, out.Results)

	return out, out.atSetPoints()
}

// source starts the description of how the files are read: their conditions and the
// construction.
func (f *found) source(exp plan.Experiment) *plan.Source {
	src := &plan.Source{
		In:        f.in,
		DSP:       exp.DSP,
		Table:     f.table,
		Pattern:   f.pattern,
		Constants: map[string]float64{},
	}

	for _, c := range src.In.Constants {
		src.Constants[c.Name] = c.Value
	}

	src.Construction = dsp.Configure(dsp.Find(src.DSP.Triplets, len(src.In.Columns) > 0), &src.DSP.Settings)

	if src.DSP.Track != nil && src.Construction != nil && src.Construction.Describe().Shaft {
		src.Found = append(src.Found, "rpm_tracked")
	}

	if src.In.Tachometer != nil {
		src.Found = append(src.Found, "rpm_measured")
	}

	src.Conditions = unique(f.conditions(), src.Found)
	src.Converted = f.converted
	src.SetTexts(exp, f.texts())

	return src
}

// conditions lists the names of the conditions that the campaign states, in table order.
func (f *found) conditions() []string {
	var names []string
	if f.table != nil {
		names = append(names, f.table.Names...)
	}

	if f.pattern != nil {
		names = append(names, f.pattern.Names()...)
	}

	for _, c := range f.in.Constants {
		names = append(names, c.Name)
	}

	for _, a := range f.in.Attributes {
		names = append(names, a.Name)
	}

	for _, a := range f.in.InFile {
		if a.Name != "row0" && a.Name != "row1" {
			names = append(names, a.Name)
		}
	}

	return unique(names)
}

// texts lists the names of the labels that the campaign states.
func (f *found) texts() []string {
	var names []string
	if f.table != nil {
		names = append(names, f.table.Labels...)
	}

	if f.pattern != nil {
		names = append(names, f.pattern.LabelNames()...)
	}

	return unique(names)
}

// unique lists the names in order, each once.
func unique(lists ...[]string) (out []string) {
	for _, n := range slices.Concat(lists...) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}

	return out
}

// checkSettings settles what is derived, in which units, how channels are grouped and how the
// files are opened, and reports settings that do not fit together.
func (r *Recordings) checkSettings(exp plan.Experiment) error {
	var err error

	outcomes := dsp.OutcomeNames(r.Construction, &exp.DSP.Settings, SeriesNames(&r.In, exp.DSP.ChordM > 0))
	if r.Columns, err = r.WithDerived(exp, nil, outcomes); err != nil {
		return err
	}

	if err := r.SetWithin(exp); err != nil {
		return err
	}

	names := r.Derive.Outcomes()
	for _, c := range r.In.Columns {
		names = append(names, c.Name)
	}

	if err := plan.CheckNames(exp, slices.Concat(r.Conditions, r.Labels), names); err != nil {
		return err
	}

	if err := checkUnits(exp, r.Source); err != nil {
		return err
	}

	return readAs(exp, r.Source)
}

// settingsRead returns the settings that the task of one file reads.
func (r *Recordings) settingsRead() []kv.Pair {
	in := r.In
	in.Files, in.Exclude, in.Simulate, in.Conditions = nil, nil, nil, "" // which files there are
	in.Log = config.Log{}                                                // the rows are settings
	in.Background, in.Axes, in.Balance, in.Derive = nil, "", nil, nil    // what later tasks read
	in.Within = nil
	if in.Uncertainty = nil; in.Calibration != nil { // for budgets alone
		c := *in.Calibration
		c.Uncertainty, in.Calibration = nil, &c
	}

	in.OnBadRecording, in.Data, in.Reader = "", "", nil // which follow
	s := append(plan.Settings("ingest", in), kv.Pair{Key: "ingest.on_bad_recording", Value: r.In.OnBadRecording},
		kv.Pair{Key: "ingest.data", Value: r.In.Data})
	s = append(s, r.Reader...)
	if r.In.Balance != nil { // of it ingest reads only which columns are wanted
		s = append(s, kv.Pair{Key: "ingest.balance: columns read", Value: strings.Join(r.Grouping.Channels, ", ")})
	}

	return s
}

// readAs settles how the channels are grouped and the files opened.
func readAs(exp plan.Experiment, src *plan.Source) error {
	in := &src.In
	if in.OnBadRecording == "warn" && !exp.File.Has(exp.At+".ingest.truncated") {
		in.Truncated = "use" // and warned of by the reader
	}

	src.Options = ingest.Options{
		Format: in.Format, RateHz: in.RateHz, Truncated: in.Truncated,
		Text: textOptions(in),
		Arrays: ingest.ArrayOptions{
			RateAttribute: in.Arrays.RateAttribute, PeriodAttribute: in.Arrays.PeriodAttribute,
			UnitAttribute: in.Arrays.UnitAttribute, TimeAxis: in.Arrays.TimeAxis,
		},
	}

	if err := findReader(exp, src); err != nil {
		return err
	}

	switch src.Construction.(type) {
	case dsp.OfSpectra:
		if len(in.Columns) > 0 {
			return exp.Errorf("ingest.columns", "belongs to balances; for microphones name channels")
		}

		if in.Balance != nil {
			return exp.Errorf("ingest.balance", "belongs to balances; for microphones name channels")
		}

		src.Grouping = campaign.Grouping{Channels: in.Channels}
		if in.Tachometer != nil {
			src.Grouping.Except = []string{in.Tachometer.Channel}
		}

	case dsp.OfSeries:
		if len(in.Columns) == 0 {
			return exp.Errorf("ingest", "expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which outcome")
		}

		src.Forces = measuresForces(in)
		src.Grouping = campaign.Grouping{Together: true, Channels: balanceColumns(in, src.Conditions)}

		if in.Calibration != nil {
			return exp.Errorf("ingest.calibration", "belongs to microphones")
		}

		if err := checkBalance(exp, in, src.Conditions); err != nil {
			return err
		}
	}

	if in.Calibration != nil && in.Calibration.Calibrator == nil {
		if _, _, err := calibration(in.Calibration).Factor("full-scale"); err != nil {
			return exp.Errorf("ingest.calibration", "%v", err)
		}
	}

	return nil
}

func textOptions(in *config.Ingest) ingest.TextOptions {
	return ingest.TextOptions{Delimiter: in.Text.Delimiter, Columns: in.Text.Columns, Time: in.Text.Time}
}

// known lists the conditions and labels of a file's runs, where pattern, table and constants
// give them without opening it.
func (f *File) known(src *plan.Source) (out []map[string]float64, labels []map[string]string) {
	base, named := maps.Clone(src.Constants), map[string]string{}
	if src.Pattern != nil {
		src.Pattern.AddTo(base, f.Name)
		maps.Copy(named, src.Pattern.Labels(f.Name))
	}

	for _, v := range f.Sidecar {
		base[v.Name] = v.Value
	}

	if f.Rows == nil {
		out, labels = append(out, base), append(labels, named)
	} else {
		for _, row := range f.Rows.Rows {
			c, l := maps.Clone(base), maps.Clone(named)
			for i, v := range row.Values {
				if v == v { // else another source gives it
					c[f.Rows.Names[i]] = v
				}
			}

			for i, v := range row.Labels {
				l[f.Rows.Labels[i]] = v
			}

			out, labels = append(out, c), append(labels, l)
		}
	}

	for i, c := range out {
		_ = settle(src, c) // the file's task tells what cannot be derived
		labels[i] = kept(src, labels[i])
	}

	return out, labels
}

// kept returns the labels that the tables have; nil of none.
func kept(src *plan.Source, labels map[string]string) map[string]string {
	maps.DeleteFunc(labels, func(n, _ string) bool { return !slices.Contains(src.Labels, n) })
	if len(labels) == 0 {
		return nil
	}

	return labels
}

// keyed are the settings of the file's task that belong to no other file.
func (f *File) keyed(src *plan.Source) (local []kv.Pair) {
	if f.Rows != nil {
		for i, row := range f.Rows.Describe() {
			local = append(local, kv.Pair{Key: "conditions row " + strconv.Itoa(i+1), Value: row})
		}
	}

	for _, v := range f.Sidecar {
		local = append(local, kv.Pair{Key: "sidecar " + v.Name, Value: strconv.FormatFloat(v.Value, 'g', -1, 64)})
	}

	for _, w := range src.In.Within { // of set points in the name and of measured values
		if src.Pattern != nil && slices.Contains(src.Pattern.Names(), w.Name) {
			local = append(local, kv.Pair{Key: "within " + w.Name, Value: w.Value})
		}
	}

	if len(src.Labels) > 0 {
		_, labels := f.known(src)
		for i, l := range labels {
			for _, n := range src.Labels {
				local = append(local, kv.Pair{Key: "label " + n + " " + strconv.Itoa(i+1), Value: l[n]})
			}
		}
	}

	return local
}

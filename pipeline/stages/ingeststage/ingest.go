// Package ingeststage plans stage ingest: one task per raw file, which opens it,
// finds its conditions, calibrates its channels and computes their statistics,
// and one task that joins the results into recordings.arrow.
package ingeststage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
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
// 5: packed numbers are unpacked, MATLAB's axes are read alike in all versions.
const version = 5

// Skipped is a recording left out under on_bad_recording: skip.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// RunResult is what ingest found out about one run.
type RunResult struct {
	Run   ingest.Run      `json:"run"`
	Stats []stats.Summary `json:"stats"` // of the channels of its recordings, in order, in Unit
	Units []string        `json:"units"` // per channel, after calibration
	Scale []float64       `json:"scale"` // per channel, from the reader's samples to Units
	How   []string        `json:"how"`   // per channel, where Scale comes from
	// per channel, of a calibrator's recording; NaN is not JSON: nil without one
	Spread []float64 `json:"spread_db,omitempty"`
	// per channel of a balance, s; 0 where it is unknown
	Integral []float64 `json:"integral_s,omitempty"`
}

// FileResult is what ingest found out about one file.
type FileResult struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Info     ingest.Info      `json:"info"`
	Runs     []RunResult      `json:"runs"`
	Warnings []ingest.Warning `json:"warnings"`
	Skipped  *Skipped         `json:"skipped,omitempty"`
}

const fileJSON = "recordings.json"

// Plan adds the tasks from raw files to recordings.arrow.
func Plan(b *plan.Builder) error {
	if b.Exp.DSP.Triplets == "table" {
		return readPairs(b)
	}
	src := plan.Source{In: b.Exp.Ingest, Constants: map[string]float64{}}
	b.Converted = map[string]string{}
	find := measuredFiles
	if b.Campaign != nil {
		find = simulatedFiles
	}
	raw, err := find(b, &src)
	if err != nil {
		return err
	}
	for _, c := range src.In.Constants {
		src.Constants[c.Name] = c.Value
	}
	b.Construction = dsp.Configure(dsp.Find(b.Exp.DSP.Triplets, len(src.In.Columns) > 0), &b.Exp.DSP.Settings)
	conditionNames(b, &src)
	side, err := sidecars(b, &src, raw)
	if err != nil {
		return err
	}
	b.Sidecars = map[string][]config.NamedNumber{}
	for i, r := range raw {
		b.Sidecars[r.Name] = side[i]
	}
	if err := b.CheckDerived(nil, dsp.OutcomeNames(b.Construction, &b.Exp.DSP.Settings,
		SeriesNames(&src.In, b.Exp.DSP.ChordM > 0))); err != nil {
		return err
	}
	outcomes := b.Derive.Outcomes()
	for _, c := range src.In.Columns {
		outcomes = append(outcomes, c.Name)
	}
	if err := b.CheckNames(b.Conditions, outcomes); err != nil {
		return err
	}
	if err := checkUnits(b, &src); err != nil {
		return err
	}
	if err := readAs(b, &src); err != nil {
		return err
	}
	perFile, err := conditionsPerFile(&src, raw)
	if err != nil {
		return err
	}
	src.Settings = append(settingsRead(&src), b.Derived(notFound(b))...)
	src.Calibrator = calibrator(b, &src)
	if raw, perFile, err = findBackground(b, &src, raw, perFile); err != nil {
		return err
	}
	b.Analysers, b.Readings = engine.NewPool(dsp.NewAnalyser), map[string]*engine.Handoff[*plan.Reading]{}
	for i, r := range raw {
		ingestFile(b, &src, r, perFile[i])
	}
	b.Source, b.Raw, b.PerFile = &src, raw, perFile
	recordingsTable(b, &src)
	return nil
}

// simulatedFiles returns the files that the tasks of stage simulate write, and
// takes their settings and conditions into src.
func simulatedFiles(b *plan.Builder, src *plan.Source) (raw []plan.RawFile, err error) {
	src.In = simulatestage.SimulatedIngest(b.Exp.Ingest, b.Campaign)
	if src.Conditions, err = simulatestage.SimulatedConditions(b.Campaign); err != nil {
		return nil, err
	}
	for _, d := range b.Simulated {
		raw = append(raw, plan.RawFile{Name: d.Output, Dep: &d})
	}
	return raw, nil
}

// measuredFiles finds the raw files of the configuration, without those of the
// background and the tares, and reads the table of conditions and the pattern
// into src.
func measuredFiles(b *plan.Builder, src *plan.Source) (raw []plan.RawFile, err error) {
	in := &b.Exp.Ingest
	files, w, err := campaign.Find(patterns(in), in.Exclude, b.File.Dir)
	if err != nil {
		return nil, err
	}
	left, err := excluded(b, files)
	if err != nil {
		return nil, err
	}
	b.Warnings = append(trimPath(w), left...)
	if is, err := backgroundFiles(b); err != nil {
		return nil, err
	} else if is != nil {
		files = slices.DeleteFunc(files, func(f string) bool { return is[f] })
		if len(files) == 0 {
			return nil, b.File.Errorf(b.At+".ingest.background.files", "every recording is one of the background")
		}
	}
	if p := in.Conditions; p != "" {
		if src.Conditions, err = campaign.ReadConditions(b.File.Resolve(p)); err != nil {
			return nil, err
		}
		if b.Converted, err = src.Conditions.Convert(statedUnits(*in)); err != nil {
			return nil, err
		}
	}
	tares := ownTares(b, src, files)
	files = slices.DeleteFunc(files, func(f string) bool { return tares[f] })
	simulatedByName(b, files)
	src.In.Data = in.Data
	for _, p := range files {
		raw = append(raw, plan.RawFile{
			Name: filepath.ToSlash(p),
			File: &engine.File{Path: filepath.ToSlash(p), Open: b.File.Resolve(p)},
		})
	}
	if src.Conditions != nil && (len(in.Exclude) > 0 || len(b.Backgrounds) > 0 || len(tares) > 0) {
		all, _, err := campaign.Find(patterns(in), nil, b.File.Dir)
		if err != nil {
			return nil, err
		}
		src.Conditions = src.Conditions.Without(all, files)
	}
	if p := in.Pattern; p != "" {
		if src.Pattern, err = campaign.ParsePattern(p); err != nil {
			return nil, b.File.Errorf(b.At+".ingest.pattern", "%v", err)
		}
	}
	return raw, nil
}

// patterns are the globs of the raw files.
func patterns(in *config.Ingest) []string {
	if in.Table != nil {
		return in.Table.File
	}
	return in.Files
}

// conditionsPerFile returns each file's rows of the table of conditions, nil
// without a table, and checks that the pattern matches the files' names.
func conditionsPerFile(src *plan.Source, raw []plan.RawFile) ([]*campaign.Conditions, error) {
	names := make([]string, len(raw))
	for i, r := range raw {
		names[i] = r.Name
	}
	perFile := make([]*campaign.Conditions, len(raw))
	if src.Conditions != nil {
		var err error
		if perFile, err = src.Conditions.ForFiles(names); err != nil {
			return nil, err
		}
	}
	if src.Pattern != nil {
		if err := src.Pattern.CheckNames(names); err != nil {
			return nil, err
		}
	}
	return perFile, nil
}

// settingsRead returns the settings that the task of one file reads.
func settingsRead(src *plan.Source) []kv.Pair {
	s := plan.Without(plan.Settings("ingest", src.In), "ingest.files", "ingest.exclude", "ingest.simulate",
		"ingest.conditions", "ingest.on_bad_recording", "ingest.data", "ingest.background", "ingest.axes", "ingest.balance",
		"ingest.reader", "ingest.derive")
	s = append(s, plan.Settings("ingest", struct {
		Policy string `key:"on_bad_recording"`
		Data   string `key:"data"`
	}{src.In.OnBadRecording, src.In.Data})...)
	s = append(s, src.Reader...)
	if src.In.Balance != nil { // of it ingest reads only which columns are wanted
		s = append(s, kv.Pair{
			Key:   "ingest.balance: columns read",
			Value: strings.Join(src.Grouping.Channels, ", "),
		})
	}
	return s
}

// ownTares are the recordings without wind that the table of conditions names:
// they may be among the files, and are none of the campaign.
func ownTares(b *plan.Builder, src *plan.Source, files []string) map[string]bool {
	bal := src.In.Balance
	if bal == nil || bal.Tare == nil || bal.Tare.Column == "" || src.Conditions == nil {
		return nil
	}
	names := tareNames(bal.Tare.Column, src.Conditions)
	rows := map[string]bool{}
	for _, r := range src.Conditions.Rows {
		rows[path.Base(filepath.ToSlash(r.File))] = true
	}
	out := map[string]bool{}
	for _, f := range files {
		s := filepath.ToSlash(f)
		if (names[s] || names[path.Base(s)]) && !rows[path.Base(s)] {
			out[f] = true
		}
	}
	return out
}

// trimPath removes a path from texts that are printed after the path anyway.
func trimPath(list []ingest.Warning) []ingest.Warning {
	for i, w := range list {
		list[i].Text = strings.TrimPrefix(w.Text, w.Path+" ")
	}
	return list
}

// excluded names the files that were left out knowingly, so that the report
// does not depend on someone reading the configuration.
func excluded(b *plan.Builder, files []string) ([]ingest.Warning, error) {
	if len(b.Exp.Ingest.Exclude) == 0 {
		return nil, nil
	}
	all, _, err := campaign.Find(patterns(&b.Exp.Ingest), nil, b.File.Dir)
	if err != nil {
		return nil, err
	}
	// The table of conditions is read, though not as a recording.
	table := filepath.Clean(b.Exp.Ingest.Conditions)
	out := slices.DeleteFunc(all, func(f string) bool { return slices.Contains(files, f) || filepath.Clean(f) == table })
	const few = 10
	switch n := len(out); {
	case n == 0:
		return nil, nil
	case n == 1:
		return []ingest.Warning{{Path: filepath.ToSlash(out[0]), Code: "excluded", Text: "left out by exclude"}}, nil
	case n > few:
		out = append(out[:few:few], fmt.Sprintf("… and %d more", n-few))
	}
	return []ingest.Warning{{
		Path: filepath.ToSlash(out[0]), Code: "excluded",
		Text: fmt.Sprintf("left out by exclude, as are %s", strings.Join(out[1:], ", ")),
	}}, nil
}

// readAs settles how the channels are grouped and the files opened.
func readAs(b *plan.Builder, src *plan.Source) error {
	in := &src.In
	if in.OnBadRecording == "warn" && !b.File.Has(b.At+".ingest.truncated") {
		in.Truncated = "use" // and warned of by the reader
	}
	src.Options = ingest.Options{
		Format: in.Format, RateHz: in.RateHz, Truncated: in.Truncated,
		Text: ingest.TextOptions{Delimiter: in.Text.Delimiter, Columns: in.Text.Columns, Time: in.Text.Time},
		Arrays: ingest.ArrayOptions{
			RateAttribute: in.Arrays.RateAttribute, PeriodAttribute: in.Arrays.PeriodAttribute,
			UnitAttribute: in.Arrays.UnitAttribute, TimeAxis: in.Arrays.TimeAxis,
		},
	}
	key := b.At + ".ingest"
	if err := findReader(b, src); err != nil {
		return err
	}
	switch b.Construction.(type) {
	case dsp.OfSpectra:
		if len(in.Columns) > 0 {
			return b.File.Errorf(key+".columns", "belongs to balances; for microphones name channels")
		}
		if in.Balance != nil {
			return b.File.Errorf(key+".balance", "belongs to balances; for microphones name channels")
		}
		src.Grouping = campaign.Grouping{Channels: in.Channels}
		if in.Tachometer != nil {
			src.Grouping.Except = []string{in.Tachometer.Channel}
		}
	case dsp.OfSeries:
		if len(in.Columns) == 0 {
			return b.File.Errorf(key, "expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which outcome")
		}
		src.Grouping.Together = true
		src.Forces = measuresForces(in)
		src.Grouping.Channels = balanceColumns(b, in)
		if in.Calibration != nil {
			return b.File.Errorf(key+".calibration", "belongs to microphones")
		}
		if err := checkBalance(b, in); err != nil {
			return err
		}
	}
	if in.Calibration != nil && in.Calibration.Calibrator == nil {
		if _, _, err := calibration(in.Calibration).Factor("full-scale"); err != nil {
			return b.File.Errorf(key+".calibration", "%v", err)
		}
	}
	return nil
}

func calibration(c *config.Calibration) ingest.Calibration {
	if c == nil {
		return ingest.Calibration{}
	}
	return ingest.Calibration{
		FullScaleV: c.FullScaleV, Reading: c.Reading, SensitivityVPerPa: c.SensitivityVPerPa,
		GainDB: c.GainDB, PaPerUnit: c.PaPerUnit, Unit: c.Unit,
	}
}

// conditionNames lists the experiment's conditions in table order and collects
// the values known so far.
func conditionNames(b *plan.Builder, src *plan.Source) {
	seen := map[string]bool{}
	add := func(names ...string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				b.Conditions = append(b.Conditions, n)
			}
		}
	}
	if src.Conditions != nil {
		add(src.Conditions.Names...)
	}
	if src.Pattern != nil {
		add(src.Pattern.Names()...)
	}
	for _, c := range src.In.Constants {
		add(c.Name)
	}
	for _, a := range src.In.Attributes {
		add(a.Name)
	}
	for _, a := range src.In.InFile {
		if a.Name != "row0" && a.Name != "row1" {
			add(a.Name)
		}
	}
	if b.Exp.DSP.Track != nil && b.Construction != nil && b.Construction.Describe().Shaft {
		b.Found = append(b.Found, "rpm_tracked")
	}
	if src.In.Tachometer != nil {
		b.Found = append(b.Found, "rpm_measured")
	}
	add(b.Found...)
}

// notFound lists the conditions that are known before the analysis of a run.
func notFound(b *plan.Builder) []string {
	return slices.DeleteFunc(slices.Clone(b.Conditions), func(c string) bool { return slices.Contains(b.Found, c) })
}

// ingestFile adds the task that opens one file, assembles its runs, and
// computes their statistics.
func ingestFile(b *plan.Builder, src *plan.Source, r plan.RawFile, conds *campaign.Conditions) {
	var local []kv.Pair
	if conds != nil {
		for i, row := range conds.Describe() {
			local = append(local, kv.Pair{Key: "conditions row " + strconv.Itoa(i+1), Value: row})
		}
	}
	side := b.Sidecars[r.Name]
	for _, v := range side {
		local = append(local, kv.Pair{Key: "sidecar " + v.Name, Value: strconv.FormatFloat(v.Value, 'g', -1, 64)})
	}
	know(b, src, conds, r.Name)
	handoff := engine.NewHandoff[*plan.Reading](b.ID("dsp", r.Name))
	b.Readings[r.Name] = handoff
	t := &engine.Task{
		ID: b.ID("ingest", r.Name), Stage: "ingest", Version: version, Config: src.Settings, Local: local, Weight: 0.0075,
		Pool: b.Analysers,
		Run: func(ctx context.Context, j *engine.Job) error {
			cal, err := Sensitivities(src, j)
			if err != nil {
				return err
			}
			var reading *plan.Reading // nil: each task reads by itself
			if src.In.Tachometer == nil && handoff.Wanted(j) {
				reading = plan.NewReading(b.Analysers)
				handoff.Put(j, reading)
			}
			res, err := (&file{b, src, cal, conds, side, reading, r.Name, r.Path(j)}).read(ctx)
			if err != nil {
				reason, bad := BadRecording(src, err)
				if !bad {
					return err
				}
				res = &FileResult{Path: r.Name, Skipped: &Skipped{r.Name, reason}}
			}
			res.SHA256 = r.SHA256(j)
			return plan.WriteJSON(j.Output(fileJSON), res)
		},
	}
	r.Needs(t)
	if src.Calibrator != nil {
		t.Deps = append(t.Deps, *src.Calibrator)
	}
	b.Add(t)
	b.Recordings = append(b.Recordings, engine.Dep{Task: t.ID, Output: fileJSON})
}

// BadRecording reports whether err is the fault of the data and the policy is
// to go on without such recordings.
func BadRecording(src *plan.Source, err error) (reason string, skip bool) {
	var data *fault.Error
	if src.In.OnBadRecording != "fail" && errors.As(err, &data) {
		return err.Error(), true
	}
	return "", false
}

type scanner func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]stats.Summary, []ingest.Warning, error)

// scan is stats.Scan of a run. Under on_bad_recording: warn a microphone with
// samples that are no numbers is taken out of the run, if others remain.
// first is stats.Scan or gives the same.
func scan(src *plan.Source, ctx context.Context, rd ingest.Reader, run *ingest.Run, first scanner) ([]stats.Summary,
	[]ingest.Warning, error,
) {
	sums, warnings, err := first(ctx, rd, *run)
	bad := false
	if err != nil {
		_, bad = BadRecording(src, err)
	}
	if !bad || src.In.OnBadRecording != "warn" || src.Grouping.Together || len(run.Recordings) < 2 {
		return sums, warnings, err
	}
	all, warnings, again := stats.ScanAll(ctx, rd, *run)
	if again != nil {
		return nil, nil, err
	}
	var sound []ingest.Recording
	info := rd.Info()
	sums = nil
	for i, rec := range run.Recordings { // of one channel each
		if s := all[i]; s.NaN == 0 {
			sound, sums = append(sound, rec), append(sums, s)
		} else {
			warnings = append(warnings, ingest.Warning{Path: info.Path, Code: "left-out", Text: fmt.Sprintf(
				"%s is left out: %d of %d samples of channel %s are no finite numbers, the first is sample %d", rec.ID, s.NaN,
				s.Samples, info.Channels[rec.Channels[0]].Name, run.Row0+s.FirstNaN)})
		}
	}
	if len(sound) == 0 || len(sound) == len(all) {
		return nil, nil, err
	}
	run.Recordings = sound
	return sums, warnings, nil
}

// callsItselfSimulated reports whether a name or a text of a file contains
// "simulated".
func callsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// simulatedByName looks at the names of files if the key data is not given: files
// named simulated make the experiment a simulated one.
func simulatedByName(b *plan.Builder, names []string) {
	i := slices.IndexFunc(names, func(n string) bool { return callsItselfSimulated(path.Base(n)) })
	if i < 0 || b.Exp.Ingest.Simulate != nil {
		return
	}
	key := b.At + ".ingest.data"
	switch {
	case !b.File.Has(key):
		b.Exp.Ingest.Data = "simulated"
		b.Warnings = append(b.Warnings, ingest.Warning{
			Path: names[i], Code: "simulated",
			Text: "is named simulated: the experiment is called simulated; set data: simulated, or data: measured if it was " +
				"measured",
		})
	case b.Exp.Ingest.Data != "simulated":
		b.Warnings = append(b.Warnings, ingest.Warning{
			Path: names[i], Code: "simulated",
			Text: "is named simulated, but the configuration has data: measured",
		})
	}
}

// simulatedByContent warns of a file whose attributes or comments contain
// "simulated".
func simulatedByContent(src *plan.Source, info ingest.Info) []ingest.Warning {
	if src.In.Data == "simulated" {
		return nil
	}
	for _, a := range info.Attributes {
		if callsItselfSimulated(a.Name) && !strings.EqualFold(a.Value, "false") && a.Value != "0" ||
			callsItselfSimulated(a.Value) {
			return []ingest.Warning{{
				Path: info.Path, Code: "simulated",
				Text: fmt.Sprintf("calls itself simulated (%s: %s), but the experiment is called measured: set data: simulated",
					a.Name, a.Value),
			}}
		}
	}
	return nil
}

// know collects the conditions of a file, where pattern, table and constants
// give them without opening it.
func know(b *plan.Builder, src *plan.Source, conds *campaign.Conditions, name string) {
	base := map[string]float64{}
	for k, v := range src.Constants {
		base[k] = v
	}
	if src.Pattern != nil {
		m, _ := src.Pattern.Match(name)
		for k, v := range m {
			base[k] = v
		}
	}
	for _, v := range b.Sidecars[name] {
		base[v.Name] = v.Value
	}
	if conds == nil {
		_ = settle(b, src, base) // the file's task tells what cannot be derived
		b.Known = append(b.Known, base)
		return
	}
	for _, row := range conds.Rows {
		c := map[string]float64{}
		for k, v := range base {
			c[k] = v
		}
		for i, v := range row.Values {
			c[conds.Names[i]] = v
		}
		_ = settle(b, src, c)
		b.Known = append(b.Known, c)
	}
}

// fromPlane turns the microphone's angle into one from the rotor plane, where
// the data count it from the axis.
func fromPlane(src *plan.Source, conditions map[string]float64) {
	if v, ok := conditions["theta_deg"]; ok && src.In.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}
}

// Sensitivities reads the results of the calibrator's recordings, if there are any.
func Sensitivities(s *plan.Source, j *engine.Job) (all []Sensitivity, err error) {
	if s.Calibrator != nil {
		err = plan.ReadJSON(j.Input(s.Calibrator.Task, s.Calibrator.Output), &all)
	}
	return all, err
}

// file is a raw file and what is known of it before it is opened.
type file struct {
	b          *plan.Builder
	src        *plan.Source
	cal        []Sensitivity        // of the calibrator's recordings; nil without them
	conditions *campaign.Conditions // its rows of the table of conditions; nil without one
	sidecar    []config.NamedNumber // conditions of the file next to it
	reading    *plan.Reading        // what it keeps for stage dsp; nil: nothing
	name, path string               // the name the user knows, the path it is opened by
}

func (f *file) open() (ingest.Reader, error) { return format.Open(f.path, f.src.Options) }

func (f *file) named(err error) error { return Named(err, f.path, f.name) }

// read opens the file, assembles its runs and computes their statistics. Under
// on_bad_recording: warn it leaves out runs that cannot be used, if others
// remain.
func (f *file) read(ctx context.Context) (*FileResult, error) {
	rd, err := f.open()
	if err != nil {
		return nil, f.named(err)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = f.name
	res := &FileResult{Path: f.name}
	res.warn(info.Warnings)
	info.Warnings = nil
	res.Info = info
	runs, warnings, err := f.runs(ctx, rd, info)
	if err != nil {
		return nil, err
	}
	res.Warnings = append(res.Warnings, warnings...)
	res.Warnings = append(res.Warnings, simulatedByContent(f.src, info)...)
	var balance kept
	first := f.scanner(info, len(runs), &balance)
	var last error // of a run that is left out
	for _, run := range runs {
		sums, warnings, err := scan(f.src, ctx, rd, &run, first)
		if err != nil {
			err = f.named(err)
			reason, bad := BadRecording(f.src, err)
			if !bad || f.src.In.OnBadRecording != "warn" || len(runs) == 1 {
				return nil, err
			}
			text := fmt.Sprintf("%s is left out: %s", run.ID, reason)
			res.Warnings = append(res.Warnings, ingest.Warning{Path: f.name, Code: "left-out", Text: text})
			last = err
			continue
		}
		res.warn(warnings)
		rr, err := f.calibrated(info, run, sums)
		if err != nil {
			return nil, err
		}
		res.Warnings = append(res.Warnings, dropouts(info, rr)...)
		if f.src.Grouping.Together {
			if balance.err != nil {
				return nil, f.named(balance.err)
			}
			rr.Integral = integralTimes(balance.series, info, run) // 0 of no series
			f.reading.SetSeries(run.ID, balance.series)
		}
		res.Runs = append(res.Runs, rr)
	}
	if len(res.Runs) == 0 {
		return nil, last
	}
	return res, nil
}

// warn adds warnings of the file.
func (r *FileResult) warn(list []ingest.Warning) {
	for _, w := range list {
		w.Path = r.Path
		r.Warnings = append(r.Warnings, w)
	}
}

// runs assembles the runs of an open file with their conditions.
func (f *file) runs(ctx context.Context, rd ingest.Reader, info ingest.Info) ([]ingest.Run, []ingest.Warning, error) {
	constants, err := attributeConditions(f.src, info, f.sidecar)
	if err != nil {
		return nil, nil, err
	}
	conds, group := f.conditions, f.src.Grouping
	if len(f.src.In.InFile) > 0 {
		if conds, group, err = conditionTable(ctx, rd, info, f.src); err != nil {
			return nil, nil, f.named(err)
		}
	}
	opened := func(string) (ingest.Info, error) { return info, nil }
	runs, warnings, err := campaign.Assemble([]string{f.name}, opened, conds, f.src.Pattern, constants, group)
	if err != nil {
		return nil, nil, f.named(err)
	}
	if err := channelConditions(f.src, info, runs); err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		for _, rec := range run.Recordings {
			if err := settle(f.b, f.src, rec.Conditions); err != nil {
				place := strings.TrimPrefix(rec.ID, f.name)
				return nil, nil, &fault.Error{Path: f.name, Place: place, Want: "a finite number", Found: err.Error()}
			}
		}
	}
	if !f.src.Grouping.Together {
		for _, rec := range runs[0].Recordings {
			if err := ingest.RequireTimeSeries(rd, rec.Channels); err != nil {
				return nil, nil, f.named(err)
			}
		}
	}
	return runs, warnings, nil
}

// kept are the samples of a balance's run, or why they could not be read.
type kept struct {
	series [][]float64
	err    error
}

// scanner returns the scan of a file's runs: stats.Scan, or one that keeps the
// samples of a balance, or the spectra of the only run, on the way.
func (f *file) scanner(info ingest.Info, runs int, balance *kept) scanner {
	switch {
	case f.src.Grouping.Together:
		return func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]stats.Summary, []ingest.Warning, error) {
			*balance = kept{}
			n, channels := length(info, run), run.Recordings[0].Channels
			wanted := info.Channels[channels[0]].RateHz > 0 || f.reading != nil && n*int64(len(channels)) <= plan.MaxHeld
			if n == 0 || !wanted { // Scan reports 0 samples
				return stats.Scan(ctx, rd, run)
			}
			pass := stats.NewPass(rd, run)
			balance.series, balance.err = ReadRun(ctx, pass, run, n)
			return pass.Stats(ctx, f.open)
		}
	case f.reading != nil && runs == 1:
		return func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]stats.Summary, []ingest.Warning, error) {
			return f.loadSpectra(ctx, info, rd, run)
		}
	}
	return stats.Scan
}

// calibrated is the result of a run whose channels have the statistics sums, in
// the reader's samples.
func (f *file) calibrated(info ingest.Info, run ingest.Run, sums []stats.Summary) (RunResult, error) {
	rr := RunResult{Run: run}
	for _, rec := range run.Recordings {
		for _, ch := range rec.Channels {
			scale, unit, how, spread, err := Factor(f.src, f.cal, info, ch)
			if err != nil {
				return rr, err
			}
			if f.cal != nil {
				rr.Spread = append(rr.Spread, spread)
			}
			rr.How = append(rr.How, how)
			i := len(rr.Units)
			rr.Units, rr.Scale = append(rr.Units, unit), append(rr.Scale, scale)
			rr.Stats = append(rr.Stats, scaled(sums[i], scale))
		}
	}
	return rr, nil
}

// Factor is what the samples of a channel are multiplied with, the unit they
// then have, and where that comes from.
func Factor(src *plan.Source, cal []Sensitivity, info ingest.Info, ch int) (f float64, unit, how string,
	spreadDB float64, err error,
) {
	if cal != nil {
		s, err := sensitivityOf(cal, info, ch)
		if err != nil {
			return 0, "", "", 0, err
		}
		return s.PaPerUnit, "Pa", s.text(), s.SpreadDB, nil
	}
	before, stated, note := 1.0, info.Channels[ch].Unit, ""
	if !src.Grouping.Together {
		before, stated, note = soundUnit(stated)
	}
	if f, unit, err = calibration(src.In.Calibration).Factor(stated); err != nil {
		return 0, "", "", 0, &fault.Error{
			Path: info.Path, Place: "channel " + info.Channels[ch].Name,
			Found: err.Error(),
		}
	}
	return f * before, unit, joined(note, calibrationText(src.In.Calibration)), 0, nil
}

// attributeConditions adds the conditions in the file's attributes, and those of
// its sidecar, to the constants.
func attributeConditions(src *plan.Source, info ingest.Info, side []config.NamedNumber) (map[string]float64, error) {
	out := maps.Clone(src.Constants)
	for _, v := range side {
		if old, ok := out[v.Name]; ok && old != v.Value {
			return nil, &fault.Error{
				Path: info.Path, Place: "condition " + v.Name,
				Want: fmt.Sprintf("%v, as in the configuration", old), Found: fmt.Sprintf("%v in the file next to it", v.Value),
			}
		}
		out[v.Name] = v.Value
	}
	for _, a := range src.In.Attributes {
		if strings.HasPrefix(a.Value, "@") {
			continue
		}
		v, err := ingest.AttributeNumber(info, a.Value)
		if err != nil {
			return nil, fmt.Errorf("condition %s: %w", a.Name, err)
		}
		out[a.Name] = v
	}
	return out, nil
}

// channelConditions adds to each recording the conditions in its channel's
// attributes.
func channelConditions(src *plan.Source, info ingest.Info, runs []ingest.Run) error {
	for _, a := range src.In.Attributes {
		name, own := strings.CutPrefix(a.Value, "@")
		if !own {
			continue
		}
		for _, run := range runs {
			for _, rec := range run.Recordings {
				c := info.Channels[rec.Channels[0]]
				v, err := ingest.AttributeNumber(ingest.Info{Path: info.Path, Attributes: c.Attributes}, name)
				if err != nil {
					return fmt.Errorf("condition %s of channel %s: %w", a.Name, c.Name, err)
				}
				if old, ok := rec.Conditions[a.Name]; ok && old != v {
					return &fault.Error{
						Path: info.Path, Place: "condition " + a.Name, Want: fmt.Sprintf("%v, as elsewhere", old),
						Found: fmt.Sprintf("%v in channel %s", v, c.Name),
					}
				}
				rec.Conditions[a.Name] = v
			}
		}
	}
	return nil
}

func scaled(s stats.Summary, f float64) stats.Summary {
	s.Min, s.Max, s.Mean, s.RMS, s.Std = s.Min*f, s.Max*f, s.Mean*f, s.RMS*math.Abs(f), s.Std*math.Abs(f)
	return s
}

// Named replaces the path a file was opened by with the name the user knows.
func Named(err error, path, name string) error {
	var data *fault.Error
	if errors.As(err, &data) {
		switch data.Path {
		case path:
			d := *data
			d.Path = name
			return &d
		case name:
			return err // it names the file already
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// recordingsTable adds the task that writes recordings.arrow: the index of all
// recordings with statistics, digests and quality.
func recordingsTable(b *plan.Builder, src *plan.Source) {
	cfg := plan.Settings("ingest", src.In)
	conditions := notFound(b)
	deps := b.Recordings
	b.Add(&engine.Task{
		ID: b.ID("recordings"), Stage: "ingest", Version: version,
		Config: plan.Without(plan.Settings("ingest", src.In), "ingest.files"), Deps: deps, Weight: 0.05,
		Local: []kv.Pair{
			{Key: "conditions", Value: strings.Join(conditions, ",")},
			{Key: "kind of data", Value: src.In.Data},
		},
		Publish: []engine.Link{{Output: "recordings.arrow", Path: b.Published("recordings.arrow")}},
		Run: func(_ context.Context, j *engine.Job) error {
			t := newRecordings(conditions)
			for _, d := range deps {
				var res FileResult
				if err := plan.ReadJSON(j.Input(d.Task, d.Output), &res); err != nil {
					return err
				}
				t.add(&res, conditions)
			}
			tab := t.table(b, conditions)
			tab.Meta = b.Meta(cfg)
			dg, err := tab.WriteFile(j.Output("recordings.arrow"))
			j.SetDigest("recordings.arrow", dg)
			return err
		},
	})
}

type recordings struct {
	str map[string][]string
	num map[string][]float64
	cnt map[string][]int64
}

func newRecordings([]string) *recordings {
	return &recordings{map[string][]string{}, map[string][]float64{}, map[string][]int64{}}
}

func (r *recordings) add(res *FileResult, conditions []string) {
	for _, run := range res.Runs {
		i := 0
		for _, rec := range run.Run.Recordings {
			for _, ch := range rec.Channels {
				c, st := res.Info.Channels[ch], run.Stats[i]
				s := func(k, v string) { r.str[k] = append(r.str[k], v) }
				f := func(k string, v float64) { r.num[k] = append(r.num[k], v) }
				n := func(k string, v int64) { r.cnt[k] = append(r.cnt[k], v) }
				s("run", run.Run.ID)
				s("recording", rec.ID)
				s("file", res.Path)
				s("format", res.Info.Format)
				s("encoding", res.Info.Encoding)
				s("channel", c.Name)
				s("unit", run.Units[i])
				s("sha256", res.SHA256)
				s("calibration", run.How[i])
				f("scale", run.Scale[i])
				spread := math.NaN()
				if run.Spread != nil {
					spread = run.Spread[i]
				}
				f("calibrator_spread_db", spread)
				integral := 0.0
				if run.Integral != nil {
					integral = run.Integral[i]
				}
				f("integral_time_s", orNaN(integral))
				n("row0", run.Run.Row0)
				n("samples", st.Samples)
				rate := c.RateHz
				f("rate_hz", orNaN(rate))
				f("duration_s", orNaN(float64(st.Samples)/rate))
				f("min", st.Min)
				f("max", st.Max)
				f("mean", st.Mean)
				f("rms", st.RMS)
				f("std", st.Std)
				n("clipped", st.Clipped)
				n("longest_constant", st.Constant)
				for _, name := range conditions {
					v, ok := rec.Conditions[name]
					if !ok {
						v = math.NaN()
					}
					f(name, v)
				}
				i++
			}
		}
	}
}

func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

func (r *recordings) table(b *plan.Builder, conditions []string) *table.Table {
	t := &table.Table{}
	s := func(name, doc string) {
		t.Columns = append(t.Columns, table.Column{Name: name, Description: doc, Strings: append([]string{}, r.str[name]...)})
	}
	f := func(name, unit, doc string) {
		t.Columns = append(t.Columns, table.Column{
			Name: name, Unit: unit, Description: doc,
			Floats: append([]float64{}, r.num[name]...),
		})
	}
	n := func(name, unit, doc string) {
		t.Columns = append(t.Columns, table.Column{
			Name: name, Unit: unit, Description: doc,
			Ints: append([]int64{}, r.cnt[name]...),
		})
	}
	s("run", "one acquisition at one condition")
	s("recording", "one channel of a run, or the group that makes one outcome vector")
	for _, c := range conditions {
		u, d := b.AboutCondition(c)
		f(c, u, d)
	}
	s("file", "raw file")
	s("channel", "channel of the file")
	s("format", "file format")
	s("encoding", "sample encoding")
	s("unit", "unit of the samples after calibration")
	f("scale", "see column unit", "what a sample of the file was multiplied with")
	s("calibration", "where that comes from")
	f("calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest")
	f("rate_hz", "Hz", "sampling rate")
	n("row0", "", "first sample of the run in the file")
	n("samples", "", "samples of the run")
	f("duration_s", "s", "duration of the run")
	for _, c := range [][2]string{
		{"min", "smallest sample"},
		{"max", "largest sample"},
		{"mean", "mean"},
		{"rms", "root mean square about zero"},
		{"std", "standard deviation about the mean"},
	} {
		f(c[0], "see column unit", c[1])
	}
	f("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation")
	n("clipped", "", "samples in runs of three or more at the channel's extreme value")
	n("longest_constant", "", "longest stretch of equal samples")
	s("sha256", "content hash of the raw file")
	return t
}

package stages

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

	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// skipped is a recording left out under on_bad_recording: skip.
type skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// runResult is what ingest found out about one run.
type runResult struct {
	Run   ingest.Run     `json:"run"`
	Stats []ingest.Stats `json:"stats"` // of the channels of its recordings, in order, in Unit
	Units []string       `json:"units"` // per channel, after calibration
	Scale []float64      `json:"scale"` // per channel, from the reader's samples to Units
	How   []string       `json:"how"`   // per channel, where Scale comes from
	// per channel, of a calibrator's recording; NaN is not JSON: nil without one
	Spread []float64 `json:"spread_db,omitempty"`
	// per channel of a balance, s; 0 where it cannot be told
	Integral []float64 `json:"integral_s,omitempty"`
}

// fileResult is what ingest found out about one file.
type fileResult struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Info     ingest.Info      `json:"info"`
	Runs     []runResult      `json:"runs"`
	Warnings []ingest.Warning `json:"warnings"`
	Skipped  *skipped         `json:"skipped,omitempty"`
}

const fileJSON = "recordings.json"

// rawFile is one raw file of an experiment: on disk, or made by a task.
type rawFile struct {
	name string // as in the conditions table and in IDs
	file *engine.File
	dep  *engine.Dep
}

func (r rawFile) needs(t *engine.Task) {
	if r.file != nil {
		t.Files = append(t.Files, *r.file)
	} else {
		t.Deps = append(t.Deps, *r.dep)
	}
}

func (r rawFile) path(j *engine.Job) string {
	if r.file != nil {
		return r.file.Open
	}
	return j.Input(r.dep.Task, r.dep.Output)
}

func (r rawFile) sha256(j *engine.Job) string {
	if r.file != nil {
		return j.FileDigest(r.file.Path)
	}
	return j.InputDigest(r.dep.Task, r.dep.Output)
}

// source is how the files of an experiment are read.
type source struct {
	in         config.Ingest
	conditions *ingest.Conditions
	pattern    *ingest.Pattern
	constants  map[string]float64
	grouping   ingest.Grouping
	options    ingest.Options
	settings   []engine.KV // what the task of a file reads of the configuration
	calibrator *engine.Dep // what a calibrator's recordings say; nil without
	forces     bool        // the balance's columns hold forces, not voltages
}

// ingest adds the tasks from raw files to recordings.arrow.
func (b *builder) ingest() error {
	if b.e.DSP.Triplets == "table" {
		return b.readPairs()
	}
	src := source{in: b.e.Ingest, constants: map[string]float64{}}
	var raw []rawFile
	if b.campaign != nil {
		var err error
		src.in = simulatedIngest(b.e.Ingest, b.campaign)
		if src.conditions, err = simulatedConditions(b.campaign); err != nil {
			return err
		}
		for _, d := range b.simulated {
			raw = append(raw, rawFile{name: d.Output, dep: &d})
		}
	} else {
		files, w, err := ingest.Find(b.e.Ingest.Files, b.e.Ingest.Exclude, b.f.Dir)
		if err != nil {
			return err
		}
		left, err := b.excluded(files)
		if err != nil {
			return err
		}
		b.warnings = append(sayOnce(w), left...)
		if is, err := b.backgroundFiles(); err != nil {
			return err
		} else if is != nil {
			files = slices.DeleteFunc(files, func(f string) bool { return is[f] })
			if len(files) == 0 {
				return b.f.Errorf(b.at+".ingest.background.files", "every recording is one of the background")
			}
		}
		if p := b.e.Ingest.Conditions; p != "" {
			if src.conditions, err = ingest.ReadConditions(b.f.Resolve(p)); err != nil {
				return err
			}
		}
		tares := b.ownTares(&src, files)
		files = slices.DeleteFunc(files, func(f string) bool { return tares[f] })
		b.simulatedByName(files)
		src.in.Data = b.e.Ingest.Data
		for _, p := range files {
			raw = append(raw, rawFile{name: filepath.ToSlash(p), file: &engine.File{Path: filepath.ToSlash(p), Open: b.f.Resolve(p)}})
		}
		if p := b.e.Ingest.Conditions; p != "" {
			if len(b.e.Ingest.Exclude) > 0 || len(b.backgrounds) > 0 || len(tares) > 0 {
				all, _, err := ingest.Find(b.e.Ingest.Files, nil, b.f.Dir)
				if err != nil {
					return err
				}
				src.conditions = src.conditions.Without(all, files)
			}
		}
		if p := b.e.Ingest.Pattern; p != "" {
			if src.pattern, err = ingest.ParsePattern(p); err != nil {
				return b.f.Errorf(b.at+".ingest.pattern", "%v", err)
			}
		}
	}
	for _, c := range src.in.Constants {
		src.constants[c.Name] = c.Value
	}
	b.conditionNames(&src)
	side, err := b.sidecars(&src, raw)
	if err != nil {
		return err
	}
	b.beside = map[string][]config.NamedNumber{}
	for i, r := range raw {
		b.beside[r.name] = side[i]
	}
	if err := b.readAs(&src); err != nil {
		return err
	}
	names := make([]string, len(raw))
	for i, r := range raw {
		names[i] = r.name
	}
	perFile := make([]*ingest.Conditions, len(raw))
	if src.conditions != nil {
		var err error
		if perFile, err = src.conditions.ForFiles(names); err != nil {
			return err
		}
	}
	if src.pattern != nil {
		if err := src.pattern.CheckNames(names); err != nil {
			return err
		}
	}
	src.settings = without(settings("ingest", src.in), "ingest.files", "ingest.exclude", "ingest.simulate", "ingest.conditions", "ingest.on_bad_recording", "ingest.data", "ingest.background", "ingest.axes", "ingest.balance")
	src.settings = append(src.settings, settings("ingest", struct {
		Policy string `key:"on_bad_recording"`
		Data   string `key:"data"`
	}{src.in.OnBadRecording, src.in.Data})...)
	if src.in.Balance != nil { // of it ingest reads only which columns are wanted
		src.settings = append(src.settings, engine.KV{Key: "ingest.balance: columns read", Value: strings.Join(src.grouping.Channels, ", ")})
	}
	src.calibrator = b.calibrator(&src)
	if raw, perFile, err = b.findBackground(&src, raw, perFile); err != nil {
		return err
	}
	for i, r := range raw {
		b.ingestFile(&src, r, perFile[i])
	}
	b.src, b.raw, b.perFile = &src, raw, perFile
	b.recordingsTable(&src)
	return nil
}

// ownTares are the recordings without wind that the table of conditions names:
// they may be among the files, and are none of the campaign.
func (b *builder) ownTares(src *source, files []string) map[string]bool {
	bal := src.in.Balance
	if bal == nil || bal.Tare == nil || bal.Tare.Column == "" || src.conditions == nil {
		return nil
	}
	names := tareNames(bal.Tare.Column, src.conditions)
	rows := map[string]bool{}
	for _, r := range src.conditions.Rows {
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

// sayOnce takes a path out of the words that follow it anyway.
func sayOnce(list []ingest.Warning) []ingest.Warning {
	for i, w := range list {
		list[i].Text = strings.TrimPrefix(w.Text, w.Path+" ")
	}
	return list
}

// excluded names the files that were left out knowingly, so that the report
// does not depend on someone reading the configuration.
func (b *builder) excluded(files []string) ([]ingest.Warning, error) {
	if len(b.e.Ingest.Exclude) == 0 {
		return nil, nil
	}
	all, _, err := ingest.Find(b.e.Ingest.Files, nil, b.f.Dir)
	if err != nil {
		return nil, err
	}
	// The table of conditions is read, though not as a recording.
	table := filepath.Clean(b.e.Ingest.Conditions)
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
	return []ingest.Warning{{Path: filepath.ToSlash(out[0]), Code: "excluded", Text: fmt.Sprintf("left out by exclude, as are %s", strings.Join(out[1:], ", "))}}, nil
}

// readAs settles how the channels are grouped and the files opened.
func (b *builder) readAs(src *source) error {
	in := &src.in
	if in.OnBadRecording == "warn" && !b.f.Has(b.at+".ingest.truncated") {
		in.Truncated = "use" // and warned of by the reader
	}
	src.options = ingest.Options{
		Format: in.Format, RateHz: in.RateHz, Truncated: in.Truncated,
		Text:   ingest.TextOptions{Delimiter: in.Text.Delimiter, Columns: in.Text.Columns, Time: in.Text.Time},
		Arrays: ingest.ArrayOptions{RateAttribute: in.Arrays.RateAttribute, PeriodAttribute: in.Arrays.PeriodAttribute, UnitAttribute: in.Arrays.UnitAttribute},
	}
	key := b.at + ".ingest"
	spectra := b.e.DSP.Triplets == "split-half-spectrum" || b.e.DSP.Triplets == "repeats" && len(in.Columns) == 0
	if spectra {
		if len(in.Columns) > 0 {
			return b.f.Errorf(key+".columns", "belongs to balances; for microphones name channels")
		}
		if in.Balance != nil {
			return b.f.Errorf(key+".balance", "belongs to balances; for microphones name channels")
		}
		src.grouping = ingest.Grouping{Channels: in.Channels}
		if in.Tachometer != nil {
			src.grouping.Except = []string{in.Tachometer.Channel}
		}
	} else {
		if len(in.Columns) == 0 {
			return b.f.Errorf(key, "expected columns, e.g. {lift_n: Fz, drag_n: Fx}: which column is which outcome")
		}
		src.grouping.Together = true
		src.forces = measuresForces(in)
		src.grouping.Channels = b.balanceColumns(in)
		if in.Calibration != nil {
			return b.f.Errorf(key+".calibration", "belongs to microphones")
		}
		if err := b.checkBalance(in); err != nil {
			return err
		}
	}
	if in.Calibration != nil && in.Calibration.Calibrator == nil {
		if _, _, err := calibration(in.Calibration).Factor("full-scale"); err != nil {
			return b.f.Errorf(key+".calibration", "%v", err)
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
func (b *builder) conditionNames(src *source) {
	seen := map[string]bool{}
	add := func(names ...string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				b.conditions = append(b.conditions, n)
			}
		}
	}
	if src.conditions != nil {
		add(src.conditions.Names...)
	}
	if src.pattern != nil {
		add(src.pattern.Names()...)
	}
	for _, c := range src.in.Constants {
		add(c.Name)
	}
	for _, a := range src.in.Attributes {
		add(a.Name)
	}
	for _, a := range src.in.Inside {
		if a.Name != "row0" && a.Name != "row1" {
			add(a.Name)
		}
	}
	if b.e.DSP.Track != nil {
		add("rpm_tracked")
	}
	if src.in.Tachometer != nil {
		add("rpm_measured")
	}
}

// ingestFile adds the task that opens one file, assembles its runs, and
// computes their statistics.
func (b *builder) ingestFile(src *source, r rawFile, conds *ingest.Conditions) {
	var local []engine.KV
	if conds != nil {
		for i, row := range conds.Describe() {
			local = append(local, engine.KV{Key: "conditions row " + strconv.Itoa(i+1), Value: row})
		}
	}
	beside := b.beside[r.name]
	for _, v := range beside {
		local = append(local, engine.KV{Key: "sidecar " + v.Name, Value: strconv.FormatFloat(v.Value, 'g', -1, 64)})
	}
	b.know(src, conds, r.name)
	t := &engine.Task{
		ID: b.id("ingest", r.name), Stage: "ingest", Version: ingestVersion, Config: src.settings, Local: local, Weight: 0.02,
		Run: func(ctx context.Context, j *engine.Job) error {
			cal, err := src.sensitivities(j)
			if err != nil {
				return err
			}
			next := b.id("dsp", r.name)
			ahead := b.readAhead(src, j, next)
			res, err := readFile(ctx, src, cal, conds, beside, ahead, r.name, r.path(j))
			if err != nil {
				ahead.free()
				reason, bad := badRecording(src, err)
				if !bad {
					return err
				}
				res = &fileResult{Path: r.name, Skipped: &skipped{r.name, reason}}
			} else if ahead != nil {
				j.Leave(next, ahead)
			}
			res.SHA256 = r.sha256(j)
			return writeJSON(j.Output(fileJSON), res)
		},
	}
	r.needs(t)
	if src.calibrator != nil {
		t.Deps = append(t.Deps, *src.calibrator)
	}
	b.add(t)
	b.recordings = append(b.recordings, engine.Dep{Task: t.ID, Output: fileJSON})
}

// badRecording reports whether err is the fault of the data and the policy is
// to go on without such recordings.
func badRecording(src *source, err error) (reason string, skip bool) {
	var data *ingest.DataError
	if src.in.OnBadRecording != "fail" && errors.As(err, &data) {
		return err.Error(), true
	}
	return "", false
}

type scanner func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]ingest.Stats, []ingest.Warning, error)

// scan is ingest.Scan of a run. Under on_bad_recording: warn a microphone with
// samples that are no numbers is taken out of the run, if others remain.
// first is ingest.Scan or gives the same.
func (src *source) scan(ctx context.Context, rd ingest.Reader, run *ingest.Run, first scanner) ([]ingest.Stats, []ingest.Warning, error) {
	stats, warnings, err := first(ctx, rd, *run)
	bad := false
	if err != nil {
		_, bad = badRecording(src, err)
	}
	if !bad || src.in.OnBadRecording != "warn" || src.grouping.Together || len(run.Recordings) < 2 {
		return stats, warnings, err
	}
	all, warnings, again := ingest.ScanAll(ctx, rd, *run)
	if again != nil {
		return nil, nil, err
	}
	var sound []ingest.Recording
	info := rd.Info()
	stats = nil
	for i, rec := range run.Recordings { // of one channel each
		if s := all[i]; s.NaN == 0 {
			sound, stats = append(sound, rec), append(stats, s)
		} else {
			warnings = append(warnings, ingest.Warning{Path: info.Path, Code: "left-out", Text: fmt.Sprintf(
				"%s is left out: %d of %d samples of channel %s are no finite numbers, the first is sample %d", rec.ID, s.NaN, s.Samples, info.Channels[rec.Channels[0]].Name, run.Row0+s.FirstNaN)})
		}
	}
	if len(sound) == 0 || len(sound) == len(all) {
		return nil, nil, err
	}
	run.Recordings = sound
	return stats, warnings, nil
}

// callsItselfSimulated tells a name or a text of a file that says so.
func callsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// simulatedByName looks at the names of files where no key says what the data
// are: what calls itself simulated is called simulated.
func (b *builder) simulatedByName(names []string) {
	i := slices.IndexFunc(names, func(n string) bool { return callsItselfSimulated(path.Base(n)) })
	if i < 0 || b.e.Ingest.Simulate != nil {
		return
	}
	key := b.at + ".ingest.data"
	switch {
	case !b.f.Has(key):
		b.e.Ingest.Data = "simulated"
		b.warnings = append(b.warnings, ingest.Warning{Path: names[i], Code: "simulated", Text: "is named simulated: the experiment is called simulated; say data: simulated, or data: measured if it was measured"})
	case b.e.Ingest.Data != "simulated":
		b.warnings = append(b.warnings, ingest.Warning{Path: names[i], Code: "simulated", Text: "is named simulated, the configuration says data: measured"})
	}
}

// simulatedByContent warns of a file that calls itself simulated in what it
// says of itself.
func simulatedByContent(src *source, info ingest.Info) []ingest.Warning {
	if src.in.Data == "simulated" {
		return nil
	}
	for _, a := range info.Attributes {
		if callsItselfSimulated(a.Name) && !strings.EqualFold(a.Value, "false") && a.Value != "0" || callsItselfSimulated(a.Value) {
			return []ingest.Warning{{Path: info.Path, Code: "simulated", Text: fmt.Sprintf("calls itself simulated (%s: %s), the experiment is called measured: say data: simulated", a.Name, a.Value)}}
		}
	}
	return nil
}

// know collects the conditions of a file, where pattern, table and constants
// give them without opening it.
func (b *builder) know(src *source, conds *ingest.Conditions, name string) {
	base := map[string]float64{}
	for k, v := range src.constants {
		base[k] = v
	}
	if src.pattern != nil {
		m, _ := src.pattern.Match(name)
		for k, v := range m {
			base[k] = v
		}
	}
	for _, v := range b.beside[name] {
		base[v.Name] = v.Value
	}
	if conds == nil {
		src.fromPlane(base)
		b.known = append(b.known, base)
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
		src.fromPlane(c)
		b.known = append(b.known, c)
	}
}

// fromPlane turns the microphone's angle into one from the rotor plane, where
// the data count it from the axis.
func (src *source) fromPlane(conditions map[string]float64) {
	if v, ok := conditions["theta_deg"]; ok && src.in.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}
}

// sensitivities reads what the calibrator's recordings say, if there are any.
func (s *source) sensitivities(j *engine.Job) (all []sensitivity, err error) {
	if s.calibrator != nil {
		err = readJSON(j.Input(s.calibrator.Task, s.calibrator.Output), &all)
	}
	return all, err
}

func readFile(ctx context.Context, src *source, cal []sensitivity, conds *ingest.Conditions, beside []config.NamedNumber, ahead *ahead, name, path string) (*fileResult, error) {
	rd, err := ingest.Open(path, src.options)
	if err != nil {
		return nil, named(err, path, name)
	}
	defer rd.Close()
	info := rd.Info()
	info.Path = name
	res := &fileResult{Path: name, Info: info}
	for _, w := range info.Warnings {
		w.Path = name
		res.Warnings = append(res.Warnings, w)
	}
	info.Warnings = nil
	res.Info.Warnings = nil
	constants, err := attributeConditions(src, info, beside)
	if err != nil {
		return nil, err
	}
	group := src.grouping
	if len(src.in.Inside) > 0 {
		if conds, group, err = inside(ctx, rd, info, src); err != nil {
			return nil, named(err, path, name)
		}
	}
	runs, warnings, err := ingest.Assemble([]string{name}, func(string) (ingest.Info, error) { return info, nil }, conds, src.pattern, constants, group)
	if err != nil {
		return nil, named(err, path, name)
	}
	if err := channelConditions(src, info, runs); err != nil {
		return nil, err
	}
	for _, run := range runs {
		for _, rec := range run.Recordings {
			src.fromPlane(rec.Conditions)
		}
	}
	if !src.grouping.Together {
		for _, rec := range runs[0].Recordings {
			if err := ingest.RefuseSpectra(rd, rec.Channels); err != nil {
				return nil, named(err, path, name)
			}
		}
	}
	res.Warnings = append(res.Warnings, warnings...)
	res.Warnings = append(res.Warnings, simulatedByContent(src, info)...)
	again := func() (ingest.Reader, error) { return ingest.Open(path, src.options) }
	first := ingest.Scan
	var series [][]float64 // of a balance's run
	var unread error
	switch {
	case src.grouping.Together:
		first = func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]ingest.Stats, []ingest.Warning, error) {
			series, unread = nil, nil
			n, channels := length(info, run), run.Recordings[0].Channels
			wanted := info.Channels[channels[0]].RateHz > 0 || ahead != nil && n*int64(len(channels)) <= mostHeld
			if n == 0 || !wanted { // of 0 samples Scan says what is wrong
				return ingest.Scan(ctx, rd, run)
			}
			pass := ingest.NewPass(rd, run)
			series, unread = readRun(ctx, pass, run, n)
			return pass.Stats(ctx, again)
		}
	case ahead != nil && len(runs) == 1:
		first = func(ctx context.Context, rd ingest.Reader, run ingest.Run) ([]ingest.Stats, []ingest.Warning, error) {
			return ahead.scan(ctx, src, cal, info, rd, again, run)
		}
	}
	var last error // of a run that is left out
	for _, run := range runs {
		stats, warnings, err := src.scan(ctx, rd, &run, first)
		rr := runResult{Run: run}
		if err != nil {
			err = named(err, path, name)
			if reason, bad := badRecording(src, err); bad && src.in.OnBadRecording == "warn" && len(runs) > 1 {
				res.Warnings = append(res.Warnings, ingest.Warning{Path: name, Code: "left-out", Text: fmt.Sprintf("%s is left out: %s", run.ID, reason)})
				last = err
				continue
			}
			return nil, err
		}
		for i := range warnings {
			warnings[i].Path = name
		}
		res.Warnings = append(res.Warnings, warnings...)
		for _, rec := range run.Recordings {
			for _, ch := range rec.Channels {
				f, u, how, spread, err := src.factor(cal, info, ch)
				if err != nil {
					return nil, err
				}
				if cal != nil {
					rr.Spread = append(rr.Spread, spread)
				}
				rr.How = append(rr.How, how)
				i := len(rr.Units)
				rr.Units, rr.Scale = append(rr.Units, u), append(rr.Scale, f)
				rr.Stats = append(rr.Stats, scaled(stats[i], f))
			}
		}
		res.Warnings = append(res.Warnings, dropouts(info, rr)...)
		if src.grouping.Together {
			if unread != nil {
				return nil, named(unread, path, name)
			}
			rr.Integral = integralTimes(series, info, run) // 0 of no series
			ahead.keep(run, series)
		}
		res.Runs = append(res.Runs, rr)
	}
	if len(res.Runs) == 0 {
		return nil, last
	}
	return res, nil
}

// factor is what the samples of a channel are multiplied with, the unit they
// then have, and where that comes from.
func (src *source) factor(cal []sensitivity, info ingest.Info, ch int) (f float64, unit, how string, spreadDB float64, err error) {
	if cal != nil {
		s, err := sensitivityOf(cal, info, ch)
		if err != nil {
			return 0, "", "", 0, err
		}
		return s.PaPerUnit, "Pa", s.text(), s.SpreadDB, nil
	}
	if f, unit, err = calibration(src.in.Calibration).Factor(info.Channels[ch].Unit); err != nil {
		return 0, "", "", 0, &ingest.DataError{Path: info.Path, Place: "channel " + info.Channels[ch].Name, Found: err.Error()}
	}
	return f, unit, calibrationText(src.in.Calibration), 0, nil
}

// attributeConditions adds what the file says of its conditions to the constants,
// and what stands in the file beside it.
func attributeConditions(src *source, info ingest.Info, beside []config.NamedNumber) (map[string]float64, error) {
	out := maps.Clone(src.constants)
	for _, v := range beside {
		if old, ok := out[v.Name]; ok && old != v.Value {
			return nil, &ingest.DataError{Path: info.Path, Place: "condition " + v.Name, Want: fmt.Sprintf("%v, as in the configuration", old), Found: fmt.Sprintf("%v in the file beside it", v.Value)}
		}
		out[v.Name] = v.Value
	}
	for _, a := range src.in.Attributes {
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

// channelConditions gives each recording what its channel says of its conditions.
func channelConditions(src *source, info ingest.Info, runs []ingest.Run) error {
	for _, a := range src.in.Attributes {
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
					return &ingest.DataError{Path: info.Path, Place: "condition " + a.Name, Want: fmt.Sprintf("%v, as elsewhere", old), Found: fmt.Sprintf("%v in channel %s", v, c.Name)}
				}
				rec.Conditions[a.Name] = v
			}
		}
	}
	return nil
}

func scaled(s ingest.Stats, f float64) ingest.Stats {
	s.Min, s.Max, s.Mean, s.RMS, s.Std = s.Min*f, s.Max*f, s.Mean*f, s.RMS*math.Abs(f), s.Std*math.Abs(f)
	return s
}

// named replaces the path a file was opened by with the name the user knows.
func named(err error, path, name string) error {
	var data *ingest.DataError
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
func (b *builder) recordingsTable(src *source) {
	cfg := settings("ingest", src.in)
	conditions := b.conditions
	if n := len(conditions); n > 0 && foundByDSP(conditions[n-1]) {
		conditions = conditions[:n-1]
	}
	deps := b.recordings
	b.add(&engine.Task{
		ID: b.id("recordings"), Stage: "ingest", Version: ingestVersion, Config: without(settings("ingest", src.in), "ingest.files"), Deps: deps, Weight: 0.05,
		Local:   []engine.KV{{Key: "conditions", Value: strings.Join(conditions, ",")}, {Key: "kind of data", Value: src.in.Data}},
		Publish: []engine.Link{{Output: "recordings.arrow", Path: b.published("recordings.arrow")}},
		Run: func(_ context.Context, j *engine.Job) error {
			t := newRecordings(conditions)
			for _, d := range deps {
				var res fileResult
				if err := readJSON(j.Input(d.Task, d.Output), &res); err != nil {
					return err
				}
				t.add(&res, conditions)
			}
			tab := t.table(conditions)
			tab.Meta = b.meta(cfg)
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

func (r *recordings) add(res *fileResult, conditions []string) {
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

func (r *recordings) table(conditions []string) *table.Table {
	t := &table.Table{}
	s := func(name, doc string) {
		t.Columns = append(t.Columns, table.Column{Name: name, Description: doc, Strings: append([]string{}, r.str[name]...)})
	}
	f := func(name, unit, doc string) {
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: doc, Floats: append([]float64{}, r.num[name]...)})
	}
	n := func(name, unit, doc string) {
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: doc, Ints: append([]int64{}, r.cnt[name]...)})
	}
	s("run", "one acquisition at one condition")
	s("recording", "one channel of a run, or the group that makes one outcome vector")
	for _, c := range conditions {
		u, d := unitOf(c)
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
	for _, c := range [][2]string{{"min", "smallest sample"}, {"max", "largest sample"}, {"mean", "mean"}, {"rms", "root mean square about zero"}, {"std", "standard deviation about the mean"}} {
		f(c[0], "see column unit", c[1])
	}
	f("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation")
	n("clipped", "", "samples in runs of three or more at the channel's extreme value")
	n("longest_constant", "", "longest stretch of equal samples")
	s("sha256", "content hash of the raw file")
	return t
}

package ingeststage

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/simulatestage"
)

// found are the files of an experiment, and what is stated about them outside of them.
type found struct {
	in          config.Ingest // the settings, with the kind of data and what a simulated campaign states
	files       []plan.RawFile
	backgrounds []plan.RawFile       // recordings of the background that globs name
	table       *campaign.Conditions // nil without one
	pattern     *campaign.Pattern    // nil without one
	converted   map[string]string    // by condition, how its unit was converted
	warnings    []ingest.Warning
}

// findFiles finds the files that the tasks of stage simulate write, or those of the configuration.
func findFiles(exp plan.Experiment, sim simulatestage.Result) (*found, error) {
	if sim.Campaign == nil {
		return findMeasured(exp)
	}

	table, err := sim.Conditions()
	if err != nil {
		return nil, err
	}

	f := &found{in: sim.Ingest(exp.Ingest), table: table, converted: map[string]string{}}
	for _, d := range sim.Files {
		f.files = append(f.files, plan.RawFile{Name: d.Output, Dep: &d})
	}

	return f, nil
}

// findMeasured finds the raw files of the configuration, without those of the
// background and the tares, and reads the table of conditions and the pattern.
func findMeasured(exp plan.Experiment) (*found, error) {
	f := &found{in: exp.Ingest, converted: map[string]string{}}
	globs := f.in.Files
	if f.in.Table != nil {
		globs = f.in.Table.File
	}

	listed, warnings, err := campaign.Find(globs, f.in.Exclude, exp.File.Dir)
	if err != nil {
		return nil, err
	}

	all := listed
	if len(f.in.Exclude) > 0 {
		if all, _, err = campaign.Find(globs, nil, exp.File.Dir); err != nil {
			return nil, err
		}
	}

	f.warnings = append(warnings, excluded(f.in.Conditions, all, listed)...)

	files, err := f.withoutBackground(exp, listed)
	if err != nil {
		return nil, err
	}

	if p := f.in.Conditions; p != "" {
		o := campaign.LogOptions{
			Files: all, Columns: byName(f.in.Log.Columns), Missing: f.in.Log.Missing, Ignore: f.in.Log.Ignore,
		}
		if f.table, err = campaign.ReadLog(exp.File.Resolve(p), o); err != nil {
			return nil, err
		}

		if f.converted, err = f.table.Convert(byName(f.in.Units)); err != nil {
			return nil, err
		}
	}

	files = f.withoutTares(files)

	f.callSimulated(files, exp.File.Has(exp.At+".ingest.data"))

	for _, p := range files {
		f.files = append(f.files, onDisk(exp, p))
	}

	if p := f.in.Pattern; p != "" {
		if f.pattern, err = campaign.ParsePattern(p); err != nil {
			return nil, exp.Errorf("ingest.pattern", "%v", err)
		}
	}

	if f.table != nil {
		if err := f.settleTable(exp, all, files); err != nil {
			return nil, err
		}
	}

	return f, nil
}

// settleTable drops the rows of the table of conditions that are not used, and settles values that
// it does not state.
func (f *found) settleTable(exp plan.Experiment, all, files []string) error {
	rows, unused := f.table.Without(all, files)

	other := *f // without the table
	other.table = nil
	given := other.conditions()
	if s := f.in.Sidecar; s != nil {
		for _, v := range s.Values {
			given = append(given, v.Name)
		}
	}

	gaps, err := rows.FillGaps(exp.Mentions, given)
	f.warnings = append(f.warnings, slices.Concat(rows.Warnings, unused, gaps)...)
	f.table = rows

	return err
}

// onDisk is a file that the configuration names.
func onDisk(exp plan.Experiment, name string) plan.RawFile {
	slash := filepath.ToSlash(name)
	return plan.RawFile{Name: slash, File: &engine.File{Path: slash, Open: exp.File.Resolve(name)}}
}

// without returns the files for which drop does not hold.
func without(files []string, drop func(file string) bool) []string {
	return slices.DeleteFunc(slices.Clone(files), drop)
}

// withoutBackground finds the recordings of the background that globs name, and returns the other
// files.
func (f *found) withoutBackground(exp plan.Experiment, files []string) ([]string, error) {
	bg := f.in.Background
	if bg == nil || len(bg.Files) == 0 {
		return files, nil
	}

	names, _, err := campaign.Find(bg.Files, f.in.Exclude, exp.File.Dir)
	if err != nil {
		return nil, err
	}

	for _, p := range names {
		f.backgrounds = append(f.backgrounds, onDisk(exp, p))
	}

	rest := without(files, func(p string) bool { return slices.Contains(names, p) })
	if len(rest) == 0 {
		return nil, exp.Errorf("ingest.background.files", "every recording is one of the background")
	}

	return rest, nil
}

// withoutTares returns the files without the recordings without wind that the table of
// conditions names: they may be among the files, and are none of the campaign.
func (f *found) withoutTares(files []string) []string {
	bal := f.in.Balance
	if bal == nil || bal.Tare == nil || bal.Tare.Column == "" || f.table == nil {
		return files
	}

	names, rows := tareNames(bal.Tare.Column, f.table), map[string]bool{}
	for _, r := range f.table.Rows {
		rows[path.Base(filepath.ToSlash(r.File))] = true
	}

	return without(files, func(p string) bool {
		s := filepath.ToSlash(p)
		return (names[s] || names[path.Base(s)]) && !rows[path.Base(s)]
	})
}

// rows returns each file's rows of the table of conditions, nil
// without a table, and checks that the pattern matches the files' names.
func (f *found) rows() ([]*campaign.Conditions, error) {
	names := make([]string, len(f.files))
	for i, r := range f.files {
		names[i] = r.Name
	}

	rows := make([]*campaign.Conditions, len(names))
	if f.table != nil {
		var err error
		if rows, err = f.table.ForFiles(names); err != nil {
			return nil, err
		}
	}

	if f.pattern != nil {
		if err := f.pattern.CheckNames(names); err != nil {
			return nil, err
		}
	}

	return rows, nil
}

// excluded names the files that were left out knowingly, so that the report
// does not depend on someone reading the configuration. The table of conditions is read,
// though not as a recording.
func excluded(table string, all, used []string) []ingest.Warning {
	if len(all) == len(used) {
		return nil
	}

	table = filepath.Clean(table)
	known := map[string]bool{}
	for _, f := range used {
		known[f] = true
	}

	out := without(all, func(f string) bool { return known[f] || filepath.Clean(f) == table })
	if len(out) == 0 {
		return nil
	}

	w := ingest.Warning{Path: filepath.ToSlash(out[0]), Code: "excluded", Text: "left out by exclude"}

	const few = 10
	if n := len(out); n > few {
		out = append(out[:few:few], fmt.Sprintf("… and %d more", n-few))
	}

	if len(out) > 1 {
		w.Text += ", as are " + strings.Join(out[1:], ", ")
	}

	return []ingest.Warning{w}
}

// callsItselfSimulated reports whether a name or a text of a file contains
// "simulated".
func callsItselfSimulated(s string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "simulated")
}

// callSimulated makes the experiment a simulated one if a file is named so and the key data is
// not given.
func (f *found) callSimulated(files []string, given bool) {
	i := slices.IndexFunc(files, func(n string) bool { return callsItselfSimulated(path.Base(n)) })
	if i < 0 || given && f.in.Data == "simulated" {
		return
	}

	text := "is named simulated, but the configuration has data: measured"
	if !given {
		f.in.Data = "simulated"
		text = "is named simulated: the experiment is called simulated; set data: simulated, or data: measured if it was " +
			"measured"
	}

	f.warnings = append(f.warnings, ingest.Warning{Path: files[i], Code: "simulated", Text: text})
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

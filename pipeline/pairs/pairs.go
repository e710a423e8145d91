// Package pairs opens the pairs of outcomes that a command is about. The user names an experiment, its folder or a
// table. The package also reads a table of predictions, converts its columns to wanted units, and finds the row of each
// pair.
package pairs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// Pairs is a table of pairs of outcomes.
type Pairs struct {
	*table.Table
	Name       string             // what the user called it: the experiment, its folder or the table
	Dir        string             // folder of the experiment; "" if the pairs are from a table
	Split      string             // the split that the name states; all pairs of the experiment are read; "": none
	Experiment *config.Experiment // nil if the configuration does not have it
}

// Open reads pairs. name is an experiment of the configuration, EXPERIMENT/SPLIT, the folder of either, which mean all
// pairs of the experiment, a triplets.arrow, or a table with columns OUTCOME_1 and OUTCOME_2. Open takes those columns
// of texts of such a table that are among texts, or all if texts is nil. configuration is the path of a configuration.
// If it is "", Open reads pipeline.yaml if there is one.
func Open(name, configuration string, texts []string) (*Pairs, error) {
	file, err := config.LoadDefault(configuration)
	if err != nil {
		return nil, err
	}

	pairs, path, err := find(file, name)
	switch {
	case err != nil: // it is reported below, as an error of reading is
	case filepath.Ext(path) == ".arrow":
		pairs.Table, err = table.ReadVerified(path)
	default:
		pairs.Table, err = readTable(path, texts)
	}

	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.At(path, "", "an experiment, its folder, a triplets.arrow or a table of pairs", "none",
			"pipeline run writes the pairs of an experiment"+experiments(file))
	}

	if err != nil {
		return nil, tableFault(path, err)
	}

	if pairs.Column("run") == nil || pairs.Column("recording") == nil {
		return nil, &fault.Error{Path: path, Want: "a table of pairs, such as triplets.arrow", Found: "no column run"}
	}

	return pairs, nil
}

// find returns the pairs that a name means, without their table, and the path of the table. If the name means nothing,
// path is the path that was looked for.
func find(file *config.File, name string) (pairs *Pairs, path string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		experiment, split := experimentOf(file, name)
		if experiment == nil {
			return nil, name, err
		}

		workdir := file.Resolve(file.Workdir)
		path = filepath.Join(workdir, experiment.Owner("dsp"))
		if _, err := os.Stat(path); err != nil {
			return nil, path, err
		}

		pairs = &Pairs{Name: name, Dir: filepath.Join(workdir, experiment.Name), Split: split, Experiment: experiment}

		return pairs, filepath.Join(path, "triplets.arrow"), nil
	}

	if !info.IsDir() {
		return &Pairs{Name: name}, name, nil
	}

	pairs = &Pairs{Name: name, Dir: name}
	if parent := filepath.Dir(filepath.Clean(name)); filepath.Base(parent) == "splits" {
		pairs.Split = filepath.Base(name)
		pairs.Dir = filepath.Dir(parent)
	}

	pairs.Experiment = file.Experiment(filepath.Base(pairs.Dir))

	return pairs, filepath.Join(pairs.Dir, "triplets.arrow"), nil
}

// SetConditions lists the conditions of numbers that were set, and the texts: rows that are equal in them repeat each
// other, whatever was measured alongside. Conditions in asked count as set.
func (p *Pairs) SetConditions(asked ...string) (numbers, texts []string) {
	all, texts := plan.Conditions(p.Table)
	set := plan.AtSetPoints{Table: p.Table}
	values := make([][]float64, len(all))
	for k, name := range all {
		values[k] = p.Column(name).Floats
	}

	alongside := condition.Alongside(all, values, p.Experiment.Stated(), set.Scatters)
	for _, name := range all {
		if slices.Contains(asked, name) || !slices.Contains(alongside, name) {
			numbers = append(numbers, name)
		}
	}

	return numbers, texts
}

// Path returns the path of a result: the name itself if it is a path, or the folder of that experiment of pipeline.yaml
// or of that EXPERIMENT/SPLIT.
func Path(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}

	file, err := config.LoadDefault("")
	if err != nil {
		return "", err
	}

	experiment, split := experimentOf(file, name)
	if experiment == nil {
		return name, nil
	}

	dir := filepath.Join(file.Resolve(file.Workdir), experiment.Name)
	if split != "" {
		dir = filepath.Join(dir, "splits", filepath.FromSlash(split))
	}

	return dir, nil
}

// Folder returns the folder of a result: its Path, or the folder that an Arrow table of the result lies in.
func Folder(name string) (string, error) {
	path, err := Path(name)
	if err != nil {
		return "", err
	}

	if filepath.Ext(path) != ".arrow" {
		return path, nil
	}

	dir := filepath.Dir(path)
	if filepath.Base(dir) == "report" {
		dir = filepath.Dir(dir)
	}

	return dir, nil
}

// experimentOf returns the experiment that a name means. If the name is EXPERIMENT/SPLIT, it returns the split too. It
// returns nil if the configuration has no such experiment.
func experimentOf(file *config.File, name string) (experiment *config.Experiment, split string) {
	name = filepath.ToSlash(name)
	if experiment := file.Experiment(name); experiment != nil {
		return experiment, ""
	}

	for end := len(name) - 1; end > 0; end-- { // names of variants have slashes
		if name[end] != '/' {
			continue
		}

		if experiment := file.Experiment(name[:end]); experiment != nil {
			return experiment, name[end+1:]
		}
	}

	return nil, ""
}

// experiments returns the names of the experiments of a configuration as the end of a hint, or "" if there are none.
func experiments(file *config.File) string {
	var names []string
	for _, experiment := range file.Experiments {
		names = append(names, experiment.Name)
	}

	if names == nil {
		return ""
	}

	return "; the experiments of " + file.Path + " are " + strings.Join(names, ", ")
}

// readTable reads pairs from columns NAME_1 and NAME_2, as ingest: {table: …} of a configuration does. It takes those
// columns of texts that are among texts, or all if texts is nil.
func readTable(path string, texts []string) (*table.Table, error) {
	files := []campaign.TableFile{{Path: path, Name: path}}
	options, known, err := campaign.ResolveTable(files[0], campaign.TableOptions{Run: "run"})
	if err != nil {
		return nil, err
	}

	head, err := campaign.ReadCells(path, 0)
	if err != nil || !slices.Contains(head.Columns, "run") { // ReadTables reports a table that cannot be read
		options.Run = ""
	}

	options.Labels = slices.DeleteFunc(known, func(name string) bool {
		return name == "run" || name == "recording" || texts != nil && !slices.Contains(texts, name)
	})

	read, err := campaign.ReadTables(files, options)
	if err != nil {
		return nil, err
	}

	return Tabulate(read), nil
}

// Tabulate returns the table of triplets of pairs that were read. Its columns are run, recording, conditions, labels
// and outcomes.
func Tabulate(read *campaign.PairTable) *table.Table {
	t := &table.Table{}

	// The unit and the description of a column of numbers come from the column source of the file.
	addNumbers := func(name, source, unit, doc string, v []float64) {
		if how := read.Converted[source]; how != "" {
			doc += "; " + how
		}

		t.Make(name, cmp.Or(read.Units[source], unit), doc).Floats = v
	}

	recording := read.Recording
	if recording == nil {
		recording = read.Run
	}

	t.Make("run", "", "one acquisition at one condition").Strings = read.Run
	t.Make("recording", "", "one channel of a run, or the group that makes one outcome vector").Strings = recording
	for k, name := range read.Inputs {
		unit, about := plan.UnitOf(name)
		addNumbers(name, name, unit, about, read.X[k])
	}

	for k, name := range read.Labels {
		t.Make(name, "", plan.LabelText).Strings = read.Texts[k]
	}

	for k, name := range read.Outcomes {
		addNumbers(name+"_1", name, "", "first outcome", read.Y1[k])
		addNumbers(name+"_2", name, "", "second outcome, independent of the first given the run", read.Y2[k])
	}

	if read.Weight != nil {
		t.Make("weight", "", "weight of the pair, by which r repeats count as r runs").Floats = read.Weight
	}

	return t
}

// Need returns a *fault.UsageError about a flag if the name is not among the known names. what says what the name is,
// such as "condition" or "column of text". For a column, the error has the hint that labels are columns of text only if
// a split or honest.groups names them.
func (p *Pairs) Need(flag, what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}

	hint := spelling.DidYouMean(name, known)
	if hint == "" && p.Dir != "" && strings.HasPrefix(what, "column") {
		hint = "; a label is carried where a split or honest.groups names it"
	}

	if len(known) == 0 {
		known = []string{"no others"}
		what = strings.Replace(what, "column", "columns", 1)
	}

	return &fault.UsageError{Text: fmt.Sprintf("%s: %s has no %s %q, but %s%s", flag, p.Name, what, name,
		strings.Join(known, ", "), hint)}
}

// Package pairs finds what a command of the user's is about: the pairs of an experiment, by its name or its folder, or
// of a table, and the columns of a table of numbers in the units that are wanted.
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
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// Pairs are a table of pairs of outcomes.
type Pairs struct {
	*table.Table
	Name       string             // of the experiment, its folder or the table, for people
	Dir        string             // of the experiment; "" of a table
	Experiment *config.Experiment // of the configuration; nil: not there
}

// Open reads the pairs of an experiment of a configuration, of its folder, of a triplets.arrow, or of a table with
// columns OUTCOME_1 and OUTCOME_2, of whose columns of text it takes those among texts; nil: all. configuration "" is
// pipeline.yaml, if there is one.
func Open(name, configuration string, texts []string) (*Pairs, error) {
	f, err := config.LoadDefault(configuration)
	if err != nil {
		return nil, err
	}

	p, path := &Pairs{Name: name, Dir: name, Experiment: f.Experiment(filepath.Base(name))}, name
	info, err := os.Stat(name)
	if e := f.Experiment(name); err != nil && e != nil {
		workdir := f.Resolve(f.Workdir)
		p.Dir, p.Experiment, path = filepath.Join(workdir, name), e, filepath.Join(workdir, e.Owner("dsp"))
		info, err = os.Stat(path)
	}

	if err == nil && info.IsDir() {
		path = filepath.Join(path, "triplets.arrow")
		p.Table, err = table.ReadVerified(path)
	} else if p.Dir = ""; err == nil && filepath.Ext(path) == ".arrow" {
		p.Table, err = table.ReadVerified(path)
	} else if err == nil {
		p.Table, err = readTable(path, texts)
	}

	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.At(path, "", "an experiment, its folder, a triplets.arrow or a table of pairs", "none",
			"pipeline run writes the pairs of an experiment"+experiments(f))
	}

	if err == nil && (p.Column("run") == nil || p.Column("recording") == nil) {
		err = &fault.Error{Path: path, Want: "a table of pairs, such as triplets.arrow", Found: "no column run"}
	}

	return p, ofTable(path, err)
}

// Models is the path of trained models by a name: what lies there, or the folder of that experiment of pipeline.yaml or
// of EXPERIMENT/SPLIT.
func Models(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}

	f, err := config.LoadDefault("")
	if err != nil {
		return "", err
	}

	experiment, split, within := strings.Cut(filepath.ToSlash(name), "/")
	if f.Experiment(experiment) == nil {
		return name, nil
	}

	dir := filepath.Join(f.Resolve(f.Workdir), experiment)
	if within {
		dir = filepath.Join(dir, "splits", filepath.FromSlash(split))
	}

	return dir, nil
}

// experiments names those of a configuration.
func experiments(f *config.File) string {
	names := lists.Each(f.Experiments, func(e config.Experiment) string { return e.Name })
	if names == nil {
		return ""
	}

	return "; the experiments of " + f.Path + " are " + strings.Join(names, ", ")
}

// readTable reads pairs of columns NAME_1 and NAME_2 with the reader of ingest: {table: …}.
func readTable(path string, texts []string) (_ *table.Table, err error) {
	defer fault.Catch(&err)
	files := []campaign.TableFile{{Path: path, Name: path}}
	o, known, err := campaign.ResolveTable(files[0], campaign.TableOptions{Run: "run"})
	fault.Raise(err)

	if head, err := campaign.ReadCells(path, 0); err != nil || !slices.Contains(head.Columns, "run") {
		o.Run = ""
	}

	o.Labels = slices.DeleteFunc(known, func(n string) bool {
		return n == "run" || n == "recording" || texts != nil && !slices.Contains(texts, n)
	})

	return Tabulate(fault.Get(campaign.ReadTables(files, o))), nil
}

// Tabulate makes the table of triplets of pairs that were read: run, recording, conditions, labels and outcomes.
func Tabulate(p *campaign.PairTable) *table.Table {
	t := &table.Table{}
	texts := func(name, doc string, v []string) { t.Make(name, "", doc).Strings = v }
	numbers := func(name, of, unit, doc string, v []float64) {
		if how := p.Converted[of]; how != "" {
			doc += "; " + how
		}

		t.Make(name, cmp.Or(p.Units[of], unit), doc).Floats = v
	}

	recording := p.Recording
	if recording == nil {
		recording = p.Run
	}

	texts("run", "one acquisition at one condition", p.Run)
	texts("recording", "one channel of a run, or the group that makes one outcome vector", recording)
	for k, name := range p.Inputs {
		unit, about := plan.UnitOf(name)
		numbers(name, name, unit, about, p.X[k])
	}

	for k, name := range p.Labels {
		texts(name, plan.LabelText, p.Texts[k])
	}

	for k, name := range p.Outcomes {
		numbers(name+"_1", name, "", "first outcome", p.Y1[k])
		numbers(name+"_2", name, "", "second outcome, independent of the first given the run", p.Y2[k])
	}

	if p.Weight != nil {
		t.Make("weight", "", "weight of the pair, by which r repeats count as r runs").Floats = p.Weight
	}

	return t
}

// Need returns an error where the table has no such condition, column or outcome: what that is, with its names in
// known. Columns of text are labels.
func (p *Pairs) Need(flag, what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}

	hint := spelling.DidYouMean(name, known)
	if hint == "" && p.Dir != "" && strings.HasPrefix(what, "column") {
		hint = "; a label is carried where a split or honest.groups names it"
	}

	if len(known) == 0 {
		known, what = []string{"no others"}, strings.Replace(what, "column", "columns", 1)
	}

	return &config.UsageError{Text: fmt.Sprintf("%s: %s has no %s %q, but %s%s", flag, p.Name, what, name,
		strings.Join(known, ", "), hint)}
}

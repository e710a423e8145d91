// Package pairs reads tables of pairs of outcomes: their conditions, set points and outcomes, the runs that each pair
// is from, and the set of triplets that models are trained with, divided by the splits of an experiment. The package
// also reads a table that a user gives, such as predictions, converts its columns to wanted units, and finds the row of
// each pair.
//
// The package knows no configuration. Package pipeline/locate finds the pairs of an experiment by its name.
package pairs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
)

// Source says where pairs are.
type Source struct {
	Name   string   // what the user called them: an experiment, its folder or a table
	Path   string   // the table: a triplets.arrow, or a table with columns OUTCOME_1 and OUTCOME_2
	Dir    string   // folder of the experiment; "" if the pairs are from a table
	Split  string   // the split that the name states; all pairs of the experiment are read; "": none
	Stated []string // conditions that the configuration of the experiment names
}

// TripletsArrow is the table of pairs in the folder of an experiment.
const TripletsArrow = "triplets.arrow"

// FromPath returns the source of pairs at a path: the folder of an experiment or of a split of it, which both mean all
// pairs of the experiment, a triplets.arrow, or a table with columns OUTCOME_1 and OUTCOME_2.
func FromPath(path string) Source {
	source := Source{Name: path, Path: path}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() { // Open reports a path at which there is nothing
		return source
	}

	source.Dir = path
	if parent := filepath.Dir(filepath.Clean(path)); filepath.Base(parent) == "splits" {
		source.Split = filepath.Base(path)
		source.Dir = filepath.Dir(parent)
	}

	source.Path = filepath.Join(source.Dir, TripletsArrow)

	return source
}

// Pairs is a table of pairs of outcomes.
type Pairs struct {
	*table.Table
	Source
	Notes []string // doubts about the cells of a table with columns OUTCOME_1 and OUTCOME_2
}

// Open reads the pairs. From a table with columns OUTCOME_1 and OUTCOME_2, it takes the columns of text whose names are
// in texts, or all columns of text if texts is nil. It returns an error if the table has no outcomes.
func (s Source) Open(texts []string) (*Pairs, error) {
	pairs := &Pairs{Source: s}
	_, err := os.Stat(s.Path)
	switch {
	case err != nil: // it is reported below, as an error of reading is
	case filepath.Ext(s.Path) == ".arrow":
		pairs.Table, err = table.ReadVerified(s.Path)
	default:
		pairs.Table, pairs.Notes, err = readTable(s.Path, texts)
	}

	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.At(s.Path, "", "an experiment, its folder, a triplets.arrow or a table of pairs", "none",
			"pipeline run writes the pairs of an experiment")
	}

	if err != nil {
		return nil, tableFault(s.Path, err)
	}

	if pairs.Column("run") == nil || pairs.Column("recording") == nil {
		return nil, &fault.Error{Path: s.Path, Want: "a table of pairs, such as triplets.arrow", Found: "no column run"}
	}

	if len(Outcomes(pairs.Table)) == 0 {
		return nil, fault.At(s.Path, "", "a table of pairs, with columns OUTCOME_1 and OUTCOME_2", "no such columns",
			"name the experiment, or its "+TripletsArrow)
	}

	return pairs, nil
}

// SetConditions lists the conditions of numbers that were set, and the texts: rows that are equal in them repeat each
// other, whatever was measured alongside. Conditions in asked count as set.
func (p *Pairs) SetConditions(asked ...string) (numbers, texts []string) {
	all, texts := Conditions(p.Table)
	set := AtSetPoints{Table: p.Table}
	values := make([][]float64, len(all))
	for k, name := range all {
		values[k] = p.Column(name).Floats
	}

	alongside := condition.Alongside(all, values, p.Stated, set.HasSetPoints)
	for _, name := range all {
		if slices.Contains(asked, name) || !slices.Contains(alongside, name) {
			numbers = append(numbers, name)
		}
	}

	return numbers, texts
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

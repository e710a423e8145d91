package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/train/triplets"
)

// RunLabel is the label of a recording that contains the name of its run, if a source of conditions states the name.
const RunLabel = "run"

// Cells appends the first cells of a row to a table: the run, the recording, its conditions and its labels. A condition
// that is not known is NaN.
func (c *Columns) Cells(tab *table.Table, run string, rec ingest.Recording) {
	table.AddCell(tab, "run", "", "one acquisition at one condition", cmp.Or(rec.Labels[RunLabel], run))
	table.AddCell(tab, "recording", "", "one channel of a run, or the group that makes one outcome vector", rec.ID)

	for _, name := range c.Conditions {
		value, ok := rec.Conditions[name]
		if !ok {
			value = math.NaN()
		}

		unit, doc := UnitOf(name)
		if text := c.Derive.Text(name); text != "" {
			doc += "; derived: " + text
		}

		if how := c.Converted[name]; how != "" {
			doc += "; " + how
		}

		table.AddCell(tab, name, unit, doc, value)
	}

	for _, name := range c.Labels {
		table.AddCell(tab, name, "", LabelText, rec.Labels[name])
	}
}

// LabelText is the description of the column of a label.
const LabelText = "name by which rows are split or grouped"

// Outcomes lists the names of the outcomes of a table of triplets, in the table's order. NAME is an outcome if the
// table has columns NAME_1 and NAME_2 of numbers, and NAME is not a by-product of a level.
func Outcomes(tab *table.Table) []string {
	var outcomes []string
	for _, column := range tab.Columns {
		name, first := strings.CutSuffix(column.Name, "_1")
		if !first || column.Floats == nil || tab.Column(name+"_2") == nil {
			continue
		}

		if !isByProduct(tab, name) {
			outcomes = append(outcomes, name)
		}
	}

	return outcomes
}

// isByProduct reports whether a name consists of an outcome of the table, an underscore and the suffix of a by-product.
func isByProduct(tab *table.Table, name string) bool {
	for i := range len(name) {
		if name[i] == '_' && dsp.IsByProduct(name[i+1:]) && tab.Column(name[:i]+"_1") != nil {
			return true
		}
	}

	return false
}

// Conditions lists the conditions of a table of triplets: the columns of numbers that belong to no outcome, and the
// columns of text other than run and recording. It leaves out columns of weights and of set points.
func Conditions(tab *table.Table) (numbers, texts []string) {
	for _, column := range tab.Columns {
		scattering, isSet := strings.CutSuffix(column.Name, setColumn)
		isSetPoint := isSet && tab.Column(scattering) != nil

		switch {
		case isPaired(tab, column.Name), column.Name == "weight", isSetPoint: // not a condition
		case column.Floats != nil:
			numbers = append(numbers, column.Name)
		case column.Strings != nil && column.Name != "run" && column.Name != "recording":
			texts = append(texts, column.Name)
		}
	}

	return numbers, texts
}

// isPaired reports whether a column belongs to an outcome: the table has a column NAME_1 and a column NAME_2, and name
// is one of them.
func isPaired(tab *table.Table, name string) bool {
	outcome, isFirst := strings.CutSuffix(name, "_1")
	if isFirst {
		return tab.Column(outcome+"_2") != nil
	}

	outcome, isSecond := strings.CutSuffix(name, "_2")

	return isSecond && tab.Column(outcome+"_1") != nil
}

// Across returns the occasion across which the pairs of a table of triplets are made, and "" if there is none. In such
// a table the second outcome of a row is the first outcome of another row.
func Across(tab *table.Table) string {
	return cmp.Or(tab.Get("config:ingest.table.across"), tab.Get("config:dsp.across"))
}

// RunsOf returns the runs of a row of a table of triplets: the two runs of a pair of repeats, whose names are joined by
// a plus, and otherwise one run.
func RunsOf(tab *table.Table, row int) []string {
	name := tab.Column("run").Strings[row]
	if runs := strings.Split(name, " + "); len(runs) == 2 {
		return runs
	}

	// In other tables a plus may be part of the name, which may contain a condition: re=1e+06.
	tableOfRepeats := tab.Get("config:ingest.table.repeats") != "" && tab.Get("config:ingest.table.run") != ""
	pairedRuns := tab.Get("pairs") == "repeat-run" && Across(tab) == ""
	runs := strings.Split(name, "+")
	if tableOfRepeats && pairedRuns && len(runs) == 2 {
		return runs
	}

	return []string{name}
}

// Triplets reads a set from a table of triplets: the given inputs, and both values of the given outcomes.
func Triplets(tab *table.Table, inputs, outcomes []string) (triplets.Set, error) {
	x, inputsErr := Matrix(tab, inputs, "")
	y1, firstErr := Matrix(tab, outcomes, "_1")
	y2, secondErr := Matrix(tab, outcomes, "_2")
	if err := errors.Join(inputsErr, firstErr, secondErr); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(tab, inputs, ""), quantities(tab, outcomes, "_1"), x, y1, y2)
	s.SetRuns(tab.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{tab}.Scatters) {
		setPoints, err := Matrix(AtSetPoints{tab}, inputs, "")
		if err != nil {
			return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}

		s.SetPoints = setPoints
	}

	s.Recording = tab.Column("recording").Strings
	if weight := tab.Column("weight"); weight != nil {
		s.Weight = weight.Floats
	}

	return s, nil
}

// quantities returns the names, units and descriptions of the columns NAME+suffix.
func quantities(tab *table.Table, names []string, suffix string) []triplets.Quantity {
	var list []triplets.Quantity
	for _, name := range names {
		c := tab.Column(name + suffix)
		list = append(list, triplets.Quantity{Name: name, Unit: c.Unit, Description: c.Description})
	}

	return list
}

// floats is a table with columns of numbers.
type floats interface {
	Floats(name string) ([]float64, error)
}

// Matrix returns the columns NAME+suffix of a table as a row-major matrix.
func Matrix(t floats, names []string, suffix string) ([]float64, error) {
	var rows []float64
	for k, name := range names {
		column, err := t.Floats(name + suffix)
		if err != nil {
			return nil, err
		}

		if rows == nil {
			rows = make([]float64, len(column)*len(names))
		}

		for i, x := range column {
			rows[i*len(names)+k] = x
		}
	}

	return rows, nil
}

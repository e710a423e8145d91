package pairs

import (
	"cmp"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/table"
)

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

// Constant reports whether both values of an outcome are the same number in all rows of a table of at least two
// triplets.
func Constant(t *table.Table, outcome string) bool {
	both := slices.Concat(t.Column(outcome+"_1").Floats, t.Column(outcome+"_2").Floats)
	isOther := func(value float64) bool { return value != both[0] }

	return len(both) > 2 && !slices.ContainsFunc(both, isOther)
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
		scattering, isSet := strings.CutSuffix(column.Name, SetPointSuffix)
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

// RunsOf returns the runs of a row of a table of triplets: the two runs of a pair of repeats, and otherwise one run.
func RunsOf(tab *table.Table, row int) []string {
	return SplitName(tab, tab.Column("run").Strings[row])
}

// SplitName returns the names that a name of a run or a recording joins: two names in a pair of repeats, where a plus
// joins them, and otherwise the name itself. tab is the table of triplets that has the name.
func SplitName(tab *table.Table, name string) []string {
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

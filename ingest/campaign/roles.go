package campaign

import (
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// ResolveTable fills in the roles of a table's columns that o leaves open:
// outcomes are the pairs of columns NAME_1, NAME_2 (or y1_NAME, y2_NAME),
// inputs are the columns of numbers that are neither an outcome nor the run. It
// reads the header and the first rows. texts are the columns that hold no numbers.
// o.Given and o.Labels are no columns. A column called run names the runs.
func ResolveTable(f TableFile, o TableOptions) (_ TableOptions, texts []string, err error) {
	defer fault.Catch(&err)
	r := openText(f, o.Text)
	defer r.Close()
	path, columns := r.Info().Path, r.Info().Names()

	all, _ := r.Columns()
	var typed []*typedColumn // they may be numbers as people write them
	for i, n := range all {
		if !slices.Contains(slices.Concat(columns, o.Names), n) && n != o.Run && !isRun(n) {
			typed = append(typed, &typedColumn{index: i, name: n})
		}
	}

	readResults(r, o, typed)
	numbers := lists.Keep(typed, func(c *typedColumn) bool { return c.Values != nil })
	columns = append(columns, lists.Each(numbers, func(c *typedColumn) string { return c.name })...)
	texts = slices.DeleteFunc(slices.Clone(all), func(n string) bool {
		return slices.Contains(columns, n) && !slices.Contains(o.Names, n)
	})
	if len(o.Y1) == 0 && len(o.Y2) == 0 && len(o.Repeats) == 0 {
		o.Y1, o.Y2 = pairedColumns(columns)
		fault.Unless(len(o.Y1) > 0, fault.At(path, "", "pairs of columns named NAME_1 and NAME_2 (or y1_NAME and y2_NAME)",
			"only "+fault.Quoted(columns), "name the columns with y1 and y2, or single measurements to be paired with repeats"))
	}

	if i := slices.IndexFunc(all, isRun); o.Run == "" && i >= 0 &&
		!slices.Contains(slices.Concat(o.Inputs, o.Y1, o.Y2, o.Repeats, o.Labels), all[i]) {
		o.Run = all[i]
	}

	for _, name := range slices.Concat(o.Given, o.Labels) {
		twice := slices.Contains(columns, name) || slices.Contains(o.Labels, name) && slices.Contains(texts, name)
		fault.Unless(!twice, fault.At(path, "column "+name, "a condition that is given once",
			"it in the name of the file or the table of conditions too", ""))
	}

	if len(o.Inputs) == 0 {
		taken := slices.Concat([]string{o.Run}, o.Y1, o.Y2, o.Repeats, o.Names)
		free := lists.Keep(columns, func(name string) bool { return !slices.Contains(taken, name) })
		o.Inputs = slices.Concat(o.Given, free)
		fault.Unless(len(o.Inputs) > 0, fault.At(path, "", "columns of conditions other than the outcomes", "none", ""))
		for _, name := range free {
			of, third := strings.CutSuffix(name, "_3")
			fault.Unless(!third || !slices.Contains(o.Y1, of+"_1"), fault.At(path, "column "+name, "two values of "+of,
				"a third", "name the conditions with inputs, or write a row for each value and name the outcome with repeats"))
		}
	}

	return o, texts, nil
}

// affix is what the columns of an outcome's first and second value have before or behind its name.
type affix struct{ before, behind [2]string }

// affixes are those of pairs. Of y1_0, y1_1, y1_2 and y2_0, y2_1, y2_2 the columns y1_1 and y1_2 are two
// outcomes, not two values of one.
var affixes = []affix{{before: [2]string{"y1_", "y2_"}}, {behind: [2]string{"_1", "_2"}}}

// outcome is the name of the outcome whose first or second value (0 or 1) a column holds.
func (a affix) outcome(column string, k int) (name string, ok bool) {
	name, before := strings.CutPrefix(column, a.before[k])
	name, behind := strings.CutSuffix(name, a.behind[k])

	return name, before && behind && name != ""
}

// pairedColumns finds the columns of the first and the second values of outcomes by their names.
func pairedColumns(columns []string) (y1, y2 []string) {
	second, taken := map[string]string{}, map[string]bool{}
	for _, a := range affixes {
		for _, c := range columns {
			name, first := a.outcome(c, 0)
			other := a.before[1] + name + a.behind[1]
			if first && slices.Contains(columns, other) && !taken[c] && !taken[other] {
				second[c], taken[c], taken[other] = other, true, true
			}
		}
	}

	y1 = lists.Keep(columns, func(c string) bool { return second[c] != "" })

	return y1, lists.Each(y1, func(c string) string { return second[c] })
}

// isRun reports whether a column is called so that it names the run without anybody saying so.
func isRun(column string) bool { return strings.EqualFold(column, "run") }

// OutcomeNames returns the names of the outcomes: the given ones, or what the
// columns of a pair have in common.
func (o TableOptions) OutcomeNames() []string {
	switch {
	case len(o.Outcomes) > 0:
		return slices.Clone(o.Outcomes)
	case len(o.Repeats) > 0:
		return slices.Clone(o.Repeats)
	case len(o.Y1) != len(o.Y2): // which ReadTables refuses
		return slices.Clone(o.Y1)
	}

	for _, a := range affixes {
		names := lists.Make(len(o.Y1), func(i int) string {
			first, _ := a.outcome(o.Y1[i], 0)
			if second, _ := a.outcome(o.Y2[i], 1); first != second {
				return ""
			}

			return first
		})
		if !slices.Contains(names, "") {
			return names
		}
	}

	return slices.Clone(o.Y1)
}

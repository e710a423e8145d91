package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
)

// Hints that name keys of a configuration. Commands that read a table without a configuration replace them.
const (
	// PairsHint is the hint about a table without pairs of columns.
	PairsHint = "name the columns with y1 and y2, or single measurements to be paired with repeats"
	// ThirdHint is the hint about a third value of an outcome.
	ThirdHint = "name the conditions with inputs, or write a row for each value and name the outcome with repeats"
)

// ResolveTable returns the options with the roles of columns that they leave open. Outcomes are the pairs of columns
// NAME_1, NAME_2 (or y1_NAME, y2_NAME), a column called run names the runs, and inputs are Given and the columns of
// numbers that have no other role. texts are the columns that hold no numbers, or whose cells the options call names.
// ResolveTable reads the header and the first rows of the file, and the whole file only if people may have typed its
// numbers.
func ResolveTable(file TableFile, options TableOptions) (_ TableOptions, texts []string, err error) {
	reader, err := openText(file, options.Text)
	if err != nil {
		return TableOptions{}, nil, err
	}
	defer reader.Close()

	path := reader.Info().Path
	all, _ := reader.Columns()
	options.Names = append(slices.Clone(options.Names), thingsOf(all, options)...)
	numbers, err := numberColumns(reader, options)
	if err != nil {
		return TableOptions{}, nil, err
	}

	for _, name := range all {
		if !slices.Contains(numbers, name) || slices.Contains(options.Names, name) {
			texts = append(texts, name)
		}
	}

	if len(options.Y1) == 0 && len(options.Y2) == 0 && len(options.Repeats) == 0 {
		options.Y1, options.Y2 = pairsByName(numbers)
		if len(options.Y1) == 0 {
			return TableOptions{}, nil, fault.At(path, "", "pairs of columns named NAME_1 and NAME_2 (or y1_NAME and y2_NAME)",
				"only "+fault.Quoted(numbers), PairsHint)
		}
	}

	options.Run = cmp.Or(options.Run, freeRunColumn(all, options))
	if err := checkGivenOnce(path, numbers, texts, options); err != nil {
		return TableOptions{}, nil, err
	}

	if len(options.Inputs) == 0 {
		options.Inputs, err = remainingInputs(path, numbers, options)
		if err != nil {
			return TableOptions{}, nil, err
		}

		if err := checkNames(reader, options.Inputs); err != nil {
			return TableOptions{}, nil, err
		}
	}

	return options, texts, nil
}

// freeRunColumn returns the column called run, or "" if there is none or it has another role.
func freeRunColumn(columns []string, options TableOptions) string {
	taken := slices.Concat(options.Inputs, options.Y1, options.Y2, options.Repeats, options.Labels)
	i := slices.IndexFunc(columns, isRun)
	if i < 0 || slices.Contains(taken, columns[i]) {
		return ""
	}

	return columns[i]
}

// checkGivenOnce returns an error if a condition or a label that the files give as a whole is a column too. numbers and
// texts are the columns of the table.
func checkGivenOnce(path string, numbers, texts []string, options TableOptions) error {
	for _, name := range slices.Concat(options.Given, options.Labels) {
		isTextLabel := slices.Contains(options.Labels, name) && slices.Contains(texts, name)
		if isTextLabel || slices.Contains(numbers, name) {
			return fault.At(path, "column "+name, "a condition that is given once",
				"it in the name of the file or the table of conditions too", "")
		}
	}

	return nil
}

// mostLooked is the number of rows up to which the cells of inputs are looked at.
const mostLooked = 10_000

// checkNames returns an error if the cells of an input look like names: 8E4, 10E5.
func checkNames(reader *text.Reader, inputs []string) error {
	if rows, _ := reader.Size(); rows > mostLooked {
		return nil
	}

	columns, _ := reader.Columns()
	cells := make([][]string, len(columns))
	err := reader.Rows(nil, nil, func(_ int64, row [][]byte) {
		for i := range min(len(row), len(columns)) {
			cells[i] = append(cells[i], string(row[i]))
		}
	})
	if err != nil {
		return err
	}

	for i, name := range columns {
		if slices.Contains(inputs, name) && condition.LookLikeNames(cells[i]) {
			return fault.At(reader.Info().Path, "column "+name, "set points, or names",
				"cells like "+fault.Quoted(cells[i][:min(3, len(cells[i]))])+", which may be either",
				fmt.Sprintf("state ingest: {things: [%s]} if they are names, table: {inputs: […]} if they are numbers",
					spelling.YAML(name)))
		}
	}

	return nil
}

// thingsOf returns the columns that are called as things are, whose cells are names, unless the options give them a
// role of numbers.
func thingsOf(columns []string, options TableOptions) []string {
	var things []string
	taken := slices.Concat(options.Inputs, options.Y1, options.Y2, options.Repeats, options.Given)
	for _, name := range columns {
		if condition.IsThing(name) && !slices.Contains(taken, name) {
			things = append(things, name)
		}
	}

	return things
}

// numberColumns returns the columns of numbers: first the columns that programs can read, then the columns that people
// typed.
func numberColumns(reader *text.Reader, options TableOptions) ([]string, error) {
	all, _ := reader.Columns()
	isName := func(name string) bool { return slices.Contains(options.Names, name) }
	columns := slices.DeleteFunc(reader.Info().Names(), isName)
	var typed []*typedColumn // they may be numbers as people write them
	for i, name := range all {
		hasRole := slices.Contains(options.Names, name) || name == options.Run || isRun(name)
		if !hasRole && !slices.Contains(columns, name) {
			typed = append(typed, &typedColumn{index: i, name: name})
		}
	}

	if _, _, err := readResults(reader, options, typed); err != nil {
		return nil, err
	}

	for _, column := range typed {
		if column.Values != nil {
			columns = append(columns, column.name)
		}
	}

	return columns, nil
}

// remainingInputs returns the given inputs and the columns of numbers that have no other role.
func remainingInputs(path string, numbers []string, options TableOptions) ([]string, error) {
	taken := slices.Concat([]string{options.Run}, options.Y1, options.Y2, options.Repeats, options.Names)
	var free []string
	for _, name := range numbers {
		if !slices.Contains(taken, name) {
			free = append(free, name)
		}
	}

	inputs := slices.Concat(options.Given, free)
	if len(inputs) == 0 {
		return nil, fault.At(path, "", "columns of conditions other than the outcomes", "none", "")
	}

	for _, name := range free {
		outcome, isThird := strings.CutSuffix(name, "_3")
		if isThird && slices.Contains(options.Y1, outcome+"_1") {
			return nil, fault.At(path, "column "+name, "two values of "+outcome,
				"a third", ThirdHint)
		}
	}

	return inputs, nil
}

// pairAffix are the texts that the columns of the first and the second value of an outcome have before and behind its
// name.
type pairAffix struct{ prefix, suffix [2]string }

// pairAffixes are the usual affixes. The first has precedence: of y1_0, y1_1, y1_2 and y2_0, y2_1, y2_2 the columns
// y1_1 and y1_2 are two outcomes, not two values of one.
var pairAffixes = []pairAffix{{prefix: [2]string{"y1_", "y2_"}}, {suffix: [2]string{"_1", "_2"}}}

// outcome returns the name of the outcome whose first or second value (k is 0 or 1) a column holds. It returns false
// if the column does not have the affixes.
func (a pairAffix) outcome(column string, k int) (name string, ok bool) {
	name, hasPrefix := strings.CutPrefix(column, a.prefix[k])
	name, hasSuffix := strings.CutSuffix(name, a.suffix[k])

	return name, hasPrefix && hasSuffix && name != ""
}

// pairsByName returns the columns of the first and the second values of outcomes, pair by pair, found by their names.
func pairsByName(columns []string) (y1, y2 []string) {
	second := map[string]string{} // by first column
	taken := map[string]bool{}
	for _, a := range pairAffixes {
		for _, c := range columns {
			name, isFirst := a.outcome(c, 0)
			other := a.prefix[1] + name + a.suffix[1]
			areFree := !taken[c] && !taken[other]
			if isFirst && areFree && slices.Contains(columns, other) {
				second[c] = other
				taken[c] = true
				taken[other] = true
			}
		}
	}

	for _, c := range columns {
		if other := second[c]; other != "" {
			y1 = append(y1, c)
			y2 = append(y2, other)
		}
	}

	return y1, y2
}

// isRun reports whether a column names the runs by its name alone.
func isRun(column string) bool { return strings.EqualFold(column, "run") }

// OutcomeNames returns the names of the outcomes: Outcomes, otherwise Repeats, otherwise the names that the columns of
// each pair have in common, otherwise Y1.
func (o TableOptions) OutcomeNames() []string {
	switch {
	case len(o.Outcomes) > 0:
		return slices.Clone(o.Outcomes)
	case len(o.Repeats) > 0:
		return slices.Clone(o.Repeats)
	case len(o.Y1) != len(o.Y2): // which ReadTables refuses
		return slices.Clone(o.Y1)
	}

	for _, a := range pairAffixes {
		if names, ok := a.common(o.Y1, o.Y2); ok {
			return names
		}
	}

	return slices.Clone(o.Y1)
}

// common returns the names that the columns of each pair have in common. It returns false if a pair has no such name.
func (a pairAffix) common(y1, y2 []string) (names []string, ok bool) {
	for i := range y1 {
		first, _ := a.outcome(y1[i], 0)
		second, _ := a.outcome(y2[i], 1)
		if first != second || first == "" {
			return nil, false
		}

		names = append(names, first)
	}

	return names, true
}

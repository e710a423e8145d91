package pairtable

import (
	"errors"
	"fmt"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
	"doubletake/ingest/units"
)

// notStated is the unit of an outcome if no file, name or setting states its unit.
const notStated = "file unit"

// Mismatch explains the error of (*table.Table).Append if the outcomes of a file differ from the outcomes of the files
// before it. first is the name of the first file, for the message. The most frequent reason is a unit that differs
// between files.
func Mismatch(first, file string, err error) error {
	var column *table.ColumnError
	if !errors.As(err, &column) {
		return &fault.Error{Path: file, Want: "the outcomes of " + first, Found: "others", Err: err}
	}

	outcome := outcomeOf(column.Want)
	if column.Want != column.Found {
		return fault.At(file, "", fmt.Sprintf("the outcome %s, as of %s", outcome, first), outcomeOf(column.Found),
			"give all files the same channels, or leave the file out with exclude under ingest")
	}

	state := fmt.Sprintf("if all files are in one unit, state it with units: {%s: …}; else leave the file out with "+
		"exclude under ingest", spelling.YAML(outcome))
	place := "outcome " + outcome
	switch {
	case column.FoundUnit == notStated:
		return fault.At(file, place, "the unit "+column.WantUnit+", as of "+first, "a column without a unit", state)
	case column.WantUnit == notStated:
		return fault.At(file, place, "a column without a unit, as of "+first, "the unit "+column.FoundUnit, state)
	}

	hint := state
	name := units.NameWith(outcome, column.WantUnit)
	if name != "" && name == units.NameWith(outcome, column.FoundUnit) { // both units become the one in the name
		hint = fmt.Sprintf("call the outcome %s under columns: then all files are converted to the unit in its name", name)
	}

	return fault.At(file, place, "the unit "+column.WantUnit+", as of "+first, column.FoundUnit, hint)
}

// outcomeOf returns the outcome of a column OUTCOME_1 or OUTCOME_2. It cuts one suffix only: the name of an outcome may
// end in a number too.
func outcomeOf(column string) string {
	if outcome, isFirst := strings.CutSuffix(column, "_1"); isFirst {
		return outcome
	}

	return strings.TrimSuffix(column, "_2")
}

package campaign

import (
	"fmt"
	"strconv"

	"doubletake/ingest/fault"
)

// someRows lists the files and lines of the first of n rows, and the number of the others.
func someRows(rows []ConditionRow, n int) string {
	return fault.SomeOf(n, func(i int) string { return fmt.Sprintf("%s (line %d)", rows[i].File, rows[i].Line) })
}

// plain writes a number without exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// shortest writes a number with as few digits as identify it.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// describeCell names a line, and a column by its index and name if col is not negative.
func describeCell(line, col int, name string) string {
	if col < 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d, column %d (%s)", line, col+1, name)
}

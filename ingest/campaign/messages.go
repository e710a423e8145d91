package campaign

import (
	"fmt"
	"strconv"
	"strings"
)

// mostNamed is the number of names in a message.
const mostNamed = 10

// someRows lists the files and lines of the first of n rows, and the number of the others.
func someRows(rows []ConditionRow, n int) string {
	return someOf(n, func(i int) string { return fmt.Sprintf("%s (line %d)", rows[i].File, rows[i].Line) })
}

// Some lists the first of many names, and the number of the others.
func Some(names []string) string { return someOf(len(names), func(i int) string { return names[i] }) }

// someOf lists the first of n names, and the number of the others.
func someOf(n int, name func(i int) string) string {
	var names []string
	for i := range min(n, mostNamed) {
		names = append(names, name(i))
	}

	if n > mostNamed {
		names = append(names, fmt.Sprintf("… and %d more", n-mostNamed))
	}

	return strings.Join(names, ", ")
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

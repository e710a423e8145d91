package role

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// shownValues is the number of values up to which describe shows all. If there are more, it shows one less and the
// number of all values.
const shownValues = 4

// Describe returns one line for people: the header, the role, the reason and the first few values.
func (c *Column) Describe() string {
	text := cmp.Or(c.Head, c.Name)
	isSameButUnit := strings.HasPrefix(text+" ", c.Name+" ")
	if c.Name != "" && !isSameButUnit {
		text = fmt.Sprintf("%s (%s)", c.Name, c.Head)
	}

	why := c.Explanation()
	if c.Points != nil && c.Role == Input {
		why = fmt.Sprintf("%s; within names them; %s", c.Points, c.reading)
	}

	text += strings.TrimRight(fmt.Sprintf(": %s, %s", c.Role, why), ", ;")

	var few []string
	all := c.DistinctCells()
	for _, cell := range all[:min(len(all), shownValues)] {
		few = append(few, c.shorten(cell))
	}

	if n := len(all); n > shownValues {
		few = append(few[:shownValues-1], fmt.Sprintf("… (%d values)", n))
	}

	return strings.Join(strings.Fields(text+": "+strings.Join(few, ", ")), " ")
}

// shorten returns a cell for people: at most six digits of a number, and the beginning of a long text.
func (c *Column) shorten(cell string) string {
	v, err := strconv.ParseFloat(cell, 64)
	if err == nil && c.Values != nil && math.Abs(v) < 1e6 {
		cell = fmt.Sprintf("%.6g", v)
	}

	return fault.Clip(cell)
}

// RoleAndReason returns the role and, in parentheses, why the column has it.
func (c *Column) RoleAndReason() string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", c.Role, c.Explanation()), " ()")
}

// Explanation returns why the column has its role, and how its numbers are read.
func (c *Column) Explanation() string { return strings.Trim(c.Why+"; "+c.reading, "; ") }

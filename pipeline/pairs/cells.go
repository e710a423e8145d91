package pairs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// maxRows bounds a table of numbers, which is held in memory.
const maxRows = 5_000_000

// Cells are a table of the user's numbers.
type Cells struct {
	*campaign.Cells
	Path  string
	Notes []string // about units that Numbers could not compare
}

// ReadCells reads a table of at least one row, whose columns have different names.
func ReadCells(path string) (*Cells, error) {
	c, err := campaign.ReadCells(path, maxRows)
	if err != nil {
		return nil, ofTable(path, err)
	}

	if c.Rows == 0 {
		return nil, &fault.Error{Path: path, Want: fmt.Sprintf("1 to %d rows", maxRows), Found: "another number"}
	}

	for i, name := range c.Columns {
		if slices.Contains(c.Columns[:i], name) {
			return nil, &fault.Error{Path: path, Want: "one column " + name, Found: "two", Hint: "rename one of them"}
		}
	}

	return &Cells{Cells: c, Path: path}, nil
}

// ofTable says of a table what a reader of recordings says.
func ofTable(path string, err error) error {
	if e := (*fault.Error)(nil); errors.As(err, &e) && strings.Contains(e.Hint, "exclude") {
		return fault.At(path, e.Place, "rows of numbers", e.Found, "")
	}

	return fault.In(path, err)
}

// Has reports whether there is a column of that name.
func (c *Cells) Has(name string) bool { return slices.Contains(c.Columns, name) }

// Text is a cell of a column.
func (c *Cells) Text(row int, name string) string {
	return strings.TrimSpace(c.Cells.Text(row, slices.Index(c.Columns, name)))
}

// Fault is an error at a cell of a column.
func (c *Cells) Fault(row int, name, want string) error {
	return fault.At(c.Path, fmt.Sprintf("row %d, column %s", row+1, name), want, strconv.Quote(c.Text(row, name)), "")
}

// Kind is what the numbers of a column are.
type Kind int

// Kinds of numbers: values, bounds, which are values that may be infinite, differences of values, which no conversion
// shifts, and variances in a unit squared.
const (
	Values Kind = iota
	Bounds
	Differences
	Variances
)

// Numbers are the cells of a column converted to a unit, NaN where they are empty. Without a unit in the header they
// are in that unit.
func (c *Cells) Numbers(name, unit string, kind Kind) ([]float64, error) {
	if !c.Has(name) {
		return nil, &fault.Error{
			Path: c.Path, Want: "a column " + name,
			Found: strings.Join(c.Columns, ", ") + spelling.DidYouMean(name, c.Columns),
		}
	}

	to, err := conversion(c.Units[name], unit, kind)
	if err != nil {
		return nil, fault.At(c.Path, "column "+name, "a unit that becomes "+unit, c.Units[name],
			"correct the header, or convert the numbers")
	}

	if stated := c.Units[name]; unit == "" && len(stated) > 0 && !strings.Contains("1-–", stated) {
		note := fmt.Sprintf("column %s of %s is in %s, and nothing states a unit to compare: taken as it is", name, c.Path,
			stated)
		if !slices.Contains(c.Notes, note) {
			c.Notes = append(c.Notes, note)
		}
	}

	v := make([]float64, c.Rows)
	comma := slices.ContainsFunc(lists.Numbers(c.Rows), func(i int) bool { return commaDecimal(c.Text(i, name)) })
	for i := range v {
		text := c.Text(i, name)
		if comma {
			text = strings.Replace(text, ",", ".", 1)
		}

		switch strings.ToLower(text) {
		case "", "nan", "null", "none":
			v[i] = math.NaN()
			continue
		}

		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) && kind != Bounds {
			return nil, c.Fault(i, name, "a number")
		}

		v[i] = to.Apply(x) + 0 // −0 is 0
	}

	return v, nil
}

// commaDecimal reports whether a number has a decimal comma. 1,200 may be 1200.
func commaDecimal(text string) bool {
	whole, part, has := strings.Cut(text, ",")
	return has && !strings.Contains(text, ".") && (len(part) != 3 || strings.Trim(whole, "+-") == "0")
}

// conversion is that from the unit that a header states, "" for none.
func conversion(stated, unit string, kind Kind) (to units.Conversion, err error) {
	base, square := strings.CutSuffix(strings.ReplaceAll(stated, "^2", "²"), "²")
	switch base = strings.Trim(base, "()"); {
	case stated == "" || unit == "":
		return units.Conversion{Scale: 1}, nil
	case kind == Variances && !square:
		return to, fmt.Errorf("variances have a unit squared")
	case kind != Variances:
		base = stated
	}

	if base == unit || units.IsLevel(base) && units.IsLevel(unit) {
		return units.Conversion{Scale: 1}, nil
	}

	from, err := units.Parse(base)
	if err != nil {
		return to, err
	}

	into, err := units.Parse(unit)
	if err != nil {
		return to, err
	}

	to, err = from.To(into)
	switch kind {
	case Differences:
		to.Shift = 0
	case Variances:
		to = units.Conversion{Scale: to.Scale * to.Scale}
	}

	return to, err
}

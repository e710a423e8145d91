package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// convert turns the inputs, the outcomes and the columns by which rows are excluded into the units of their names, and
// codes of missing values into NaN. The options or the header state the units. If only one of the two columns of an
// outcome states a unit, the other has it too.
func (r *tableReader) convert() error {
	converted := map[string]string{} // units of the columns that are converted, by input or outcome
	columns := r.current.outcomes
	n := r.options.columns()
	for _, column := range r.current.inputs {
		if column.isOfFile() {
			continue
		}

		if err := r.convertColumn(column, column, column.name, converted); err != nil {
			return err
		}
	}

	for _, column := range r.current.exclusions {
		if column.isName || column.isOfFile() {
			continue
		}

		r.markMissing(column)
		if _, err := Convert(r.path, column.name, column.name, column.Unit, r.options.Units, column.Values); err != nil {
			return err
		}
	}

	for k, column := range columns {
		partner := columns[(k+n)%len(columns)] // the other column of a pair, or the column itself
		if err := r.convertColumn(column, partner, r.Outcomes[k%n], converted); err != nil {
			return err
		}
	}

	return nil
}

// convertColumn converts the values of one column, which hold an input or an outcome of the given name. partner is a
// column of the same quantity, whose unit holds if the column states none. converted has the units of columns of this
// file, and gets the unit of this column. The column must have the same unit as its partner, and as the column in
// earlier files.
func (r *tableReader) convertColumn(column, partner *typedColumn, name string, converted map[string]string) error {
	r.markMissing(column)
	header := cmp.Or(column.Unit, partner.Unit)
	conversion, err := Convert(r.path, column.name, name, header, r.options.Units, column.Values)
	if err != nil {
		return err
	}

	partnerUnit, isSecond := converted[name]
	firstFileUnit := r.Units[name] // "" if it has none
	isLaterFile := r.current.index > 0
	switch {
	case isSecond && conversion.Unit != partnerUnit:
		return r.unitError(column, conversion.Unit, partnerUnit, "of "+partner.name)
	case !isSecond && isLaterFile && conversion.Unit != firstFileUnit:
		return r.unitError(column, conversion.Unit, firstFileUnit, "in "+r.files[0].Name)
	}

	converted[name] = conversion.Unit
	if conversion.Unit != "" {
		r.Units[name] = conversion.Unit
	}

	if text := conversion.String(); text != "" {
		r.Converted[name] = text
	}

	return nil
}

// markMissing turns codes of missing values into NaN.
func (r *tableReader) markMissing(column *typedColumn) {
	for k, v := range column.Values {
		if slices.Contains(r.missing, v) {
			column.Values[k] = math.NaN()
		}
	}
}

// unitError returns the error of a column whose unit is not the first one, which is stated elsewhere.
func (r *tableReader) unitError(column *typedColumn, unit, first, where string) error {
	return r.fail("column "+column.name, fmt.Sprintf("unit %q, as %s", first, where),
		fmt.Sprintf("unit %q", unit), "end the name with its unit, like lift_n")
}

// Convert turns the values v of a column into the unit that a name states (units.ToName). v are in the unit that given
// has for the name, otherwise in the unit of the header. Convert returns a *fault.Error if the unit is unknown or has
// another dimension.
func Convert(path, column, name, header string, given map[string]string, v []float64) (units.Named, error) {
	unit, isGiven := given[name]
	if !isGiven {
		unit = header
	}

	conversion, err := units.ToName(name, unit)
	if bad, ok := errors.AsType[*units.Error](err); ok {
		return units.Named{}, fault.At(path, "column "+column, bad.Want, fmt.Sprintf("unit %q", bad.Text),
			fmt.Sprintf("state the unit with units: {%s: …}", spelling.YAML(name)))
	}

	if err != nil {
		return units.Named{}, err
	}

	conversion.Convert(v)

	return conversion, nil
}

// unitHeader matches headers of columns that hold the units of other columns.
var unitHeader = regexp.MustCompile(`(?i)(^|[ _])(units?|einheit(en)?|unité|unidad|unità)$`)

// unitsOf returns the distinct units in a column of units, "" for empty cells. It returns nil for a column whose
// header or cells are not of units.
func unitsOf(name string, cells []string) []string {
	if !unitHeader.MatchString(name) {
		return nil
	}

	_, distinct := lists.Index(cells)
	for _, cell := range distinct {
		if _, err := units.Parse(cell); err != nil {
			return nil
		}
	}

	return distinct
}

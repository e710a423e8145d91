package recording

import (
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
)

// ConvertSeries returns the samples v of a column, which has the stated unit, in the unit that the outcome's name
// states, with the conversion. It does not change v, and returns v itself if the units are equal.
func ConvertSeries(path, column, name, stated string, v []float64) ([]float64, units.Named, error) {
	conversion, err := units.ToName(name, stated)
	if err != nil {
		hint := fmt.Sprintf("state the unit with units: {%s: …}", spelling.YAML(name))
		return nil, units.Named{}, &fault.Error{Path: path, Place: "column " + column, Err: err, Hint: hint}
	}

	if conversion.Original != "" {
		v = slices.Clone(v)
		conversion.Convert(v)
	}

	return v, conversion, nil
}

package campaign

import (
	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
)

// Exclusion selects the rows of a table that are left out by their conditions.
type Exclusion struct {
	Text    string                      // for messages
	Numbers []string                    // columns of numbers that decide
	Names   []string                    // columns of names that decide
	Holds   func(condition.Values) bool // reports whether a row with these values is left out

	left []string // descriptions of the rows that were left out
}

// UnusedExclude returns the warning about an exclusion that leaves out nothing.
func UnusedExclude(path, exclusion string) ingest.Warning {
	return ingest.Warn(path, "unused-exclude", "the exclusion %q excludes nothing", exclusion)
}

// exclude reports whether an exclusion leaves out row k of the file. For warnOfRows it notes the place of the row in
// all exclusions that leave it out.
func (r *tableReader) exclude(k int, place rowPlace) bool {
	if len(r.options.Exclude) == 0 {
		return false
	}

	v := condition.Values{Numbers: map[string]float64{}, Names: map[string]string{}}
	for _, column := range r.current.columns {
		if column.isName {
			v.Names[column.name] = column.texts[k]
		} else {
			v.Numbers[column.name] = column.Values[k]
		}
	}

	isExcluded := false
	for i := range r.options.Exclude {
		exclusion := &r.options.Exclude[i]
		if exclusion.Holds(v) {
			exclusion.left = append(exclusion.left, r.describePlace(place))
			isExcluded = true
		}
	}

	return isExcluded
}

// warnOfRows warns of the rows that were left out by exclusions or for want of a value, and of exclusions that leave
// out nothing.
func (r *tableReader) warnOfRows() {
	for _, exclusion := range r.options.Exclude {
		warning := UnusedExclude(r.path, exclusion.Text)
		if n := int64(len(exclusion.left)); n > 0 {
			warning = ingest.Warn(r.path, "excluded", "%s left out by exclude: %s: %s",
				fault.Plural(n, "row"), exclusion.Text, fault.Some(exclusion.left))
		}

		r.Warnings = append(r.Warnings, warning)
	}

	if n := int64(len(r.rowsWithGaps)); n > 0 {
		r.Warnings = append(r.Warnings, ingest.Warn(r.path, "missing-values",
			"%s without a value left out: %s", fault.Plural(n, "row"), fault.Some(r.rowsWithGaps)))
	}
}

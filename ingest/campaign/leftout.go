package campaign

import (
	"maps"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
)

// Exclusion is the rows of a table that are left out by their conditions.
type Exclusion struct {
	Text           string   // for messages
	Numbers, Names []string // columns that decide
	Holds          func(condition.Values) bool
	left           []string // rows
}

// UnusedExclude is the warning about an exclusion that leaves out nothing.
func UnusedExclude(path, exclusion string) ingest.Warning {
	return ingest.Warn(path, "unused-exclude", "the exclusion %q excludes nothing", exclusion)
}

// excludes reports whether row k, which is at a place, is left out.
func (r *tableReader) excludes(k int, at rowPlace) bool {
	if len(r.o.Exclude) == 0 {
		return false
	}

	v := condition.Values{Numbers: map[string]float64{}, Names: map[string]string{}}
	maps.Copy(v.Numbers, r.files[r.file].Numbers)
	maps.Copy(v.Names, r.files[r.file].Names)
	for _, c := range r.columns {
		if c.isName {
			v.Names[c.name] = c.texts[k]
		} else {
			v.Numbers[c.name] = c.Values[k]
		}
	}

	for i := range r.o.Exclude {
		if x := &r.o.Exclude[i]; x.Holds(v) {
			x.left = append(x.left, r.place(at))
			return true
		}
	}

	return false
}

// warnLeft tells of the rows that were left out.
func (r *tableReader) warnLeft() {
	for _, x := range r.o.Exclude {
		w := UnusedExclude(r.path, x.Text)
		if n := int64(len(x.left)); n > 0 {
			w = ingest.Warn(r.path, "excluded", "%s left out by exclude: %s: %s", fault.Plural(n, "row"), x.Text, Some(x.left))
		}

		r.Warnings = append(r.Warnings, w)
	}

	if n := int64(len(r.gaps)); n > 0 {
		r.Warnings = append(r.Warnings,
			ingest.Warn(r.path, "missing-values", "%s without a value left out: %s", fault.Plural(n, "row"), Some(r.gaps)))
	}
}

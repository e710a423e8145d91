package ingeststage

import (
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/pipeline/stages/plan"
)

// takeBackground takes the recordings that a condition marks as the background out of the
// files, and the condition out of the columns.
func (r *Recordings) takeBackground(exp plan.Experiment) error {
	bg := r.In.Background
	if bg == nil {
		return nil
	}

	if name := bg.Condition; name != "" {
		if !slices.Contains(r.Conditions, name) {
			return exp.Errorf("ingest.background.condition", "%q is not a condition of this experiment, which has %v", name,
				r.Conditions)
		}

		r.Conditions = slices.DeleteFunc(slices.Clone(r.Conditions), func(c string) bool { return c == name })

		var rest []File
		for _, f := range r.Files {
			is, err := f.isBackground(exp, r.Source)
			if err != nil {
				return err
			}

			if is {
				r.Backgrounds = append(r.Backgrounds, f.RawFile)
			} else {
				rest = append(rest, f)
			}
		}

		r.Files = rest
	}

	if len(r.Backgrounds) == 0 {
		return exp.Errorf("ingest.background", "no recording has a %s that is not zero", bg.Condition)
	}

	if len(r.Files) == 0 {
		return exp.Errorf("ingest.background", "every recording is one of the background")
	}

	return nil
}

// isBackground reports whether the condition marks a file. Intervals of one file
// belong together.
func (f *File) isBackground(exp plan.Experiment, src *plan.Source) (bool, error) {
	condition := src.In.Background.Condition
	v, known := src.Constants[condition]
	if src.Pattern != nil {
		if m, _ := src.Pattern.Match(f.Name); m != nil {
			if w, ok := m[condition]; ok {
				v, known = w, true
			}
		}
	}

	if f.Rows != nil {
		if k := slices.Index(f.Rows.Names, condition); k >= 0 {
			for i, r := range f.Rows.Rows {
				if i > 0 && (r.Values[k] != 0) != (v != 0) {
					return false, &fault.Error{
						Path: f.Rows.Path, Place: fmt.Sprintf("line %d", r.Line),
						Want: "one " + condition + " for all rows of " + f.Name, Found: fmt.Sprintf("%g and %g", v, r.Values[k]),
					}
				}

				v, known = r.Values[k], true
			}
		}
	}

	if !known {
		return false, exp.Errorf("ingest.background.condition",
			"%q is not known before the files are read; take it from the conditions' table or the file names", condition)
	}

	return v != 0, nil
}

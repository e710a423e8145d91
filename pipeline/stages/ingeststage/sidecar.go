package ingeststage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// readSidecar reads the wanted values from the file next to a recording, by the names that they have there. If the
// configuration names no values, the numbers, things and occasions at the top of the first file are wanted, and the
// other files must have them too.
func (r *Recordings) readSidecar(exp plan.Experiment, file *File) error {
	if r.Ingest.Sidecar == nil {
		return nil
	}

	name := strings.TrimSuffix(file.Name, path.Ext(file.Name)) + r.Ingest.Sidecar.Ending
	values, err := config.ReadValues(exp.File.Resolve(filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.At(name, "", "a file with the conditions of "+file.Name, "none",
			"write it, leave the recording out with exclude, or change sidecar.ending")
	}

	if err != nil {
		return &fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)}
	}

	if len(r.sidecar) == 0 {
		r.sidecar = r.topValues(values)
		if len(r.sidecar) == 0 {
			return fault.At(name, "", "numbers at its top", "none", "name those that are meant with sidecar: {values: …}")
		}
	}

	for _, wanted := range r.sidecar {
		cond, err := r.sidecarCondition(name, values, wanted)
		if err != nil {
			return err
		}

		file.Sidecar = append(file.Sidecar, cond)
	}

	return nil
}

// fitsColumn reports whether a value of a sidecar can be the condition of a column: a number, or any text if the column
// is declared to contain names or names the run.
func (r *Recordings) fitsColumn(value config.Value, column string) bool {
	isNumber := !math.IsNaN(value.Number)
	return isNumber || slices.Contains(r.Roles.Declared(), column) || column == r.Roles.Run
}

// topValues lists the values at the top of a sidecar that can be conditions, under their own names. The names of values
// below the top contain a point.
func (r *Recordings) topValues(values []config.Value) []setting.NamedString {
	var list []setting.NamedString
	for _, value := range values {
		if r.fitsColumn(value, value.Name) && !strings.Contains(value.Name, ".") {
			list = append(list, setting.NamedString{Name: value.Name, Value: value.Name})
		}
	}

	return list
}

// sidecarCondition returns the wanted condition from the values of a sidecar. wanted has the condition's name and the
// name of its value in the sidecar. file is the sidecar's name for messages.
func (r *Recordings) sidecarCondition(file string, values []config.Value, wanted setting.NamedString) (
	condition.Condition, error,
) {
	var names []string
	var found *config.Value
	for i, value := range values {
		if !r.fitsColumn(value, wanted.Name) {
			continue
		}

		names = append(names, value.Name)
		if value.Name == wanted.Value && found == nil {
			found = &values[i]
		}
	}

	if found == nil {
		hint := strings.TrimPrefix(spelling.DidYouMean(wanted.Value, names), "; ")
		return condition.Condition{}, fault.At(file, "", fmt.Sprintf("a number %q", wanted.Value), strings.Join(names, ", "),
			cmp.Or(hint, "write a plain number, like 2.5"))
	}

	cond := condition.Condition{Column: wanted.Name, Value: found.Number, Origin: "the file next to it"}
	cond.IsName = slices.Contains(r.Roles.Declared(), wanted.Name) || math.IsNaN(cond.Value)
	if cond.IsName {
		cond.Value = 0
		cond.Name = r.Roles.Spellings.NameOf(found.Text)
		if bad := condition.CheckName(cond.Name); bad != nil {
			return condition.Condition{}, fault.At(file, "", bad.Want, bad.Found+" of "+wanted.Value, "")
		}
	}

	return cond, nil
}

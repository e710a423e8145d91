// Package sidecar reads the conditions of a recording from a file of keys and values next to it.
package sidecar

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
)

// Conditions reads the wanted values from the file next to a recording, by the names that they have there. If wanted is
// empty, the numbers, things and occasions at the top of the file are wanted. Conditions also returns these numbers,
// things and occasions, so that the caller can compare the files of several recordings. recording is the name of the
// recording, and roles say which conditions are names. Conditions returns a *fault.Error about a file that is not there
// or lacks a value.
func Conditions(project setting.Project, recording, ending string, wanted []setting.NamedString,
	roles condition.Roles,
) ([]condition.Condition, []setting.NamedString, error) {
	name := strings.TrimSuffix(recording, path.Ext(recording)) + ending
	values, err := ReadValues(project.Resolve(filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.At(name, "", "a file with the conditions of "+recording, "none",
			"write it, leave the recording out with exclude under ingest, or change sidecar.ending")
	}

	if err != nil {
		return nil, nil, &fault.Error{Path: name, Err: fmt.Errorf("read conditions: %w", err)}
	}

	top := topValues(values, roles)
	if len(wanted) == 0 {
		wanted = top
		if len(wanted) == 0 {
			return nil, nil, fault.At(name, "", "numbers at its top", "none",
				"name those that are meant with sidecar: {values: …}")
		}
	}

	var conditions []condition.Condition
	for _, value := range wanted {
		cond, err := conditionOf(name, values, value, roles)
		if err != nil {
			return nil, nil, err
		}

		conditions = append(conditions, cond)
	}

	return conditions, top, nil
}

// fitsColumn reports whether a value of a sidecar can be the condition of a column: a number, or any text if the column
// is declared to contain names or names the run.
func fitsColumn(value Value, column string, roles condition.Roles) bool {
	isNumber := !math.IsNaN(value.Number)
	return isNumber || slices.Contains(roles.Declared(), column) || column == roles.Run
}

// topValues lists the values at the top of a sidecar that can be conditions, under their own names. The names of values
// below the top contain a point.
func topValues(values []Value, roles condition.Roles) []setting.NamedString {
	var list []setting.NamedString
	for _, value := range values {
		if fitsColumn(value, value.Name, roles) && !strings.Contains(value.Name, ".") {
			list = append(list, setting.NamedString{Name: value.Name, Value: value.Name})
		}
	}

	return list
}

// conditionOf returns the wanted condition from the values of a sidecar. wanted has the condition's name and the
// name of its value in the sidecar. file is the sidecar's name for messages.
func conditionOf(file string, values []Value, wanted setting.NamedString, roles condition.Roles) (
	condition.Condition, error,
) {
	var names []string
	var found *Value
	for i, value := range values {
		if !fitsColumn(value, wanted.Name, roles) {
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
	cond.IsName = slices.Contains(roles.Declared(), wanted.Name) || math.IsNaN(cond.Value)
	if cond.IsName {
		cond.Value = 0
		cond.Name = roles.Spellings.NameOf(found.Text)
		if bad := condition.CheckName(cond.Name); bad != nil {
			return condition.Condition{}, fault.At(file, "", bad.Want, bad.Found+" of "+wanted.Value, "")
		}
	}

	return cond, nil
}

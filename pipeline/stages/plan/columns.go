package plan

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
)

// DerivedSettings returns the definitions of the columns with the given names that are derived, as a part of a task's
// key.
func DerivedSettings(c *pairs.Columns, names []string) []kv.Pair {
	var settings []kv.Pair
	for _, name := range names {
		if text := c.Derive.Text(name); text != "" {
			settings = append(settings, kv.Pair{Key: "ingest.derive." + name, Value: text})
		}
	}

	return settings
}

// LabelSetting returns the names of the labels as a part of a task's key, or nil if there are none.
func LabelSetting(c *pairs.Columns) []kv.Pair {
	if len(c.Labels) == 0 {
		return nil
	}

	return []kv.Pair{{Key: "labels", Value: strings.Join(c.Labels, ",")}}
}

// SetDerived stores in columns the measured outcomes and what the experiment derives (pairs.Columns.SetDerived).
func (e *Experiment) SetDerived(c *pairs.Columns, constants []config.NamedNumber, measured []string) error {
	return e.Located("ingest", c.SetDerived(e.Ingest.Derive, constants, measured))
}

// Settle stores the tolerances of set points in columns and checks that the experiment's settings fit the columns
// (pairs.Columns.Settle).
func (e *Experiment) Settle(c *pairs.Columns, outcomes []string) error {
	if across, key := e.Across(); across != "" {
		section, name, _ := strings.Cut(key, ".")
		if err := c.CheckTexts(name, across); err != nil {
			return e.Located(section, err)
		}
	}

	return e.Located("ingest", c.Settle(&e.Ingest, outcomes))
}

// TakeNames removes columns of names from the network's inputs and adds them to the things, whose offsets the process
// of the intervals models. It returns a warning that explains this, or nil if no input is a column of names. If
// TakeNames returns an error, the experiment is unchanged.
func (e *Experiment) TakeNames(c *pairs.Columns) ([]ingest.Warning, error) {
	across, _ := e.Across()
	numbers, names, err := experiment.NumbersAndNames(e.Train.Inputs, c.Labels, e.Train.Honest.Base, across)
	if err != nil || len(names) == 0 {
		return nil, e.Located("train", err)
	}

	declared := e.Roles().Declared()
	isDeclared := func(name string) bool { return slices.Contains(declared, name) }
	undeclared := slices.DeleteFunc(slices.Clone(names), isDeclared)
	e.Train.Inputs = numbers
	e.Ingest.Things = slices.Concat(e.Ingest.Things, undeclared)
	text := fmt.Sprintf("%s: the calibrated predictions count what was measured of each %s; the network sees %s alone",
		e.Name, strings.Join(names, " and "), strings.Join(numbers, ", "))

	return []ingest.Warning{{Path: e.File.Path, Code: "names-as-inputs", Text: text}}, nil
}

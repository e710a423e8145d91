package campaign

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/condition"
)

// runCondition is a condition of a run.
type runCondition struct{ run, condition string }

// warnRuns warns of the first run to which the names of files give several values of a condition. It does not warn if
// the setting run names the column of the runs.
func (v *Inventory) warnRuns() {
	if v.Settings.Run != "" {
		return
	}

	values := map[runCondition]map[float64]bool{}
	for _, file := range v.Files {
		run := ""
		for _, cond := range file.Named {
			if cond.Column == condition.RunColumn("") {
				run = cmp.Or(cond.Name, strconv.FormatFloat(cond.Value, 'g', -1, 64))
			}
		}

		for _, cond := range file.Named {
			if run == "" || cond.IsName || cond.Column == condition.RunColumn("") {
				continue
			}

			key := runCondition{run, cond.Column}
			if values[key] == nil {
				values[key] = map[float64]bool{}
			}

			values[key][cond.Value] = true
		}
	}

	keys := slices.SortedFunc(maps.Keys(values), func(a, b runCondition) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.condition, b.condition))
	})
	for _, key := range keys {
		if n := len(values[key]); n > 1 {
			v.Warnings = append(v.Warnings, ingest.Warn(v.Settings.Pattern, "runs-across",
				"run %s has %d values of %s: it is one run, whose recordings are kept together; ingest: {run: run} "+
					"confirms it, another name in the pattern undoes it", key.run, n, key.condition))

			return
		}
	}
}

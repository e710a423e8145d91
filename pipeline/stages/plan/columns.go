package plan

import (
	"strings"

	"doubletake/internal/kv"
	"doubletake/report/pairs"
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

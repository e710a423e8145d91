package plan

import (
	"fmt"

	"doubletake/ingest/condition"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
)

// PointSettings returns the tolerances and the known set points of conditions as a part of a task's key.
func PointSettings(points condition.Points, tolerances []config.NamedString) []kv.Pair {
	var settings []kv.Pair
	for _, t := range tolerances {
		settings = append(settings, kv.Pair{Key: "ingest.within." + t.Name, Value: t.Value})
		if known, ok := points[t.Name]; ok {
			settings = append(settings, kv.Pair{Key: "set points of " + t.Name, Value: fmt.Sprint(known.List)})
		}
	}

	return settings
}

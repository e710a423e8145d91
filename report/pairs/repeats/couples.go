package repeats

import (
	"slices"
	"strings"

	"doubletake/ingest/table"
)

// Couple replaces the second outcome of each pair by the first (docs/method.md#synthetic-data-and-couples).
func Couple(tab *table.Table) {
	for i := range tab.Columns {
		column := &tab.Columns[i]
		if isSecond(tab, column.Name) {
			first := tab.Column(strings.TrimSuffix(column.Name, "_2") + "_1")
			column.Floats = slices.Clone(first.Floats)
			column.Bools = slices.Clone(first.Bools)
		}
	}
}

// isSecond reports whether a column contains the second outcomes of pairs.
func isSecond(tab *table.Table, name string) bool {
	base, ok := strings.CutSuffix(name, "_2")
	return ok && tab.Column(base+"_1") != nil
}

package table_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/table"
)

// AddCell adds columns in the order of the first row, and appends to the column with the name.
func TestAddCell(t *testing.T) {
	tab := &table.Table{}
	for i := range 3 {
		table.AddCell(tab, "run", "", "a run", string(rune('a'+i)))
		table.AddCell(tab, "rpm", "1/min", "speed", float64(1000*i))
		table.AddCell(tab, "emergent", "", "", i > 0)
		table.AddCell(tab, "half", "", "", i)
		table.AddCell(tab, "power", "Pa²", "", []float32{1, 2}[:i%3])
	}

	var names []string
	for _, c := range tab.Columns {
		names = append(names, c.Name)
		assert.Equal(t, 3, c.Len(), "cells of %s", c.Name)
	}

	assert.Equal(t, []string{"run", "rpm", "emergent", "half", "power"}, names, "columns")

	speed := table.Column{Name: "rpm", Unit: "1/min", Description: "speed", Floats: []float64{0, 1000, 2000}}
	assert.Equal(t, &speed, tab.Column("rpm"))
}

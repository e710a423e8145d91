package pairtable

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/table"
)

// The message names the file, the outcome, both units and what to do. A name with the unit is proposed only if both
// units can be converted to it.
func TestMismatch(t *testing.T) {
	column := func(want, wantUnit, found, foundUnit string) error {
		return &table.ColumnError{Want: want, WantUnit: wantUnit, Found: found, FoundUnit: foundUnit}
	}

	const state = " (if all files are in one unit, state it with units: {lift: …}; else leave the file out with " +
		"exclude under ingest)"
	const rename = " under columns: then all files are converted to the unit in its name)"
	for _, c := range []struct {
		err  error
		want string
	}{
		{
			column("lift_1", "N", "lift_1", "kN"),
			"b.csv: outcome lift: expected the unit N, as of a.csv, found kN (call the outcome lift_n" + rename,
		},
		{
			column("lift_1", "kN", "lift_1", "N"),
			"b.csv: outcome lift: expected the unit kN, as of a.csv, found N (call the outcome lift_n" + rename,
		},
		{
			column("q_1", "hPa", "q_1", "Pa"),
			"b.csv: outcome q: expected the unit hPa, as of a.csv, found Pa (call the outcome q_pa" + rename,
		},
		{
			column("u_1", "km/h", "u_1", "m/s"),
			"b.csv: outcome u: expected the unit km/h, as of a.csv, found m/s (call the outcome u_m_s" + rename,
		},
		{
			column("lift_1", "N", "lift_1", "file unit"),
			"b.csv: outcome lift: expected the unit N, as of a.csv, found a column without a unit" + state,
		},
		{
			column("lift_1", "file unit", "lift_1", "N"),
			"b.csv: outcome lift: expected a column without a unit, as of a.csv, found the unit N" + state,
		},
		{
			column("lift_1", "N", "lift_1", "V"),
			"b.csv: outcome lift: expected the unit N, as of a.csv, found V" + state,
		},
		{
			column("lift_1", "skt", "lift_1", "N"),
			"b.csv: outcome lift: expected the unit skt, as of a.csv, found N" + state,
		},
		{
			column("lift_1", "N", "drag_1", "N"),
			"b.csv: expected the outcome lift, as of a.csv, found drag (give all files the same channels, or leave the file " +
				"out with exclude under ingest)",
		},
		{
			column("arm_2_1", "N", "arm_3_1", "N"), // the name of an outcome may end in a number
			"b.csv: expected the outcome arm_2, as of a.csv, found arm_3 (give all files the same channels, or leave the file " +
				"out with exclude under ingest)",
		},
		{
			errors.New("append table: expected 5 columns, found 7"),
			"b.csv: expected the outcomes of a.csv, found others: append table: expected 5 columns, found 7",
		},
	} {
		assert.EqualError(t, Mismatch("a.csv", "b.csv", c.err), c.want)
	}
}

package tabletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/table"
)

// Parse reads a table from text: a line of names, then a line for each row, with cells between blanks. "rpm[1/min]" is
// the column rpm with its unit. The columns run and recording contain text, columns that end in _bound_1 and _bound_2
// contain true and false, and all others numbers. Parse returns an error if a number cannot be read.
func Parse(text string) (*table.Table, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")

	tab := &table.Table{}
	for _, name := range strings.Fields(lines[0]) {
		name, unit, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		tab.Columns = append(tab.Columns, table.Column{Name: name, Unit: unit, Description: "the " + name})
	}

	for _, line := range lines[1:] {
		for k, cell := range strings.Fields(line) {
			column := &tab.Columns[k]
			switch {
			case column.Name == "run" || column.Name == "recording":
				column.Strings = append(column.Strings, cell)
			case strings.HasSuffix(column.Name, "_bound_1") || strings.HasSuffix(column.Name, "_bound_2"):
				column.Bools = append(column.Bools, cell == "true")
			default:
				value, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					return nil, fmt.Errorf("column %s: %w", column.Name, err)
				}

				column.Floats = append(column.Floats, value)
			}
		}
	}

	return tab, nil
}

// MustParse returns the table that Parse reads from text. If Parse returns an error, MustParse ends the test.
func MustParse(t testing.TB, text string) *table.Table {
	t.Helper()

	tab, err := Parse(text)
	if err != nil {
		t.Fatalf("parse a table: %v", err)
	}

	return tab
}

// Rotor has six triplets of five runs, with blade counts and angles, as Parse reads them.
const Rotor = `
run recording rpm[1/min] blades theta_deg[deg] y_1[dB] y_2[dB]
a   a#1       1000       2      0              10      12
a   a#2       1000       2      30             20      22
b   b#1       2000       2      0              30      32
c   c#1       3000       3      0              40      42
d   d#1       4000       3      0              50      52
e   e#1       5000       4      0              60      62`

// Wave simulates pairs of one outcome y in N along one input x from 0 to 5: y = 50 + 10·sin x with noise of standard
// deviation 1, in 40 runs with three pairs each.
func Wave(t testing.TB) *table.Table {
	t.Helper()

	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("run recording x y_1[N] y_2[N]\n")

	for r := range 40 {
		for k := range 3 {
			x := float64(r%20)/4 + float64(k)/8
			y := 50 + 10*math.Sin(x)
			fmt.Fprintf(&text, "r%02d r%02d#%d %g %.6f %.6f\n", r, r, k, x, y+rng.NormFloat64(), y+rng.NormFloat64())
		}
	}

	return MustParse(t, text.String())
}

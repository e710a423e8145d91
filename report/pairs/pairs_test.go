package pairs_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
)

// ExampleReadCells reads a column in another unit than the file's. A unit of another quantity is an error.
func ExampleReadCells() {
	path := filepath.Join(os.TempDir(), "doubletake-example-cells.csv")
	defer os.Remove(path)
	if err := os.WriteFile(path, []byte("run,lift [kN]\na,0.5\nb,\n"), 0o600); err != nil {
		fmt.Println(err)
	}

	c, _ := pairs.ReadCells(path)
	fmt.Println(c.Numbers("lift", "N", pairs.Values))
	_, err := c.Numbers("lift", "deg", pairs.Values)
	fmt.Println(strings.Replace(err.Error(), path, "cells.csv", 1))
	// Output:
	// [500 NaN] <nil>
	// cells.csv: column lift: expected a unit that becomes deg, found kN (correct the header, or convert the numbers)
}

// An unknown name is an error of usage with the known names, and with a suggestion if one resembles it.
func TestNeed(t *testing.T) {
	p := pairs.Pairs{Source: pairs.Source{Name: "wing"}}
	require.NoError(t, p.Need("--at", "condition", "alpha", []string{"alpha", "beta"}))

	err := p.Need("--at", "condition", "alfa", []string{"alpha", "beta"})
	require.ErrorAs(t, err, new(*fault.UsageError))
	assert.EqualError(t, err, `--at: wing has no condition "alfa", but alpha, beta; did you mean "alpha"?`)

	err = p.Need("--above", "column of text", "day", nil)
	assert.ErrorContains(t, err, `wing has no columns of text "day", but no others`)
}

// unitColumns returns a table of one row whose header states units.
func unitColumns(t *testing.T) *pairs.Cells {
	t.Helper()

	path := filepath.Join(t.TempDir(), "c.csv")
	text := "f [kN];t [degC];v [kN²];w [(kN)^2];l [dB];z;c\n1;20;2;2;60;-0;1,5\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

	cells, err := pairs.ReadCells(path)
	require.NoError(t, err)

	return cells
}

// The expected numbers were converted by hand. A difference of temperatures is not shifted, and a variance is scaled by
// the square. -0 becomes 0, and 1,5 is 1.5.
func TestNumbers(t *testing.T) {
	cells := unitColumns(t)
	for _, c := range []struct {
		name, unit string
		kind       pairs.Kind
		want       float64
	}{
		{"f", "N", pairs.Values, 1000},
		{"f", "", pairs.Values, 1},
		{"t", "K", pairs.Values, 293.15},
		{"t", "K", pairs.Differences, 20},
		{"v", "N", pairs.Variances, 2e6},
		{"w", "N", pairs.Variances, 2e6},
		{"l", "dB re 20 µPa", pairs.Values, 60},
		{"z", "N", pairs.Values, 0},
		{"c", "N", pairs.Values, 1.5},
	} {
		numbers, err := cells.Numbers(c.name, c.unit, c.kind)
		require.NoError(t, err, "%s in %s", c.name, c.unit)
		assert.InDelta(t, c.want, numbers[0], 1e-9, "%s in %s", c.name, c.unit)
		assert.False(t, math.Signbit(numbers[0]), "%s in %s: the sign", c.name, c.unit)
	}
}

// An Arrow table of a run is read as a text is: names, numbers in the unit of the column, and empty cells. Lists are
// left out. Expected: the values of the table itself.
func TestArrowCells(t *testing.T) {
	var columns table.Table
	columns.Make("run", "", "").Strings = []string{"a b", "c"}
	columns.Make("rpm", "1/min", "").Floats = []float64{1.0 / 3, math.NaN()}
	columns.Make("channel", "", "").Ints = []int64{1, -2}
	columns.Make("used", "", "").Bools = []bool{true, false}
	columns.Make("spectrum", "", "").Lists = [][]float32{{1}, {2}}
	path := filepath.Join(t.TempDir(), "triplets.arrow")
	_, err := columns.WriteFile(path)
	require.NoError(t, err)

	cells, err := pairs.ReadCells(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"run", "rpm", "channel", "used"}, cells.Columns)
	assert.Equal(t, "a b", cells.Text(0, "run"))
	assert.Equal(t, "-2", cells.Text(1, "channel"))
	assert.Equal(t, "false", cells.Text(1, "used"))

	speeds, err := cells.Numbers("rpm", "Hz", pairs.Values)
	require.NoError(t, err)
	assert.InDelta(t, 1.0/180, speeds[0], 1e-15)
	assert.True(t, math.IsNaN(speeds[1]))
}

// A unit of another quantity, a variance whose unit is not squared, and a level as a pressure are refused.
func TestNumbersRefused(t *testing.T) {
	cells := unitColumns(t)
	for _, c := range []struct {
		name, unit string
		kind       pairs.Kind
	}{
		{"f", "deg", pairs.Values},
		{"f", "N", pairs.Variances},
		{"l", "Pa", pairs.Values},
	} {
		_, err := cells.Numbers(c.name, c.unit, c.kind)
		assert.ErrorContains(t, err, "a unit that becomes "+c.unit, c.name)
	}
}

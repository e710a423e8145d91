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
	"doubletake/pipeline/pairs"
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

// project makes a folder the working directory. The folder has a configuration of two experiments, one with a sweep,
// their pairs, and two other tables.
func project(t *testing.T) {
	t.Helper()

	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"pipeline.yaml": `version: 1
workdir: out
experiments:
  wing:
    ingest: {table: pairs.csv}
    train: {inputs: [x], splits: {each: x}}
    sweep: {loss.beta: [0, 1]}
  fan: {ingest: {table: pairs.csv}}
`,
		"pairs.csv": "run,day,x,y_1,y_2\na,mon,1,2,3\n",
		"no.csv":    "x,y\n1,2\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}

	triplets := table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"a"}}, {Name: "recording", Strings: []string{"a"}}, {Name: "x", Floats: []float64{1}},
	}}
	for _, name := range []string{"wing", "fan"} {
		require.NoError(t, os.MkdirAll(filepath.Join("out", name, "splits", "x=1"), 0o700))

		_, err := triplets.WriteFile(filepath.Join("out", name, "triplets.arrow"))
		require.NoError(t, err)
	}
}

// Pairs are opened by the name of an experiment or a split, by their folders, or as a table. Pairs that are opened as a
// table do not know their experiment. A variant of a sweep has the pairs of its experiment.
func TestOpen(t *testing.T) {
	project(t)

	triplets := []string{"run", "recording", "x"}
	for _, c := range []struct {
		name, dir, experiment, split string
		columns                      []string
	}{
		{name: "fan", dir: "out/fan", experiment: "fan", columns: triplets},
		{name: "out/fan", dir: "out/fan", experiment: "fan", columns: triplets},
		{name: "fan/x=1", dir: "out/fan", experiment: "fan", split: "x=1", columns: triplets},
		{name: "out/fan/splits/x=1", dir: "out/fan", experiment: "fan", split: "x=1", columns: triplets},
		{name: "wing/beta=1", dir: "out/wing/beta=1", experiment: "wing/beta=1", columns: triplets},
		{name: "out/fan/triplets.arrow", columns: triplets},
		{name: "pairs.csv", columns: []string{"run", "recording", "x", "day", "y_1", "y_2"}},
	} {
		opened, err := pairs.Open(c.name, "", nil)
		require.NoError(t, err, c.name)

		var columns []string
		for _, column := range opened.Columns {
			columns = append(columns, column.Name)
		}

		experiment := ""
		if opened.Experiment != nil {
			experiment = opened.Experiment.Name
		}

		assert.Equal(t, c.dir, filepath.ToSlash(opened.Dir), "%s: folder", c.name)
		assert.Equal(t, c.experiment, experiment, "%s: experiment", c.name)
		assert.Equal(t, c.split, opened.Split, "%s: split", c.name)
		assert.Equal(t, c.columns, columns, "%s: columns", c.name)
	}
}

// A name that means nothing, and a table without pairs, are errors that say what was expected.
func TestOpenNothing(t *testing.T) {
	project(t)

	_, err := pairs.Open("fin", "", nil)
	assert.ErrorContains(t, err, "expected an experiment, its folder, a triplets.arrow or a table of pairs, found none")

	_, err = pairs.Open("no.csv", "", nil)
	assert.ErrorContains(t, err, "expected pairs of columns named NAME_1 and NAME_2")
}

// An unknown name is an error of usage with the known names, and with a suggestion if one resembles it.
func TestNeed(t *testing.T) {
	p := pairs.Pairs{Name: "wing"}
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

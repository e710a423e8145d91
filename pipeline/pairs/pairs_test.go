package pairs_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/config"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/table"
)

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

// The pairs of an experiment by its name, its folder, its file or another table; the configuration goes with the first
// two. A variant of a sweep has those of its experiment.
func TestOpen(t *testing.T) {
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
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}

	tab := table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"a"}}, {Name: "recording", Strings: []string{"a"}}, {Name: "x", Floats: []float64{1}},
	}}
	for _, name := range []string{"wing", "fan"} {
		must.Do(t, os.MkdirAll(filepath.Join("out", name), 0o700))

		_, err := tab.WriteFile(filepath.Join("out", name, "triplets.arrow"))
		must.Do(t, err)
	}

	for _, c := range []struct {
		name, dir, experiment string
		columns               []string
	}{
		{"fan", "out/fan", "fan", []string{"run", "recording", "x"}},
		{"out/fan", "out/fan", "fan", []string{"run", "recording", "x"}},
		{"wing/beta=1", "out/wing/beta=1", "wing/beta=1", []string{"run", "recording", "x"}},
		{"out/fan/triplets.arrow", "", "", []string{"run", "recording", "x"}},
		{"pairs.csv", "", "", []string{"run", "recording", "x", "day", "y_1", "y_2"}},
	} {
		p, err := pairs.Open(c.name, "", nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}

		var columns []string
		for _, col := range p.Columns {
			columns = append(columns, col.Name)
		}

		experiment := ""
		if p.Experiment != nil {
			experiment = p.Experiment.Name
		}

		must.Not(t, filepath.ToSlash(p.Dir) != c.dir || experiment != c.experiment || !slices.Equal(columns, c.columns),
			"%s: folder %q, experiment %q, columns %q", c.name, p.Dir, experiment, columns)
	}

	for name, want := range map[string]string{
		"fin":    "expected an experiment, its folder, a triplets.arrow or a table of pairs, found none",
		"no.csv": "expected pairs of columns named NAME_1 and NAME_2",
	} {
		_, err := pairs.Open(name, "", nil)
		must.Refuse(t, err, want)
	}

	p := pairs.Pairs{Name: "wing"}
	must.Refuse(t, p.Need("--above", "column of text", "day", nil), `wing has no columns of text "day", but no others`)

	err := p.Need("--at", "condition", "alfa", []string{"alpha", "beta"})
	if !errors.As(err, new(*config.UsageError)) ||
		err.Error() != `--at: wing has no condition "alfa", but alpha, beta; did you mean "alpha"?` {
		t.Error(err)
	}
}

// Units of a header: values, differences, which no temperature scale shifts, and variances; by hand.
func TestUnits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.csv")
	text := "f [kN];t [degC];v [kN²];w [(kN)^2];l [dB];z;c\n1;20;2;2;60;-0;1,5\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))

	c, err := pairs.ReadCells(path)
	must.Do(t, err)

	for _, k := range []struct {
		name, unit string
		kind       pairs.Kind
		want       float64 // NaN: refused
	}{
		{"f", "N", pairs.Values, 1000},
		{"f", "", pairs.Values, 1},
		{"f", "deg", pairs.Values, math.NaN()},
		{"f", "N", pairs.Variances, math.NaN()},
		{"t", "K", pairs.Values, 293.15},
		{"t", "K", pairs.Differences, 20},
		{"v", "N", pairs.Variances, 2e6},
		{"w", "N", pairs.Variances, 2e6},
		{"l", "dB re 20 µPa", pairs.Values, 60},
		{"l", "Pa", pairs.Values, math.NaN()},
		{"z", "N", pairs.Values, 0},
		{"c", "N", pairs.Values, 1.5},
	} {
		v, err := c.Numbers(k.name, k.unit, k.kind)
		if (err != nil) != math.IsNaN(k.want) || err == nil && (math.Abs(v[0]-k.want) > 1e-9 || math.Signbit(v[0])) {
			t.Errorf("%s in %s: %v, %v, expected %g", k.name, k.unit, v, err, k.want)
		}
	}
}

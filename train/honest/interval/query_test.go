package interval_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// newDesign returns a calibration with the design of some conditions, and with a scale for each set of units. columns
// has the values of each input at the conditions.
func newDesign(names []string, columns [][]float64, condition string) *interval.Calibration {
	d := &interval.Design{}
	c := &interval.Calibration{Condition: condition, Kind: interval.Values}
	for k, name := range names {
		f := interval.NewFactor(name, columns[k], name == condition)
		d.Factors = append(d.Factors, f)
		c.Inputs = append(c.Inputs, interval.InputRange{Name: name, Min: f.Min, Max: f.Max})
		if name == condition {
			c.Axis = interval.NewAxis(f.Values, 0)
		}
	}

	for i := range columns[0] {
		var row []float64
		for k := range columns {
			row = append(row, columns[k][i])
		}

		d.Rows = append(d.Rows, placesIn(d, row))
	}

	var scales []interval.UnitScale
	for _, subset := range append([][]int{nil}, d.Subsets(condition)...) {
		scales = append(scales, interval.UnitScale{Factors: d.Names(subset), Factor: []float64{1}})
	}

	c.SetDesign(d, scales)

	return c
}

// placesIn returns the place of each value of a condition.
func placesIn(d *interval.Design, x []float64) []int {
	var places []int
	for k, f := range d.Factors {
		places = append(places, f.Place(x[k]))
	}

	return places
}

// wing is the design of a wing: angles × speeds × flaps without flap 20 at speed 30, and a temperature that scatters.
// The groups are the speeds.
func wing() *interval.Calibration {
	angles := []float64{0, 2, 4, 6}
	speeds := []float64{10, 20, 30}
	flaps := []float64{0, 10, 20}
	var columns [4][]float64
	for _, a := range angles {
		for _, u := range speeds {
			for _, f := range flaps {
				if u == 30 && f == 20 {
					continue
				}

				columns[0] = append(columns[0], a)
				columns[1] = append(columns[1], u)
				columns[2] = append(columns[2], f)
				columns[3] = append(columns[3], 15+float64(len(columns[3]))/10)
			}
		}
	}

	return newDesign([]string{"alpha", "u", "flap", "temperature"}, columns[:], "u")
}

// Expected by hand from the design of wing: the class of each condition, and the units whose scale holds there.
func TestQuery(t *testing.T) {
	c := wing()
	assert.Equal(t, [][]int{{0}, {2}, {1, 2}}, c.Design.Subsets("u"), "single inputs but the groups', and what has a gap")

	for _, q := range []struct {
		what  string
		x     []float64
		class interval.Class
		units []string // factors of the units; nil: single conditions
		scale bool     // whether a scale of units holds, rather than the law of the groups
	}{
		{"measured, but the temperature scatters", []float64{2, 20, 10, 15.02}, interval.BetweenMeasured, nil, true},
		{"the gap of the design", []float64{2, 30, 20, 16}, interval.Combination, []string{"u", "flap"}, true},
		{"an angle between measured ones", []float64{3, 20, 10, 16}, interval.BetweenMeasured, []string{"alpha"}, true},
		{"an angle between, in the gap", []float64{3, 30, 20, 16}, interval.Combination, []string{"u", "flap"}, true},
		{"a flap between measured ones", []float64{2, 20, 5, 16}, interval.BetweenMeasured, []string{"flap"}, true},
		{"a speed between measured ones", []float64{2, 25, 10, 16}, interval.NewValue, nil, false},
		{"beyond the speeds", []float64{2, 40, 10, 16}, interval.Outside, nil, false},
		{"beyond the temperatures", []float64{2, 20, 10, 30}, interval.Outside, nil, false},
	} {
		got := c.Query(q.x, placesIn(c.Design, q.x))
		assert.Equal(t, q.class, got.Class, q.what)
		if assert.Equal(t, q.scale, got.Scale != nil, q.what) && q.scale {
			assert.Equal(t, q.units, got.Scale.Factors, q.what)
		}
	}
}

// Compared with: testdata/classes.py, which was written from docs/honest.md. It finds the classes of conditions in,
// between and beyond the values of random designs with gaps.
func TestQueryByPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Empty(t, os.Getenv("DOUBLETAKE_REQUIRE_SCIPY"), "python3 is missing")
		t.Skip("python3 is missing")
	}

	jobs := randomDesigns()
	input, err := json.Marshal(jobs)
	require.NoError(t, err)

	command := exec.Command(python, "testdata/classes.py")
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	require.NoError(t, err)

	var want [][][2]any // by design and query: class and names of the inputs whose units are left out
	require.NoError(t, json.Unmarshal(output, &want))
	require.Len(t, want, len(jobs))

	count := map[interval.Class]int{}
	for k, j := range jobs {
		columns := make([][]float64, 3)
		for _, row := range j.Rows {
			for i, v := range row {
				columns[i] = append(columns[i], v)
			}
		}

		c := newDesign(j.Names, columns, j.Condition)
		for i, x := range j.Queries {
			got := c.Query(x, placesIn(c.Design, x))
			var units any
			if got.Scale != nil {
				units = append([]any{}, anyOf(got.Scale.Factors)...)
			}

			assert.Equal(t, want[k][i], [2]any{string(got.Class), units}, "rows %v, groups by %s, condition %v", j.Rows,
				j.Condition, x)
			count[got.Class]++
		}
	}

	for _, class := range []interval.Class{
		interval.Measured, interval.BetweenMeasured, interval.Combination, interval.NewValue, interval.Outside,
	} {
		assert.Greater(t, count[class], 20, "conditions of class %q", class)
	}
}

// designJob is a design of random conditions and the conditions whose classes are asked for, in the form that
// testdata/classes.py reads.
type designJob struct {
	Names     []string    `json:"names"`
	Rows      [][]float64 `json:"rows"`
	Condition string      `json:"condition"`
	Queries   [][]float64 `json:"queries"`
}

// randomDesigns returns designs of three inputs, of whose combinations about three quarters were measured.
func randomDesigns() []designJob {
	var jobs []designJob
	random := rand.New(rand.NewPCG(66, 1))
	for range 60 {
		j := designJob{Names: []string{"alpha", "u", "flap"}}
		j.Condition = j.Names[random.IntN(3)]
		levels := []int{2 + random.IntN(6), 2 + random.IntN(3), 2 + random.IntN(3)}
		for cell := range levels[0] * levels[1] * levels[2] {
			row := []float64{
				float64(cell % levels[0]), 10 * float64(cell/levels[0]%levels[1]), 5 * float64(cell/levels[0]/levels[1]),
			}
			if random.Float64() < 0.75 {
				j.Rows = append(j.Rows, row)
			}
		}

		if len(j.Rows) < 4 {
			continue
		}

		for range 40 {
			j.Queries = append(j.Queries, []float64{
				float64(random.IntN(2*levels[0]+1)-1) / 2, 5 * float64(random.IntN(2*levels[1]+1)-1),
				2.5 * float64(random.IntN(2*levels[2]+1)-1),
			})
		}

		jobs = append(jobs, j)
	}

	return jobs
}

// anyOf returns the names as JSON decodes them.
func anyOf(names []string) []any {
	var list []any
	for _, name := range names {
		list = append(list, name)
	}

	return list
}

// Expected: without a design the law of the groups holds everywhere.
func TestQueryWithoutDesign(t *testing.T) {
	c := wing()
	c.Design = nil
	assert.Equal(t, interval.Query{Class: interval.NewValue}, c.Query([]float64{2, 20, 10, 16}, nil))
	assert.Equal(t, interval.Query{Class: interval.Outside}, c.Query([]float64{9, 20, 10, 16}, nil))

	c.Axis = nil
	assert.Equal(t, interval.Query{Class: interval.NewThing}, c.Query([]float64{2, 20, 10, 16}, nil))
}

// Expected by hand: λ = (4 + Σ ratios)/(4 + K).
func TestUnitFactor(t *testing.T) {
	assert.InDelta(t, 1, interval.UnitFactor(nil), 1e-15)
	assert.InDelta(t, 0.5, interval.UnitFactor([]float64{0, 0, 0, 0}), 1e-15)
	assert.InDelta(t, 2, interval.UnitFactor([]float64{5, 3}), 1e-15)
}

// Expected: a value counts as measured if it differs only by rounding, as after it was written as text and read.
func TestPlaceOfRoundedValues(t *testing.T) {
	f := interval.NewFactor("u", []float64{0.1, 0.1, 0.3, 0.3}, false)
	assert.Equal(t, 1, f.Place(0.1+0.2))
	assert.Equal(t, interval.Unknown, f.Place(0.2))
}

// Expected: a stored design is read with its scales, and an error names the damage of a damaged one.
func TestDesignIsChecked(t *testing.T) {
	c := wing()
	c.Format = interval.Format
	c.Version = interval.Version
	c.Level = 0.95
	prior, err := scale.Named("wide")
	require.NoError(t, err)

	c.Scale, _ = scale.Learn(nil, 1, prior, scale.Exact)
	c.Mean = []float64{0}
	c.Deviation = []float64{1}
	c.Conformal.Half = []float64{1}

	read := func() (*interval.Calibration, error) {
		text, err := json.Marshal(c)
		require.NoError(t, err)

		var back interval.Calibration
		return &back, json.Unmarshal(text, &back)
	}

	back, err := read()
	require.NoError(t, err)
	gap := []float64{2, 30, 20, 16}
	query := back.Query(gap, []int{1, 2, 2, interval.Scattered})
	assert.Equal(t, interval.Combination, query.Class)
	assert.Equal(t, []string{"u", "flap"}, query.Scale.Factors)

	c.Units[0].Factor = []float64{0}
	_, err = read()
	require.ErrorContains(t, err, "expected a positive factor")

	c.Units[0].Factor = []float64{1, 1}
	_, err = read()
	require.ErrorContains(t, err, "expected a factor for each of 1 outcomes, found 2")

	c.Units[0].Factor = []float64{1}
	c.Design.Rows[3][1] = 7
	_, err = read()
	require.ErrorContains(t, err, "condition 3: expected a place below 3, found 7")

	c.Design.Rows[3] = nil
	_, err = read()
	require.ErrorContains(t, err, "condition 3: expected a place for each of 4 factors, found 0")

	c.Design = nil
	_, err = read()
	require.ErrorContains(t, err, "found scales of its units alone")
}

package leftout_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// twoGroups returns a table of two groups with two outcomes, one with two conditions and one with a single condition,
// and what the table was written from.
func twoGroups() (*table.Table, *leftout.Groups) {
	want := &leftout.Groups{
		Names:    []string{"blades = 2", "blades = 3"},
		Outcomes: 2,
		Groups: []scale.Group{
			{
				Conditions: 2, Residual: []float64{0.3, -0.1, 0.2, 0.4}, Noise: []float64{0.01, 0.02, 0.03, 0},
				Claim: []float64{0.04, 0.05, 0.06, 0.07}, Distance: []float64{0.5, 0.7},
			},
			{
				Conditions: 1, Residual: []float64{-0.2, 0}, Noise: []float64{0.01, 0.01},
				Claim: []float64{0.02, 0.02}, Distance: []float64{1},
			},
		},
	}

	return leftout.Table(want.Names, want.Groups, []string{"lift_n", "drag_n"}), want
}

// A table that is read again has the groups from which it was written.
func TestReadWhatTableWrote(t *testing.T) {
	written, want := twoGroups()
	got, err := leftout.Read(written)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// A table without groups can be read.
func TestReadNoGroups(t *testing.T) {
	got, err := leftout.Read(leftout.Table(nil, nil, nil))
	require.NoError(t, err)
	assert.Empty(t, got.Names)
	assert.Empty(t, got.Groups)
}

// A table that Table did not write is an error that says what was expected.
func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *table.Table)
		want   string
	}{
		"column is absent": {
			func(t *table.Table) { t.Column("condition").Name = "other" },
			"expected columns group, condition and outcome",
		},
		"negative noise": {
			func(t *table.Table) { t.Column("noise").Floats[1] = -1 },
			"expected a noise that is finite and not negative, found -1 in row 1",
		},
		"residual is NaN": {
			func(t *table.Table) { t.Column("residual").Floats[0] = math.NaN() },
			"expected a residual",
		},
		"distance of 0": {
			func(t *table.Table) { t.Column("distance").Floats[2] = 0 },
			"expected a distance",
		},
		"condition is missing": {
			func(t *table.Table) { t.Column("condition").Ints[2] = 2 },
			"expected condition 1 of group blades = 2 in row 2, found 2",
		},
		"outcome is missing": {
			func(t *table.Table) { t.Column("group").Strings[5] = "blades = 4" },
			"group blades = 4",
		},
	} {
		written, _ := twoGroups()
		c.change(written)

		_, err := leftout.Read(written)
		assert.ErrorContains(t, err, c.want, name)
	}
}

// A table has a row for each condition and outcome of a group.
func Example() {
	left := []scale.Group{{
		Conditions: 1, Residual: []float64{0.3}, Noise: []float64{0.01}, Claim: []float64{0.04}, Distance: []float64{1},
	}}
	written := leftout.Table([]string{"blades = 3"}, left, []string{"lift_n"})

	groups, err := leftout.Read(written)
	fmt.Println(written.Rows(), groups.Names, groups.Groups[0].Residual, err)
	// Output: 1 [blades = 3] [0.3] <nil>
}

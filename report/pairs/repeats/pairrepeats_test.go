package repeats

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
)

// The first run of a pair of repeats gives y1, the second y2, and their names are joined. A couple has y1 as y2.
func TestPairRepeatsAndCouple(t *testing.T) {
	tab := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"r1", "r2", "r3"}},
		{Name: "recording", Strings: []string{"r1", "r2", "r3"}},
		{Name: "rpm", Floats: []float64{3000, 4000, 3010}},
		{Name: "y_1", Floats: []float64{1, 2, 3}},
		{Name: "y_2", Floats: []float64{1, 2, 3}},
		{Name: "y_bound_1", Bools: []bool{true, false, false}},
		{Name: "y_bound_2", Bools: []bool{true, false, false}},
	}}

	p := &Pairing{Path: "p.yaml", Place: "experiments.x.dsp", Conditions: []string{"rpm"}}
	_, err := p.Pair(tab)
	assert.ErrorContains(t, err, "expected conditions that were measured more than once, "+
		"found 3 runs, all at different conditions")

	p.Tolerances = map[string]condition.Tolerance{"rpm": {Absolute: 20}}

	alone, err := p.Pair(tab)
	require.NoError(t, err)
	require.Len(t, alone, 1)
	assert.Equal(t, "1 recording without a partner of another run left out: r2", alone[0].Text)

	assert.Equal(t, []string{"r1 + r3"}, tab.Column("run").Strings)
	assert.Equal(t, []float64{1}, tab.Column("y_1").Floats)
	assert.Equal(t, []float64{3}, tab.Column("y_2").Floats)
	assert.Equal(t, []bool{true}, tab.Column("y_bound_1").Bools, "bound of r1")
	assert.Equal(t, []bool{false}, tab.Column("y_bound_2").Bools, "bound of r3")

	Couple(tab)

	assert.Equal(t, []float64{1}, tab.Column("y_2").Floats, "y2 of a couple")
	assert.Equal(t, []bool{true}, tab.Column("y_bound_2").Bools, "bound of y2 of a couple")
}

// threeRuns returns a table of three runs at these speeds, of the propellers A, B and A.
func threeRuns(rpm ...float64) *table.Table {
	runs := []string{"r1", "r2", "r3"}

	return &table.Table{Columns: []table.Column{
		{Name: "run", Strings: slices.Clone(runs)},
		{Name: "recording", Strings: slices.Clone(runs)},
		{Name: "rpm", Floats: rpm},
		{Name: "propeller", Strings: []string{"A", "B", "A"}},
		{Name: "y_1", Floats: []float64{1, 2, 3}},
		{Name: "y_2", Floats: []float64{1, 2, 3}},
	}}
}

// Runs at one set point are repeats. 2994 and 3008 lie within 0.5 % of 3000, and the pair is at their mean.
func TestPairRepeatsAtSetPoints(t *testing.T) {
	tab := threeRuns(2994, 2400, 3008)
	tab.Columns = append(tab.Columns, table.Column{Name: "rpm_set", Floats: []float64{3000, 2400, 3000}})

	alone, err := (&Pairing{Conditions: []string{"rpm"}}).Pair(tab)
	require.NoError(t, err)
	require.Len(t, alone, 1)
	assert.Contains(t, alone[0].Text, "r2")

	assert.Equal(t, []string{"r1 + r3"}, tab.Column("run").Strings)
	assert.Equal(t, []float64{3001}, tab.Column("rpm").Floats)
	assert.Equal(t, []float64{3000}, tab.Column("rpm_set").Floats)
}

// Runs at one condition are repeats if their labels are equal: r1 and r3 have propeller A, r2 has B.
func TestPairRepeatsOfLabel(t *testing.T) {
	tab := threeRuns(3000, 3000, 3000)
	alone, err := (&Pairing{Conditions: []string{"rpm"}, Labels: []string{"propeller"}}).Pair(tab)
	require.NoError(t, err)
	require.Len(t, alone, 1)
	assert.Contains(t, alone[0].Text, "r2")

	assert.Equal(t, []string{"r1 + r3"}, tab.Column("run").Strings)
	assert.Equal(t, []string{"A"}, tab.Column("propeller").Strings)
	assert.Equal(t, []float64{3000}, tab.Column("rpm").Floats)
}

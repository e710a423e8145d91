package ingeststage

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
)

// A table of pairs gives its triplets and an index of its runs. Expected: the
// table's own numbers.
func TestReadPairs(t *testing.T) {
	files := map[string]string{"p.csv": "run,rpm,level_1,level_2\nr1,3000,1,2\nr1,3000,3,4\nr2,4000,5,6\n"}
	b := planned(t, files, `{table: {file: p.csv, run: run, units: {rpm: 1/min, level: dB}}}`, `{}`)
	assert.Equal(t, "x/ingest/p.csv", ids(b), "tasks")

	if !slices.Equal(b.Conditions, []string{"rpm"}) || b.Construction != nil || b.PairKind != "same-run" ||
		b.Recordings != nil {
		t.Errorf("conditions %v, construction %v, %s", b.Conditions, b.Construction, b.PairKind)
	}

	p, err := campaign.ReadTables(b.Pairs.Files, b.Pairs.Options)
	require.NoError(t, err)

	trip, recs := pairTables(p, "", []string{"p.csv"}, []string{"sum"})
	require.Equal(t, 3, trip.Rows(), "%d triplets of %d runs", trip.Rows(), recs.Rows())
	require.Equal(t, 2, recs.Rows(), "%d triplets of %d runs", trip.Rows(), recs.Rows())

	for name, want := range map[string][]float64{"rpm": {3000, 3000, 4000}, "level_1": {1, 3, 5}, "level_2": {2, 4, 6}} {
		if v, err := trip.Floats(name); err != nil || !slices.Equal(v, want) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}

	if c := trip.Column("level_1"); c.Unit != "dB" {
		t.Errorf("unit %q", c.Unit)
	}

	if v := recs.Column("pairs").Ints; !slices.Equal(v, []int64{2, 1}) || recs.Column("sha256").Strings[1] != "sum" {
		t.Errorf("index %v", v)
	}

	if v, _ := recs.Floats("rpm"); v[1] != 4000 || math.IsNaN(v[0]) {
		t.Errorf("index of %v", v)
	}

	refused(t, map[string]string{"p.csv": "rpm,level_1\n1,2\n"}, `{table: p.csv}`, `{}`, "p.csv")
}

// Pairs across days: the second value is of another day where the condition was measured on two, else of the same
// day, and that of a row alone its own. By hand.
func TestPairsAcross(t *testing.T) {
	files := map[string]string{"t.csv": "x,y,Day\n1,10,Mon\n1,11,Mon\n1,12,Mon\n1,13,Tue\n2,20,Mon\n2,21,Mon\n3,30,Tue\n"}
	b := planned(t, files, "{table: {file: t.csv, inputs: [x], repeats: [y], pairs: {across: Day}}}", "{}")
	p, err := readTables(b.Pairs.Files, b.Pairs.Options)
	require.NoError(t, err)

	trip, recs := pairTables(p, b.Pairs.Options.Across, []string{"t.csv"}, []string{"sum"})
	if got := trip.Column("y_2").Floats; !slices.Equal(got, []float64{13, 13, 13, 11, 21, 20, 30}) || recs.Rows() != 2 {
		t.Errorf("second values %v, %d runs", got, recs.Rows())
	}
}

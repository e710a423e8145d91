package trainstage

import (
	"slices"
	"testing"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The trainings of a split by its values. By hand: without 3 and one more group; where
// the split is by another condition, its rule and one group are left out, and no other
// split has these rows.
func TestNewLeftOut(t *testing.T) {
	values := []float64{2, 3, 4, 5}
	learner := honest.Learner{Condition: "blades"}
	names := func(l *leftOut) []string {
		out := []string{l.full.name}
		for h, name := range l.grouping.Names {
			if s, ok := l.byGroup[h]; ok {
				out = append(out, name+": "+s.name)
			}
		}

		return out
	}

	same := newLeftOut(learner, values, config.Split{Name: "s", Test: holdout.Values("blades", 3)})

	want := []string{"blades=2,4,5", "2: blades=4,5", "4: blades=2,5", "5: blades=2,4"}
	assert.Equal(t, want, names(same))

	fast := config.Split{Name: "fast", Test: holdout.Values("rpm", 9000)}
	other := newLeftOut(learner, values, fast)
	if got := names(other); len(got) != 5 || got[0] != "fast-blades=2,3,4,5" || got[2] != "3: fast-blades=2,4,5" {
		t.Errorf("%q", got)
	}

	trip := &table.Table{Columns: []table.Column{
		{Name: "blades", Floats: []float64{2, 2, 3, 3, 4}}, {Name: "rpm", Floats: []float64{1000, 9000, 1000, 9000, 1000}},
	}}

	pl := &planner{}
	pl.exp.Train.Honest.Groups = "blades"
	set := triplets.Set{N: 5, In: 1, X: []float64{0, 1, 2, 3, 4}}
	for _, c := range []struct {
		s    subset
		want []float64
	}{{same.full, []float64{0, 1, 4}}, {other.full, []float64{0, 2, 4}}, {other.byGroup[1], []float64{0, 4}}} {
		rows, err := pl.rowsOf(c.s, trip, set)
		require.NoError(t, err)
		assert.Equal(t, c.want, rows.X, "%s", c.s.name)
	}

	// A group that is named by many values keeps a short name.
	many := make([]float64, 60)
	for i := range many {
		many[i] = float64(i) / 7
	}

	if a, b := subsetName("x", many, nil), subsetName("x", many[1:], nil); len(a) > 40 || a == b {
		t.Errorf("%q, %q", a, b)
	}
}

// The rows of a table get the groups of their condition; a value that was not planned
// is an error.
func TestRowGroups(t *testing.T) {
	values := []float64{2, 3, 5}
	l := &leftOut{grouping: honest.ByValue("blades", values, 0), values: values}
	g, err := l.grouping.Extend(l.values, []float64{5, 2, 5, 3})
	require.NoError(t, err)
	require.Equal(t, []int{2, 0, 2, 1}, g.Group, "%+v, %v", g, err)
	assert.Equal(t, []float64{5, 2, 5, 3}, g.Z, "%+v, %v", g, err)

	if _, err := l.grouping.Extend(l.values, []float64{4}); err == nil {
		t.Error("a value that was not planned was accepted")
	}
}

// A block that a split holds out is one of the blocks of the groups, however often each
// value occurs. By hand: six values in three blocks are 1 and 2, 3 and 5, 8 and 9.
func TestBlocksAreThoseOfSplits(t *testing.T) {
	values := []float64{1, 2, 3, 5, 8, 9}
	groups := []float64{9, 1, 1, 1, 1, 8, 2, 5, 3, 3}
	g := honest.Learner{Settings: honest.Settings{Blocks: 3}, Condition: "x"}.Grouping(groups)
	if want := []int{2, 0, 0, 0, 0, 2, 0, 1, 1, 1}; !slices.Equal(g.Group, want) || !slices.Equal(g.Z, groups) {
		t.Errorf("groups %v, expected %v", g.Group, want)
	}

	for k, s := range holdout.Each("x", values, 3) {
		for i, v := range groups {
			if s.Holds("x", v) != (g.Group[i] == k) {
				t.Errorf("%s: %g is in block %d", s.Name, v, g.Group[i])
			}
		}
	}
}

package experiment

import (
	"testing"

	"doubletake/ingest/table"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// subsetNames returns the name of the training on all rows of a split, and the names of the trainings without each
// group.
func subsetNames(l *LeftOut) []string {
	names := []string{l.Full.Name}
	for group, name := range l.grouping.Names {
		if s, ok := l.byGroup[group]; ok {
			names = append(names, name+": "+s.Name)
		}
	}

	return names
}

// A split that holds out 3 blades has trainings without 3 and without one more group. A split by another condition has
// trainings without its own rows and without one group, and no other split shares them. The names were written by hand.
func TestNewLeftOut(t *testing.T) {
	values := []float64{2, 3, 4, 5}
	learner := honest.Learner{Condition: "blades"}
	same := newLeftOut(learner, values, Split{Name: "s", Test: holdout.Values("blades", 3)})
	assert.Equal(t, []string{"blades=2,4,5", "2: blades=4,5", "4: blades=2,5", "5: blades=2,4"}, subsetNames(same))

	other := newLeftOut(learner, values, Split{Name: "fast", Test: holdout.Values("rpm", 9000)})
	assert.Equal(t, []string{
		"fast-blades=2,3,4,5", "2: fast-blades=3,4,5", "3: fast-blades=2,4,5", "4: fast-blades=2,3,5", "5: fast-blades=2,3,4",
	}, subsetNames(other))

	trip := &table.Table{Columns: []table.Column{
		{Name: "blades", Floats: []float64{2, 2, 3, 3, 4}}, {Name: "rpm", Floats: []float64{1000, 9000, 1000, 9000, 1000}},
	}}

	e := &Experiment{}
	e.Honest.Groups = "blades"
	set := triplets.Set{N: 5, In: 1, X: []float64{0, 1, 2, 3, 4}}
	for _, c := range []struct {
		subset Subset
		want   []float64 // numbers of rows
	}{{same.Full, []float64{0, 1, 4}}, {other.Full, []float64{0, 2, 4}}, {other.byGroup[1], []float64{0, 4}}} {
		rows, err := e.RowsOf(c.subset, trip, set)
		require.NoError(t, err)
		assert.Equal(t, c.want, rows.X, "%s", c.subset.Name)
	}
}

// A subset of many values has a short name, and subsets of other values have other names.
func TestSubsetName(t *testing.T) {
	many := make([]float64, 60)
	for i := range many {
		many[i] = float64(i) / 7
	}

	name := subsetName("x", many, nil)
	assert.LessOrEqual(t, len(name), 40)
	assert.NotEqual(t, name, subsetName("x", many[1:], nil))
}

// Each row has the group of its value. A value that was not planned is an error.
func TestRowGroups(t *testing.T) {
	values := []float64{2, 3, 5}
	l := &LeftOut{grouping: honest.ByValue("blades", values, 0), values: values}
	g, err := l.grouping.Extend(l.values, []float64{5, 2, 5, 3})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0, 2, 1}, g.Group)
	assert.Equal(t, []float64{5, 2, 5, 3}, g.Z)

	_, err = l.grouping.Extend(l.values, []float64{4})
	require.Error(t, err, "4 was not planned")
}

// The blocks that splits hold out are the blocks of the groups, however often each value occurs. Six values in three
// blocks are 1 and 2, 3 and 5, 8 and 9.
func TestBlocksAreThoseOfSplits(t *testing.T) {
	values := []float64{1, 2, 3, 5, 8, 9}
	groups := []float64{9, 1, 1, 1, 1, 8, 2, 5, 3, 3}
	g := honest.Learner{Settings: honest.Settings{Blocks: 3}, Condition: "x"}.Grouping(groups)
	assert.Equal(t, []int{2, 0, 0, 0, 0, 2, 0, 1, 1, 1}, g.Group)
	assert.Equal(t, groups, g.Z)

	for block, split := range holdout.Each("x", values, 3) {
		for i, v := range groups {
			assert.Equal(t, g.Group[i] == block, split.Holds("x", v), "whether %s holds out %g", split.Name, v)
		}
	}
}

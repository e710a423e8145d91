package stages

import (
	"strings"
	"testing"

	"doubletake/ingest/condition"
	"doubletake/pipeline/config"
	"doubletake/train/experiment"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taskNames returns the names of splits with their rules.
func taskNames(splits []config.Split) string {
	var texts []string
	for _, split := range splits {
		texts = append(texts, split.Name+": "+split.Test.String())
	}

	return strings.Join(texts, "; ")
}

// rotors returns an experiment that knows five speeds of two and three blades.
func rotors(t *testing.T, train string) *stageTest {
	t.Helper()

	var rows [][]float64
	for _, blades := range []float64{3, 2} {
		for _, rpm := range []float64{5000, 1000, 3000, 2000, 4000.5} {
			rows = append(rows, []float64{rpm, blades})
		}
	}

	return known(t, train, []string{"rpm", "blades"}, rows...)
}

// The key each stands for a split of every value, in ascending order, or of blocks of neighbours whose sizes differ by
// at most one. The expected splits were written by hand.
func TestExpand(t *testing.T) {
	for _, c := range []struct{ splits, want string }{
		{"{all: {each: blades}}", "blades=2: blades = 2; blades=3: blades = 3"},
		{"{one: {test: {rpm: 7}}, all: {each: blades}}", "one: rpm = 7; blades=2: blades = 2; blades=3: blades = 3"},
		{"{all: {each: rpm, blocks: 2}}", "rpm=1000..2000: rpm = 1000, 2000; rpm=3000..5000: rpm = 3000, 4000.5, 5000"},
		{
			"{all: {each: rpm, blocks: 4}}",
			"rpm=1000: rpm = 1000; rpm=2000: rpm = 2000; rpm=3000: rpm = 3000; rpm=4000.5..5000: rpm = 4000.5, 5000",
		},
		{"{some: {test: {random: 0.2}}}", "some: a random share of 0.2 of the conditions, drawn for some"},
		{
			"{some: {test: [{blades: 2, rpm: 1000}, {blades: 3, rpm: 2000}]}}",
			"some: blades = 2 and rpm = 1000, or blades = 3 and rpm = 2000",
		},
	} {
		b := rotors(t, "{inputs: [rpm], splits: "+c.splits+"}")
		got, err := expand(b, b.Train.Splits, experiment.RefuseUnknown)
		require.NoError(t, err, "%s", c.splits)
		assert.Equal(t, c.want, taskNames(got), "%s", c.splits)
	}
}

// The key each with two conditions stands for a split of every combination that was measured.
func TestExpandCombinations(t *testing.T) {
	b := rotors(t, "{inputs: [rpm], splits: {each: [blades, rpm]}}")
	b.Ing.Known = b.Ing.Known[2:] // three blades were not measured at 5000 and 1000 rpm

	got, err := expand(b, b.Train.Splits, experiment.RefuseUnknown)
	require.NoError(t, err)
	require.Len(t, got, 8)
	assert.Equal(t, "blades=2,rpm=1000: blades = 2 and rpm = 1000", taskNames(got[:1]))
	assert.Equal(t, "blades=3,rpm=4000.5: blades = 3 and rpm = 4000.5", taskNames(got[7:]))
}

// A split that cannot be expanded is an error at the split.
func TestExpandErrors(t *testing.T) {
	for _, c := range []struct{ splits, want string }{
		{"{all: {each: blade}}", `splits.all: "blade" is not a condition of this experiment, which has rpm, blades; did ` +
			`you mean "blades"?`},
		{"{all: {each: [blades, rpm], blocks: 2}}", "splits.all.blocks: belongs to one condition, found combinations of " +
			"blades, rpm"},
		{"{all: {each: blades, blocks: 3}}", "splits.all: blades has 2 values, too few to hold out one after the other"},
		{"{all: {each: blades}, again: {each: blades}}", `splits.again: two splits are named "blades=2"`},
		{"{fast: {test: {rpm: 1000}}, Fast: {test: {rpm: 2000}}}", `splits.Fast: the names "fast" and "Fast" of splits ` +
			"differ by letter case alone, and on Windows and macOS their folders would be one"},
	} {
		b := rotors(t, "{inputs: [rpm], splits: "+c.splits+"}")
		_, err := expand(b, b.Train.Splits, experiment.RefuseUnknown)
		assert.ErrorContains(t, err, c.want)
	}
}

// Values that only the files state, and more than maxEach values, cannot be listed.
func TestExpandUnknownOrMany(t *testing.T) {
	b := rotors(t, "{inputs: [rpm], splits: {all: {each: rpm}}}")
	delete(b.Ing.Known[4].Numbers, "rpm")

	_, err := expand(b, b.Train.Splits, experiment.RefuseUnknown)
	assert.ErrorContains(t, err, "the values of rpm are not known before the files are read")

	for i := range 101 {
		b.Ing.Known = append(b.Ing.Known, condition.Values{Numbers: map[string]float64{"rpm": float64(i)}})
	}

	b.Ing.Known = b.Ing.Known[10:]
	_, err = expand(b, b.Train.Splits, experiment.RefuseUnknown)
	assert.ErrorContains(t, err, "rpm has 101 values, more than 100 splits; "+
		"hold out blocks of them: {each: rpm, blocks: 5}")
}

// A split of the command line by a condition of another experiment is left out.
func TestExpandOfOtherExperiment(t *testing.T) {
	b := rotors(t, "{inputs: [rpm], splits: {all: {each: rpm}}}")
	other := []config.Split{{Name: "angles", Each: []string{"alpha_deg"}}}
	got, err := expand(b, other, experiment.LeaveUnknown)
	require.NoError(t, err)
	assert.Empty(t, got)
}

// expand expands the splits of an experiment.
func expand(b *stageTest, splits []config.Split, unknown experiment.UnknownCondition) ([]config.Split, error) {
	expanded, err := experimentOf(b.Experiment, &b.Ing).Expand(splits, unknown)
	return expanded, b.Experiment.Located("train", err)
}

package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// The groups of a split are the values of the condition that groups names, and otherwise of the condition that the
// split holds out.
func TestHonestCondition(t *testing.T) {
	two := holdout.Values("blades", 2)
	corner := holdout.All(two, holdout.Values("rpm", 1))
	for _, c := range []struct {
		settings honest.Settings
		test     holdout.Holdout
		want     string
	}{
		{honest.Settings{Base: "gp"}, two, "blades"},
		{honest.Settings{Base: "gp", Groups: "rpm"}, two, "rpm"},
		{honest.Settings{Base: "gp"}, corner, "blades"},
	} {
		condition, absent := HonestCondition(c.settings, Split{Test: c.test}, nil)
		assert.Equal(t, c.want, condition, "%+v", c.settings)
		assert.Empty(t, absent, "%+v", c.settings)
	}

	condition, absent := HonestCondition(honest.Settings{Base: "none"}, Split{Test: two}, nil)
	assert.Empty(t, condition)
	assert.Equal(t, "train.honest.base is none", absent)

	condition, absent = HonestCondition(honest.Settings{Base: "pair"}, Split{Test: corner}, nil)
	assert.Empty(t, condition)
	assert.Contains(t, absent, "the split holds out several conditions at once")
}

// If another split of the experiment holds out one condition of a combination, the groups of the combination are the
// values of this condition.
func TestHonestConditionOfCombination(t *testing.T) {
	corner := Split{Test: holdout.All(holdout.Values("blades", 2), holdout.Values("rpm", 1))}
	e := &Experiment{Honest: honest.Settings{Base: "gp"}, Splits: []Split{corner}}
	condition, _ := e.HonestCondition(corner)
	assert.Equal(t, "blades", condition, "the combination alone")

	e.Splits = append(e.Splits, Split{Test: holdout.Values("rpm", 2)})
	condition, _ = e.HonestCondition(corner)
	assert.Equal(t, "rpm", condition, "beside a split that holds out rpm")
}

// Runs have offsets in a process that has the offsets of one label. With the offsets of two labels they have none.
func TestOffsetsOfRuns(t *testing.T) {
	e := &Experiment{Campaign: Campaign{Labels: []string{"propeller"}}}
	things := honest.Settings{Base: "gp", Labels: true}
	assert.Equal(t, []string{"propeller", honest.Runs}, e.offsets("propeller", things), "offsets of things")
	assert.Empty(t, e.offsets("rpm", honest.Settings{Base: "gp"}), "offsets of a setting")
	assert.Empty(t, e.offsets("propeller", honest.Settings{Base: "ensemble", Labels: true}), "offsets of networks")

	e.Labels = append(e.Labels, "day")
	e.Things = []string{"day"}
	assert.Equal(t, []string{"propeller", "day"}, e.offsets("propeller", things), "offsets of things and days")
}

// Each diameter has one pitch, so that the diameters number propellers. They do not if the user names the groups.
func TestNumberedThings(t *testing.T) {
	var rows KnownRows
	for i := range 8 {
		values := map[string]float64{"diameter_in": float64(8 + i/2), "pitch_in": float64(4 + i/2%2), "rpm": float64(i % 2)}
		rows = append(rows, condition.Values{Numbers: values})
	}

	e := &Experiment{
		Inputs: []string{"diameter_in", "pitch_in", "rpm"}, Honest: honest.Settings{Base: "gp"},
		Campaign: Campaign{Source: rows},
	}
	require.NoError(t, e.NumberThings())
	assert.Equal(t, []string{"diameter_in"}, e.numbered)

	e.numbered = nil
	e.Honest.Groups = "diameter_in"
	require.NoError(t, e.NumberThings())
	assert.Empty(t, e.numbered)
}

package trainstage

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/pipeline/config"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// The groups of a split are the values of the condition that it holds out, or of the condition that is named.
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
		condition, absent := HonestCondition(c.settings, config.Split{Test: c.test}, nil)
		assert.Equal(t, c.want, condition, "%+v", c.settings)
		assert.Empty(t, absent, "%+v", c.settings)
	}

	condition, absent := HonestCondition(honest.Settings{Base: "none"}, config.Split{Test: two}, nil)
	assert.Empty(t, condition)
	assert.Equal(t, "train.honest.base is none", absent)

	condition, absent = HonestCondition(honest.Settings{Base: "pair"}, config.Split{Test: corner}, nil)
	assert.Empty(t, condition)
	assert.Contains(t, absent, "the split holds out several conditions at once")
}

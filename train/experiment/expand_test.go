package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/holdout"
)

// A split that fits no experiment names what each experiment has, and the nearest name of an unknown condition.
func TestNoFit(t *testing.T) {
	all := []Measured{{Name: "rotor", Conditions: []string{"blades", "rpm"}}, {Name: "toy", Conditions: []string{"x"}}}
	const have = "no experiment that trains has these conditions; rotor has blades, rpm; toy has x"
	for _, c := range []struct {
		split Split
		want  string
	}{
		{Split{Test: holdout.Values("rmp", 3000)}, have + `; did you mean "rpm"?`},
		{Split{Each: []string{"blade"}}, have + `; did you mean "blades"?`},
		{Split{Test: holdout.Values("theta_deg", 3)}, have},
	} {
		assert.Equal(t, c.want, NoFit(c.split, all))
	}
}

// Networks are trained on all splits, those that hold something out apart from final models, and on none without
// inputs.
func TestTrained(t *testing.T) {
	splits := []Split{
		{Name: "all", Test: holdout.Nothing}, {Name: "slow", Test: holdout.Values("rpm", 1000)},
	}
	held, final := (&Experiment{Inputs: []string{"rpm"}, Splits: splits}).Trained()
	assert.Equal(t, splits[1:], held)
	assert.Equal(t, splits[:1], final)

	held, final = (&Experiment{Splits: splits}).Trained()
	assert.Empty(t, held)
	assert.Empty(t, final)
}

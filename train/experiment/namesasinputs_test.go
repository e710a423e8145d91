package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names among the inputs are separated from the numbers. The process of the intervals alone takes names, beside at
// least one number, and not the occasion across which repeats are paired.
func TestNumbersAndNames(t *testing.T) {
	numbers, names, err := NumbersAndNames([]string{"rpm", "propeller", "u"}, []string{"day", "propeller"}, "gp", "day")
	require.NoError(t, err)
	assert.Equal(t, []string{"rpm", "u"}, numbers)
	assert.Equal(t, []string{"propeller"}, names)

	for _, c := range []struct {
		inputs       []string
		base, across string
		want         string
	}{
		{[]string{"propeller"}, "gp", "", "inputs: [propeller] are names: expected a condition of numbers too"},
		{[]string{"rpm", "propeller"}, "ensemble", "", "expected honest: {base: gp}, found ensemble"},
		{[]string{"rpm", "day"}, "gp", "day", "repeats are paired across day"},
	} {
		_, _, err := NumbersAndNames(c.inputs, []string{"day", "propeller"}, c.base, c.across)
		assert.ErrorContains(t, err, c.want)
	}
}

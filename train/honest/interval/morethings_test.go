package interval

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Three of mounting were measured, and half of the variance lies between them. Expected by hand, from the variance of a
// new thing with three measured conditions: 1/2·(1 + 1/3) + 1/2 + 1/4/3 = 1.25 now, 1/2·(1 + 1/4) + 1/2 + 1/4/3·3/4 =
// 1.1875 after a fourth mounting, and 1/2·(1 + 1/3) + 1/2 + 1/4/3·3/4 = 1.2292 after as many measurements of the three.
// Widths are roots: 2.53 % and 0.84 % less. Groups that are settings are not things, and have no such forecast.
func TestMore(t *testing.T) {
	c := Calibration{
		K: 3, Condition: "mounting", OfThings: true,
		Groups: []GroupResult{{Conditions: 1}, {Conditions: 1}, {Conditions: 1}},
		Things: []Thing{{Outcome: "CL", Noise: 0.5, Between: []Between{{Label: "mounting", Names: 3, Share: 0.5}}}},
	}
	assert.Equal(t, "a fourth mounting would narrow intervals for a new one by 2.5 %, as many measurements of those that "+
		"were measured by 0.84 % (forecast)", c.More())

	c.OfThings = false
	assert.Equal(t, "", c.More(), "groups that are settings")
}

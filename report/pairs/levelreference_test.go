package pairs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Levels keep their numbers if their units may have one reference. By hand, a level re 1 µPa is 26 dB above the level
// of the same sound re 20 µPa, so that it is refused. A difference of levels does not depend on the reference.
func TestReferencesOfLevels(t *testing.T) {
	for _, c := range []struct {
		stated, unit string
		kind         Kind
		isRefused    bool
	}{
		{"dB re 1 µPa", "dB re 20 µPa", Values, true},
		{"dB re 1 µPa", "dB re 20 µPa", Bounds, true},
		{"dB re 1 µPa", "dB re 20 µPa", Differences, false},
		{"dBFS", "dB re 20 µPa", Values, true},
		{"dB re 1 V", "dB re 20 µPa", Values, true},
		{"dB re 1 counts", "dB re 20 µPa", Values, true},
		{"dB re 20 µPa", "dB re 20 µPa", Values, false},
		{"dB re 20 uPa", "dB re 20 µPa", Values, false},
		{"dB re 20µPa", "dB re 20 µPa", Values, false},
		{"dB re 2e-5 Pa", "dB re 20 µPa", Values, false},
		{"dB re 1 counts", "dB re 1 counts", Values, false},
		{"dB", "dB re 20 µPa", Values, false},
		{"dB(A)", "dB re 20 µPa", Values, false},
		{"dB SPL", "dB re 20 µPa", Values, false},
		{"dBFS", "dB", Values, false},
	} {
		conversion, err := conversionOf(c.stated, c.unit, c.kind)
		assert.Equal(t, c.isRefused, err != nil, "%s as %s: %v", c.stated, c.unit, err)
		assert.Equal(t, !c.isRefused, conversion.Identity(), "%s as %s", c.stated, c.unit)
	}
}

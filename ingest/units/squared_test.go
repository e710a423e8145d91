package units

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A unit of several words or factors is put in parentheses.
func TestSquared(t *testing.T) {
	for unit, want := range map[string]string{
		"": "", "dB": "dB²", "m/s": "(m/s)²", "N·m": "(N·m)²", "dB re 20 µPa": "(dB re 20 µPa)²",
	} {
		assert.Equal(t, want, Squared(unit), "%q", unit)
	}
}

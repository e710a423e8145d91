package calibration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A microphone's unit of pressure or voltage is taken to Pa or V; others stay.
// Expected: the definitions of the units.
func TestSoundUnit(t *testing.T) {
	for stated, want := range map[string]struct {
		f    float64
		unit string
	}{
		"mPa": {1e-3, "Pa"}, "psi": {6894.757293168362, "Pa"}, "mV": {1e-3, "V"}, "Pa": {1, "Pa"}, "V": {1, "V"},
		"full-scale": {1, "full-scale"}, "": {1, ""}, "m/s": {1, "m/s"},
	} {
		f, unit, how := soundUnit(stated)
		require.InDelta(t, 1, f/want.f, 1e-12, "%s: %g %s %q", stated, f, unit, how)
		require.Equal(t, want.unit, unit, "%s: %g %s %q", stated, f, unit, how)
		assert.Equal(t, want.f != 1, how != "", "%s: %g %s %q", stated, f, unit, how)
	}
}

package calibration

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A unit of pressure or voltage is converted to Pa or V, with a text about the conversion, and other units stay. The
// expected factors are the definitions of the units.
func TestSoundUnit(t *testing.T) {
	for stated, want := range map[string]struct {
		factor float64
		unit   string
	}{
		"mPa": {1e-3, "Pa"}, "psi": {6894.757293168362, "Pa"}, "mV": {1e-3, "V"}, "Pa": {1, "Pa"}, "V": {1, "V"},
		"full-scale": {1, "full-scale"}, "": {1, ""}, "m/s": {1, "m/s"},
	} {
		factor, unit, how := soundUnit(stated)
		assert.InEpsilon(t, want.factor, factor, 1e-12, "factor of %q", stated)
		assert.Equal(t, want.unit, unit, "unit of %q", stated)
		isConverted := want.factor != 1
		assert.Equal(t, isConverted, how != "", "%q has a text about the conversion", stated)
	}
}

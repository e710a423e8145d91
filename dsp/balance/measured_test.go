package balance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// degrees converts angles in radians, and returns others as they are. π/6 is 30°.
func TestDegrees(t *testing.T) {
	angles := []float64{0, math.Pi / 6}
	assert.InDeltaSlice(t, []float64{0, 30}, degrees(angles, "rad"), 1e-12)
	assert.Equal(t, []float64{0, math.Pi / 6}, angles, "the given angles are unchanged")
	assert.Equal(t, angles, degrees(angles, "deg"))
}

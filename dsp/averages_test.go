package dsp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// By the formula of docs/method.md#split-half-spectra for 8 segments, the predicted deviation is 4.343/√8 dB for ρ = 0,
// and 4.343·√(2/(8ρ)) dB for large ρ.
func TestLevelSD(t *testing.T) {
	assert.InDelta(t, 1.5355, independent(8).lineSD(0), 1e-4, "ρ = 0")
	assert.InDelta(t, 4.3429*math.Sqrt(2/8e6), independent(8).lineSD(1e6), 1e-6, "ρ = 1e6")
}

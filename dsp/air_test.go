package dsp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One correction serves spectra of other bins. Expected: the gain of a bin is the correction at its own frequency,
// whichever spectrum came before.
func TestAirGainsOfOtherBins(t *testing.T) {
	target := 10.0
	path := 5.0
	air, err := newAirCorrection(&Settings{Atmosphere: &Atmosphere{PathM: path, TemperatureC: &target}},
		map[string]float64{"temperature_c": 25, "humidity_pct": 40})
	require.NoError(t, err)

	for _, spectrum := range []struct {
		bins  int
		binHz float64
	}{{50, 400}, {20, 400}, {100, 200}, {50, 400}} {
		gains := air.gains(nil, spectrum.bins, spectrum.binHz)
		require.Len(t, gains, spectrum.bins)
		for k, gain := range gains {
			require.InDelta(t, math.Pow(10, air.db(float64(k)*spectrum.binHz)/10), gain, 1e-15, "bin %d of %g Hz", k,
				spectrum.binHz)
		}

		assert.NotEqual(t, gains[1], gains[spectrum.bins-1], "the correction depends on the frequency")
	}
}

package dsp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rotor of the tests of broadband and tonal levels, with its recordings of 4 s.
const (
	rotorRate    = 10_240. // Hz
	rotorShaftHz = 50.3
	rotorNoise   = 2 / rotorRate * 3940 // mean square of the noise: its density times the width of overall_hz
)

// broadbandOf returns the overall, broadband and tonal power of a recording of the rotor, by settings that change
// changes.
func broadbandOf(t *testing.T, x []float64, change func(s *Settings)) *Pairs {
	t.Helper()

	s := DefaultSettings()
	s.Outcomes = []string{"overall", "broadband"}
	s.Output = "power"
	s.Weighting = []string{"Z"}
	s.Overlap = 0.5
	s.OverallHz = []float64{60, 4000}
	s.Harmonics = 3
	change(&s)
	conditions := map[string]float64{"blades": 2, "rpm": 60 * rotorShaftHz}
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rotorRate, conditions)
	require.NoError(t, err)

	return p
}

// Expected for the sound of a rotor: the tonal and the broadband power sum to the total. Over 100 recordings, the
// broadband level is the level of the noise and the tonal level is the level of the lines: the mean error is below half
// of the predicted deviation, and the mean square error is 0.6 to 1.5 times the predicted variance.
func TestBroadbandAndTonal(t *testing.T) {
	recordings := turns(100, 20)
	lines := map[int]float64{2: 2, 3: 0.5, 4: 0.8, 6: 0.4}

	tones := 0.
	for _, a := range lines {
		tones += a * a / 2
	}

	var mean, square [2]float64 // error of broadband and tonal levels in predicted deviations: its mean and mean square
	for i := range recordings {
		x := rotorSound(4*rotorRate, rotorRate, rotorShaftHz, lines, uint64(i))
		p := broadbandOf(t, x, func(*Settings) {})
		total, _ := p.value(t, 0, "oaspl_power", "sd")
		broad, sdB := p.value(t, 0, "broadband_power", "sd")
		tonal, sdT := p.value(t, 0, "tonal_power", "sd")
		_, bound := p.value(t, 0, "tonal_power", "bound")
		for h := range 2 {
			assert.InEpsilon(t, total[h], broad[h]+tonal[h], 1e-12, "sum of broadband and tonal power")
			assert.Zero(t, bound[h], "tonal power is an upper bound")

			errors := [2]float64{10 * math.Log10(broad[h]/rotorNoise) / sdB[h], 10 * math.Log10(tonal[h]/tones) / sdT[h]}
			for k, e := range errors {
				mean[k] += e / float64(2*recordings)
				square[k] += e * e / float64(2*recordings)
			}
		}
	}

	t.Logf("broadband and tonal: mean %.3f, mean square %.3f of the prediction", mean, square)

	for k, name := range []string{"broadband", "tonal"} {
		assert.InDelta(t, 0, mean[k], 0.5, "%s: mean, in predicted deviations", name)
		assert.LessOrEqual(t, square[k], 1.5, "%s: mean square, in squared predicted deviations", name)
		assert.GreaterOrEqual(t, square[k], 0.6, "%s: mean square, in squared predicted deviations", name)
	}
}

// In noise without lines, the broadband level is the level of the noise, and the tonal level is an upper bound, less
// than a tenth of the noise.
func TestTonalWithoutLines(t *testing.T) {
	x := rotorSound(4*rotorRate, rotorRate, rotorShaftHz, nil, 1)
	p := broadbandOf(t, x, func(s *Settings) { s.Speed = "nominal" })

	broad, sd := p.value(t, 0, "broadband_power", "sd")
	assert.InDelta(t, 0, 10*math.Log10(broad[0]/rotorNoise), 4*sd[0], "error of the broadband level, dB")

	tonal, bound := p.value(t, 0, "tonal_power", "bound")
	assert.Equal(t, [2]float64{1, 1}, bound, "upper bounds")
	assert.Positive(t, tonal[0], "tonal power")
	assert.Less(t, tonal[0], 0.1*rotorNoise, "tonal power")
	assert.Equal(t, 2, p.Bounds, "number of upper bounds")
}

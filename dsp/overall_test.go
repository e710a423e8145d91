package dsp

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected values: the weightings A and C of IEC 61672-1:2013, table 3, at the 34 nominal frequencies from 10 Hz to
// 20 kHz, rounded to 0.1 dB. The exact frequencies are 1000·10^(n/10) Hz. Z is no weighting.
func TestWeightingTable(t *testing.T) {
	a := []float64{
		-70.4, -63.4, -56.7, -50.5, -44.7, -39.4, -34.6, -30.2, -26.2, -22.5, -19.1, -16.1, -13.4, -10.9, -8.6, -6.6, -4.8,
		-3.2, -1.9, -0.8, 0, 0.6, 1.0, 1.2, 1.3, 1.2, 1.0, 0.5, -0.1, -1.1, -2.5, -4.3, -6.6, -9.3,
	}

	c := []float64{
		-14.3, -11.2, -8.5, -6.2, -4.4, -3.0, -2.0, -1.3, -0.8, -0.5, -0.3, -0.2, -0.1, 0, 0, 0, 0,
		0, 0, 0, 0, 0, -0.1, -0.2, -0.3, -0.5, -0.8, -1.3, -2.0, -3.0, -4.4, -6.2, -8.5, -11.2,
	}

	require.Len(t, a, 34)
	require.Len(t, c, 34)

	for i := range a {
		hz := ThirdOctave(10 + i).Centre
		for w, want := range map[string]float64{"A": a[i], "C": c[i], "Z": 0} {
			// 0.05 dB is the rounding of the table.
			assert.InDelta(t, want, WeightingDB(w, hz), 0.05+1e-9, "%s at %.5g Hz: dB", w, hz)
		}
	}
}

// Expected: the overall level of a tone is the level of its mean square a²/2, plus the weighting at its frequency.
func TestOverallOfTone(t *testing.T) {
	const (
		rateHz    = 12_800.
		toneHz    = 100.
		amplitude = 0.2
	)
	s := DefaultSettings()
	s.Outcomes = []string{"overall"}
	s.Weighting = []string{"Z", "A", "C"}

	x := make([]float64, 16*1280)
	for i := range x {
		x[i] = amplitude * math.Sin(2*math.Pi*toneHz*float64(i)/rateHz)
	}

	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rateHz, nil)
	require.NoError(t, err)

	want := LevelDB(amplitude*amplitude/2, 20e-6)
	level, _ := p.value(t, 0, "oaspl_db", "sd")
	assert.InDelta(t, want, level[0], 1e-9, "dB")

	for _, weighting := range []string{"A", "C"} {
		// The window moves a part of the power into the neighbouring bins of 90 and 110 Hz, whose weightings differ.
		level, _ := p.value(t, 0, "oaspl_"+strings.ToLower(weighting)+"_db", "sd")
		assert.InDelta(t, want+WeightingDB(weighting, toneHz), level[1], 0.05, "%s: dB", weighting)
	}

	s.OverallHz = []float64{100, 7000} // beyond half the sampling rate
	_, _, err = outcomesOf(t, "split-half-spectrum", memory{x}, s, rateHz, nil)
	assert.ErrorContains(t, err, "overall_hz: expected one bin or more")
}

// Expected: the overall level of white noise is the level of the integral of its density times the weighting, here a
// sum over steps of 1 Hz. Each level may differ by four of its predicted deviations.
func TestOverallOfNoise(t *testing.T) {
	const (
		rateHz = 12_800.
		fromHz = 100
		toHz   = 6000
	)
	s := DefaultSettings()
	s.Outcomes = []string{"overall"}
	s.Weighting = []string{"Z", "A", "C"}
	s.OverallHz = []float64{fromHz, toHz}

	// Noise of unit variance has the density 2/rateHz.
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{noise(64*1280, 5)}, s, rateHz, nil)
	require.NoError(t, err)

	for weighting, name := range map[string]string{"Z": "oaspl_db", "A": "oaspl_a_db", "C": "oaspl_c_db"} {
		meanSquare := 0.0
		for hz := fromHz; hz < toHz; hz++ {
			meanSquare += 2 / rateHz * math.Pow(10, WeightingDB(weighting, float64(hz)+0.5)/10)
		}

		level, sd := p.value(t, 0, name, "sd")
		for half := range 2 {
			assert.Less(t, sd[half], 0.2, "%s: predicted deviation in dB", name)
			assert.InDelta(t, LevelDB(meanSquare, 20e-6), level[half], 4*sd[half], "%s: dB", name)
		}
	}
}

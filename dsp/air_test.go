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

// Expected values: the attenuation of sound in air in dB/km at 101.325 kPa, in octaves from 63 Hz to 8 kHz. The first
// two rows are from ISO 9613-1:1993, table 1, which has three digits. The other rows are from ISO 9613-2:1996, table 2,
// which is rounded to 0.1 dB/km.
func TestAbsorptionTable(t *testing.T) {
	for _, c := range []struct {
		temperature, humidity, absolute, relative float64
		want                                      [8]float64
	}{
		{10, 70, 0, 0.005, [8]float64{0.122, 0.411, 1.04, 1.93, 3.66, 9.66, 32.8, 117}},
		{20, 70, 0, 0.005, [8]float64{0.0899, 0.339, 1.13, 2.80, 4.98, 9.02, 22.9, 76.6}},
		{10, 70, 0.055, 0.005, [8]float64{0.1, 0.4, 1.0, 1.9, 3.7, 9.7, 32.8, 117}},
		{20, 70, 0.055, 0.005, [8]float64{0.1, 0.3, 1.1, 2.8, 5.0, 9.0, 22.9, 76.6}},
		{30, 70, 0.055, 0.005, [8]float64{0.1, 0.3, 1.0, 3.1, 7.4, 12.7, 23.1, 59.3}},
		{15, 20, 0.055, 0.005, [8]float64{0.3, 0.6, 1.2, 2.7, 8.2, 28.2, 88.8, 202}},
		{15, 50, 0.055, 0.005, [8]float64{0.1, 0.5, 1.2, 2.2, 4.2, 10.8, 36.2, 129}},
		{15, 80, 0.055, 0.005, [8]float64{0.1, 0.3, 1.1, 2.4, 4.1, 8.3, 23.7, 82.8}},
	} {
		for i, want := range c.want {
			hz := 1000 * math.Pow(10, 0.3*float64(i-4)) // the tables' exact mid-frequencies
			got := 1000 * Absorption(hz, c.temperature, c.humidity, 101325)
			assert.InDelta(t, want, got, max(c.absolute, c.relative*want),
				"%g °C, %g %%, %.4g Hz: dB/km", c.temperature, c.humidity, hz)
		}
	}
}

// Levels are corrected to another atmosphere and another distance. Expected: the correction for the air is the
// absorption on the measured path minus the absorption on the reference path. It is the by-product "air" of each
// outcome, and its level contains it. Without the condition of humidity, the run is refused.
func TestAtmosphere(t *testing.T) {
	const rate = 40_960.
	s := DefaultSettings()
	s.Outcomes = []string{"harmonics", "bands", "overall", "broadband"}
	s.BandsHz = []float64{8000, 16000}
	s.Harmonics = 1
	x := rotorSound(8*4096, rate, 500, map[int]float64{2: 3}, 9)
	conditions := map[string]float64{"blades": 2, "rpm": 30_000, "temperature_c": 5, "humidity_pct": 30}
	plain, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, conditions)
	require.NoError(t, err)

	s.Distance = &Distance{FromM: 20, ToM: 10}
	s.Atmosphere = &Atmosphere{}
	p, _, err := outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, conditions)
	require.NoError(t, err)

	for _, o := range p.Outcomes {
		y, air := p.value(t, 0, o.Name, "air")

		before, _ := plain.value(t, 0, o.Name, "air")
		for h := range 2 {
			got := y[h] - before[h] - 20*math.Log10(2)
			if o.Name != "tonal_db" { // the noise decides whether the lines emerge
				assert.InDelta(t, air[h], got, 1e-9, "%s, half %d", o.Name, h+1)
			}

			assert.Positive(t, air[h], "%s, half %d", o.Name, h+1)
		}
	}

	_, air := p.value(t, 0, "bpf1_db", "air")

	_, hz := p.value(t, 0, "bpf1_db", "hz")
	assert.InDelta(t, 20*Absorption(hz[0], 5, 30, 101325)-10*Absorption(hz[0], 20, 70, 101325), air[0], 1e-12, "dB")

	_, air = p.value(t, 0, "l_16000hz_db", "air")
	lo := ThirdOctave(42).Lo
	hi := ThirdOctave(42).Hi

	correction := func(hz float64) float64 {
		return 20*Absorption(hz, 5, 30, 101325) - 10*Absorption(hz, 20, 70, 101325)
	}
	assert.LessOrEqual(t, min(correction(lo), correction(hi)), air[0], "correction of a band")
	assert.LessOrEqual(t, air[0], max(correction(lo), correction(hi)), "correction of a band")

	delete(conditions, "humidity_pct")

	_, _, err = outcomesOf(t, "split-half-spectrum", memory{x}, s, rate, conditions)
	assert.ErrorContains(t, err, "a condition humidity_pct from 0 to 100")
}

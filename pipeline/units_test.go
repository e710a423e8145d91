package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/internal/longtest"
)

// halfFullScale is the amplitude of the line of writeHalfFullScale, whose full scale is 1.
const halfFullScale = 0.5

// writeHalfFullScale writes a recording of a line of half of full scale at 80 Hz, in a little noise. writeWAV
// multiplies by 32767, and readers divide by 32768.
func writeHalfFullScale(t *testing.T, path string) {
	t.Helper()

	const rate = 6400
	rng := rand.New(rand.NewPCG(9, 9))
	x := make([]float64, 4*rate)
	for i := range x {
		x[i] = halfFullScale*32768/32767*math.Sin(2*math.Pi*80*float64(i)/rate) + 1e-3*rng.NormFloat64()
	}

	writeWAV(t, path, rate, x)
}

// unitsYAML is the configuration of a recording of a line. Keys of ingest and dsp are inserted.
const unitsYAML = `version: 1
experiments:
  rotor:
    ingest: {files: run.wav, constants: {blades: 2, rpm: 2400}%s}
    dsp: {triplets: split-half-spectrum, harmonics: 1%s}
`

// A line of half of full scale has the level and the unit that each chain of units gives it. Expected are closed
// forms: soundLevel of the amplitude in Pa; dBFS, which is 0 for a full-scale sine (AES17); and 20 lg(1.5/1) more for
// a distance of 1 m instead of 1.5 m.
func TestLevelsAndUnits(t *testing.T) {
	longtest.Skip(t, "runs a campaign for each chain of units")

	const dBPa = "dB re 20 µPa"
	dir := t.TempDir()
	writeHalfFullScale(t, filepath.Join(dir, "run.wav"))

	for _, c := range []struct {
		name        string
		ingest, dsp string
		want        float64
		unit        string
	}{
		{"no calibration", "", "", 20 * math.Log10(halfFullScale), "dBFS"},
		{"full scale", ", calibration: {unit: full-scale}", "", 20 * math.Log10(halfFullScale), "dBFS"},
		{"pascal", ", calibration: {unit: Pa}", "", soundLevel(halfFullScale), dBPa},
		{"pascal per unit", ", calibration: {pa_per_unit: 3}", "", soundLevel(3 * halfFullScale), dBPa},
		{
			"peak voltage", ", calibration: {full_scale_v: 10, reading: peak, sensitivity_v_per_pa: 0.05}", "",
			soundLevel(10 * halfFullScale / 0.05), dBPa,
		},
		{
			"rms voltage, of a peak of 14.1 V",
			", calibration: {full_scale_v: 10, reading: rms, sensitivity_v_per_pa: 0.05}", "",
			soundLevel(10 * math.Sqrt2 * halfFullScale / 0.05), dBPa,
		},
		{
			"voltage with gain", ", calibration: {full_scale_v: 10, sensitivity_v_per_pa: 0.05, gain_db: 26}", "",
			soundLevel(10*halfFullScale/0.05) - 26, dBPa,
		},
		{
			"voltage alone", ", calibration: {full_scale_v: 10}", "",
			20 * math.Log10(10*halfFullScale/math.Sqrt2), "dB re 1 V",
		},
		{
			"distance", ", calibration: {unit: Pa}", ", distance: {from_m: 1.5, to_m: 1}",
			soundLevel(halfFullScale) + 20*math.Log10(1.5), dBPa,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(unitsYAML, c.ingest, c.dsp))
			for _, name := range []string{"bpf1_db_1", "bpf1_db_2"} {
				assert.InDelta(t, c.want, column(t, tab, name)[0], 0.01, "%s: dB", name)
				assert.Equal(t, c.unit, tab.Column(name).Unit, "%s: unit", name)
			}

			const normalised = "normalised from 1.5 m to 1 m"
			if c.name == "distance" {
				assert.Contains(t, tab.Column("bpf1_db_1").Description, normalised)
			} else {
				assert.NotContains(t, tab.Column("bpf1_db_1").Description, normalised)
			}
		})
	}
}

// With output: power, outcomes are the mean square of the line in the unit of the recording, amplitude²/2.
func TestPowerAndUnits(t *testing.T) {
	longtest.Skip(t, "runs a campaign for each unit")

	dir := t.TempDir()
	writeHalfFullScale(t, filepath.Join(dir, "run.wav"))

	for ingest, unit := range map[string]string{"": "full-scale²", ", calibration: {unit: Pa}": "Pa²"} {
		t.Run(unit, func(t *testing.T) {
			tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(unitsYAML, ingest, ", output: power"))
			for _, name := range []string{"bpf1_power_1", "bpf1_power_2"} {
				assert.InEpsilon(t, halfFullScale*halfFullScale/2, column(t, tab, name)[0], 2e-3, name)
				assert.Equal(t, unit, tab.Column(name).Unit, "%s: unit", name)
			}
		})
	}
}

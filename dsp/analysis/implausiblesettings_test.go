package analysis

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest/setting"
)

// Settings in another unit than their names state are named with the likely unit, and impossible ones are refused.
func TestPlausibleSettings(t *testing.T) {
	check := func(chain setting.Calibration, distance *dsp.Distance) ([]string, error) {
		warnings, err := CheckSettings("pipeline.yaml", &setting.Campaign{Calibration: &chain},
			&dsp.Settings{Distance: distance})
		var texts []string
		for _, warning := range warnings {
			texts = append(texts, warning.Text)
		}

		return texts, err
	}

	for _, c := range []struct {
		chain    setting.Calibration
		distance *dsp.Distance
		want     string
	}{
		{
			setting.Calibration{SensitivityVPerPa: 12, FullScaleV: 1},
			nil,
			"ingest.calibration.sensitivity_v_per_pa: 12 V/Pa is an unlikely sensitivity of a microphone: mV/Pa?",
		},
		{
			setting.Calibration{SensitivityVPerPa: 0.05, FullScaleV: 5000},
			nil,
			"ingest.calibration.full_scale_v: 5000 V is an unlikely voltage at full scale: mV?",
		},
		{
			setting.Calibration{SensitivityVPerPa: 0.05, FullScaleV: 1, GainDB: 150},
			nil,
			"ingest.calibration.gain_db: 150 dB is an unlikely gain",
		},
		{
			setting.Calibration{PaPerUnit: 1},
			&dsp.Distance{FromM: 1200, ToM: 1},
			"dsp.distance.from_m: 1200 m is an unlikely distance: mm?",
		},
		{
			setting.Calibration{PaPerUnit: 1},
			&dsp.Distance{FromM: 1.2, ToM: 1000},
			"dsp.distance.to_m: 1000 m is an unlikely distance: mm?",
		},
		{
			setting.Calibration{Calibrator: &setting.Calibrator{LevelDB: 194, File: "x3000.npy"}},
			nil,
			"ingest.calibration.calibrator.level_db: 194 dB re 20 µPa is an unlikely level of a calibrator",
		},
	} {
		texts, err := check(c.chain, c.distance)
		require.NoError(t, err)
		assert.Equal(t, []string{c.want}, texts)
	}

	_, err := check(setting.Calibration{SensitivityVPerPa: 50, FullScaleV: 1}, nil)
	require.ErrorContains(t, err,
		"ingest.calibration.sensitivity_v_per_pa: 50 V/Pa is no sensitivity of a microphone: mV/Pa?")

	texts, err := check(setting.Calibration{SensitivityVPerPa: 0.05, FullScaleV: 10, GainDB: -20},
		&dsp.Distance{FromM: 1.2, ToM: 1})
	require.NoError(t, err)
	assert.Empty(t, texts)
}

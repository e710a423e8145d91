package setting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The factors were computed by hand. A microphone of 50 mV/Pa behind 20 dB of
// gain on a recorder of 10 V peak: 10/0.05/10 = 20 Pa at full scale.
func TestCalibration(t *testing.T) {
	for _, test := range []struct {
		calibration Calibration
		channelUnit string
		factor      float64
		unit        string
	}{
		{Calibration{}, "full-scale", 1, "full-scale"},
		{Calibration{}, "N", 1, "N"},
		{Calibration{}, "", 1, ""},
		{Calibration{FullScaleV: 10, SensitivityVPerPa: 0.05}, "full-scale", 200, "Pa"},
		{Calibration{FullScaleV: 10, Reading: "peak", SensitivityVPerPa: 0.05, GainDB: 20}, "full-scale", 20, "Pa"},
		{Calibration{FullScaleV: 10, Reading: "rms", SensitivityVPerPa: 0.05}, "full-scale", 200 * math.Sqrt2, "Pa"},
		{Calibration{SensitivityVPerPa: 0.05}, "V", 20, "Pa"},
		{Calibration{FullScaleV: 10}, "full-scale", 10, "V"},
		{Calibration{PaPerUnit: 3}, "full-scale", 3, "Pa"},
		{Calibration{PaPerUnit: 3}, "", 3, "Pa"},
		{Calibration{Unit: "Pa"}, "full-scale", 1, "Pa"},
		{Calibration{Unit: "Pa"}, "", 1, "Pa"},
		{Calibration{Unit: "Pa"}, "Pa", 1, "Pa"},
		{Calibration{Unit: "full-scale"}, "full-scale", 1, "full-scale"},
	} {
		factor, unit, err := test.calibration.Factor(test.channelUnit)
		require.NoError(t, err, "%+v on %q", test.calibration, test.channelUnit)
		assert.InDelta(t, test.factor, factor, 1e-12*test.factor, "%+v on %q", test.calibration, test.channelUnit)
		assert.Equal(t, test.unit, unit, "%+v on %q", test.calibration, test.channelUnit)
	}
}

// Settings that contradict each other or the channel's unit are an error that names the contradiction.
func TestCalibrationContradictions(t *testing.T) {
	for _, test := range []struct {
		calibration Calibration
		channelUnit string
		want        string
	}{
		{Calibration{FullScaleV: 10, SensitivityVPerPa: 1, PaPerUnit: 2}, "full-scale", "keep one"},
		{Calibration{SensitivityVPerPa: 1, Unit: "Pa"}, "V", "keep one"},
		{Calibration{PaPerUnit: 2, Unit: "full-scale"}, "V", "keep one"},
		{Calibration{SensitivityVPerPa: 1}, "full-scale", "needs full_scale_v"},
		{Calibration{SensitivityVPerPa: 1, FullScaleV: 1}, "V", "leave out full_scale_v"},
		{Calibration{SensitivityVPerPa: 1}, "", "does not state"},
		{Calibration{SensitivityVPerPa: 1, FullScaleV: 1}, "", "does not state"},
		{Calibration{SensitivityVPerPa: 1}, "Pa", "in Pa"},
		{Calibration{PaPerUnit: 1}, "Pa", "already"},
		{Calibration{Unit: "Pa"}, "N", "in N"},
		{Calibration{Reading: "rms"}, "full-scale", "full_scale_v is missing"},
		{Calibration{GainDB: 20}, "full-scale", "sensitivity_v_per_pa is missing"},
	} {
		_, _, err := test.calibration.Factor(test.channelUnit)
		assert.ErrorContains(t, err, test.want, "%+v on %q", test.calibration, test.channelUnit)
	}
}

// The text of a calibration without a calibrator, for the index.
func TestCalibrationText(t *testing.T) {
	for want, c := range map[string]Calibration{
		"":                               {},
		"in Pa, as configured":           {Unit: "Pa"},
		"0.2 Pa per unit, as configured": {PaPerUnit: 0.2},
		"10 V (peak) at full scale, 0.05 V/Pa, gain 20 dB": {FullScaleV: 10, SensitivityVPerPa: 0.05, GainDB: 20},
		"7 V (rms) at full scale":                          {FullScaleV: 7, Reading: "rms"},
	} {
		assert.Equal(t, want, c.Text())
	}
}

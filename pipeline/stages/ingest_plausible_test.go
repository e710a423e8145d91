package stages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Settings in another unit than their names state are named with the likely unit, and impossible ones are refused.
func TestPlausibleSettings(t *testing.T) {
	files := map[string]string{"x3000.npy": npyFile(count(3000, 1))}
	const sections = `{files: x*.npy, pattern: "x{rpm}.npy", rate_hz: 1000, calibration: `
	for _, c := range []struct{ calibration, dsp, want string }{
		{
			"{sensitivity_v_per_pa: 12, full_scale_v: 1}", "",
			"ingest.calibration.sensitivity_v_per_pa: 12 V/Pa is an unlikely sensitivity of a microphone: mV/Pa?",
		},
		{
			"{sensitivity_v_per_pa: 0.05, full_scale_v: 5000}", "",
			"ingest.calibration.full_scale_v: 5000 V is an unlikely voltage at full scale: mV?",
		},
		{
			"{sensitivity_v_per_pa: 0.05, full_scale_v: 1, gain_db: 150}", "",
			"ingest.calibration.gain_db: 150 dB is an unlikely gain",
		},
		{
			"{pa_per_unit: 1}", ", distance: {from_m: 1200, to_m: 1}",
			"dsp.distance.from_m: 1200 m is an unlikely distance: mm?",
		},
		{
			"{pa_per_unit: 1}", ", distance: {from_m: 1.2, to_m: 1000}",
			"dsp.distance.to_m: 1000 m is an unlikely distance: mm?",
		},
		{
			"{calibrator: {level_db: 194, file: x3000.npy}}", "",
			"ingest.calibration.calibrator.level_db: 194 dB re 20 µPa is an unlikely level of a calibrator",
		},
	} {
		exp := campaignIn(t, files, sections+c.calibration+"}", "{triplets: split-half-bands"+c.dsp+"}")
		warnings, err := checkSettings(exp)
		require.NoError(t, err)
		require.Len(t, warnings, 1, c.want)
		assert.Equal(t, c.want, warnings[0].Text)
	}

	_, err := checkSettings(campaignIn(t, files, sections+"{sensitivity_v_per_pa: 50, full_scale_v: 1}}",
		"{triplets: split-half-bands}"))
	require.ErrorContains(t, err,
		"ingest.calibration.sensitivity_v_per_pa: 50 V/Pa is no sensitivity of a microphone: mV/Pa?")

	exp := campaignIn(t, files, sections+"{sensitivity_v_per_pa: 0.05, full_scale_v: 10, gain_db: -20}}",
		"{triplets: split-half-bands, distance: {from_m: 1.2, to_m: 1}}")
	warnings, err := checkSettings(exp)
	require.NoError(t, err)
	assert.Empty(t, warnings)
}

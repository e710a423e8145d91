package pipeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
)

// Each tow speed of the turbine's 125 measured repeats is held out in turn. The numbers are those of an earlier
// program with the same settings (five seeds of 1000 epochs), within the spread of its seeds.
// examples/rm2-turbine/README.md has this program's numbers.
func TestTurbine(t *testing.T) {
	longtest.Skip(t, "trains 25 networks")
	dir := shipped(t, "rm2-turbine", "runs.csv")
	e := runIn(t, dir)["turbine"]
	assert.Equal(t, 125, e.Triplets, "triplets")
	assert.Equal(t, "measured", e.Data, "data")
	assert.Equal(t, "repeat-run", e.Pairs, "pairs")

	m := readMetrics(t, dir, "turbine")
	assert.Len(t, m.Splits, 5, "splits")

	for _, s := range m.Splits {
		assert.InDelta(t, 0.998, *s.Train.R2.Mean, 0.001, "%s: R² in training", s.Name)
	}

	for split, want := range map[string]struct {
		r2, r2Spread float64
		rise         float64 // of E|cov| from training to held out, relative
		e            float64
	}{
		"tow_speed_m_s=0.4": {r2: 0.825, r2Spread: 0.02, rise: 4.02, e: 0.213},
		"tow_speed_m_s=0.8": {r2: 0.990, r2Spread: 0.002, rise: 0.45, e: 0.0047},
		"tow_speed_m_s=1.2": {r2: 0.984, r2Spread: 0.004, rise: 2.54, e: 0.0103},
	} {
		train, test := splitMetrics(t, dir, "turbine", split)
		assert.InDelta(t, want.r2, *test.R2.Mean, want.r2Spread, "%s: R²", split)
		assert.InEpsilon(t, want.rise, covRise(train, test)-1, 0.15, "%s: rise of E|cov|", split)
		assert.InEpsilon(t, want.e, *test.E.Mean, 0.1, "%s: e", split)
	}
}

// A MATLAB level 5 recording of a throttle step is cut in seconds. By the data's notes the blade passing frequency is
// 183 Hz in the step and 105 to 106 Hz at the base. As the rate is not in the file, the run stops with an error
// without the key in the configuration.
func TestCrissclMotor(t *testing.T) {
	dir := example(t, "crisscl-motor", measuredData(t, "crisscl-motor-9450-propeller"))
	e := runIn(t, dir)["motor"]
	assert.Equal(t, 2, e.Runs, "runs")
	assert.Equal(t, 2, e.Triplets, "triplets")

	tab := readTable(t, dir, "runs", "motor", "triplets.arrow")
	bladePassingHz := map[float64]float64{1200: 105.5, 1400: 183.5} // by the motor's command in µs
	rpm := column(t, tab, "rpm_tracked")
	for i, command := range column(t, tab, "esc_us") {
		assert.InDelta(t, bladePassingHz[command], 2*rpm[i]/60, 1, "at %g µs: blade passing frequency in Hz", command)
	}

	amend(t, dir, "rate_hz: 44100", "")

	ingesttest.WantDataError(t, nil, tryIn(dir), "states no sampling rate")
}

// Processed spectra are refused by name, with the axis that gave them away, rate
// or no rate.
func TestTUDelftSpectra(t *testing.T) {
	dir := example(t, "tudelft-spectra", measuredData(t, "tudelft-ae4115-6blade-spectra"))
	for _, rate := range []string{"", "      rate_hz: 51200\n"} {
		amend(t, dir, "      channels:", rate+"      channels:")

		ingesttest.WantDataError(t, nil, tryIn(dir), "a spectrum over f_jprop{1} (4097 frequencies in steps of 6.25 Hz)")
	}
}

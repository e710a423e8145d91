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
	want := map[string]struct{ r2, off, rise, e float64 }{
		"tow_speed_m_s=0.4": {0.825, 0.02, 4.02, 0.213},
		"tow_speed_m_s=0.8": {0.990, 0.002, 0.45, 0.0047},
		"tow_speed_m_s=1.2": {0.984, 0.004, 2.54, 0.0103},
	}

	assert.Len(t, m.Splits, 5, "splits")

	for _, s := range m.Splits {
		assert.InDelta(t, 0.998, *s.Train.R2.Mean, 0.001, "%s: R² in training", s.Name)

		w, ok := want[s.Name]
		if !ok {
			continue
		}

		rise := *s.Test.AbsCov.Mean / *s.Train.AbsCov.Mean - 1
		assert.InDelta(t, w.r2, *s.Test.R2.Mean, w.off, "%s: R²", s.Name)
		assert.InEpsilon(t, w.rise, rise, 0.15, "%s: rise of E|cov|", s.Name)
		assert.InEpsilon(t, w.e, *s.Test.E.Mean, 0.1, "%s: e", s.Name)
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
	rpm := column(t, tab, "rpm_tracked")
	for i, esc := range column(t, tab, "esc_us") {
		want := map[float64]float64{1200: 105.5, 1400: 183.5}[esc] // Hz
		assert.InDelta(t, want, rpm[i]/30, 1, "at %g µs: BPF Hz", esc)
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

package pipeline_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/longtest"
)

// The turbine's 125 measured repeats, each tow speed held out in turn. Expected:
// the results of an earlier program with the same settings (five seeds of 1000
// epochs), within the spread of its seeds; examples/rm2-turbine/README.md has
// this program's numbers.
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
		if r := *s.Train.R2.Mean; math.Abs(r-0.998) > 0.001 {
			t.Errorf("%s: R² %.4f in training, expected 0.998", s.Name, r)
		}

		w, ok := want[s.Name]
		if !ok {
			continue
		}

		rise := *s.Test.AbsCov.Mean / *s.Train.AbsCov.Mean - 1
		if r := *s.Test.R2.Mean; math.Abs(r-w.r2) > w.off || math.Abs(rise/w.rise-1) > 0.15 ||
			math.Abs(*s.Test.E.Mean/w.e-1) > 0.1 {
			t.Errorf("%s: R² %.3f, E|cov| %+.0f %%, e %.4f; expected %.3f, %+.0f %%, %.4f",
				s.Name, r, 100*rise, *s.Test.E.Mean, w.r2, 100*w.rise, w.e)
		}
	}
}

// A MATLAB level 5 recording of a throttle step, cut in seconds. Expected from the
// data's notes: BPF 183 Hz in the step, 105 to 106 Hz at the base; the rate is not
// in the file: without the key in the configuration the run stops with an error.
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

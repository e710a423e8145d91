package pipeline_test

import (
	"testing"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/must"
)

// A MATLAB level 5 recording of a throttle step, cut in seconds. Expected from the
// data's notes: BPF 183 Hz in the step, 105 to 106 Hz at the base; the rate is not
// in the file: without the key in the configuration the run stops with an error.
func TestCrissclMotor(t *testing.T) {
	dir := example(t, "crisscl-motor", measuredData(t, "crisscl-motor-9450-propeller"))
	e := runIn(t, dir)["motor"]
	must.Not(t, e.Runs != 2 || e.Triplets != 2, "%d runs, %d triplets", e.Runs, e.Triplets)

	tab := readTable(t, dir, "runs", "motor", "triplets.arrow")
	rpm := column(t, tab, "rpm_tracked")
	for i, esc := range column(t, tab, "esc_us") {
		want := map[float64]float64{1200: 105.5, 1400: 183.5}[esc] // Hz
		must.Near(t, rpm[i]/30, want, 1, "at %g µs: BPF Hz", esc)
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

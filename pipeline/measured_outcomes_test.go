package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// bandLevels are the levels that testdata/band_levels.py computes for a half of a recording: those of nominalThirds,
// and the overall level of the same range.
type bandLevels struct {
	Bands   []float64 `json:"bands"`
	Overall float64   `json:"overall"`
}

// scipyBands returns the levels of both halves of recordings, by their names, as scipy computes them. If scipy is not
// here, scipyBands skips the test.
func scipyBands(t *testing.T, segmentS float64, recordings map[string]recordingPart) map[string][2]bandLevels {
	t.Helper()

	const overlap = "0.5"
	b := runScript(t, "band_levels.py", recordings, fmt.Sprint(segmentS), overlap, "200", "10000")

	levels := map[string][2]bandLevels{}
	require.NoError(t, json.Unmarshal(b, &levels))

	return levels
}

// recordingPart is a recording, or a part of one, as testdata/band_levels.py reads it.
type recordingPart struct {
	File  string  `json:"file"`
	Rate  float64 `json:"rate,omitempty"`
	FromS float64 `json:"from_s,omitempty"`
	ToS   float64 `json:"to_s,omitempty"`
}

// runScript runs a script of testdata that needs scipy, gives it input as JSON, and returns its output. If scipy is not
// here, runScript skips the test.
func runScript(t *testing.T, script string, input any, args ...string) []byte {
	t.Helper()

	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import scipy.signal").Run(); err != nil {
		t.Skipf("%s with scipy is not here: %v", python, err)
	}

	b, err := json.Marshal(input)
	require.NoError(t, err)

	cmd := exec.Command(python, append([]string{filepath.Join("testdata", script)}, args...)...)
	var complaints bytes.Buffer
	cmd.Stdin = bytes.NewReader(b)
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	require.NoError(t, err, "%s: %s", script, &complaints)

	return output
}

// nominalThirds are the third-octave bands of the measured recordings by their nominal frequencies in Hz.
var nominalThirds = []float64{
	200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000,
}

// assertBands asserts that the levels of an experiment agree with scipy's within 1e-6 dB, that their predicted
// deviations are between 0 and 3 dB, and that the figures of levels and spectra are not empty. want contains scipy's
// levels by the value of a condition, which no two recordings share.
func assertBands(t *testing.T, dir, experiment, condition string, want map[string][2]bandLevels) {
	t.Helper()

	tab := readTable(t, dir, "runs", experiment, "triplets.arrow")
	require.Equal(t, len(want), tab.Rows(), "recordings that are compared")

	worst := 0.0
	for row, value := range column(t, tab, condition) {
		halves, ok := want[fmt.Sprint(value)]
		require.True(t, ok, "scipy must have levels of %s = %g", condition, value)

		for half, levels := range halves {
			for k, hz := range nominalThirds {
				level := column(t, tab, fmt.Sprintf("l_%ghz_db_%d", hz, half+1))[row]
				worst = max(worst, math.Abs(level-levels.Bands[k]))

				deviation := column(t, tab, fmt.Sprintf("l_%ghz_db_sd_%d", hz, half+1))[row]
				assert.Greater(t, deviation, 0.0, "%g Hz at %g: predicted deviation in dB", hz, value)
				assert.Less(t, deviation, 3.0, "%g Hz at %g: predicted deviation in dB", hz, value)
			}

			overall := column(t, tab, fmt.Sprintf("oaspl_db_%d", half+1))[row]
			worst = max(worst, math.Abs(overall-levels.Overall))
		}
	}

	assert.LessOrEqual(t, worst, 1e-6, "largest difference from scipy's levels in dB")

	t.Logf("%d recordings, largest difference %.2g dB", tab.Rows(), worst)

	for _, figure := range []string{"levels.svg", "levels.csv", "spectrum.svg"} {
		b := testfile.Read(t, filepath.Join(dir, "runs", experiment, "report", "figures", figure))
		assert.NotEmpty(t, b, "figure %s", figure)
	}
}

// Recordings of a rotor have harmonics, bands, overall, broadband and tonal levels. Bands and overall levels are
// scipy's. The overall power is the sum of the broadband and the tonal one, of which the tonal one is at least 5 %.
func TestLCAVOutcomes(t *testing.T) {
	longtest.Skip(t, "runs a measured example")
	data := measuredData(t, "lcav-crazyflie-propeller", "propellers")
	dir := example(t, "lcav-outcomes", data)
	e := runIn(t, dir)["outcomes"]
	assert.Equal(t, 7, e.Triplets, "triplets")
	assert.Contains(t, e.Outcomes, "broadband_a_db")

	recordings := map[string]recordingPart{}
	for _, command := range thrustCommands {
		recordings[command] = recordingPart{File: filepath.Join(data, command+".wav")}
	}

	assertBands(t, dir, "outcomes", "thrust_command", scipyBands(t, 0.25, recordings))

	tab := readTable(t, dir, "runs", "outcomes", "triplets.arrow")
	power := func(name string, row int) float64 { return math.Pow(10, column(t, tab, name)[row]/10) }
	for _, weighting := range []string{"", "_a"} {
		for row := range tab.Rows() {
			total := power("oaspl"+weighting+"_db_1", row)
			broadband := power("broadband"+weighting+"_db_1", row)
			tonal := power("tonal"+weighting+"_db_1", row)
			assert.InEpsilon(t, total, broadband+tonal, 1e-12, "row %d, weighting %q: sum of the powers", row, weighting)
			assert.GreaterOrEqual(t, tonal, 0.05*total, "row %d, weighting %q: tonal power", row, weighting)
		}
	}
}

// Two parts of a motor's throttle step, cut in seconds, have the band levels of scipy. Bands need neither blades nor a
// speed.
func TestCrissclBands(t *testing.T) {
	longtest.Skip(t, "runs a measured example")
	data := measuredData(t, "crisscl-motor-9450-propeller")
	dir := example(t, "crisscl-motor", data)
	amend(t, dir, "      constants: {blades: 2} # by the propeller's type\n", "",
		"      track: {range_hz: [45, 100]}\n", `      outcomes: [bands, overall]
      segment_s: 0.1
      overlap: 0.5
      bands_hz: [200, 10000]
      overall_hz: [200, 10000]
`)
	runIn(t, dir)

	file := filepath.Join(data, "sonido_motor_1.mat")
	parts := map[string]recordingPart{
		"1200": {File: file, Rate: 44100, FromS: 9, ToS: 12.8},
		"1400": {File: file, Rate: 44100, FromS: 13.5, ToS: 17.5},
	}
	assertBands(t, dir, "motor", "esc_us", scipyBands(t, 0.1, parts))
}

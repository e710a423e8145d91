package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
)

// bandLevels are the levels of a half by testdata/band_levels.py: bands from 200 to
// 10000 Hz, and overall.
type bandLevels struct {
	Bands   []float64 `json:"bands"`
	Overall float64   `json:"overall"`
}

// scipyBands runs the script on recordings, or skips by name where there is no scipy.
func scipyBands(t *testing.T, segmentS float64, recordings any) map[string][2]bandLevels {
	t.Helper()

	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import scipy.signal").Run(); err != nil {
		t.Skipf("%s with scipy is not here: %v", python, err)
	}

	in, err := json.Marshal(recordings)
	require.NoError(t, err)

	cmd := exec.Command(python, filepath.Join("testdata", "band_levels.py"), fmt.Sprint(segmentS), "0.5", "200", "10000")
	var complaints bytes.Buffer
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = &complaints
	b, err := cmd.Output()
	require.NoError(t, err, "band_levels.py: %s", &complaints)

	out := map[string][2]bandLevels{}
	require.NoError(t, json.Unmarshal(b, &out))

	return out
}

// nominalThirds are the bands of the measured recordings in Hz.
var nominalThirds = []float64{
	200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000, 6300, 8000, 10000,
}

// holdBands compares the triplets with scipy's levels, by the value of a condition,
// and requires the figure of the spectrum and its band levels.
func holdBands(t *testing.T, dir, experiment, condition string, want map[string][2]bandLevels) {
	t.Helper()
	tab := readTable(t, dir, "runs", experiment, "triplets.arrow")

	worst := 0.0
	seen := map[float64]bool{}
	for i, c := range column(t, tab, condition) {
		seen[c] = true
		w, ok := want[fmt.Sprint(c)]
		require.True(t, ok, "no levels at %g", c)

		for h := range 2 {
			for k, hz := range nominalThirds {
				name := fmt.Sprintf("l_%ghz_db", hz)
				d := column(t, tab, fmt.Sprintf("%s_%d", name, h+1))[i] - w[h].Bands[k]
				worst = max(worst, math.Abs(d))

				if sd := column(t, tab, fmt.Sprintf("%s_sd_%d", name, h+1))[i]; !(sd > 0 && sd < 3) {
					t.Errorf("%s at %g: predicted deviation %g dB", name, c, sd)
				}
			}

			worst = max(worst, math.Abs(column(t, tab, fmt.Sprintf("oaspl_db_%d", h+1))[i]-w[h].Overall))
		}
	}

	require.Len(t, seen, len(want), "values of %s that were compared", condition)
	assert.LessOrEqual(t, worst, 1e-6, "levels differ by up to %g dB from scipy's", worst)

	t.Logf("%d recordings, largest difference %.2g dB", tab.Rows(), worst)

	for _, f := range []string{"levels.svg", "levels.csv", "spectrum.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, "runs", experiment, "report", "figures", f))
		require.NoError(t, err, "figure %s", f)
		assert.NotEmpty(t, b, "figure %s", f)
	}
}

// The recordings of LCAV through harmonics, bands, overall and broadband. Expected:
// scipy's levels to 1e-6 dB; overall = broadband + tonal; and a rotor is tonal.
func TestLCAVOutcomes(t *testing.T) {
	longtest.Skip(t, "runs a measured example")
	data := measuredData(t, "lcav-crazyflie-propeller", "propellers")
	dir := example(t, "lcav-outcomes", data)
	e := runIn(t, dir)["outcomes"]
	assert.Equal(t, 7, e.Triplets, "triplets")
	assert.Contains(t, e.Outcomes, "broadband_a_db")

	recordings := map[string]map[string]any{}
	for _, c := range thrustCommands {
		recordings[fmt.Sprint(c)] = map[string]any{"file": filepath.Join(data, fmt.Sprintf("%v.wav", c))}
	}

	holdBands(t, dir, "outcomes", "thrust_command", scipyBands(t, 0.25, recordings))
	tab := readTable(t, dir, "runs", "outcomes", "triplets.arrow")
	power := func(name string) []float64 {
		out := slices.Clone(column(t, tab, name))
		for i := range out {
			out[i] = math.Pow(10, out[i]/10)
		}

		return out
	}

	for _, w := range []string{"", "_a"} {
		total := power("oaspl" + w + "_db_1")
		broad := power("broadband" + w + "_db_1")
		tonal := power("tonal" + w + "_db_1")
		for i := range total {
			if d := (broad[i]+tonal[i])/total[i] - 1; math.Abs(d) > 1e-12 || tonal[i] < 0.05*total[i] {
				t.Errorf("%s%d: broadband %g and tonal %g of %g", w, i, broad[i], tonal[i], total[i])
			}
		}
	}
}

// The throttle step of a motor, cut in seconds, through bands without blades and
// speed. Expected: scipy's levels to 1e-6 dB.
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
	part := func(from, to float64) map[string]any {
		return map[string]any{"file": filepath.Join(data, "sonido_motor_1.mat"), "rate": 44100, "from_s": from, "to_s": to}
	}
	parts := map[string]any{"1200": part(9, 12.8), "1400": part(13.5, 17.5)}
	holdBands(t, dir, "motor", "esc_us", scipyBands(t, 0.1, parts))
}

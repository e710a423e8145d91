package pipeline_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/table"
	"doubletake/internal/testfile"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rotor and the room of withBackground.
const (
	backgroundRateHz  = 6400.0
	backgroundNoisePa = 0.004 // standard deviation of the room's noise
	backgroundHumPa   = 0.01  // amplitude of the room's hum
	backgroundHumHz   = 160.2
)

// withBackground writes a recording of two microphones in a room with noise and a hum, which is near the second
// harmonic of the rotor. If rotor is true, a rotor of two blades at 40 rev/s runs: it has lines of 0.2 and 0.02 Pa at
// 80 and 160 Hz. Otherwise the recording is one of the background alone.
func withBackground(t *testing.T, dir, name string, rotor bool, seed uint64) {
	t.Helper()

	rng := rand.New(rand.NewPCG(seed, 6))
	microphones := [2][]float64{}
	for i := range 10 * int(backgroundRateHz) {
		seconds := float64(i) / backgroundRateHz
		for m := range microphones {
			p := backgroundNoisePa*rng.NormFloat64() + backgroundHumPa*math.Sin(2*math.Pi*backgroundHumHz*seconds)
			if rotor {
				p += 0.2*math.Sin(2*math.Pi*80*seconds) + 0.02*math.Sin(2*math.Pi*160*seconds)
			}

			microphones[m] = append(microphones[m], p)
		}
	}

	writeNPY(t, filepath.Join(dir, name), microphones[:]...)
}

const backgroundYAML = `version: 1
experiments:
  rotor:
    ingest:
      files: "*.npy"
      conditions: conditions.csv
      rate_hz: 6400
      calibration: {unit: Pa}
      background: {%s}
    dsp: {triplets: split-half-spectrum, harmonics: 2}
`

// The level of the background behind each harmonic is stated, and tones of the background are named. The levels of the
// rotor stay as they are without a background: nothing is subtracted.
func TestBackgroundIsFloorAndFlag(t *testing.T) {
	dir := t.TempDir()
	withBackground(t, dir, "a.npy", true, 1)
	withBackground(t, dir, "b.npy", true, 2)
	withBackground(t, dir, "quiet1.npy", false, 3)
	withBackground(t, dir, "quiet2.npy", false, 4)
	write(t, dir, "conditions.csv", "file,blades,rpm\na.npy,2,2400\nb.npy,2,2410\n")

	yaml := fmt.Sprintf(backgroundYAML, "files: quiet*.npy")
	write(t, dir, "pipeline.yaml", yaml)

	rotor := runIn(t, dir)["rotor"]
	assert.Equal(t, []string{"bpf1_db", "bpf2_db"}, rotor.Outcomes, "outcomes")

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
	require.Equal(t, 4, tab.Rows(), "triplets: two microphones in each of two runs")
	assertBackgroundLevels(t, dir, tab)

	warnings := strings.Join(rotor.Warnings, "\n")
	assert.Contains(t, warnings,
		"quiet1.npy: the background has tones of its own: 160.2 Hz (51.0 dB re 20 µPa, channel")
	assert.Contains(t, warnings, `2 of 2 runs are flagged "background-tone", first a.npy: channel 1: harmonic 2 at 160`)
	assert.Contains(t, warnings, "(quiet2.npy) at 160.2 Hz in its bins, -")

	assertBackgroundFigure(t, dir)
	assertBackgroundTable(t, dir)

	page := testfile.Read(t, filepath.Join(dir, "runs", "report.html"))
	assert.Contains(t, string(page), "these bins in the background alone (quiet1.npy, quiet2.npy)")

	withoutBackground := strings.Replace(yaml, "      background: {files: quiet*.npy}\n", "      exclude: quiet*.npy\n", 1)
	write(t, dir, "pipeline.yaml", withoutBackground)
	runIn(t, dir)

	levels := column(t, readTable(t, dir, "runs", "rotor", "triplets.arrow"), "bpf2_db_1")
	assert.Equal(t, levels, column(t, tab, "bpf2_db_1"), "levels without and with a background")

	for _, m := range marks(t, filepath.Join(dir, "runs/rotor/report/figures/spectrum.svg")) {
		assert.NotContains(t, m.series, "background", "a figure without a background has the series %q", m.series)
	}
}

// binWidth returns the width in Hz of the spectra's bins.
func binWidth(t *testing.T, dir string) float64 {
	t.Helper()
	return column(t, readTable(t, dir, "runs", "rotor", "spectra.arrow"), "bin_hz")[0]
}

// assertBackgroundLevels compares the levels of the background behind each harmonic with closed forms. Behind the
// first harmonic there is white noise of the density 2σ²/rate, in the bins of the harmonic's band: 1.5 dB are allowed,
// because the level is that of some ten bins of forty segments. Behind the second one there is the hum, whose mean
// square is amplitude²/2.
func assertBackgroundLevels(t *testing.T, dir string, tab *table.Table) {
	t.Helper()

	spectra := readTable(t, dir, "runs", "rotor", "spectra.arrow")
	bin := binWidth(t, dir)
	density := 2 * backgroundNoisePa * backgroundNoisePa / backgroundRateHz
	hum := soundLevelOfSquare(backgroundHumPa * backgroundHumPa / 2)

	for row := range tab.Rows() {
		for half := range 2 {
			spectrum := 2*row + half
			first := spectra.Column("band_lo").Lists[spectrum][0] // bins of the first harmonic
			last := spectra.Column("band_hi").Lists[spectrum][0]
			noise := soundLevelOfSquare(density * float64(last-first+1) * bin)

			behindFirst := column(t, tab, fmt.Sprintf("bpf1_db_background_%d", half+1))[row]
			assert.InDelta(t, noise, behindFirst, 1.5, "row %d, half %d: dB behind the first harmonic", row, half+1)

			behindSecond := column(t, tab, fmt.Sprintf("bpf2_db_background_%d", half+1))[row]
			assert.InDelta(t, hum, behindSecond, 0.5, "row %d, half %d: dB behind the second harmonic", row, half+1)
		}
	}
}

// backgroundMark returns the series of the background in the figure of the spectrum. Its bins are those of the
// spectrum of the first half.
func backgroundMark(t *testing.T, dir string) mark {
	t.Helper()

	series := map[string]mark{}
	for _, m := range marks(t, filepath.Join(dir, "runs/rotor/report/figures/spectrum.svg")) {
		series[m.series] = m
	}

	background := series["background"]
	require.GreaterOrEqual(t, len(background.num["x"]), 20, "bins of the background")
	require.Equal(t, series["first half"].num["x"], background.num["x"], "frequencies of the background")

	return background
}

// assertBackgroundFigure compares the background in the spectrum's figure with closed forms. Away from the hum a bin
// contains 1.5·bin·2σ²/rate, as a Hann window counts noise 1.5 times: the mean over bins agrees within 0.3 dB, and each
// bin within 4 dB (some forty segments). At the hum the largest bin is at most 1.42 dB below its mean square, which is
// what a line between bins of a Hann window loses, with 0.3 dB allowed on both sides.
func assertBackgroundFigure(t *testing.T, dir string) {
	t.Helper()

	bin := binWidth(t, dir)
	background := backgroundMark(t, dir)
	noise := soundLevelOfSquare(1.5 * bin * 2 * backgroundNoisePa * backgroundNoisePa / backgroundRateHz)
	sum := 0.0
	count := 0
	largest := math.Inf(-1) // level near the hum
	for i, hz := range background.num["x"] {
		level := background.num["y"][i]
		isHum := math.Abs(hz-backgroundHumHz) < 6*bin
		isMean := hz < 4*bin // the mean is taken out of the segments

		switch {
		case isHum:
			largest = max(largest, level)
		case !isMean:
			sum += level
			count++

			assert.InDelta(t, noise, level, 4, "background at %g Hz: dB", hz)
		}
	}

	require.GreaterOrEqual(t, count, 10, "bins of noise")
	assert.InDelta(t, noise, sum/float64(count), 0.3, "mean level of the noise in dB")

	hum := soundLevelOfSquare(backgroundHumPa * backgroundHumPa / 2)
	assert.LessOrEqual(t, largest, hum+0.3, "level at the hum in dB")
	assert.GreaterOrEqual(t, largest, hum-1.42-0.3, "level at the hum in dB")
}

// assertBackgroundTable asserts that the table beside the spectrum's figure has the levels of the background that the
// figure shows.
func assertBackgroundTable(t *testing.T, dir string) {
	t.Helper()

	f, err := os.Open(filepath.Join(dir, "runs/rotor/report/figures/spectrum.csv"))
	require.NoError(t, err)
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	series := slices.Index(rows[0], "series")
	y := slices.Index(rows[0], "y")
	require.GreaterOrEqual(t, series, 0, "column series in %v", rows[0])
	require.GreaterOrEqual(t, y, 0, "column y in %v", rows[0])

	var levels []float64
	for _, row := range rows[1:] {
		if row[series] == "background" {
			level, err := strconv.ParseFloat(row[y], 64)
			require.NoError(t, err)

			levels = append(levels, level)
		}
	}

	assert.Equal(t, backgroundMark(t, dir).num["y"], levels, "levels of the background in spectrum.csv")
}

// A background that no recording remains beside, that has no recording, or that has too few channels is refused.
func TestBackgroundFaults(t *testing.T) {
	dir := t.TempDir()
	withBackground(t, dir, "a.npy", true, 1)
	withBackground(t, dir, "quiet.npy", false, 3)
	writeNPY(t, filepath.Join(dir, "mono.npy"), make([]float64, 64000))
	write(t, dir, "conditions.csv", "file,blades,rpm,off\na.npy,2,2400,0\nquiet.npy,2,2400,1\n")

	for _, c := range []struct{ name, background, want string }{
		{"all recordings", "files: '*.npy'", "every recording is one of the background"},
		{"no recording", "files: nothing*.npy", "nothing*.npy"},
		{
			"one channel of two", "files: mono.npy",
			"a.npy: channel 2: expected this channel in the background's recordings, found 1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			yaml := fmt.Sprintf(backgroundYAML, c.background)
			assertRefuses(t, dir, strings.Replace(yaml, `"*.npy"`, `[a.npy, quiet.npy]`, 1), c.want)
		})
	}
}

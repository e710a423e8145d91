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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rotor of two blades at 40 rev/s: lines of 0.2 and 0.02 Pa at 80 and 160 Hz,
// in a room with noise of deviation 0.004 Pa and a hum of 0.01 Pa at 160.2 Hz,
// which the background's recording has alone.
func withBackground(t *testing.T, dir, name string, rotor bool, seed uint64) {
	t.Helper()
	const rate = 6400.0
	rng := rand.New(rand.NewPCG(seed, 6))

	x := [2][]float64{}
	for i := range 10 * int(rate) {
		s := float64(i) / rate
		for c := range x {
			p := 0.004*rng.NormFloat64() + 0.01*math.Sin(2*math.Pi*160.2*s)
			if rotor {
				p += 0.2*math.Sin(2*math.Pi*80*s) + 0.02*math.Sin(2*math.Pi*160*s)
			}

			x[c] = append(x[c], p)
		}
	}

	writeNPY(t, filepath.Join(dir, name), x[:]...)
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

// Expected: closed form. Behind a line without a tone the background has the
// density 2σ²/rate times the width of the line's bins; behind the second
// harmonic it has the hum, a²/2, which is named and not subtracted.
func TestBackgroundIsFloorAndFlag(t *testing.T) {
	const how = "files: quiet*.npy"
	dir := t.TempDir()
	withBackground(t, dir, "a.npy", true, 1)
	withBackground(t, dir, "b.npy", true, 2)
	withBackground(t, dir, "quiet1.npy", false, 3)
	withBackground(t, dir, "quiet2.npy", false, 4)
	write(t, dir, "conditions.csv", "file,blades,rpm\na.npy,2,2400\nb.npy,2,2410\n")
	write(t, dir, "pipeline.yaml", fmt.Sprintf(backgroundYAML, how))
	e := runIn(t, dir)["rotor"]

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
	require.Equal(t, 4, tab.Rows(), "triplets")

	assert.Equal(t, []string{"bpf1_db", "bpf2_db"}, e.Outcomes, "outcomes")

	spec := readTable(t, dir, "runs", "rotor", "spectra.arrow")
	bin := column(t, spec, "bin_hz")[0]

	level := func(ms float64) float64 { return 10 * math.Log10(ms/4e-10) }
	for r := range tab.Rows() {
		for h := range 2 {
			width := float64(spec.Column("band_hi").Lists[2*r+h][0]-spec.Column("band_lo").Lists[2*r+h][0]+1) * bin
			got := column(t, tab, fmt.Sprintf("bpf1_db_background_%d", h+1))[r]
			want := level(2 * 0.004 * 0.004 / 6400 * width)
			if math.Abs(got-want) > 1.5 { // some ten bins of forty segments
				t.Errorf("row %d, half %d: %.2f dB behind the first harmonic, expected %.2f in %g Hz", r, h+1, got, want, width)
			}

			got = column(t, tab, fmt.Sprintf("bpf2_db_background_%d", h+1))[r]
			want = level(0.01 * 0.01 / 2)
			if math.Abs(got-want) > 0.5 {
				t.Errorf("row %d, half %d: %.2f dB behind the second harmonic, expected the hum's %.2f", r, h+1, got, want)
			}
		}
	}

	all := strings.Join(e.Warnings, "\n")
	assert.Contains(t, all,
		"quiet1.npy: the background has tones of its own: 160.2 Hz (51.0 dB re 20 µPa, channel")
	assert.Contains(t, all, `2 of 2 runs are flagged "background-tone", first a.npy: channel 1: harmonic 2 at 160`)
	assert.Contains(t, all, "(quiet2.npy) at 160.2 Hz in its bins, -")

	// The figure of the spectrum draws it, and names where it is from.
	checkBackgroundFigure(t, dir, bin)

	// Nothing is subtracted: the levels are those without the key.
	got := column(t, tab, "bpf2_db_1")

	write(t, dir, "pipeline.yaml", strings.Replace(fmt.Sprintf(backgroundYAML, how),
		"      background: {files: quiet*.npy}\n", "      exclude: quiet*.npy\n", 1))
	runIn(t, dir)
	before := column(t, readTable(t, dir, "runs", "rotor", "triplets.arrow"), "bpf2_db_1")

	for _, m := range marks(t, filepath.Join(dir, "runs/rotor/report/figures/spectrum.svg")) {
		assert.NotContains(t, m.series, "background", "a figure without a background has the series %q", m.series)
	}

	assert.Equal(t, before, got, "levels with and without a background")
}

// checkBackgroundFigure reads the background back from the spectrum's figure and
// from its table: away from the hum the noise's 1.5·bin·2σ²/rate, its mean within
// 0.3 dB and each bin within 4 dB (some forty segments); at the hum its mean
// square, less at most the 1.42 dB that a line between bins of a Hann window loses.
func checkBackgroundFigure(t *testing.T, dir string, bin float64) {
	t.Helper()
	level := func(ms float64) float64 { return 10 * math.Log10(ms/4e-10) }
	base := filepath.Join(dir, "runs/rotor/report/figures/spectrum")

	series := map[string]mark{}
	for _, m := range marks(t, base+".svg") {
		series[m.series] = m
	}

	bg := series["background"].num
	half := series["first half"].num
	if len(bg["x"]) < 20 || !slices.Equal(bg["x"], half["x"]) {
		t.Fatalf("a background of %d bins, the spectrum has %d", len(bg["x"]), len(half["x"]))
	}

	noise := level(1.5 * bin * 2 * 0.004 * 0.004 / 6400)
	sum := 0.0
	n := 0
	hum := math.Inf(-1)
	for i, hz := range bg["x"] {
		if math.Abs(hz-160.2) < 6*bin {
			hum = math.Max(hum, bg["y"][i])
			continue
		}

		if hz < 4*bin {
			continue // the mean is taken out of the segments
		}

		sum += bg["y"][i]
		n++

		assert.InDelta(t, noise, bg["y"][i], 4, "background at %g Hz: dB", hz)
	}

	if n < 10 || math.Abs(sum/float64(n)-noise) > 0.3 {
		t.Errorf("background: %.2f dB in the mean of %d bins, expected %.2f", sum/float64(n), n, noise)
	}

	if want := level(0.01 * 0.01 / 2); hum > want+0.3 || hum < want-1.7 {
		t.Errorf("hum: %.2f dB, expected %.2f less up to 1.42", hum, want)
	}

	f, err := os.Open(base + ".csv")
	require.NoError(t, err)
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	at := func(name string) int { return slices.Index(rows[0], name) }

	var y []float64
	for _, r := range rows[1:] {
		if r[at("series")] == "background" {
			v, err := strconv.ParseFloat(r[at("y")], 64)
			require.NoError(t, err)

			y = append(y, v)
		}
	}

	if !slices.Equal(y, bg["y"]) {
		t.Errorf("spectrum.csv has %d values of the background, the figure %d", len(y), len(bg["y"]))
	}

	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	if err != nil || !strings.Contains(string(page), "these bins in the background alone (quiet1.npy, "+
		"quiet2.npy)") {
		t.Errorf("the page lacks the background's files (%v)", err)
	}
}

func TestBackgroundFaults(t *testing.T) {
	dir := t.TempDir()
	withBackground(t, dir, "a.npy", true, 1)
	withBackground(t, dir, "quiet.npy", false, 3)
	writeNPY(t, filepath.Join(dir, "mono.npy"), make([]float64, 64000))
	write(t, dir, "conditions.csv", "file,blades,rpm,off\na.npy,2,2400,0\nquiet.npy,2,2400,1\n")

	for _, c := range []struct{ how, want string }{
		{"files: '*.npy'", "every recording is one of the background"},
		{"files: nothing*.npy", "nothing*.npy"},
		{"files: mono.npy", "a.npy: channel 2: expected this channel in the background's recordings, found 1"},
	} {
		write(t, dir, "pipeline.yaml", strings.Replace(fmt.Sprintf(backgroundYAML, c.how), `"*.npy"`, `[a.npy, quiet.npy]`,
			1))

		says(t, tryIn(dir), c.want)
	}
}

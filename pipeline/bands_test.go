package pipeline_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/simulate"
	"doubletake/ingest/table"
	"doubletake/internal/testfile"
)

// Third-octave bands need neither blades nor a shaft speed, and go all the way to the page. White noise of the
// deviation v has the mean square 2v²/rate·(hi − lo) in a band.
func TestBandsWithoutRotor(t *testing.T) {
	dir := t.TempDir()
	const rate = 6400.0

	csv := "file,u_inf_m_s\n"
	for i := range 8 {
		rng := rand.New(rand.NewPCG(uint64(i), 2))

		x := make([]float64, 4*int(rate))
		for k := range x {
			x[k] = 0.01 * float64(i+1) * rng.NormFloat64()
		}

		writeNPY(t, filepath.Join(dir, fmt.Sprintf("%d.npy", i)), x, x)
		csv += fmt.Sprintf("%d.npy,%d\n", i, i+1)
	}

	write(t, dir, "conditions.csv", csv)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  duct:
    ingest: {files: "*.npy", conditions: conditions.csv, rate_hz: 6400, channels: ["1"], calibration: {unit: Pa}}
    dsp: {triplets: split-half-bands, bands_hz: [500, 1000]}
    train: {inputs: [u_inf_m_s], seeds: 1, optimizer: {epochs: 3}, splits: {fast: {test: {u_inf_m_s: 8}}}}
`)

	e := runIn(t, dir)["duct"]
	assert.Equal(t, 8, e.Triplets)
	assert.Equal(t, "same-run", e.Pairs)
	assert.Equal(t, []string{"l_500hz_db", "l_630hz_db", "l_800hz_db", "l_1000hz_db"}, e.Outcomes)

	tab := readTable(t, dir, "runs", "duct", "triplets.arrow")
	level := column(t, tab, "l_1000hz_db_1")
	sd := column(t, tab, "l_1000hz_db_sd_1")
	speed := column(t, tab, "u_inf_m_s")
	for i := range level {
		v := 0.01 * speed[i]
		want := 10 * math.Log10(2*v*v/rate*1000*(math.Pow(10, 0.05)-math.Pow(10, -0.05))/4e-10)
		assert.InDelta(t, want, level[i], 4*sd[i], "level at %g m/s", speed[i])
		assert.Less(t, sd[i], 0.5, "deviation at %g m/s", speed[i])
	}

	page := testfile.Read(t, filepath.Join(dir, "runs", "report.html"))

	assert.Contains(t, string(page), "y1 and y2 are the one-third-octave levels of a recording")
	assert.Contains(t, string(page), "Spectrum of ")
}

// everyOutcome is the configuration of a simulated rotor with all outcomes at once, corrected for distance and air.
const everyOutcome = `version: 1
experiments:
  rotor:
    ingest:
      files: "*.wav"
      conditions: conditions.csv
      calibration: {unit: Pa}
      constants: {temperature_c: 10, humidity_pct: 40}
    dsp:
      triplets: split-half-spectrum
      outcomes: [harmonics, bands, overall, broadband]
      harmonics: 2
      resolution_hz: 10
      overlap: 0.5
      window: blackman
      bands_per_octave: 1
      weighting: [Z, A]
      distance: {from_m: 2, to_m: 1}
      atmosphere: {}
    train: {inputs: [blades, rpm, theta_deg], seeds: 1, optimizer: {epochs: 3}, splits: {three: {test: {blades: 3}}}}
`

// A simulated rotor has all outcomes at once, in the table, in its metadata and in the figures of the report.
func TestEveryOutcome(t *testing.T) {
	dir := t.TempDir()

	c := simulate.DefaultRotor()
	c.DurationS = 2
	c.Blades = []int{2, 3, 4}
	c.RPM = []float64{4000, 5000}
	c.ThetaDeg = []float64{-30, 0, 30}
	require.NoError(t, simulate.WriteDir(t.Context(), c, dir, 4, nil))
	write(t, dir, "pipeline.yaml", everyOutcome)

	e := runIn(t, dir)["rotor"]
	want := "bpf1_db bpf2_db l_31_5hz_db l_63hz_db l_125hz_db l_250hz_db l_500hz_db l_1000hz_db l_2000hz_db " +
		"oaspl_db oaspl_a_db broadband_db tonal_db broadband_a_db tonal_a_db"
	assert.Equal(t, want, strings.Join(e.Outcomes, " "))

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
	t.Run("powers", func(t *testing.T) {
		checkPowers(t, tab, "")
		checkPowers(t, tab, "_a")
	})
	t.Run("averages", func(t *testing.T) { checkAverages(t, tab) })
	t.Run("air", func(t *testing.T) { checkAir(t, tab) })
	t.Run("metadata", func(t *testing.T) {
		assert.Equal(t, "2", tab.Get("config:dsp.distance.from_m"))
		assert.Equal(t, "0", tab.Get("config:dsp.atmosphere.path_m"))
		assert.Equal(t, "0.5", tab.Get("config:dsp.overlap"))
		assert.Equal(t, "[harmonics, bands, overall, broadband]", tab.Get("config:dsp.outcomes"))
	})

	figures := filepath.Join(dir, "runs", "rotor", "report", "figures")
	for _, name := range []string{"three-bands.svg", "levels.svg", "three-directivity-oaspl_a_db-rpm-5000.svg"} {
		assert.FileExists(t, filepath.Join(figures, name))
	}
}

// checkPowers checks that the overall power is the broadband and the tonal one together, in the rows whose tonal level
// is not a bound. weighting is the end of the names: "" for Z, "_a" for A.
func checkPowers(t *testing.T, tab *table.Table, weighting string) {
	t.Helper()

	power := func(outcome string, row int) float64 {
		return math.Pow(10, column(t, tab, outcome+weighting+"_db_2")[row]/10)
	}

	checked := 0
	for row, isBound := range tab.Column("tonal" + weighting + "_db_bound_2").Bools {
		if isBound {
			continue
		}

		checked++
		assert.InEpsilon(t, power("oaspl", row), power("broadband", row)+power("tonal", row), 1e-12, "row %d", row)
	}

	assert.NotZero(t, checked, "rows")
}

// checkAverages checks the number of averages of each half: a second has 19 segments of 0.1 s that share half of each,
// which count as fewer, but as more than the 10 segments that share nothing.
func checkAverages(t *testing.T, tab *table.Table) {
	t.Helper()

	for row, averages := range column(t, tab, "l_500hz_db_averages") {
		assert.Greater(t, averages, 10.0, "row %d", row)
		assert.Less(t, averages, 19.0, "row %d", row)
	}
}

// checkAir checks the corrections for the air in dB: it absorbs more of high frequencies, and little on two metres.
func checkAir(t *testing.T, tab *table.Table) {
	t.Helper()

	high := column(t, tab, "l_2000hz_db_air_1")
	for row, low := range column(t, tab, "l_125hz_db_air_1") {
		assert.Greater(t, low, 0.0, "row %d", row)
		assert.Greater(t, high[row], low, "row %d", row)
		assert.Less(t, high[row], 0.1, "row %d", row)
	}
}

// The unsteady loads of a simulated balance become outcomes, and the means stay as they are without them. As the
// simulation's noise is the same in both halves, so is the rms.
func TestUnsteadyOutcomes(t *testing.T) {
	dir := t.TempDir()
	const ingest = "    ingest: {simulate: {campaign: airfoil, seed: 2, duration_s: 2, alpha_deg: [-8, 0, 8], " +
		"u_inf_m_s: [5, 9]}}\n"
	write(t, dir, "pipeline.yaml", "version: 1\nexperiments:\n  means:\n"+ingest+"    dsp: {triplets: split-halves}\n  "+
		"unsteady:\n"+ingest+"    dsp: {triplets: split-halves, outcomes: [mean, rms, bands], bands: [[5, 50]], "+
		"overlap: 0.5}\n")
	tripletsIn(t, dir)
	means := readTable(t, dir, "runs", "means", "triplets.arrow")

	tab := readTable(t, dir, "runs", "unsteady", "triplets.arrow")
	for _, c := range means.Columns {
		got := tab.Column(c.Name)
		require.NotNil(t, got, c.Name)
		assert.Equal(t, c.Floats, got.Floats, c.Name)
	}

	rms := column(t, tab, "lift_n_rms_1")
	sd := column(t, tab, "lift_n_rms_sd_1")

	other := column(t, tab, "lift_n_rms_2")
	level := column(t, tab, "lift_n_l_5to50hz_db_1")
	for i := range rms {
		assert.Greater(t, rms[i], 0.0)
		assert.InDelta(t, other[i], rms[i], 6*sd[i], "rms of the halves")
		assert.Less(t, level[i], 20*math.Log10(rms[i])+0.5, "a band has at most the power of all")
	}
}

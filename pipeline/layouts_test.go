package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/report/answer/inspect"
)

// The tests of this file run the layouts of docs/method.md#layouts-of-published-files with the configurations of their
// examples. Files of HDF5 were written by h5py. The other files are written here.

// ISAE-SUPAERO's files contain spectra of 60 frequencies at 13 polar and 2 azimuthal angles. Inspect shows the spectra,
// and the pipeline refuses them with the axis that gave them away.
func TestLayoutISAE(t *testing.T) {
	const file = "ISAE_2_square20_L0.h5"
	data := t.TempDir()
	write(t, data, file, string(testfile.Read(t, filepath.Join("..", "ingest", "format", "testdata", "arrays", file))))

	dir := example(t, "isae-spectra", data)
	description, err := inspect.File(t.Context(), filepath.Join(dir, "data", file), ingest.Options{})
	require.NoError(t, err)

	spectra := 0
	for _, c := range description.Recording.Channels {
		if strings.Contains(c.Name, "Autopower_RPM_8000_Pa2[") && c.Samples == 60 {
			spectra++
		}
	}

	assert.Equal(t, 13*2, spectra, "spectra of 60 frequencies")

	assert.ErrorContains(t, tryIn(dir), "expected a time series, found a spectrum over "+
		"/ISAE_2_square20_L0/frequency_Hz (60 frequencies in steps of 25 Hz)")
}

// A wind tunnel's acquisitions are eight files by h5py (testdata/make_tunnel.py) with two speeds and four angles in
// their names, 1.25 s at 12.8 kHz by their period, a tachometer and one microphone in Pa. The speed of the shaft is
// that of truth.json, the levels are 20 lg(a/√2/20 µPa) of its amplitudes, and each angle is held out in a report.
func TestLayoutTunnel(t *testing.T) {
	dir, all := finishedIn(t, "tunnel-acquisition")
	recording := filepath.Join(dir, "data", "tunnel_U10_a4.h5")
	description, err := inspect.File(context.Background(), recording, ingest.Options{})
	require.NoError(t, err)

	var names []string
	for _, c := range description.Recording.Channels {
		names = append(names, c.Name)
		assert.Equal(t, 12800.0, c.RateHz, c.Name)
		assert.Equal(t, int64(16000), c.Samples, c.Name)
		assert.Equal(t, c.Name == "/Table1/Ds01-Time", c.Clock, c.Name)
	}

	assert.Equal(t, []string{"/Table1/Ds01-Time", "/Table1/Ds02-TACHO", "/Table1/Ds03-MIC"}, names, "channels")

	b := testfile.Read(t, filepath.Join("testdata", "tunnel", "truth.json"))

	var truth map[string]struct {
		U         float64    `json:"u_inf_m_s"`
		Alpha     float64    `json:"alpha_deg"`
		Amplitude []float64  `json:"amplitude_pa"`
		RPM       [3]float64 `json:"rpm"`
	}

	require.NoError(t, json.Unmarshal(b, &truth))

	e := all["propeller"]
	assert.Equal(t, 8, e.Runs, "runs")
	assert.Equal(t, 8, e.Recordings, "recordings")
	assert.Equal(t, 8, e.Triplets, "triplets")
	assert.Equal(t, "measured", e.Data)

	tab := readTable(t, dir, "runs", "propeller", "triplets.arrow")
	assert.Equal(t, "dB re 20 µPa", tab.Column("bpf1_db_1").Unit, "levels in")

	seen := 0
	for i, run := range tab.Column("run").Strings {
		w, ok := truth[filepath.Base(run)]
		require.True(t, ok, "a run %q", run)

		seen++

		assert.Equal(t, w.U, column(t, tab, "u_inf_m_s")[i], "%s: m/s", run)
		assert.Equal(t, w.Alpha, column(t, tab, "alpha_deg")[i], "%s: degrees", run)
		assert.InDelta(t, w.RPM[2], column(t, tab, "rpm_measured")[i], 2e-4*w.RPM[2], "%s: rev/min", run)

		for m, a := range w.Amplitude {
			for h := 1; h <= 2; h++ {
				got := column(t, tab, fmt.Sprintf("bpf%d_db_%d", m+1, h))[i]
				assert.InDelta(t, soundLevel(a), got, 0.05, "%s: harmonic %d, half %d: dB", run, m+1, h)
			}
		}
	}

	assert.Equal(t, len(truth), seen, "files")

	m := readMetrics(t, dir, "propeller")
	require.Len(t, m.Splits, 4, "splits")

	for _, s := range m.Splits {
		assert.Equal(t, 5, s.Seeds, s.Name)
		assertComplete(t, s.Name, s.Train, s.Test)
	}

	page := testfile.Read(t, filepath.Join(dir, "runs", "report.html"))
	assert.Contains(t, string(page), "propeller")
}

// assertComplete checks that a split has the numbers of a report.
func assertComplete(t *testing.T, split string, train, test setMetrics) {
	t.Helper()
	assert.NotNil(t, train.R2.Mean, "%s: R² in training", split)
	assert.NotNil(t, test.R2.Mean, "%s: R² held out", split)
	assert.NotNil(t, test.AbsCov.Mean, "%s: E|cov| held out", split)
	assert.NotNil(t, test.E.Mean, "%s: e held out", split)
}

// droneTheta are the angles of the microphones of the small drone set, in degrees.
var droneTheta = []float64{-60, 0, 60}

// droneAmplitude returns the amplitude, in Pa, of the line that a microphone of the small drone set is given.
func droneAmplitude(blades, rpm, theta float64) float64 {
	return 0.1 * blades * rpm / 3000 * (1.2 - math.Abs(theta)/100)
}

// writeDroneSet writes 3 blade counts, 2 speeds and 3 angles in the layout of the drone set, which has 780 recordings.
func writeDroneSet(t *testing.T, dir string) {
	t.Helper()

	const rate, n = 6400.0, 2 * 6400
	for _, blades := range []float64{2, 3, 4} {
		for _, rpm := range []float64{2400, 3000} {
			var pressures [][]float64
			bladePassingHz := blades * rpm / 60
			for _, theta := range droneTheta {
				x := make([]float64, n)
				for i := range x {
					noise := 1e-4 * math.Sin(float64(i*i))
					x[i] = droneAmplitude(blades, rpm, theta)*math.Sin(2*math.Pi*bladePassingHz*float64(i)/rate) + noise
				}

				pressures = append(pressures, x)
			}

			writeNPZ(t, filepath.Join(dir, fmt.Sprintf("drone_n%g_rpm%g.npz", blades, rpm)), []string{"fs", "p", "theta_deg"},
				[][]float64{{rate}}, pressures, [][]float64{droneTheta})
		}
	}
}

// The example of the drone set runs on a small set of its layout. Its two splits are trained with two seeds of few
// epochs. Unchanged, the example plans five seeds and a calibration for each split.
func TestLayoutDrone(t *testing.T) {
	data := t.TempDir()
	writeDroneSet(t, data)
	dir := example(t, "drone-set", data)

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	trainings := 0
	for _, task := range p.Plan.Tasks {
		if task.Stage == "train" {
			trainings++
		}
	}
	assert.Equal(t, 2*(5+1), trainings, "trainings that the unchanged example plans")

	amend(t, dir, "    train:\n", "    train:\n      seeds: 2\n      optimizer: {epochs: 20}\n")
	e := runIn(t, dir)["drone"]
	assert.Equal(t, 6, e.Runs, "runs")
	assert.Equal(t, 18, e.Recordings, "recordings")
	assert.Equal(t, 18, e.Triplets, "triplets")

	t.Run("levels", func(t *testing.T) { checkDroneLevels(t, readTable(t, dir, "runs", "drone", "triplets.arrow")) })

	m := readMetrics(t, dir, "drone")
	require.Len(t, m.Splits, 2)
	for i, held := range []float64{2, 3} {
		split := m.Splits[i]
		t.Run(split.Name, func(t *testing.T) {
			assert.Equal(t, fmt.Sprintf("%g-blades", held), split.Name)
			assert.Equal(t, 2, split.Seeds)
			assertComplete(t, split.Name, split.Train, split.Test)
			checkHeldOut(t, readTable(t, dir, "runs", "drone", "splits", split.Name, "seed-1", "predictions.arrow"), held)
		})
	}
}

// checkDroneLevels checks that the level of each line is 20 lg(a/√2/20 µPa) of the amplitude a that the microphone was
// given. The noise moves it by less than 0.05 dB.
func checkDroneLevels(t *testing.T, tab *table.Table) {
	t.Helper()

	blades := column(t, tab, "blades")
	rpm := column(t, tab, "rpm")
	theta := column(t, tab, "theta_deg")
	for i, level := range column(t, tab, "bpf1_db_1") {
		want := soundLevel(droneAmplitude(blades[i], rpm[i], theta[i]))
		assert.InDelta(t, want, level, 0.05, "%g blades, %g rev/min, %g°: dB", blades[i], rpm[i], theta[i])
	}
}

// checkHeldOut checks that the test set of predictions is the rows with this number of blades.
func checkHeldOut(t *testing.T, predictions *table.Table, heldOut float64) {
	t.Helper()

	blades := column(t, predictions, "blades")
	for i, set := range predictions.Column("set").Strings {
		assert.Equal(t, blades[i] == heldOut, set == "test", "row %d with %g blades is in the set %s", i, blades[i], set)
	}
}

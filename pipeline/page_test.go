package pipeline_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/pipelinetest"
)

// smallRotor is a rotor campaign that is made, trained and drawn in a second.
const smallRotor = `version: 1
workdir: runs
kernels: portable
experiments:
  drone:
    ingest: {simulate: {campaign: rotor, seed: 3, blades: [2, 3, 4], rpm: [4000, 5000], theta_deg: [-30, 0, 30],
      duration_s: 2}}
    dsp: {triplets: split-half-spectrum, harmonics: 2}
    train:
      inputs: [blades, rpm, theta_deg]
      model: {hidden: [8]}
      optimizer: {epochs: 4}
      seeds: 2
      splits: {3-blades: {test: {blades: 3}}}
`

// mark is a series of a figure: the numbers that the SVG states beside its drawing, by quantity.
type mark struct {
	panel, series string
	num           map[string][]float64 // x, y, z, lo and hi
}

// marks returns all series of a figure. A value that is not a number is NaN.
func marks(t *testing.T, path string) []mark {
	t.Helper()

	var found []mark
	panel := ""
	d := xml.NewDecoder(bytes.NewReader(testfile.Read(t, path)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}

		require.NoError(t, err)

		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}

		attributes := map[string]string{}
		for _, a := range element.Attr {
			attributes[a.Name.Local] = a.Value
		}

		switch attributes["class"] {
		case "panel":
			panel = attributes["data-panel"]

		case "mark":
			m := mark{panel: panel, series: attributes["data-series"], num: map[string][]float64{}}
			for _, quantity := range []string{"x", "y", "z", "lo", "hi"} {
				for _, text := range strings.Fields(attributes["data-"+quantity]) {
					v, err := strconv.ParseFloat(text, 64)
					if err != nil {
						v = math.NaN()
					}

					m.num[quantity] = append(m.num[quantity], v)
				}
			}

			found = append(found, m)
		}
	}
}

// Page and figures of a campaign are the same bytes, whether its tasks run one or two at a time.
func TestPageDoesNotDependOnJobs(t *testing.T) {
	runAlone := runDrone(t, smallRotor, 1)
	runTogether := runDrone(t, smallRotor, 2)

	files, err := filepath.Glob(filepath.Join(runAlone, "drone/report/figures/*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10, "figures")

	for _, path := range append(files, filepath.Join(runAlone, "report.html"), filepath.Join(runAlone, "report.md")) {
		name, err := filepath.Rel(runAlone, path)
		require.NoError(t, err)

		alone := testfile.Read(t, path)
		together := testfile.Read(t, filepath.Join(runTogether, name))
		assert.True(t, bytes.Equal(alone, together), "%s must be the same with one task at a time and with two", name)
	}
}

// The numbers of the directivity, read back from the SVG, are those of predictions.arrow. In held-out panels the mean
// and the intervals are those of honest.arrow, if there is a calibration. There are three panels of three angles.
func TestFiguresAreTheTables(t *testing.T) {
	const panels, angles, pair, curves = 3, 3, 2, 3 // curves are a mean and two intervals

	t.Run("calibrated", func(t *testing.T) {
		runs := runDrone(t, smallRotor, 1)
		compared := newDirectivity(t, runs, true).assertDrawnAsTabled(t)
		assert.Equal(t, panels*angles*pair+angles*curves, compared, "numbers: only the held-out panel has curves")
	})

	t.Run("networks alone", func(t *testing.T) {
		runs := runDrone(t, smallRotor+"      honest: {base: none}\n", 1)
		compared := newDirectivity(t, runs, false).assertDrawnAsTabled(t)
		assert.Equal(t, panels*angles*(pair+curves), compared, "numbers: all panels have curves")
	})
}

// directivity is the directivity of the second harmonic of a drone at 5000 1/min, which is the middle of the list of
// speeds, and the tables that it is drawn from.
type directivity struct {
	figure      string
	predictions []*table.Table // of both seeds
	calibrated  *table.Table   // nil if there is no calibration
}

// newDirectivity reads the tables of the directivity in a work directory.
func newDirectivity(t *testing.T, runs string, isCalibrated bool) directivity {
	t.Helper()

	split := filepath.Join(runs, "drone/splits/3-blades")
	d := directivity{
		figure: filepath.Join(runs, "drone/report/figures/3-blades-directivity-bpf2_db-rpm-5000.svg"),
		predictions: []*table.Table{
			readTable(t, split, "seed-0/predictions.arrow"), readTable(t, split, "seed-1/predictions.arrow"),
		},
	}
	if isCalibrated {
		d.calibrated = readTable(t, split, "honest.arrow")
	} else {
		require.NoFileExists(t, filepath.Join(split, "honest.arrow"))
	}

	return d
}

// rowAt returns the row of a table for a number of blades at an angle, which was measured once.
func rowAt(t *testing.T, tab *table.Table, blades, theta float64) int {
	t.Helper()

	for row := range tab.Rows() {
		isShown := column(t, tab, "rpm")[row] == 5000
		if isShown && column(t, tab, "blades")[row] == blades && column(t, tab, "theta_deg")[row] == theta {
			return row
		}
	}

	t.Fatalf("no row for %v blades at %v°", blades, theta)

	return -1
}

// curves returns the mean and the ends of the wide interval for a number of blades at an angle. Those of networks are
// the mean over both seeds and 1.96 standard deviations about it.
func (d directivity) curves(t *testing.T, blades, theta float64, isHeldOut bool) (mean, low, high float64) {
	t.Helper()

	if isHeldOut && d.calibrated != nil {
		row := rowAt(t, d.calibrated, blades, theta)

		return column(t, d.calibrated, "bpf2_db")[row], column(t, d.calibrated, "bpf2_db_low")[row],
			column(t, d.calibrated, "bpf2_db_high")[row]
	}

	variance := 0.0
	for _, seed := range d.predictions {
		row := rowAt(t, seed, blades, theta)
		mean += column(t, seed, "bpf2_db_mu")[row] / 2
		variance += column(t, seed, "bpf2_db_var")[row] / 2
	}

	return mean, mean - 1.96*math.Sqrt(variance), mean + 1.96*math.Sqrt(variance)
}

// assertDrawnAsTabled compares each number of the figure with the tables. It returns the number of points and
// intervals.
func (d directivity) assertDrawnAsTabled(t *testing.T) (compared int) {
	t.Helper()

	for _, m := range marks(t, d.figure) {
		blades, err := strconv.ParseFloat(m.panel[:1], 64)
		require.NoError(t, err, "panel %q", m.panel)

		for i, theta := range m.num["x"] {
			t.Run(fmt.Sprintf("%s at %g°: %s", m.panel, theta, m.series), func(t *testing.T) {
				d.assertPoint(t, m, i, blades, theta)
			})

			compared++
		}
	}

	return compared
}

// assertPoint compares point i of a series with the tables. Sums in the figure and in the tables may have another
// order.
func (d directivity) assertPoint(t *testing.T, m mark, i int, blades, theta float64) {
	t.Helper()

	const rounding = 1e-12 // relative
	first := d.predictions[0]
	row := rowAt(t, first, blades, theta)
	isHeldOut := first.Column("set").Strings[row] == "test"
	mean, low, high := d.curves(t, blades, theta, isHeldOut)

	switch m.series {
	case "mean μ":
		assert.InEpsilon(t, mean, m.num["y"][i], rounding)

	case "95 % interval", "98 % interval": // 98 %, since two groups are left out
		assert.InEpsilon(t, low, m.num["lo"][i], rounding, "lower end")
		assert.InEpsilon(t, high, m.num["hi"][i], rounding, "upper end")

	case "68 % interval": // narrower, about the same mean
		lower := m.num["lo"][i]
		upper := m.num["hi"][i]
		assert.InEpsilon(t, mean, (lower+upper)/2, rounding, "middle")
		assert.Less(t, upper-lower, 0.8*(high-low), "width against the wide interval")

	case "pairs, trained on":
		assert.False(t, isHeldOut, "held out")
		d.assertMeasured(t, row, m.num["y"][i])

	case "pairs, held out":
		assert.True(t, isHeldOut, "held out")
		d.assertMeasured(t, row, m.num["y"][i])

	case "upper bound, at the noise floor":
		bounds := []bool{first.Column("bpf2_db_bound_1").Bools[row], first.Column("bpf2_db_bound_2").Bools[row]}
		assert.Contains(t, bounds, true, "one of the pair must be a bound")
		d.assertMeasured(t, row, m.num["y"][i])

	default:
		assert.Fail(t, "unknown series", m.series)
	}
}

// assertMeasured asserts that a drawn value is one of the pair in a row.
func (d directivity) assertMeasured(t *testing.T, row int, drawn float64) {
	t.Helper()

	first := d.predictions[0]
	pair := []float64{column(t, first, "bpf2_db_1")[row], column(t, first, "bpf2_db_2")[row]}
	assert.Contains(t, pair, drawn, "measured")
}

// Recordings with a name alone go to the report: spectra and levels, no model, and a page without
// anything to choose. An empty cell of their only condition is an error with its place (issue "Who is who").
// cmd/app has it as case only-names.
func TestNoNumericCondition(t *testing.T) {
	lift := "time,lift\n"
	for i := range 400 {
		lift += fmt.Sprintf("%g,%g\n", 0.001*float64(i), math.Sin(float64(i)))
	}

	result := func(ingest string) (dir string, err error) {
		dir = t.TempDir()
		return dir, pipelinetest.Run(dir, map[string]string{
			"a.txt": lift, "b.txt": lift + "0.4,1\n", "log.csv": "file,rpm\na,1000\nb,\n", "pipeline.yaml": `version: 1
experiments:
  e:
    ingest: {files: "[ab].txt", ` + ingest + `, columns: {lift_n: lift}}
    dsp: {triplets: random-samples, samples: 20}
`,
		}, engine.Options{})
	}

	dir, err := result(`pattern: "{name:text}.txt"`)
	require.NoError(t, err)

	page := string(testfile.Read(t, filepath.Join(dir, "runs/report.html")))
	words := regexp.MustCompile("<[^>]*>").ReplaceAllString(page, "")
	assert.Contains(t, words, "No split was trained")
	assert.NotContains(t, page, `id="explore"`)

	_, err = result("conditions: log.csv")
	assert.ErrorContains(t, err, "log.csv: line 3, column 2 (rpm): ")
	assert.ErrorContains(t, err, "found an empty cell")
}

// runConfig runs a configuration in a folder.
func runConfig(t *testing.T, dir, yaml string, o engine.Options) {
	t.Helper()

	require.NoError(t, pipelinetest.Run(dir, map[string]string{"pipeline.yaml": yaml}, o))
}

// runDrone runs a configuration in a new folder and returns its work directory.
func runDrone(t *testing.T, yaml string, jobs int) (runs string) {
	t.Helper()

	dir := t.TempDir()
	runConfig(t, dir, yaml, engine.Options{Jobs: jobs})

	return filepath.Join(dir, "runs")
}

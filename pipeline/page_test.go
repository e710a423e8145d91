package pipeline_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
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

// mark is one series as a reader of the SVG finds it.
type mark struct {
	panel, series string
	num           map[string][]float64
}

func marks(t *testing.T, path string) []mark {
	t.Helper()

	raw := testfile.Read(t, path)

	var out []mark
	panel := ""

	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}

		require.NoError(t, err)

		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}

		at := map[string]string{}
		for _, a := range e.Attr {
			at[a.Name.Local] = a.Value
		}

		switch at["class"] {
		case "panel":
			panel = at["data-panel"]

		case "mark":
			m := mark{panel: panel, series: at["data-series"], num: map[string][]float64{}}
			for _, q := range []string{"x", "y", "z", "lo", "hi"} {
				for _, s := range strings.Fields(at["data-"+q]) {
					v, err := strconv.ParseFloat(s, 64)
					if err != nil {
						v = math.NaN()
					}

					m.num[q] = append(m.num[q], v)
				}
			}

			out = append(out, m)
		}
	}
}

// TestFiguresAreTheTables runs a small campaign and reads the numbers of its
// directivity back from the SVG: they must be those of predictions.arrow, and of
// honest.arrow where something is held out, which are read on their own here. It
// runs it again elsewhere with two tasks at a time: page and figures must be the
// same bytes.
func TestFiguresAreTheTables(t *testing.T) {
	dirA, read, col := runDrone(t, smallRotor, 1)
	dirB, _, _ := runDrone(t, smallRotor, 2)
	a := filepath.Join(dirA, "runs")
	b := filepath.Join(dirB, "runs")
	files, err := filepath.Glob(filepath.Join(a, "drone/report/figures/*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10, "figures")

	for _, f := range append(files, filepath.Join(a, "report.html"), filepath.Join(a, "report.md")) {
		rel, err := filepath.Rel(a, f)
		require.NoError(t, err)

		one := testfile.Read(t, f)
		two := testfile.Read(t, filepath.Join(b, rel))
		assert.True(t, bytes.Equal(one, two), "%s differs between one task at a time and two", rel)
	}

	drawnAsTabled(t, a, read, col, 3*6+3*3) // three panels of pairs at three angles, one with a mean and two intervals

	dirA, read, col = runDrone(t, smallRotor+"      honest: {base: none}\n", 1)
	drawnAsTabled(t, filepath.Join(dirA, "runs"), read, col, 3*(3*3+6)) // two intervals, the mean, three pairs
}

// drawnAsTabled compares the directivity of a run with its tables, and counts the numbers.
func drawnAsTabled(t *testing.T, runs string, read func(name string) *table.Table,
	col func(tab *table.Table, name string) []float64, count int,
) {
	t.Helper()

	pred := []*table.Table{
		read("splits/3-blades/seed-0/predictions.arrow"),
		read("splits/3-blades/seed-1/predictions.arrow"),
	}

	var calibrated *table.Table
	if _, err := os.Stat(filepath.Join(runs, "drone/splits/3-blades/honest.arrow")); err == nil {
		calibrated = read("splits/3-blades/honest.arrow")
	}

	// The row of a condition, which is measured once. Of two speeds the figure shows the upper one, the middle of the
	// list.
	rowOf := func(tab *table.Table, blades, theta float64) int {
		for i := range tab.Rows() {
			isSpeed := col(tab, "rpm")[i] == 5000
			if isSpeed && col(tab, "blades")[i] == blades && col(tab, "theta_deg")[i] == theta {
				return i
			}
		}

		t.Fatalf("no row for %v blades at %v°", blades, theta)

		return -1
	}

	// Sums in the figure and in the table may have another order.
	assertNear := func(want, got float64, what string, theta float64, panel string) {
		t.Helper()
		assert.InDelta(t, want, got, 1e-12*math.Abs(want), "%g° %s: %s", theta, panel, what)
	}

	values := 0
	for _, m := range marks(t, filepath.Join(runs, "drone/report/figures/3-blades-directivity-bpf2_db-rpm-5000.svg")) {
		blades, err := strconv.ParseFloat(m.panel[:1], 64)
		require.NoError(t, err, "panel %q", m.panel)

		for i, theta := range m.num["x"] {
			r := rowOf(pred[0], blades, theta)
			mu := (col(pred[0], "bpf2_db_mu")[r] + col(pred[1], "bpf2_db_mu")[r]) / 2
			sd := math.Sqrt((col(pred[0], "bpf2_db_var")[r] + col(pred[1], "bpf2_db_var")[r]) / 2)
			low := mu - 1.96*sd
			high := mu + 1.96*sd
			if pred[0].Column("set").Strings[r] == "test" && calibrated != nil {
				h := rowOf(calibrated, blades, theta)
				mu = col(calibrated, "bpf2_db")[h]
				low = col(calibrated, "bpf2_db_low")[h]
				high = col(calibrated, "bpf2_db_high")[h]
			}

			values++
			switch m.series {
			case "mean μ":
				assertNear(mu, m.num["y"][i], "mean", theta, m.panel)

			case "95 % interval", "98 % interval": // 98 %, since two groups are left out
				assertNear(low, m.num["lo"][i], "lower end", theta, m.panel)
				assertNear(high, m.num["hi"][i], "upper end", theta, m.panel)

			case "68 % interval": // narrower, about the same mean
				lo := m.num["lo"][i]
				hi := m.num["hi"][i]
				assertNear(mu, (lo+hi)/2, "middle of the narrower interval", theta, m.panel)
				assert.Less(t, hi-lo, 0.8*(high-low), "%g° %s: width of the narrower interval", theta, m.panel)

			case "pairs, trained on", "pairs, held out", "upper bound, at the noise floor":
				isBound := pred[0].Column("bpf2_db_bound_1").Bools[r] || pred[0].Column("bpf2_db_bound_2").Bools[r]
				pair := []float64{col(pred[0], "bpf2_db_1")[r], col(pred[0], "bpf2_db_2")[r]}
				assert.Contains(t, pair, m.num["y"][i], "%g° %s: measured", theta, m.panel)

				switch set := pred[0].Column("set").Strings[r]; m.series {
				case "pairs, trained on":
					assert.NotEqual(t, "test", set, "%g° %s", theta, m.panel)
				case "pairs, held out":
					assert.Equal(t, "test", set, "%g° %s", theta, m.panel)
				default:
					assert.True(t, isBound, "%g° %s: drawn as an upper bound, in the table it is none", theta, m.panel)
				}

			default:
				assert.Fail(t, "unknown series", m.series)
			}
		}
	}

	assert.Equal(t, count, values, "values compared")
}

// Recordings with a name alone (case only-names) go to the report: spectra and levels, no model, and a page without
// anything to choose. An empty cell of their only condition is an error with its place (issue "Who is who").
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

// runDrone runs a configuration with one experiment, drone, in a folder of its
// own. read opens a table of the results, col takes a column of numbers from it.
func runDrone(t *testing.T, yaml string, jobs int) (dir string, read func(name string) *table.Table,
	col func(tab *table.Table, name string) []float64,
) {
	t.Helper()
	dir = t.TempDir()
	runConfig(t, dir, yaml, engine.Options{Jobs: jobs})
	read = func(name string) *table.Table { return readTable(t, dir, "runs/drone", name) }
	col = func(tab *table.Table, name string) []float64 { return column(t, tab, name) }

	return dir, read, col
}

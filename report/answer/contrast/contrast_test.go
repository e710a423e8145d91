package contrast

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline"
	"doubletake/pipeline/pipelinetest"
	"doubletake/report"
	"doubletake/report/pairs"
)

// experiment runs a simulated campaign: rotors 1 and 2 at equal speeds, 3 between them; three mountings
// of each, the second rotor higher by 0.5, by 0.7 at the highest speed.
func experiment(t *testing.T) string {
	t.Helper()

	r := rand.New(rand.NewPCG(5, 5))

	var b strings.Builder
	b.WriteString("run,rotor,a,c,y_1,y_2\n")
	for rotor := 1; rotor <= 3; rotor++ {
		for mounting := range 3 {
			shift := 0.05 * r.NormFloat64()
			for k := range 8 {
				a := float64(k % 4)
				if rotor == 3 {
					a += 0.5
				}

				y := math.Sin(a) + shift + 0.5*float64(rotor-1)
				if rotor == 2 && k%4 == 3 {
					y += 0.2
				}

				fmt.Fprintf(&b, "m%d%d-%d,%d,%g,%d,%g,%g\n", rotor, mounting, k, rotor, a, k/4, y+0.01*r.NormFloat64(),
					y+0.01*r.NormFloat64())
			}
		}
	}

	dir := t.TempDir()
	config := `version: 1
experiments:
  wing:
    ingest: {table: {file: pairs.csv, inputs: [rotor, a, c], run: run}}
    train:
      {inputs: [rotor, a, c], model: {hidden: [4]}, optimizer: {epochs: 2}, seeds: 1,
      splits: {last: {test: {rotor: 3}}, final: {test: none}}}
`

	err := pipelinetest.Run(dir, map[string]string{"pairs.csv": b.String(), "pipeline.yaml": config},
		pipeline.Options{Jobs: 2, Selection: pipeline.Selection{To: "dsp"}})
	require.NoError(t, err)

	return filepath.Join(dir, "runs", "wing")
}

func compare(t *testing.T, o Options) *Result {
	t.Helper()

	o.Level = 0.95
	r, err := Compare(context.Background(), o)
	require.NoError(t, err)

	return r
}

// compareCase compares two sides of the experiment of function experiment.
type compareCase struct {
	name      string
	options   Options
	units     int     // number of units on each side
	low, high float64 // bounds of the difference
	points    int     // number of points of the first curve; 0: not checked
	note      string  // a part of the notes
	untested  string  // why there is no test; "" if there is one
}

// compareCases compares the sides of the experiment in dir in each way, with the known difference of .55 on average.
func compareCases(dir string) []compareCase {
	whole := []pairs.Source{pairs.FromPath(dir)}

	return []compareCase{
		{
			name:    "mountings, three on each side (Welch)",
			options: Options{Runs: whole, A: "rotor=1", B: "rotor=2", Unit: "/^m../"},
			units:   3, low: 0.45, high: 0.65, points: 4,
		},
		{
			name:    "pairs: mountings of one number are one unit of both sides",
			options: Options{Runs: whole, A: "rotor=1", B: "rotor=2", Unit: "/[0-9]-/"},
			units:   3, low: 0.45, high: 0.65, points: 4,
		},
		{
			name:    "runs, each of one condition, which three runs repeat",
			options: Options{Runs: whole, A: "rotor=1", B: "rotor=2", Unit: "run"},
			units:   24, low: 0.45, high: 0.65, points: 4,
		},
		{
			name:    "no repeats",
			options: Options{Runs: whole, A: "run=/^m10/", B: "run=/^m20/", Unit: "run"},
			units:   8, low: 0.4, high: 0.7, note: "within one set-up",
		},
		{
			name:    "one unit on a side",
			options: Options{Runs: whole, A: "run=/^m10/", B: "run=/^m20/", Unit: "/^m../"},
			units:   1, low: 0.4, high: 0.7, note: "within one set-up",
			untested: "no test is possible with one /^m../ on a side: nothing shows how much two of the same configuration " +
				"differ; measure another",
		},
		{
			name:    "within runs: mountings have both sides; those of rotor 3, at other speeds, are left out",
			options: Options{Runs: whole, A: "c=0", B: "c=1", Unit: "/^.*-/", Outcomes: []string{"y"}},
			units:   6, low: -0.02, high: 0.02, points: 4,
		},
	}
}

// check compares the result of the case with what it expects.
func (c compareCase) check(t *testing.T, r *Result) {
	t.Helper()

	o := r.Outcomes[0]
	assert.Equal(t, byConditions, r.Compared)
	assert.Equal(t, c.units, o.UnitsA)
	assert.Equal(t, c.units, o.UnitsB)
	assert.GreaterOrEqual(t, o.Difference, c.low)
	assert.LessOrEqual(t, o.Difference, c.high)
	assert.Contains(t, strings.Join(r.Notes, "; "), c.note)
	assert.Equal(t, c.untested, o.Untested)
	if c.points > 0 {
		require.NotEmpty(t, o.Curves, "curves")
		assert.Len(t, o.Curves[0].Points, c.points, "points")
	}

	if c.untested != "" {
		assert.Nil(t, o.Low, "an interval without a test")
		return
	}

	require.NotNil(t, o.Low, "interval")
	assert.Less(t, *o.Low, o.Difference)
	assert.Less(t, o.Difference, *o.High)
}

// The known difference is found with each way of comparing.
func TestCompare(t *testing.T) {
	for _, c := range compareCases(experiment(t)) {
		t.Run(c.name, func(t *testing.T) {
			r := compare(t, c.options)
			c.check(t, r)

			var text strings.Builder
			require.NoError(t, report.Sheets(&text, []report.Sheet{r.Sheet()}, 0, false))
			assert.Contains(t, text.String(), "y: ")
		})
	}
}

// Two folders with equal results differ by nothing. The interval of the difference contains 0.
func TestCompareFolders(t *testing.T) {
	source := pairs.FromPath(experiment(t))
	r := compare(t, Options{Runs: []pairs.Source{source, source}, Unit: "run"})
	o := r.Outcomes[0]
	assert.Equal(t, 72, o.UnitsA)
	assert.Equal(t, 72, o.UnitsB)
	assert.Zero(t, o.Difference)
	assert.Negative(t, *o.Low)
	assert.Positive(t, *o.High)
}

// The curve of the difference is the known one, .5, .5, .5 and .7.
func TestCurve(t *testing.T) {
	r := compare(t, Options{
		Runs: []pairs.Source{pairs.FromPath(experiment(t))}, A: "rotor=1", B: "rotor=2", Unit: "/^m../", Limit: 0.4,
	})
	points := r.Outcomes[0].Curves[0].Points
	assert.InDelta(t, 0.2, points[3].Difference-points[0].Difference, 0.02)
	assert.GreaterOrEqual(t, points[3].Low, 0.0)
	assert.GreaterOrEqual(t, *r.Outcomes[0].Above, 0.8)
	assert.Contains(t, string(r.SVG()), `data-lo="`)
}

// Both runs of each pair of repeats are units, whose means are 1.5 ± 0.5 and 3.5 ± 0.5. Pairs that no run names are
// units themselves: 1e+06 is not the name of two runs.
func TestRepeatsAreUnits(t *testing.T) {
	for _, c := range []struct {
		table string
		units int
	}{
		{"run,rotor,y\nm1,1,1\nm2,1,2\nm3,2,3\nm4,2,4\nm5,1,1\nm6,1,2\nm7,2,3\nm8,2,4\n", 4},
		{"re,rotor,y\n1e6,1,1\n1e6,1,2\n1e6,2,3\n1e6,2,4\n2e6,1,1\n2e6,1,2\n2e6,2,3\n2e6,2,4\n", 2},
	} {
		dir := t.TempDir()
		require.NoError(t, pipelinetest.Run(dir, map[string]string{
			"r.csv":         c.table,
			"pipeline.yaml": "version: 1\nexperiments: {wing: {ingest: {table: {file: r.csv, repeats: [y]}}}}\n",
		}, pipeline.Options{Jobs: 2, Selection: pipeline.Selection{To: "dsp"}}))
		wing := pairs.FromPath(filepath.Join(dir, "runs", "wing"))
		r := compare(t, Options{Runs: []pairs.Source{wing}, A: "rotor=1", B: "rotor=2", Unit: "run"})
		o := r.Outcomes[0]
		assert.Equal(t, c.units, o.UnitsA, c.table)
		assert.Equal(t, c.units, o.UnitsB, c.table)
		assert.InDelta(t, 2, o.Difference, 0, c.table)
	}
}

// What cannot be compared is refused with the place and what to do.
func TestRefused(t *testing.T) {
	dir := experiment(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{A: "rotor", B: "rotor=2", Unit: "run"}, `--a wants column=value or column=/pattern/, found "rotor"`},
		{Options{A: "rotor=/(/", B: "rotor=2", Unit: "run"}, "--a wants a regular expression"},
		{
			Options{A: "wing=1", B: "rotor=2", Unit: "run"},
			`--a: DIR has no column "wing", but run, recording, rotor, a, c`,
		},
		{Options{A: "rotor=1", B: "rotor=2", Unit: "day"}, `--unit: DIR has no column "day", but run`},
		{
			Options{A: "rotor=1", B: "rotor=9", Unit: "run"},
			"--b: no row of DIR has rotor=9; pipeline inspect DIR/triplets.arrow lists the values",
		},
		{
			Options{A: "rotor=1", B: "rotor=2", Unit: "run", Outcomes: []string{"z"}},
			`--outcome: DIR has no outcome "z", but y`,
		},
		{Options{A: "rotor=1", B: "run=/./", Unit: "run"}, "--a and --b have rows in common, such as one of run"},
		{Options{A: "rotor=1", B: "rotor=2", Unit: "/x/"}, "not all runs that are compared have a part like /x/"},
		{Options{A: "rotor=1", B: "rotor=3", Unit: "run"}, "expected equal conditions on both sides, or one"},
		{
			Options{Runs: []pairs.Source{pairs.FromPath("nowhere")}, Unit: "run"},
			"expected an experiment, its folder, a triplets.arrow or",
		},
	} {
		if c.o.Runs == nil {
			c.o.Runs = []pairs.Source{pairs.FromPath(dir)}
		}

		want := strings.ReplaceAll(c.want, "DIR", dir)
		_, err := Compare(context.Background(), c.o)
		assert.ErrorContains(t, err, want)
	}
}

// A unit that was measured twice at x = 0, once without a number, and at 1 and 2. Expected: the mean is over the
// numbers, and a set point on a row is the row, even if its neighbour has no number.
func TestInterpolateWithoutNumbers(t *testing.T) {
	nan := math.NaN()
	curve := means([]row{
		{x: []float64{0}, y: []float64{nan, 3}},
		{x: []float64{0}, y: []float64{5, 5}},
		{x: []float64{1}, y: []float64{nan, 6}},
		{x: []float64{2}, y: []float64{9, nan}},
	})
	require.Len(t, curve, 3)
	assert.Equal(t, []float64{5, 4}, curve[0].y, "mean of two rows")

	end, isWithin := interpolated(curve, 2)
	require.True(t, isWithin)
	assert.Equal(t, 9.0, end.y[0], "a row, beside a row without a number")

	between, isWithin := interpolated(curve, 0.5)
	require.True(t, isWithin)
	assert.True(t, math.IsNaN(between.y[0]), "beside a row without a number: %g", between.y[0])
	assert.Equal(t, 5.0, between.y[1], "between two rows")
}

// Two units that were measured at the ends of a range. Expected: both have rows at all set points, and the ends are the
// numbers of the range. 1.7 + (3.9 − 1.7) is 3.9000000000000004 in binary numbers, and 0.2 + (0.9 − 0.2) is
// 0.8999999999999999.
func TestInterpolateUpToTheEnds(t *testing.T) {
	for _, ends := range [][2]float64{{1.7, 3.9}, {0.2, 0.9}, {0, 1}, {-3.9, -1.7}, {2, 2}} {
		c := &comparison{}
		for side, unit := range []string{"a", "b"} {
			for _, x := range ends {
				c.rows = append(c.rows, row{side: side, unit: unit, x: []float64{x}, y: []float64{1}})
			}
		}

		c.interpolate()
		require.Len(t, c.rows, 2*setPoints, "%v", ends)
		assert.Equal(t, ends[0], c.rows[0].x[0], "first of %v", ends)
		assert.Equal(t, ends[1], c.rows[setPoints-1].x[0], "last of %v", ends)
	}

	assert.Empty(t, commonPoints(2, 1), "a range that no unit has")
}

// Conditions that agree in nine digits are equal, and −0 is 0.
func TestKey(t *testing.T) {
	assert.Equal(t, key([]float64{0, 2}), key([]float64{math.Copysign(0, -1), 2}))
	assert.Equal(t, key([]float64{0.1 + 0.2}), key([]float64{0.3}))
	assert.Equal(t, key([]float64{math.NaN(), 1}), key([]float64{math.NaN(), 1}))
	assert.NotEqual(t, key([]float64{1, 12}), key([]float64{11, 2}))
	assert.NotEqual(t, key([]float64{1}), key([]float64{1.0000001}))
}

// A value that a program writes for no value, whose square is infinite. Expected: an error that names its row.
func TestHugeOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.csv")
	text := "run,rotor,x,y_1,y_2\na,1,1,2,2\na,1,2,1e308,1e308\nb,1,1,1,1\nb,1,2,1,1\n" +
		"c,2,1,1,1\nc,2,2,1,1\nd,2,1,1,1\nd,2,2,1,1\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

	_, err := Compare(context.Background(), Options{
		Runs: []pairs.Source{pairs.FromPath(path)}, A: "rotor=1", B: "rotor=2", Unit: "run", Level: 0.95,
	})
	assert.ErrorContains(t, err, "row 2, outcome y: expected a number up to 1e+150")
}

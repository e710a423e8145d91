package pipeline_test

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// The Princeton balance data run through to R² and E|cov|. They have 43 runs of 40 pairs each: 18 files going up and
// 14 down at 4.5 m/s, one of which is a copy, and 12 at 5.5 m/s without the misnamed one. The traps that the data's
// notes tell are named in the report: the stuck velocity column, the file that lacks its dot, the unit that nobody
// states and the file without an angle.
func TestPrincetonBalance(t *testing.T) {
	dir, got := finishedIn(t, "princeton-balance")
	for _, name := range []string{"speed", "stall"} {
		m := readMetrics(t, dir, name)
		assert.Equal(t, "measured", m.Data)
		assert.Equal(t, "same-run", m.Pairs)
		require.Len(t, m.Splits, 1)
		assert.Equal(t, 5, m.Splits[0].Seeds)

		e := got[name]
		assert.Equal(t, 43, e.Runs, "runs")
		assert.Equal(t, 43, e.Recordings, "recordings")
		assert.Equal(t, 43*40, e.Triplets, "triplets")

		for _, s := range m.Splits {
			for what, v := range map[string]overSeeds{
				"R² train": s.Train.R2, "R² test": s.Test.R2, "E|cov| train": s.Train.AbsCov, "E|cov| test": s.Test.AbsCov,
				"e test": s.Test.E,
			} {
				require.NotNil(t, v.Mean, "%s: %s", name, what)
				require.NotNil(t, v.Std, "%s: %s", name, what)
				require.False(t, math.IsNaN(*v.Mean), "%s: %s", name, what)
			}

			t.Logf("%s, held out %s: R² %.3f → %.3f, E|cov| %.4f → %.4f, e %.3f", name, s.HeldOut, *s.Train.R2.Mean,
				*s.Test.R2.Mean, *s.Train.AbsCov.Mean, *s.Test.AbsCov.Mean, *s.Test.E.Mean)

			assert.GreaterOrEqual(t, *s.Train.R2.Mean, 0.95, "%s: R² in training", name)
			assert.LessOrEqual(t, *s.Test.R2.Mean, *s.Train.R2.Mean, "%s: R² held out", name)
			assert.Greater(t, *s.Train.AbsCov.Mean, 0.0, "%s: E|cov| in training", name)
		}

		md := testfile.Read(t, filepath.Join(dir, "runs", name, "report", "tables.md"))

		all := strings.Join(m.Warnings, "\n")
		assert.Contains(t, all, `data/Speed2/angle30txt: is not matched by "data/Speed*/*.txt": a dot missing?`)
		assert.Contains(t, all, "column Velocity is stuck at 48.006121")
		assert.Contains(t, all, "the unit of column Lift is stated neither in the file nor")
		assert.Contains(t, all, "the unit of column Drag is stated neither in the file nor")
		assert.Contains(t, all, "data/Speed1R/angle0.txt: left out by exclude, also data/Speed4/force.txt")

		assert.Contains(t, string(md), "angle30txt")
		assert.Contains(t, string(md), "Velocity")
		assert.Contains(t, string(md), "force.txt")
		assert.Contains(t, string(md), "file unit")
		assert.Contains(t, string(md), "measured data")

		assert.Equal(t, []string{"file unit", "file unit"}, e.OutcomeUnits, "%s: no file states a unit", name)
	}

	// A network that does not see the speed cannot know of a new one. A network that does must be less sure of it than of
	// its training conditions.
	speed := readMetrics(t, dir, "speed")
	stall := readMetrics(t, dir, "stall")
	assert.Contains(t, strings.Join(speed.Warnings, "\n"),
		"holds out u_inf_m_s, which is not among the inputs (alpha_deg, sweep): 8 of the 12 held-out conditions")

	assert.NotContains(t, strings.Join(stall.Warnings, "\n"), "not among the inputs")

	s := stall.Splits[0]
	assert.GreaterOrEqual(t, *s.Test.AbsCov.Mean, 2**s.Train.AbsCov.Mean, "E|cov| held out")

	assertEachRowUsedOnce(t, dir)
}

// sixDecimals writes a number as the balance's files do.
func sixDecimals(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// assertEachRowUsedOnce asserts that the first and second outcomes of a run are all 80 rows of the run's file, and that
// no row is used twice.
func assertEachRowUsedOnce(t *testing.T, dir string) {
	t.Helper()

	const name = "data/Speed2/angle23.txt"
	type sample struct{ lift, drag string } // as the file writes them

	unused := map[sample]int{}
	text := strings.TrimSpace(string(testfile.Read(t, filepath.Join(dir, filepath.FromSlash(name)))))
	for _, line := range strings.Split(text, "\n")[1:] {
		fields := strings.Split(line, "\t")
		unused[sample{lift: fields[0], drag: fields[1]}]++
	}

	tab := readTable(t, dir, "runs", "speed", "triplets.arrow")
	used := 0
	for i, run := range tab.Column("run").Strings {
		if run != name {
			continue
		}

		for _, half := range []string{"_1", "_2"} {
			outcome := sample{
				lift: sixDecimals(column(t, tab, "lift"+half)[i]),
				drag: sixDecimals(column(t, tab, "drag"+half)[i]),
			}
			unused[outcome]--
			require.GreaterOrEqual(t, unused[outcome], 0, "row %d: rows of the file with %v", i, outcome)

			used++
		}

		require.Equal(t, 23.0, column(t, tab, "alpha_deg")[i], "row %d", i)
		require.Equal(t, 5.5, column(t, tab, "u_inf_m_s")[i], "row %d", i)
		require.Equal(t, 1.0, column(t, tab, "sweep")[i], "row %d", i)
	}

	assert.Equal(t, 80, used, "samples of %s used", name)
}

package pipeline_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// The Princeton balance data run through to R² and E|cov|. Expected: 43 runs by
// counting the files (18 going up and 14 down at 4.5 m/s less a copy, 12 at 5.5 m/s: 13
// less the misnamed one), 40 pairs each; the traps are those of the data's notes, and
// each must be named in the report: the stuck velocity column, the file that
// lacks its dot, the unit nobody states, the file without an angle.
func TestPrincetonBalance(t *testing.T) {
	dir, got := finishedIn(t, "princeton-balance")
	for _, name := range []string{"speed", "stall"} {
		m := readMetrics(t, dir, name)
		if m.Data != "measured" || m.Pairs != "same-run" || len(m.Splits) != 1 || m.Splits[0].Seeds != 5 {
			t.Errorf("%s: %+v", name, m)
		}

		e := got[name]
		assert.Equal(t, 43, e.Runs, "runs")
		assert.Equal(t, 43, e.Recordings, "recordings")
		assert.Equal(t, 43*40, e.Triplets, "triplets")

		for _, s := range m.Splits {
			for what, v := range map[string]number{
				"R² train": s.Train.R2, "R² test": s.Test.R2, "E|cov| train": s.Train.AbsCov, "E|cov| test": s.Test.AbsCov,
				"e test": s.Test.E,
			} {
				if v.Mean == nil || v.Std == nil || math.IsNaN(*v.Mean) {
					t.Fatalf("%s: %s is not a number", name, what)
				}
			}

			t.Logf("%s, held out %s: R² %.3f → %.3f, E|cov| %.4f → %.4f, e %.3f", name, s.HeldOut, *s.Train.R2.Mean,
				*s.Test.R2.Mean, *s.Train.AbsCov.Mean, *s.Test.AbsCov.Mean, *s.Test.E.Mean)

			if *s.Train.R2.Mean < 0.95 || *s.Test.R2.Mean > *s.Train.R2.Mean || *s.Train.AbsCov.Mean <= 0 {
				t.Errorf("%s: R² %g train, %g test, E|cov| %g train", name, *s.Train.R2.Mean, *s.Test.R2.Mean, *s.Train.AbsCov.Mean)
			}
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

		require.Len(t, e.OutcomeUnits, 2, "%s: units %q: no file states one", name, e.OutcomeUnits)
		require.Equal(t, "file unit", e.OutcomeUnits[0], "%s: units %q: no file states one", name, e.OutcomeUnits)
		assert.Equal(t, "file unit", e.OutcomeUnits[1], "%s: units %q: no file states one", name, e.OutcomeUnits)
	}

	// A network that does not see the speed cannot know of a new one; one that
	// does must be less sure of it than of its training conditions.
	speed := readMetrics(t, dir, "speed")
	stall := readMetrics(t, dir, "stall")
	assert.Contains(t, strings.Join(speed.Warnings, "\n"),
		"holds out u_inf_m_s, which is not among the inputs (alpha_deg, sweep): 8 of the 12 held-out conditions")

	if w := strings.Join(stall.Warnings, "\n"); strings.Contains(w, "not among the inputs") {
		t.Errorf("a warning that the speed is not seen, which it is:\n%s", w)
	}

	if s := stall.Splits[0]; *s.Test.AbsCov.Mean < 2**s.Train.AbsCov.Mean {
		t.Errorf("stall: E|cov| %g held out, %g in training", *s.Test.AbsCov.Mean, *s.Train.AbsCov.Mean)
	}

	// The samples: every first and second outcome is a row of the run's file.
	tab := readTable(t, dir, "runs", "speed", "triplets.arrow")
	const name = "data/Speed2/angle23.txt" // 80 rows, all of them used
	b := testfile.Read(t, filepath.Join(dir, filepath.FromSlash(name)))

	left := map[[2]string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		f := strings.Split(line, "\t")
		left[[2]string{f[0], f[1]}]++
	}

	used := 0
	for i, run := range tab.Column("run").Strings {
		if run != name {
			continue
		}

		for _, half := range []string{"_1", "_2"} {
			key := [2]string{number6(column(t, tab, "lift"+half)[i]), number6(column(t, tab, "drag"+half)[i])}
			if left[key]--; left[key] < 0 {
				t.Fatalf("row %d: lift and drag %v are not in one row of %s, or are used twice", i, key, name)
			}

			used++
		}

		if a, u, s := column(t, tab, "alpha_deg")[i], column(t, tab, "u_inf_m_s")[i], column(t, tab, "sweep")[i]; a != 23 ||
			u != 5.5 || s != 1 {
			t.Fatalf("row %d: %g°, %g m/s, sweep %g", i, a, u, s)
		}
	}

	assert.Equal(t, 80, used, "samples of %s used", name)
}

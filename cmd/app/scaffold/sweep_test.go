package scaffold

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/ingesttest"
	"doubletake/ingest/role"
)

// npzOf returns a NumPy archive of arrays of float64. names and values belong together.
func npzOf(t *testing.T, names []string, values ...[]float64) string {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for i, name := range names {
		w, err := archive.Create(name + ".npy")
		require.NoError(t, err)

		_, err = w.Write(ingesttest.Columns(false, values[i]))
		require.NoError(t, err)
	}

	require.NoError(t, archive.Close())

	return b.String()
}

// Arrays that are a polar are a table of results, of which no mean is taken. A measured angle that scatters, and an
// angle that stays, are of samples in time.
func TestSweepsInArrays(t *testing.T) {
	cl := []float64{0.1, 0.11, 0.3, 0.31, 0.5, 0.52}
	for _, c := range []struct {
		name    string
		setting string
		values  []float64
		isSweep bool
	}{
		{"each angle twice", "alpha", []float64{0, 0, 2, 2, 4, 4}, true},
		{"each angle once", "alpha", []float64{0, 1, 2, 3, 4, 5}, true},
		{"falling", "alpha", []float64{4, 4, 2, 2, 0, 0}, true},
		{"speeds", "rpm", []float64{2000, 2000, 3000, 3000, 4000, 4000}, true},
		{"a measured angle", "alpha", []float64{2.01, 1.99, 2.0, 2.02, 1.98, 2.0}, false},
		{"a constant angle", "alpha", []float64{2, 2, 2, 2, 2, 2}, false},
		{"two angles", "alpha", []float64{2, 2, 2, 3, 3, 3}, false},
		{"not a setting", "Cp", []float64{0, 1, 2, 3, 4, 5}, false},
	} {
		r := lookAt(t, map[string]string{"polar.npz": npzOf(t, []string{c.setting, "CL", "CD"}, c.values, cl, cl)})
		assert.Equal(t, c.isSweep, strings.Contains(r.YAML, "columns: FILL_IN"), "%s:\n%s", c.name, r.YAML)
		notes := strings.Join(r.Notes, "\n")
		assert.Equal(t, c.isSweep, strings.Contains(notes, "a mean over them means nothing"), c.name)
	}
}

// Tables of sweeps of which no rows are repeats, because there is one file, are not samples in time.
// What was measured at one setting is. Expected: by what the rows are.
func TestSweepsInTables(t *testing.T) {
	measured := "alpha,CL\n4.01,0.5\n3.99,0.51\n4.02,0.49\n4.0,0.5\n3.98,0.52\n"
	for _, c := range []struct {
		name    string
		files   map[string]string
		isSweep bool
	}{
		{"one file", map[string]string{"3D_corr_test.csv": thrustRows(0, 1)}, true},
		{"samples at one angle", map[string]string{"a4.csv": measured}, false},
	} {
		r := lookAt(t, c.files)
		assert.Equal(t, c.isSweep, strings.Contains(strings.Join(r.Notes, "\n"), "a mean over them means nothing"), c.name)
		assert.Equal(t, c.isSweep, strings.Contains(r.YAML, "columns: FILL_IN"), "%s:\n%s", c.name, r.YAML)
	}
}

// A number with a unit is not the number of a run, even behind a word of runs.
func TestQuantitiesBehindCounts(t *testing.T) {
	for _, c := range []struct{ first, second, third, pattern string }{
		{"Run_2000rpm.txt", "Run_3000rpm.txt", "Run_4000rpm.txt", "Run_{rpm}rpm.txt"},
		{"test 2000 rpm.txt", "test 3000 rpm.txt", "test 4000 rpm.txt", "test {rpm} rpm.txt"},
		{"meas-10mps.txt", "meas-15mps.txt", "meas-20mps.txt", "meas-{u_inf_m_s}mps.txt"},
		{"case_2deg.txt", "case_4deg.txt", "case_6deg.txt", "case_{alpha_deg}deg.txt"},
		{"rec_2blades.txt", "rec_3blades.txt", "rec_5blades.txt", "rec_{blades}blades.txt"},
		{"run_1_2000rpm.txt", "run_2_3000rpm.txt", "run_3_4000rpm.txt", "run_{_}_{rpm}rpm.txt"},
	} {
		s := role.ReadNames([]string{c.first, c.second, c.third})
		assert.Equal(t, c.pattern, s.Pattern(), "%s", c.first)
	}
}

// Tables that pipeline export wrote are not a log of the recordings beside them.
func TestExportsAreNotLogs(t *testing.T) {
	files := balanceFiles("N")
	files["x/recordings.csv"] = "file,alpha_deg\nu20_a0.txt,7\nu20_a2.txt,8\nu20_a4.txt,9\n"
	files["x/recordings.csv-metadata.json"] = "{}"

	r := lookAt(t, files)
	assert.NotContains(t, r.YAML, "recordings.csv")
	assert.Contains(t, r.YAML, "pattern: ")
}

// A recording in which a setting rests at one value after the other is not one run. A setting that stays, and values
// that were measured beside the setting, are of one run.
func TestSettingsInsideRecordings(t *testing.T) {
	level := func(k int) int { return k / 40 }
	for _, c := range []struct {
		name, setting string
		value         func(k int) float64
		isSweep       bool
	}{
		{"angles", "alpha (deg)", func(k int) float64 { return float64(2 * level(k)) }, true},
		{"angles up and down", "alpha (deg)", func(k int) float64 { return []float64{0, 4, 8, 4, 0}[level(k)] }, true},
		{"a motor's signal", "ESC signal (us)", func(k int) float64 { return float64(1000 + 200*level(k)) }, true},
		{"throttle", "throttle (%)", func(k int) float64 { return float64(20 * level(k)) }, true},
		{"speeds", "rpm", func(k int) float64 { return float64(2000 + 1000*level(k)) }, true},
		{"a constant angle", "alpha (deg)", func(int) float64 { return 4 }, false},
		{"two values", "alpha (deg)", func(k int) float64 { return float64(k / 100) }, false},
		{"a measured speed", "rpm", func(k int) float64 { return float64(3000 + k*37%41) }, false},
		{"a measured speed that is held", "rpm", func(k int) float64 { return float64(3000 + 3*level(k)) }, false},
		{"not a setting", "lift (N)", func(k int) float64 { return float64(level(k)) }, false},
	} {
		files := map[string]string{}
		for _, u := range []int{10, 15, 20} {
			text := "time (s)," + c.setting + ",drag (N)\n"
			for k := range 200 {
				text += fmt.Sprintf("%.3f,%g,%.4f\n", float64(k)/100, c.value(k), float64(u)+float64(k*k%7))
			}

			files[fmt.Sprintf("U%d.csv", u)] = text
		}

		r := lookAt(t, files)
		notes := strings.Join(r.Notes, "\n")
		assert.Equal(t, c.isSweep, strings.Contains(notes, "has one value after the other"), "%s:\n%s", c.name, notes)
		assert.Equal(t, c.isSweep, strings.Contains(r.YAML, "columns: FILL_IN"), "%s:\n%s", c.name, r.YAML)
	}
}

// Tables of several kinds in a folder have no columns in common: init asks which kind to keep. Headers that differ only
// in columns that are not used are of one kind. Expected: by the headers.
func TestKindsOfTables(t *testing.T) {
	rows := func(head string) string { return head + "\n0,1.1,2.1\n2,1.3,2.6\n4,1.2,2.9\n6,1.7,2.2\n8,1.5,2.4\n" }
	for _, c := range []struct {
		name  string
		files map[string]string
		kinds string // "": one
	}{
		{"two kinds", map[string]string{
			"corr.csv": rows("alpha,CL,CD"), "raw.csv": rows("alpha,B1,B2"),
		}, "2 kinds of columns, of which an experiment reads one: keep one kind under files: corr.csv; raw.csv"},
		{"two files of one kind", map[string]string{
			"corr.csv": rows("alpha,CL,CD"), "press.csv": rows("alpha,P1,P2"), "taps.csv": rows("alpha,P1,P2"),
		}, "files: corr.csv; 2 files (first press.csv)"},
		{"one kind", map[string]string{"u1.csv": rows("alpha,CL,CD"), "v1.csv": rows("alpha,CL,CD")}, ""},
		{"other letter case", map[string]string{"u1.csv": rows("alpha,CL,CD"), "v1.csv": rows("Alpha,cl,cd")}, ""},
		{"columns that are not used", map[string]string{
			"u1.csv": rows("Fx,Fz,T1"), "v1.csv": rows("Fx,Fz,T2"),
		}, ""},
	} {
		r := lookAt(t, c.files)
		assert.Equal(t, c.kinds != "", strings.Contains(r.YAML, "files: FILL_IN # of one of these kinds"), c.name)
		assert.Contains(t, strings.Join(r.Notes, "\n"), c.kinds, c.name)
	}
}

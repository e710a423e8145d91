package role_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/role"
)

func ExampleReadNames() {
	names := role.ReadNames([]string{
		"wingA/aoa-5_u10_run1.txt", "wingA/aoa0_u10_run2.txt", "wingA/aoa5_u10_run3.txt",
		"wingB/aoa-5_u10_run4.txt", "wingB/aoa0_u10_run5.txt", "wingB/aoa5_u10_run6.txt",
	})
	for _, column := range names.Columns {
		fmt.Println(column.Describe())
	}

	fmt.Println(names.Pattern())
	// Output:
	// alpha_deg: input: -5, 0, 5
	// u_inf_m_s: remark, the same everywhere: 10
	// run_number (run): run, it numbers the rows: 1, 2, 3, … (6 values)
	// thing: thing: wingA, wingB
	// {thing:text}/aoa{alpha_deg}_u10_run{_}.txt
}

// The roles are what an engineer reads in the headers and values of a table of results.
func TestReadTablesOfResults(t *testing.T) {
	dir := t.TempDir()
	text := "run,alpha,CL,u_CL\n"
	for i, level := range []float64{0.11, 0.52, 0.93, 0.12, 0.51, 0.94} {
		text += fmt.Sprintf("%d,%d,%g,0.01%d\n", i+1, 5*(i%3), level, i)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs.csv"), []byte(text), 0o600))

	sheet := role.ReadTables(dir, []string{"runs.csv"}, "runs.csv")
	require.NotNil(t, sheet)
	sheet.DecideResults()

	roles := map[string]role.Role{}
	for _, column := range sheet.Columns {
		roles[column.Name] = column.Role
	}

	want := map[string]role.Role{"run": role.Run, "alpha": role.Input, "CL": role.Outcome, "u_CL": role.LeftOut}
	assert.Equal(t, want, roles)
}

// Pairs stay outcomes if the only setting has values close together, which a second decision makes an input. The roles
// are what an engineer reads in the headers.
func TestPairsBesideNarrowSetting(t *testing.T) {
	dir := t.TempDir()
	text := "rpm,CT_1,CT_2\n"
	for i := range 5 {
		text += fmt.Sprintf("%d,0.1%d,0.1%d\n", 1000+10*i, 2*i, 2*i+1)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs.csv"), []byte(text), 0o600))

	sheet := role.ReadTables(dir, []string{"runs.csv"}, "runs.csv")
	require.NotNil(t, sheet)
	table := sheet.FindPairs()
	require.NotNil(t, table)
	assert.Equal(t, []string{"CT_1"}, table.Y1)
	assert.Equal(t, []string{"CT_2"}, table.Y2)
	assert.Equal(t, []string{"rpm"}, role.NamesOf(sheet.WithRole(role.Input)))
	assert.Equal(t, []string{"CT_1", "CT_2"}, role.NamesOf(sheet.WithRole(role.Outcome)))
}

// A table with a clock and many rows has samples in time.
func TestReadTablesOfSamples(t *testing.T) {
	dir := t.TempDir()
	text := "time_s,lift\n"
	for i := range 200 {
		text += fmt.Sprintf("%g,%d\n", float64(i)/100, i%7)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "run1.csv"), []byte(text), 0o600))
	assert.Nil(t, role.ReadTables(dir, []string{"run1.csv"}, "run1.csv"))
}

// Rows without a value are no set point of their own. Two files sweep ten angles; the third file has rows at 0, of
// which some lack the angle. Expected: it sweeps nothing, and the input does not vary in its rows, as if all were at
// 0.
func TestMissingValuesAreNoPoints(t *testing.T) {
	none := math.NaN()
	for _, third := range [][]float64{{0, 0, 0, 0}, {0, 0, none, none}, {none, none, none, none}} {
		alpha := &role.Column{Name: "alpha", Head: "alpha", Role: role.Input}
		sheet := &role.Sheet{Columns: []*role.Column{alpha}}
		for file, values := range [][]float64{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, third} {
			for _, x := range values {
				alpha.Values = append(alpha.Values, x)
				sheet.FileOf = append(sheet.FileOf, file)
			}
		}

		sheet.Rows = len(alpha.Values)
		alpha.Texts = make([]string, sheet.Rows)
		assert.Empty(t, sheet.SweptInputs(), "%v", third)
		assert.False(t, sheet.InputsVary([]int{20, 21, 22, 23}), "%v", third)
		assert.True(t, sheet.InputsVary([]int{18, 19, 20}), "8, 9 and the third file: %v", third)
	}
}

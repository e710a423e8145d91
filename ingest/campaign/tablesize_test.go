package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/ingest/simulate"
)

// The distinct conditions are those of the four lines, in their order. The toy draws one condition for each pair.
func TestRowsOfTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.csv")
	require.NoError(t, os.WriteFile(path, []byte("x,y_1,y_2\n2,1,1\n-1,1,1\n2,3,4\n0.5,1,1\n"), 0o644))

	table := ResultTable{
		Files:   []TableFile{{Path: path, Name: "pairs.csv"}},
		Options: TableOptions{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}},
	}
	rows, err := table.Rows()
	require.NoError(t, err)
	var want condition.Rows
	for _, x := range []float64{2, -1, 0.5} {
		want = append(want, condition.Values{Numbers: map[string]float64{"x": x}, Names: map[string]string{}})
	}
	assert.Equal(t, want, rows)

	conditions, pairs := table.Size()
	assert.Equal(t, []float64{3, 4}, []float64{conditions, pairs}, "conditions and pairs that were read")

	require.NoError(t, os.Remove(path))
	_, err = table.Rows()
	require.ErrorContains(t, err, "pairs.csv")

	toy := simulate.DefaultToy()
	toy.N = 7
	simulated := ResultTable{Toy: &toy}
	rows, err = simulated.Rows()
	require.NoError(t, err)
	assert.Len(t, rows, 7)

	unwritten := ResultTable{Files: []TableFile{{Path: "none.csv"}}}
	conditions, pairs = unwritten.Size()
	assert.Equal(t, []float64{typicalRows, typicalRows}, []float64{conditions, pairs}, "a table that a task will write")
}

// The number of rows of a table of lines of equal length follows from the first 64 KiB; that of a binary file from its
// columns of eight bytes. A file that is not there has none.
func TestEstimateRows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) ResultTable {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

		return ResultTable{
			Files:   []TableFile{{Path: path}},
			Options: TableOptions{Inputs: []string{"a"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}},
		}
	}

	for _, rows := range []int{10, 1000, 50000} {
		table := write("table.csv", strings.Repeat("1.25,3.5,4.5\n", rows))
		require.InEpsilon(t, rows, table.EstimateRows(), 0.01, fmt.Sprint(rows))
	}

	binary := write("table.npy", strings.Repeat("\x00", 24*700))
	require.InDelta(t, 700, binary.EstimateRows(), 1)
	binary.Options = TableOptions{Inputs: []string{"a"}, Repeats: []string{"y", "z"}}
	require.InDelta(t, 700, binary.EstimateRows(), 1)

	missing := ResultTable{Files: []TableFile{{Path: filepath.Join(dir, "none.csv")}}}
	require.Zero(t, missing.EstimateRows())
}

package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

	missing := ResultTable{Files: []TableFile{{Path: filepath.Join(dir, "none.csv")}}}
	require.Zero(t, missing.EstimateRows())
}

package stages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
)

// The number of rows of a table of lines of equal length follows from the first 64 KiB; that of a binary file from its
// columns of eight bytes. A file that is not there has the typical number.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) Pairs {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

		return Pairs{
			Files:   []campaign.TableFile{{Path: path}},
			Options: campaign.TableOptions{Inputs: []string{"a"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}},
		}
	}

	for _, rows := range []int{10, 1000, 50000} {
		p := write("table.csv", strings.Repeat("1.25,3.5,4.5\n", rows))
		conditions, pairs := p.sizes()
		require.InEpsilon(t, rows, conditions, 0.01, fmt.Sprint(rows))
		require.InEpsilon(t, rows, pairs, 0.01, fmt.Sprint(rows))
	}

	binary := write("table.npy", strings.Repeat("\x00", 24*700))
	conditions, _ := binary.sizes()
	require.InDelta(t, 700, conditions, 1)

	missing := Pairs{Files: []campaign.TableFile{{Path: filepath.Join(dir, "none.csv")}}}
	conditions, _ = missing.sizes()
	require.InDelta(t, typicalRows, conditions, 0)
}

package content

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
)

// TestDetailSelects: of a hundred times the usual campaign a page holds no more
// than it can (and a run), in whole runs, with means over all that was measured.
func TestDetailSelects(t *testing.T) {
	tab := &table.Table{}
	for run := range 6000 {
		for ch := range 13 {
			table.AddCell(tab, "run", "", "", fmt.Sprintf("run %d", run))
			table.AddCell(tab, "recording", "", "", fmt.Sprintf("run %d#%d", run, ch))
			table.AddCell(tab, "rpm", "1/min", "", float64(run))
			table.AddCell(tab, "theta_deg", "deg", "", float64(10*ch))
			table.AddCell(tab, "y_1", "dB", "", float64(run)+1)
			table.AddCell(tab, "y_2", "dB", "", float64(run)+2)
		}
	}

	d := details(t, tab, "rpm, theta_deg")
	n := len(d.page.X) / 2
	assert.Equal(t, 78000, d.page.AllConditions)
	assert.Equal(t, 78000, d.page.AllRows)
	assert.LessOrEqual(t, n, pageConditions+13)
	assert.GreaterOrEqual(t, n, pageConditions/2)

	perRun := map[int]int{}
	for i, c := range d.page.Cond {
		perRun[d.page.Run[i]]++

		// y1 and y2 are 1 and 2 above the speed: their mean is 1.5 above it.
		require.Equal(t, d.page.X[2*c]+1.5, d.page.Mean[c], "mean at %v 1/min", d.page.X[2*c])
	}

	for r, k := range perRun {
		assert.Equal(t, 13, k, "run %d is shown with %d of 13 channels", r, k)
	}

	// Many pairs of few conditions: all conditions, some pairs of each.
	tab = &table.Table{}
	for run := range 200 {
		for k := range 250 {
			table.AddCell(tab, "run", "", "", fmt.Sprintf("run %d", run))
			table.AddCell(tab, "recording", "", "", fmt.Sprintf("run %d", run))
			table.AddCell(tab, "rpm", "1/min", "", float64(run))
			table.AddCell(tab, "theta_deg", "deg", "", 0.0)
			table.AddCell(tab, "y_1", "dB", "", float64(k))
			table.AddCell(tab, "y_2", "dB", "", float64(k))
		}
	}

	d = details(t, tab, "rpm, theta_deg")
	assert.Equal(t, 200, len(d.page.X)/2, "%d conditions, %d rows", len(d.page.X)/2, len(d.page.Cond))
	assert.LessOrEqual(t, len(d.page.Cond), pageRows+200, "%d conditions, %d rows", len(d.page.X)/2, len(d.page.Cond))
	assert.GreaterOrEqual(t, len(d.page.Cond), pageRows/2, "%d conditions, %d rows", len(d.page.X)/2, len(d.page.Cond))

	means := slices.Repeat([]float64{124.5}, 200) // of 0 … 249: all pairs count, shown or not
	assert.InDeltaSlice(t, means, d.page.Mean, 1e-9)
}

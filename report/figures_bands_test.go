package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figure of band levels holds, by its CSV, the means of the seeds and all pairs of its two conditions, over the
// nominal mid-frequency. With two bands, or harmonics, there is none.
func TestBandLevelsNumbers(t *testing.T) {
	d := campaign(4, 5, 5, 2, 3)
	figures := func() []FigureFile { return Figures(d) }

	name := func(f FigureFile) bool { return f.File == "3-blades-bands" }
	assert.False(t, slices.ContainsFunc(figures(), name), "harmonics are drawn as bands")

	hz := []string{"31_5", "125", "63", "1000", "500"}
	for k := range d.Outcomes {
		d.Outcomes[k].Name = fmt.Sprintf("l_%shz_db", hz[k])
	}

	list := figures()
	i := slices.IndexFunc(list, name)
	require.GreaterOrEqual(t, i, 0, "no such figure")

	rows, err := csv.NewReader(bytes.NewReader(list[i].CSV)).ReadAll()
	require.NoError(t, err)

	column := func(name string) int { return slices.Index(rows[0], name) }
	s := &d.Splits[1]

	means := 0
	pairs := 0
	for _, r := range rows[1:] {
		x, _ := strconv.ParseFloat(r[column("x")], 64)
		y, _ := strconv.ParseFloat(r[column("y")], 64)
		k := slices.Index(hz, strings.Replace(strconv.FormatFloat(x, 'f', -1, 64), ".", "_", 1))
		held := strings.Contains(r[0], "held out")
		found := slices.ContainsFunc(d.Cond, func(c int) bool {
			mean := 0.
			for _, e := range s.Seeds {
				mean += e.Mu[c*5+k] / 3
			}

			return s.Test[c] == held && (y == d.Y1[c*5+k] || y == d.Y2[c*5+k] || math.Abs(y-mean) < 1e-9)
		})

		assert.True(t, found, "%v: no level of the condition", r)

		switch {
		case strings.HasPrefix(r[1], "mean"):
			means++
		case r[1] != "": // the line through the means has no name
			pairs++
		}
	}

	require.Equal(t, 10, means, "%d means, %d values of pairs", means, pairs)
	assert.Equal(t, 20, pairs, "%d means, %d values of pairs", means, pairs)

	d.Outcomes = d.Outcomes[:5]
	for k, n := range []string{"oaspl_db", "a", "b"} {
		d.Outcomes[k].Name = n
	}

	assert.False(t, slices.ContainsFunc(figures(), name), "two bands are drawn")
}

// The caption names the conditions that have a panel, and no others. Expected: by eye.
func TestBandsCaption(t *testing.T) {
	for _, c := range []struct {
		heldOut, trained bool
		want             string
	}{
		{true, true, "at one of the held-out conditions and at one of the training."},
		{true, false, "at one of the held-out conditions."},
		{false, true, "at one of the training conditions."},
	} {
		caption := phrase("figure-bands", map[string]any{
			"Data": "measured", "N": 9, "Seeds": 1, "HeldOut": c.heldOut, "Trained": c.trained,
		})
		assert.Equal(t, "Predicted and measured levels of 9 bands, "+c.want, caption)
	}
}

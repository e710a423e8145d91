package stats

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Codes and spikes planted in simulated noise about 1.3 with a deviation of 0.01 are named with their number, the
// first and the mean without them; signals of other shapes are not.
func TestOutliers(t *testing.T) {
	put := func(v float64, at ...int) func([]float64) {
		return func(x []float64) {
			for _, i := range at {
				x[i] = v
			}
		}
	}

	for _, c := range []struct { // "two codes" is case sentinel
		name   string
		n      int
		change func(x []float64)
		want   string // the beginning of the warning; "" none
	}{
		{"none", 200, put(1.3, 0), ""},
		{"two codes", 200, put(-9999, 150, 20), "2 of 200 samples are -9999 (first sample 20): without them the mean is 1.3"},
		{"a positive code", 300, put(9999, 299), "1 of 300 samples are 9999 (first sample 299)"},
		{"a code of wells", 200, put(-999.25, 0, 1, 2), "3 of 200 samples are -999.25 (first sample 0)"},
		{"full scale", 9000, put(32767, 8500, 8501, 8502, 8503), "4 of 9000 samples are 32767 (first sample 8500)"},
		{"a fifth", 100, func(x []float64) {
			for i := range x {
				if i%5 == 3 {
					x[i] = -999
				}
			}
		}, "20 of 100 samples are -999 (first sample 3)"},
		{"most", 200, func(x []float64) {
			for i := range x[:150] {
				x[i] = -9999
			}
		}, "150 of 200 samples are -9999 (first sample 0): without them the mean is 1.3"},
		{"two levels", 200, func(x []float64) {
			for i := range x {
				x[i] = float64(min(i%4, 1) * 32767)
			}
		}, ""},
		{"in a short recording", 12, put(-9999, 5), "1 of 12 samples are -9999"},
		{"a spike", 20000, put(100, 12345), "1 of 20000 samples are spikes, as 100 (first sample 12345): without them"},
		{"a negative spike", 150, put(-300, 7, 90), "2 of 150 samples are spikes, as -300 (first sample 7)"},

		{"a pulse of ten samples", 200, put(100, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59), ""},
		{"a table", 40, put(100, 5), ""},
		{"a sum of noise and a peak", 200, put(1.6, 5), ""},
		{"a count that reaches 9999", 10000, func(x []float64) {
			for i := range x {
				x[i] = float64(i)
			}
		}, ""},
		{"a switch", 200, func(x []float64) {
			for i := range x {
				x[i] = float64(i / 150)
			}
		}, ""},
		{"one pulse of a silent channel", 200, func(x []float64) { clear(x); x[50] = 5 }, ""},
	} {
		x := make([]float64, c.n)
		noise := rand.New(rand.NewPCG(53, 3))
		for i := range x {
			x[i] = 1.3 + 0.01*noise.NormFloat64()
		}

		c.change(x)

		_, warns, err := Describe(context.Background(), ingesttest.NewMemory(x))
		var got string
		for _, w := range warns {
			if w.Code == "missing-code" || w.Code == "spikes" {
				got += w.Text
			}
		}

		require.NoError(t, err, "%s", c.name)
		require.True(t, strings.HasPrefix(strings.TrimPrefix(got, "channel 1: "), c.want), "%s", c.name)
		assert.Equal(t, c.want == "", got == "", "%s", c.name)
	}
}

// A clock, and a channel that no recording uses, is not examined.
func TestOutliersOfOthers(t *testing.T) {
	x := make([]float64, 200)
	x[7] = -9999
	x[8] = 1
	r := ingesttest.NewMemory(x, make([]float64, 200))
	run := ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: []int{1}}}}
	_, warns, err := Scan(context.Background(), r, run)
	require.NoError(t, err)
	assert.Len(t, warns, 1)
}

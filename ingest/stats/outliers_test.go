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

// setTo returns a function that sets some samples to a value.
func setTo(v float64, indices ...int) func([]float64) {
	return func(x []float64) {
		for _, i := range indices {
			x[i] = v
		}
	}
}

// outlierWarnings returns the texts of the warnings about codes and spikes in n samples of simulated noise about 1.3
// with a deviation of 0.01, which change has changed.
func outlierWarnings(t *testing.T, n int, change func(x []float64)) string {
	t.Helper()

	x := make([]float64, n)
	noise := rand.New(rand.NewPCG(53, 3))
	for i := range x {
		x[i] = 1.3 + 0.01*noise.NormFloat64()
	}

	change(x)

	_, warnings, err := Describe(context.Background(), ingesttest.NewMemory(x))
	require.NoError(t, err)

	var texts string
	for _, warning := range warnings {
		if warning.Code == "missing-code" || warning.Code == "spikes" {
			texts += warning.Text
		}
	}

	return texts
}

// A warning names the codes or spikes that the test puts into the noise: their number, the first sample, and the mean
// without them, which is the noise's mean of 1.3.
func TestOutliers(t *testing.T) {
	for _, c := range []struct { // "two codes" is case sentinel
		name   string
		n      int
		change func(x []float64)
		want   string // the beginning of the warning
	}{
		{
			"two codes", 200, setTo(-9999, 150, 20),
			"2 of 200 samples are -9999 (first sample 20, counted from 0): without them the mean is 1.3",
		},
		{"a positive code", 300, setTo(9999, 299), "1 of 300 samples are 9999 (first sample 299, counted from 0)"},
		{
			"an overload of SCPI", 300, setTo(9.9e37, 299),
			"1 of 300 samples are 9.9e+37 (first sample 299, counted from 0): without them the mean is 1.3",
		},
		{"a code of wells", 200, setTo(-999.25, 0, 1, 2), "3 of 200 samples are -999.25 (first sample 0, counted from 0)"},
		{"full scale", 9000, setTo(32767, 8500, 8501, 8502, 8503), "4 of 9000 samples are 32767 (first sample 8500, "},
		{"a fifth", 100, func(x []float64) {
			for i := range x {
				if i%5 == 3 {
					x[i] = -999
				}
			}
		}, "20 of 100 samples are -999 (first sample 3, counted from 0)"},
		{"most", 200, func(x []float64) {
			for i := range x[:150] {
				x[i] = -9999
			}
		}, "150 of 200 samples are -9999 (first sample 0, counted from 0): without them the mean is 1.3"},
		{"in a short recording", 12, setTo(-9999, 5), "1 of 12 samples are -9999"},
		{"a spike", 20000, setTo(100, 12345), "1 of 20000 samples are spikes, as 100 (first sample 12345, "},
		{"a negative spike", 150, setTo(-300, 7, 90), "2 of 150 samples are spikes, as -300 (first sample 7, "},
	} {
		got := outlierWarnings(t, c.n, c.change)
		assert.True(t, strings.HasPrefix(got, "channel 1: "+c.want), "%s: %s", c.name, got)
	}
}

// Signals of other shapes have no outliers: they vary as they are meant to, or they are too short to tell.
func TestNoOutliers(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		change func(x []float64)
	}{
		{"noise alone", 200, setTo(1.3, 0)},
		{"two levels", 200, func(x []float64) {
			for i := range x {
				x[i] = float64(min(i%4, 1) * 32767)
			}
		}},
		{"a pulse of ten samples", 200, setTo(100, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59)},
		{"a table", 40, setTo(100, 5)},
		{"a sum of noise and a peak", 200, setTo(1.6, 5)},
		{"a count that reaches 9999", 10000, func(x []float64) {
			for i := range x {
				x[i] = float64(i)
			}
		}},
		{"a switch", 200, func(x []float64) {
			for i := range x {
				x[i] = float64(i / 150)
			}
		}},
		{"one pulse of a silent channel", 200, func(x []float64) { clear(x); x[50] = 5 }},
	} {
		assert.Empty(t, outlierWarnings(t, c.n, c.change), c.name)
	}
}

// The clock and channels that no recording uses are not examined. The one warning here is that the recording is stuck.
func TestOutliersOfOthers(t *testing.T) {
	x := make([]float64, 200)
	x[7] = -9999
	x[8] = 1
	r := ingesttest.NewMemory(x, make([]float64, 200))
	run := ingest.Run{Row1: -1, Recordings: []ingest.Recording{{Channels: []int{1}}}}
	_, warnings, err := Scan(context.Background(), r, run)
	require.NoError(t, err)
	assert.Equal(t, "stuck-column", ingesttest.Codes(warnings))
}

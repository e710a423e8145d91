package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// Statistics of the samples 0 … 8 that are scaled by −2 are the statistics of 0, −2, … −16. Expected by hand: the
// samples have the mean 4, the variance 60/9 and the mean square 204/9.
func TestScaled(t *testing.T) {
	m := ingesttest.NewMemory([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8})
	s, _, err := Scan(t.Context(), m, ingest.Run{Row1: -1})
	require.NoError(t, err)

	scaled := s[0].Scaled(-2)
	assert.Equal(t, -8.0, scaled.Mean, "mean")
	assert.Equal(t, -16.0, scaled.Min, "least sample")
	assert.Zero(t, scaled.Max, "largest sample")
	assert.InEpsilon(t, 2*math.Sqrt(60./9), scaled.Std, 1e-12, "deviation")
	assert.InEpsilon(t, 2*math.Sqrt(204./9), scaled.RMS, 1e-12, "rms")
}

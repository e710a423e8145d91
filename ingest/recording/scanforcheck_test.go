package recording

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// ScanForCheck finds NaN within a second of the ends, or within 1000 samples of the ends if the rate is not known. It
// does not find NaN farther inside.
func TestScanForCheck(t *testing.T) {
	for _, c := range []struct {
		rateHz  float64
		at      int
		isFound bool
	}{
		{100, 99, true},
		{100, 100, false},
		{100, 9900, true},
		{100, 9899, false},
		{0, 999, true},
		{0, 1000, false},
		{0, 9000, true},
		{0, 8999, false},
	} {
		samples := make([]float64, 10000)
		samples[c.at] = math.NaN()
		rd := ingesttest.NewMemory(samples)
		rd.Header.Channels[0].RateHz = c.rateHz
		run := ingest.Run{ID: "m", Recordings: []ingest.Recording{{Channels: []int{0}}}, Row1: -1}

		_, _, err := ScanForCheck(t.Context(), rd, run, true)
		if c.isFound {
			require.ErrorContains(t, err, "expected a finite number, found NaN", "%g Hz, sample %d", c.rateHz, c.at)
		} else {
			require.NoError(t, err, "%g Hz, sample %d", c.rateHz, c.at)
		}
	}
}

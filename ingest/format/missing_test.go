package format

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Missing samples are interpolated between their neighbours, however many samples are read at a time, and are counted
// once. The time is not interpolated.
func TestMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	text := "time,F,G,H\n0,-9999,1,-9999\n1,2,-1e9,-9999\n" +
		"-9999,3,-9999,-9999\n3,-9999,-9999,-9999\n4,-9999,7,-9999\n5,6,-1e9,-9999\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

	nan := math.NaN()
	want := [][]float64{
		{0, 1, -9999, 3, 4, 5}, {2, 2, 3, 4, 5, 6}, {1, 2.5, 4, 5.5, 7, 7}, {nan, nan, nan, nan, nan, nan},
	}

	for _, size := range []int{1, 2, 6} {
		r, err := Open(path, ingest.Options{Missing: []float64{-9999, -1e9}})
		require.NoError(t, err)

		for at := 0; at < 6; at += size {
			dst := make([][]float64, 4)
			for c := range dst {
				dst[c] = make([]float64, size)
			}

			for range 2 { // reading again must not count them again
				if n, err := r.Read([]int{0, 1, 2, 3}, int64(at), dst); n < size {
					t.Fatal(err)
				}
			}

			for c := range dst {
				ingesttest.Equal(t, dst[c], want[c][at:at+size])
			}
		}

		for c, n := range []int64{0, 3, 4, 6} {
			assert.Equal(t, n, r.(ingest.Gapped).Filled(c), "channel %d", c)
		}

		require.NoError(t, r.Close())
	}
}

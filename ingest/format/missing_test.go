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
				n, err := r.Read([]int{0, 1, 2, 3}, int64(at), dst)
				require.NoError(t, err, "from %d on", at)
				require.Equal(t, size, n, "samples read from %d on", at)
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

// brokenBehind is a Reader that cannot read the samples from its limit on.
type brokenBehind struct {
	*ingesttest.Memory
	limit int64
}

// Read implements ingest.Reader.
func (b brokenBehind) Read(channels []int, start int64, dst [][]float64) (int, error) {
	if start+int64(len(dst[0])) > b.limit {
		return 0, errBroken
	}

	return b.Memory.Read(channels, start, dst)
}

// If the samples beside a missing sample cannot be read, reading it is an error. A value from the other side alone
// would be wrong.
func TestMissingBesideBroken(t *testing.T) {
	x := make([]float64, 400)
	for i := 2; i < len(x); i++ {
		x[i] = -9999
	}

	r := newFilled(brokenBehind{ingesttest.NewMemory(x), 100}, []float64{-9999})
	_, err := r.Read([]int{0}, 0, [][]float64{make([]float64, 5)})
	require.ErrorIs(t, err, errBroken)
}

// countingReader is a Reader that counts the samples that are read.
type countingReader struct {
	*ingesttest.Memory
	samples *int
}

// Read implements ingest.Reader.
func (c countingReader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n, err := c.Memory.Read(channels, start, dst)
	*c.samples += n * len(channels)

	return n, err
}

// A channel that is missing from its second sample on is read a few times, not once for each block that is asked for.
// Its samples become the first one.
func TestMissingToTheEnd(t *testing.T) {
	x := make([]float64, 100_000)
	for i := range x {
		x[i] = -9999
	}
	x[0] = 5

	read := 0
	r := newFilled(countingReader{ingesttest.NewMemory(x), &read}, []float64{-9999})
	block := make([]float64, 100)
	for start := 0; start < len(x); start += len(block) {
		_, err := r.Read([]int{0}, int64(start), [][]float64{block})
		require.NoError(t, err)
		require.Equal(t, 5.0, block[len(block)-1], "sample %d", start+len(block)-1)
	}

	assert.Less(t, read, 3*len(x), "samples read")
	assert.EqualValues(t, len(x)-1, r.(ingest.Gapped).Filled(0))
}

package inspect

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
)

// counting counts the calls of Read.
type counting struct {
	ingest.Reader
	calls int
}

func (c *counting) Read(channels []int, start int64, dst [][]float64) (int, error) {
	c.calls++
	return c.Reader.Read(channels, start, dst)
}

// File reads the beginnings of channels of one length in one call: one call per
// channel takes quadratic time where channels lie interleaved.
func TestReadHeads(t *testing.T) {
	var data [][]float64
	for i := range 1000 {
		data = append(data, []float64{float64(i), 1, 2, 3, 4, 5, 6})
	}

	c := &counting{Reader: ingesttest.NewMemory(data...)}
	heads := readHeads(c)
	require.Equal(t, 1, c.calls, "calls")
	require.Len(t, heads, len(data))

	for i, h := range heads {
		require.Len(t, h, previewRows, "channel %d", i)
		require.Equal(t, float64(i), h[0], "channel %d", i)
		assert.Equal(t, 4.0, h[4], "channel %d", i)
	}

	// A cell that is not a number is NaN, and costs the other channels nothing.
	path := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(path, []byte("1,2\n3,4\n5,x\n7,8\n"), 0o644))

	r, err := format.Open(path, ingest.Options{})
	require.NoError(t, err)
	defer r.Close()

	h := readHeads(r)
	assert.Equal(t, []float64{1, 3, 5, 7}, h[0])
	assert.InDelta(t, 8.0, h[1][3], 0)
	assert.True(t, math.IsNaN(h[1][2]))
}

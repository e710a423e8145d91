package inspect

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/must"
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
	must.Never(t, c.calls != 1 || len(heads) != len(data), "%d calls, %d heads", c.calls, len(heads))

	for i, h := range heads {
		must.Not(t, len(h) != previewRows || h[0] != float64(i) || h[4] != 4, "channel %d: %v", i, h)
	}

	// A cell that is no number is NaN, and costs the other channels nothing.
	path := filepath.Join(t.TempDir(), "bad.csv")
	must.Do(t, os.WriteFile(path, []byte("1,2\n3,4\n5,x\n7,8\n"), 0o644))

	r := must.Get(format.Open(path, ingest.Options{}))(t)
	defer r.Close()

	if h := readHeads(r); !slices.Equal(h[0], []float64{1, 3, 5, 7}) || h[1][3] != 8 || !math.IsNaN(h[1][2]) {
		t.Error(h)
	}
}

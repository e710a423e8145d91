package recording

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ramp is a source of so many samples, each its own number.
type ramp int64

func (r ramp) Read(_ []int, start int64, dst [][]float64) (int, error) {
	for i := range dst {
		for k := range dst[i] {
			if start+int64(k) == int64(r) {
				return k, io.EOF
			}
			dst[i][k] = float64(start + int64(k))
		}
	}

	return len(dst[0]), nil
}

// Columns are read over the pieces they are read in, and an end before their last
// sample is an error. Expected: the numbers from start on.
func TestReadColumns(t *testing.T) {
	const start, n = 3, 2<<16 + 5
	got, err := ReadColumns(context.Background(), ramp(start+n), []int{0, 1}, start, n)
	require.NoError(t, err)

	want := make([]float64, n)
	for k := range want {
		want[k] = float64(start + k)
	}

	require.Len(t, got, 2, "other samples")
	require.Equal(t, want, got[0], "other samples")
	assert.Equal(t, want, got[1], "other samples")

	if _, err := ReadColumns(context.Background(), ramp(start+n-1), []int{0}, start, n); !errors.Is(err,
		io.ErrUnexpectedEOF) {
		t.Errorf("an early end: %v", err)
	}

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	if _, err := ReadColumns(cancelled, ramp(start+n), []int{0}, start, n); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

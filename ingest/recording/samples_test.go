package recording

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ramp is a source with the given number of samples. Each sample is its own number, counted from 0.
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

// ReadColumns joins the parts that it reads, of readSamples each. Expected: the numbers of the samples from start on.
// An end of the source before the last sample is an error, and so is a cancelled context.
func TestReadColumns(t *testing.T) {
	const (
		start = 3
		n     = 2*readSamples + 5
	)
	got, err := ReadColumns(context.Background(), ramp(start+n), []int{0, 1}, start, n)
	require.NoError(t, err)

	want := make([]float64, n)
	for k := range want {
		want[k] = float64(start + k)
	}

	require.Len(t, got, 2, "channels")
	assert.Equal(t, want, got[0], "samples of the first channel")
	assert.Equal(t, want, got[1], "samples of the second channel")

	_, err = ReadColumns(context.Background(), ramp(start+n-1), []int{0}, start, n)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "a source that ends one sample early")

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()

	_, err = ReadColumns(cancelled, ramp(start+n), []int{0}, start, n)
	assert.ErrorIs(t, err, context.Canceled)
}

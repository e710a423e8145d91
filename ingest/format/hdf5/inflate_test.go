package hdf5

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inflate returns the bytes of a whole zlib stream, which may be shorter than dst, and an error for any other stream.
// The Reader can be used again after an error. compress/zlib wrote the streams.
func TestInflateChunk(t *testing.T) {
	pack := func(n int) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		_, err := w.Write(bytes.Repeat([]byte("measured"), n))
		require.NoError(t, err)

		require.NoError(t, w.Close())

		return b.Bytes()
	}

	whole := pack(1000)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1]++

	var r Reader
	for range 2 {
		for _, c := range []struct {
			name  string
			in    []byte
			words int // number of words "measured" in the stream
		}{
			{"whole", whole, 1000},
			{"too short", pack(999), 999},
			{"empty", pack(0), 0},
		} {
			dst := make([]byte, 8000)
			n, err := r.inflate(dst, c.in)
			require.NoError(t, err, "%s", c.name)
			assert.Equal(t, strings.Repeat("measured", c.words), string(dst[:n]), "%s", c.name)
		}

		for _, c := range []struct {
			name string
			in   []byte
			want string // part of the error
		}{
			{"too long", pack(1001), "the data go on after 8000 bytes"},
			{"cut in the data", whole[:len(whole)/2], "the compressed data are cut off"},
			{"cut in the checksum", whole[:len(whole)-2], "the compressed data are cut off"},
			{"checksum", damaged, "checksum"},
			{"no header", []byte("measured"), "invalid header"},
			{"nothing", nil, "the compressed data are cut off"},
		} {
			_, err := r.inflate(make([]byte, 8000), c.in)
			require.ErrorContains(t, err, c.want, "%s", c.name)
		}
	}
}

// A chunk whose zlib stream is whole but shorter than the chunk is an error.
func TestShortChunk(t *testing.T) {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write(make([]byte, 7992))
	require.NoError(t, err)
	require.NoError(t, w.Close())

	_, err = new(Reader).undo([]filter{{id: filterDeflate}}, 0, b.Bytes(), 8000, 8)
	require.EqualError(t, err, "deflate: the data end after 7992 of 8000 bytes")
}

package hdf5

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The zlib stream of a chunk must have as many bytes as the chunk and the right checksum. The Reader can be used again
// after an error. compress/zlib wrote the streams.
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
			name string
			in   []byte
			want string
		}{
			{"whole", whole, ""},
			{"too short", pack(999), ""},
			{"empty", pack(0), ""},
			{"too long", pack(1001), "the data go on after 8000 bytes"},
			{"cut in the data", whole[:len(whole)/2], "the compressed data are cut off"},
			{"cut in the checksum", whole[:len(whole)-2], "the compressed data are cut off"},
			{"checksum", damaged, "checksum"},
			{"no header", []byte("measured"), "invalid header"},
			{"nothing", nil, "the compressed data are cut off"},
		} {
			out := make([]byte, 8000)
			n, err := r.inflate(out, c.in)
			switch {
			case c.want == "" && (err != nil || string(out[:n]) != strings.Repeat("measured", n/8)):
				t.Errorf("%s: %v", c.name, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, expected %s", c.name, err, c.want)
			}
		}
	}

	_, err := new(Reader).undo([]filter{{id: filterDeflate}}, 0, pack(999), 8000, 8)
	require.Error(t, err)
	assert.Equal(t, "deflate: the data end after 7992 of 8000 bytes", err.Error(), "%v", err)
}

package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"doubletake/ingest/format/internal/spool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	memory := spool.Memory(1 << 20)
	s := spool.New(strings.NewReader("forward only"), 12, &memory)
	b := make([]byte, 4)
	_, err := s.ReadAt(b, 8)
	fmt.Printf("%s %v %v\n", b, err, s.Close())
	// Output: only <nil> <nil>
}

// The bytes of three streams are read at any place. One of the streams does not fit into memory.
func TestReadAt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)

	rng := rand.New(rand.NewPCG(1, 2))

	memory := spool.Memory(6 << 20)
	var readers []*spool.Reader
	for _, size := range []int{100, 5 << 20, 3 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}

		s := spool.New(iotest.HalfReader(bytes.NewReader(want)), int64(size), &memory)
		readers = append(readers, s)

		for range 50 {
			offset := rng.IntN(size)
			b := make([]byte, rng.IntN(100_000))
			n, err := s.ReadAt(b, int64(offset))
			require.Equal(t, min(len(b), size-offset), n, "bytes read at %d of %d", offset, size)
			require.True(t, bytes.Equal(want[offset:offset+n], b[:n]), "the bytes of the stream at %d of %d", offset, size)

			if n < len(b) {
				require.ErrorIs(t, err, io.EOF, "beyond the end of the stream")
			} else {
				require.NoError(t, err, "at %d of %d", offset, size)
			}
		}
	}

	for _, s := range readers {
		require.NoError(t, s.Close())
	}

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "temporary files that are left")
}

// A stream that ends too early gives its bytes. A stream with a wrong end gives none.
func TestDamaged(t *testing.T) {
	memory := spool.Memory(1 << 20)
	b := make([]byte, 8)

	s := spool.New(strings.NewReader("measured"), 9, &memory)
	n, err := s.ReadAt(b, 1)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a stream that is cut off")
	assert.Equal(t, "easured", string(b[:n]))

	s = spool.New(io.MultiReader(strings.NewReader("measured"), iotest.ErrReader(errors.New("checksum"))), 8, &memory)
	n, err = s.ReadAt(b, 0)
	require.EqualError(t, err, "decompress: checksum", "a stream with a wrong end")
	assert.Zero(t, n)
}

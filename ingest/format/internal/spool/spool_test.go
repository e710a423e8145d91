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
	for _, size := range []int{100, 5 << 20, 3 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}

		s := spool.New(iotest.HalfReader(bytes.NewReader(want)), int64(size), &memory)
		defer func() {
			require.NoError(t, s.Close())

			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		}()

		for range 50 {
			at, b := rng.IntN(size), make([]byte, rng.IntN(100_000))
			n, err := s.ReadAt(b, int64(at))
			if n != min(len(b), size-at) || (n < len(b)) != errors.Is(err, io.EOF) || !bytes.Equal(b[:n], want[at:at+n]) {
				t.Fatalf("%d bytes of %d at %d: %d, %v", len(b), size, at, n, err)
			}
		}
	}
}

// A stream that ends too early gives its bytes. A stream with a wrong end gives none.
func TestDamaged(t *testing.T) {
	memory := spool.Memory(1 << 20)
	b := make([]byte, 8)

	s := spool.New(strings.NewReader("measured"), 9, &memory)
	if n, err := s.ReadAt(b, 1); n != 7 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %d, %v", n, err)
	}

	s = spool.New(io.MultiReader(strings.NewReader("measured"), iotest.ErrReader(errors.New("checksum"))), 8, &memory)
	if n, err := s.ReadAt(b, 0); n != 0 || err == nil || err.Error() != "decompress: checksum" {
		t.Errorf("a wrong end: %d, %v", n, err)
	}
}

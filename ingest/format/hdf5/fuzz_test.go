package hdf5

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/require"
)

// FuzzOpen opens any bytes and reads the contents that they state: it must not panic or hang, and must keep within the
// documented bounds of memory. The seeds are the truth files of up to 60 kB. Only this test sets lax, so that
// checksums are not verified and changes of the bytes behind them are reached.
//
// Run it with -fuzzminimizetime 10x, as .ci/run does. By default, Go tries for a minute to shorten each input that
// reaches new code, byte by byte, and tries nothing else meanwhile: 30 kB do not get short in that time.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.h5")
	require.NoError(f, err)

	matlab, err := filepath.Glob("testdata/*.mat")
	require.NoError(f, err)

	for _, n := range slices.Concat(names, matlab) {
		b := testfile.Read(f, n)

		if len(b) < 60000 {
			f.Add(b, true)
			f.Add(b, false)
		}
	}

	for _, n := range []string{"narrow_trees", "paged_space"} {
		f.Add(readMaybeZipped(f, "testdata/"+n+".h5.gz"), true)
	}

	f.Fuzz(readAll)
}

// readAll opens a file and reads everything in it. Errors are expected: most files are damaged.
func readAll(t *testing.T, b []byte, lax bool) {
	var f *File
	var err error
	ingesttest.Bounded(t, b, 4<<20, 64, func() { f, err = open(bytes.NewReader(b), int64(len(b)), lax) })
	if err != nil {
		return
	}

	for _, g := range f.groups {
		for _, a := range g.Attributes {
			_ = a.String()
		}
	}

	cache := NewCache(1 << 20)

	left := 8 << 20 // bytes of chunks that may still be read; a chunk may become 1032 times as long
	for _, d := range f.datasets {
		_ = d.Layout()
		_ = d.Type.String()
		if d.Elements() < 1000 && d.st.why == nil {
			_, _ = d.ReadStrings()
			_, _ = f.ReadReferences(d)
		}

		parts := []*Dataset{d} // the dataset and its fields
		for _, member := range d.Type.Members {
			parts = append(parts, d.inner(member))
		}

		for _, d := range parts[:min(len(parts), 10)] {
			left -= 10 * d.st.chunkSize
			if left < 0 {
				return
			}

			r, err := d.NewReader(cache)
			if err != nil || d.err != nil {
				continue
			}

			n := d.Elements()

			dst := make([]float64, 300)
			for _, start := range []int64{0, n / 2, max(0, n-299), n} {
				k, err := readFloat64(d, r, dst, start)
				switch {
				case err == nil:
					require.Equal(t, 300, k, "elements read from %d on of %d", start, n)
				case errors.Is(err, io.EOF):
					require.Equal(t, min(300, n-start), int64(k), "elements read from %d on of %d", start, n)
				}
			}

			for axis, length := range d.Dims {
				if n == 0 {
					break
				}

				start := length / 2
				k := min(100, length-start)
				channels := []int{0, int(n/length) - 1}
				_ = r.ReadChannels(axis, channels, start, [][]float64{dst[:k], dst[100:][:k]})
			}
		}
	}
}

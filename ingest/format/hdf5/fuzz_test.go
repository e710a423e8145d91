package hdf5

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/require"
)

// FuzzOpen opens any bytes and reads the contents that they state: it must not panic or hang, and must keep within the
// documented bounds of memory. The seeds are the truth files of up to 60 kB. Only this test sets lax, so that
// checksums are not verified and changes of the bytes behind them are reached.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.h5")
	require.NoError(f, err)

	more, _ := filepath.Glob("testdata/*.mat")
	for _, n := range append(names, more...) {
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
		_, _ = d.Layout(), d.Type.String()
		if d.Elements() < 1000 && d.st.why == nil {
			_, _ = d.ReadStrings()
			_, _ = f.ReadReferences(d)
		}

		ds := []*Dataset{d}
		for _, m := range d.Type.Members {
			ds = append(ds, d.inner(m))
		}

		for _, d := range ds[:min(len(ds), 10)] {
			if left -= 10 * d.st.chunkSize; left < 0 {
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
				if want := min(300, n-start); err == nil && k != 300 || err == io.EOF && int64(k) != want {
					t.Fatalf("read %d of %d at %d of %d: %v", k, want, start, n, err)
				}
			}

			for axis := range d.Dims {
				if n > 0 {
					at := d.Dims[axis] / 2
					k := min(100, d.Dims[axis]-at)
					_ = r.ReadChannels(axis, []int{0, int(n/d.Dims[axis]) - 1}, at, [][]float64{dst[:k], dst[100:][:k]})
				}
			}
		}
	}
}

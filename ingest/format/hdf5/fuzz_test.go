package hdf5

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// FuzzOpen opens any bytes and reads their claimed contents: no panic, no hang,
// memory within the documented bounds. The seeds are the truth
// files of up to 60 kB. lax leaves checksums unverified, which lets the bytes
// behind them be reached; it is never set otherwise.
func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.h5")
	if err != nil {
		f.Fatal(err)
	}

	more, _ := filepath.Glob("testdata/*.mat")
	for _, n := range append(names, more...) {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}

		if len(b) < 60000 {
			f.Add(b, true)
			f.Add(b, false)
		}
	}

	for _, n := range []string{"addresses2_earliest", "addresses4_latest", "narrow_trees", "paged_space"} {
		f.Add(readMaybeZipped(f, "testdata/"+n+".h5.gz"), true)
	}

	f.Fuzz(readAll)
}

func readAll(t *testing.T, b []byte, lax bool) {
	size := int64(len(b))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file, err := open(bytes.NewReader(b), size, lax)
	runtime.ReadMemStats(&after)

	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(64*size+4<<20) {
		t.Fatalf("opening %d bytes allocated %d", size, used)
	}

	if err != nil {
		return
	}

	for _, g := range file.Groups() {
		for _, l := range g.Links {
			file.Dataset(join(g.Path, l.Name))
		}

		for _, a := range g.Attributes {
			_ = a.String()
		}
	}

	cache := NewCache(1 << 20)

	left := 8 << 20 // bytes of chunks: each may take 1032 times its size to expand
	for _, d := range file.Datasets() {
		_ = d.Layout()
		_ = d.Type.String()

		if d.Elements() < 1000 {
			d.ReadStrings()
			file.ReadReferences(d)
		}

		ds := []*Dataset{d}
		for _, m := range d.Type.Members {
			if v, err := d.Field(m.Name); err == nil {
				ds = append(ds, v)
			}
		}

		for _, d := range ds[:min(len(ds), 10)] {
			if d.st != nil {
				if left -= 10 * d.st.chunkSize; left < 0 {
					return
				}
			}

			r, err := d.NewReader(cache)
			if err != nil {
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

			if n == 0 {
				continue
			}

			for axis := range d.Dims {
				r.ReadChannels(axis, []int{0, int(n/d.Dims[axis]) - 1}, d.Dims[axis]/2, [][]float64{dst[:100], dst[100:200]})
			}
		}
	}
}

package npz

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/npy"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/truth/deflated.npz", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Samples)
	}
	// Output:
	// samples[1] 300
	// samples[2] 300
	// counts 65
	// fortran[1] 5
	// fortran[2] 5
	// fortran[3] 5
	// fortran[4] 5
}

// Every array of numpy's archives has the values that package npy reads from the file of numpy.save for the same array.
func TestTruth(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "truth/"+name), ingest.Options{})

		info := r.Info()
		require.Len(t, info.Unread, 1, "%s: unread %+v", name, info.Unread)
		require.Equal(t, "empty", info.Unread[0].Name, "%s: unread %+v", name, info.Unread)
		assert.False(t, info.Unread[0].Fault, "%s: unread %+v", name, info.Unread)

		at := 0
		for _, array := range []string{"samples", "counts", "fortran"} {
			w := ingesttest.Open(t, npy.Format, ingesttest.Testdata(t, "truth/"+array+".npy"), ingest.Options{})

			for _, want := range ingesttest.ReadAll(t, w) {
				x := make([]float64, len(want))
				n, err := r.Read([]int{at}, 0, [][]float64{x})
				require.NoError(t, err, "channel %d", at)
				require.Len(t, x, n, "channel %d: samples read", at)

				ingesttest.Equal(t, x, want)

				at++
			}
		}

		require.Equal(t, len(info.Channels), at, "%s: %d channels", name, len(info.Channels))
		assert.NoError(t, r.Close(), "%s: %d channels", name, len(info.Channels))
	}
}

// Of an array of 6 MiB, package spool keeps 4 MiB in memory and the rest in a temporary file, without which values at
// the end cannot be read. The array is read forwards and backwards. Its values follow from the formula in make.py. No
// temporary file is left.
func TestLarge(t *testing.T) {
	dir := t.TempDir()
	large := ingesttest.Testdata(t, "truth/large.npz")
	x := make([]float64, 1)

	t.Setenv("TMPDIR", filepath.Join(dir, "missing"))
	_, err := ingesttest.Open(t, Format, large, ingest.Options{}).Read([]int{0}, 600000, [][]float64{x})
	require.ErrorContains(t, err, "write the temporary file")

	t.Setenv("TMPDIR", dir)

	r := ingesttest.Open(t, Format, large, ingest.Options{})
	for _, i := range []int64{0, 5000, 500000, 524287, 524288, 524000, 786431, 3, 600000} {
		n, err := r.Read([]int{0}, i, [][]float64{x})
		require.NoError(t, err, "value %d", i)
		require.Equal(t, 1, n, "value %d", i)
		assert.Equal(t, float64(i/1000), x[0], "value %d", i)
	}

	require.NoError(t, r.Close())

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "temporary files that are left")
}

// archive returns a zip archive with the given headers, which may be wrong.
func archive(t testing.TB, data []byte, headers ...zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range headers {
		h.CompressedSize64 = uint64(len(data))
		w, err := z.CreateRaw(&h)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}

	require.NoError(t, z.Close())

	return b.Bytes()
}

// Archives with one fault each are refused when they are opened or read, with the reason. Of two arrays with
// one name, the second is listed as not read.
func TestRefused(t *testing.T) {
	x := ingesttest.NPY("|u1", false, bytes.Repeat([]byte("0123456789"), 1000), 10000)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 6)
	_, _ = w.Write(x)
	_ = w.Close()

	z, size, sum := b.Bytes(), uint64(len(x)), crc32.ChecksumIEEE(x)
	good := zip.FileHeader{Name: "x.npy", Method: zip.Deflate, UncompressedSize64: size, CRC32: sum}
	one := func(data []byte, change func(h *zip.FileHeader)) []byte {
		h := good
		change(&h)

		return archive(t, data, h)
	}

	for _, c := range []struct {
		b    []byte
		want string
	}{
		{one([]byte("abc"), func(h *zip.FileHeader) { h.Name = "readme.txt" }), "a zip file without .npy files"},
		{one(z, func(h *zip.FileHeader) { h.Flags = 1 }), `array "x": it is encrypted`},
		{one(z, func(h *zip.FileHeader) { h.Method = 12 }), "zip compression method 12 is not read"},
		{one([]byte("abc"), func(h *zip.FileHeader) { h.Method = zip.Store }), "it is stored in 3 bytes and has "},
		{one(z, func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 31 }), "2147483648 bytes are claimed, more than"},
		{one(z, func(h *zip.FileHeader) { h.CRC32++ }), "decompress: zip: checksum error"},
		{one(z, func(h *zip.FileHeader) { h.UncompressedSize64-- }), "decompress: "},
		{one(z, func(h *zip.FileHeader) { h.UncompressedSize64++ }), "decompress: "},
		{one(z[:len(z)/2], func(*zip.FileHeader) {}), "decompress: unexpected EOF"},
		{x, "archive: the zip directory cannot be read: "},
	} {
		r, err := Format.Open(ingesttest.Source(c.b), ingest.Options{})
		if err == nil {
			_, err = r.Read([]int{0}, 9999, [][]float64{{0}})
		}

		ingesttest.WantDataError(t, r, err, c.want)
	}

	r, err := Format.Open(ingesttest.Source(archive(t, z, good, good)), ingest.Options{})
	require.NoError(t, err)
	require.Len(t, r.Info().Unread, 1)
	assert.Contains(t, r.Info().Unread[0].Reason, "two of this name")
}

// FuzzOpen checks that no input makes the reader panic, hang, or take more than 64 MiB plus 64 times the input.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		f.Add(ingesttest.Testdata(f, "truth/"+name))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		ingesttest.Bounded(t, b, 64<<20, 64, func() {
			r, err := Format.Open(ingesttest.Source(b), ingest.Options{})
			if err != nil {
				ingesttest.WantDataError(t, nil, err)
				return
			}
			defer r.Close()

			for c, ch := range r.Info().Channels[:min(20, len(r.Info().Channels))] {
				for _, at := range []int64{0, ch.Samples / 2, ch.Samples - 1} {
					if _, err := r.Read([]int{c}, at, [][]float64{{0}}); err != nil {
						ingesttest.WantDataError(t, nil, err)
					}
				}
			}
		})
	})
}

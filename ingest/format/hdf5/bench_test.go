package hdf5

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// benchFile has h5py write a file of 100 MB of noise-like samples, and skips
// where there is no h5py.
func benchFile(b *testing.B) (*File, func()) {
	b.Helper()

	dir := os.Getenv("DOUBLETAKE_HDF5_BENCH") // keeps the file for h5py's turn
	if dir == "" {
		dir = b.TempDir()
	}

	path := filepath.Join(dir, "bench.h5")
	if _, err := os.Stat(path); err != nil {
		script := `
import sys, h5py, numpy as np
rng = np.random.default_rng(1)
n = 25_000_000
# 16 bits of a recorder as float32: noise and a tone
x = (np.round((rng.normal(0, .05, n) + .2 * np.sin(np.arange(n) * .05)) * 32768) / 32768).astype("<f4")
with h5py.File(sys.argv[1], "w") as f:
    f["contiguous"] = x
    f["contiguous_nc"] = x.reshape(-1, 4)
    f.create_dataset("gzip_shuffle", data=x, chunks=(1 << 16,), compression="gzip", compression_opts=4, shuffle=True)
    f.create_dataset("gzip", data=x, chunks=(1 << 16,), compression="gzip", compression_opts=4)
    f.create_dataset("chunked", data=x, chunks=(1 << 16,))
    f.create_dataset("i2_gzip_shuffle", data=(x * 32768).astype("<i2"), chunks=(1 << 16,), compression="gzip", ` +
			`compression_opts=4, shuffle=True)
    f.create_dataset("fletcher32", data=x, chunks=(1 << 16,), fletcher32=True)
    f.create_dataset("lzf_shuffle", data=x, chunks=(1 << 16,), compression="lzf", shuffle=True)
`

		if out, err := exec.Command("/usr/bin/python3", "-c", script, path).CombinedOutput(); err != nil {
			b.Skipf("no file from h5py: %v\n%s", err, out)
		}
	}

	r, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}

	st, err := r.Stat()
	if err != nil {
		b.Fatal(err)
	}

	f, err := Open(r, st.Size())
	if err != nil {
		b.Fatal(err)
	}

	return f, func() { r.Close() }
}

// BenchmarkRead reads 100 MB in blocks of 65 536 samples. MB/s counts the bytes
// of the samples as they are after the filters.
func BenchmarkRead(b *testing.B) {
	f, done := benchFile(b)
	defer done()

	for _, d := range f.Datasets() {
		b.Run(d.Path[1:], func(b *testing.B) {
			b.SetBytes(d.Elements() * int64(d.Type.Size))
			b.ReportAllocs()

			channels := make([]int, 1)
			if len(d.Dims) > 1 {
				channels = []int{0, 1, 2, 3}
			}

			dst := make([][]float64, len(channels))
			for i := range dst {
				dst[i] = make([]float64, 65536)
				channels[i] = i
			}

			for b.Loop() {
				r, err := d.NewReader(nil)
				if err != nil {
					b.Fatal(err)
				}

				for at := int64(0); ; at += 65536 {
					_, err := r.ReadChannels(0, channels, at, dst)
					if err == io.EOF {
						break
					}

					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// Command bench reads files of every format that Python has a reader for, with
// this package and with that reader (scipy.io.wavfile, numpy.load, scipy.io,
// h5py, soundfile, pyuff, numpy.loadtxt), and prints one table of ratios. It compares the
// CPU time of one core, user and system, for all samples of all channels as
// float64: best of three, so that other work on the machine hardly counts. Both
// sides must find the same sum of the samples.
//
//	go run ./bench/ingest
//
// It needs Python with numpy, scipy and h5py, soundfile for FLAC, and pyuff or else the
// way it reads, which peers.py repeats (-python names another than python3). Parquet has
// no peer there, TDMS and Arrow are left out.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/table"
	"doubletake/report/answer/export"
)

func main() {
	python := flag.String("python", "python3", "the Python that has numpy, scipy and h5py")
	rows := flag.Int("rows", 1<<20, "samples of a channel, of text an eighth")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	if err := run(os.Stdout, *python, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

//go:embed peers.py
var peersPy []byte

func run(w io.Writer, python string, rows int) error {
	dir, err := os.MkdirTemp("", "ingest-bench-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)

	script := filepath.Join(dir, "peers.py")
	if err := os.WriteFile(script, peersPy, 0o644); err != nil {
		return fmt.Errorf("write the peers' script: %w", err)
	}

	if out, err := exec.Command(python, script, "write", dir, strconv.Itoa(rows)).CombinedOutput(); err != nil {
		return fmt.Errorf("write files: %w: %s", err, out)
	}

	if err := writeParquet(filepath.Join(dir, "float64.parquet"), rows); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}

	fmt.Fprintln(w, "| file | MB | ours, MB/s per core | Python's reader | MB/s per core | ratio "+
		"|\n|---|---|---|---|---|---|")

	for _, f := range [][3]string{
		{"int16.wav", "WAV, 16 bit", "scipy.io.wavfile"},
		{"float32.wav", "WAV, float32", "scipy.io.wavfile"},
		{"float64.npy", "NPY, float64", "numpy.load"},
		{"stored.npz", "NPZ, float32", "numpy.load"},
		{"deflated.npz", "NPZ, int16, deflated", "numpy.load"},
		{"double.mat", "MAT 5, double", "scipy.io.loadmat"},
		{"deflated.mat", "MAT 5, int16, deflated", "scipy.io.loadmat"},
		{"contiguous.h5", "HDF5, float32, contiguous", "h5py"},
		{"gzip.h5", "HDF5, float32, shuffle and gzip", "h5py"},
		{"int16.flac", "FLAC, 16 bit", "soundfile"},
		{"float64.parquet", "Parquet, float64", ""},
		{"binary.uff", "UFF 58b, float64", "pyuff"},
		{"text.uff", "UFF 58, 6 digits", "pyuff"},
		{"savetxt.txt", "text, 18 digits (numpy.savetxt)", "numpy.loadtxt"},
		{"short.csv", "text, 6 digits, commas", "numpy.loadtxt"},
	} {
		path := filepath.Join(dir, f[0])
		st, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(w, "| %s | | | %s is not installed | | |\n", f[1], f[2])
			continue
		}

		if err != nil {
			return fmt.Errorf("find file: %w", err)
		}

		ours, sum, rows := math.Inf(1), 0.0, int64(0)
		if sum, rows, err = readAll(path, true); err != nil {
			return err
		}

		for range 3 {
			before := cpu()

			if _, _, err = readAll(path, false); err != nil {
				return err
			}

			ours = min(ours, cpu()-before)
		}

		mb := float64(st.Size()) / 1e6
		if f[2] == "" {
			fmt.Fprintf(w, "| %s | %.1f | %.0f | | | |\n", f[1], mb, mb/ours)
			continue
		}

		out, err := exec.Command(python, script, "read", path).Output()
		if err != nil {
			return fmt.Errorf("read %s by Python: %w", f[0], err)
		}

		var theirs, theirSum float64

		var theirRows int64
		if _, err := fmt.Sscan(string(out), &theirs, &theirSum, &theirRows); err != nil {
			return fmt.Errorf("read %s by Python: %w in %q", f[0], err, out)
		}

		if rows != theirRows || math.Abs(sum-theirSum) > 1e-6*math.Sqrt(float64(rows)) {
			return fmt.Errorf("%s: %d rows with the sum %g, Python has %d and %g", f[0], rows, sum, theirRows, theirSum)
		}

		fmt.Fprintf(w, "| %s | %.1f | %.0f | %s | %.0f | %.2f |\n", f[1], mb, mb/ours, f[2], mb/theirs, theirs/ours)
	}

	return nil
}

// writeParquet writes four columns of noise, as pipeline export writes a table.
func writeParquet(path string, rows int) error {
	rng := rand.New(rand.NewPCG(1, 1))
	t := &table.Table{}
	for _, name := range []string{"a", "b", "c", "d"} {
		x := make([]float64, rows)
		for i := range x {
			x[i] = 0.1 * rng.NormFloat64()
		}

		t.Columns = append(t.Columns, table.Column{Name: name, Floats: x})
	}

	return export.WriteFile(path, func(w io.Writer) error { return export.Parquet(w, t) })
}

// cpu is the CPU time of this process in s.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}

	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// readAll opens a file and reads all channels, block by block, and adds up their
// samples if that is wanted.
func readAll(path string, add bool) (sum float64, rows int64, err error) {
	r, err := format.Open(path, ingest.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	var channels []int

	dst := [][]float64{}
	for i := range r.Info().Channels {
		channels, dst = append(channels, i), append(dst, make([]float64, 8192))
	}

	for {
		n, err := r.Read(channels, rows, dst)
		for _, x := range dst {
			if !add {
				break
			}

			for _, v := range x[:n] {
				sum += v
			}
		}

		rows += int64(n)
		if errors.Is(err, io.EOF) {
			return sum, rows, nil
		}

		if err != nil {
			return 0, 0, err
		}
	}
}

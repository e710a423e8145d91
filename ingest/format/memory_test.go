package format

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format/parquet"
)

// Files that are small because what they hold is constant (testdata/bombs: DuckDB, h5py
// and scipy wrote them): they are read, or refused by name, and the peak memory of a
// process that does so is at most 64 MiB and 4 times the file above that of one that
// does nothing, in addition to 12 bytes for each row of the row group of each channel of
// a Parquet file, which is held.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short, as the race detector runs, memory is not the program's alone")
	}

	idle := peak(t, "")
	for name, c := range map[string]struct {
		needs int64
		want  string
	}{
		"constant.parquet":    {0, "expected at most 4194438 rows in a file of 536 bytes, found 16777216"},
		"words.parquet table": {0, "expected at most 4194436 rows"},
		"rows.parquet":        {2 * 12 * 4e6, "8000000 values of 2 channels"},
		"rows.parquet table":  {0, "expected columns of at most 16778288 bytes, found 64000000"},
		"chunk.h5.gz":         {0, "expected chunks of at most 17041634 bytes"},
		"long.parquet table":  {0, "expected a table of at most 8398784 bytes of text"},
		"columns.mat.gz":      {0, "33554432 values of 4 channels"},
		"many.h5.gz":          {0, "4000 values of 2000 channels"},
	} {
		file, table, _ := strings.Cut(name, " ")
		path := plain(t, filepath.Join("testdata/bombs", file))
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}

		got, said := peakOf(t, path+" "+table)
		if most := 64<<20 + 4*st.Size() + c.needs; got-idle > most || !strings.Contains(said, c.want) {
			t.Errorf("%s of %d bytes: %d MiB, expected at most %d: %s", name, st.Size(), (got-idle)>>20, most>>20, said)
		}

		t.Logf("%s: %.1f MiB for %d bytes: %s", name, float64(got-idle)/(1<<20), st.Size(), said)
	}
}

func peak(t *testing.T, of string) int64 {
	got, _ := peakOf(t, of)
	return got
}

// peakOf runs TestReadAll in a process of its own and returns the most memory it had,
// and what it said.
func peakOf(t *testing.T, of string) (bytes int64, said string) {
	t.Helper()

	c := exec.Command(os.Args[0], "-test.run", "^TestReadAll$", "-test.v")
	c.Env = append(os.Environ(), "DOUBLETAKE_READ="+of+" ")

	b, err := c.CombinedOutput()
	m := regexp.MustCompile(`peak (\d+) kB: (.*)`).FindStringSubmatch(string(b))
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, b)
	}

	kb, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}

	return kb << 10, m[2]
}

// TestReadAll is the process that peakOf measures.
func TestReadAll(t *testing.T) {
	of := os.Getenv("DOUBLETAKE_READ")
	if of == "" {
		t.Skip("started by TestMemory")
	}

	said := "nothing"
	if path, table, _ := strings.Cut(strings.TrimSpace(of), " "); path != "" {
		said = readAll(path, table != "")
	}

	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}

	most := regexp.MustCompile(`VmHWM:(.*)`).FindStringSubmatch(string(status))[1]
	fmt.Printf("peak %s: %s\n", strings.TrimSpace(most), said)
}

// readAll reads every channel, one after the other, or the file as a table.
func readAll(path string, table bool) string {
	if table {
		src, err := ingest.OpenSource(path)
		if err != nil {
			return err.Error()
		}

		_, err = parquet.Text(src)

		return fmt.Sprint(err)
	}

	r, err := Open(path, ingest.Options{})
	if err != nil {
		return err.Error()
	}

	n, x := int64(0), make([]float64, 4096)
	for c := range r.Info().Channels {
		for at := int64(0); ; at += int64(len(x)) {
			k, err := r.Read([]int{c}, at, [][]float64{x})

			n += int64(k)
			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				return err.Error()
			}
		}
	}

	return fmt.Sprintf("%d values of %d channels", n, len(r.Info().Channels))
}

// plain returns the path of a file, decompressed if it ends in .gz.
func plain(t *testing.T, path string) string {
	name, packed := strings.CutSuffix(filepath.Base(path), ".gz")
	if !packed {
		return path
	}

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}

	out := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(out, b, 0o600); err != nil {
		t.Fatal(err)
	}

	return out
}

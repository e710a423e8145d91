package pipeline_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/kv"
	"doubletake/pipeline"
	"doubletake/pipeline/inspect"
	"doubletake/report/answer/judge"
	"doubletake/report/answer/library"
	"doubletake/report/pairs"
	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// Files that are small because what they hold is constant (bombs: DuckDB, h5py and scipy wrote them), and with
// DOUBLETAKE_LONG=1 tables of 27 MB and looks at many arrays: they are read, or refused by name. The test prints the
// peak memory of a process that reads one, and says so if that memory is above its bound: 64 MiB and 4 times the file
// more than a process that does nothing, and 12 bytes for each row of the row group of each channel of a Parquet file,
// which the reader holds.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short, as the race detector runs, memory is not the program's alone")
	}

	idle := peak(t, "")
	for _, c := range []struct {
		file  string
		how   string
		needs int64
		want  string
	}{
		{"constant.parquet", "read", 0, "expected at most 4194438 rows in a file of 536 bytes, found 16777216"},
		{"words.parquet", "table", 0, "expected at most 4194436 rows"},
		{"rows.parquet", "read", 2 * 12 * 4e6, "8000000 values of 2 channels"},
		{"rows.parquet", "table", 0, "expected columns of at most 16778288 bytes, found 64000000"},
		{"chunk.h5.gz", "read", 0, "expected chunks of at most 17041634 bytes"},
		{"long.parquet", "table", 0, "expected a table of at most 8398784 bytes of text"},
		{"columns.mat.gz", "read", 0, "33554432 values of 4 channels"},
		{"many.h5.gz", "read", 0, "40000 values of 20000 channels"},
		{"many.h5.gz", "inspect", 0, "20000 channels"},
		{"many.npz", "read", 0, "20000 values of 5000 channels"},
		{"many.npz", "inspect", 0, "5000 channels"},
		{"log.csv", "log", 0, "<nil>"},
		{"pairs.csv", "pairs", 0, "900000 pairs"},
		{"pairs.csv", "predictions", 0, "found no row"},
		{"repeats.csv", "repeats", 0, "450000 pairs"},
		{"repeats.csv", "within", 0, "450000 pairs"},
		{"repeats.csv", "all", 0, "450000 pairs"},
		{"repeats.csv", "across", 0, "900000 pairs"},
		{"repeats.csv", "alone", 0, "none among 900000 rows"},
		{"left-out.arrow", "library", 0, "200 groups"},
	} {
		slow := c.how == "inspect" || slices.Contains([]string{".csv", ".arrow"}, filepath.Ext(c.file))
		if slow && os.Getenv("DOUBLETAKE_LONG") == "" {
			continue
		}

		path := large(t, c.file)
		if path == "" {
			path = plain(t, filepath.Join("../ingest/format/testdata/bombs", c.file))
		}

		st, err := os.Stat(path)
		require.NoError(t, err)

		most := 64<<20 + 4*st.Size() + c.needs
		got, said := peakOf(t, path+" "+c.how)
		for round := 1; round < 3 && got-idle > most; round++ { // other work on the machine may delay the collector
			got = min(got, peak(t, path+" "+c.how))
		}

		assert.Contains(t, said, c.want, "%s %s", c.how, c.file)
		measured := fmt.Sprintf("bytes of memory to %s %s of %d bytes", c.how, c.file, st.Size())
		ingesttest.ReportBound(t, measured, got-idle, most)
		t.Logf("%s %s: %.1f MiB for %.1f: %s", c.how, c.file, float64(got-idle)/(1<<20), float64(st.Size())/(1<<20), said)
	}
}

// large makes a file of that name; "" where it is none of those that are made.
func large(t *testing.T, name string) string {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	var b bytes.Buffer
	switch name {
	case "many.npz":
		z := zip.NewWriter(&b)
		for i := range 5000 {
			w, err := z.Create(fmt.Sprintf("a%d.npy", i))
			require.NoError(t, err)
			_, err = w.Write(ingesttest.Columns(false, []float64{1, 2, float64(i), 4}))
			require.NoError(t, err)
		}

		require.NoError(t, z.Close())

	case "log.csv": // ten recordings, and the rows of others
		write(t, dir, "pipeline.yaml", "version: 1\nexperiments: {e: {ingest: {files: data/*.wav, conditions: log.csv, "+
			"calibration: {unit: full-scale}}, dsp: {triplets: split-half-spectrum}}}\n")

		b.WriteString("file,blades,rpm,theta_deg,U\n")
		for i := range 770000 {
			fmt.Fprintf(&b, "rec_%06d.wav,%d,%d.%d,%d.5,%d.25\n", i, 2+i%2, 3000+i%977, i%7, i%90, 10+i%5)
		}

		require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
		for i := range 10 {
			write(t, dir, fmt.Sprintf("data/rec_%06d.wav", i), string(ingesttest.PCM16(1, 1, 2, 3, 4).Bytes()))
		}

	case "pairs.csv", "repeats.csv":
		times := map[string]int{"pairs.csv": 1, "repeats.csv": 2}[name]
		write(t, dir, "against.csv", "a,b,p_1,p_2\n"+strings.Repeat("1,-1,3,4\n", 8))
		b.WriteString("a,b,p_1,p_2,p,day\n")
		for i := range 900000 {
			k := i / times
			fmt.Fprintf(&b, "%d,%d.%d,%d.5,%d.25,0.125,2026-11-%d\n", k, k%90, k%7, i%997, i%91, 25+i%2)
		}

	case "left-out.arrow":
		var names []string
		var left []scale.Group
		for i := range 200 {
			ones := slices.Repeat([]float64{1}, 2500)
			names = append(names, fmt.Sprintf("group %d", i))
			left = append(left, scale.Group{Conditions: len(ones), Distance: ones, Claim: ones, Noise: ones, Residual: ones})
		}

		tab := leftout.Table(names, left, []string{"thrust"})
		tab.Meta = []kv.Pair{{Key: "experiment", Value: "e"}, {Key: "condition", Value: "blades"}, {Key: "base", Value: "gp"}}
		_, err := tab.WriteFile(path)
		require.NoError(t, err)

		return path

	default:
		return ""
	}

	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))

	return path
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
	require.NoError(t, err)
	require.NotNil(t, m, "%v: %s", err, b)

	kb, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(t, err)

	return kb << 10, m[2]
}

// TestReadAll is the process that peakOf measures.
func TestReadAll(t *testing.T) {
	of := os.Getenv("DOUBLETAKE_READ")
	if of == "" {
		t.Skip("started by TestMemory")
	}

	said := "nothing"
	if path, how, _ := strings.Cut(strings.TrimSpace(of), " "); path != "" {
		said = readAll(t, path, how)
	}

	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}

	most := regexp.MustCompile(`VmHWM:(.*)`).FindStringSubmatch(string(status))[1]
	fmt.Printf("peak %s: %s\n", strings.TrimSpace(most), said)
}

// readAll reads a file: every channel, one after the other, or as something else.
func readAll(t *testing.T, path, how string) string {
	switch how {
	case "table":
		src, err := ingest.OpenSource(path, "")
		if err == nil {
			_, err = parquet.Text(src)
		}

		return fmt.Sprint(err)

	case "inspect":
		d, err := inspect.File(t.Context(), path, ingest.Options{})
		require.NoError(t, err)

		return fmt.Sprintf("%d channels", len(d.Recording.Channels))

	case "log":
		p, err := pipeline.Load(filepath.Join(filepath.Dir(path), "pipeline.yaml"))
		require.NoError(t, err)
		_, err = p.Status()

		return fmt.Sprint(err)

	case "pairs", "repeats", "within", "all", "across", "alone":
		o := campaign.TableOptions{Inputs: []string{"a", "b"}, Repeats: []string{"p"}, AllPairs: how == "all"}
		switch how {
		case "pairs":
			o.Repeats = nil
			o.Y1 = []string{"p_1"}
			o.Y2 = []string{"p_2"}
		case "within":
			tolerance, err := condition.ParseTolerance("0.2")
			require.NoError(t, err)

			o.Within = map[string]condition.Tolerance{"b": tolerance}
		case "across":
			o.Labels = []string{"day"}
			o.Across = "day"
		case "alone":
			o.Inputs = append(o.Inputs, "p_1")
		}

		p, err := campaign.ReadTables([]campaign.TableFile{{Path: path, Name: path}}, o)
		if err != nil {
			return err.Error()
		}

		return fmt.Sprintf("%d pairs", p.N)

	case "library":
		l, err := library.Learn(t.Context(), []string{filepath.Dir(path)}, "lab")
		require.NoError(t, err)

		return fmt.Sprintf("%d groups", l.Groups)

	case "predictions":
		_, err := judge.Judge(t.Context(), judge.Options{
			Predictions: path, Against: pairs.FromPath(filepath.Join(filepath.Dir(path), "against.csv")), Level: 0.95,
		})

		return fmt.Sprint(err)
	}

	r, err := format.Open(path, ingest.Options{})
	if err != nil {
		return err.Error()
	}

	n := int64(0)
	x := make([]float64, 4096)
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
	require.NoError(t, err)
	defer f.Close()

	z, err := gzip.NewReader(f)
	require.NoError(t, err)

	b, err := io.ReadAll(z)
	require.NoError(t, err)

	out := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(out, b, 0o600))

	return out
}

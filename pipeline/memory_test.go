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
	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/report/answer/inspect"
	"doubletake/report/answer/judge"
	"doubletake/report/answer/library"
	"doubletake/report/pairs"
	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// Files that are small because their content is constant (bombs, which DuckDB, h5py and scipy wrote) are read, or
// refused with what was found. So are tables of 27 MB and files with many arrays, with DOUBLETAKE_LONG=1. The test
// prints the peak memory of a process that reads one file, and says so if that memory is above its bound: 64 MiB and 4
// times the file more than a process that does nothing, and for a Parquet file 12 bytes for each row of the row group
// of each channel, which the reader keeps.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short, as the race detector runs, memory is not the program's alone")
	}

	if _, err := os.Stat(processStatus); err != nil {
		t.Skip("this system has no " + processStatus + ", which states the peak of the memory")
	}

	idle, _ := peakMemory(t, "", "")
	for _, c := range []struct {
		file  string
		use   string // of use
		needs int64  // bytes beyond the common bound
		want  string // in what use says
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
		isSlow := c.use == "inspect" || slices.Contains([]string{".csv", ".arrow"}, filepath.Ext(c.file))
		if isSlow && !longtest.IsLong() {
			continue
		}

		path := memoryFile(t, c.file)
		info, err := os.Stat(path)
		require.NoError(t, err)

		bound := 64<<20 + 4*info.Size() + c.needs
		peak, said := peakMemory(t, path, c.use)
		for round := 1; round < 3 && peak-idle > bound; round++ { // other work on the machine may delay the collector
			again, _ := peakMemory(t, path, c.use)
			peak = min(peak, again)
		}

		assert.Contains(t, said, c.want, "%s %s", c.use, c.file)
		measured := fmt.Sprintf("bytes of memory to %s %s of %d bytes", c.use, c.file, info.Size())
		ingesttest.ReportBound(t, measured, peak-idle, bound)
		t.Logf("%s %s: %.1f MiB for %.1f: %s", c.use, c.file, float64(peak-idle)/(1<<20), float64(info.Size())/(1<<20), said)
	}
}

// processStatus is the file in which Linux states the memory of the process that reads it.
const processStatus = "/proc/self/status"

// memoryFile returns the path of a file of TestMemory, which is written here or comes from the bombs of ingest/format.
func memoryFile(t *testing.T, name string) string {
	t.Helper()

	switch name {
	case "many.npz":
		return writeManyArrays(t)
	case "log.csv":
		return writeLargeLog(t)
	case "pairs.csv":
		return writeLargeTable(t, name, 1)
	case "repeats.csv":
		return writeLargeTable(t, name, 2)
	case "left-out.arrow":
		return writeLeftOutGroups(t)
	default:
		return decompressed(t, filepath.Join("../ingest/format/testdata/bombs", name))
	}
}

// writeManyArrays writes an NPZ file of 5000 arrays.
func writeManyArrays(t *testing.T) string {
	t.Helper()

	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for i := range 5000 {
		w, err := archive.Create(fmt.Sprintf("a%d.npy", i))
		require.NoError(t, err)
		_, err = w.Write(ingesttest.Columns(false, []float64{1, 2, float64(i), 4}))
		require.NoError(t, err)
	}

	require.NoError(t, archive.Close())

	path := filepath.Join(t.TempDir(), "many.npz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))

	return path
}

// writeLargeLog writes a log of 770,000 recordings, of which ten exist, and their configuration.
func writeLargeLog(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", "version: 1\nexperiments: {e: {ingest: {files: data/*.wav, conditions: log.csv, "+
		"calibration: {unit: full-scale}}, dsp: {triplets: split-half-spectrum}}}\n")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	for i := range 10 {
		write(t, dir, fmt.Sprintf("data/rec_%06d.wav", i), string(ingesttest.PCM16(1, 1, 2, 3, 4).Bytes()))
	}

	var log strings.Builder
	log.WriteString("file,blades,rpm,theta_deg,U\n")
	for i := range 770000 {
		fmt.Fprintf(&log, "rec_%06d.wav,%d,%d.%d,%d.5,%d.25\n", i, 2+i%2, 3000+i%977, i%7, i%90, 10+i%5)
	}

	write(t, dir, "log.csv", log.String())

	return filepath.Join(dir, "log.csv")
}

// writeLargeTable writes a table of 900,000 rows, which has each condition the given number of times, and a small one
// of pairs, against.csv, beside it.
func writeLargeTable(t *testing.T, name string, times int) string {
	t.Helper()

	dir := t.TempDir()
	write(t, dir, "against.csv", "a,b,p_1,p_2\n"+strings.Repeat("1,-1,3,4\n", 8))

	var rows strings.Builder
	rows.WriteString("a,b,p_1,p_2,p,day\n")
	for i := range 900000 {
		condition := i / times
		fmt.Fprintf(&rows, "%d,%d.%d,%d.5,%d.25,0.125,2026-11-%d\n", condition, condition%90, condition%7, i%997, i%91,
			25+i%2)
	}

	write(t, dir, name, rows.String())

	return filepath.Join(dir, name)
}

// writeLeftOutGroups writes the table of 200 left-out groups of 2500 conditions each.
func writeLeftOutGroups(t *testing.T) string {
	t.Helper()

	var names []string
	var groups []scale.Group
	for i := range 200 {
		ones := slices.Repeat([]float64{1}, 2500)
		names = append(names, fmt.Sprintf("group %d", i))
		groups = append(groups, scale.Group{Conditions: len(ones), Distance: ones, Claim: ones, Noise: ones, Residual: ones})
	}

	tab := leftout.Table(names, groups, []string{"thrust"})
	tab.Meta = []kv.Pair{{Key: "experiment", Value: "e"}, {Key: "condition", Value: "blades"}, {Key: "base", Value: "gp"}}
	path := filepath.Join(t.TempDir(), "left-out.arrow")
	_, err := tab.WriteFile(path)
	require.NoError(t, err)

	return path
}

// Environment variables of the process that peakMemory starts.
const (
	memoryFileVariable = "DOUBLETAKE_READ"
	memoryUseVariable  = "DOUBLETAKE_READ_USE"
)

// peakMemory uses a file in a process of its own, which does nothing if the path is "". It returns the most memory that
// the process had, and what it said of the file.
func peakMemory(t *testing.T, path, use string) (bytes int64, said string) {
	t.Helper()

	cmd := exec.Command(os.Args[0], "-test.run", "^TestUseOfMemory$", "-test.v")
	cmd.Env = append(os.Environ(), memoryFileVariable+"="+path, memoryUseVariable+"="+use)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)

	line := regexp.MustCompile(`peak (\d+) kB: (.*)`).FindStringSubmatch(string(output))
	require.NotNil(t, line, "the process printed %s", output)

	kilobytes, err := strconv.ParseInt(line[1], 10, 64)
	require.NoError(t, err)

	return kilobytes << 10, line[2]
}

// TestUseOfMemory is the process that peakMemory starts.
func TestUseOfMemory(t *testing.T) {
	path, isSet := os.LookupEnv(memoryFileVariable)
	if !isSet {
		t.Skip("started by TestMemory")
	}

	said := "nothing"
	if path != "" {
		said = useFile(t, path, os.Getenv(memoryUseVariable))
	}

	status, err := os.ReadFile(processStatus)
	require.NoError(t, err)

	peak := regexp.MustCompile(`VmHWM:(.*)`).FindStringSubmatch(string(status))[1]
	fmt.Printf("peak %s: %s\n", strings.TrimSpace(peak), said)
}

// useFile uses a file in one of the ways that the program has, and says in words what came of it.
func useFile(t *testing.T, path, use string) string {
	t.Helper()

	switch use {
	case "read":
		return readSamples(path)

	case "table":
		source, err := ingest.OpenSource(path, "")
		require.NoError(t, err)

		_, err = parquet.Text(source)

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

	case "library":
		l, err := library.Learn(t.Context(), []string{filepath.Dir(path)}, "lab")
		require.NoError(t, err)

		return fmt.Sprintf("%d groups", l.Groups)

	case "predictions":
		_, err := judge.Judge(t.Context(), judge.Options{
			Predictions: path, Against: pairs.FromPath(filepath.Join(filepath.Dir(path), "against.csv")), Level: 0.95,
		})

		return fmt.Sprint(err)

	default:
		return pairRows(t, path, use)
	}
}

// pairRows reads a table of pairs, or pairs the rows of a table of repeats in one of several ways.
func pairRows(t *testing.T, path, use string) string {
	t.Helper()

	o := campaign.TableOptions{Inputs: []string{"a", "b"}, Repeats: []string{"p"}}
	switch use {
	case "repeats":
	case "all":
		o.AllPairs = true
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
	case "alone": // with p_1 as an input no condition is repeated
		o.Inputs = append(o.Inputs, "p_1")
	default:
		t.Fatalf("unknown use %q", use)
	}

	p, err := campaign.ReadTables([]campaign.TableFile{{Path: path, Name: path}}, o)
	if err != nil {
		return err.Error()
	}

	return fmt.Sprintf("%d pairs", p.N)
}

// readSamples reads all samples of a recording, one channel after the other, and says how many there are.
func readSamples(path string) string {
	r, err := format.Open(path, ingest.Options{})
	if err != nil {
		return err.Error()
	}

	values := int64(0)
	block := make([]float64, 4096)
	for channel := range r.Info().Channels {
		start := int64(0)
		for {
			n, err := r.Read([]int{channel}, start, [][]float64{block})
			values += int64(n)
			start += int64(len(block))

			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				return err.Error()
			}
		}
	}

	return fmt.Sprintf("%d values of %d channels", values, len(r.Info().Channels))
}

// decompressed returns the path of a file. If it ends in .gz, that is the path of a decompressed copy.
func decompressed(t *testing.T, path string) string {
	t.Helper()

	name, isCompressed := strings.CutSuffix(filepath.Base(path), ".gz")
	if !isCompressed {
		return path
	}

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()

	z, err := gzip.NewReader(f)
	require.NoError(t, err)

	b, err := io.ReadAll(z)
	require.NoError(t, err)

	copied := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(copied, b, 0o600))

	return copied
}

package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/report/answer/export"
)

// column and file are what the scripts of testdata print.
type column struct {
	Unit   string `json:"unit"`
	Values []any  `json:"values"`
}

type file struct {
	Columns  map[string]column `json:"columns"`
	Metadata map[string]string `json:"metadata"`
}

// printed is what a script must print of a table.
func printed(t *table.Table) file {
	f := file{Columns: map[string]column{}, Metadata: map[string]string{}}
	for _, kv := range t.Meta {
		f.Metadata[kv.Key] = kv.Value
	}

	for i := range t.Columns {
		c := &t.Columns[i]

		v := []any{}
		for r := range t.Rows() {
			switch {
			case c.Strings != nil:
				v = append(v, c.Strings[r])
			case c.Ints != nil:
				v = append(v, fmt.Sprint(c.Ints[r]))
			case c.Bools != nil:
				v = append(v, c.Bools[r])
			case c.Lists != nil:
				l := []any{}
				for _, x := range c.Lists[r] {
					l = append(l, fmt.Sprintf("%08x", math.Float32bits(x)))
				}

				v = append(v, l)

			case c.Floats[r] != c.Floats[r]:
				v = append(v, nil)
			default:
				v = append(v, fmt.Sprintf("%016x", math.Float64bits(c.Floats[r])))
			}
		}

		f.Columns[c.Name] = column{c.Unit, v}
	}

	return f
}

func compare(t *testing.T, name string, got, want file) {
	t.Helper()

	for n, w := range want.Columns {
		g, ok := got.Columns[n]
		switch {
		case !ok:
			t.Errorf("%s: no column %q", name, n)
		case g.Unit != w.Unit:
			t.Errorf("%s: %s has unit %q, expected %q", name, n, g.Unit, w.Unit)
		case len(g.Values) != len(w.Values):
			t.Errorf("%s: %s has %d values, expected %d", name, n, len(g.Values), len(w.Values))
		default:
			for i := range w.Values {
				if !reflect.DeepEqual(g.Values[i], w.Values[i]) {
					t.Errorf("%s: %s, row %d is %q, expected %q", name, n, i, g.Values[i], w.Values[i])
					break
				}
			}
		}
	}

	assert.Len(t, got.Columns, len(want.Columns), "%s: columns", name)

	for k, v := range want.Metadata {
		if g, ok := got.Metadata[k]; !ok || g != v {
			t.Errorf("%s: metadata %q is %q, expected %q", name, k, g, v)
		}
	}
}

// absent skips a test whose witness is not installed, or fails it where the
// variable asks for it.
func absent(t *testing.T, variable, format string, args ...any) {
	t.Helper()

	if os.Getenv(variable) == "1" {
		t.Fatalf(variable+"=1, but "+format, args...)
	}

	t.Skipf("not compared: "+format, args...)
}

// python returns a Python with these modules.
func python(t *testing.T, modules string) string {
	t.Helper()

	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import "+modules).Run() == nil {
			return p
		}
	}

	absent(t, "DOUBLETAKE_REQUIRE_SCIPY", "no python3 has %s (apt-get install python3-scipy)", modules)

	return ""
}

// exported writes every table as Arrow and exports it.
func exported(t *testing.T, format string) (names, paths []string) {
	t.Helper()
	dir := t.TempDir()

	n := 0
	for name, tab := range tabletest.Tables() {
		if name == "long" && format != "parquet" {
			continue // CSV has no groups of rows
		}

		n++

		p := filepath.Join(dir, "runs", "sub", name+".arrow")
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o777))

		_, err := tab.WriteFile(p)
		require.NoError(t, err)
	}

	list, err := export.Find(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Len(t, list, n)

	for _, s := range list {
		written, err := export.Write(filepath.Join(dir, "out"), format, s)
		require.NoError(t, err)

		name := strings.TrimPrefix(s.Name, "sub/")
		tab := tabletest.Tables()[name]
		assert.Equal(t, filepath.Join(dir, "out", "sub", name+"."+format), written.Paths[0], "%s: path", s.Name)
		assert.Equal(t, tab.Rows(), written.Rows, "%s: rows", s.Name)
		assert.Equal(t, len(tab.Columns), written.Columns, "%s: columns", s.Name)

		names = append(names, name)
		paths = append(paths, written.Paths[0])
	}

	return names, paths
}

func read(t *testing.T, format string, names, paths []string, command ...string) {
	t.Helper()
	c := exec.Command(command[0], append(command[1:], paths...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, "%q: %v\n%s", command, err, &stderr)

	var got []file
	require.NoError(t, json.Unmarshal(out, &got), "%q", command)
	require.Len(t, got, len(names), "%q", command)

	for i, name := range names {
		compare(t, format+" "+name, got[i], printed(tabletest.Tables()[name]))
	}
}

// Python reads CSV files: equal values and units.
func TestPythonReads(t *testing.T) {
	names, paths := exported(t, "csv")
	read(t, "csv", names, paths, python(t, "numpy"), "testdata/read.py")
}

// hyparquet and DuckDB read Parquet files: equal values and units.
func TestParquet(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		absent(t, "DOUBLETAKE_REQUIRE_NODE", "node is not installed")
	}

	for _, name := range []string{"hyparquet", "@duckdb/node-api"} {
		if _, err := os.Stat("testdata/parquet/node_modules/" + name + "/package.json"); err != nil {
			absent(t, "DOUBLETAKE_REQUIRE_NODE",
				"npm "+name+" is not installed (npm ci in report/answer/export/testdata/parquet)")
		}
	}

	names, paths := exported(t, "parquet")
	read(t, "parquet", names, paths, node, "testdata/parquet/read.mjs")
	read(t, "parquet", names, paths, node, "testdata/parquet/duckdb.mjs")
}

// The house's own reader reads the numbers of a Parquet file too, over the end of a
// group of rows.
func TestParquetReads(t *testing.T) {
	tab := tabletest.Tables()["long"]
	tab.Columns = append(tab.Columns, table.Column{Name: "a", Unit: "m/s", Ints: make([]int64, tab.Rows())})

	var b bytes.Buffer
	require.NoError(t, export.Parquet(&b, tab))

	r, err := parquet.Format.Open(ingesttest.Source(b.Bytes()), ingest.Options{})
	require.NoError(t, err)

	info := r.Info()
	assert.Equal(t, "Parquet, 2 row groups", info.Encoding)
	assert.Equal(t, "x", info.Channels[0].Name)
	assert.Equal(t, "a", info.Channels[1].Name)
	assert.Equal(t, "m/s", info.Channels[1].Unit)

	ingesttest.Equal(t, ingesttest.ReadAll(t, r)[0], tab.Columns[0].Floats)
}

// A group ends before 64 MiB, so that a reader need not hold more.
func TestParquetGroups(t *testing.T) {
	longtest.Skip(t, "writes 84 MB")

	list := make([]float32, 1<<20)

	tab := &table.Table{Columns: []table.Column{{Name: "l"}, {Name: "n", Ints: make([]int64, 20)}}}
	for range 20 {
		tab.Columns[0].Lists = append(tab.Columns[0].Lists, list) // 4 MiB
	}

	var b bytes.Buffer
	require.NoError(t, export.Parquet(&b, tab))

	r, err := parquet.Format.Open(ingesttest.Source(b.Bytes()), ingest.Options{})
	require.NoError(t, err)
	assert.Equal(t, "Parquet, 2 row groups", r.Info().Encoding)
}

// Equal tables give equal files.
func TestEqualFiles(t *testing.T) {
	for _, format := range export.Formats() {
		_, a := exported(t, format)

		_, b := exported(t, format)
		for i := range a {
			first := testfile.Read(t, a[i])
			second := testfile.Read(t, b[i])
			assert.NotEmpty(t, first, a[i])
			assert.True(t, bytes.Equal(first, second), "%s and %s have the same bytes", a[i], b[i])
		}
	}
}

// What cannot be exported is an error that names the place.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := export.Find(filepath.Join(dir, "none"))
	assert.ErrorContains(t, err, "expected a folder with tables")

	_, err = export.Find(dir)
	assert.ErrorContains(t, err, "expected tables (*.arrow), found none in the folder")

	bad := filepath.Join(dir, "bad.arrow")
	require.NoError(t, os.WriteFile(bad, []byte("no table"), 0o644))

	_, err = export.Write(dir, "csv", export.Source{Path: bad, Name: "bad"})
	assert.ErrorContains(t, err, bad)

	tab := &table.Table{}
	tab.Make("y", "", "").Floats = []float64{1, 2}
	good := filepath.Join(dir, "good.arrow")
	_, err = tab.WriteFile(good)
	require.NoError(t, err)

	// The command exits with status 1 if a file cannot be written, and with another status for a *fault.Error.
	for _, format := range export.Formats() {
		taken := filepath.Join(dir, "taken."+format)
		require.NoError(t, os.MkdirAll(filepath.Join(taken, "folder"), 0o777))

		_, err = export.Write(dir, format, export.Source{Path: good, Name: "taken"})
		assert.ErrorContains(t, err, taken, "a folder of the name of the file")
		assert.NotErrorAs(t, err, new(*fault.Error), "%s: the table that was read is not at fault", format)

		_, err = export.Write(good, format, export.Source{Path: good, Name: "inside"})
		assert.ErrorContains(t, err, "mkdir "+good, "a file instead of the folder")
		assert.NotErrorAs(t, err, new(*fault.Error), "%s: the table that was read is not at fault", format)
	}

	left, err := filepath.Glob(filepath.Join(dir, ".tmp*"))
	require.NoError(t, err)
	assert.Empty(t, left, "files that are left behind")
}

// A table of one column whose second number is missing. Expected: a row for it, which readers of CSV do not skip.
func TestCSVOfOneColumn(t *testing.T) {
	tab := &table.Table{}
	tab.Make("y", "", "").Floats = []float64{1, math.NaN(), 2}

	var b bytes.Buffer
	require.NoError(t, export.CSV(&b, tab))
	assert.Equal(t, "y\n1\n\"\"\n2\n", b.String())

	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 4)
}

package table_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// jsColumn and jsFile are what testdata/arrowjs/read.mjs prints.
type jsColumn struct {
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Nullable bool        `json:"nullable"`
	Metadata [][2]string `json:"metadata"`
	Values   []any       `json:"values"`
}

type jsFile struct {
	Rows     int         `json:"rows"`
	Batches  int         `json:"batches"`
	Metadata [][2]string `json:"metadata"`
	Columns  []jsColumn  `json:"columns"`
}

// arrowJS returns the contents of files as npm apache-arrow reads them. It skips the test if node or the package is
// missing, unless DOUBLETAKE_REQUIRE_NODE is 1.
func arrowJS(t *testing.T, paths ...string) []jsFile {
	t.Helper()
	absent := func(format string, args ...any) {
		t.Helper()

		if os.Getenv("DOUBLETAKE_REQUIRE_NODE") == "1" {
			t.Fatalf("DOUBLETAKE_REQUIRE_NODE=1, but "+format, args...)
		}

		t.Skipf("Arrow JS is not compared: "+format, args...)
	}

	const dir = "testdata/arrowjs"

	node, err := exec.LookPath("node")
	if err != nil {
		absent("node is not installed")
	}

	if _, err := os.Stat(filepath.Join(dir, "node_modules", "apache-arrow", "package.json")); err != nil {
		absent("npm apache-arrow is not installed (npm ci in ingest/table/%s)", dir)
	}

	cmd := exec.Command(node, append([]string{filepath.Join(dir, "read.mjs")}, paths...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "read.mjs: %v\n%s", err, stderr.String())

	var files []jsFile
	if err := json.Unmarshal(out, &files); err != nil {
		t.Fatalf("read.mjs: %v in %.200s", err, out)
	}

	require.Len(t, files, len(paths), "read.mjs: files")

	return files
}

// fromGo describes a table as read.mjs should: type names as Arrow JS prints
// them, values to the bit.
func fromGo(t *table.Table) jsFile {
	f := jsFile{Rows: t.Rows(), Metadata: [][2]string{}}
	for _, kv := range t.Meta {
		f.Metadata = append(f.Metadata, [2]string{kv.Key, kv.Value})
	}

	for _, c := range t.Columns {
		j := jsColumn{Name: c.Name, Metadata: [][2]string{}, Values: []any{}}
		if c.Unit != "" {
			j.Metadata = append(j.Metadata, [2]string{"unit", c.Unit})
		}

		if c.Description != "" {
			j.Metadata = append(j.Metadata, [2]string{"description", c.Description})
		}

		switch {
		case c.Strings != nil:
			j.Type = "Utf8"
			for _, v := range c.Strings {
				j.Values = append(j.Values, v)
			}

		case c.Ints != nil:
			j.Type = "Int64"
			for _, v := range c.Ints {
				j.Values = append(j.Values, fmt.Sprint(v))
			}

		case c.Bools != nil:
			j.Type = "Bool"
			for _, v := range c.Bools {
				j.Values = append(j.Values, v)
			}

		case c.Lists != nil:
			j.Type = "List<Float32>"
			for _, l := range c.Lists {
				row := []any{}
				for _, v := range l {
					row = append(row, fmt.Sprintf("%08x", math.Float32bits(v)))
				}

				j.Values = append(j.Values, row)
			}

		default:
			j.Type = "Float64"
			j.Nullable = true
			for _, v := range c.Floats {
				if math.IsNaN(v) {
					j.Values = append(j.Values, nil)
				} else {
					j.Values = append(j.Values, fmt.Sprintf("%016x", math.Float64bits(v)))
				}
			}
		}

		f.Columns = append(f.Columns, j)
	}

	return f
}

// compare fails at the first difference. Arrow JS keeps metadata in a map, so that their order is not compared.
func compare(t *testing.T, name string, got, want jsFile) {
	t.Helper()

	require.Equal(t, want.Rows, got.Rows, "%s: rows", name)
	require.Len(t, got.Columns, len(want.Columns), "%s: columns", name)
	assert.ElementsMatch(t, want.Metadata, got.Metadata, "%s: metadata of the schema", name)

	for i, expected := range want.Columns {
		column := got.Columns[i]
		assert.Equal(t, expected.Name, column.Name, "%s: column %d", name, i)
		assert.Equal(t, expected.Type, column.Type, "%s: type of %s", name, expected.Name)
		assert.Equal(t, expected.Nullable, column.Nullable, "%s: whether %s is nullable", name, expected.Name)
		assert.ElementsMatch(t, expected.Metadata, column.Metadata, "%s: metadata of %s", name, expected.Name)
		require.Len(t, column.Values, len(expected.Values), "%s: values of %s", name, expected.Name)

		for row := range expected.Values {
			require.Equal(t, expected.Values[row], column.Values[row], "%s: %s, row %d", name, expected.Name, row)
		}
	}
}

// The tables have every type of column with the values that break readers, no rows, and several batches. The expected
// values are the Go slices that the table was written from.
func TestArrowJSTypes(t *testing.T) {
	dir := t.TempDir()
	tables := tabletest.Tables()
	order := slices.Sorted(maps.Keys(tables))
	require.Contains(t, order, "long")

	var paths []string
	for _, name := range order {
		p := filepath.Join(dir, name+".arrow")
		_, err := tables[name].WriteFile(p)
		require.NoError(t, err)

		paths = append(paths, p)
	}

	for i, got := range arrowJS(t, paths...) {
		compare(t, order[i], got, fromGo(tables[order[i]]))
		if order[i] == "long" {
			assert.Equal(t, 2, got.Batches, "batches of a table of 65536 and 3 rows")
		}
	}
}

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
	"reflect"
	"slices"
	"strings"
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

// arrowJS opens files with npm apache-arrow.
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
				if v != v {
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

// compare names the first difference. Arrow JS keeps metadata in a map: its
// order is not compared.
func compare(t *testing.T, name string, got, want jsFile) {
	t.Helper()

	if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) {
		t.Errorf("%s: Arrow JS sees %d rows of %d columns, expected %d of %d", name, got.Rows, len(got.Columns), want.Rows,
			len(want.Columns))
		return
	}

	same := func(a, b [][2]string) bool {
		order := func(x, y [2]string) int { return strings.Compare(x[0], y[0]) }
		a = slices.Clone(a)
		b = slices.Clone(b)
		slices.SortFunc(a, order)
		slices.SortFunc(b, order)

		return slices.Equal(a, b)
	}

	assert.True(t, same(got.Metadata, want.Metadata),
		"%s: schema metadata: Arrow JS sees\n%q, expected\n%q", name, got.Metadata, want.Metadata)

	for i, w := range want.Columns {
		g := got.Columns[i]
		if g.Name != w.Name || g.Type != w.Type || g.Nullable != w.Nullable || !same(g.Metadata, w.Metadata) {
			t.Errorf("%s: column %d: Arrow JS sees %q, %s, nullable %v, %q; expected %q, %s, nullable %v, %q",
				name, i, g.Name, g.Type, g.Nullable, g.Metadata, w.Name, w.Type, w.Nullable, w.Metadata)
			continue
		}

		if len(g.Values) != len(w.Values) {
			t.Errorf("%s: %s: Arrow JS sees %d values, expected %d", name, w.Name, len(g.Values), len(w.Values))
			continue
		}

		for r := range w.Values {
			if !reflect.DeepEqual(g.Values[r], w.Values[r]) {
				t.Errorf("%s: %s, row %d: Arrow JS sees %v, expected %v", name, w.Name, r, g.Values[r], w.Values[r])
				break
			}
		}
	}
}

// Every column type with the values that break readers; an empty table; a table of several
// batches. Expected values are the Go slices the table was written from.
func TestArrowJSTypes(t *testing.T) {
	dir := t.TempDir()
	tables := tabletest.Tables()
	order := slices.Sorted(maps.Keys(tables))

	var paths []string
	for _, name := range order {
		p := filepath.Join(dir, name+".arrow")
		_, err := tables[name].WriteFile(p)
		require.NoError(t, err)

		paths = append(paths, p)
	}

	for i, got := range arrowJS(t, paths...) {
		compare(t, order[i], got, fromGo(tables[order[i]]))
		assert.False(t, order[i] == "long" && got.Batches != 2,
			"long: Arrow JS sees %d batches, expected 2: 65536 rows and 3", got.Batches)
	}
}

package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The expected table is made of the same parts, joined in memory by Append.
func TestConcat(t *testing.T) {
	dir := t.TempDir()
	meta := []kv.Pair{{Key: "program", Value: "doubletake"}, {Key: "pairs", Value: "same-run"}}
	var want Table

	var parts []string
	for i, rows := range []int{0, 2, 0, 3, 1} {
		part := &Table{Meta: []kv.Pair{{Key: "part", Value: "of the whole"}}}
		if rows > 0 {
			runs := Column{Name: "run", Strings: []string{}}
			powers := Column{Name: "power", Unit: "Pa²", Description: "one-sided", Lists: [][]float32{}}
			levels := Column{Name: "level", Unit: "dB", Floats: []float64{}}
			for r := range rows {
				runs.Strings = append(runs.Strings, strings.Repeat("a", i+r))
				powers.Lists = append(powers.Lists, make([]float32, r+1))
				powers.Lists[r][r] = float32(i)
				levels.Floats = append(levels.Floats, float64(10*i+r))
			}

			part.Columns = []Column{runs, powers, levels}
			require.NoError(t, want.Append(part))
		}

		p := filepath.Join(dir, string(rune('a'+i)))
		_, err := part.WriteFile(p)
		require.NoError(t, err)

		parts = append(parts, p)
	}

	want.Meta = meta
	path := filepath.Join(dir, "joined.arrow")
	rows, err := Concat(path, meta, parts)
	require.NoError(t, err)
	require.Equal(t, 6, rows)

	got, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, &want, got)
}

// Parts without rows become a table without rows and columns.
func TestConcatNothing(t *testing.T) {
	dir := t.TempDir()
	part := filepath.Join(dir, "part.arrow")
	_, err := (&Table{}).WriteFile(part)
	require.NoError(t, err)

	path := filepath.Join(dir, "joined.arrow")
	rows, err := Concat(path, nil, []string{part})
	require.NoError(t, err)
	assert.Zero(t, rows)

	got, err := Read(path)
	require.NoError(t, err)
	assert.Empty(t, got.Columns)
}

// A part whose columns differ from the first part's, and a part that is not a table, are errors with the name of the
// part.
func TestConcatRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, columns ...Column) string {
		t.Helper()

		path := filepath.Join(dir, name)
		_, err := (&Table{Columns: columns}).WriteFile(path)
		require.NoError(t, err)

		return path
	}

	a := write("a", Column{Name: "x", Unit: "Pa", Floats: []float64{1}})

	junk := filepath.Join(dir, "junk")
	require.NoError(t, os.WriteFile(junk, []byte("ARROW1 and no more"), 0o644))

	for _, c := range []struct{ part, want string }{
		{write("unit", Column{Name: "x", Unit: "V", Floats: []float64{1}}), "expected column x"},
		{write("type", Column{Name: "x", Unit: "Pa", Ints: []int64{1}}), "expected column x"},
		{
			write("more", Column{Name: "x", Unit: "Pa", Floats: []float64{1}}, Column{Name: "y", Floats: []float64{1}}),
			"expected 1 columns, found 2",
		},
		{junk, "an Arrow IPC file"},
		{filepath.Join(dir, "absent"), "no such file"},
	} {
		_, err := Concat(filepath.Join(dir, "out"), nil, []string{a, c.part})
		assert.ErrorContains(t, err, c.want)
		assert.ErrorContains(t, err, filepath.Base(c.part))
	}
}

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

// Expected value: the same parts joined in memory by Append.
func TestConcat(t *testing.T) {
	dir := t.TempDir()
	meta := []kv.Pair{{Key: "program", Value: "doubletake"}, {Key: "pairs", Value: "same-run"}}
	var want Table

	var parts []string
	for i, rows := range []int{0, 2, 0, 3, 1} {
		part := &Table{Meta: []kv.Pair{{Key: "part", Value: "of the whole"}}}
		if rows > 0 {
			c := Column{Name: "run", Strings: []string{}}
			x := Column{Name: "power", Unit: "Pa²", Description: "one-sided", Lists: [][]float32{}}

			n := Column{Name: "level", Unit: "dB", Floats: []float64{}}
			for r := range rows {
				c.Strings = append(c.Strings, strings.Repeat("a", i+r))
				x.Lists = append(x.Lists, make([]float32, r+1))
				x.Lists[r][r] = float32(i)
				n.Floats = append(n.Floats, float64(10*i+r))
			}

			part.Columns = []Column{c, x, n}
			require.NoError(t, want.Append(part))
		}

		p := filepath.Join(dir, string(rune('a'+i)))
		_, err := part.WriteFile(p)
		require.NoError(t, err)

		parts = append(parts, p)
	}

	want.Meta = meta
	out := filepath.Join(dir, "out.arrow")
	rows, err := Concat(out, meta, parts)
	require.NoError(t, err)
	require.Equal(t, 6, rows, "%d rows, %v", rows, err)

	got, err := Read(out)
	require.NoError(t, err)

	assert.Equal(t, &want, got, "joined\n%+v, want\n%+v", got, &want)

	if rows, err := Concat(out, meta, parts[:1]); err != nil || rows != 0 {
		t.Errorf("of nothing: %d rows, %v", rows, err)
	}

	if _, err := Read(out); err != nil {
		t.Errorf("table of nothing: %v", err)
	}
}

func TestConcatRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, c ...Column) string {
		p := filepath.Join(dir, name)
		_, err := (&Table{Columns: c}).WriteFile(p)
		require.NoError(t, err)

		return p
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

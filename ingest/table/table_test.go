package table

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/internal/kv"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sample() *Table {
	return &Table{
		Meta: []kv.Pair{{Key: "program", Value: "doubletake"}, {Key: "config_digest", Value: "abc"}},
		Columns: []Column{
			{Name: "run", Description: "acquisition", Strings: []string{"a", "ä\x00b", ""}},
			{Name: "rpm", Unit: "1/min", Floats: []float64{1, math.NaN(), math.Inf(-1)}},
			{Name: "seed", Ints: []int64{1, -2, math.MaxInt64}},
			{Name: "emergent", Bools: []bool{true, false, true}},
			{Name: "power", Unit: "Pa²", Lists: [][]float32{{1, 2}, {}, {3}}},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	p := filepath.Join(t.TempDir(), "t.arrow")
	in := sample()
	digest, err := in.WriteFile(p)
	require.NoError(t, err)

	out, err := Read(p)
	require.NoError(t, err)

	if !math.IsNaN(out.Columns[1].Floats[1]) {
		t.Errorf("a missing number came back as %v, expected NaN", out.Columns[1].Floats[1])
	}

	in.Columns[1].Floats[1] = 0
	out.Columns[1].Floats[1] = 0
	out.Columns[4].Lists[1] = []float32{}
	assert.Equal(t, out, in, "round trip changed the table:\n%+v\n%+v", in, out)
	assert.Equal(t, sample().Digest(), digest, "the digest of the same table differs")
}

// The digest must see every value and unit, and must not see provenance.
func TestDigest(t *testing.T) {
	base := sample().Digest()
	m := sample()
	m.Meta[0].Value = "other version"
	assert.Equal(t, base, m.Digest(), "metadata changed the digest")

	for name, change := range map[string]func(*Table){
		"string": func(t *Table) { t.Columns[0].Strings[0] = "b" },
		"float":  func(t *Table) { t.Columns[1].Floats[0] = 2 },
		"int":    func(t *Table) { t.Columns[2].Ints[0] = 2 },
		"bool":   func(t *Table) { t.Columns[3].Bools[0] = false },
		"list":   func(t *Table) { t.Columns[4].Lists[0][0] = 9 },
		"unit":   func(t *Table) { t.Columns[1].Unit = "Hz" },
		"name":   func(t *Table) { t.Columns[1].Name = "rps" },
	} {
		u := sample()
		change(u)

		assert.NotEqual(t, base, u.Digest(), "%s: the digest did not change", name)
	}
}

func TestBatchesAndEmpty(t *testing.T) {
	p := filepath.Join(t.TempDir(), "t.arrow")
	n := batchRows + 17
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i)
	}

	in := &Table{Columns: []Column{{Name: "x", Floats: v}}}
	_, err := in.WriteFile(p)
	require.NoError(t, err)

	out, err := Read(p)
	require.NoError(t, err)

	assert.Equal(t, v, out.Columns[0].Floats, "values over two batches differ")

	empty := &Table{Columns: []Column{{Name: "x", Floats: []float64{}}, {Name: "s", Strings: []string{}}}}
	_, err = empty.WriteFile(p)
	require.NoError(t, err)

	if out, err = Read(p); err != nil || out.Rows() != 0 || len(out.Columns) != 2 {
		t.Errorf("empty table: %v, %+v", err, out)
	}
}

// Truncating an Arrow file anywhere must give an error, never a panic or a short table.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "t.arrow")
	_, err := sample().WriteFile(p)
	require.NoError(t, err)

	b := testfile.Read(t, p)

	q := filepath.Join(dir, "cut.arrow")
	for n := 0; n < len(b); n += 7 {
		require.NoError(t, os.WriteFile(q, b[:n], 0o600))

		if _, err := Read(q); err == nil {
			t.Fatalf("cut to %d of %d bytes: no error", n, len(b))
		}
	}
}

// A list that ends beyond its values is an error that names it, a panic of the
// library one that quotes it.
func TestReadDamagedList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lists.arrow")

	lists := &Table{Columns: []Column{{Name: "x", Lists: [][]float32{{1, 2}, {}, {3}, {4, 5, 6}}}}}
	_, err := lists.WriteFile(path)
	require.NoError(t, err)

	b := testfile.Read(t, path)

	offsets := []byte{0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0}
	at := bytes.Index(b, offsets)
	require.GreaterOrEqual(t, at, 0, "the lists' offsets are not where they are looked for")
	require.False(t, bytes.Contains(b[at+1:], offsets), "the lists' offsets are not where they are looked for")

	b[at+16] = 7
	require.NoError(t, os.WriteFile(path, b, 0o600))

	_, err = Read(path)
	assert.ErrorContains(t, err, `column "x": list 4 has the values 3 to 7 of 6`)

	// No words of Go's reach people, whatever byte is another one.
	b = testfile.Read(t, sampleFile(t))
	for i := 0; i < 8*len(b); i += longtest.Count(11, 5) {
		d := bytes.Clone(b)
		d[i/8] ^= 1 << (i % 8)
		require.NoError(t, os.WriteFile(path, d, 0o600))

		_, err = ReadVerified(path)
		for _, word := range []string{"runtime error", "out of range", "nil pointer", "goroutine"} {
			if err != nil && strings.Contains(err.Error(), word) {
				t.Fatalf("bit %d of byte %d: %v", i%8, i/8, err)
			}
		}
	}
}

func sampleFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "t.arrow")
	_, err := sample().WriteFile(path)
	require.NoError(t, err)

	return path
}

func TestAppend(t *testing.T) {
	var all Table
	for range 2 {
		require.NoError(t, all.Append(sample()))
	}

	require.Equal(t, 6, all.Rows(), "append: %d rows", all.Rows())
	assert.Equal(t, int64(1), all.Columns[2].Ints[3], "append: %d rows", all.Rows())

	u := sample()
	u.Columns[1].Unit = "Hz"
	if err := all.Append(u); err == nil {
		t.Error("a column of another unit was appended")
	}
}

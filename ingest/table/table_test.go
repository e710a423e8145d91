package table

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"doubletake/internal/kv"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample returns a table with a column of each type.
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

// A table that is read equals the table that was written.
func TestRoundTrip(t *testing.T) {
	p := filepath.Join(t.TempDir(), "t.arrow")
	in := sample()
	digest, err := in.WriteFile(p)
	require.NoError(t, err)

	out, err := Read(p)
	require.NoError(t, err)

	assert.True(t, math.IsNaN(out.Columns[1].Floats[1]), "a missing number is NaN")

	in.Columns[1].Floats[1] = 0 // NaN equals nothing
	out.Columns[1].Floats[1] = 0
	assert.Empty(t, out.Columns[4].Lists[1])
	out.Columns[4].Lists[1] = []float32{} // not nil, as in the table that was written
	assert.Equal(t, in, out)
	assert.Equal(t, sample().Digest(), digest)
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

// A table of more rows than a batch has is written as two batches.
func TestBatches(t *testing.T) {
	values := make([]float64, batchRows+17)
	for i := range values {
		values[i] = float64(i)
	}

	got := rewritten(t, &Table{Columns: []Column{{Name: "x", Floats: values}}})
	assert.Equal(t, values, got.Columns[0].Floats)
}

// A table without rows keeps its columns.
func TestEmpty(t *testing.T) {
	empty := &Table{Columns: []Column{{Name: "x", Floats: []float64{}}, {Name: "s", Strings: []string{}}}}
	got := rewritten(t, empty)
	assert.Zero(t, got.Rows())
	assert.Len(t, got.Columns, 2)
}

// rewritten returns a table as it is read from the file that it is written to.
func rewritten(t *testing.T, table *Table) *Table {
	t.Helper()

	path := filepath.Join(t.TempDir(), "t.arrow")
	_, err := table.WriteFile(path)
	require.NoError(t, err)

	got, err := Read(path)
	require.NoError(t, err)

	return got
}

// A file that is cut short is an error. Every seventh length is tried.
func TestCutShort(t *testing.T) {
	whole := testfile.Read(t, sampleFile(t))
	path := filepath.Join(t.TempDir(), "cut.arrow")
	for n := 0; n < len(whole); n += 7 {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))

		_, err := Read(path)
		require.Error(t, err, "cut to %d of %d bytes", n, len(whole))
	}
}

// A list that ends beyond its values is an error that names it.
func TestReadDamagedList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lists.arrow")

	lists := &Table{Columns: []Column{{Name: "x", Lists: [][]float32{{1, 2}, {}, {3}, {4, 5, 6}}}}}
	_, err := lists.WriteFile(path)
	require.NoError(t, err)

	b := testfile.Read(t, path)

	offsets := []byte{0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0}
	require.Equal(t, 1, bytes.Count(b, offsets), "the file has the offsets of the lists once")

	lastOffset := bytes.Index(b, offsets) + 16
	b[lastOffset] = 7
	require.NoError(t, os.WriteFile(path, b, 0o600))

	_, err = Read(path)
	assert.ErrorContains(t, err, `column "x": list 4 has the values 3 to 7 of 6`)
}

// Whichever bit is another one, the error does not have the words of a panic of Go.
func TestReadDamagedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.arrow")
	whole := testfile.Read(t, sampleFile(t))
	for bit := 0; bit < 8*len(whole); bit += longtest.Count(11, 5) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))

		_, err := ReadVerified(path)
		if err == nil {
			continue
		}

		for _, word := range []string{"runtime error", "out of range", "nil pointer", "goroutine"} {
			require.NotContains(t, err.Error(), word, "bit %d of byte %d", bit%8, bit/8)
		}
	}
}

// sampleFile writes the sample to a file, and returns its path.
func sampleFile(t *testing.T) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "t.arrow")
	_, err := sample().WriteFile(path)
	require.NoError(t, err)

	return path
}

// Append adds the rows of a table with the same columns, and refuses a column with another unit.
func TestAppend(t *testing.T) {
	var all Table
	for range 2 {
		require.NoError(t, all.Append(sample()))
	}

	require.Equal(t, 6, all.Rows())
	assert.Equal(t, int64(1), all.Columns[2].Ints[3], "the first number of the second table")

	other := sample()
	other.Columns[1].Unit = "Hz"
	require.EqualError(t, all.Append(other), `append table: expected column "rpm" [1/min], found "rpm" [Hz]`)
	assert.Equal(t, 6, all.Rows(), "the table is unchanged")
}

package hdf5

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// h5py wrote the files under testdata (testdata/make.py). truth.json.gz has the values that were written.

type truthFile struct {
	File           string                          `json:"file"`
	Superblock     int                             `json:"superblock"`
	UserBlock      int64                           `json:"user_block"`
	Datasets       map[string]truthData            `json:"datasets"`
	Attributes     map[string]map[string]truthAttr `json:"attributes"`
	AttributeOrder map[string][]string             `json:"attribute_order"`
	Groups         map[string][][3]string          `json:"groups"`
	Order          []string                        `json:"order"`
}

type truthData struct {
	Dims    []int64      `json:"dims"`
	Type    string       `json:"type"`
	Null    bool         `json:"null"`
	Values  []number     `json:"values"`
	Pattern *pattern     `json:"pattern"`
	Strings []string     `json:"strings"`
	Error   string       `json:"error"`
	Refs    []string     `json:"references"`
	Sparse  *truthSparse `json:"sparse"`
	Fields  map[string][]number
}

type truthSparse struct {
	Fill   float64   `json:"fill"`
	At     []int     `json:"at"`
	Values []float64 `json:"values"`
}

type truthAttr struct {
	Kind    string            `json:"kind"`
	Dims    []int64           `json:"dims"`
	Values  []json.RawMessage `json:"values"`
	Pattern *pattern          `json:"pattern"`
}

type pattern struct {
	Mul, Add, Mod, Low, Div int64
}

// value returns element i of a pattern, as make.py computes it.
func (p pattern) value(i int) float64 {
	return float64((int64(i)*p.Mul+p.Add)%p.Mod+p.Low) / float64(p.Div)
}

// number is a float64 that JSON may have as a text ("nan", "inf", large integers).
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(v)
	return err
}

// same reports whether two numbers have the same bits, so that −0 and 0 differ. Any NaN is the same as any other NaN.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// expected returns the n values that were written.
func (w truthData) expected(n int) []float64 {
	v := make([]float64, n)
	switch {
	case w.Pattern != nil:
		for i := range v {
			v[i] = w.Pattern.value(i)
		}

	case w.Sparse != nil:
		for i := range v {
			v[i] = w.Sparse.Fill
		}

		for k, i := range w.Sparse.At {
			v[i] = w.Sparse.Values[k]
		}

	default:
		for i := range v {
			v[i] = float64(w.Values[i])
		}
	}

	return v
}

// readMaybeZipped returns the contents of a file, decompressed if its name ends in .gz.
func readMaybeZipped(t testing.TB, path string) []byte {
	t.Helper()

	b := testfile.Read(t, path)

	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		require.NoError(t, err)

		b, err = io.ReadAll(z)
		require.NoError(t, err)
	}

	return b
}

// readTruth returns the values that were written to the files of a folder.
func readTruth(t testing.TB, dir string) []truthFile {
	t.Helper()

	var fs []truthFile
	require.NoError(t, json.Unmarshal(readMaybeZipped(t, filepath.Join(dir, "truth.json.gz")), &fs))

	return fs
}

// TestTruth compares every value, attribute, link and error of every file with what h5py was given.
func TestTruth(t *testing.T) {
	fs := readTruth(t, "testdata")

	total := 0
	for _, w := range fs {
		t.Run(w.File, func(t *testing.T) { total += checkFile(t, "testdata", w) })
	}

	// make.py writes 18 files and more than 2000 datasets. Fewer mean that the truth is not complete.
	assert.GreaterOrEqual(t, len(fs), 18, "files")
	assert.GreaterOrEqual(t, total, 2000, "datasets")
}

// TestRandomTruth does the same for files of random layout, which `make.py DIR --random N` writes.
func TestRandomTruth(t *testing.T) {
	dir := os.Getenv("DOUBLETAKE_HDF5_RANDOM")
	if dir == "" {
		t.Skip("DOUBLETAKE_HDF5_RANDOM names no folder written by testdata/make.py DIR --random N")
	}

	n := 0

	fs := readTruth(t, dir)
	for _, w := range fs {
		t.Run(w.File, func(t *testing.T) { n += checkFile(t, dir, w) })
	}

	t.Logf("%d files, %d datasets", len(fs), n)
}

// checkFile compares a file with what was written, and returns the number of its datasets.
func checkFile(t *testing.T, dir string, w truthFile) int {
	t.Helper()

	b := readMaybeZipped(t, filepath.Join(dir, w.File))
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)

	assert.Equal(t, w.Superblock, f.version, "version of the superblock")
	assert.Equal(t, w.UserBlock, f.src.base, "bytes of the user block")

	var order []string
	for _, d := range f.datasets {
		order = append(order, d.Path)
	}

	assert.Equal(t, fmt.Sprint(w.Order), fmt.Sprint(order), "order of the datasets")

	assert.Len(t, f.groups, len(w.Groups), "groups")

	attrs := map[string][]Attribute{}
	for _, g := range f.groups {
		attrs[g.Path] = g.Attributes

		var got [][3]string
		for _, l := range g.Links {
			got = append(got, [3]string{l.Name, l.Kind.String(), l.Target})
		}

		assert.Equal(t, fmt.Sprint(w.Groups[g.Path]), fmt.Sprint(got), "links of %s", g.Path)
	}

	assert.Len(t, f.datasets, len(w.Datasets), "datasets")

	for _, d := range f.datasets {
		attrs[d.Path] = d.Attributes
		want, ok := w.Datasets[d.Path]
		if !ok {
			t.Errorf("dataset %s was never written", d.Path)
			continue
		}

		checkDataset(t, f, d, want)
	}

	for path, got := range attrs {
		checkAttributes(t, path, got, w.Attributes[path])
	}

	for path := range w.Attributes {
		if _, ok := attrs[path]; !ok {
			t.Errorf("no object %s", path)
		}
	}

	for path, want := range w.AttributeOrder {
		var names []string
		for _, a := range attrs[path] {
			names = append(names, a.Name)
		}

		// Attributes in a header come as stored. Their order is only defined if it
		// is recorded or the storage is dense.
		if strings.Contains(w.File, "latest") {
			assert.Equal(t, fmt.Sprint(want), fmt.Sprint(names), "attributes of %s in order", path)
		}
	}

	return len(f.datasets)
}

// checkDataset compares a dataset with what was written.
func checkDataset(t *testing.T, f *File, d *Dataset, want truthData) {
	t.Helper()

	require.Equal(t, fmt.Sprint(want.Dims), fmt.Sprint(d.Dims), "%s: shape", d.Path)
	require.Equal(t, want.Null, d.Null, "%s: without elements", d.Path)

	assert.Equal(t, want.Type, d.Type.String(), "%s: type", d.Path)

	if want.Strings != nil {
		got, err := d.ReadStrings()
		require.NoError(t, err)
		assert.Equal(t, want.Strings, got, "%s: texts", d.Path)

		assert.Error(t, d.err, "%s: text reads as numbers", d.Path)

		return
	}

	for name, values := range want.Fields {
		v := d
		for _, n := range strings.Split(name, ".") {
			v = v.inner(v.Type.Members[slices.IndexFunc(v.Type.Members, func(m Member) bool { return m.Name == n })])
		}

		checkValues(t, v, truthData{Values: values}.expected(len(values)))
	}

	if want.Refs != nil {
		got, err := f.ReadReferences(d)
		require.NoError(t, err)

		var paths []string
		for _, object := range got {
			paths = append(paths, object.(*Dataset).Path)
		}

		assert.Equal(t, want.Refs, paths, "%s: references", d.Path)
	}

	if want.Error != "" {
		require.ErrorContains(t, d.err, want.Error, "%s", d.Path)

		return
	}

	require.NoError(t, d.err, "%s", d.Path)

	checkValues(t, d, want.expected(int(d.Elements())))
}

// checkValues reads a dataset in every way and compares the values.
func checkValues(t *testing.T, d *Dataset, want []float64) {
	t.Helper()

	n := len(want)
	require.EqualValues(t, n, d.Elements(), "%s: elements", d.Path)

	equal := func(how string, at int, got, want []float64) bool {
		t.Helper()

		for i := range want {
			if !same(got[i], want[i]) {
				t.Errorf("%s (%s, %s): %s: element %d is %v, want %v", d.Path, d.Type, d.Layout(), how, at+i, got[i], want[i])
				return false
			}
		}

		return true
	}

	got := make([]float64, n+1)
	k, err := readFloat64(d, nil, got, 0)
	require.ErrorIs(t, err, io.EOF, "%s (%s): read beyond the last element", d.Path, d.Layout())
	require.Equal(t, n, k, "%s (%s): elements read", d.Path, d.Layout())

	if !equal("whole", 0, got, want) || n == 0 {
		return
	}

	r, err := d.NewReader(NewCache(1000)) // a cache so small that it drops chunks
	require.NoError(t, err)

	// Blocks of odd length, backwards.
	block := n/7 + 3
	for at := (n - 1) / block * block; at >= 0; at -= block {
		k := min(block, n-at)
		for i := range got[:k] {
			got[i] = -77
		}

		m, err := readFloat64(d, r, got[:k], int64(at))
		require.NoError(t, err, "%s: read from element %d on", d.Path, at)
		require.Equal(t, k, m, "%s: elements read from %d on", d.Path, at)

		if !equal("block", at, got[:k], want[at:at+k]) {
			return
		}
	}

	if d.Dims == nil {
		return
	}

	// Channels along each axis.
	for axis := range d.Dims {
		inner := 1
		for _, m := range d.Dims[axis+1:] {
			inner *= int(m)
		}

		long := int(d.Dims[axis])
		count := n / long
		channels := []int{0, count - 1, count / 2, count / 3, count * 2 / 3}
		start := long / 3

		dst := make([][]float64, len(channels))
		for i := range dst {
			dst[i] = make([]float64, long-start)
		}

		err := r.ReadChannels(axis, channels, int64(start), dst)
		require.NoError(t, err, "%s: channels along axis %d", d.Path, axis)

		for i, c := range channels {
			first := c/inner*inner*long + c%inner
			for k := range dst[i] {
				if w := want[first+(start+k)*inner]; !same(dst[i][k], w) {
					t.Errorf("%s (%s): channel %d along axis %d: sample %d is %v, want %v", d.Path, d.Layout(), c, axis, start+k,
						dst[i][k], w)
					return
				}
			}
		}
	}
}

// checkAttributes compares the attributes of an object with what was written.
func checkAttributes(t *testing.T, path string, got []Attribute, want map[string]truthAttr) {
	t.Helper()

	names := make([]string, 0, len(got))
	for _, a := range got {
		names = append(names, a.Name)

		w, ok := want[a.Name]
		if !ok {
			t.Errorf("attribute %s of %s was never written", a.Name, path)
			continue
		}

		assert.Equal(t, fmt.Sprint(w.Dims), fmt.Sprint(a.Dims),
			"attribute %s of %s: shape %v, want %v", a.Name, path, a.Dims, w.Dims)

		if w.Kind == "error" {
			var text string
			require.NoError(t, json.Unmarshal(w.Values[0], &text))
			require.ErrorContains(t, a.Err, text, "attribute %s of %s", a.Name, path)
			assert.Nil(t, a.texts, "texts of attribute %s of %s", a.Name, path)
			assert.Nil(t, a.stored, "numbers of attribute %s of %s", a.Name, path)

			continue
		}

		require.NoError(t, a.Err, "attribute %s of %s", a.Name, path)

		wantText := make([]string, len(w.Values))
		for i, v := range w.Values {
			if w.Kind == "string" {
				require.NoError(t, json.Unmarshal(v, &wantText[i]))
			} else {
				wantText[i] = strings.Trim(string(v), `"`)
			}
		}

		if w.Pattern != nil {
			for i := range w.Dims[0] {
				wantText = append(wantText, strconv.Itoa(int(w.Pattern.value(int(i)))))
			}
		}

		kind, text := attributeText(a)
		require.Equal(t, w.Kind, kind, "kind of attribute %s of %s", a.Name, path)
		require.Len(t, text, len(wantText), "elements of attribute %s of %s", a.Name, path)

		for i := range text {
			ok := text[i] == wantText[i]
			if w.Kind == "float" {
				x, _ := strconv.ParseFloat(text[i], 64)
				y, _ := strconv.ParseFloat(wantText[i], 64)
				ok = same(x, y)
			}

			if !ok {
				t.Errorf("attribute %s of %s: element %d is %q, want %q", a.Name, path, i, text[i], wantText[i])
			}
		}
	}

	sort.Strings(names)

	var all []string
	for n := range want {
		all = append(all, n)
	}

	sort.Strings(all)

	assert.Equal(t, fmt.Sprint(all), fmt.Sprint(names), "attributes of %s", path)
}

// attributeText returns the kind and the elements of a value as text.
func attributeText(a Attribute) (string, []string) {
	kind := "null"
	switch {
	case a.texts != nil:
		kind = "string"
	case a.stored == nil:
	case a.Type.Class == Float:
		text := []string{}
		for _, v := range a.numbers() {
			text = append(text, strconv.FormatFloat(v, 'g', -1, 64))
		}

		return "float", text

	case a.Type.Signed:
		kind = "int"
	default:
		kind = "uint"
	}

	return kind, a.elements()
}

// Files that were written by the low level of the library may have addresses of other sizes, which byte 13 states.
func TestAddresses(t *testing.T) {
	b := readMaybeZipped(t, "testdata/windtunnel_U10_a4.h5")
	b[13] = 4
	f, err := openBytes(b)
	ingesttest.WantDataError(t, f, err, "addresses of 4 and lengths of 8 bytes (8 are usual): not supported")
}

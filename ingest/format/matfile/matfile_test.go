package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/truth/structs_z.mat", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	c, _ := ingest.FindChannel(r.Info(), "opp.RPS_M1")

	x := make([]float64, 3)
	n, err := r.Read([]int{c}, 0, [][]float64{x})
	fmt.Println(x, n, err)
	// Output: [93.740581 109.37 123.02] 3 <nil>
}

// listed reads the variables of a file.
func listed(b []byte, cut bool) (*file, error) {
	f := &file{src: ingesttest.Source(b), budget: maxIndex, memory: maxMemory}
	err := f.read(cut)

	return f, err
}

func open1(t testing.TB, b []byte) *file {
	t.Helper()

	f, err := listed(b, false)
	require.NoError(t, err)

	return f
}

// all returns the values of an array, column after column.
func all(t testing.TB, v *array) []float64 {
	t.Helper()

	var x []float64
	for c := range int(v.count / max(1, v.dims[0])) {
		col := make([]float64, v.dims[0])
		require.NoError(t, v.Read([]int{c}, 0, [][]float64{col}), "%s", v.name)

		x = append(x, col...)
	}

	return x
}

func number(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case string:
		return map[string]float64{"-inf": math.Inf(-1), "inf": math.Inf(1)}[x]
	}

	return math.NaN()
}

// TestTruth compares with the values that scipy.io.savemat was given (testdata/make.py): every type, structs, cells,
// shapes and texts, compressed or not.
func TestTruth(t *testing.T) {
	var files map[string]struct {
		Vars []struct {
			Name, Class string
			Dims        []int64
			Values      []any
		}
		Texts []struct {
			Name string
			Rows []string
		}
		Unread []string
	}

	require.NoError(t, json.Unmarshal(ingesttest.Testdata(t, "truth/truth.json"), &files))
	require.Len(t, files, 11, "files of truth.json")

	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			f := open1(t, ingesttest.Testdata(t, "truth/"+name))
			require.Len(t, f.arrays, len(want.Vars), "arrays")
			require.Len(t, f.texts, len(want.Texts), "texts")
			require.Len(t, f.unread, len(want.Unread), "unread")

			for i, w := range want.Vars {
				v := f.arrays[i]
				assert.Equal(t, w.Name, v.name, "name of array %d", i)
				assert.Equal(t, w.Class, v.class, "class of %s", w.Name)
				assert.Equal(t, w.Dims, v.dims, "dimensions of %s", w.Name)
				require.EqualValues(t, len(w.Values), v.count, "values of %s", w.Name)

				var x []float64
				for _, y := range w.Values {
					x = append(x, number(y))
				}

				ingesttest.Equal(t, all(t, v), x)

				// With the last axis as time, two rows are read at once.
				if v.axis = len(v.dims) - 1; len(v.dims) == 2 && v.dims[0] > 1 && v.dims[1] > 1 {
					last, got := int(v.dims[0])-1, [][]float64{{0}, {0}}
					require.NoError(t, v.Read([]int{last, 0}, 1, got))

					k := int(v.dims[0])
					ingesttest.Equal(t, got[0], x[k+last:][:1])
					ingesttest.Equal(t, got[1], x[k:][:1])
				}
			}

			for i, w := range want.Texts {
				assert.Equal(t, ingest.Attribute{Name: w.Name, Value: strings.Join(w.Rows, "\n")}, f.texts[i], "text %d", i)
			}

			for i, w := range want.Unread {
				assert.Equal(t, w, f.unread[i].Name, "unread %d", i)
				assert.Contains(t, f.unread[i].Reason, fmt.Sprintf("variable %q: ", w))
			}
		})
	}
}

// A compressed array of 5.5 MiB is read backwards, one column after another. Its values follow from the formula in
// make.py.
func TestLargeCompressed(t *testing.T) {
	f := open1(t, ingesttest.Testdata(t, "truth/big_z.mat"))
	v := f.arrays[slices.IndexFunc(f.arrays, func(v *array) bool { return v.name == "big" })]

	x := make([]float64, 7001)
	two := make([]float64, 7001)
	for start := int64(112016); start >= 0; start -= 7001 {
		require.NoError(t, v.Read([]int{5, 2}, start, [][]float64{x, two}))

		for i := range x {
			at := start + int64(i)
			w := float64(at/50) + float64(at%7)/4
			require.Equal(t, w+5000, x[i], "row %d of column 5", at)
			require.Equal(t, w+2000, two[i], "row %d of column 2", at)
		}
	}
}

// libsndfile states 8 bytes too many for its last array. scipy reads such files too (testdata/make_sound.py). An array
// with missing numbers is not read.
func TestTruncated(t *testing.T) {
	truth := map[string][][]float64{}
	require.NoError(t, json.Unmarshal(ingesttest.Testdata(t, "sound.json"), &truth))
	require.Len(t, truth, 5, "files of sound.json")

	for name, want := range truth {
		b := ingesttest.Testdata(t, name)
		r, err := Format.Open(ingesttest.Source(b), ingest.Options{})
		ingesttest.WantDataError(t, r, err, "byte 200: expected an element of ", "truncated: use")

		r, err = Format.Open(ingesttest.Source(b), ingest.Options{Truncated: "use"})
		require.NoError(t, err, "%s", name)

		info := r.Info()
		require.Equal(t, 48000.0, info.Channels[0].RateHz, "%s: %+v", name, info)
		require.Equal(t, "truncated", ingesttest.Codes(info.Warnings), "%s: %+v", name, info)

		for c, x := range ingesttest.ReadAll(t, r) {
			ingesttest.Equal(t, x, want[c])
		}

		last := bytes.TrimRight(b, "\x00") // PCM_U8 ends in zeros that pad it
		r, err = Format.Open(ingesttest.Source(last[:len(last)-1]), ingest.Options{Truncated: "use"})
		ingesttest.WantDataError(t, r, err, "wavedata")
	}
}

// If the end of a compressed matrix is damaged, the part before it is read, and the error names the place.
func TestDamagedMatrix(t *testing.T) {
	o := binary.LittleEndian
	const rows = 1 << 15
	want := noise(2 * rows)
	b := append(header(o), pack(o, matrix(o, mxDOUBLE, "x", []int32{rows, 2}, values(o, miDOUBLE, want)))...)
	copy(b[len(b)-2000:], make([]byte, 100))

	v := open1(t, b).arrays[0]

	x := make([]float64, rows)
	require.NoError(t, v.Read([]int{0}, 0, [][]float64{x}), "the column before the damage")
	assert.Equal(t, want[:rows], x, "the column before the damage")

	ingesttest.WantDataError(t, nil, v.Read([]int{1}, 0, [][]float64{x}), `variable "x", value `, "damaged")
}

// The following functions build the bytes of a MAT-file by "MAT-File Format", chapter 1.

func header(o binary.AppendByteOrder) []byte {
	b := fmt.Appendf(nil, "%-116s%8s", "MATLAB 5.0 MAT-file, by hand", "")
	b = o.AppendUint16(b, 0x0100)
	return o.AppendUint16(b, 'M'<<8|'I')
}

func elem(o binary.AppendByteOrder, typ uint32, data []byte) []byte {
	if n := len(data); n > 0 && n <= 4 && typ != miMATRIX { // small format
		b := o.AppendUint32(nil, uint32(n)<<16|typ)
		return append(append(b, data...), make([]byte, 4-n)...)
	}

	b := o.AppendUint32(o.AppendUint32(nil, typ), uint32(len(data)))
	b = append(b, data...)

	return append(b, make([]byte, -len(data)&7)...)
}

func matrix(o binary.AppendByteOrder, flags uint32, name string, dims []int32, parts ...[]byte) []byte {
	b := elem(o, miUINT32, o.AppendUint32(o.AppendUint32(nil, flags), 0))
	if dims != nil {
		var d []byte
		for _, n := range dims {
			d = o.AppendUint32(d, uint32(n))
		}

		b = append(b, elem(o, miINT32, d)...)
	}

	b = append(b, elem(o, miINT8, []byte(name))...)
	for _, p := range parts {
		b = append(b, p...)
	}

	return elem(o, miMATRIX, b)
}

func pack(o binary.AppendByteOrder, data []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(data)
	w.Close()
	b := o.AppendUint32(o.AppendUint32(nil, miCOMPRESSED), uint32(z.Len()))

	return append(b, z.Bytes()...)
}

func values(o binary.AppendByteOrder, typ uint32, x []float64) []byte {
	var b []byte
	for _, v := range x {
		switch typ {
		case miINT8, miUINT8:
			b = append(b, byte(int64(v)))
		case miINT16, miUINT16:
			b = o.AppendUint16(b, uint16(int64(v)))
		case miINT32, miUINT32:
			b = o.AppendUint32(b, uint32(int64(v)))
		case miSINGLE:
			b = o.AppendUint32(b, math.Float32bits(float32(v)))
		case miDOUBLE:
			b = o.AppendUint64(b, math.Float64bits(v))
		case miINT64:
			b = o.AppendUint64(b, uint64(int64(v)))
		case miUINT64:
			b = o.AppendUint64(b, uint64(v))
		}
	}

	return elem(o, typ, b)
}

// MATLAB stores doubles that are whole numbers in the smallest type of integers that is large enough. The values are
// the same, in both byte orders, in small and normal elements, compressed or not.
func TestStoredTypes(t *testing.T) {
	limits := map[uint32][]float64{
		miINT8: {-128, 127, 0, -1}, miUINT8: {0, 255, 128, 1}, miINT16: {-32768, 32767, -2, 300},
		miUINT16: {0, 65535, 32768, 7},
		miINT32:  {math.MinInt32, math.MaxInt32, 70000, -70000}, miUINT32: {0, math.MaxUint32, 1 << 31, 5},
		miSINGLE: {0.5, -1.25, math.MaxFloat32, 0}, miDOUBLE: {math.Pi, -1e300, 5e-324, 0},
		miINT64: {-(1 << 53), 1 << 53, -5, 5}, miUINT64: {1 << 63, 1, 0, 1 << 53},
	}

	for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for typ, x := range limits {
			for n := 1; n <= 4; n++ { // 1 … 4 bytes of int8 take the small format
				m := matrix(o, mxDOUBLE, "x", []int32{1, int32(n)}, values(o, typ, x[:n]))
				for _, e := range [][]byte{m, pack(o, m)} {
					f := open1(t, append(header(o), e...))
					assert.Equal(t, "double", f.arrays[0].class, "%v, type %d", o, typ)
					assert.Equal(t, kinds[typ].name, f.arrays[0].stored, "%v, type %d", o, typ)
					assert.Equal(t, x[:n], all(t, f.arrays[0]), "%v, type %d", o, typ)
				}
			}
		}
	}
}

// TestNestedByHand reads a struct array and a cell as MATLAB writes them on a big-endian machine, with text in UTF-16
// and an empty field.
func TestNestedByHand(t *testing.T) {
	o := binary.BigEndian
	u16 := func(s string) []byte {
		var b []byte
		for _, r := range s {
			b = o.AppendUint16(b, uint16(r))
		}

		return elem(o, miUINT16, b)
	}

	s := matrix(o, mxSTRUCT, "s", []int32{1, 2},
		elem(o, miINT32, []byte{0, 0, 0, 4}), elem(o, miINT8, []byte("x\x00\x00\x00tag\x00")),
		matrix(o, mxDOUBLE, "", []int32{2, 1}, values(o, miINT16, []float64{-3, 1000})),
		matrix(o, mxCHAR, "", []int32{2, 3}, u16("aäbüc°")),
		elem(o, miMATRIX, nil), matrix(o, mxCELL, "", []int32{1, 1},
			matrix(o, 0x0200|9, "", []int32{1, 1}, values(o, miUINT8, []float64{1}))),
	)

	for _, e := range [][]byte{s, pack(o, s)} {
		f := open1(t, append(header(o), e...))

		var names []string
		for _, v := range f.arrays {
			names = append(names, fmt.Sprintf("%s %v", v.name, v.dims))
		}

		assert.Equal(t, []string{"s(1).x [2 1]", "s(2).x [0 0]", "s(2).tag{1} [1 1]"}, names)
		assert.Equal(t, []float64{-3, 1000}, all(t, f.arrays[0]))

		// Column-major: "aäbüc°" in two rows reads abc and äü°.
		require.Len(t, f.texts, 1, "%q", f.texts)
		assert.Equal(t, (ingest.Attribute{Name: "s(1).tag", Value: "abc\näü°"}), f.texts[0], "%q", f.texts)
	}
}

// TestUnread checks that values that cannot be read are listed, and that the values beside them are read.
func TestUnread(t *testing.T) {
	o := binary.LittleEndian
	one := values(o, miDOUBLE, []float64{1})
	good := func(name string) []byte { return matrix(o, mxDOUBLE, name, []int32{1, 1}, one) }
	cut := pack(o, matrix(o, mxDOUBLE, "cut", []int32{1, 3000}, values(o, miDOUBLE, noise(3000))))
	cut = cut[:len(cut)/2]
	o.PutUint32(cut[4:], uint32(len(cut)-8))
	rotten := pack(o, matrix(o, mxDOUBLE, "rotten", []int32{1, 3}, values(o, miDOUBLE, []float64{1, 2, 3})))
	rotten[len(rotten)-1] ^= 1 // the checksum: nothing can be trusted, not even the name
	bomb := pack(o, matrix(o, mxDOUBLE, "bomb", []int32{1, 1}, one))

	claim := o.AppendUint32(o.AppendUint32(nil, miMATRIX), 1<<31-8)
	for _, c := range []struct {
		name string
		elem []byte
		want string
	}{
		{
			"z", matrix(o, 0x0800|mxDOUBLE, "z", []int32{1, 1}, one),
			`read a tag: unexpected EOF`,
		},
		{"sp", matrix(o, mxSPARSE, "sp", []int32{3, 3}), `variable "sp": sparse arrays are not read`},
		{"ob", matrix(o, mxOBJECT, "ob", []int32{1, 1}), `variable "ob": objects are not read`},
		{"fh", matrix(o, mxFUNCTION, "fh", []int32{1, 1}), `variable "fh": function handles are not read`},
		{
			"when", matrix(o, mxOPAQUE, "when", nil, elem(o, miINT8, []byte("MCOS")), elem(o, miINT8, []byte("datetime"))),
			`variable "when": objects (datetime, string, table, …) are not read`,
		},
		{"new", matrix(o, 18, "new", []int32{1, 1}), `variable "new": arrays of class 18 are not known`},
		{
			"short", matrix(o, mxDOUBLE, "short", []int32{1, 2}, one),
			`byte 264: an array of dimensions [1 2] has 8 bytes of double`,
		},
		{"neg", matrix(o, mxDOUBLE, "neg", []int32{-1, 2}, one), `the dimension -1 is negative`},
		{"huge", matrix(o, mxDOUBLE, "huge", []int32{1 << 30, 1 << 30, 1 << 30}, one), `cannot be`},
		{"deep", deep(40), `structs and cells are nested more than 32 deep`},
		{"c", matrix(o, mxCELL, "c", []int32{1 << 30, 1}, good("")), `read a tag: unexpected EOF`},
		{"byte 200", elem(o, miDOUBLE, make([]byte, 8)), `byte 200: expected an array, found data type 9`},
		{"byte 200", pack(o, claim), `is claimed, more than`},
		{
			"byte 200", append(bomb[:8:8], make([]byte, len(bomb)-8)...),
			`decompress: byte 200, decompressed byte 0: read a tag: zlib: invalid header`,
		},
		{"byte 200", rotten, "decompress: zlib: invalid checksum"},
		{"first", good("first"), `variable "first": the name is used at byte 128 already`},
	} {
		b := append(header(o), good("first")...)
		require.Len(t, b, 128+72, "the first array ends")

		f := open1(t, append(append(b, c.elem...), good("last")...))
		require.Len(t, f.arrays, 2, "%s: the neighbours: %v", c.name, f.arrays)
		require.Equal(t, "last", f.arrays[1].name, "%s: the neighbours: %v", c.name, f.arrays)
		assert.Equal(t, 1.0, all(t, f.arrays[1])[0], "%s: the neighbours: %v", c.name, f.arrays)

		require.Len(t, f.unread, 1, "%s", c.name)
		require.Equal(t, c.name, f.unread[0].Name)
		assert.Contains(t, f.unread[0].Reason, c.want, "%s", c.name)
	}

	// An empty text of another type of data, as some writers leave it, spoils nothing.
	odd := matrix(o, mxCHAR, "odd", []int32{0, 0}, elem(o, miDOUBLE, nil))
	f := open1(t, append(append(append(header(o), good("x")...), odd...), good("y")...))
	assert.Empty(t, f.unread)
	assert.Len(t, f.arrays, 2)
	require.Len(t, f.texts, 1)
	assert.Empty(t, f.texts[0].Value)

	// Damage that shows on reading only.
	f = open1(t, append(append(header(o), cut...), good("last")...))
	ingesttest.WantDataError(t, nil, f.arrays[0].Read([]int{2999}, 0, [][]float64{{0}}), "the file is damaged")
}

// Opening a file decompresses neither complex numbers to their end nor variables that are not read. Each variable is
// longer than the blocks in which it is decompressed, and has a wrong checksum at its end. Only structs are
// decompressed whole, so that their checksums are compared.
func TestOpenDoesNotDecompress(t *testing.T) {
	o := binary.LittleEndian
	const count = 1 << 17 // values of a part: 1 MiB
	part := values(o, miDOUBLE, noise(count))
	long := elem(o, miUINT16, bytes.Repeat([]byte("x\x00"), count*5))
	dims := []int32{count, 1}
	inside := matrix(o, mxDOUBLE, "", dims, part)
	oneField := [][]byte{elem(o, miINT32, []byte{2, 0, 0, 0}), elem(o, miINT8, []byte("x\x00"))}

	for _, c := range []struct {
		name   string
		matrix []byte
		arrays int    // number of arrays that are listed
		unread string // reason; "": the variable is listed
	}{
		{"v", matrix(o, mxDOUBLE, "v", dims, part), 1, ""},
		{"z", matrix(o, 0x0800|mxDOUBLE, "z", dims, part, part), 2, ""},
		{"sp", matrix(o, mxSPARSE, "sp", dims, part), 0, `variable "sp": sparse arrays are not read`},
		{"new", matrix(o, 18, "new", dims, part), 0, `variable "new": arrays of class 18 are not known`},
		{
			"text", matrix(o, mxCHAR, "text", []int32{1, 5 * count}, long), 0,
			`variable "text": a text of 1310720 bytes is more`,
		},
		{
			"s", matrix(o, mxSTRUCT, "s", []int32{1, 1}, append(oneField, inside)...), 0,
			"decompress: zlib: invalid checksum",
		},
	} {
		packed := pack(o, c.matrix)
		packed[len(packed)-1] ^= 1 // the checksum
		f := open1(t, append(header(o), packed...))
		require.Len(t, f.arrays, c.arrays, c.name)

		if c.unread != "" {
			require.Len(t, f.unread, 1, c.name)
			assert.Contains(t, f.unread[0].Reason, c.unread, c.name)

			continue
		}

		require.Empty(t, f.unread, c.name)
		last := f.arrays[len(f.arrays)-1]
		ingesttest.WantDataError(t, nil, last.Read([]int{0}, count-1, [][]float64{{0}}), "invalid checksum")
	}
}

// TestMany reads a cell of a million empty arrays, which takes a few kilobytes compressed. It is refused before the
// list of values takes too much memory.
func TestMany(t *testing.T) {
	o := binary.LittleEndian
	many := matrix(o, mxCELL, "many", []int32{1 << 20, 1}, bytes.Repeat(elem(o, miMATRIX, nil), 1<<20))
	last := matrix(o, mxDOUBLE, "last", []int32{1, 1}, values(o, miDOUBLE, []float64{1}))
	b := append(append(header(o), pack(o, many)...), last...)
	f := open1(t, b)
	require.Len(t, f.arrays, 1)
	assert.Equal(t, "last", f.arrays[0].name)
	require.Len(t, f.unread, 1)
	assert.Equal(t, "many", f.unread[0].Name)
	assert.Contains(t, f.unread[0].Reason, "more names and texts than 64 MiB hold")
}

func noise(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))

	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}

	return x
}

// deep returns cells within cells.
func deep(n int) []byte {
	o := binary.LittleEndian
	b := matrix(o, mxDOUBLE, "", []int32{0, 0})
	for i := range n {
		name := ""
		if i == n-1 {
			name = "deep"
		}

		b = matrix(o, mxCELL, name, []int32{1, 1}, b)
	}

	return b
}

func TestOpenErrors(t *testing.T) {
	o := binary.LittleEndian
	good := append(header(o), matrix(o, mxDOUBLE, "x", []int32{1, 1}, values(o, miDOUBLE, []float64{1}))...)
	v4 := append(ingesttest.Testdata(t, "truth/v4.mat"), make([]byte, 200)...)
	v73 := bytes.Clone(good)
	o.PutUint16(v73[124:], 0x0200)

	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{nil, "byte 0: expected a MAT-file header of 128 bytes, found 0 bytes (the file is cut short"},
		{v4, "this may be a MAT-file of level 4"},
		{v73, "byte 124: expected a MAT-file of level 5, found level 7.3 (level 7.3 is HDF5: read it as such)"},
		{[]byte("\x89HDF\r\n\x1a\n"), "level 7.3 is HDF5"},
		{bytes.Repeat([]byte("1,2,3\n"), 30), `byte 126: expected the byte order "IM" or "MI"`},
		{good[:132], "byte 128: expected a data element, found 4 bytes"},
		{good[:len(good)-1], "byte 128: expected an element of 56 bytes, found 55 until the end of the " +
			"file (the file is cut short: copy it again"},
	})
}

// Files by MATLAB itself have the values that scipy.io.loadmat 1.10 reads. The test compares the number of values, the
// first and the last value, the sum, and the sum of value × position / number.
func TestMeasured(t *testing.T) {
	for _, c := range []struct {
		file, name                 string
		n                          int
		first, last, sum, weighted float64
	}{
		{
			"crisscl-motor-9450-propeller/sonido_motor_1.mat", "x", 882000, 0.0, -0.002288818359375, -2.406463623046875,
			-1.7846965575618294,
		},
		{
			"cyclone-ojf-force-balance/grav_calibration.mat", "model_fit", 18, 0.3364770776082297, -0.26219579790519365,
			-0.6714385025836207, -1.8952635790948107,
		},
		{
			"tudelft-ae4115-6blade-spectra/jprop.mat", "PXX_jprop{2}", 24582, 0.009659470418316593, 0.01197534091885224,
			179783.7383423792, 36075.64585923965,
		},
		{"tudelft-ae4115-6blade-spectra/jprop.mat", "opp_jprop.RPS_M1", 3, 93.740581, 123.021577, 326.128827, 227.17955},
		{
			"tudelft-ae4115-6blade-spectra/on_poff_side.mat", "SPL_on_poff_side{10}", 24582, 31.041737528630577,
			50.758987776490926, 1372263.715965017, 637750.9951107451,
		},
	} {
		root := os.Getenv("DOUBLETAKE_REAL")
		if root == "" {
			root = "../../../../shared/real"
		}

		b, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Skipf("measured data not here: %s", c.file)
		}

		f := open1(t, b)
		x := all(t, f.arrays[slices.IndexFunc(f.arrays, func(v *array) bool { return v.name == c.name })])

		var sum, weighted, scale float64
		for i, v := range x {
			sum += v
			weighted += v * float64(i+1) / float64(len(x))
			scale += math.Abs(v)
		}

		require.Len(t, x, c.n, "%s: values", c.name)
		assert.Equal(t, c.first, x[0], "%s: first value", c.name)
		assert.Equal(t, c.last, x[c.n-1], "%s: last value", c.name)
		assert.InDelta(t, c.sum, sum, 1e-11*scale, "%s: sum", c.name)
		assert.InDelta(t, c.weighted, weighted, 1e-11*scale, "%s: weighted sum", c.name)
		assert.Empty(t, f.unread, "%s: unread", c.name)
	}
}

// FuzzOpen checks that no input makes the reader panic, hang, or take more than 160 MiB plus 64 times the input. It
// also reads each input as the content of a compressed element, which random changes of compressed bytes never reach.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"cells.mat", "cells_z.mat", "structs.mat", "dtypes.mat", "texts.mat", "sparse.mat"} {
		f.Add(ingesttest.Testdata(f, "truth/"+name))
	}

	o := binary.BigEndian
	f.Add(append(header(o), matrix(o, mxDOUBLE, "x", []int32{1, 3}, values(o, miINT16, []float64{1, 2, 3}))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		inputs := [][]byte{b}
		if len(b) > headerSize {
			inputs = append(inputs, append(bytes.Clone(b[:headerSize]), pack(binary.LittleEndian, b[headerSize:])...))
		}

		for _, b := range inputs {
			ingesttest.Bounded(t, b, 160<<20, 64, func() {
				r, err := Format.Open(ingesttest.Source(b), ingest.Options{Truncated: "use"})
				if err != nil {
					ingesttest.WantDataError(t, nil, err)
					return
				}
				defer r.Close()

				x := make([]float64, 64)
				for c, ch := range r.Info().Channels[:min(50, len(r.Info().Channels))] {
					n, err := r.Read([]int{c}, max(0, ch.Samples-64), [][]float64{x})
					if n < int(min(64, ch.Samples)) {
						require.Error(t, err, "only %d values", n)
					}
				}
			})
		}
	})
}

package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type truth struct {
	Vars []struct {
		Name    string  `json:"name"`
		Class   string  `json:"class"`
		Logical bool    `json:"logical"`
		Dims    []int64 `json:"dims"`
		Values  []any   `json:"values"`
	} `json:"vars"`
	Texts []struct {
		Name string   `json:"name"`
		Rows []string `json:"rows"`
	} `json:"texts"`
	Unread []string `json:"unread"`
}

func load(t testing.TB, name string) *File {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata/truth", name))
	if err != nil {
		t.Fatal(err)
	}

	f, err := Open(bytes.NewReader(b), int64(len(b)), false)
	if err != nil {
		t.Fatal(err)
	}

	return f
}

func all(t testing.TB, v *Var) []float64 {
	t.Helper()

	x := make([]float64, v.Len())
	if n, err := v.ReadFloat64(x, 0); n != len(x) || err != nil {
		t.Fatalf("%s: read %d of %d: %v", v.Name, n, len(x), err)
	}

	return x
}

// columns is the number of columns of an array, column reads one of them.
func columns(v *Var) int64 {
	if v.Len() == 0 {
		return 0
	}
	return v.Len() / v.Dims[0]
}

func column(v *Var, c int64, x []float64, start int64) (int, error) {
	return v.ReadChannels(0, []int{int(c)}, start, [][]float64{x})
}

func number(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x

	case string:
		if x == "-inf" {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}

	return math.NaN()
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// TestTruth compares with the values that were handed to scipy.io.savemat
// (testdata/make.py): every dtype, structs, cells, shapes, texts, compressed or not.
func TestTruth(t *testing.T) {
	b, err := os.ReadFile("testdata/truth/truth.json")
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]truth{}
	if err := json.Unmarshal(b, &files); err != nil {
		t.Fatal(err)
	}

	if len(files) != 11 {
		t.Fatalf("%d files", len(files))
	}

	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			f := load(t, name)
			if len(f.Vars) != len(want.Vars) || len(f.Texts) != len(want.Texts) || len(f.Unread) != len(want.Unread) {
				t.Fatalf("%d arrays, %d texts, %d unread; want %d, %d, %d: %+v", len(f.Vars), len(f.Texts), len(f.Unread),
					len(want.Vars), len(want.Texts), len(want.Unread), f.Unread)
			}

			for i, w := range want.Vars {
				v := f.Vars[i]
				if v.Name != w.Name || v.Class != w.Class || v.Logical != w.Logical || !reflect.DeepEqual(v.Dims, w.Dims) ||
					v.Len() != int64(len(w.Values)) {
					t.Errorf("array %d is %+v; want %s %s %v", i, *v, w.Name, w.Class, w.Dims)
					continue
				}

				if v.Compressed != strings.HasSuffix(name, "_z.mat") {
					t.Errorf("%s: compressed %v", v.Name, v.Compressed)
				}

				for j, x := range all(t, v) {
					if !same(x, number(w.Values[j])) {
						t.Errorf("%s[%d] = %v, want %v", v.Name, j, x, w.Values[j])
					}
				}

				// Forward from an odd start, then backwards one by one.
				x := make([]float64, 3)
				for at := v.Len() - 1; at >= 0; at-- {
					n, err := v.ReadFloat64(x, at)
					if n != int(min(3, v.Len()-at)) || n == 3 && err != nil || n < 3 && err != io.EOF ||
						!same(x[0], number(w.Values[at])) {
						t.Fatalf("%s at %d: %v %d %v", v.Name, at, x[0], n, err)
					}
				}
			}

			for i, w := range want.Texts {
				x := f.Texts[i]
				if x.Name != w.Name || strings.Join(w.Rows, "\n") != x.Value() {
					t.Errorf("text %d is %q, want %q", i, x, w)
				}
			}

			for i, w := range want.Unread {
				u := f.Unread[i]
				if u.Name != w || !strings.Contains(u.Err.Error(), fmt.Sprintf("variable %q: ", w)) {
					t.Errorf("unread %q: %v, want %q", u.Name, u.Err, w)
				}
			}
		})
	}
}

// bigAt is the formula of testdata/make.py.
func bigAt(i, j int64) float64 { return float64(i/50+1000*j) + float64(i%7)/4 }

// TestLargeCompressed reads an array larger than the cache as columns in
// turns, in one go, and backwards. Expected values: the formula in make.py.
func TestLargeCompressed(t *testing.T) {
	v := load(t, "big_z.mat").Var("big")
	v.file.hold = 1 << 20 // it is too large to be held
	if v.Dims[0] != 120000 || columns(v) != 6 {
		t.Fatalf("%+v", v)
	}

	x := make([]float64, 7001)
	for start := int64(0); start < v.Dims[0]; start += 7001 {
		for c := range columns(v) {
			n, err := column(v, c, x, start)
			if want := min(7001, v.Dims[0]-start); int64(n) != want || want == 7001 && err != nil || want < 7001 &&
				err != io.EOF {
				t.Fatalf("column %d at %d: %d, %v", c, start, n, err)
			}

			for i, y := range x[:n] {
				if y != bigAt(start+int64(i), c) {
					t.Fatalf("column %d, row %d: %v", c, start+int64(i), y)
				}
			}
		}
	}

	// One position a column, and one of the variable before it.
	if n := len(v.file.cursors); n > 7 {
		t.Errorf("%d positions", n)
	}

	for at := v.Len() - 5; at > 0; at -= v.Len() / 7 {
		if _, err := v.ReadFloat64(x[:1], at); err != nil || x[0] != bigAt(at%120000, at/120000) {
			t.Fatalf("value %d: %v, %v", at, x[0], err)
		}
	}
}

// counting counts the bytes read of a file.
type counting struct {
	r io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// TestForwardCost: blocks read in order decompress once, columns read in turns
// once where the matrix is held and at most once per column where it is too
// large for that (package comment), whatever the block.
func TestForwardCost(t *testing.T) {
	b, err := os.ReadFile("testdata/truth/big_z.mat")
	if err != nil {
		t.Fatal(err)
	}

	for _, k := range []struct {
		block, hold int64
		passes      int64
	}{
		{500, maxHeld, 1},
		{4000, maxHeld, 1},
		{120000, maxHeld, 1},
		{500, 1 << 20, 6},
		{4000, 1 << 20, 6},
		{120000, 1 << 20, 6},
	} {
		block := k.block
		c := &counting{r: bytes.NewReader(b)}
		f, err := Open(c, int64(len(b)), false)
		if err != nil {
			t.Fatal(err)
		}

		f.hold = k.hold
		v, x := f.Var("big"), make([]float64, block)
		for at := int64(0); at < v.Len(); at += block {
			if _, err := v.ReadFloat64(x, at); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}

		if c.n > int64(len(b))+64<<10 {
			t.Errorf("block %d: %d bytes read of a file of %d", block, c.n, len(b))
		}

		c.n = 0

		for at := int64(0); at < v.Dims[0]; at += block {
			for j := range columns(v) {
				if _, err := column(v, j, x, at); err != nil && err != io.EOF {
					t.Fatal(err)
				}
			}
		}

		if c.n > k.passes*int64(len(b))+64<<10 {
			t.Errorf("block %d, columns in turns: %d bytes read of a file of %d", block, c.n, len(b))
		}
	}
}

// TestPushedOut: matrices that are read in turns and do not all fit cost at most
// a quarter more than if none were held (backs), and give the same values.
func TestPushedOut(t *testing.T) {
	o := binary.LittleEndian
	const n, columns, rows, block = 5, 3, 4096, 256
	b := header(o)

	var want [n][]float64
	for i := range want {
		want[i] = noise(columns * rows)
		want[i][0] = float64(i)
		b = append(b, pack(o, matrix(o, mxDOUBLE, fmt.Sprintf("m%d", i), []int32{rows, columns},
			values(o, miDOUBLE, want[i])))...)
	}

	const size = 8 * columns * rows
	cost := func(hold int64) int64 {
		c := &counting{r: bytes.NewReader(b)}
		f, err := Open(c, int64(len(b)), false)
		if err != nil {
			t.Fatal(err)
		}

		f.hold = hold
		c.n = 0

		x := make([]float64, block)
		for pass := range 12 {
			for at := int64(0); at < rows; at += block {
				for i := range n {
					for k := range int64(columns) {
						if _, err := column(f.Var(fmt.Sprintf("m%d", i)), k, x, at); err != nil && err != io.EOF {
							t.Fatal(err)
						}

						if y := want[i][k*rows+at : k*rows+at+block]; !slices.Equal(x, y) {
							t.Fatalf("hold %d, pass %d: column %d of m%d at %d differs", hold, pass, k, i, at)
						}
					}

					sum := int64(0)
					for _, h := range f.cache {
						sum += int64(len(h.b))
					}

					if sum > hold {
						t.Fatalf("%d bytes are held, at most %d may be", sum, hold)
					}
				}
			}
		}

		return c.n
	}

	none, some, all := cost(0), cost(3*size), cost(n*size)
	if all > int64(len(b))+n*32<<10 {
		t.Errorf("all held: %d bytes read of a file of %d", all, len(b))
	}

	if some > none*5/4 || some < all {
		t.Errorf("three of five held: %d bytes read, %d if none are, %d if all are", some, none, all)
	}
}

// TestDamagedMatrix: of a compressed matrix whose end is damaged the sound part
// is read as ever, and the error names the place of the damage.
func TestDamagedMatrix(t *testing.T) {
	o := binary.LittleEndian
	const rows = 1 << 15
	want := noise(2 * rows)
	b := append(header(o), pack(o, matrix(o, mxDOUBLE, "x", []int32{rows, 2}, values(o, miDOUBLE, want)))...)
	copy(b[len(b)-2000:], make([]byte, 100))

	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}

	x := make([]float64, rows)
	if n, err := column(f.Var("x"), 0, x, 0); n != rows || err != nil && err != io.EOF ||
		!slices.Equal(x, want[:rows]) {
		t.Errorf("the sound column: %d, %v", n, err)
	}

	n, err := column(f.Var("x"), 1, x, 0)
	if n < rows/2 || n == rows || err == nil || err == io.EOF || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the damaged column: %d, %v", n, err)
	}
}

// TestRows reads a wide matrix by rows: element (r, c) is at c·R + r.
func TestRows(t *testing.T) {
	for _, name := range []string{"shapes.mat", "shapes_z.mat"} {
		v := load(t, name).Var("wide")
		x := all(t, v)
		got := [][]float64{make([]float64, 20), make([]float64, 20)}
		n, err := v.ReadChannels(1, []int{3, 1}, 35, got)
		if n != 15 || err != io.EOF {
			t.Fatalf("%d, %v", n, err)
		}

		for i := range n {
			if c := 35 + i; got[0][i] != x[4*c+3] || got[1][i] != x[4*c+1] {
				t.Errorf("column %d: %v %v", c, got[0][i], got[1][i])
			}
		}

		if _, err := v.ReadChannels(1, []int{4}, 0, got[:1]); err == nil ||
			!strings.Contains(err.Error(), "there is no channel 4 of 4") {
			t.Error(err)
		}
	}
}

// Builders of MAT-file bytes after "MAT-File Format", chapter 1.

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
		case miINT8:
			b = append(b, byte(int8(v)))
		case miUINT8:
			b = append(b, byte(v))
		case miINT16:
			b = o.AppendUint16(b, uint16(int16(v)))
		case miUINT16:
			b = o.AppendUint16(b, uint16(v))
		case miINT32:
			b = o.AppendUint32(b, uint32(int32(v)))
		case miUINT32:
			b = o.AppendUint32(b, uint32(v))
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

func open(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b)), false) }

// TestStoredTypes: MATLAB stores a double array whose values are whole numbers
// in the smallest type that holds them; class and storage differ in the file
// and the values must not. Both byte orders, small and normal elements,
// compressed or not. Expected values: what the bytes were made from.
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
					f, err := open(append(header(o), e...))
					if err != nil {
						t.Fatal(err)
					}

					if len(f.Vars) != 1 || len(f.Unread) != 0 || f.BigEndian != (o == binary.AppendByteOrder(binary.BigEndian)) {
						t.Fatalf("type %d: %+v", typ, f)
					}

					v := f.Vars[0]
					if stored, _ := numeric(typ); v.Class != "double" || v.Stored != stored {
						t.Errorf("%s stored as %s", v.Class, v.Stored)
					}

					if got := all(t, v); !reflect.DeepEqual(got, x[:n]) {
						t.Errorf("%v, type %d: %v, want %v", o, typ, got, x[:n])
					}
				}
			}
		}
	}
}

// TestNestedByHand: a big-endian struct array and cell as MATLAB on a
// big-endian machine would write them, with UTF-16 text and an empty field.
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
		f, err := open(append(header(o), e...))
		if err != nil {
			t.Fatal(err)
		}

		var names []string
		for _, v := range f.Vars {
			names = append(names, fmt.Sprintf("%s %v %v", v.Name, v.Dims, v.Logical))
		}

		if want := []string{"s(1).x [2 1] false", "s(2).x [0 0] false", "s(2).tag{1} [1 1] true"}; !reflect.DeepEqual(names,
			want) {
			t.Errorf("%q, want %q", names, want)
		}

		if got := all(t, f.Vars[0]); got[0] != -3 || got[1] != 1000 {
			t.Error(got)
		}

		// Column-major: "aäbüc°" in two rows reads abc and äü°.
		if len(f.Texts) != 1 || !reflect.DeepEqual(f.Texts[0], Text{Name: "s(1).tag", Rows: []string{"abc", "äü°"}}) {
			t.Errorf("%q", f.Texts)
		}
	}
}

// TestUnread: what cannot be read is named and does not touch its neighbours.
func TestUnread(t *testing.T) {
	o := binary.LittleEndian
	one := values(o, miDOUBLE, []float64{1})
	good := func(name string) []byte { return matrix(o, mxDOUBLE, name, []int32{1, 1}, one) }
	cut := pack(o, matrix(o, mxDOUBLE, "cut", []int32{1, 3000}, values(o, miDOUBLE, noise(3000))))
	cut = cut[:len(cut)/2]
	o.PutUint32(cut[4:], uint32(len(cut)-8))
	rotten := pack(o, matrix(o, mxDOUBLE, "rotten", []int32{1, 3}, values(o, miDOUBLE, []float64{1, 2, 3})))
	rotten[len(rotten)-1] ^= 1 // the checksum
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
			`decompress: byte 200, decompressed byte 0: read a tag: no zlib header`,
		},
		{"first", good("first"), `variable "first": the name is used at byte 128 already`},
	} {
		b := append(header(o), good("first")...)
		if len(b) != 128+72 {
			t.Fatalf("the first array ends at %d", len(b))
		}

		f, err := open(append(append(b, c.elem...), good("last")...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}

		if len(f.Vars) != 2 || f.Vars[1].Name != "last" || all(t, f.Vars[1])[0] != 1 {
			t.Errorf("%s: the neighbours: %v", c.name, f.Vars)
		}

		if len(f.Unread) != 1 || f.Unread[0].Name != c.name || !strings.Contains(f.Unread[0].Err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, f.Unread, c.want)
		}
	}

	// An empty text of another type of data, as some writers leave it, spoils nothing.
	odd := matrix(o, mxCHAR, "odd", []int32{0, 0}, elem(o, miDOUBLE, nil))
	if f, err := open(append(append(append(header(o), good("x")...), odd...), good("y")...)); err != nil ||
		len(f.Unread) != 0 || len(f.Vars) != 2 || len(f.Texts) != 1 || f.Texts[0].Value() != "" {
		t.Errorf("an odd empty text: %+v, %v", f, err)
	}

	// Damage that shows on reading only.
	for _, e := range [][]byte{cut, rotten} {
		f, err := open(append(append(header(o), e...), good("last")...))
		if err != nil || len(f.Vars) != 2 {
			t.Fatalf("%v, %v", f, err)
		}

		if _, err := f.Vars[0].ReadFloat64(make([]float64, f.Vars[0].Len()), 0); err == nil ||
			!strings.Contains(err.Error(), "the file is damaged") {
			t.Errorf("%s: %v", f.Vars[0].Name, err)
		}
	}
}

// TestMany: a cell of a million empty arrays, a few kilobytes compressed, is
// refused before its list takes more than its bound; what follows is read.
func TestMany(t *testing.T) {
	o := binary.LittleEndian
	many := matrix(o, mxCELL, "many", []int32{1 << 20, 1}, bytes.Repeat(elem(o, miMATRIX, nil), 1<<20))
	last := matrix(o, mxDOUBLE, "last", []int32{1, 1}, values(o, miDOUBLE, []float64{1}))
	b := append(append(header(o), pack(o, many)...), last...)
	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}

	if len(f.Vars) != 1 || f.Vars[0].Name != "last" || len(f.Unread) != 1 || f.Unread[0].Name != "many" ||
		!strings.Contains(f.Unread[0].Err.Error(), "more names and texts than 64 MiB hold") {
		t.Errorf("%d arrays, %v", len(f.Vars), f.Unread)
	}
}

// TestMemory: reading a compressed array of 5.5 MiB forward takes the memory of
// one position, a block and nothing that grows with it.
func TestMemory(t *testing.T) {
	v := load(t, "big_z.mat").Var("big")
	x := make([]float64, 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	for at := int64(0); at < v.Len(); at += 1000 {
		if _, err := v.ReadFloat64(x, at); err != nil {
			t.Fatal(err)
		}
	}

	runtime.ReadMemStats(&after)

	if grown := after.TotalAlloc - before.TotalAlloc; grown > 512<<10 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func noise(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))

	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}

	return x
}

// deep nests cells.
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

	v4, err := os.ReadFile("testdata/truth/v4.mat")
	if err != nil {
		t.Fatal(err)
	}

	v4 = append(v4, make([]byte, 200)...)
	v73 := bytes.Clone(good)
	o.PutUint16(v73[124:], 0x0200)

	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "byte 0: expected a MAT-file header of 128 bytes, found 0 bytes (the file is cut short)"},
		{"level 4", v4, "this may be a MAT-file of level 4"},
		{"level 7.3", v73, "byte 124: expected a MAT-file of level 5, found level 7.3 (level 7.3 is HDF5: read it as such)"},
		{"HDF5", []byte("\x89HDF\r\n\x1a\n"), "level 7.3 is HDF5"},
		{"text", bytes.Repeat([]byte("1,2,3\n"), 30), `byte 126: expected the byte order "IM" or "MI"`},
		{"cut in a tag", good[:132], "byte 128: expected a data element, found 4 bytes"},
		{"cut in the data", good[:len(good)-1], "byte 128: expected an element of 56 bytes, found 55 until the end of the " +
			"file (the file is cut short: copy it again"},
	} {
		_, err := open(c.b)

		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}

	// The size given may disagree with what can be read.
	if _, err := Open(bytes.NewReader(good[:150]), int64(len(good)), false); err != nil {
		t.Logf("shorter than stated: %v", err)
	}
}

// TestRoundTrip: any vector in any storage type, order and packing reads back
// as written (the writer is that of this test).
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom([]binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order")
		rows, cols := rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(0, 5).Draw(t, "cols")
		x := make([]float64, rows*cols)
		for i := range x {
			x[i] = float64(rapid.Int16().Draw(t, "x"))
		}

		e := matrix(o, mxDOUBLE, "x", []int32{int32(rows), int32(cols)},
			values(o, rapid.SampledFrom([]uint32{miINT16, miINT32, miSINGLE, miDOUBLE, miINT64}).Draw(t, "type"), x))
		if rapid.Bool().Draw(t, "packed") {
			e = pack(o, e)
		}

		f, err := open(append(header(o), e...))
		if err != nil || len(f.Vars) != 1 {
			t.Fatalf("%v, %v", f, err)
		}

		v := f.Vars[0]
		for c := range columns(v) {
			start := rapid.Int64Range(0, int64(rows)).Draw(t, "start")
			got := make([]float64, rapid.IntRange(0, 50).Draw(t, "n"))
			n, err := column(v, c, got, start)
			if n != min(len(got), rows-int(start)) || (err == io.EOF) != (n < len(got)) {
				t.Fatalf("%d, %v", n, err)
			}

			for i := range n {
				if got[i] != x[int(c)*rows+int(start)+i] {
					t.Fatalf("column %d, row %d: %v", c, int(start)+i, got[i])
				}
			}
		}
	})
}

// measured opens a file of the measured data, or skips by name.
func measured(t testing.TB, path string) ([]byte, *File) {
	t.Helper()

	root := os.Getenv("DOUBLETAKE_REAL")
	if root == "" {
		root = "../../../../shared/real"
	}

	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Skipf("measured data not here: %s", path)
	}

	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}

	if len(f.Unread) > 0 {
		t.Fatalf("unread: %v", f.Unread)
	}

	return b, f
}

// TestMeasured checks files written by MATLAB itself against scipy.io.loadmat
// 1.10 (figures copied from a run of it).
func TestMeasured(t *testing.T) {
	t.Run("motor", func(t *testing.T) {
		_, f := measured(t, "crisscl-motor-9450-propeller/sonido_motor_1.mat")
		v := f.Var("x")
		if v == nil || !reflect.DeepEqual(v.Dims, []int64{882000, 1}) || v.Class != "double" {
			t.Fatalf("%+v", f.Vars)
		}

		checkSums(t, all(t, v), motorSums)
	})

	t.Run("cyclone", func(t *testing.T) {
		_, f := measured(t, "cyclone-ojf-force-balance/grav_calibration.mat")
		v := f.Var("model_fit")
		if v == nil || !reflect.DeepEqual(v.Dims, []int64{3, 6}) {
			t.Fatalf("%+v", f.Vars)
		}

		checkSums(t, all(t, v), cycloneSums)
	})

	for _, c := range []struct {
		file, suffix string
		runs         int
		sums         map[string]sums
	}{{"jprop.mat", "jprop", 3, jpropSums}, {"on_poff_side.mat", "on_poff_side", 10, poffSums}} {
		t.Run(c.suffix, func(t *testing.T) {
			_, f := measured(t, "tudelft-ae4115-6blade-spectra/"+c.file)
			if want := 3*c.runs + 7; len(f.Vars) != want || len(f.Texts) != 0 {
				t.Errorf("%d arrays, %d texts, want %d, 0", len(f.Vars), len(f.Texts), want)
			}

			for name, want := range c.sums {
				v := f.Var(name)
				if v == nil {
					t.Errorf("%s is missing", name)
					continue
				}

				checkSums(t, all(t, v), want)
			}
		})
	}

	// NOTE.md of the data: rotor speeds, SPL = 10 lg(PXX/4e-10), the line at 6 RPS.
	t.Run("note", func(t *testing.T) {
		_, f := measured(t, "tudelft-ae4115-6blade-spectra/jprop.mat")
		rps := all(t, f.Var("opp_jprop.RPS_M1"))
		for i, want := range []float64{93.74, 109.37, 123.02} {
			if math.Abs(rps[i]-want) > 0.005 {
				t.Errorf("speed %d: %v", i, rps[i])
			}

			name := fmt.Sprintf("_jprop{%d}", i+1)
			pxx, spl, hz := f.Var("PXX"+name), f.Var("SPL"+name), all(t, f.Var("f"+name))
			if pxx.Dims[0] != 4097 || columns(pxx) != 6 || hz[1] != 6.25 || hz[4096] != 25600 {
				t.Errorf("%s: %v, %v Hz", name, pxx.Dims, hz[1])
			}

			p, l := all(t, pxx), all(t, spl)
			for k := range p {
				if math.Abs(l[k]-10*math.Log10(p[k]/4e-10)) > 1e-9 {
					t.Fatalf("%s: level %d is %v of %v", name, k, l[k], p[k])
				}
			}

			line := int(math.Round(6 * rps[i] / 6.25))
			best := line - 4
			for k := line - 4; k <= line+4; k++ { // microphone 1
				if p[k] > p[best] {
					best = k
				}
			}

			if want := []float64{562.5, 656.25, 737.5}[i]; hz[best] != want {
				t.Errorf("line at %v Hz, want %v", hz[best], want)
			}
		}
	})
}

// sums characterises an array: its size, first and last value, the sum and the
// sum of each value times its position (from one) over the size.
type sums struct {
	n                          int
	first, last, sum, weighted float64
}

func checkSums(t *testing.T, x []float64, want sums) {
	t.Helper()

	var sum, weighted, scale float64
	for i, v := range x {
		sum += v
		weighted += v * float64(i+1) / float64(len(x))
		scale += math.Abs(v)
	}

	if len(x) != want.n || x[0] != want.first || x[len(x)-1] != want.last || math.Abs(sum-want.sum) > 1e-11*scale ||
		math.Abs(weighted-want.weighted) > 1e-11*scale {
		t.Errorf("%v; want %+v", sums{len(x), x[0], x[len(x)-1], sum, weighted}, want)
	}
}

// FuzzOpen: no input makes the reader panic, hang, or take memory beyond
// 160 MiB (the bounds of the package comment) and 64 times the input. Each
// input is also tried as the content of a compressed element, which random
// changes of compressed bytes never reach.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"cells.mat", "cells_z.mat", "structs.mat", "dtypes.mat", "texts.mat", "sparse.mat"} {
		b, err := os.ReadFile(filepath.Join("testdata/truth", name))
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	o := binary.BigEndian
	f.Add(append(header(o), matrix(o, mxDOUBLE, "x", []int32{1, 3}, values(o, miINT16, []float64{1, 2, 3}))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		tryOpen(t, b)

		if len(b) > headerSize {
			tryOpen(t, append(bytes.Clone(b[:headerSize]), pack(binary.LittleEndian, b[headerSize:])...))
		}
	})
}

func tryOpen(t *testing.T, b []byte) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	file, err := Open(bytes.NewReader(b), int64(len(b)), true)
	if err != nil {
		return
	}

	x := make([]float64, 64)
	for i, v := range file.Vars {
		if i > 50 {
			break
		}

		for at := int64(0); at <= v.Len() && at < 1000; at += 64 {
			n, err := v.ReadFloat64(x, at)
			if n < 64 && err == nil || n > 64 {
				t.Fatalf("%d values without an error", n)
			}

			if err != nil && err != io.EOF {
				if !v.Compressed {
					t.Fatalf("a value that was listed is not there: %v", err)
				}
				break
			}
		}

		if columns(v) > 1 {
			column(v, columns(v)-1, x, 0)
			v.ReadChannels(len(v.Dims)-1, []int{0}, 0, [][]float64{x})
		}
	}

	runtime.ReadMemStats(&after)

	if grown := after.TotalAlloc - before.TotalAlloc; grown > 160<<20+64*uint64(len(b)) {
		t.Fatalf("%d bytes of input allocated %d", len(b), grown)
	}
}

func Example() {
	b, err := os.ReadFile("testdata/truth/structs_z.mat")
	if err != nil {
		panic(err)
	}

	f, err := Open(bytes.NewReader(b), int64(len(b)), false)
	if err != nil {
		panic(err)
	}

	x := make([]float64, 3)
	if _, err := f.Var("opp.RPS_M1").ReadFloat64(x, 0); err != nil {
		panic(err)
	}

	fmt.Println(x)
	fmt.Println(f.Texts[0].Name, "=", f.Texts[0].Value())
	// Output:
	// [93.740581 109.37 123.02]
	// opp.site = low-turbulence tunnel
}

func BenchmarkRead(b *testing.B) {
	o := binary.LittleEndian
	x := noise(1 << 20)
	plainDouble := matrix(o, mxDOUBLE, "x", []int32{1 << 20, 1}, values(o, miDOUBLE, x))

	for i := range x {
		x[i] = math.Round(x[i] * 3000)
	}

	narrow := matrix(o, mxDOUBLE, "x", []int32{1 << 20, 1}, values(o, miINT16, x))
	for _, c := range []struct {
		name string
		elem []byte
	}{
		{"double", plainDouble},
		{"int16", narrow},
		{"double-compressed", pack(o, plainDouble)},
		{"int16-compressed", pack(o, narrow)},
	} {
		b.Run(c.name, func(b *testing.B) {
			bytes := append(header(o), c.elem...)
			dst := make([]float64, 1<<16)
			b.SetBytes(8 << 20) // of float64 delivered

			for b.Loop() {
				f, err := open(bytes)
				if err != nil {
					b.Fatal(err)
				}

				for at := int64(0); at < 1<<20; at += 1 << 16 {
					if _, err := f.Vars[0].ReadFloat64(dst, at); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}

	b.Run("motor", func(b *testing.B) {
		data, _ := measured(b, "crisscl-motor-9450-propeller/sonido_motor_1.mat")
		dst := make([]float64, 1<<16)
		b.SetBytes(8 * 882000)

		for b.Loop() {
			f, err := open(data)
			if err != nil {
				b.Fatal(err)
			}

			for at := int64(0); at < 882000; at += 1 << 16 {
				if _, err := f.Vars[0].ReadFloat64(dst, at); err != nil && err != io.EOF {
					b.Fatal(err)
				}
			}
		}
	})
}

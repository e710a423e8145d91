package tdms

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A writer of TDMS bytes, independent of the reader, after National
// Instruments, "TDMS File Format Internal Structure". The headings in the
// comments are those of that document.

type order = binary.AppendByteOrder

var (
	le order = binary.LittleEndian
	be order = binary.BigEndian
)

// ("Binary Layout": strings are preceded by their length as uint32.)
func str(o order, s string) []byte { return append(o.AppendUint32(nil, uint32(len(s))), s...) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func u32(o order, x ...uint32) []byte {
	var b []byte
	for _, v := range x {
		b = o.AppendUint32(b, v)
	}

	return b
}

func u64(o order, x uint64) []byte { return o.AppendUint64(nil, x) }

// prop is one property ("Meta Data": name, type, value).
func prop(o order, name string, v any) []byte {
	b := str(o, name)
	switch x := v.(type) {
	case string:
		return join(b, u32(o, 0x20), str(o, x))
	case float64:
		return join(b, u32(o, 10), u64(o, math.Float64bits(x)))
	case float32:
		return join(b, u32(o, 9), u32(o, math.Float32bits(x)))
	case int32:
		return join(b, u32(o, 3), u32(o, uint32(x)))
	case uint32:
		return join(b, u32(o, 7), u32(o, x))
	case int64:
		return join(b, u32(o, 4), u64(o, uint64(x)))
	case bool:
		return join(b, u32(o, 0x21), []byte{map[bool]byte{true: 1}[x]})
	case time.Time: // ("TDMS Data Types", time stamp)
		s := uint64(x.Unix() + 2082844800)

		f := uint64(x.Nanosecond()) << 32 / 1e9 << 32
		if f > 0 {
			f += 1 << 32 // the nanosecond is not a binary fraction: round up
		}

		if o == be {
			return join(b, u32(o, 0x44), u64(o, s), u64(o, f))
		}

		return join(b, u32(o, 0x44), u64(o, f), u64(o, s))
	}

	panic("property")
}

// obj is one object of the meta data ("Meta Data": path, raw data index, properties).
func obj(o order, path string, index []byte, props ...[]byte) []byte {
	return join(str(o, path), index, u32(o, uint32(len(props))), join(props...))
}

// idx is a raw data index ("Meta Data": its length, type, dimension 1, number of values).
func idx(o order, typ uint32, n uint64) []byte { return join(u32(o, 20, typ, 1), u64(o, n)) }

func none(o order) []byte { return u32(o, 0xffffffff) }
func same(o order) []byte { return u32(o, 0) }

const (
	meta   = 1 << 1
	list   = 1 << 2
	raw    = 1 << 3
	inter  = 1 << 5
	bigEnd = 1 << 6
	daqmx  = 1 << 7
)

// seg is a segment ("Lead In": tag, mask, version, next segment offset, raw data offset).
func seg(o order, toc uint32, objs [][]byte, data ...[]byte) []byte {
	if o == be {
		toc |= bigEnd
	}

	var m []byte
	if toc&meta != 0 {
		m = join(u32(o, uint32(len(objs))), join(objs...))
	}

	d := join(data...)

	return join([]byte("TDSm"), u32(le, toc), u32(o, 4713), u64(o, uint64(len(m)+len(d))), u64(o, uint64(len(m))), m, d)
}

func i32(o order, x ...int32) []byte {
	var b []byte
	for _, v := range x {
		b = o.AppendUint32(b, uint32(v))
	}

	return b
}

func i16(o order, x ...int16) []byte {
	var b []byte
	for _, v := range x {
		b = o.AppendUint16(b, uint16(v))
	}

	return b
}

func f64(o order, x ...float64) []byte {
	var b []byte
	for _, v := range x {
		b = o.AppendUint64(b, math.Float64bits(v))
	}

	return b
}

func open(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func mustOpen(t testing.TB, b []byte) *File {
	t.Helper()

	f, err := open(b)
	if err != nil {
		t.Fatal(err)
	}

	return f
}

func all(t testing.TB, c *Channel) []float64 {
	t.Helper()

	x := make([]float64, c.Samples)
	if n, err := c.ReadFloat64(x, 0); n != len(x) || err != nil {
		t.Fatalf("%s: %d of %d: %v", c.Path(), n, len(x), err)
	}

	return x
}

type want map[string][]float64

// check compares every channel, as a whole, sample by sample backwards, and in
// pairs from everywhere.
func check(t *testing.T, f *File, w want) {
	t.Helper()

	if len(f.Channels) != len(w) {
		t.Errorf("%d channels, want %d", len(f.Channels), len(w))
	}

	for _, c := range f.Channels {
		x := w[c.Path()]
		if c.Err != nil || c.Samples != int64(len(x)) {
			t.Errorf("%s: %d samples, %v; want %d", c.Path(), c.Samples, c.Err, len(x))
			continue
		}

		if got := all(t, c); !reflect.DeepEqual(got, append([]float64{}, x...)) {
			t.Errorf("%s: %v, want %v", c.Path(), got, x)
		}

		two := make([]float64, 2)
		for i := len(x) - 1; i >= 0; i-- {
			n, err := c.ReadFloat64(two, int64(i))
			if n != min(2, len(x)-i) || (err == io.EOF) != (n == 1) || !reflect.DeepEqual(two[:n], x[i:i+n]) {
				t.Fatalf("%s at %d: %v, %d, %v", c.Path(), i, two, n, err)
			}
		}
	}
}

const (
	c1 = "/'group'/'channel1'"
	c2 = "/'group'/'channel2'"
	c3 = "/'group'/'channel3'"
)

// TestPublishedExample is the first segment of NI's own example, byte by byte
// ("Binary Layout", "Lead In" and "Meta Data"): two channels of three int32, a
// property "prop" = "valid", next segment offset 143, raw data offset 119.
func TestPublishedExample(t *testing.T) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(`
		5444536d 0e000000 69120000 8f00000000000000 7700000000000000
		02000000
		13000000 2f2767726f7570272f276368616e6e656c3127 14000000 03000000 01000000 0300000000000000
		01000000 04000000 70726f70 20000000 05000000 76616c6964
		13000000 2f2767726f7570272f276368616e6e656c3227 14000000 03000000 01000000 0300000000000000 00000000
		01000000 02000000 03000000 04000000 05000000 06000000`), ""))
	if err != nil {
		t.Fatal(err)
	}

	// The writer of this test must make the same bytes.
	mine := seg(le, meta|list|raw, [][]byte{
		obj(le, c1, idx(le, 3, 3), prop(le, "prop", "valid")),
		obj(le, c2, idx(le, 3, 3)),
	}, i32(le, 1, 2, 3, 4, 5, 6))

	if !bytes.Equal(mine, b) {
		t.Errorf("the writer makes\n%x, NI\n%x", mine, b)
	}

	f := mustOpen(t, b)
	check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

	if p := f.Channels[0].Properties; !reflect.DeepEqual(p, []Property{{"prop", "valid"}}) ||
		f.Channels[0].Type != "int32" || f.Version != 4713 {
		t.Errorf("%v %v", p, f.Version)
	}
}

// TestSegments follows "Meta Data" and "Optimization": what may change from one
// segment to the next. Expected values: what the bytes were made from.
func TestSegments(t *testing.T) {
	for _, o := range []order{le, be} {
		two := [][]byte{obj(o, c1, idx(o, 3, 2)), obj(o, c2, idx(o, 3, 2))}
		first := seg(o, meta|list|raw, two, i32(o, 1, 2, 3, 4))
		cases := []struct {
			name string
			b    []byte
			want want
			note string // part of a warning
		}{
			{"one segment", first, want{"group/channel1": {1, 2}, "group/channel2": {3, 4}}, ""},
			{
				"interleaved", seg(o, meta|list|raw|inter, two, i32(o, 1, 2, 3, 4)),
				want{"group/channel1": {1, 3}, "group/channel2": {2, 4}},
				"",
			},
			{
				"raw data only", join(first, seg(o, raw, nil, i32(o, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
				"",
			},
			{
				"chunks", seg(o, meta|list|raw, two, i32(o, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
				want{"group/channel1": {1, 2, 5, 6, 9, 10}, "group/channel2": {3, 4, 7, 8, 11, 12}},
				"",
			},
			{
				"interleaved chunks and half a chunk", seg(o, meta|list|raw|inter, two, i32(o, 1, 2, 3, 4, 5, 6)),
				want{"group/channel1": {1, 3, 5}, "group/channel2": {2, 4, 6}},
				"",
			},
			{
				"index as before", join(first, seg(o, meta|list|raw, [][]byte{obj(o, c1, same(o)), obj(o, c2, same(o))},
					i32(o, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
				"",
			},
			{
				"order changed", join(first, seg(o, meta|list|raw, [][]byte{obj(o, c2, same(o)), obj(o, c1, same(o))},
					i32(o, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 5, 6}},
				"",
			},
			{
				"channel added", join(first, seg(o, meta|raw, [][]byte{obj(o, c3, idx(o, 3, 1))}, i32(o, 5, 6, 7, 8, 9))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}, "group/channel3": {9}},
				"",
			},
			{
				"length changed in place", join(first, seg(o, meta|raw, [][]byte{obj(o, c1, idx(o, 3, 3))}, i32(o, 5, 6, 7, 8, 9)),
					seg(o, raw, nil, i32(o, 10, 11, 12, 13, 14))),
				want{"group/channel1": {1, 2, 5, 6, 7, 10, 11, 12}, "group/channel2": {3, 4, 8, 9, 13, 14}},
				"",
			},
			{
				"channel removed by a new list", join(first, seg(o, meta|list|raw, [][]byte{obj(o, c1, same(o))}, i32(o, 5, 6))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4}},
				"",
			},
			{
				"no data, then as before", join(first, seg(o, meta|raw, [][]byte{obj(o, c1, none(o))}, i32(o, 5, 6)),
					seg(o, meta|raw, [][]byte{obj(o, c1, same(o))}, i32(o, 7, 8, 9, 10))),
				want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 5, 6, 9, 10}},
				"",
			},
			{
				"properties only, between data", join(first, seg(o, meta, [][]byte{obj(o, "/", none(o), prop(o, "title", "x"))}),
					seg(o, raw, nil, i32(o, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
				"",
			},
			{
				"from contiguous to interleaved", join(first, seg(o, raw|inter, nil, i32(o, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 5, 7}, "group/channel2": {3, 4, 6, 8}},
				"",
			},
			{
				"type changed", join(first, seg(o, meta|raw, [][]byte{obj(o, c2, idx(o, 10, 1))}, i32(o, 5, 6), f64(o, 0.5))),
				want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 0.5}},
				"",
			},
			{
				"channel without data", join(first, seg(o, meta, [][]byte{obj(o, c3, none(o))})),
				want{"group/channel1": {1, 2}, "group/channel2": {3, 4}, "group/channel3": {}},
				"",
			},
			{
				"no values", join(first, seg(o, meta|raw, [][]byte{obj(o, c1, idx(o, 3, 0))}, i32(o, 5, 6))),
				want{"group/channel1": {1, 2}, "group/channel2": {3, 4, 5, 6}},
				"",
			},
			{
				// A closed segment: each channel has half of its values in the last chunk. npTDMS
				// 1.11 reads the same.
				"part of a chunk", join(seg(o, meta|list|raw, two, i32(o, 1, 2, 3, 4, 5, 6)),
					seg(o, raw, nil, i32(o, 7, 8, 9, 10))),
				want{"group/channel1": {1, 2, 5, 7, 8}, "group/channel2": {3, 4, 6, 9, 10}},
				"",
			},
			{
				"rest that is no part of a chunk", join(seg(o, meta|list|raw, two, i32(o, 1, 2, 3, 4, 5, 6, 0)),
					seg(o, raw, nil, i32(o, 7, 8, 9, 10))),
				want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 9, 10}},
				"ends with 12 bytes that are no whole chunk of 16",
			},
			{
				"rest of a single channel", join(seg(o, meta|list|raw, two[:1], i32(o, 1, 2, 3)),
					seg(o, raw, nil, i32(o, 4, 5, 6, 7, 8))),
				want{"group/channel1": {1, 2, 3, 4, 5, 6, 7, 8}},
				"",
			},
			{
				"of no channel", join(first, seg(o, meta|list|raw, [][]byte{obj(o, "/", none(o))}, i32(o, 9))),
				want{"group/channel1": {1, 2}, "group/channel2": {3, 4}},
				"4 bytes of raw data that belong to no channel",
			},
		}

		for _, c := range cases {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				f := mustOpen(t, c.b)
				check(t, f, c.want)

				if s := strings.Join(f.Warnings, "\n"); !strings.Contains(s, c.note) || c.note == "" && s != "" {
					t.Errorf("warnings: %q, want %q", s, c.note)
				}

				if f.Unclosed || f.Truncated {
					t.Error("not whole")
				}
			})
		}
	}

	// Segments of different byte orders in one file.
	f := mustOpen(t, join(
		seg(le, meta|list|raw, [][]byte{obj(le, c1, idx(le, 2, 2))}, i16(le, 1, -2)),
		seg(be, raw, nil, i16(be, 3, -4))))
	check(t, f, want{"group/channel1": {1, -2, 3, -4}})
}

// TestUnclosed: a last segment without an end (next segment offset all ones,
// "Lead In"), and files cut at every byte, deliver the values that are whole.
func TestUnclosed(t *testing.T) {
	two := [][]byte{obj(le, c1, idx(le, 3, 3)), obj(le, c2, idx(le, 2, 3))}
	first := seg(le, meta|list|raw, two, i32(le, 1, 2, 3), i16(le, 4, 5, 6))
	for _, toc := range []uint32{raw, raw | inter} {
		second := seg(le, toc, nil, i32(le, 7, 8, 9), i16(le, 10, 11, 12))
		if toc&inter != 0 {
			second = seg(le, toc, nil, i32(le, 7), i16(le, 10), i32(le, 8), i16(le, 11), i32(le, 9), i16(le, 12))
		}

		for _, open := range []bool{true, false} {
			if open {
				binary.LittleEndian.PutUint64(second[12:], math.MaxUint64)
			}

			b := join(first, second)
			for cut := len(first) + leadIn; cut <= len(b); cut++ {
				f := mustOpen(t, b[:cut])
				k := cut - len(first) - leadIn
				n1, n2 := min(3, k/4), max(0, (k-12)/2) // contiguous: in the order of the layout
				if toc&inter != 0 {
					n1, n2 = k/6, k/6
				}

				check(t, f, want{
					"group/channel1": []float64{1, 2, 3, 7, 8, 9}[:3+n1],
					"group/channel2": []float64{4, 5, 6, 10, 11, 12}[:3+n2],
				})

				if f.Unclosed != open || f.Truncated != (!open && cut < len(b)) {
					t.Errorf("cut at %d: unclosed %v, truncated %v", k, f.Unclosed, f.Truncated)
				}
			}

			second = bytes.Clone(second)
			binary.LittleEndian.PutUint64(second[12:], uint64(len(second)-leadIn))
		}
	}

	for cut := len(first) + 1; cut < len(first)+leadIn; cut++ {
		f := mustOpen(t, join(first, first)[:cut])
		check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

		if !f.Truncated || len(f.Warnings) != 1 {
			t.Errorf("%+v", f)
		}
	}

	// Cut within the meta data, offsets unknown.
	open := bytes.Clone(first)
	binary.LittleEndian.PutUint64(open[12:], math.MaxUint64)
	binary.LittleEndian.PutUint64(open[20:], math.MaxUint64)
	f := mustOpen(t, join(first, open[:60]))
	check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

	if !f.Unclosed || len(f.Warnings) != 1 {
		t.Errorf("%+v", f)
	}
}

// TestTypes reads every numeric type at its limits, in both orders, contiguous
// and interleaved with a channel of odd width.
func TestTypes(t *testing.T) {
	for _, o := range []order{le, be} {
		for _, c := range []struct {
			typ  uint32
			name string
			data [][]byte
			x    []float64
		}{
			{1, "int8", [][]byte{{0x80}, {0x7f}, {0xff}}, []float64{-128, 127, -1}},
			{2, "int16", [][]byte{i16(o, -32768), i16(o, 32767), i16(o, -2)}, []float64{-32768, 32767, -2}},
			{
				3, "int32",
				[][]byte{i32(o, math.MinInt32), i32(o, math.MaxInt32), i32(o, 5)},
				[]float64{math.MinInt32, math.MaxInt32, 5},
			},
			{4, "int64", [][]byte{u64(o, 1<<64-1), u64(o, 1<<53), u64(o, 1<<63)}, []float64{-1, 1 << 53, -(1 << 63)}},
			{5, "uint8", [][]byte{{0x80}, {0xff}, {1}}, []float64{128, 255, 1}},
			{6, "uint16", [][]byte{i16(o, -1), i16(o, 1), i16(o, -32768)}, []float64{65535, 1, 32768}},
			{7, "uint32", [][]byte{u32(o, math.MaxUint32), u32(o, 1), u32(o, 1<<31)}, []float64{math.MaxUint32, 1, 1 << 31}},
			{8, "uint64", [][]byte{u64(o, 1<<63), u64(o, 1), u64(o, 0)}, []float64{1 << 63, 1, 0}},
			{
				9, "single",
				[][]byte{u32(o, math.Float32bits(-1.5)), u32(o, math.Float32bits(math.MaxFloat32)), u32(o, 0)},
				[]float64{-1.5, math.MaxFloat32, 0},
			},
			{10, "double", [][]byte{f64(o, math.Pi), f64(o, 5e-324), f64(o, -1e300)}, []float64{math.Pi, 5e-324, -1e300}},
			{0x19, "single", [][]byte{u32(o, math.Float32bits(0.25)), u32(o, 0), u32(o, 0)}, []float64{0.25, 0, 0}},
			{0x1a, "double", [][]byte{f64(o, 1), f64(o, 2), f64(o, 3)}, []float64{1, 2, 3}},
			{0x21, "boolean", [][]byte{{0}, {1}, {1}}, []float64{0, 1, 1}},
		} {
			odd := []byte{7, 8, 9}
			objs := [][]byte{obj(o, c1, idx(o, c.typ, 3)), obj(o, c2, idx(o, 5, 3))}
			f := mustOpen(t, join(
				seg(o, meta|list|raw, objs, join(c.data...), odd),
				seg(o, raw|inter, nil, c.data[0], odd[:1], c.data[1], odd[1:2], c.data[2], odd[2:])))
			check(t, f, want{
				"group/channel1": append(append([]float64{}, c.x...), c.x...),
				"group/channel2": {7, 8, 9, 7, 8, 9},
			})

			if f.Channels[0].Type != c.name {
				t.Errorf("type %s, want %s", f.Channels[0].Type, c.name)
			}
		}
	}
}

// TestNotNumeric: channels that are no numbers are named, their neighbours read.
func TestNotNumeric(t *testing.T) {
	for _, o := range []order{le, be} {
		texts := join(u32(o, 28, 0x20, 1), u64(o, 2), u64(o, 8+5))
		f := mustOpen(t, seg(o, meta|list|raw, [][]byte{
			obj(o, c1, texts), obj(o, c2, idx(o, 0x44, 1)), obj(o, "/'group'/'z'", idx(o, 0x08000c, 1)),
			obj(o, c3, idx(o, 3, 2)),
		}, u32(o, 2, 5), []byte("abcde"), make([]byte, 16), make([]byte, 8), i32(o, 1, 2), // two chunks
			u32(o, 2, 5), []byte("abcde"), make([]byte, 16), make([]byte, 8), i32(o, 3, 4)))

		for i, w := range []string{
			`channel "group/channel1": values of type text are not numbers`,
			`channel "group/channel2": values of type time stamp are not numbers`,
			`channel "group/z": values of type complex single are not numbers`,
		} {
			c := f.Channels[i]
			if c.Err == nil || c.Err.Error() != w {
				t.Errorf("%v, want %s", c.Err, w)
			}

			if n, err := c.ReadFloat64(make([]float64, 1), 0); n != 0 || err == nil {
				t.Errorf("%s was read", c.Path())
			}
		}

		if c := f.Channels[0]; c.Samples != 4 || c.Type != "text" {
			t.Errorf("%d %s", c.Samples, c.Type)
		}

		if got := all(t, f.Channels[3]); !reflect.DeepEqual(got, []float64{1, 2, 3, 4}) {
			t.Error(got)
		}
	}
}

// TestProperties: all types, paths with quotes ("Logical Structure"), later
// values replace earlier ones.
func TestProperties(t *testing.T) {
	at := time.Date(2024, 2, 6, 17, 12, 8, 552882000, time.UTC)
	for _, o := range []order{le, be} {
		f := mustOpen(t, join(
			seg(o, meta|list|raw, [][]byte{
				obj(o, "/", none(o), prop(o, "title", "run 7"), prop(o, "begun", at)),
				obj(o, "/'Dr. T''s Events'", none(o), prop(o, "rpm", 5490.5)),
				obj(o, "/'Dr. T''s Events'/'Time / ''x'''", idx(o, 3, 1), prop(o, "i", int32(-5)), prop(o, "u", uint32(7)),
					prop(o, "l", int64(-1<<40)), prop(o, "s", float32(0.5)), prop(o, "b", true)),
			}, i32(o, 1)),
			seg(o, meta, [][]byte{obj(o, "/'Dr. T''s Events'", none(o), prop(o, "rpm", 6000.0), prop(o, "later", "θ"))})))

		if !reflect.DeepEqual(f.Properties, []Property{{"title", "run 7"}, {"begun", at}}) {
			t.Error(f.Properties)
		}

		if !reflect.DeepEqual(f.Groups, []Group{{"Dr. T's Events", []Property{{"rpm", 6000.0}, {"later", "θ"}}}}) {
			t.Error(f.Groups)
		}

		c := f.Channels[0]
		if c.Group != "Dr. T's Events" || c.Name != "Time / 'x'" {
			t.Errorf("%q %q", c.Group, c.Name)
		}

		if !reflect.DeepEqual(c.Properties, []Property{
			{"i", int64(-5)},
			{"u", uint64(7)},
			{"l", int64(-1 << 40)},
			{"s", 0.5},
			{"b", true},
		}) {
			t.Error(c.Properties)
		}

		if s := f.Properties[1].Text(); s != "2024-02-06T17:12:08.552882Z" {
			t.Error(s)
		}
	}
}

// TestWaveform: rate, unit and start time ("Predefined Properties").
func TestWaveform(t *testing.T) {
	for _, c := range []struct {
		props []([]byte)
		rate  float64
		unit  string
	}{
		{nil, 0, ""},
		{
			[][]byte{prop(le, "wf_increment", 1/51200.0), prop(le, "unit_string", "Pa"), prop(le, "wf_samples", int32(100))},
			51200, "Pa",
		},
		{[][]byte{prop(le, "wf_increment", 9.999999999999999e-05), prop(le, "NI_UnitDescription", "Volts")}, 10000, "Volts"},
		{[][]byte{prop(le, "wf_increment", 0.3), prop(le, "wf_xunit_string", "s")}, 1 / 0.3, ""},
		{[][]byte{prop(le, "wf_increment", 6.25), prop(le, "wf_xunit_string", "Hz")}, 0, ""},
		{[][]byte{prop(le, "wf_increment", 0.0)}, 0, ""},
		{[][]byte{prop(le, "wf_increment", math.NaN())}, 0, ""},
		{[][]byte{prop(le, "wf_increment", "fast")}, 0, ""},
	} {
		f := mustOpen(t, seg(le, meta|list|raw,
			[][]byte{obj(le, c1, idx(le, 3, 1), append(c.props, prop(le, "wf_start_offset", 0.25))...)}, i32(le, 1)))
		if ch := f.Channels[0]; ch.RateHz != c.rate || ch.Unit != c.unit || ch.Start != 0.25 && ch.RateHz > 0 {
			t.Errorf("%v Hz, %q, from %v s; want %v, %q", ch.RateHz, ch.Unit, ch.Start, c.rate, c.unit)
		}
	}
}

func linear(k int, slope, zero float64, source int) [][]byte {
	p := fmt.Sprintf("NI_Scale[%d]_", k)
	b := [][]byte{
		prop(le, p+"Scale_Type", "Linear"), prop(le, p+"Linear_Slope", slope),
		prop(le, p+"Linear_Y_Intercept", zero),
	}

	if source >= -1 {
		b = append(b, prop(le, p+"Linear_Input_Source", uint32(int32(source))))
	}

	return b
}

func poly(k int, source int, coefficients ...float64) [][]byte {
	p := fmt.Sprintf("NI_Scale[%d]_Polynomial_", k)
	b := [][]byte{
		prop(le, fmt.Sprintf("NI_Scale[%d]_Scale_Type", k), "Polynomial"),
		prop(le, p+"Coefficients_Size", uint32(len(coefficients))),
		prop(le, p+"Input_Source", uint32(int32(source))),
	}

	for i, c := range coefficients {
		b = append(b, prop(le, fmt.Sprintf("%sCoefficients[%d]", p, i), c))
	}

	return b
}

func scales(n int, parts ...[][]byte) [][]byte {
	b := [][]byte{prop(le, "NI_Number_Of_Scales", int32(n)), prop(le, "NI_Scaling_Status", "unscaled")}
	for _, p := range parts {
		b = append(b, p...)
	}

	return b
}

// TestScales: the samples are 0, 1, 2, 3; expected values by hand.
func TestScales(t *testing.T) {
	kind := func(k int, name string) [][]byte {
		return [][]byte{prop(le, fmt.Sprintf("NI_Scale[%d]_Scale_Type", k), name)}
	}
	for _, c := range []struct {
		name  string
		props [][]byte
		want  []float64
		err   string
	}{
		{"none", nil, []float64{0, 1, 2, 3}, ""},
		{"no scales", scales(0), []float64{0, 1, 2, 3}, ""},
		{"linear", scales(1, linear(0, 2, 10, -2)), []float64{10, 12, 14, 16}, ""},
		{"linear of the raw values", scales(1, linear(0, 2, 10, -1)), []float64{10, 12, 14, 16}, ""},
		{"scale 1 of input 0 that is no scale", scales(2, linear(1, 0.5, 0, 0)), []float64{0, 0.5, 1, 1.5}, ""},
		{"polynomial", scales(1, poly(0, -1, 16, 0, 2, 1)), []float64{16, 19, 32, 61}, ""},
		{"a chain", scales(2, linear(0, 2, 1, -1), poly(1, 0, 0, 0, 1)), []float64{1, 9, 25, 49}, ""},
		{"only the last counts", scales(2, linear(0, 2, 1, -1), linear(1, 10, 0, -1)), []float64{0, 10, 20, 30}, ""},
		{"without the number", linear(0, 3, 0, -2), []float64{0, 3, 6, 9}, ""},
		{"already scaled", append(linear(0, 3, 0, -2), prop(le, "NI_Number_Of_Scales", int32(1)),
			prop(le, "NI_Scaling_Status", "scaled")), []float64{0, 1, 2, 3}, ""},
		{"RTD", scales(1, kind(0, "RTD")), nil, `channel "group/channel1": unknown TDMS scale type "RTD" (scale 0)`},
		{"RTD before linear", scales(2, kind(0, "RTD"), linear(1, 2, 0, 0)), nil, `unknown TDMS scale type "RTD" (scale 0)`},
		{"Table", scales(1, kind(0, "Table")), nil, `unknown TDMS scale type "Table" (scale 0)`},
		{"circle", scales(2, linear(0, 1, 0, 1), linear(1, 1, 0, 0)), nil, "the TDMS scales go in a circle"},
		{"missing", scales(2, linear(0, 1, 0, -1)), nil, "TDMS scale 1 of 2 is missing"},
		{"no slope", scales(1, kind(0, "Linear")), nil, "the linear TDMS scale 0 has no slope or no intercept"},
		{"no coefficient", scales(1, kind(0, "Polynomial")), nil, "the polynomial TDMS scale 0 has no coefficient 0"},
		{
			"status",
			[][]byte{prop(le, "NI_Number_Of_Scales", int32(1)), prop(le, "NI_Scaling_Status", "half")},
			nil,
			`unknown TDMS scaling status "half"`,
		},
	} {
		f := mustOpen(t, seg(le, meta|list|raw, [][]byte{obj(le, c1, idx(le, 2, 4), c.props...)}, i16(le, 0, 1, 2, 3)))
		ch := f.Channels[0]
		if c.err != "" {
			if ch.Err == nil || !strings.Contains(ch.Err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, ch.Err, c.err)
			}
			continue
		}

		if ch.Err != nil {
			t.Errorf("%s: %v", c.name, ch.Err)
			continue
		}

		if got := all(t, ch); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}

	// Scales of the group hold for its channels.
	f := mustOpen(t, seg(le, meta|list|raw, [][]byte{
		obj(le, "/'group'", none(le), scales(1, linear(0, 2, 0, -1))...),
		obj(le, c1, idx(le, 2, 2)),
	}, i16(le, 1, 2)))

	check(t, f, want{"group/channel1": {2, 4}})
}

// scalerIdx is the raw data index of DAQmx with format-changing scalers
// {type code, buffer, byte offset, scale id} and the widths of the buffers.
func scalerIdx(n uint64, widths []uint32, scalers ...[4]uint32) []byte {
	b := join(u32(le, 0x1269, 0xffffffff, 1), u64(le, n), u32(le, uint32(len(scalers))))
	for _, s := range scalers {
		b = join(b, u32(le, s[0], s[1], s[2], 0, s[3]))
	}

	return join(b, u32(le, uint32(len(widths))), u32(le, widths...))
}

// TestDAQmx: raw data as the DAQmx driver logs them. Layout and type codes
// (0 uint8, 1 int8, 2 uint16, 3 int16, 4 uint32, 5 int32) after the source
// named in the package comment; the bytes are put together by hand.
func TestDAQmx(t *testing.T) {
	volts := scales(2, linear(1, 0.5, 1, 0)) // scale 1 of scaler 0, as the driver writes it
	w := []uint32{4}
	b := seg(le, meta|list|raw|daqmx, [][]byte{
		obj(le, c1, scalerIdx(2, w, [4]uint32{3, 0, 0, 0}), append(volts, prop(le, "wf_increment", 1e-4))...),
		obj(le, c2, scalerIdx(2, w, [4]uint32{2, 0, 2, 0})),
	}, i16(le, 1, 10, 2, -1, 3, 30, -4, 40))

	f := mustOpen(t, join(b, seg(le, raw|daqmx, nil, i16(le, 5, 50, 6, 60))))
	check(t, f, want{"group/channel1": {1.5, 2, 2.5, -1, 3.5, 4}, "group/channel2": {10, 65535, 30, 40, 50, 60}})

	if c := f.Channels[0]; c.RateHz != 10000 || c.Type != "int16" ||
		!reflect.DeepEqual(c.Scales, []string{"Linear [1 0.5]"}) {
		t.Errorf("%+v", c)
	}

	// Two buffers one after the other, of different width and length; 24-bit
	// devices give int32. Two scalers for one channel: the scale selects one.
	w = []uint32{2, 8}
	f = mustOpen(t, seg(le, meta|list|raw|daqmx, [][]byte{
		obj(le, c1, scalerIdx(3, w, [4]uint32{3, 0, 0, 0})),
		obj(le, c2, scalerIdx(2, w, [4]uint32{5, 1, 0, 0}, [4]uint32{5, 1, 4, 2}),
			scales(4, linear(1, 2, 0, 0), linear(3, 10, 0, 2))...),
	}, i16(le, 1, 2, 3), i32(le, 100, 101, 200, 201), i16(le, 4, 5, 6), i32(le, 300, 301, 400, 401)))

	check(t, f, want{"group/channel1": {1, 2, 3, 4, 5, 6}, "group/channel2": {1010, 2010, 3010, 4010}})

	digital := join(u32(le, 0x126a, 0xffffffff, 1), u64(le, 2), u32(le, 1, 0, 0, 0), []byte{0}, u32(le, 0, 1, 4))
	for _, c := range []struct {
		name  string
		index []byte
		props [][]byte
		err   string
	}{
		{"digital lines", digital, nil, `channel "group/channel1": DAQmx digital line scalers are not read`},
		{
			"two scalers", scalerIdx(2, []uint32{4}, [4]uint32{3, 0, 0, 0}, [4]uint32{3, 0, 2, 1}), nil,
			"2 DAQmx scalers and no scale that selects one",
		},
		{
			"no such scaler", scalerIdx(2, []uint32{4}, [4]uint32{3, 0, 0, 0}), scales(3, linear(2, 1, 0, 1)),
			"TDMS scale 1 of 3 is missing",
		},
		{
			"thermocouple", scalerIdx(2, []uint32{4}, [4]uint32{3, 0, 0, 0}),
			scales(2, [][]byte{prop(le, "NI_Scale[1]_Scale_Type", "Thermocouple")}),
			`unknown TDMS scale type "Thermocouple" (scale 1)`,
		},
	} {
		f := mustOpen(t, seg(le, meta|list|raw|daqmx, [][]byte{obj(le, c1, c.index, c.props...)}, make([]byte, 8)))
		if ch := f.Channels[0]; ch.Err == nil || !strings.Contains(ch.Err.Error(), c.err) {
			t.Errorf("%s: %v, want %s", c.name, ch.Err, c.err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	first := seg(le, meta|list|raw, [][]byte{obj(le, c1, idx(le, 3, 1))}, i32(le, 1))
	version := bytes.Clone(first)
	version[8] = 1
	offset := bytes.Clone(first)
	binary.LittleEndian.PutUint64(offset[20:], 1000)

	one := func(index []byte, props ...[]byte) []byte {
		return seg(le, meta|list|raw, [][]byte{obj(le, c1, index, props...)}, make([]byte, 64))
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "byte 0: expected a TDMS file, found an empty file"},
		{"text", []byte("1,2,3\n4,5,6\n"), `byte 0: expected a segment, "TDSm", found "1,2,3\n4,"`},
		{"index file", append([]byte("TDSh"), first[4:]...), "found an index file (open the .tdms file next to it)"},
		{"short", first[:20], `expected a segment, "TDSm"`},
		{"version", version, "byte 8: expected version 4712 or 4713, found 4609"},
		{"offset", offset, "byte 20: expected a raw data offset of at most"},
		{
			"not a segment", join(first, []byte("garbage beyond the last segment")),
			fmt.Sprintf("byte %d: expected a segment", len(first)),
		},
		{"path", seg(le, meta|list, [][]byte{obj(le, "/group", none(le))}), `"/group" is no path of an object`},
		{"deep path", seg(le, meta|list, [][]byte{obj(le, "/'a'/'b'/'c'", none(le))}), `is no path of an object`},
		{
			"data of a group", seg(le, meta|list, [][]byte{obj(le, "/'a'", idx(le, 3, 1))}),
			`the object "/'a'" is no channel and has data`,
		},
		{"no index before", one(same(le)), "there is none"},
		{"dimension", one(join(u32(le, 20, 3, 2), u64(le, 1))), "expected an array of dimension 1, found 2"},
		{"extended", one(idx(le, 11, 1)), `"/'group'/'channel1'" has values of extended, whose size is not known`},
		{"type", one(idx(le, 0x99, 1)), "has values of type 0x99, whose size is not known"},
		{"length of the index", one(u32(le, 77, 3, 1, 0, 0)), "expected a raw data index of 20 or 28 bytes, found 0x4d"},
		{
			"property", one(idx(le, 3, 1), join(str(le, "x"), u32(le, 11))),
			`the property "x" is of extended, which is not read`,
		},
		{
			"overrun", one(idx(le, 3, 1), join(str(le, "x"), u32(le, 0x20, 1<<30))),
			"a text of 1073741824 bytes overruns the meta data",
		},
		{"interleaved lengths", seg(le, meta|list|raw|inter, [][]byte{obj(le, c1, idx(le, 3, 1)), obj(le, c2, idx(le, 3, 2))},
			i32(le, 1, 2, 3)), "interleaved channels have 1 and 2 values"},
		{
			"interleaved texts", seg(le, meta|list|raw|inter,
				[][]byte{obj(le, c1, join(u32(le, 28, 0x20, 1), u64(le, 2), u64(le, 13)))}, make([]byte, 13)),
			`holds texts within interleaved data`,
		},
		{
			"more texts than bytes", one(join(u32(le, 28, 0x20, 1), u64(le, 1<<40), u64(le, 64))),
			"1099511627776 texts of 64 bytes in all cannot be",
		},
		{"DAQmx offset", seg(le, meta|list|raw|daqmx, [][]byte{obj(le, c1, scalerIdx(1, []uint32{2}, [4]uint32{3, 0, 1, 0}))},
			make([]byte, 2)), "a DAQmx value at byte 1 of buffer 0 lies outside it"},
		{"DAQmx type", seg(le, meta|list|raw|daqmx, [][]byte{obj(le, c1, scalerIdx(1, []uint32{2}, [4]uint32{9, 0, 0, 0}))},
			make([]byte, 2)), "the type 9 of a DAQmx scaler is not known"},
	} {
		_, err := open(c.b)

		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

// TestRead reads several channels at once against one by one, with blocks
// larger and smaller than the window.
func TestRead(t *testing.T) {
	const n = 40000
	var data []byte

	a, b := make([]float64, n), make([]float64, n)
	for i := range n {
		a[i], b[i] = float64(i), float64(-2*i)
		data = append(data, join(f64(le, a[i]), i32(le, int32(b[i])))...)
	}

	objs := [][]byte{obj(le, c1, idx(le, 10, 100)), obj(le, c2, idx(le, 3, 100)), obj(le, c3, none(le))}
	f := mustOpen(t, join(seg(le, meta|list|raw|inter, objs, data),
		seg(le, meta|list|raw, [][]byte{obj(le, c3, idx(le, 10, 2))}, f64(le, 1, 2))))
	for _, size := range []int{1, 999, 30000, 50000} {
		dst := [][]float64{make([]float64, size), make([]float64, size), make([]float64, size)}
		for start := 0; start < n; start += max(size, n/7) {
			k, err := f.Read([]int{1, 0, 2}, int64(start), dst)
			if k != min(size, n-start) || (err == io.EOF) != (k < size) {
				t.Fatalf("%d from %d: %d, %v", size, start, k, err)
			}

			for i := range k {
				if dst[0][i] != b[start+i] || dst[1][i] != a[start+i] {
					t.Fatalf("sample %d: %v %v", start+i, dst[0][i], dst[1][i])
				}

				if want := []float64{1, 2}; start+i < 2 && dst[2][i] != want[start+i] || start+i >= 2 && !math.IsNaN(dst[2][i]) {
					t.Fatalf("sample %d of the short channel: %v", start+i, dst[2][i])
				}
			}
		}
	}

	// Interleaved channels in turns read the file once.
	r := &counting{r: bytes.NewReader(data)}
	f.src = readerAt(func(p []byte, at int64) (int,
		error,
	) {
		return r.ReadAt(p, at-f.Channels[0].pieces[0].run.segs[0].at)
	})

	f.window, f.windowAt = nil, 0

	dst := [][]float64{make([]float64, n), make([]float64, n)}
	if _, err := f.Read([]int{0, 1}, 0, dst); err != nil {
		t.Fatal(err)
	}

	if r.n > int64(len(data)) {
		t.Errorf("%d bytes read of %d", r.n, len(data))
	}
}

type readerAt func(p []byte, at int64) (int, error)

func (f readerAt) ReadAt(p []byte, at int64) (int, error) { return f(p, at) }

type counting struct {
	r io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// TestRoundTrip: any division of channels into segments, chunks, layouts and
// orders reads back as written.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := []string{c1, c2, c3}
		truth := make([][]float64, 3)
		var b []byte

		next := 0.0
		for range rapid.IntRange(1, 4).Draw(t, "segments") {
			o := rapid.SampledFrom([]order{le, be}).Draw(t, "order")
			interleaved := rapid.Bool().Draw(t, "interleaved")
			var objs [][]byte
			var types []uint32
			var counts []int

			shared := rapid.IntRange(1, 5).Draw(t, "n")
			for _, p := range paths {
				typ := rapid.SampledFrom([]uint32{2, 3, 10}).Draw(t, "type")

				n := rapid.IntRange(0, 5).Draw(t, "n")
				if interleaved {
					n = shared
				}

				types, counts, objs = append(types, typ), append(counts, n), append(objs, obj(o, p, idx(o, typ, uint64(n))))
			}

			put := func(data []byte, c int) []byte {
				next++
				truth[c] = append(truth[c], next)
				switch types[c] {
				case 2:
					return append(data, i16(o, int16(next))...)
				case 3:
					return append(data, i32(o, int32(next))...)
				}

				return append(data, f64(o, next)...)
			}

			var data []byte
			for range rapid.IntRange(0, 3).Draw(t, "chunks") {
				if interleaved {
					for range shared {
						for c := range paths {
							data = put(data, c)
						}
					}

					continue
				}

				for c := range paths {
					for range counts[c] {
						data = put(data, c)
					}
				}
			}

			toc := uint32(meta | list | raw)
			if interleaved {
				toc |= inter
			}

			b = append(b, seg(o, toc, objs, data)...)
		}

		f, err := open(b)
		if err != nil {
			t.Fatal(err)
		}

		for i, c := range f.Channels {
			if c.Samples != int64(len(truth[i])) {
				t.Fatalf("%d samples, want %d", c.Samples, len(truth[i]))
			}

			start := rapid.Int64Range(0, c.Samples).Draw(t, "start")
			x := make([]float64, c.Samples-start)
			if n, err := c.ReadFloat64(x, start); n != len(x) || err != nil || len(x) > 0 &&
				!reflect.DeepEqual(x, truth[i][start:]) {
				t.Fatalf("%v, want %v (%v)", x, truth[i][start:], err)
			}
		}
	})
}

// FuzzOpen: no input makes the reader panic, hang, or take more memory than
// 200 times its size and 16 MiB (a fuzz worker's own needs included here).
func FuzzOpen(f *testing.F) {
	two := [][]byte{
		obj(le, c1, idx(le, 3, 2), prop(le, "wf_increment", 1e-4)),
		obj(le, c2, idx(le, 2, 2), scales(1, linear(0, 2, 1, -1))...),
	}

	f.Add(join(seg(le, meta|list|raw, two, make([]byte, 24)), seg(le, raw, nil, make([]byte, 12)),
		seg(le, meta|raw, two[:1], make([]byte, 17))))
	f.Add(seg(be, meta|list|raw|inter, [][]byte{obj(be, c1, idx(be, 10, 3)), obj(be, c2, idx(be, 1, 3))},
		make([]byte, 27)))
	f.Add(seg(le, meta|list|raw|daqmx,
		[][]byte{obj(le, c1, scalerIdx(2, []uint32{4}, [4]uint32{3, 0, 0, 0}), scales(2, linear(1, 0.5, 1, 0))...)},
		make([]byte, 16)))
	f.Add(seg(le, meta|list|raw, [][]byte{
		obj(le, c1, join(u32(le, 28, 0x20, 1), u64(le, 2), u64(le, 13))),
		obj(le, c2, idx(le, 0x44, 1)),
	}, make([]byte, 29)))

	unclosed := seg(le, meta|list|raw, two, make([]byte, 20))
	binary.LittleEndian.PutUint64(unclosed[12:], math.MaxUint64)
	f.Add(unclosed)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		file, err := open(b)
		if err != nil {
			return
		}

		x := make([]float64, 64)
		for i, c := range file.Channels {
			if i > 50 {
				break
			}

			for at := int64(0); at <= c.Samples && at < 1000; at += 64 {
				n, err := c.ReadFloat64(x, at)
				if n < 64 && err == nil || n > 64 {
					t.Fatalf("%d samples without an error", n)
				}

				if err != nil && !errors.Is(err, io.EOF) {
					if c.Err == nil && c.scalers() == nil {
						t.Fatalf("a sample that was listed is not there: %v", err)
					}
					break
				}
			}

			if c.Samples > int64(len(b)) {
				t.Fatalf("%d samples of %d bytes", c.Samples, len(b))
			}
		}

		runtime.ReadMemStats(&after)

		if grown := after.TotalAlloc - before.TotalAlloc; grown > 400*uint64(len(b))+32<<20 {
			t.Fatalf("%d bytes of input allocated %d", len(b), grown)
		}
	})
}

func Example() {
	data := seg(le, meta|list|raw|inter, [][]byte{
		obj(le, "/'Task'/'Dev1/ai0'", idx(le, 2, 3),
			append(scales(1, linear(0, 0.25, 0, -1)), prop(le, "wf_increment", 1/51200.0), prop(le, "unit_string", "Volts"))...),
		obj(le, "/'Task'/'Dev1/ai1'", idx(le, 2, 3)),
	}, i16(le, 1, 100, 2, 200, 3, 300))

	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err)
	}

	c := f.Channels[0]
	x := make([]float64, c.Samples)
	if _, err := c.ReadFloat64(x, 0); err != nil {
		panic(err)
	}

	fmt.Println(c.Name, c.RateHz, "Hz", c.Unit, x)
	// Output:
	// Dev1/ai0 51200 Hz Volts [0.25 0.5 0.75]
}

func BenchmarkRead(b *testing.B) {
	const n = 1 << 20
	x := make([]byte, 8*n)

	objs := func(typ uint32, n uint64) [][]byte {
		return [][]byte{obj(le, c1, idx(le, typ, n)), obj(le, c2, idx(le, typ, n))}
	}
	for _, c := range []struct {
		name string
		b    []byte
	}{
		{"contiguous-double", seg(le, meta|list|raw, objs(10, n/2), x)},
		{"contiguous-double-chunks-of-1000", seg(le, meta|list|raw, objs(10, 1000), x)},
		{"interleaved-double", seg(le, meta|list|raw|inter, objs(10, n/2), x)},
		{"interleaved-int16", seg(le, meta|list|raw|inter, objs(2, n/2), x[:2*n])},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := [][]float64{make([]float64, 1<<16), make([]float64, 1<<16)}
			b.SetBytes(8 * n) // of float64 delivered

			for b.Loop() {
				f, err := open(c.b)
				if err != nil {
					b.Fatal(err)
				}

				for at := int64(0); at < f.Channels[0].Samples; at += 1 << 16 {
					if _, err := f.Read([]int{0, 1}, at, dst); err != nil && err != io.EOF {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

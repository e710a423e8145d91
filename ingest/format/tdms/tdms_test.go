package tdms

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"strings"
	"testing"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The following functions write TDMS bytes independently of the reader, by National Instruments, "TDMS File Format
// Internal Structure". Comments cite headings of that document.

type order = binary.AppendByteOrder

var (
	le order = binary.LittleEndian
	be order = binary.BigEndian
)

// str returns a string behind its length in 4 bytes ("Binary Layout").
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

// prop returns a property ("Meta Data": name, type, value).
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
		if x {
			return join(b, u32(o, 0x21), []byte{1})
		}

		return join(b, u32(o, 0x21), []byte{0})
	case time.Time: // ("TDMS Data Types", time stamp)
		s := uint64(x.Unix() + 2082844800)

		f := uint64(x.Nanosecond()) << 32 / 1e9 << 32
		if f > 0 {
			f += 1 << 32 // round up: most nanoseconds are not binary fractions
		}

		if o == be {
			return join(b, u32(o, 0x44), u64(o, s), u64(o, f))
		}

		return join(b, u32(o, 0x44), u64(o, f), u64(o, s))
	}

	panic("property")
}

// obj returns an object of the meta data ("Meta Data": path, raw data index, properties).
func obj(o order, path string, index []byte, props ...[]byte) []byte {
	return join(str(o, path), index, u32(o, uint32(len(props))), join(props...))
}

// channels returns n objects in little-endian order with the same raw data index.
func channels(n int, index []byte) [][]byte {
	var objects [][]byte
	for k := range n {
		objects = append(objects, obj(le, fmt.Sprintf("/'group'/'c%d'", k), index))
	}

	return objects
}

// idx returns a raw data index ("Meta Data": its length, type, dimension 1, number of values).
func idx(o order, typ uint32, n uint64) []byte { return join(u32(o, 20, typ, 1), u64(o, n)) }

func none(o order) []byte { return u32(o, 0xffffffff) }
func same(o order) []byte { return u32(o, 0) }

const (
	meta    = 1 << 1
	list    = 1 << 2
	rawData = 1 << 3
	inter   = 1 << 5
	bigEnd  = 1 << 6
	daqmx   = 1 << 7
)

// seg returns a segment ("Lead In": tag, mask, version, next segment offset, raw data offset).
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

func mustOpen(t testing.TB, b []byte) *file {
	t.Helper()

	f, err := openFile(ingesttest.Source(b))
	require.NoError(t, err)

	return f
}

type want map[string][]float64

// check compares the samples of every channel with w. It reads each channel from every sample on: two samples, and all
// samples to the end.
func check(t testing.TB, f *file, w want) {
	t.Helper()

	assert.Len(t, f.channels, len(w), "channels")

	for i, c := range f.channels {
		x := w[c.path]
		require.NoError(t, c.err, "%s", c.path)
		require.EqualValues(t, len(x), c.samples, "%s: samples", c.path)

		got := make([]float64, len(x))
		for at := len(x) - 1; at >= 0; at-- {
			for _, n := range []int{min(2, len(x)-at), len(x) - at} {
				err := f.Read([]int{i}, int64(at), [][]float64{got[:n]})
				require.NoError(t, err, "%s: %d samples from %d on", c.path, n, at)
				require.Equal(t, x[at:at+n], got[:n], "%s: samples from %d on", c.path, at)
			}
		}
	}
}

const (
	c1 = "/'group'/'channel1'"
	c2 = "/'group'/'channel2'"
	c3 = "/'group'/'channel3'"
)

// TestPublishedExample reads the first segment of NI's own example, byte by byte ("Binary Layout", "Lead In" and "Meta
// Data"): two channels of three int32, a property "prop" = "valid", next segment offset 143, raw data offset 119.
func TestPublishedExample(t *testing.T) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(`
		5444536d 0e000000 69120000 8f00000000000000 7700000000000000
		02000000
		13000000 2f2767726f7570272f276368616e6e656c3127 14000000 03000000 01000000 0300000000000000
		01000000 04000000 70726f70 20000000 05000000 76616c6964
		13000000 2f2767726f7570272f276368616e6e656c3227 14000000 03000000 01000000 0300000000000000 00000000
		01000000 02000000 03000000 04000000 05000000 06000000`), ""))
	require.NoError(t, err)

	// The functions above must write the same bytes.
	mine := seg(le, meta|list|rawData, [][]byte{
		obj(le, c1, idx(le, 3, 3), prop(le, "prop", "valid")),
		obj(le, c2, idx(le, 3, 3)),
	}, i32(le, 1, 2, 3, 4, 5, 6))

	assert.Equal(t, b, mine, "bytes of the functions above, compared with NI's")

	f := mustOpen(t, b)
	check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

	assert.Equal(t, []property{{"prop", "valid"}}, f.channels[0].list)
	assert.Equal(t, "int32", f.channels[0].typ)
	assert.EqualValues(t, 4713, f.version)
}

// segmentCase is a file of some segments.
type segmentCase struct {
	name string
	b    []byte
	want want
	note string // part of a warning; "" if there is none
}

// segmentCases returns files in which a segment changes what another one stated before ("Meta Data" and
// "Optimization").
func segmentCases(o order) []segmentCase {
	two := [][]byte{obj(o, c1, idx(o, 3, 2)), obj(o, c2, idx(o, 3, 2))}
	first := seg(o, meta|list|rawData, two, i32(o, 1, 2, 3, 4))

	return []segmentCase{
		{"one segment", first, want{"group/channel1": {1, 2}, "group/channel2": {3, 4}}, ""},
		{
			"interleaved", seg(o, meta|list|rawData|inter, two, i32(o, 1, 2, 3, 4)),
			want{"group/channel1": {1, 3}, "group/channel2": {2, 4}},
			"",
		},
		{
			"raw data only", join(first, seg(o, rawData, nil, i32(o, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
			"",
		},
		{
			"chunks", seg(o, meta|list|rawData, two, i32(o, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
			want{"group/channel1": {1, 2, 5, 6, 9, 10}, "group/channel2": {3, 4, 7, 8, 11, 12}},
			"",
		},
		{
			"interleaved chunks and half a chunk", seg(o, meta|list|rawData|inter, two, i32(o, 1, 2, 3, 4, 5, 6)),
			want{"group/channel1": {1, 3, 5}, "group/channel2": {2, 4, 6}},
			"",
		},
		{
			"index as before", join(first, seg(o, meta|list|rawData, [][]byte{obj(o, c1, same(o)), obj(o, c2, same(o))},
				i32(o, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
			"",
		},
		{
			"order changed", join(first, seg(o, meta|list|rawData, [][]byte{obj(o, c2, same(o)), obj(o, c1, same(o))},
				i32(o, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 5, 6}},
			"",
		},
		{
			"channel added", join(first, seg(o, meta|rawData, [][]byte{obj(o, c3, idx(o, 3, 1))}, i32(o, 5, 6, 7, 8, 9))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}, "group/channel3": {9}},
			"",
		},
		{
			"length changed in place", join(first, seg(o, meta|rawData, [][]byte{obj(o, c1, idx(o, 3, 3))}, i32(o, 5, 6, 7, 8,
				9)),
				seg(o, rawData, nil, i32(o, 10, 11, 12, 13, 14))),
			want{"group/channel1": {1, 2, 5, 6, 7, 10, 11, 12}, "group/channel2": {3, 4, 8, 9, 13, 14}},
			"",
		},
		{
			"channel removed by a new list", join(first, seg(o, meta|list|rawData, [][]byte{obj(o, c1, same(o))}, i32(o, 5,
				6))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4}},
			"",
		},
		{
			"no data, then as before", join(first, seg(o, meta|rawData, [][]byte{obj(o, c1, none(o))}, i32(o, 5, 6)),
				seg(o, meta|rawData, [][]byte{obj(o, c1, same(o))}, i32(o, 7, 8, 9, 10))),
			want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 5, 6, 9, 10}},
			"",
		},
		{
			"properties only, between data", join(first, seg(o, meta, [][]byte{obj(o, "/", none(o), prop(o, "title", "x"))}),
				seg(o, rawData, nil, i32(o, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 7, 8}},
			"",
		},
		{
			"from contiguous to interleaved", join(first, seg(o, rawData|inter, nil, i32(o, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 5, 7}, "group/channel2": {3, 4, 6, 8}},
			"",
		},
		{
			"type changed", join(first, seg(o, meta|rawData, [][]byte{obj(o, c2, idx(o, 10, 1))}, i32(o, 5, 6), f64(o, 0.5))),
			want{"group/channel1": {1, 2, 5, 6}, "group/channel2": {3, 4, 0.5}},
			"",
		},
		{
			"channel without data", join(first, seg(o, meta, [][]byte{obj(o, c3, none(o))})),
			want{"group/channel1": {1, 2}, "group/channel2": {3, 4}, "group/channel3": {}},
			"",
		},
		{
			"no values", join(first, seg(o, meta|rawData, [][]byte{obj(o, c1, idx(o, 3, 0))}, i32(o, 5, 6))),
			want{"group/channel1": {1, 2}, "group/channel2": {3, 4, 5, 6}},
			"",
		},
		{
			// A closed segment: each channel has half of its values in the last chunk. npTDMS
			// 1.11 reads the same.
			"part of a chunk", join(seg(o, meta|list|rawData, two, i32(o, 1, 2, 3, 4, 5, 6)),
				seg(o, rawData, nil, i32(o, 7, 8, 9, 10))),
			want{"group/channel1": {1, 2, 5, 7, 8}, "group/channel2": {3, 4, 6, 9, 10}},
			"",
		},
		{
			"rest that is no part of a chunk", join(seg(o, meta|list|rawData, two, i32(o, 1, 2, 3, 4, 5, 6, 0)),
				seg(o, rawData, nil, i32(o, 7, 8, 9, 10))),
			want{"group/channel1": {1, 2, 7, 8}, "group/channel2": {3, 4, 9, 10}},
			"ends with 12 bytes that are no whole chunk of 16",
		},
		{
			"rest of a single channel", join(seg(o, meta|list|rawData, two[:1], i32(o, 1, 2, 3)),
				seg(o, rawData, nil, i32(o, 4, 5, 6, 7, 8))),
			want{"group/channel1": {1, 2, 3, 4, 5, 6, 7, 8}},
			"",
		},
		{
			"of no channel", join(first, seg(o, meta|list|rawData, [][]byte{obj(o, "/", none(o))}, i32(o, 9))),
			want{"group/channel1": {1, 2}, "group/channel2": {3, 4}},
			"4 bytes of raw data that belong to no channel",
		},
	}
}

// TestSegments reads files of several segments, in both byte orders.
func TestSegments(t *testing.T) {
	for _, o := range []order{le, be} {
		for _, c := range segmentCases(o) {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				f := mustOpen(t, c.b)
				check(t, f, c.want)

				if c.note == "" {
					assert.Empty(t, f.warnings)
				} else {
					assert.Contains(t, strings.Join(f.warnings, "\n"), c.note)
				}

				assert.False(t, f.unclosed, "the last segment was never finished")
				assert.False(t, f.truncated, "the file ends early")
			})
		}
	}

	// Segments of different byte orders in one file.
	f := mustOpen(t, join(
		seg(le, meta|list|rawData, [][]byte{obj(le, c1, idx(le, 2, 2))}, i16(le, 1, -2)),
		seg(be, rawData, nil, i16(be, 3, -4))))
	check(t, f, want{"group/channel1": {1, -2, 3, -4}})
}

// TestUnclosed reads a last segment without an end (next segment offset all ones, "Lead In"), and files that are cut
// at every byte. All values that are whole are read.
func TestUnclosed(t *testing.T) {
	two := [][]byte{obj(le, c1, idx(le, 3, 3)), obj(le, c2, idx(le, 2, 3))}
	first := seg(le, meta|list|rawData, two, i32(le, 1, 2, 3), i16(le, 4, 5, 6))
	for _, toc := range []uint32{rawData, rawData | inter} {
		second := seg(le, toc, nil, i32(le, 7, 8, 9), i16(le, 10, 11, 12))
		if toc&inter != 0 {
			second = seg(le, toc, nil, i32(le, 7), i16(le, 10), i32(le, 8), i16(le, 11), i32(le, 9), i16(le, 12))
		}

		for _, open := range []bool{true, false} {
			if open {
				binary.LittleEndian.PutUint64(second[12:], math.MaxUint64)
			}

			b := join(first, second)
			for cut := len(first) + leadInSize; cut <= len(b); cut++ {
				f := mustOpen(t, b[:cut])
				k := cut - len(first) - leadInSize
				n1 := min(3, k/4) // whole values of the first channel, which lies before the second
				n2 := max(0, (k-12)/2)
				if toc&inter != 0 {
					n1 = k / 6
					n2 = k / 6
				}

				check(t, f, want{
					"group/channel1": []float64{1, 2, 3, 7, 8, 9}[:3+n1],
					"group/channel2": []float64{4, 5, 6, 10, 11, 12}[:3+n2],
				})

				assert.Equal(t, open, f.unclosed, "cut at %d: unclosed", k)
				assert.Equal(t, !open && cut < len(b), f.truncated, "cut at %d: truncated", k)
			}

			second = bytes.Clone(second)
			binary.LittleEndian.PutUint64(second[12:], uint64(len(second)-leadInSize))
		}
	}

	for cut := len(first) + 1; cut < len(first)+leadInSize; cut++ {
		f := mustOpen(t, join(first, first)[:cut])
		check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

		require.True(t, f.truncated, "%+v", f)
		assert.Len(t, f.warnings, 1, "%+v", f)
	}

	// Cut within the meta data, offsets unknown.
	open := bytes.Clone(first)
	binary.LittleEndian.PutUint64(open[12:], math.MaxUint64)
	binary.LittleEndian.PutUint64(open[20:], math.MaxUint64)
	f := mustOpen(t, join(first, open[:60]))
	check(t, f, want{"group/channel1": {1, 2, 3}, "group/channel2": {4, 5, 6}})

	require.True(t, f.unclosed, "%+v", f)
	assert.Len(t, f.warnings, 1, "%+v", f)
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
				seg(o, meta|list|rawData, objs, join(c.data...), odd),
				seg(o, rawData|inter, nil, c.data[0], odd[:1], c.data[1], odd[1:2], c.data[2], odd[2:])))
			check(t, f, want{
				"group/channel1": append(append([]float64{}, c.x...), c.x...),
				"group/channel2": {7, 8, 9, 7, 8, 9},
			})

			assert.Equal(t, c.name, f.channels[0].typ, "type")
		}
	}
}

// TestNotNumeric checks that channels that are not numbers are listed, and that the channels beside them are read.
func TestNotNumeric(t *testing.T) {
	for _, o := range []order{le, be} {
		texts := join(u32(o, 28, 0x20, 1), u64(o, 2), u64(o, 8+5))
		f := mustOpen(t, seg(o, meta|list|rawData, [][]byte{
			obj(o, c1, texts), obj(o, c2, idx(o, 0x44, 1)), obj(o, "/'group'/'z'", idx(o, 0x08000c, 1)),
			obj(o, c3, idx(o, 3, 2)),
		}, u32(o, 2, 5), []byte("abcde"), make([]byte, 16), make([]byte, 8), i32(o, 1, 2), // two chunks
			u32(o, 2, 5), []byte("abcde"), make([]byte, 16), make([]byte, 8), i32(o, 3, 4)))

		for i, w := range []string{
			`channel "group/channel1": values of type text are not numbers`,
			`channel "group/channel2": values of type time stamp are not numbers`,
			`channel "group/z": values of type complex single are not numbers`,
		} {
			assert.EqualError(t, f.channels[i].err, w)
		}

		assert.EqualValues(t, 4, f.channels[0].samples)
		assert.Equal(t, "text", f.channels[0].typ)

		x := make([]float64, 4)
		require.NoError(t, f.Read([]int{3}, 0, [][]float64{x}))
		assert.Equal(t, []float64{1, 2, 3, 4}, x)
	}
}

// TestProperties reads properties of all types, and paths with quotes ("Logical Structure"). Later values replace
// earlier ones.
func TestProperties(t *testing.T) {
	at := time.Date(2024, 2, 6, 17, 12, 8, 552882000, time.UTC)
	for _, o := range []order{le, be} {
		f := mustOpen(t, join(
			seg(o, meta|list|rawData, [][]byte{
				obj(o, "/", none(o), prop(o, "title", "run 7"), prop(o, "begun", at)),
				obj(o, "/'Dr. T''s Events'", none(o), prop(o, "rpm", 5490.5)),
				obj(o, "/'Dr. T''s Events'/'Time / ''x'''", idx(o, 3, 1), prop(o, "i", int32(-5)), prop(o, "u", uint32(7)),
					prop(o, "l", int64(-1<<40)), prop(o, "s", float32(0.5)), prop(o, "b", true)),
			}, i32(o, 1)),
			seg(o, meta, [][]byte{obj(o, "/'Dr. T''s Events'", none(o), prop(o, "rpm", 6000.0), prop(o, "later", "θ"))})))

		assert.Equal(t, []property{{"title", "run 7"}, {"begun", at}}, f.root.list)
		assert.Equal(t, "Dr. T's Events", f.groups[0].name)
		assert.Equal(t, []property{{"rpm", 6000.0}, {"later", "θ"}}, f.groups[0].list)
		assert.Equal(t, "Dr. T's Events/Time / 'x'", f.channels[0].path)
		assert.Equal(t,
			[]property{{"i", int64(-5)}, {"u", uint64(7)}, {"l", int64(-1 << 40)}, {"s", 0.5}, {"b", true}},
			f.channels[0].list)

		assert.Equal(t, "2024-02-06T17:12:08.552882Z", f.root.list[1].text())
	}
}

// TestWaveform reads the rate, the unit and the start time ("Predefined Properties").
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
		f := mustOpen(t, seg(le, meta|list|rawData,
			[][]byte{obj(le, c1, idx(le, 3, 1), c.props...)}, i32(le, 1)))
		assert.Equal(t, c.rate, f.channels[0].rate(), "rate")
		assert.Equal(t, c.unit, f.channels[0].unit(), "unit")
	}
}

// A warning names both values if a later segment changes a rate or a scale, and if channels of one rate begin at
// different times. There is no warning about zeros with which a writer begins, and about offsets below a period.
func TestContradictions(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		first, second, other [][]byte
		want                 []string // nil: no warning
	}{
		{[][]byte{prop(le, "wf_increment", 1e-3)}, [][]byte{prop(le, "wf_increment", 2e-3)}, nil, []string{"0.001", "0.002"}},
		{[][]byte{prop(le, "wf_increment", 1e-3)}, [][]byte{prop(le, "wf_increment", 1e-3)}, nil, nil},
		{[][]byte{prop(le, "wf_increment", 0.)}, [][]byte{prop(le, "wf_increment", 2e-3)}, nil, nil},
		{
			scales(1, linear(0, 2., 1., -1)), scales(1, linear(0, 3., 1., -1)), nil,
			[]string{"NI_Scale[0]_Linear_Slope", "2", "3"},
		},
		{
			[][]byte{prop(le, "wf_increment", 1e-3), prop(le, "wf_start_time", at)},
			nil,
			[][]byte{prop(le, "wf_increment", 1e-3), prop(le, "wf_start_time", at.Add(2*time.Second))},
			[]string{"begins 2 s after"},
		},
		{
			[][]byte{prop(le, "wf_increment", 1e-3), prop(le, "wf_start_time", at)},
			nil,
			[][]byte{prop(le, "wf_increment", 1e-3), prop(le, "wf_start_time", at), prop(le, "wf_start_offset", 1e-4)},
			nil,
		},
	} {
		r, err := Format.Open(ingesttest.Source(join(
			seg(le, meta|list|rawData, [][]byte{obj(le, c1, idx(le, 3, 1), c.first...), obj(le, c2, idx(le, 3, 1), c.other...)},
				i32(le, 1, 5)),
			seg(le, meta|rawData, [][]byte{obj(le, c1, same(le), c.second...)}, i32(le, 2, 6)))), ingest.Options{})
		require.NoError(t, err)

		text := fmt.Sprint(r.Info().Warnings)
		for _, w := range c.want {
			assert.Contains(t, text, w)
		}

		assert.Len(t, r.Info().Warnings, min(1, len(c.want)), "%s: warnings", text)
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

// TestScales scales the samples 0, 1, 2, 3. The expected values are computed by hand.
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
		{"linear of the rawData values", scales(1, linear(0, 2, 10, -1)), []float64{10, 12, 14, 16}, ""},
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
		f := mustOpen(t, seg(le, meta|list|rawData, [][]byte{obj(le, c1, idx(le, 2, 4), c.props...)}, i16(le, 0, 1, 2, 3)))
		if c.err != "" {
			require.ErrorContains(t, f.channels[0].err, c.err, "%s", c.name)
			continue
		}

		check(t, f, want{"group/channel1": c.want})
	}

	// The scales of a group apply to its channels.
	f := mustOpen(t, seg(le, meta|list|rawData, [][]byte{
		obj(le, "/'group'", none(le), scales(1, linear(0, 2, 0, -1))...),
		obj(le, c1, idx(le, 2, 2)),
	}, i16(le, 1, 2)))

	check(t, f, want{"group/channel1": {2, 4}})
}

// scalerIdx returns the raw data index of DAQmx data with format-changing scalers {type code, buffer, byte offset,
// number} and the widths of the buffers.
func scalerIdx(n uint64, widths []uint32, scalers ...[4]uint32) []byte {
	b := join(u32(le, 0x1269, 0xffffffff, 1), u64(le, n), u32(le, uint32(len(scalers))))
	for _, s := range scalers {
		b = join(b, u32(le, s[0], s[1], s[2], 0, s[3]))
	}

	return join(b, u32(le, uint32(len(widths))), u32(le, widths...))
}

// TestDAQmx reads raw data as the DAQmx driver logs them. The layout and the type codes (0 uint8, 1 int8, 2 uint16, 3
// int16, 4 uint32, 5 int32) are by the source in the package comment.
func TestDAQmx(t *testing.T) {
	volts := scales(2, linear(1, 0.5, 1, 0)) // scale 1 of scaler 0, as the driver writes it
	w := []uint32{4}
	b := seg(le, meta|list|rawData|daqmx, [][]byte{
		obj(le, c1, scalerIdx(2, w, [4]uint32{3, 0, 0, 0}), volts...),
		obj(le, c2, scalerIdx(2, w, [4]uint32{2, 0, 2, 0})),
	}, i16(le, 1, 10, 2, -1, 3, 30, -4, 40))

	f := mustOpen(t, join(b, seg(le, rawData|daqmx, nil, i16(le, 5, 50, 6, 60))))
	check(t, f, want{"group/channel1": {1.5, 2, 2.5, -1, 3.5, 4}, "group/channel2": {10, 65535, 30, 40, 50, 60}})

	assert.Equal(t, "int16", f.channels[0].typ)
	assert.Equal(t, []string{"Linear [1 0.5]"}, f.channels[0].scales)

	// Two buffers one after the other, of different width and length; 24-bit
	// devices give int32. Two scalers for one channel: the scale selects one.
	w = []uint32{2, 8}
	f = mustOpen(t, seg(le, meta|list|rawData|daqmx, [][]byte{
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
		f := mustOpen(t, seg(le, meta|list|rawData|daqmx, [][]byte{obj(le, c1, c.index, c.props...)}, make([]byte, 8)))
		assert.ErrorContains(t, f.channels[0].err, c.err, "%s", c.name)
	}
}

// Files that contradict the format are refused with an error that names the contradiction.
func TestOpenErrors(t *testing.T) {
	first := seg(le, meta|list|rawData, [][]byte{obj(le, c1, idx(le, 3, 1))}, i32(le, 1))
	version := bytes.Clone(first)
	version[8] = 1
	offset := bytes.Clone(first)
	binary.LittleEndian.PutUint64(offset[20:], 1000)

	one := func(index []byte, props ...[]byte) []byte {
		return seg(le, meta|list|rawData, [][]byte{obj(le, c1, index, props...)}, make([]byte, 64))
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"text", []byte("1,2,3\n4,5,6\n"), `byte 0: expected a segment, "TDSm", found "1,2,3\n4,"`},
		{"index file", append([]byte("TDSh"), first[4:]...), "found an index file (open the .tdms file next to it)"},
		{"short", first[:20], `expected a segment, "TDSm"`},
		{"version", version, "byte 8: expected version 4712 or 4713, found 4609"},
		{"offset", offset, "byte 20: expected a raw data offset of at most"},
		{
			"not a segment", join(first, []byte("garbage beyond the last segment")),
			fmt.Sprintf("byte %d: expected a segment", len(first)),
		},
		{"path", seg(le, meta|list, [][]byte{obj(le, "/group", none(le))}), `"/group" is not a path of an object`},
		{"deep path", seg(le, meta|list, [][]byte{obj(le, "/'a'/'b'/'c'", none(le))}), `is not a path of an object`},
		{
			"data of a group", seg(le, meta|list, [][]byte{obj(le, "/'a'", idx(le, 3, 1))}),
			`the object "/'a'" has data but is not a channel`,
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
		{"interleaved lengths", seg(le, meta|list|rawData|inter, [][]byte{obj(le, c1, idx(le, 3, 1)), obj(le, c2, idx(le, 3,
			2))},
			i32(le, 1, 2, 3)), "interleaved channels have 1 and 2 values"},
		{ // 64 channels of 4 bytes: 256 bytes times this number are 0 in 64 bits
			"interleaved product", seg(le, meta|list|rawData|inter, channels(64, idx(le, 3, 1<<56)), make([]byte, 256)),
			"72057594037927936 values in each interleaved channel are more than a file can have",
		},
		{
			"interleaved texts", seg(le, meta|list|rawData|inter,
				[][]byte{obj(le, c1, join(u32(le, 28, 0x20, 1), u64(le, 2), u64(le, 13)))}, make([]byte, 13)),
			`holds texts within interleaved data`,
		},
		{
			"more texts than bytes", one(join(u32(le, 28, 0x20, 1), u64(le, 1<<40), u64(le, 64))),
			"1099511627776 texts of 64 bytes in all cannot be",
		},
		{"DAQmx offset", seg(le, meta|list|rawData|daqmx, [][]byte{obj(le, c1, scalerIdx(1, []uint32{2}, [4]uint32{
			3, 0, 1,
			0,
		}))},
			make([]byte, 2)), "a DAQmx value at byte 1 of buffer 0 lies outside it"},
		{"DAQmx type", seg(le, meta|list|rawData|daqmx, [][]byte{obj(le, c1, scalerIdx(1, []uint32{2}, [4]uint32{
			9, 0, 0,
			0,
		}))},
			make([]byte, 2)), "the type 9 of a DAQmx scaler is not known"},
	} {
		f, err := openFile(ingesttest.Source(c.b))
		t.Log(c.name)
		ingesttest.WantDataError(t, f, err, c.want)
	}
}

// FuzzOpen checks that no input makes the reader panic, hang, or take more memory than 200 times its size plus 16 MiB,
// which includes the memory of the fuzz worker.
func FuzzOpen(f *testing.F) {
	two := [][]byte{
		obj(le, c1, idx(le, 3, 2), prop(le, "wf_increment", 1e-4)),
		obj(le, c2, idx(le, 2, 2), scales(1, linear(0, 2, 1, -1))...),
	}

	f.Add(join(seg(le, meta|list|rawData, two, make([]byte, 24)), seg(le, rawData, nil, make([]byte, 12)),
		seg(le, meta|rawData, two[:1], make([]byte, 17))))
	f.Add(seg(be, meta|list|rawData|inter, [][]byte{obj(be, c1, idx(be, 10, 3)), obj(be, c2, idx(be, 1, 3))},
		make([]byte, 27)))
	f.Add(seg(le, meta|list|rawData|daqmx,
		[][]byte{obj(le, c1, scalerIdx(2, []uint32{4}, [4]uint32{3, 0, 0, 0}), scales(2, linear(1, 0.5, 1, 0))...)},
		make([]byte, 16)))
	f.Add(seg(le, meta|list|rawData, [][]byte{
		obj(le, c1, join(u32(le, 28, 0x20, 1), u64(le, 2), u64(le, 13))),
		obj(le, c2, idx(le, 0x44, 1)),
	}, make([]byte, 29)))

	unclosed := seg(le, meta|list|rawData, two, make([]byte, 20))
	binary.LittleEndian.PutUint64(unclosed[12:], math.MaxUint64)
	f.Add(unclosed)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}

		ingesttest.Bounded(t, b, 32<<20, 400, func() {
			r, err := Format.Open(ingesttest.Source(b), ingest.Options{Truncated: "use"})
			if err != nil {
				ingesttest.WantDataError(t, nil, err)
				return
			}

			x := make([]float64, 64)
			for i, c := range r.Info().Channels[:min(50, len(r.Info().Channels))] {
				require.LessOrEqual(t, c.Samples, int64(len(b)), "%d samples of %d bytes", c.Samples, len(b))

				for at := int64(0); at < c.Samples && at < 1000; at += 64 {
					n, err := r.Read([]int{i}, at, [][]float64{x})
					if n < 64 {
						require.Error(t, err, "only %d samples", n)
					}

					if err != nil && !errors.Is(err, io.EOF) {
						ingesttest.WantDataError(t, n, err)
					}
				}
			}
		})
	})
}

func Example() {
	src, err := ingest.OpenSource("../testdata/arrays/run.tdms", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	c := r.Info().Channels[0]
	fmt.Println(r.Info().Encoding, c.Name, c.RateHz, "Hz", c.Unit, c.Samples)
	// Output: TDMS 4713 run/mic 12800 Hz Pa 100
}

// Channels of a file have their own rates and lengths. Expected: the increments and the numbers of samples that were
// written, and the samples 1, 2, 3, ….
func TestChannelsOfTwoRates(t *testing.T) {
	for _, c := range []struct {
		name           string
		slow           float64 // increment in s
		samples, parts int     // of the slower channel in a segment; number of segments
		interleaved    bool
		rate           float64
	}{
		{"ten times slower", 0.01, 4, 1, false, 100},
		{"half the rate", 0.002, 20, 1, false, 500},
		{"an odd ratio", 0.0025, 16, 1, false, 400},
		{"one sample", 0.04, 1, 1, false, 25},
		{"one sample less", 0.001, 39, 1, false, 1000},
		{"the same rate", 0.001, 40, 1, false, 1000},
		{"twice as fast", 0.0005, 80, 1, false, 2000},
		{"the same length", 0.01, 40, 1, false, 100},
		{"no rate", 0, 4, 1, false, 0},
		{"three segments", 0.01, 4, 3, false, 100},
		{"three segments, one sample each", 0.04, 1, 3, false, 25},
		{"three segments, the same rate", 0.001, 40, 3, false, 1000},
		{"interleaved, the same length", 0.001, 40, 1, true, 1000},
		{"interleaved, another rate", 0.01, 40, 1, true, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			const fast = 40
			flags := uint32(meta | list | rawData)
			if c.interleaved {
				flags |= inter
			}

			var b []byte
			for part := range c.parts {
				var values []int32
				for i := range fast {
					values = append(values, int32(part*fast+i+1))
					if c.interleaved {
						values = append(values, int32(part*c.samples+i+1))
					}
				}

				for i := range c.samples {
					if !c.interleaved {
						values = append(values, int32(part*c.samples+i+1))
					}
				}

				b = append(b, seg(le, flags, [][]byte{
					obj(le, c1, idx(le, 3, fast), prop(le, "wf_increment", 0.001)),
					obj(le, c2, idx(le, 3, uint64(c.samples)), prop(le, "wf_increment", c.slow)),
				}, i32(le, values...))...)
			}

			r := ingesttest.Open(t, Format, b, ingest.Options{})
			require.Len(t, r.Info().Channels, 2)
			for k, want := range []struct {
				rate float64
				n    int
			}{{1000, fast * c.parts}, {c.rate, c.samples * c.parts}} {
				channel := r.Info().Channels[k]
				assert.InDelta(t, want.rate, channel.RateHz, 1e-9, channel.Name)
				require.EqualValues(t, want.n, channel.Samples, channel.Name)

				values := make([]float64, want.n)
				_, err := r.Read([]int{k}, 0, [][]float64{values})
				require.NoError(t, err)
				for i, v := range values {
					require.Equal(t, float64(i+1), v, "%s, sample %d", channel.Name, i)
				}
			}
		})
	}
}

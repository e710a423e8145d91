package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// damage is a sound file that a test changes.
type damage struct {
	t      *testing.T
	b      []byte
	footer int // where it begins
}

func (d *damage) root() node {
	f := d.b[d.footer : len(d.b)-10]
	return node{f, int(binary.LittleEndian.Uint32(f))}
}

// schema returns the schema, and field the field of that number, from 1.
func (d *damage) schema() node {
	s, ok := d.root().table(1)
	if !ok {
		d.t.Fatal("no schema")
	}

	return s
}

func (d *damage) field(i int) node { return d.schema().tables(1)[i-1] }

// block returns batch i, or dictionary i, from 1, with its metadata read.
func (d *damage) block(dictionary bool, i int) block {
	f, err := openFile(bytes.NewReader(d.b), int64(len(d.b)))
	if err != nil {
		d.t.Fatal(err)
	}

	slot := 3
	if dictionary {
		slot = 2
	}

	blocks, err := f.blocks(d.root(), slot, "block", int64(d.footer))
	if err != nil {
		d.t.Fatal(err)
	}

	k := blocks[i-1]
	k.dictionary = dictionary
	if _, err := f.meta(&k); err != nil {
		d.t.Fatal(err)
	}

	// The same bytes in the file, not a copy.
	k.batch.b = d.b[k.at+8 : k.at+k.meta]

	return k
}

func put4(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
func put8(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// content returns the bytes of a batch's buffer, from 1.
func (d *damage) content(k block, i int) []byte {
	at, n := k.buffer(i - 1)
	return d.b[k.at+k.meta+at:][:n]
}

// Files damaged by hand are refused, with place and reason in the error. Expected:
// the words of the error; sound files of each kind are in kindFiles. Given
// to the library alone in 6 GB, five of these and the shared children below end the
// program for want of memory, and a third of the others are read as if nothing
// were wrong.
func TestVerifyRefuses(t *testing.T) {
	files := map[string][]byte{}
	for _, k := range kindFiles(t) {
		files[k.name] = k.bytes
	}

	length := func(n node, slot int) []byte { at, _ := n.vector(slot); return n.b[at-4:] }
	for _, c := range []struct {
		name, file string
		do         func(d *damage)
		want       string
	}{
		{
			"vector of 2^30 fields", "numbers", func(d *damage) { put4(length(d.schema(), 1), 1<<30) },
			"footer, schema, field: expected a vector within",
		},
		{
			"key of 4 GiB", "numbers", func(d *damage) { put4(length(d.schema().tables(2)[0], 0), 0xFFFFFFFF) },
			"footer, schema, metadata 1, key: expected a vector within",
		},
		{
			"name of 4 GiB", "numbers", func(d *damage) { put4(length(d.field(3), 0), 0xFFFFFFF0) },
			"footer, schema, field 3, name: expected a vector within",
		},
		{
			"2^27 batches", "numbers", func(d *damage) { put4(length(d.root(), 3), 1<<27) },
			"footer, batches: expected a vector within",
		},
		{
			"schema outside", "numbers", func(d *damage) { put4(d.root().b[d.root().slot(1):], 1<<20) },
			"footer, schema: expected a table within",
		},
		{
			"offset that wraps around to itself", "numbers",
			func(d *damage) { r := d.root(); put4(r.b[r.slot(1):], uint32(r.at-r.slot(1))) },
			"footer, schema: expected a table within",
		},
		{
			"layout outside", "numbers", func(d *damage) { f := d.field(2); put4(f.b[f.at:], 1<<30) },
			"footer, schema, field 2: expected a layout within",
		},
		{"layout of odd length", "numbers", func(d *damage) {
			r := d.root()
			v := r.at - int(int32(binary.LittleEndian.Uint32(r.b[r.at:])))
			r.b[v]++
		}, "footer: expected a table's layout"},
		{"value outside of its table", "numbers", func(d *damage) {
			f := d.field(2)
			v := f.at - int(int32(binary.LittleEndian.Uint32(f.b[f.at:])))
			binary.LittleEndian.PutUint16(f.b[v+4:], 4000)
		}, "name: expected a value within"},
		{
			"unknown type", "bool", func(d *damage) { f := d.field(1); f.b[f.slot(2)] = 99 },
			"type of a known kind, found kind 99",
		},
		{"bits of an integer", "dictionary in a struct", func(d *damage) {
			e, _ := d.field(1).tables(5)[0].table(4)
			i, _ := e.table(1)
			put4(i.b[i.slot(0):], 24)
		}, "schema, field 1, child 1: expected integers that count"},
		{
			"bytes of a negative size", "bytes of a size",
			func(d *damage) { i, _ := d.field(1).table(3); put4(i.b[i.slot(0):], 1<<31) },
			"schema, field 1: expected a type of a size",
		},
		{
			"lists of none", "list of a size", func(d *damage) { i, _ := d.field(1).table(3); put4(i.b[i.slot(0):], 0) },
			"schema, field 1: expected a list of 1 value or more",
		},
		{
			"lists of 2^31", "list of a size", func(d *damage) { i, _ := d.field(1).table(3); put4(i.b[i.slot(0):], 1<<31-1) },
			"batch 1, column 1, child 1: expected 6442450941 values or more, found 6",
		},
		{
			"list without a child", "list", func(d *damage) { put4(length(d.field(1), 5), 0) },
			"schema, field 1: expected 1 children, found 0",
		},
		{
			"no footer", "numbers", func(d *damage) { put4(d.b[len(d.b)-10:], 1<<31) },
			"footer: expected a footer in a file of",
		},
		{"cut", "numbers", func(d *damage) { d.b = d.b[:len(d.b)/2] }, "begins and ends with ARROW1"},
		{
			"block beyond the file", "numbers", func(d *damage) { at, _ := d.root().vector(3); put8(d.root().b[at+16:], 1<<40) },
			"batch 1: expected multiples of 8 bytes between",
		},
		{
			"block that is not aligned", "numbers", func(d *damage) { at, _ := d.root().vector(3); d.root().b[at]++ },
			"batch 1: expected multiples of 8",
		},
		{"one batch twice", "numbers", func(d *damage) {
			at,
				_ := d.root().vector(3)
			copy(d.root().b[at+24:], d.root().b[at:at+24])
		}, "expected it behind batch"},
		{"batch in a dictionary", "dictionary", func(d *damage) {
			r := d.root()
			from, _ := r.vector(2)
			to, _ := r.vector(3)
			copy(r.b[to:to+24], r.b[from:])
		}, "expected it behind"},
		{"message of no kind", "numbers", func(d *damage) {
			k := d.block(false, 1)
			m := node{k.batch.b, int(binary.LittleEndian.Uint32(k.batch.b))}
			m.b[m.slot(1)] = 1
		}, "batch 1, header: expected header of a known kind, found kind 1"},
		{"dictionary for a batch", "dictionary", func(d *damage) {
			r := d.root()
			one, _ := r.vector(2)

			other, _ := r.vector(3)
			for i := range 24 {
				r.b[one+i], r.b[other+i] = r.b[other+i], r.b[one+i]
			}
		}, "dictionary 1: expected a message of kind 2, found kind 3"},
		{
			"negative rows", "numbers", func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.batch.slot(0):], 1<<63) },
			"batch 1: expected 0 to",
		},
		{"2^62 rows of nothing", "null", func(d *damage) {
			k := d.block(false, 1)
			put8(k.batch.b[k.batch.slot(0):], 1<<62)
			put8(k.batch.b[k.nodesAt:], 1<<62)
		}, "batch 1: expected 0 to 281474976710656 rows, found 4611686018427387904"},
		{
			"rows other than the columns'", "numbers",
			func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.batch.slot(0):], 2) },
			"batch 1, column 1: expected 2 rows, as the batch, found 3",
		},
		{
			"negative length", "numbers", func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.nodesAt+16:], 1<<63) },
			"batch 1, column 2: expected 0 to",
		},
		{
			"more missing than there are", "numbers",
			func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.nodesAt+8:], 4) }, "batch 1, column 1: expected 0 to",
		},
		{
			"buffer outside", "numbers", func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.buffsAt+16:], 1<<40) },
			"batch 1: expected buffer 2 within",
		},
		{"buffers that share", "numbers", func(d *damage) {
			k := d.block(false, 1)
			for i := range k.buffers {
				put8(k.batch.b[k.buffsAt+16*i:], 0)
				put8(k.batch.b[k.buffsAt+16*i+8:], uint64(k.body))
			}
		}, "batch 1: expected buffers of"},
		{
			"values too short", "numbers", func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.buffsAt+16*7+8:], 8) },
			"batch 1, column 4: expected 24 bytes for 3 values, found 8 bytes in buffer 8",
		},
		{
			"validity too short", "numbers", func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.buffsAt+8:], 0) },
			"batch 1, column 1: expected 1 bytes for 3 values, found 0 bytes in buffer 1",
		},
		{
			"fewer buffers than columns need", "numbers",
			func(d *damage) { k := d.block(false, 1); put4(k.batch.b[k.buffsAt-4:], 21) },
			"batch 1, column 11: expected buffers for each column, found 21",
		},
		{
			"fewer lengths than columns", "numbers",
			func(d *damage) { k := d.block(false, 1); put4(k.batch.b[k.nodesAt-4:], 10) },
			"batch 1, column 11: expected a length for each column, found 10",
		},
		{
			"2^40 buffers of a view", "text views",
			func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.countsAt:], 1<<40) },
			"batch 1, column 1: expected 0 to 3 buffers, found 1099511627776",
		},
		{
			"no number of a view's buffers", "text views",
			func(d *damage) { k := d.block(false, 1); put4(k.batch.b[k.countsAt-4:], 0) },
			"batch 1, column 1: expected the number of its buffers",
		},
		{
			"struct longer than its fields", "struct",
			func(d *damage) { k := d.block(false, 1); put8(k.batch.b[k.nodesAt+16:], 1) },
			"batch 1, column 1, child 1: expected",
		},
		{
			"unknown compression", "numbers, Zstandard",
			func(d *damage) { c, _ := d.block(false, 1).batch.table(3); c.b[c.slot(0)] = 7 },
			"batch 1: expected LZ4 or Zstandard for each buffer, found compression 7",
		},
		{
			"decompressed length of 2^40", "long, Zstandard", func(d *damage) { put8(d.content(d.block(false, 1), 2), 1<<40) },
			"batch 1, buffer 2: expected at most 393216 bytes from",
		},
		{
			"decompressed length of 2^40, LZ4", "long, LZ4", func(d *damage) { put8(d.content(d.block(false, 1), 2), 1<<40) },
			"batch 1, buffer 2: expected at most",
		},
		{"100 MB of blocks that repeat a byte", "noise, Zstandard", func(d *damage) {
			c := d.content(d.block(false, 1), 2)
			put8(c, 100e6)
			copy(c[8:], []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 11 << 3})

			c = c[14:]
			for range 799 {
				copy(c, []byte{1 << 1, 0, 1 << (17 + 3 - 16), 0}) // 128 KiB of zeros
				c = c[4:]
			}

			copy(c, []byte{1<<1 | 1, 0, 1 << (17 + 3 - 16), 0}) // the last
			put4(c[4:], 0x184D2A50)                             // the rest is skipped
			put4(c[8:], uint32(len(c)-12))
		}, "batch 1: expected at most"},
		{
			"negative decompressed length", "long, LZ4", func(d *damage) { put8(d.content(d.block(false, 1), 2), 1<<63) },
			"batch 1, buffer 2: expected its decompressed length",
		},
		{
			"decompressed length too short", "long, LZ4", func(d *damage) { put8(d.content(d.block(false, 1), 2), 319999) },
			"expected 320000 bytes for 40000 values, found 319999",
		},
		{"window of 512 MiB", "long, Zstandard", func(d *damage) {
			copy(d.content(d.block(false, 1), 2)[8:], []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 19 << 3})
		}, "batch 1, buffer 2: expected a window of at most 16777216 bytes, found one of 536870912"},
		{"window of 512 MiB behind a frame", "long, Zstandard", func(d *damage) {
			copy(d.content(d.block(false, 1), 2)[8:], []byte{
				0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0, 0x28, 0xB5, 0x2F, 0xFD, 0,
				19 << 3,
			})
		}, "found one of 536870912"},
		{"content of 2^62 bytes in one", "long, Zstandard", func(d *damage) {
			copy(d.content(d.block(false, 1), 2)[8:], []byte{0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0x40})
		}, "found one of 4611686018427387904"},
		{
			"frame of another kind", "long, Zstandard", func(d *damage) { d.content(d.block(false, 1), 2)[8]++ },
			"expected a frame of Zstandard",
		},
		{
			"older frame of LZ4", "long, LZ4", func(d *damage) { d.content(d.block(false, 1), 2)[8] = 2 },
			"expected a frame of LZ4",
		},
		{"block of Zstandard beyond its buffer", "long, Zstandard", func(d *damage) {
			c := d.content(d.block(false, 1), 2)
			copy(c[8:], []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0, 1, 0xFF, 0xFF})
		}, "batch 1, buffer 2: expected the end of the frame"},
		{
			"dictionary of no column", "two dictionaries",
			func(d *damage) { e, _ := d.field(1).tables(5)[1].table(4); put8(e.b[e.slot(0):], 7) },
			"dictionary 2: expected a dictionary that a column has, found id 1",
		},
		{"addition before its dictionary", "growing dictionary", func(d *damage) {
			r := d.root()
			at, _ := r.vector(2)
			for i := range 24 {
				r.b[at+i], r.b[at+24+i] = r.b[at+24+i], r.b[at+i]
			}
		}, "dictionary 1: expected a dictionary before its additions"},
		{
			"text that ends behind its buffer", "text", func(d *damage) { put4(d.content(d.block(false, 1), 2)[12:], 1000) },
			"batch 1: expected values that agree with each other",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(files[c.file])
			if b == nil {
				t.Fatalf("no file %q", c.file)
			}

			d := &damage{t, b, len(b) - 10 - int(binary.LittleEndian.Uint32(b[len(b)-10:]))}
			c.do(d)
			refused(t, d.b, c.want)
		})
	}
}

// refused wants an error with these words on opening b or reading its batches.
func refused(t *testing.T, b []byte, want string) {
	t.Helper()

	f, err := openFile(bytes.NewReader(b), int64(len(b)))
	for i := 0; err == nil && i < len(f.rows); i++ {
		_, err = f.load(i)
	}

	var e *fault.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
}

// A schema may describe more than its length: fields that share their children,
// each twice those of the next, and maps of maps, of which the library makes all arrays
// twice. Expected: 2^60 fields from 2 kB, 2^12 arrays from 12 maps.
func TestVerifyRefusesExponential(t *testing.T) {
	b := []byte{
		0, 0, 0, 0,
		8, 0, 8, 0, 0, 0, 4, 0, // the schema's layout: fields at 4
		8, 0, 0, 0, 4, 0, 0, 0, // the schema
		1, 0, 0, 0, 20, 0, 0, 0, // one field, the next
	}

	for range 60 {
		b = append(
			b,
			16, 0, 16, 0, 0, 0, 0, 0, 12, 0, 4, 0, 0, 0, 8, 0, // a layout: type at 4, children at 8, type_type at 12
			16, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, typeStruct, 0, 0, 0,
			4, 0, 4, 0, 4, 0, 0, 0, // the type, with its layout
			2, 0, 0, 0, 24, 0, 0, 0, 20, 0, 0, 0, // two children, both the next
		)
	}

	put4(b[len(b)-12:], 0)
	const schema = 12
	file := appendFooter([]byte("ARROW1\x00\x00"), node{b, schema}, nil, nil)
	refused(t, file, "expected tables of their own, found parts that are shared over and over")

	maps := arrow.PrimitiveTypes.Int8
	lists := maps

	for range 12 {
		maps = arrow.MapOf(arrow.BinaryTypes.String, maps)
	}

	for range 70 {
		lists = arrow.ListOf(lists)
	}

	for _, c := range []struct {
		t    arrow.DataType
		want string
	}{{maps, "schema: expected few maps of maps"}, {lists, "expected at most 64 levels"}} {
		f, err := os.Create(filepath.Join(t.TempDir(), "deep"))
		if err != nil {
			t.Fatal(err)
		}

		w, err := ipc.NewFileWriter(f, ipc.WithSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.t}}, nil)))
		if err == nil {
			err = errors.Join(w.Close(), f.Close())
		}

		if err != nil {
			t.Fatal(err)
		}

		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}

		refused(t, b, c.want)
	}
}

// A batch that is damaged is an error each time, and the others are read.
func TestRecordingDamagedBatch(t *testing.T) {
	for _, k := range kindFiles(t) {
		if k.name != "numbers, Zstandard" {
			continue
		}

		d := &damage{t, bytes.Clone(k.bytes), len(k.bytes) - 10 - int(binary.LittleEndian.Uint32(k.bytes[len(k.bytes)-10:]))}
		c := d.content(d.block(false, 1), 2)
		copy(c[8:], bytes.Repeat([]byte{0xFF}, 4))

		r, err := openBytes("d.arrow", d.b, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}

		x := make([]float64, 1)
		for range 3 {
			var e *fault.Error
			if _, err := r.Read([]int{0}, 0, [][]float64{x}); !errors.As(err, &e) || e.Path != "d.arrow" ||
				!strings.HasPrefix(e.Place, "batch 1") {
				t.Errorf("%v, expected an error of batch 1", err)
			}

			if n, err := r.Read([]int{0}, 3, [][]float64{x}); n != 1 || err != nil || x[0] != 100 {
				t.Errorf("the batch behind it: %v, %d, %v", x, n, err)
			}
		}
	}
}

// Fields may share a table, as far as the reader allows. Expected: opening then
// still allocates less than the multiple of the file that the fuzz test states, as
// it does with shared texts of metadata.
func TestVerifySharedAllocations(t *testing.T) {
	const n = 4000
	shared := func(slot, at byte, element []byte) []byte {
		b := []byte{
			0, 0, 0, 0,
			10, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, // the schema's layout
			12, 0, 0, 0, 4, 0, 0, 0, // the schema
		}

		b[8+2*slot] = 4
		b = binary.LittleEndian.AppendUint32(b, n)
		for i := range n { // all lead to the same
			b = binary.LittleEndian.AppendUint32(b, uint32(4*(n-i)+int(at)))
		}

		return append(append(b, element...), make([]byte, 5*n)...) // as long as they may be shared
	}

	field := shared(1, 12, []byte{
		12, 0, 12, 0, 0, 0, 0, 0, 8, 0, 4, 0, // layout: type_type at 8, type at 4
		12, 0, 0, 0, 16, 0, 0, 0, typeInt, 0, 0, 0, // the field
		6, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, // the type, of 8 bits, with its layout
	})

	text := shared(2, 8, []byte{
		8, 0, 12, 0, 4, 0, 8, 0, // layout: key and value
		8, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c', // both the same text
	})

	for _, schema := range [][]byte{field, text} {
		b := appendFooter([]byte("ARROW1\x00\x00"), node{schema, 16}, nil, nil)
		var f *file
		var err error
		used := allocated(func() { f, err = openFile(bytes.NewReader(b), int64(len(b))) })
		if err != nil {
			t.Fatal(err)
		}

		if s := f.ipc.Schema(); s.NumFields()+s.Metadata().Len() != n {
			t.Fatalf("%v", s.NumFields())
		}

		t.Logf("%d bytes: %d allocated, %.0f times", len(b), used, float64(used)/float64(len(b)))

		if used > 64<<10+openTimes*int64(len(b)) {
			t.Errorf("%d bytes allocated %d", len(b), used)
		}
	}
}

// Panics of the library are distinguished: an error of the disk is no damage of
// the file, an index out of range is.
func TestGuard(t *testing.T) {
	err := guard("batch 2", func() error { panic(fs.ErrPermission) })
	if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "damaged") ||
		!strings.HasPrefix(err.Error(), "batch 2: ") {
		t.Error(err)
	}

	none := []int{}
	err = guard("batch 2", func() error { _ = none[len(none)]; return nil })
	if err == nil || !strings.Contains(err.Error(), "batch 2: expected values that agree with each other, found runtime "+
		"error: index out of range") {
		t.Error(err)
	}
}

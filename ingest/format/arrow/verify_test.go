package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damage is a sound file that a test changes.
type damage struct {
	t      *testing.T
	b      []byte // the file
	footer int    // offset of the footer
}

// root returns the table of the footer.
func (d *damage) root() table { return root(d.b[d.footer:len(d.b)-10], "footer") }

// schema returns the table of the schema.
func (d *damage) schema() table { return d.part(d.root(), 1) }

// field returns the table of field i of the schema, from 1.
func (d *damage) field(i int) table { return d.schema().tables(1, "")[i-1] }

// part returns the table in a slot of another table.
func (d *damage) part(t table, slot int) table {
	p, ok := t.table(slot, "")
	if !ok {
		d.t.Fatalf("slot %d of %s has no table", slot, t.place)
	}

	return p
}

// message returns the metadata of batch i, from 1, the table of the batch in it, and the offset of its data in the
// file.
func (d *damage) message(i int) (m, batch table, data int64) {
	f, err := openFile(bytes.NewReader(d.b), int64(len(d.b)))
	if err != nil {
		d.t.Fatalf("open the file before it is damaged: %v", err)
	}

	k := f.batches[i-1]
	m = root(d.b[k.begin+8:k.begin+k.meta], "")

	return m, d.part(m, 2), k.begin + k.meta
}

// of returns the bytes of a batch's metadata from the value in a slot on.
func (d *damage) of(batch, slot int) []byte {
	_, b, _ := d.message(batch)
	return b.b[b.slot(slot, 1):]
}

// elements returns the bytes of a batch's metadata from the elements of the vector in a slot on.
func (d *damage) elements(batch, slot int) []byte {
	_, b, _ := d.message(batch)
	at, _ := b.vector(slot, 1, "")
	return b.b[at:]
}

// count returns the bytes of a batch's metadata from the length of the vector in a slot on.
func (d *damage) count(batch, slot int) []byte {
	_, b, _ := d.message(batch)
	at, _ := b.vector(slot, 1, "")
	return b.b[at-4:]
}

func put4(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
func put8(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// content returns the bytes of buffer i of a batch, both counted from 1.
func (d *damage) content(batch, i int) []byte {
	_, _, data := d.message(batch)
	at, n := pair(d.elements(batch, 2), i-1)
	return d.b[data+at:][:n]
}

// length returns the bytes of the table's buffer, from the length of the vector in a slot to the end.
func length(t table, slot int) []byte {
	at, _ := t.vector(slot, 1, "")
	return t.b[at-4:]
}

// value returns the bytes of the table's buffer, from the value in a slot to the end.
func value(t table, slot int) []byte { return t.b[t.slot(slot, 1):] }

// zstd returns damage that writes a frame of Zstandard, without its magic, into the first compressed buffer of values.
func zstd(frame ...byte) func(d *damage) {
	return func(d *damage) { copy(d.content(1, 2)[8:], append([]byte{0x28, 0xB5, 0x2F, 0xFD}, frame...)) }
}

// refusal is a file that is refused after it was damaged.
type refusal struct {
	name string
	file string // name of the sound file among the kindFiles
	do   func(d *damage)
	want string // part of the error
}

// damagedSchemas returns damage of the flatbuffers that describe the columns.
func damagedSchemas() []refusal {
	return []refusal{
		{
			"vector of 2^30 fields", "numbers", func(d *damage) { put4(length(d.schema(), 1), 1<<30) },
			"schema, field: expected a vector within",
		},
		{
			"key of 4 GiB", "numbers", func(d *damage) { put4(length(d.schema().tables(2, "")[0], 0), 0xFFFFFFFF) },
			"schema, metadata 1, key: expected a vector within",
		},
		{
			"name of 4 GiB", "numbers", func(d *damage) { put4(length(d.field(3), 0), 0xFFFFFFF0) },
			"schema, field 3, name: expected a vector within",
		},
		{
			"2^27 batches", "numbers", func(d *damage) { put4(length(d.root(), 3), 1<<27) },
			"footer, batches: expected a vector within",
		},
		{
			"schema outside", "numbers", func(d *damage) { put4(value(d.root(), 1), 1<<20) },
			"schema: expected a table within",
		},
		{
			"offset that wraps around to itself", "numbers",
			func(d *damage) { r := d.root(); put4(value(r, 1), uint32(r.begin-r.slot(1, 1))) },
			"schema: expected a table within",
		},
		{
			"layout outside", "numbers", func(d *damage) { f := d.field(2); put4(f.b[f.begin:], 1<<30) },
			"schema, field 2: expected a layout within",
		},
		{"layout of odd length", "numbers", func(d *damage) {
			r := d.root()
			r.b[r.begin-int(int32(binary.LittleEndian.Uint32(r.b[r.begin:])))]++
		}, "footer: expected a table's layout"},
		{"value outside of its table", "numbers", func(d *damage) {
			f := d.field(2)
			binary.LittleEndian.PutUint16(f.slots, 4000)
		}, ": expected a value within"},
		{
			"unknown type", "bool", func(d *damage) { value(d.field(1), 2)[0] = 99 },
			"schema, field 1: expected a type of a known kind, found kind 99",
		},
		{
			"bits of an integer", "numbers", func(d *damage) { put4(value(d.part(d.field(1), 3), 0), 24) },
			"schema, field 1: expected a type of a size",
		},
		{
			"list without a child", "list", func(d *damage) { put4(length(d.field(1), 5), 0) },
			"schema, field 1: expected 1 children, found 0",
		},
	}
}

// damagedBlocks returns damage of the footer, and of the places of batches that it states.
func damagedBlocks() []refusal {
	return []refusal{
		{
			"no footer", "numbers", func(d *damage) { put4(d.b[len(d.b)-10:], 1<<31) },
			"footer: expected a footer in a file of",
		},
		{"cut", "numbers", func(d *damage) { d.b = d.b[:len(d.b)/2] }, "begins and ends with ARROW1"},
		{
			"block beyond the file", "numbers", func(d *damage) { put8(length(d.root(), 3)[20:], 1<<40) },
			"batch 1: expected multiples of 8 bytes between",
		},
		{
			"block that is not aligned", "numbers", func(d *damage) { length(d.root(), 3)[4]++ },
			"batch 1: expected multiples of 8",
		},
		{
			"one batch twice", "numbers", func(d *damage) { b := length(d.root(), 3); copy(b[28:], b[4:28]) },
			"expected it behind batch",
		},
		{
			"message of no batch", "numbers", func(d *damage) { m, _, _ := d.message(1); value(m, 1)[0] = 1 },
			"batch 1: expected a message of kind 3, found kind 1",
		},
		{
			"dictionary for a batch", "dictionary",
			func(d *damage) { copy(length(d.root(), 3)[4:28], length(d.root(), 2)[4:]) },
			"batch 1: expected a message of kind 3, found kind 2",
		},
	}
}

// damagedBatches returns damage of the lengths and buffers of batches.
func damagedBatches() []refusal {
	return []refusal{
		{"negative rows", "numbers", func(d *damage) { put8(d.of(1, 0), 1<<63) }, "batch 1: expected 0 to"},
		{"2^62 rows of nothing", "null", func(d *damage) {
			lengths, rows := d.elements(1, 1), d.of(1, 0)
			put8(lengths, 1<<62)
			put8(rows, 1<<62)
		}, "batch 1: expected 0 to 281474976710656 rows, found 4611686018427387904"},
		{
			"rows other than the columns'", "numbers", func(d *damage) { put8(d.of(1, 0), 2) },
			"batch 1, column 1: expected 2 rows, as the batch, found 3",
		},
		{
			"negative length", "numbers", func(d *damage) { put8(d.elements(1, 1)[16:], 1<<63) },
			"batch 1, column 2: expected 0 to",
		},
		{
			"more missing than there are", "numbers", func(d *damage) { put8(d.elements(1, 1)[8:], 4) },
			"batch 1, column 1: expected 0 to",
		},
		{
			"buffer outside", "numbers", func(d *damage) { put8(d.elements(1, 2)[16:], 1<<40) },
			"batch 1: expected buffer 2 within",
		},
		{"buffers that share", "numbers", func(d *damage) {
			buffers := d.elements(1, 2)
			size := binary.LittleEndian.Uint64(buffers[21*16:]) + 8 // of the data: the last buffer's end
			for i := range 22 {
				put8(buffers[16*i:], 0)
				put8(buffers[16*i+8:], size)
			}
		}, "batch 1: expected buffers of"},
		{
			"values too short", "numbers", func(d *damage) { put8(d.elements(1, 2)[16*7+8:], 8) },
			"batch 1, column 4: expected 24 bytes for 3 values, found 8 bytes in buffer 8",
		},
		{
			"validity too short", "numbers", func(d *damage) { put8(d.elements(1, 2)[8:], 0) },
			"batch 1, column 1: expected 1 bytes for 3 values, found 0 bytes in buffer 1",
		},
		{
			"fewer buffers than columns need", "numbers", func(d *damage) { put4(d.count(1, 2), 21) },
			"batch 1, column 11: expected buffers for each column, found 21",
		},
		{
			"fewer lengths than columns", "numbers", func(d *damage) { put4(d.count(1, 1), 10) },
			"batch 1, column 11: expected a length for each column, found fewer",
		},
		{
			"2^40 buffers of a view", "text views", func(d *damage) { put8(d.elements(1, 4), 1<<40) },
			"batch 1, column 1: expected 0 to 3 buffers, found 1099511627776",
		},
		{
			"no number of a view's buffers", "text views", func(d *damage) { put4(d.count(1, 4), 0) },
			"batch 1, column 1: expected the number of its buffers",
		},
	}
}

// damagedBuffers returns damage of compressed buffers.
func damagedBuffers() []refusal {
	return []refusal{
		{"unknown compression", "numbers, Zstandard", func(d *damage) {
			_, b, _ := d.message(1)
			value(d.part(b, 3), 0)[0] = 7
		}, "batch 1: expected LZ4 or Zstandard for each buffer, found compression 7"},
		{
			"decompressed length of 2^40", "long, Zstandard", func(d *damage) { put8(d.content(1, 2), 1<<40) },
			"batch 1, column 1: expected at most",
		},
		{
			"decompressed length of 30 MB, LZ4", "long, LZ4", func(d *damage) { put8(d.content(1, 2), 30e6) },
			"batch 1, column 1: expected at most",
		},
		{
			"decompressed length of 30 MB", "long, Zstandard", func(d *damage) { put8(d.content(1, 2), 30e6) },
			"batch 1, column 1: decompress: unexpected EOF",
		},
		{"100 MB of blocks that repeat a byte", "noise, Zstandard", func(d *damage) {
			c := d.content(1, 2)
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
		}, "batch 1, column 1: expected at most"},
		{
			"negative decompressed length", "long, LZ4", func(d *damage) { put8(d.content(1, 2), 1<<63) },
			"batch 1, column 1: expected its decompressed length",
		},
		{
			"decompressed length too short", "long, LZ4", func(d *damage) { put8(d.content(1, 2), 319999) },
			"batch 1, column 1: expected 320000 bytes, found 319999 bytes in its buffer",
		},
		{"window of 512 MiB", "long, Zstandard", zstd(0, 19<<3), "batch 1, column 1: decompress"},
		{"window of 512 MiB behind a frame", "long, Zstandard", zstd(
			0x20, 0, 1, 0, 0, 0x28, 0xB5, 0x2F, 0xFD, 0, 19<<3), "batch 1, column 1: decompress"},
		{"content of 2^62 bytes in one", "long, Zstandard", zstd(0xE0, 0, 0, 0, 0, 0, 0, 0, 0x40), "column 1: decompress"},
		{
			"frame of another kind", "long, Zstandard", func(d *damage) { d.content(1, 2)[8]++ },
			"batch 1, column 1: decompress",
		},
		{"older frame of LZ4", "long, LZ4", func(d *damage) { d.content(1, 2)[8] = 2 }, "expected a frame of LZ4"},
		{
			"block of Zstandard beyond its buffer", "long, Zstandard", zstd(0, 0, 1, 0xFF, 0xFF),
			"batch 1, column 1: decompress",
		},
	}
}

// Files damaged by hand are refused, with the place and the reason in the error. Given these files in 6 GB of memory,
// Apache's library alone ends the program for want of memory in five cases, as it does for the shared children below.
// It reads a third of the others as if nothing were wrong.
func TestVerifyRefuses(t *testing.T) {
	files := map[string][]byte{}
	for _, k := range kindFiles(t) {
		files[k.name] = k.bytes
	}

	for _, c := range slices.Concat(damagedSchemas(), damagedBlocks(), damagedBatches(), damagedBuffers()) {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(files[c.file])
			require.NotNil(t, b, "no file %q", c.file)

			d := &damage{t, b, len(b) - 10 - int(binary.LittleEndian.Uint32(b[len(b)-10:]))}
			c.do(d)
			refused(t, d.b, c.want)
		})
	}
}

// readAll opens b and reads the first and last values of all batches of its columns.
func readAll(b []byte) error {
	f, err := openFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}

	x := make([]float64, 300)
	for _, c := range f.columns {
		for i, p := range c.parts {
			from := int64(0)
			if i > 0 {
				from = f.ends[i-1]
			}

			n := min(f.ends[i]-from, 300)
			for _, at := range []int64{from, f.ends[i] - n} {
				if err := (&plane{f: f, c: c}).Read([]int{0}, at, [][]float64{x[:n]}); err != nil {
					return fmt.Errorf("%s: %w", p.place, err)
				}
			}
		}
	}

	return nil
}

// refused checks that opening b or reading its batches gives an error with the given words, and takes little memory.
func refused(t *testing.T, b []byte, want string) {
	t.Helper()

	var err error
	used := allocated(func() { err = readAll(b) })

	ingesttest.ReportBound(t, fmt.Sprintf("bytes allocated to refuse %d bytes", len(b)), used,
		int64(16<<20+loadTimes*len(b)))
	ingesttest.WantDataError(t, nil, err, want)
}

// A schema may describe much more than its length: each field has the next field as both of its children, so that 2 kB
// describe 2^60 fields. Such a schema is refused.
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
			16, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 13, 0, 0, 0,
			4, 0, 4, 0, 4, 0, 0, 0, // the type, with its layout
			2, 0, 0, 0, 24, 0, 0, 0, 20, 0, 0, 0, // two children, both the next
		)
	}

	put4(b[len(b)-12:], 0)
	const schema = 12
	refused(t, schemaFile(b, schema), "expected tables of their own, found parts that are shared over and over")

	lists := arrow.PrimitiveTypes.Int8
	for range 70 {
		lists = arrow.ListOf(lists)
	}

	refused(t, write(t, arrow.NewSchema([]arrow.Field{{Name: "x", Type: lists}}, nil), nil), "expected at most 64 levels")
}

// A batch that is damaged is an error each time, and the others are read.
func TestRecordingDamagedBatch(t *testing.T) {
	files := kindFiles(t)
	found := slices.IndexFunc(files, func(k kindFile) bool { return k.name == "numbers, Zstandard" })
	require.GreaterOrEqual(t, found, 0, "no file is called so")
	k := files[found]

	d := &damage{t, bytes.Clone(k.bytes), len(k.bytes) - 10 - int(binary.LittleEndian.Uint32(k.bytes[len(k.bytes)-10:]))}
	c := d.content(1, 2)
	copy(c[8:], bytes.Repeat([]byte{0xFF}, 4))

	r, err := openBytes("d.arrow", d.b, ingest.Options{})
	require.NoError(t, err)

	x := make([]float64, 1)
	for range 3 {
		_, err := r.Read([]int{0}, 0, [][]float64{x})
		ingesttest.WantDataError(t, nil, err, "d.arrow: batch 1")

		n, err := r.Read([]int{0}, 3, [][]float64{x})
		require.NoError(t, err, "the batch behind the damaged one")
		assert.Equal(t, 1, n)
		assert.Equal(t, 100.0, x[0])
	}
}

// Fields may share a table or a text of metadata, as far as the reader allows. Opening such a file still allocates less
// than the multiple of the file that the fuzz test states.
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
		b := schemaFile(schema, 16)
		var f *file
		var err error
		used := allocated(func() { f, err = openFile(bytes.NewReader(b), int64(len(b))) })
		require.NoError(t, err)

		require.Equal(t, n, len(f.columns)+len(f.attributes), "columns and attributes")

		t.Logf("%d bytes: %d allocated, %.0f times", len(b), used, float64(used)/float64(len(b)))

		ingesttest.ReportBound(t, fmt.Sprintf("bytes allocated to open %d bytes", len(b)), used,
			64<<10+openTimes*int64(len(b)))
	}
}

// VerifyTable accepts only columns that package ingest/table reads, without dictionaries, and decompresses every
// buffer.
func TestVerifyTable(t *testing.T) {
	files := map[string][]byte{}
	for _, k := range kindFiles(t) {
		files[k.name] = k.bytes
	}

	damaged := bytes.Clone(files["long, LZ4"])
	d := &damage{t, damaged, len(damaged) - 10 - int(binary.LittleEndian.Uint32(damaged[len(damaged)-10:]))}
	put8(d.content(1, 2), 30e6)
	files["damaged"] = damaged

	for name, want := range map[string]string{
		"text": "", "bool": "", "list": "", "noise, LZ4": "", "long, Zstandard": "", "no batch": "found int8",
		"dictionary": "found utf8", "struct": "found struct", "large list": "found large_list",
		"damaged": "batch 1, buffer 2: expected at most",
	} {
		if err := VerifyTable(bytes.NewReader(files[name]), int64(len(files[name]))); want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}

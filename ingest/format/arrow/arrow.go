// Package arrow reads Arrow IPC files (Feather version 2) of any writer, and streams,
// as recordings. It believes no offset, length or number in a file before it has
// compared it with what the file holds. Columns of numbers are read where they lie, or
// decompressed a batch at a time; other columns are passed over. What is decompressed
// takes at most 32 MiB and twice the file.
//
// The program's own tables are package pipeline/table's.
package arrow

import (
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is Arrow IPC.
var Format = ingest.Format{
	Name: "arrow", Title: "Arrow IPC", Endings: []string{".arrow", ".feather"}, Attributes: true,
	Magic: []string{magic}, Open: open,
}

// VerifyTable returns a *fault.Error if an Arrow file contradicts itself,
// would take much more memory than its size explains, or has columns that no table of
// this program has. Package pipeline/table reads others.
func VerifyTable(r io.ReaderAt, size int64) (err error) {
	defer fault.Catch(&err)

	f := fault.Get(openFile(r, size))
	for i, c := range f.columns {
		list := c.kind == typeList && c.children[0].title == "float32" && !c.children[0].indexed
		flat := slices.Contains([]string{"utf8", "int64", "bool", "float64"}, c.title)

		if f.dictionaries > 0 || c.indexed || !list && !flat {
			return fault.At("", fmt.Sprintf("schema, field %d", i+1), "utf8, int64, bool, float64 or lists of float32",
				c.title, "")
		}
	}

	for _, k := range f.batches {
		f.verify(k)
	}

	return nil
}

// verify decompresses a batch and compares its buffers with its columns.
func (f *file) verify(k block) {
	b := f.batch(k)
	if b.codec == noCodec { // compared when the file was opened
		return
	}

	left := f.most
	for i, s := range b.spans {
		place := fmt.Sprintf("%s, buffer %d", k.place, i+1)
		out := f.unpack(place, b.codec, s)
		left -= int64(len(out))
		unless(left >= 0, place, fmt.Sprintf("at most %d bytes of a batch", f.most), "more")
		b.unpacked = append(b.unpacked, int64(len(out)))
	}

	b.columns(f.columns, false)
}

// open reads a file as a recording.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src, src.Size)
	if err != nil {
		return nil, err
	}

	return f.recording(src, o)
}

// OpenOutput reads what a program wrote as a recording: a stream, or a file. If it fails its
// caller closes src.
func OpenOutput(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	var head [len(magic)]byte
	if n, _ := src.ReadAt(head[:], 0); string(head[:n]) == magic {
		return open(src, o)
	}

	f, err := openStream(src, src.Size)
	if err != nil {
		return nil, err
	}

	return f.recording(src, o)
}

// recording makes a channel of each column of numbers, the unit from the field's
// metadata ("unit"), the rate from the field's or the schema's ("rate_hz" and the
// like) or from a column of time. A missing number is NaN. Other columns are
// listed as not read.
func (f *file) recording(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	r := arrays.New(ingest.Info{
		Path: src.Path, Format: "arrow", Encoding: fmt.Sprintf("Arrow IPC, %d batches", len(f.batches)),
	}, src)

	for _, a := range f.attributes {
		r.Attribute(a.Name, a.Value)
	}

	samples := int64(0)
	if n := len(f.ends); n > 0 {
		samples = f.ends[n-1]
	}

	for _, c := range f.columns {
		if !c.number {
			r.Unread(c.name, false, "a column of type "+c.title+", not of numbers")
			continue
		}

		err := r.Add(arrays.Array{
			Name: c.name, Dims: []int64{samples}, Unit: c.unit, Plane: &plane{f: f, c: c},
			Attributes: append(c.attributes, ingest.Attribute{Name: "type", Value: c.title}),
		})
		if err != nil {
			return nil, err
		}
	}

	return r, r.Finish(o)
}

// plane is a column as an array.
type plane struct {
	f *file
	c *column

	batch            int // that is held decompressed, from 1; 0: none
	validity, values []byte
}

// Read implements arrays.Plane.
func (p *plane) Read(_ []int, start int64, dst [][]float64) error {
	return arrays.Parts(p.f.ends, start, dst, p.read)
}

// read reads values of batch i from one on.
func (p *plane) read(i int, at int64, dst []float64) (err error) {
	defer fault.Catch(&err)

	k, size, n := p.c.parts[i], int64(p.c.stored.Bytes()), int64(len(dst))
	p.hold(i)
	raw.Decode(dst, p.bytes(k, p.values, k.values, at*size, (at+n)*size), p.c.stored, false, int(size))

	if !k.missing {
		return nil
	}

	validity := p.bytes(k, p.validity, k.validity, at/8, (at+n+7)/8)
	for i := range dst {
		if bit := int(at%8) + i; validity[bit/8]>>(bit%8)&1 == 0 {
			dst[i] = math.NaN()
		}
	}

	return nil
}

// bytes returns some bytes of a buffer: of held, or of the file where it is not
// compressed.
func (p *plane) bytes(k part, held []byte, s span, from, to int64) []byte {
	if k.codec == noCodec {
		held = make([]byte, to-from)
		readFull(p.f.r, held, s.at+from, k.place)

		return held
	}

	unless(to <= int64(len(held)), k.place, fmt.Sprintf("%d bytes", to), "%d bytes in its buffer", len(held))

	return held[from:to]
}

// hold decompresses batch i of the column. Other columns are dropped where all
// together were too large.
func (p *plane) hold(i int) {
	k := p.c.parts[i]
	if k.codec == noCodec || p.batch == i+1 {
		return
	}

	p.drop()

	if k.missing {
		p.validity = p.f.unpack(k.place, k.codec, k.validity)
	}

	p.values = p.f.unpack(k.place, k.codec, k.values)
	p.batch = i + 1

	held := int64(0)
	for _, other := range p.f.held {
		held += int64(len(other.validity) + len(other.values))
	}

	if held > p.f.most {
		for _, other := range p.f.held {
			if other != p {
				other.drop()
			}
		}

		p.f.held = nil
	}

	if !slices.Contains(p.f.held, p) {
		p.f.held = append(p.f.held, p)
	}
}

// drop forgets the batch that is held.
func (p *plane) drop() { p.batch, p.validity, p.values = 0, nil, nil }

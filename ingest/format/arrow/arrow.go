// Package arrow reads Arrow IPC files (Feather version 2) and Arrow IPC streams as recordings. It does not matter which
// program wrote them. Columns of numbers become channels, and other columns are skipped. Every offset, length and
// number in a file is compared with the size of the file before it is used.
//
// A file is "ARROW1", messages, a footer and "ARROW1" (Apache Arrow, "Serialization and Interprocess Communication"). A
// message is metadata, which is a flatbuffer (flat.go), and a body with the data. The first message is the schema,
// which lists the columns (schema.go). Each of the other messages that are read is a batch: a number of rows, whose
// body has some buffers for each column (batch.go). The footer lists where the batches are. A stream is only the
// messages, one after the other (file.go).
//
// Buffers that are not compressed are read in place (plane.go). Others are decompressed a batch at a time. Decompressed
// data take at most 32 MiB plus twice the size of the file.
//
// Package ingest/table reads and writes the program's own tables, which are Arrow files too.
package arrow

import (
	"fmt"
	"io"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/decode"
)

// Format is Arrow IPC.
var Format = ingest.Format{
	Name: "arrow", Title: "Arrow IPC", Endings: []string{".arrow", ".feather"}, Attributes: true,
	Magic: []string{magic}, Open: open,
}

// VerifyTable returns a *fault.Error if an Arrow file contradicts itself, would take much more memory than its size
// explains, or has columns that no table of this program has. Package ingest/table reads only files that were
// verified.
func VerifyTable(r io.ReaderAt, size int64) (err error) {
	defer decode.Catch(&err)

	f, err := openFile(r, size)
	if err != nil {
		return err
	}

	for i, c := range f.columns {
		if f.dictionaries > 0 || !c.ofTable() {
			return fault.At("", fmt.Sprintf("schema, field %d", i+1), "utf8, int64, bool, float64 or lists of float32",
				c.title, "")
		}
	}

	for _, k := range f.batches {
		f.verify(k)
	}

	return nil
}

// ofTable reports whether the program's own tables may have such a column.
func (c *column) ofTable() bool {
	if c.indexed {
		return false
	}

	if c.kind == typeList {
		return c.children[0].title == "float32" && !c.children[0].indexed
	}

	return slices.Contains([]string{"utf8", "int64", "bool", "float64"}, c.title)
}

// verify decompresses the buffers of a batch and compares their sizes with the columns. It raises an error if they do
// not fit. Buffers that are not compressed were compared when the file was opened.
func (f *file) verify(k block) {
	b := f.batch(k)
	if b.codec == noCodec {
		return
	}

	left := f.most
	for i, s := range b.spans {
		place := fmt.Sprintf("%s, buffer %d", k.place, i+1)
		unpacked := f.unpack(place, b.codec, s)
		left -= int64(len(unpacked))
		unless(left >= 0, place, fmt.Sprintf("at most %d bytes of a batch", f.most), "more")
		b.unpacked = append(b.unpacked, int64(len(unpacked)))
	}

	b.checkColumns(f.columns)
}

// open reads a file as a recording.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src, src.Size)
	if err != nil {
		return nil, err
	}

	return f.recording(src, o)
}

// OpenOutput reads the output of a program as a recording. It may be a stream or a file. If it fails, its caller closes
// src.
func OpenOutput(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	var head [len(magic)]byte
	n, _ := src.ReadAt(head[:], 0) // openStream reads these bytes again and returns the error
	if string(head[:n]) == magic {
		return open(src, o)
	}

	f, err := openStream(src, src.Size)
	if err != nil {
		return nil, err
	}

	return f.recording(src, o)
}

// recording returns a reader with a channel for each column of numbers. The unit comes from the metadata of the column
// ("unit"). The rate comes from the metadata of the column or of the schema ("rate_hz" and similar names), or from a
// column of time. A missing number is NaN. Other columns are listed as not read.
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

	if err := r.Finish(o); err != nil {
		return nil, err
	}

	return r, nil
}

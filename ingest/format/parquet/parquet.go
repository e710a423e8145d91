// Package parquet reads Parquet files with flat columns. Columns of numbers become channels of a recording; Text
// returns a whole file, with its texts, as a table.
//
// A file is "PAR1", the pages of the columns, and a footer, its length and "PAR1" (Apache Parquet, "File Format"). The
// footer lists the columns (schema.go) and the row groups. A row group has a chunk of pages for each column (page.go).
// The footer and the headers of pages are structs of Thrift's compact protocol (thrift.go).
//
// github.com/parquet-go/parquet-go decodes values. It trusts the lengths in a file, so package parquet compares them
// with the size of the file first. Pages of both versions are read, in plain, dictionary, run-length and
// byte-stream-split encoding, uncompressed or compressed by Snappy, gzip or Zstandard. Other columns (nested columns,
// decimals, delta encodings, LZ4, Brotli) are listed by name as not read. One row group of each column that is read is
// in memory.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go/format"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is Parquet.
var Format = ingest.Format{
	Name: "parquet", Title: "Parquet", Endings: []string{".parquet", ".pq"}, Attributes: true, Detect: detect, Open: open,
}

// detect reports whether a file begins and ends as a Parquet file, or begins as one and is binary: then its end is
// missing.
func detect(head []byte, src ingest.Source) bool {
	if len(head) < 4 || string(head[:4]) != magic || src.Size < 12 {
		return false
	}

	tail := make([]byte, 4)
	_, err := src.ReadAt(tail, src.Size-4)
	isRead := err == nil || errors.Is(err, io.EOF)
	isWhole := isRead && string(tail) == magic

	return isWhole || ingest.Binary(head)
}

const (
	magic = "PAR1"

	maxFooter = 64 << 20 // bytes

	// Equal rows take hardly any bytes, so a file of a few bytes may state any number of rows. The following limits are
	// for small files and grow with the size of the file. Reading takes at most 64 MiB plus four times the size of the
	// file, in addition to the row groups of the columns that are read.
	maxGroup = 1 << 22  // rows of a row group; a row takes 12 bytes while it is decoded
	maxTable = 16 << 20 // bytes of the columns of a row group that Text reads; the text may have half as many
	maxPage  = 16 << 20 // bytes of a page after decompression

	anyRows        = 1 << 25 // rows that a file of any size may state
	maxRowsPerByte = 64      // rows per byte of the file, if it states more
)

// column is a column of the file, and its values in one row group.
type column struct {
	name     string
	kind     format.Type
	optional bool                     // values may be missing
	unsigned bool                     // integers are unsigned
	unit     string                   // "" if the file does not state it
	clock    bool                     // the column contains the time of each row
	chunks   []*format.ColumnMetaData // where the column lies in each row group that has rows
	unread   string                   // why the column is not read; "" if it is read

	group int // number of the row group whose values are in words, from 0; −1 if there is none
	words
}

// file is a file whose footer was read.
type file struct {
	src     ingest.Source
	columns []*column
	ends    []int64            // for each row group that has rows, the number of the row behind its last row
	meta    []ingest.Attribute // attributes of the file
}

// fault returns an error at a place of the file.
func (f *file) fault(place, want, found, hint string) error {
	return fault.At(f.src.Path, place, want, found, hint)
}

// open reads the footer and returns a reader with a channel for each column of numbers.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}

	r := arrays.New(ingest.Info{
		Path: src.Path, Format: "parquet", Encoding: fmt.Sprintf("Parquet, %d row groups", len(f.ends)),
	}, src)
	for _, a := range f.meta {
		r.Attribute(a.Name, a.Value)
	}

	for _, c := range f.columns {
		switch {
		case c.unread != "":
			r.Unread(c.name, true, c.unread)
			continue
		case c.kind == format.ByteArray:
			r.Unread(c.name, false, "a column of texts")
			continue
		}

		a := arrays.Array{Name: c.name, Dims: []int64{f.rows()}, Unit: c.unit, Plane: &plane{f: f, c: c}}
		if c.clock {
			a.Attributes = []ingest.Attribute{{Name: "role", Value: "time"}}
		}

		if err := r.Add(a); err != nil {
			return nil, err
		}
	}

	if f.rows() == 0 {
		return nil, f.fault("footer", "rows", "none", "record again, or leave it out with exclude under ingest")
	}

	if err := r.Finish(o); err != nil {
		return nil, err
	}

	return r, nil
}

// rows returns the number of rows in the file.
func (f *file) rows() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// openFile reads the footer. The file ends with the footer, its length in 4 bytes, and magic in 4 bytes.
func openFile(src ingest.Source) (*file, error) {
	f := &file{src: src}
	if src.Size < 12 {
		return nil, f.fault("", "a Parquet file", fault.Plural(src.Size, "byte"), raw.CutShort)
	}

	const tailSize = 8
	tail := make([]byte, tailSize)
	if err := raw.ReadHeader(src, tail, src.Size-tailSize, "a footer"); err != nil {
		return nil, err
	}

	length := int64(binary.LittleEndian.Uint32(tail))
	end := string(tail[4:])
	switch {
	case end == "PARE": // the magic of files with an encrypted footer
		return nil, f.fault("footer", "a footer that is not encrypted", "an encrypted one", "save it without encryption")
	case end != magic:
		return nil, f.fault(fmt.Sprintf("byte %d", src.Size-4), strconv.Quote(magic), strconv.Quote(end), raw.CutShort)
	case length > src.Size-12 || length > maxFooter:
		return nil, f.fault("footer", fmt.Sprintf("a footer within %d bytes", src.Size), fmt.Sprintf("%d bytes", length),
			raw.Damaged)
	}

	footer := make([]byte, length)
	if err := raw.ReadHeader(src, footer, src.Size-tailSize-length, "a footer"); err != nil {
		return nil, err
	}

	var meta format.FileMetaData
	if _, err := decodeThrift(footer, &meta); err != nil {
		hint := raw.Damaged
		if errors.Is(err, errMany) {
			hint = "write larger row groups"
		}

		return nil, &fault.Error{Path: src.Path, Place: "footer", Err: fmt.Errorf("decode: %w", err), Hint: hint}
	}

	if err := f.schema(&meta); err != nil {
		return nil, err
	}

	if err := f.groups(&meta); err != nil {
		return nil, err
	}

	return f, nil
}

// plane gives access to a column as an array of one channel.
type plane struct {
	f *file
	c *column
}

// Read implements arrays.Plane. The rows of a row group are a part of the array.
func (p *plane) Read(_ []int, start int64, dst [][]float64) error {
	return arrays.Parts(p.f.ends, start, dst, p.read)
}

// read fills x with values of row group g, from the row first of the group on.
func (p *plane) read(g int, first int64, x []float64) error {
	if err := p.f.load(p.c, g); err != nil {
		return err
	}

	copy(x, p.c.numbers[first:])

	return nil
}

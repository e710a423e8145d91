// Package format lists the file formats that are read and opens files of any of
// them. Each has a package below this one; to add one is to write its package
// and to name its Format in the list, or in a program of one's own to Register it.
package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/arrow"
	"doubletake/ingest/format/flac"
	"doubletake/ingest/format/hdf5"
	"doubletake/ingest/format/lvm"
	"doubletake/ingest/format/matfile"
	"doubletake/ingest/format/netcdf"
	"doubletake/ingest/format/npy"
	"doubletake/ingest/format/npz"
	"doubletake/ingest/format/parquet"
	"doubletake/ingest/format/program"
	"doubletake/ingest/format/tdms"
	"doubletake/ingest/format/text"
	"doubletake/ingest/format/uff"
	"doubletake/ingest/format/wav"
	"doubletake/internal/lists"
)

// formats are the formats there are. Their order is the one in which files are
// compared with them, in which they are named to people, and in which pipeline
// init prefers them where a folder holds as many files of one as of another.
var formats = []ingest.Format{
	wav.Format,
	flac.Format,
	tdms.Format,
	uff.Format,
	netcdf.Format,
	lvm.Format,
	hdf5.Format,
	matfile.Format,
	npz.Format,
	npy.Format,
	arrow.Format,
	parquet.Format,
	text.Format,
}

// Register adds formats of a program of one's own, before a configuration is read. A name
// that is known is an error.
func Register(more ...ingest.Format) error {
	for _, f := range more {
		if slices.Contains(Names(), f.Name) || f.Name == "" || f.Open == nil {
			return fmt.Errorf("register format %q: expected Open and a name other than %s", f.Name, strings.Join(Names(), ", "))
		}

		formats = append(formats, f)
	}

	return nil
}

// All returns the formats that are read.
func All() []ingest.Format { return slices.Clone(formats) }

// Names returns the formats' names.
func Names() []string {
	return lists.Each(formats, func(f ingest.Format) string { return f.Name })
}

// Titles returns the formats' names as people write them, joined by commas.
func Titles() string {
	titles := lists.Each(formats, func(f ingest.Format) string { return f.Title })

	return strings.Join(titles, ", ")
}

// Open opens a recording. Its format is Options.Format or else found by the
// file's first bytes: a format's Magic or Detect, delimited text where there are
// no binary bytes. Known formats that are not read (MP3, Excel, …) are refused
// by name.
//
// Opening a text file counts its rows but does not parse them: a ragged row or
// text in a number column is an error of Read.
//
// Options that contradict themselves give a plain error, everything else is a
// *fault.Error. The caller closes the Reader.
func Open(path string, o ingest.Options) (ingest.Reader, error) { return OpenHeld(path, nil, o) }

// OpenHeld is Open of a file whose contents are in memory, which stay as they are until
// the Reader is closed; with none it opens the file.
func OpenHeld(path string, held []byte, o ingest.Options) (ingest.Reader, error) {
	if err := Check(o); err != nil {
		return nil, err
	}

	src := ingest.Source{Path: cmp.Or(o.Name, path), ReaderAt: bytes.NewReader(held), Size: int64(len(held)), Held: held}
	if len(held) == 0 {
		var err error
		if src, err = ingest.OpenSource(path, o.Name); err != nil {
			return nil, err
		}
	}

	r, err := open(src, o)
	if err != nil || o.Program != nil {
		_ = src.Close()
	}

	if err == nil && o.Program != nil {
		r, err = program.Open(path, o)
	}

	if err == nil && len(o.Missing) > 0 {
		r = fill(r, o.Missing)
	}

	return r, err
}

// Check reports options that contradict themselves or name no format.
func Check(o ingest.Options) error {
	if o.Format != "" && !slices.Contains(Names(), o.Format) {
		return fmt.Errorf("unknown format %q: %s are read", o.Format, strings.Join(Names(), ", "))
	}
	return o.Check()
}

// open is Open of a source. If it fails its caller closes src; of a file for a program it
// returns no Reader.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	head := make([]byte, min(src.Size, ingest.HeadBytes))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Path: src.Path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}

	head = head[:n]
	if err := ingest.NoMeasurement(src.Path, head, o.Program != nil); err != nil {
		return nil, err
	}

	if o.Program != nil {
		return nil, nil
	}

	f, err := find(src, head, o.Format)
	if err != nil {
		return nil, err
	}

	r, err := f.Open(src, o)
	if err == nil {
		return r, nil
	}

	var of *fault.Error

	err = fault.In(src.Path, err)
	if errors.As(err, &of) && of.Hint == "" && strings.Contains(of.Found, "the end of the file") {
		of.Hint = "the file is cut short: copy or record it again"
	}

	return nil, err
}

// find returns the format of that name or, if it is empty, the file's.
func find(src ingest.Source, head []byte, name string) (*ingest.Format, error) {
	if name != "" {
		return &formats[slices.Index(Names(), name)], nil
	}

	for i, f := range formats {
		if slices.ContainsFunc(f.Magic, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) }) {
			return &formats[i], nil
		}
	}

	for i, f := range formats {
		if f.Detect != nil && f.Detect(head, src) {
			return &formats[i], nil
		}
	}

	return &formats[slices.IndexFunc(formats, isRest)], refuse(src.Path, head)
}

// isRest reports whether a format reads files of no other format: text.
func isRest(f ingest.Format) bool { return f.Magic == nil && f.Detect == nil }

// matlab4 reports whether a file begins with a matrix of a MAT-file of level 4:
// five numbers of 32 bits (type, rows, columns, imaginary, length of the name) and
// a name.
func matlab4(head []byte) bool {
	if len(head) < 22 {
		return false
	}

	var order binary.ByteOrder = binary.LittleEndian

	machine := uint32(0)
	if order.Uint32(head) > 9999 {
		order, machine = binary.BigEndian, 1
	}

	kind, imaginary, n := order.Uint32(head), order.Uint32(head[12:]), order.Uint32(head[16:])
	if kind/1000 != machine || kind%1000 > 52 || kind%10 > 2 || imaginary > 1 || n < 2 || int64(n) > int64(len(head)-20) {
		return false
	}

	name := head[20 : 20+n]

	return bytes.IndexByte(name, 0) == int(n)-1 && !ingest.Binary(name[:n-1])
}

// refuse returns the error of a file of no format that is read; nil for text.
func refuse(path string, head []byte) error {
	fail := func(want, found, hint string) error {
		return &fault.Error{Path: path, Place: "byte 0", Want: want, Found: found, Hint: hint}
	}

	if err := ingest.Foreign(path, head); err != nil {
		return err
	}

	if matlab4(head) {
		return fail("", "format MAT of level 4, which is not read",
			"save it in MATLAB with save -v7, by scipy with format='5', or name a program: reader: [program]")
	}

	utf16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	if utf16 || !ingest.Binary(head) {
		return nil
	}

	if text := bytes.TrimRight(head, "\x00"); len(text) < len(head)-1 && !ingest.Binary(text) {
		return fail("a recording", fmt.Sprintf("nothing but zeros from byte %d on", len(text)),
			"the file was not written to its end: copy or record it again, or leave it out with exclude")
	}

	ext, begins := strings.ToLower(filepath.Ext(path)), head[:min(8, len(head))]
	if name, hint := ingest.UnreadEnding(ext); name != "" {
		return fail("", fmt.Sprintf("format %s by its name, which is not read (it begins %q)", name, begins), hint)
	}

	hint := Titles() + " are read"
	if slices.ContainsFunc(formats, func(f ingest.Format) bool { return !isRest(f) && slices.Contains(f.Endings, ext) }) {
		hint = "the name ends in " + ext + ", the content is another format: is the file damaged?"
	}

	return fail("", fmt.Sprintf("binary data of unknown format (it begins %q)", begins), hint)
}

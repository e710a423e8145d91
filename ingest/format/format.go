// Package format lists the file formats that are read, and opens files of any of them.
//
// Each format has a package below this one. To add a format, write its package and put its Format into the list here. A
// program of your own can Register a Format instead.
package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
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
)

// formats lists the formats. The order matters: a file is compared with one format after the other, messages list their
// names in this order, and pipeline init prefers the earlier format if a folder has as many files of two formats.
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

// Register adds formats. Call it before a configuration is read. It returns an error if a format has no name, a name
// that another format has, or no Open. The formats before this one are then added.
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
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}

	return names
}

// Titles returns the formats' names as people write them, joined by commas.
func Titles() string {
	titles := make([]string, len(formats))
	for i, f := range formats {
		titles[i] = f.Title
	}

	return strings.Join(titles, ", ")
}

// Open opens a recording. The caller closes the Reader.
//
// The options may name the format. Otherwise the first bytes of the file decide: each format has a Magic or a Detect,
// and a file without binary bytes is delimited text. Known formats that are not read (MP3, Excel, …) are refused by
// name.
//
// Opening a text file counts its rows but does not parse them: a ragged row, or text in a column of numbers, is an
// error of Read.
//
// Errors are *fault.Error, except errors about options that contradict themselves.
func Open(path string, o ingest.Options) (ingest.Reader, error) { return OpenHeld(path, nil, o) }

// OpenHeld opens a file as Open does. held are the contents of the file, which the caller must not change until the
// Reader is closed. If held is empty, OpenHeld reads the file.
func OpenHeld(path string, held []byte, o ingest.Options) (ingest.Reader, error) {
	if err := Check(o); err != nil {
		return nil, err
	}

	src := ingest.Source{Path: cmp.Or(o.Name, path), ReaderAt: bytes.NewReader(held), Size: int64(len(held)), Held: held}
	if len(held) == 0 {
		var err error
		src, err = ingest.OpenSource(path, o.Name)
		if err != nil {
			return nil, err
		}
	}

	r, err := openAny(src, path, o)
	if err != nil {
		return nil, err
	}

	if len(o.Missing) > 0 {
		r = newFilled(r, o.Missing)
	}

	return r, nil
}

// Check returns an error if options contradict themselves or name an unknown format.
func Check(o ingest.Options) error {
	if o.Format != "" && !slices.Contains(Names(), o.Format) {
		return fmt.Errorf("unknown format %q: %s are read", o.Format, strings.Join(Names(), ", "))
	}
	return o.Check()
}

// openAny opens a file by the program of the options, or else by its format. It closes src unless the returned Reader
// reads it.
func openAny(src ingest.Source, path string, o ingest.Options) (ingest.Reader, error) {
	if o.Program != nil {
		_, err := readHead(src, o)
		_ = src.Close() // the program opens the file itself
		if err != nil {
			return nil, err
		}

		return program.Open(path, o)
	}

	r, err := open(src, o)
	if err != nil {
		_ = src.Close()
		return nil, err
	}

	return r, nil
}

// open opens a file by the format of the options, or by the format that fits the file (recognise.go). If it fails, its
// caller closes src.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	head, err := readHead(src, o)
	if err != nil {
		return nil, err
	}

	f, err := recognise(src, head, o.Format)
	if err != nil {
		return nil, err
	}

	r, err := f.Open(src, o)
	if err == nil {
		return r, nil
	}

	err = fault.In(src.Path, err)

	var fail *fault.Error
	if errors.As(err, &fail) && fail.Hint == "" && strings.Contains(fail.Found, "the end of the file") {
		fail.Hint = "the file is cut short: copy or record it again"
	}

	return nil, err
}

// readHead returns the first bytes of a file. It returns an error if they show that the file is not a measurement.
func readHead(src ingest.Source, o ingest.Options) ([]byte, error) {
	head := make([]byte, min(src.Size, ingest.HeadBytes))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Path: src.Path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}

	head = head[:n]

	return head, ingest.NoMeasurement(src.Path, head, o.Program != nil)
}

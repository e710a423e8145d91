// Package format lists the file formats that are read and opens files of any of
// them. Each has a package below this one; to add one is to write its package
// and to name its Format in the list, or in a program of one's own to Register it.
package format

import (
	"bytes"
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

	if o.Program != nil {
		return program.Open(path, o)
	}

	src := ingest.Source{Path: path, ReaderAt: bytes.NewReader(held), Size: int64(len(held)), Held: held}
	if len(held) == 0 {
		var err error
		if src, err = ingest.OpenSource(path); err != nil {
			return nil, err
		}
	}

	r, err := open(src, o)
	if err != nil {
		_ = src.Close()
		return nil, err
	}

	return r, nil
}

// Check reports options that contradict themselves or name no format.
func Check(o ingest.Options) error {
	if o.Format != "" && !slices.Contains(Names(), o.Format) {
		return fmt.Errorf("unknown format %q: %s are read", o.Format, strings.Join(Names(), ", "))
	}
	return o.Check()
}

// open is Open of a source. If it fails its caller closes src.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := find(src, o.Format)
	if err != nil {
		return nil, err
	}

	r, err := f.Open(src, o)
	if err != nil {
		return nil, fault.In(src.Path, err)
	}

	return r, nil
}

// find returns the format of that name or, if it is empty, the file's.
func find(src ingest.Source, name string) (*ingest.Format, error) {
	if name != "" {
		return &formats[slices.Index(Names(), name)], nil
	}

	head := make([]byte, min(src.Size, 1024))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Path: src.Path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}

	head = head[:n]
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

	i := slices.IndexFunc(formats, isRest)

	return &formats[i], refuse(src.Path, head)
}

// isRest reports whether a format reads files of no other format: text.
func isRest(f ingest.Format) bool { return f.Magic == nil && f.Detect == nil }

// Hints for files of formats that are not read.
const (
	asWAV   = "convert it to WAV, e.g. sox IN OUT.wav or ffmpeg -i IN OUT.wav, or name a program: reader: [program]"
	asArray = "save the array with numpy.save(…, allow_pickle=False)"
	asFile  = "write an Arrow IPC file: pyarrow.ipc.new_file, arrow::write_ipc_file"
	noMP3   = "MP3 alters spectra; record as WAV"
	unpack  = "unpack it"
)

// foreign lists the magics of formats that are known but not read. Text formats
// must not be mistaken for one, so a magic of plain letters counts only if the
// head of the file holds control bytes that no text has (binary below). Binary
// files without a known magic are told by the ending of their name.
var foreign = []struct {
	magic, endings string
	binary         bool
	name, hint     string
}{
	{"FORM", ".aiff .aif .aifc", true, "AIFF", asWAV},
	{".snd", ".au .snd", true, "AU", asWAV},
	{"dns.", "", true, "AU", asWAV},
	{"caff", ".caf", true, "CAF", asWAV},
	{"MATLAB 7.3", "", false, "MATLAB 7.3 without its HDF5 part", "is the file cut short?"},
	{"OggS", ".ogg .opus", true, "Ogg", asWAV},
	{"ID3", ".mp3", true, "MP3", noMP3},
	{"\xff\xfb", "", false, "MP3", noMP3},
	{"\xff\xf3", "", false, "MP3", noMP3},
	{"\xff\xf2", "", false, "MP3", noMP3},
	{"\x1f\x8b", ".gz", false, "gzip", unpack},
	{"7z\xbc\xaf\x27\x1c", ".7z", false, "7-zip", unpack},
	{"BZh", ".bz2", true, "bzip2", unpack},
	{"\xfd7zXZ\x00", ".xz", false, "xz", unpack},
	{"\x28\xb5\x2f\xfd", ".zst", false, "zstd", unpack},
	{"wvpk", ".wv", true, "WavPack", asWAV},
	{"FEA1", "", true, "Feather version 1", "write version 2 with pyarrow.feather.write_feather(table, path)"},
	{"\xff\xff\xff\xff", "", true, "Arrow IPC stream", asFile},
	{"\xd0\xcf\x11\xe0", ".xls", false, "Excel (.xls)", "save it as CSV"},
	{"\x80\x02", ".pkl", false, "Python pickle", asArray},
	{"\x80\x03", "", false, "Python pickle", asArray},
	{"\x80\x04", "", false, "Python pickle", asArray},
	{"\x80\x05", "", false, "Python pickle", asArray},
	{"%PDF", ".pdf", false, "PDF", ""},
}

// Unread returns the name of the format of files that end so and are not read, and
// what to do with them; empty for other endings.
func Unread(ending string) (name, hint string) {
	for _, m := range foreign {
		if ending != "" && slices.Contains(strings.Fields(m.endings), strings.ToLower(ending)) {
			return m.name, m.hint
		}
	}

	return "", ""
}

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

	binary := ingest.Binary(head)
	for _, m := range foreign {
		if bytes.HasPrefix(head, []byte(m.magic)) && (binary || !m.binary) {
			return fail("", fmt.Sprintf("format %s, which is not read", m.name), m.hint)
		}
	}

	if matlab4(head) {
		return fail("", "format MAT of level 4, which is not read",
			"save it in MATLAB with save -v7, by scipy with format='5', or name a program: reader: [program]")
	}

	if !binary || bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) { // UTF-16
		return nil
	}

	ext, begins := strings.ToLower(filepath.Ext(path)), head[:min(8, len(head))]
	if name, hint := Unread(ext); name != "" {
		return fail("", fmt.Sprintf("format %s by its name, which is not read (it begins %q)", name, begins), hint)
	}

	hint := Titles() + " are read"
	if slices.ContainsFunc(formats, func(f ingest.Format) bool { return !isRest(f) && slices.Contains(f.Endings, ext) }) {
		hint = "the name ends in " + ext + ", the content is another format: is the file damaged?"
	}

	return fail("", fmt.Sprintf("binary data of unknown format (it begins %q)", begins), hint)
}

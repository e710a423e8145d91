package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Codes are numbers that loggers write for a value that is not there, and full scales of converters.
var Codes = []float64{
	-9999, 9999, -999.25, -999, -9999.99, 9999.99, -99999, 99999, -999999, 999999, -32768, 32767, 65535, 2147483647,
}

// HeadBytes are looked at to tell what a file is.
const HeadBytes = 1024

// Hints for files of formats that are not read.
const (
	asWAV   = "convert it to WAV, e.g. sox IN OUT.wav or ffmpeg -i IN OUT.wav, or name a program: reader: [program]"
	asArray = "save the array with numpy.save(…, allow_pickle=False)"
	asFile  = "write an Arrow IPC file: pyarrow.ipc.new_file, arrow::write_ipc_file"
	noMP3   = "MP3 alters spectra; record as WAV"
	unpack  = "unpack it"
)

// known is a kind of file that is known and not read.
type known struct {
	magic, endings string
	binary         bool
	name, hint     string
}

// pointers are files that a tool left in the place of the real ones, by how they begin in lower case.
var pointers = []known{
	{"version https://git-lfs.github.com/spec/", "", false, "a Git LFS pointer, not the file", "fetch it: git lfs pull"},
	{".git/annex/objects/", "", false, "a link of git-annex, not the file", "fetch it: git annex get"},
	{"/annex/objects/", "", false, "a git-annex pointer, not the file", "fetch it: git annex get"},
}

// documents are files that hold no measurements unless a program of the user's reads them: texts by their
// first letters in lower case, zip archives (binary) by a name at their beginning.
var documents = []known{
	{"<!doctype html", "", false, "a page of HTML", download},
	{"<html", "", false, "a page of HTML", download},
	{"<?xml", "", false, "a text of XML", download},
	{`{"error`, "", false, "a server's error message", download},
	{`{"`, "", false, "a text of JSON", "write its values as CSV"},
	{`[{"`, "", false, "a text of JSON", "write its values as CSV"},
	{`{\rtf`, "", false, "a document of RTF", "save its table as CSV"},
	{"[Content_Types].xml", "", true, "an Excel workbook", "save its sheet as CSV"},
	{"docProps/", "", true, "an Excel workbook", "save its sheet as CSV"},
	{"_rels/", "", true, "an Excel workbook", "save its sheet as CSV"},
	{"mimetypeapplication/vnd.oasis", "", true, "an OpenDocument file", "save its sheet as CSV"},
}

const download = "it may be an error page or a login: download the file again, or leave it out with exclude"

// NoMeasurement returns an error for a pointer, and for a document unless documents are read. It looks at the head
// of the file.
func NoMeasurement(path string, head []byte, readDocuments bool) error {
	list := pointers
	if !readDocuments {
		list = slices.Concat(pointers, documents)
	}

	text := bytes.ToLower(bytes.TrimLeft(head[:min(len(head), 256)], "\ufeff \t\r\n"))
	zip := bytes.HasPrefix(head, []byte("PK\x03\x04"))
	for _, k := range list {
		if k.binary && zip && bytes.Contains(head, []byte(k.magic)) || !k.binary && bytes.HasPrefix(text, []byte(k.magic)) {
			return &fault.Error{Path: path, Place: "byte 0", Want: "a recording or a table", Found: k.name, Hint: k.hint}
		}
	}

	return nil
}

// NoTable returns the error of a table's file that is known to be something else than text; nil for
// all others.
func NoTable(path string, head []byte) error {
	head = head[:min(len(head), HeadBytes)]
	if err := NoMeasurement(path, head, false); err != nil {
		return err
	}

	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return &fault.Error{Path: path, Place: "byte 0", Want: "a table", Found: "a zip archive", Hint: unpack}
	}

	return Foreign(path, head)
}

// Foreign returns the error of a file of a format that is known but not read; nil for all others.
func Foreign(path string, head []byte) error {
	binary := Binary(head)
	for _, m := range foreign {
		if bytes.HasPrefix(head, []byte(m.magic)) && (binary || !m.binary) {
			return fault.At(path, "byte 0", "", fmt.Sprintf("format %s, which is not read", m.name), m.hint)
		}
	}

	return nil
}

// foreign lists the magics of formats that are known but not read. Text formats
// must not be mistaken for one, so a magic of plain letters counts only if the
// head of the file holds control bytes that no text has (binary below). Binary
// files without a known magic are recognised by the ending of their name.
var foreign = []known{
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

// UnreadEnding returns the name of the format of files that end so and are not read, and
// what to do with them; empty for other endings.
func UnreadEnding(ending string) (name, hint string) {
	m, _ := lists.Find(foreign, func(m known) bool {
		return slices.Contains(strings.Fields(m.endings), strings.ToLower(ending))
	})

	return m.name, m.hint
}

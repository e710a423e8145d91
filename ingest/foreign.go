package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/fault"
)

// HeadBytes is the number of bytes at the beginning of a file by which its format is recognised.
const HeadBytes = 1024

// Hints for files of formats that are not read.
const (
	asWAV   = "convert it to WAV, e.g. sox IN OUT.wav or ffmpeg -i IN OUT.wav, or name a program: reader: [program]"
	asArray = "save the array with numpy.save(…, allow_pickle=False)"
	asFile  = "write an Arrow IPC file: pyarrow.ipc.new_file, arrow::write_ipc_file"
	noMP3   = "MP3 alters spectra; record as WAV"
	unpack  = "unpack it"
)

// known describes a kind of file that the program recognises but does not read.
type known struct {
	magic   string // text by which such a file is recognised; the lists below say where it is
	endings string // endings of such files' names, separated by blanks; may be empty
	binary  bool   // the file must be binary, as the magic alone may also be in a text
	name    string // for messages
	hint    string // what the user can do; may be empty
}

// pointers lists the files that a tool leaves in place of the real ones. The magic is at the start of the file, in
// lower case.
var pointers = []known{
	{"version https://git-lfs.github.com/spec/", "", false, "a Git LFS pointer, not the file", "fetch it: git lfs pull"},
	{".git/annex/objects/", "", false, "a link of git-annex, not the file", "fetch it: git annex get"},
	{"/annex/objects/", "", false, "a git-annex pointer, not the file", "fetch it: git annex get"},
}

// documents lists files that contain no measurements, unless a program of the user reads them. In a text the magic is
// at the start, in lower case. In a zip archive (binary) it is the name of a file among the first bytes.
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

const download = "it may be an error page or a login: download the file again, " +
	"or leave it out with exclude under ingest"

// NoMeasurement returns a *fault.Error if the file is a pointer, or if it is a document and readDocuments is false.
// Otherwise it returns nil. head is the beginning of the file, up to HeadBytes.
func NoMeasurement(path string, head []byte, readDocuments bool) error {
	list := pointers
	if !readDocuments {
		list = slices.Concat(pointers, documents)
	}

	const textBytes = 256 // more than the blanks before a document and its magic
	text := bytes.ToLower(bytes.TrimLeft(head[:min(len(head), textBytes)], "\ufeff \t\r\n"))
	isZip := bytes.HasPrefix(head, []byte(zipMagic))
	for _, k := range list {
		begins := !k.binary && bytes.HasPrefix(text, []byte(k.magic))
		contains := k.binary && isZip && bytes.Contains(head, []byte(k.magic))
		if begins || contains {
			return &fault.Error{Path: path, Place: "byte 0", Want: "a recording or a table", Found: k.name, Hint: k.hint}
		}
	}

	return nil
}

// zipMagic is the start of a zip archive.
const zipMagic = "PK\x03\x04"

// NoTable returns a *fault.Error if a file that should be a table of text is known to be something else, and nil
// otherwise.
func NoTable(path string, head []byte) error {
	head = head[:min(len(head), HeadBytes)]
	if err := NoMeasurement(path, head, false); err != nil {
		return err
	}

	if bytes.HasPrefix(head, []byte(zipMagic)) {
		return &fault.Error{Path: path, Place: "byte 0", Want: "a table", Found: "a zip archive", Hint: unpack}
	}

	return Foreign(path, head)
}

// Foreign returns a *fault.Error if a file has a format that is known but not read, and nil otherwise. head is the
// beginning of the file.
func Foreign(path string, head []byte) error {
	binary := Binary(head)
	for _, k := range foreign {
		if bytes.HasPrefix(head, []byte(k.magic)) && (binary || !k.binary) {
			return fault.At(path, "byte 0", "", fmt.Sprintf("format %s, which is not read", k.name), k.hint)
		}
	}

	return nil
}

// foreign lists the formats that are known but not read. The magic is at the start of the file. A magic of plain
// letters has binary set: it counts only if the head of the file contains control bytes, which no text has. Files
// without a known magic are recognised by the ending of their name.
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

// UnreadEnding returns the name of the unread format that has this ending of file names, and what the user can do
// with such files. For other endings it returns empty texts.
func UnreadEnding(ending string) (name, hint string) {
	for _, k := range foreign {
		if slices.Contains(strings.Fields(k.endings), strings.ToLower(ending)) {
			return k.name, k.hint
		}
	}

	return "", ""
}

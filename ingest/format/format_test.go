package format

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openBytes opens bytes as a file named x.
func openBytes(b []byte, o ingest.Options) (ingest.Reader, error) {
	return open(ingesttest.Source(b), o)
}

func TestForeignFormats(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"wvpk\x00\x00\x00\x22", "WavPack, which is not read"},
		{"OggS\x00\x02", "Ogg, which is not read"},
		{"FEA1\x00\x00", "Feather version 1, which is not read (write version 2"},
		{"\xff\xff\xff\xff\x78\x00", "Arrow IPC stream, which is not read (write an Arrow IPC file"},
		{"ID3\x04\x00", "MP3, which is not read"},
		{"\xff\xfb\x90\x44", "MP3, which is not read"},
		{"FORM\x00\x00\x01\x00AIFFCOMM", "format AIFF, which is not read (convert it to WAV, e.g. sox IN OUT.wav"},
		{".snd\x00\x00\x00\x18", "format AU, which is not read (convert it to WAV"},
		{"dns.\x18\x00\x00\x00", "format AU, which is not read (convert it to WAV"},
		{"caff\x00\x01\x00\x00desc", "format CAF, which is not read (convert it to WAV"},
		{matrix4(binary.LittleEndian, 0), "format MAT of level 4, which is not read (save it in MATLAB with save -v7"},
		{matrix4(binary.LittleEndian, 52), "format MAT of level 4, which is not read"},
		{matrix4(binary.BigEndian, 1000), "reader: [program]"},
		{"\x01\x02\x03\x04", "binary data of unknown format"},
	} {
		r, err := openBytes([]byte(c.head), ingest.Options{})
		ingesttest.WantDataError(t, r, err, c.want)
	}

	// If the first bytes do not tell the format, the ending of the name does.
	for name, want := range map[string]string{
		"a.AIF": "format AIFF by its name, which is not read (it begins",
		"a.snd": "format AU by its name", "a.caf": "reader: [program]",
		"a.mat": "the name ends in .mat, the content is another format",
	} {
		src := ingesttest.Source([]byte("\x01\x02\x03\x04"))
		src.Path = name
		r, err := open(src, ingest.Options{})
		ingesttest.WantDataError(t, r, err, want)
	}

	// A text may begin with the letters of a magic.
	for _, s := range []string{"PAR1,PAR2\n1,2\n", "FORM,b\n1,2\n", ".snd,b\n1,2\n", "ID3,b\n1,2\n"} {
		_, err := openBytes([]byte(s), ingest.Options{})
		assert.NoError(t, err, "%q", s)
	}
}

// matrix4 returns the beginning of a MAT-file of level 4 with a matrix x of 1 row and 2 columns, by MathWorks,
// "MAT-File Format".
func matrix4(order binary.AppendByteOrder, kind uint32) string {
	var b []byte
	for _, v := range []uint32{kind, 1, 2, 0, 2} {
		b = order.AppendUint32(b, v)
	}

	return string(append(b, "x\x00\x00\x00\x00\x00\x00\x00\xf0\x3f"...))
}

// zipped returns a zip archive of empty files, as Python's zipfile writes it.
func zipped(names ...string) string {
	var s string
	for _, n := range names {
		s += "PK\x03\x04\x14\x00" + strings.Repeat("\x00", 20) + string([]byte{byte(len(n)), 0, 0, 0}) + n
	}

	return s
}

// The error about a file that is not a measurement says what it is and what to do, whatever the name of the file and
// the stated format are, for recordings and for tables.
func TestNoMeasurement(t *testing.T) {
	for head, want := range map[string][2]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 264644\n": { // case lfs-pointer
			"a Git LFS pointer", "git lfs pull",
		},
		"/annex/objects/MD5E-s1234--abc.csv\n":              {"a git-annex pointer", "git annex get"},
		"<!DOCTYPE html>\n<html><body>404\n1 2\n3 4\n":      {"a page of HTML", "download the file again"},
		"\ufeff\n <HTML><head>\n1\n2\n":                     {"a page of HTML", "download the file again"},
		"<?xml version=\"1.0\"?><Error><Code>Denied</Code>": {"a text of XML", "download the file again"},
		"{\"error\": \"not found\", \"code\": 404}": {
			"a server's error message", "download the file again",
		},
		".git/annex/objects/aa/MD5E-s1234--abc.csv": {"a link of git-annex", "git annex get"},
		"{\"a\":[1,2,3]}": {"a text of JSON", "as CSV"},
		zipped("[Content_Types].xml", "xl/workbook.xml"): {"an Excel workbook", "save its sheet as CSV"},
		zipped("docProps/app.xml", "xl/workbook.xml"):    {"an Excel workbook", "save its sheet as CSV"},
		zipped("mimetype") + "application/vnd.oasis.opendocument.spreadsheet": {
			"an OpenDocument file", "save its sheet as CSV",
		},
		zipped("take1.csv"): {"zip", "zip"},
		"\xd0\xcf\x11\xe0" + strings.Repeat("\x00", 600): {"Excel (.xls)", "save it as CSV"},
		strings.Repeat("\x00", 5000):                     {"zeros from byte 0 on", "not written to its end"},
		"a,b\n1,2\n" + strings.Repeat("\x00", 4096):      {"zeros from byte 8 on", "not written to its end"},
		"":                           {"an empty file", "copy it again"},
		"RIFF\xff\xff\x00\x00WAVEfm": {"the end of the file", "cut short: copy"},
		"a,b\n":                      {"no data rows", "record again"},
	} {
		path := filepath.Join(t.TempDir(), "x.wav")
		require.NoError(t, os.WriteFile(path, []byte(head), 0o600))

		r, err := Open(path, ingest.Options{})
		ingesttest.WantDataError(t, r, err, path, want[0], want[1])

		asTable := want[1]
		switch want[1] {
		case "not written to its end", "copy it again", "cut short: copy", "record again": // found by readers of recordings
			asTable = ""
		}

		if err := ingest.NoTable(path, []byte(head)); asTable == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, asTable)
		}
	}

	for _, head := range []string{"PK\x03\x04" + zipped("arr_0.npy")[4:], "time,F\n1,2\n", "<1,2\n"} {
		assert.NoError(t, ingest.NoMeasurement("x", []byte(head), false), "%q", head)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run_12.wav"), []byte("x"), 0o644))

	r, err := Open(filepath.Join(dir, "run_21.wav"), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "no such file", `there is "run_12.wav"`)
	assert.ErrorIs(t, err, os.ErrNotExist, "not fs.ErrNotExist")

	r, err = Open(dir, ingest.Options{})
	ingesttest.WantDataError(t, r, err, "a directory")

	empty := filepath.Join(dir, "empty.wav")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))

	r, err = Open(empty, ingest.Options{})
	ingesttest.WantDataError(t, r, err, "empty")

	for _, o := range []ingest.Options{
		{Format: "wavpack"},
		{Truncated: "yes"},
		{RateHz: -1},
		{RateHz: math.NaN()},
		{Text: ingest.TextOptions{Delimiter: "|"}},
	} {
		_, err := Open(empty, o)
		require.Error(t, err, "%+v", o)
		assert.NotErrorAs(t, err, new(*fault.Error), "%+v is an error of the configuration, not of the file", o)
	}
}

// Every format is recognised and described in the how-to: names and endings are unique, one format reads files that
// fit no other format, and the title of each format is in a row of the table of formats.
func TestFormats(t *testing.T) {
	b := testfile.Read(t, "../../docs/how-to.md")

	var rows []string
	for _, l := range strings.Split(string(b), "\n") {
		if cells := strings.Split(l, "|"); len(cells) > 2 {
			rows = append(rows, cells[1])
		}
	}

	seen := map[string]bool{}

	rest := 0
	for _, f := range All() {
		if isRest(f) {
			rest++
		}

		for _, s := range append([]string{f.Name, f.Title}, f.Endings...) {
			assert.NotEmpty(t, s, "a name, title or ending of %s", f.Name)
			assert.False(t, seen[s], "%s: another format has %q, too", f.Name, s)
			seen[s] = true
		}

		for _, e := range f.Endings {
			assert.Equal(t, strings.ToLower(filepath.Ext("x"+e)), e, "%s: ending", f.Name)
		}

		assert.True(t, slices.ContainsFunc(rows, func(r string) bool { return strings.Contains(r, f.Title) }),
			"docs/how-to.md has no row for %s", f.Title)
	}

	assert.Equal(t, 1, rest, "formats read what no other does")
}

// Two formats cannot have one name.
func TestRegisterTwice(t *testing.T) {
	for _, f := range []ingest.Format{{Name: "wav", Open: formats[0].Open}, {Open: formats[0].Open}, {Name: "tape"}} {
		assert.ErrorContains(t, Register(f), "register format")
	}
}

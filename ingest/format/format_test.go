package format

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
)

// openBytes opens bytes as a file named x.
func openBytes(b []byte, o ingest.Options) (ingest.Reader, error) {
	return open(ingesttest.Source(b), o)
}

func TestForeignFormats(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"wvpk\x00\x00\x00\x22", "WavPack not supported yet"},
		{"OggS\x00\x02", "Ogg not supported yet"},
		{"FEA1\x00\x00", "Feather version 1 not supported yet (write version 2"},
		{"\xff\xff\xff\xff\x78\x00", "Arrow IPC stream not supported yet (write an Arrow IPC file"},
		{"ID3\x04\x00", "MP3 not supported yet"},
		{"\xff\xfb\x90\x44", "MP3 not supported yet"},
		{"\x01\x02\x03\x04", "binary data of unknown format"},
	} {
		r, err := openBytes([]byte(c.head), ingest.Options{})
		ingesttest.WantDataError(t, r, err, c.want)
	}
	// Letters that begin a magic may begin a text as well.
	for _, s := range []string{"PAR1,PAR2\n1,2\n", "FORM,b\n1,2\n", "ID3,b\n1,2\n"} {
		if _, err := openBytes([]byte(s), ingest.Options{}); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run_12.wav"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open(filepath.Join(dir, "run_21.wav"), ingest.Options{})
	ingesttest.WantDataError(t, r, err, "no such file", `there is "run_12.wav"`)
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("not fs.ErrNotExist")
	}
	r, err = Open(dir, ingest.Options{})
	ingesttest.WantDataError(t, r, err, "a directory")
	empty := filepath.Join(dir, "empty.wav")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err = Open(empty, ingest.Options{})
	ingesttest.WantDataError(t, r, err, "empty")
	for _, o := range []ingest.Options{
		{Format: "wavpack"},
		{Truncated: "yes"},
		{RateHz: -1},
		{RateHz: math.NaN()},
		{Text: ingest.TextOptions{Delimiter: "|"}},
	} {
		if _, err := Open(empty, o); err == nil || errors.As(err, new(*fault.Error)) {
			t.Errorf("%+v: %v is to be an error of the configuration", o, err)
		}
	}
}

// Every format is recognised, and described in the how-to: names and
// endings are unique, one format reads what no other does, and a row of the
// table of formats has its title.
func TestFormats(t *testing.T) {
	b, err := os.ReadFile("../../docs/how-to.md")
	if err != nil {
		t.Fatal(err)
	}
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
			if seen[s] || s == "" {
				t.Errorf("%s: %q is not unique", f.Name, s)
			}
			seen[s] = true
		}
		for _, e := range f.Endings {
			if e != strings.ToLower(filepath.Ext("x"+e)) {
				t.Errorf("%s: ending %q", f.Name, e)
			}
		}
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.Contains(r, f.Title) }) {
			t.Errorf("docs/how-to.md has no row for %s", f.Title)
		}
	}
	if rest != 1 {
		t.Errorf("%d formats read what no other does", rest)
	}
}

// The name of a registered format is not given twice.
func TestRegisterTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("registered twice")
		}
	}()
	Register(ingest.Format{Name: "wav"})
}

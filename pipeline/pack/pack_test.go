package pack_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/pack"

	"pgregory.net/rapid"
)

// put writes a file and returns its path.
func put(t testing.TB, b []byte) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "pack")
	must.Do(t, os.WriteFile(path, b, 0o644))

	return path
}

// packed returns a pack of these files.
func packed(files ...pack.File) []byte {
	var b bytes.Buffer
	pack.Write(&b, files...)
	return b.Bytes()
}

// TestLayout has a pack's bytes as its documentation describes them, written by hand.
func TestLayout(t *testing.T) {
	got := packed(pack.File{"a.json", []byte("{}\n")}, pack.File{"empty", nil}, pack.File{"b", []byte("xy")})
	if want := "doubletake pack 1\n3 a.json\n0 empty\n2 b\n\n{}\nxy"; string(got) != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestReadsWhatWasPacked(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var files []pack.File
		for i, data := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 5).Draw(r, "contents") {
			name := rapid.StringMatching(`[a-z]{1,8}\.[a-z ]{1,5}`).Draw(r, "name")
			files = append(files, pack.File{Name: fmt.Sprint(i, name), Data: data})
		}

		path := put(t, packed(files...))
		for _, f := range files {
			got, err := pack.ReadFile(filepath.Join(path, f.Name))
			if err != nil || !bytes.Equal(got, f.Data) {
				r.Fatalf("%s: %q, %v; want %q", f.Name, got, err, f.Data)
			}
		}

		if _, err := pack.ReadFile(filepath.Join(path, "other")); !errors.Is(err, fs.ErrNotExist) {
			r.Fatalf("a name that it does not have: %v", err)
		}
	})
}

// TestFolder has the same files in a folder.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a"), []byte("12"), 0o644))

	if b, err := pack.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != "12" {
		t.Errorf("%q, %v", b, err)
	}

	if _, err := pack.ReadFile(filepath.Join(dir, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestDamaged has packs that are cut short, longer than they say, or none at all.
func TestDamaged(t *testing.T) {
	whole := packed(pack.File{"a", []byte("12345")}, pack.File{"b", []byte("6")})
	for n := range len(whole) {
		if _, err := pack.ReadFile(filepath.Join(put(t, whole[:n]), "a")); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		}
	}

	for _, s := range []string{
		string(whole) + "7", "doubletake pack 1\n-1 a\n\n", "doubletake pack 1\n9223372036854775807 a\n9 b\n\n",
	} {
		if _, err := pack.ReadFile(filepath.Join(put(t, []byte(s)), "a")); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

// FuzzOpen reads any bytes as a pack: it returns, and never more bytes than the file has.
func FuzzOpen(f *testing.F) {
	f.Add(packed(pack.File{"a", []byte("12345")}, pack.File{"b", nil}))
	f.Add([]byte("doubletake pack 1\n5 a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := pack.ReadFile(filepath.Join(put(t, b), "a"))
		must.Not(t, err == nil && !bytes.Contains(b, got), "%q of %q", got, b)
	})
}

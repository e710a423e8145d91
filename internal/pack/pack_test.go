package pack_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/pack"
)

// put writes a file and returns its path.
func put(t testing.TB, b []byte) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "pack")
	require.NoError(t, os.WriteFile(path, b, 0o644))

	return path
}

// packed returns a pack of files.
func packed(t testing.TB, files ...pack.File) []byte {
	t.Helper()

	var b bytes.Buffer
	require.NoError(t, pack.Write(&b, files...))

	return b.Bytes()
}

// The expected bytes were written by hand, as the documentation of the package describes them.
func TestLayout(t *testing.T) {
	got := packed(t, pack.File{"a.json", []byte("{}\n")}, pack.File{"empty", nil}, pack.File{"b", []byte("xy")})
	assert.Equal(t, "doubletake pack 1\n3 a.json\n0 empty\n2 b\n\n{}\nxy", string(got))
}

// A pack whose lines before the contents take 64 KiB can be read. With one byte more it is not written. The first line
// has 18 bytes, the line of the file 3 bytes besides its name, and the empty line 1 byte.
func TestGreatestHead(t *testing.T) {
	name := strings.Repeat("x", 64<<10-18-3-1)
	path := put(t, packed(t, pack.File{name, []byte("ab")}))
	data, err := pack.ReadFile(filepath.Join(path, name))
	require.NoError(t, err)
	assert.Equal(t, "ab", string(data))

	var b bytes.Buffer
	err = pack.Write(&b, pack.File{name + "x", []byte("ab")})
	require.ErrorContains(t, err, "pack 1 files: their names and sizes take 65537 bytes, at most 65536 are possible")
	assert.Zero(t, b.Len(), "bytes written")
}

// Every file of a pack is read as it was written. Another name does not exist.
func TestReadsWhatWasPacked(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var files []pack.File
		for i, data := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 5).Draw(r, "contents") {
			name := rapid.StringMatching(`[a-z]{1,8}\.[a-z ]{1,5}`).Draw(r, "name")
			files = append(files, pack.File{Name: fmt.Sprint(i, name), Data: data})
		}

		path := put(t, packed(t, files...))
		for _, file := range files {
			got, err := pack.ReadFile(filepath.Join(path, file.Name))
			require.NoError(r, err, file.Name)
			require.True(r, bytes.Equal(got, file.Data), "%s: %q", file.Name, got) // nil is as good as empty
		}

		_, err := pack.ReadFile(filepath.Join(path, "other"))
		require.ErrorIs(r, err, fs.ErrNotExist)
	})
}

// A pack of many files, whose lines are longer than the first read of the pack, is read too.
func TestManyFiles(t *testing.T) {
	var files []pack.File
	for i := range 1000 {
		files = append(files, pack.File{Name: fmt.Sprintf("file %d", i), Data: []byte{byte(i)}})
	}

	got, err := pack.ReadFile(filepath.Join(put(t, packed(t, files...)), "file 999"))
	require.NoError(t, err)
	assert.Equal(t, []byte{999 % 256}, got)
}

// Files in a folder are read in the same way as files in a pack.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("12"), 0o644))

	data, err := pack.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	assert.Equal(t, "12", string(data))

	_, err = pack.ReadFile(filepath.Join(dir, "b"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// A pack is an error if it is cut short anywhere, is longer than it says, or has impossible sizes.
func TestDamaged(t *testing.T) {
	whole := packed(t, pack.File{"a", []byte("12345")}, pack.File{"b", []byte("6")})
	for n := range len(whole) {
		_, err := pack.ReadFile(filepath.Join(put(t, whole[:n]), "a"))
		assert.Error(t, err, "cut to %d of %d bytes", n, len(whole))
	}

	for _, text := range []string{
		string(whole) + "7", "doubletake pack 1\n-1 a\n\n", "doubletake pack 1\n9223372036854775807 a\n9 b\n\n",
	} {
		_, err := pack.ReadFile(filepath.Join(put(t, []byte(text)), "a"))
		assert.Error(t, err, "%q", text)
	}
}

// Any bytes are read as a pack without a panic, and what is read is a part of them.
func FuzzOpen(f *testing.F) {
	f.Add(packed(f, pack.File{"a", []byte("12345")}, pack.File{"b", nil}))
	f.Add([]byte("doubletake pack 1\n5 a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := pack.ReadFile(filepath.Join(put(t, b), "a"))
		if err == nil {
			assert.True(t, bytes.Contains(b, got), "%q of %q", got, b)
		}
	})
}

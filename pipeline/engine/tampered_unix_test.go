//go:build linux || darwin

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// intruder puts something that the program does not write at a path of a work directory.
type intruder struct {
	kind string
	put  func(path string) error
}

// intruders returns what TestTampered puts into a work directory. The links lead to the file secret.
func intruders(secret string) (fifo, link, folder, nul intruder) {
	fifo = intruder{"FIFO", func(path string) error { return syscall.Mkfifo(path, 0o644) }}
	link = intruder{"link", func(path string) error { return os.Symlink(secret, path) }}
	folder = intruder{"folder", func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o755) }}
	nul = intruder{"file with a NUL", func(path string) error {
		return os.WriteFile(path, []byte("a\x00b\none.svg\n../../gone"), 0o644)
	}}

	return fifo, link, folder, nul
}

// The test puts FIFOs, links and folders in the place of the index, the journal, a manifest, a result and the list of
// published files. A run follows no link, waits for no FIFO, and makes the files again. A NUL in the list does no harm.
func TestTampered(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))

	fifo, link, folder, nul := intruders(secret)
	for _, c := range []struct {
		place     string // a pattern of paths in the work directory
		intruders []intruder
	}{
		{".cache/index", []intruder{fifo, link, folder}},
		{".cache/*/run.jsonl", []intruder{fifo, folder}},
		{".cache/objects/*/*/manifest.json", []intruder{fifo, link, folder}},
		{".cache/objects/*/*/figures/one.svg", []intruder{fifo, link, folder}},
		{".cache/published/*", []intruder{fifo, link, nul, folder}},
		{".cache/objects", []intruder{nul}},
		{".cache/objects/*", []intruder{nul}},
		{".cache/objects/*/*", []intruder{nul}},
		{".cache/published", []intruder{nul}},
		{".cache/progress", []intruder{nul}},
		{"a/report/figures/one.svg", []intruder{fifo, link}},
	} {
		for _, intruder := range c.intruders {
			t.Run(intruder.kind+" at "+c.place, func(t *testing.T) {
				dir := t.TempDir()
				runFigures(t, dir)
				intruder.replace(t, dir, c.place)
				runFigures(t, dir)

				published := filepath.Join(dir, "a/report/figures/one.svg")
				_, err := Own(published)
				assert.NoError(t, err, "the published file is the program's own")
				assertContent(t, "1", published)
				assertContent(t, "secret", secret)
			})
		}
	}
}

// replace puts the intruder in the place of each path in dir that matches a pattern. At least one must match.
func (x intruder) replace(t *testing.T, dir, pattern string) {
	t.Helper()

	paths := Matches(dir, pattern)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		require.NoError(t, errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.RemoveAll(path), x.put(path)))
	}
}

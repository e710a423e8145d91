package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file that changes after its stamp was taken, as if while it is read, has neither a hash nor contents: the hash of
// half-written contents would be taken for the file's. The SHA-256 of "abc" is the example of FIPS 180-4.
func TestFileThatChangesHasNoHash(t *testing.T) {
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	const ofABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"unchanged": {func(string) error { return nil }, ofABC},
		"longer":    {write("abcd"), ""},
		"shorter":   {write("ab"), ""},
		"removed":   {os.Remove, ""},
		"a folder": {func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		}, ""},
	} {
		for _, hold := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "raw")
			require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
			file := File{Path: "raw", Open: path}
			before, err := look(file)
			require.NoError(t, err)
			require.NoError(t, c.change(path), name)

			x := hashed{path: file.Path, stamp: before}
			err = x.read(file, hold)
			assert.Equal(t, c.want, x.sum, "%s, hold %t", name, hold)
			if c.want == "" {
				var changed *FileError
				assert.ErrorAs(t, err, &changed, "%s, hold %t", name, hold)
				assert.Nil(t, x.held, "%s, hold %t", name, hold)
				continue
			}

			require.NoError(t, err)
			assert.Equal(t, hold, x.held != nil, "%s, hold %t", name, hold)
			x.release()
		}
	}
}

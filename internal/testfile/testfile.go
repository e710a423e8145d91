// Package testfile reads and writes the small files of tests. Only tests, and packages for tests, import it.
package testfile

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Read returns the contents of a file. A failure ends the test.
func Read(t require.TestingT, path string) []byte {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}

	data, err := os.ReadFile(path)
	require.NoError(t, err)

	return data
}

// Write writes a file and makes the folders above it. A failure ends the test.
func Write(t require.TestingT, path, text string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

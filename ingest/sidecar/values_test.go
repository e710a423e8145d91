package sidecar

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
)

// readText reads a sidecar with the given text.
func readText(t *testing.T, text string) ([]Value, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.yaml")
	testfile.Write(t, path, text)

	return ReadValues(path)
}

// An alias is read like the mapping that it names. Aliases of aliases that make millions of keys of one kilobyte are
// refused before they are read.
func TestSidecarAliases(t *testing.T) {
	values, err := readText(t, "motor: &m {speed: 3000}\nother: *m\n")
	require.NoError(t, err)
	assert.Equal(t, []Value{{"motor.speed", 3000, "3000"}, {"other.speed", 3000, "3000"}}, values)

	text := "k0: &k0 {a: 1, b: 2}\n"
	for i := 1; i < 10; i++ {
		var parts []string
		for k := range 10 {
			parts = append(parts, fmt.Sprintf("x%d: *k%d", k, i-1))
		}

		text += fmt.Sprintf("k%d: &k%d {%s}\n", i, i, strings.Join(parts, ", "))
	}

	require.Less(t, len(text), 2000)
	_, err = readText(t, text)
	assert.ErrorContains(t, err, "expected at most 100000 keys, with those that aliases repeat, found more")
}

// An empty file, and a file of remarks alone, say what was expected.
func TestSidecarEmpty(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# remarks\n"} {
		_, err := readText(t, text)
		assert.ErrorContains(t, err, "expected keys and values, such as rpm: 3000, found an empty file", "%q", text)
	}
}

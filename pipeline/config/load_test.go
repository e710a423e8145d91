package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A file without contents, and what follows the one document, are errors that say so.
func TestParseDocuments(t *testing.T) {
	const toy = "version: 1\nexperiments: {toy: {ingest: {simulate: {campaign: toy}}}}\n"

	for text, want := range map[string]string{
		"":                        "the file is empty; expected version, workdir and experiments",
		"# a comment alone\n\n":   "the file is empty; expected version, workdir and experiments",
		toy + "---\nversion: 1\n": "expected one document, found a second",
		toy + "---\na: [1\n":      "not valid YAML",
	} {
		_, err := Parse("p.yaml", []byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}

	_, err := Parse("p.yaml", []byte(toy))
	require.NoError(t, err)
}

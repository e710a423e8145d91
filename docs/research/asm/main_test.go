package main

import (
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/require"
)

// Expected values: the committed files of each room.
func TestCommittedFilesAreGenerated(t *testing.T) {
	for room := range rooms {
		files, err := generate(room)
		require.NoError(t, err)
		for path, want := range files {
			got := testfile.Read(t, path)
			if string(got) != want {
				t.Errorf("%s is not what the generator makes: go run . in docs/research/asm", path)
			}
		}
	}
}

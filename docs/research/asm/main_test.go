package main

import (
	"os"
	"testing"
)

// Expected values: the committed files of each room.
func TestCommittedFilesAreGenerated(t *testing.T) {
	for room := range rooms {
		files, err := generate(room)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range files {
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s is not what the generator makes: go run . in docs/research/asm", path)
			}
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Expected values: the committed files of each room.
func TestCommittedFilesAreGenerated(t *testing.T) {
	for room := range rooms {
		files, err := generate(room)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			path := filepath.Join("..", "..", room, "kernel", name)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s is not what the generator makes: go generate ./%s/kernel", path, room)
			}
		}
	}
}

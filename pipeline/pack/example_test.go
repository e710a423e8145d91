package pack_test

import (
	"fmt"
	"os"
	"path/filepath"

	"doubletake/pipeline/pack"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "result")
	if err := os.WriteFile(path, pack.Encode([]pack.File{
		{Name: "levels.txt", Data: []byte("71.2 dB")}, {Name: "notes.txt", Data: []byte("windy")},
	}), 0o644); err != nil {
		panic(err)
	}

	b, err := pack.ReadFile(filepath.Join(path, "notes.txt"))
	fmt.Printf("%s %v\n", b, err)
	// Output: windy <nil>
}

package pack_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"doubletake/internal/pack"
)

// Example packs two files and reads one of them by the path that it would have in a folder.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "result")
	f, err := os.Create(path)
	if err != nil {
		panic(err)
	}

	err = pack.Write(f, pack.File{Name: "levels.txt", Data: []byte("71.2 dB")},
		pack.File{Name: "notes.txt", Data: []byte("windy")})
	if err := errors.Join(err, f.Close()); err != nil {
		panic(err)
	}

	b, err := pack.ReadFile(filepath.Join(path, "notes.txt"))
	fmt.Printf("%s %v\n", b, err)
	// Output: windy <nil>
}

package stagetest_test

import (
	"fmt"
	"os"
	"path/filepath"

	"doubletake/pipeline/stages/stagetest"
)

// A stand-in for a task of an earlier stage writes the content that the test wants.
func ExampleJSON() {
	dir, err := os.MkdirTemp("", "stagetest-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "notes.json")
	if _, err := stagetest.JSON("[]")(path); err != nil {
		fmt.Println(err)
		return
	}

	text, err := os.ReadFile(path)
	fmt.Println(string(text), err)
	// Output: [] <nil>
}

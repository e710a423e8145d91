package testfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"doubletake/internal/testfile"
)

// reporter stands for a *testing.T.
type reporter struct{}

func (reporter) Errorf(format string, args ...any) { fmt.Printf(format, args...) }
func (reporter) FailNow()                          { panic("failed") }

// Write makes the folders that it needs.
func Example() {
	folder, err := os.MkdirTemp("", "testfile")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)

	path := filepath.Join(folder, "campaign", "conditions.csv")
	testfile.Write(reporter{}, path, "blades,rpm\n")
	fmt.Printf("%s", testfile.Read(reporter{}, path))
	// Output: blades,rpm
}

package app

import (
	"fmt"
	"os"
)

// The commands print to the streams they are given and return an exit status.
func Example() {
	code := run([]string{"check", "missing.yaml"}, os.Stdout, os.Stdout)
	fmt.Println("exit status", code)

	// Output:
	// pipeline: missing.yaml: no such file; name your configuration as the argument FILE, or write one with pipeline init
	// exit status 2
}

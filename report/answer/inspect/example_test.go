package inspect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"doubletake/ingest"
	"doubletake/report/answer/inspect"
)

// Example describes a file without a configuration.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "inspect")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "balance.csv")
	if err := os.WriteFile(path, []byte("Fx (N),Fz (N)\n0.5,3\n0.7,5\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	description, err := inspect.File(context.Background(), path, ingest.Options{RateHz: 100})
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, c := range description.Recording.Channels {
		fmt.Printf("%s: %d samples, mean %g %s\n", c.Name, c.Samples, c.DC, c.Unit)
	}
	// Output:
	// Fx: 2 samples, mean 0.6 N
	// Fz: 2 samples, mean 4 N
}

// Command site writes Markdown documents as a web site that needs no network:
//
//	site FOLDER FILE…
//
// The files are documents and pictures, by paths from the current folder. See .ci/site.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("expected FOLDER FILE…, found %q", args)
	}

	site, err := newSite(os.DirFS("."), args[1:])
	if err != nil {
		return err
	}

	for name, b := range site {
		to := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}

		if err := os.WriteFile(to, b, 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}

	fmt.Printf("%d files in %s\n", len(site), args[0])

	return nil
}

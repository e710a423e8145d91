package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/pipeline/export"
	"doubletake/pipeline/scaffold"
)

func runInit(c *call) error {
	dir, print := cmp.Or(c.arg(0), "."), c.Bool("stdout")
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return usage("pipeline init wants a folder, found %s", dir)
	}

	path := filepath.Join(dir, "pipeline.yaml")
	if _, err := os.Stat(path); !print && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already; move it away, or use --stdout", path)
	}

	r := fault.Get(scaffold.Look(dir))
	table := filepath.Join(dir, "conditions.csv")
	if _, err := os.Stat(table); r.Conditions != "" && !print && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already, but is no table of conditions: correct it, or move it away", table)
	}

	printNotes(c.stderr, r.Notes)

	if print {
		_, err := io.WriteString(c.stdout, r.YAML)
		return err
	}

	if r.Conditions != "" {
		fault.Raise(writeNew(table, r.Conditions))
		fmt.Fprintf(c.stdout, "wrote %s; fill in the conditions that are not in the names\n", table)
	}

	fault.Raise(writeNew(path, r.YAML))

	// A copy of the program's own: an older one may be there.
	fault.Raise(export.WriteFile(filepath.Join(dir, scaffold.SchemaFile), func(w io.Writer) error {
		return printJSON(w, pipeline.Schema())
	}))
	fmt.Fprintf(c.stdout, "wrote %s; read it, correct what its comments ask for, then: pipeline run %s\n", path, path)

	// Check the file at once: it is there to be corrected either way.
	if p, err := pipeline.Load(path); err != nil {
		fmt.Fprintf(c.stderr, "note: not ready to run yet: %v\n", err)
	} else {
		c.warn(p.Warnings)
	}

	return nil
}

// writeNew writes a file that must not exist yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}

	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}

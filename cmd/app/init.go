package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"doubletake/cmd/app/scaffold"
	"doubletake/pipeline"
	"doubletake/report/answer/export"
)

// runInit writes a configuration that fits the files of a folder, a table of conditions if the folder has none, and the
// schema. With --stdout it prints the configuration and writes nothing.
func runInit(c *call) error {
	dir := cmp.Or(c.arg(0), ".")
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("%s: no such folder; name the folder with your files", dir)
	case err != nil:
		return fmt.Errorf("find folder: %w", err)
	case !info.IsDir():
		return usage("pipeline init wants a folder, found the file %s", dir)
	}

	if c.Bool("stdout") {
		draft, err := scaffold.Look(dir)
		if err != nil {
			return err
		}

		printNotes(c.stderr, draft.Notes)
		_, err = io.WriteString(c.stdout, draft.YAML)

		return err
	}

	path := filepath.Join(dir, "pipeline.yaml")
	if exists(path) {
		return usage("%s is there already; move it away, or use --stdout", path)
	}

	draft, err := scaffold.Look(dir)
	if err != nil {
		return err
	}

	table := filepath.Join(dir, "conditions.csv")
	if draft.Conditions != "" && exists(table) {
		return usage("%s is there already, but is no table of conditions: correct it, or move it away", table)
	}

	printNotes(c.stderr, draft.Notes)

	return writeDraft(c, draft, dir, path, table)
}

// writeDraft writes the files of a draft into the folder dir: the configuration at path, and the table of conditions at
// table if the draft has one.
func writeDraft(c *call, draft *scaffold.Result, dir, path, table string) error {
	if draft.Conditions != "" {
		if err := writeNew(table, draft.Conditions); err != nil {
			return err
		}

		fmt.Fprintf(c.stdout, "wrote %s; fill in the conditions that are not in the names\n", table)
	}

	if err := writeNew(path, draft.YAML); err != nil {
		return err
	}

	// The schema replaces an existing one, which may be of an older program.
	writeSchema := func(w io.Writer) error { return printJSON(w, pipeline.Schema()) }
	if err := export.WriteFile(filepath.Join(dir, scaffold.SchemaFile), writeSchema); err != nil {
		return err
	}

	fmt.Fprintf(c.stdout, "wrote %s; read it, correct what its comments ask for, then: pipeline run %s\n", path, path)

	// The configuration is checked at once. The user is to correct it anyway, so that an error is only a note.
	project, err := pipeline.Load(path)
	if err != nil {
		fmt.Fprintf(c.stderr, "note: not ready to run yet: %v\n", err)
		return nil
	}

	c.warn(project.Warnings)

	return nil
}

// exists reports whether there is something at a path, or whether this cannot be known.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// writeNew writes a file that must not exist yet.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}

	_, err = file.WriteString(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("write %s: %w", path, err)
	}

	return nil
}

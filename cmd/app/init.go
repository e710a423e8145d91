package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/pipeline/export"
	"doubletake/pipeline/scaffold"
)

func newInitCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "look at a folder and write a commented pipeline.yaml that fits", ArgsUsage: "[DIR]",
		Description: "DIR is the current folder by default; an existing pipeline.yaml is not overwritten. Where the file " +
			"names are\nbuilt in several ways a table conditions.csv is written too. A log of the runs in the folder becomes " +
			"the table\nof conditions. Facts that no file states are left as FILL_IN, which check refuses. " +
			"Editors with a YAML language server\ncomplete and check the keys from pipeline.schema.json next to it, " +
			"which `pipeline schema` prints.\n\n" +
			"Example: pipeline init measurements\n\nExit status: 0 success, 1 failed, 2 usage error.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "stdout", Usage: "print it instead of writing the file"}},
		Action: func(c *cli.Context) error {
			dir := "."
			switch c.NArg() {
			case 0:
			case 1:
				dir = c.Args().First()
			default:
				return usage("pipeline init takes one DIR, found %q", c.Args().Slice())
			}

			return runInit(dir, c.Bool("stdout"), stdout, stderr)
		},
	}
}

func runInit(dir string, print bool, stdout, stderr io.Writer) error {
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return usage("pipeline init wants a folder, found %s", dir)
	}

	path := filepath.Join(dir, "pipeline.yaml")
	if _, err := os.Stat(path); !print && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already; move it away, or use --stdout", path)
	}

	r, err := scaffold.Look(dir)
	if err != nil {
		return err
	}

	table := filepath.Join(dir, "conditions.csv")
	if _, err := os.Stat(table); r.Conditions != "" && !print && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already, but is no table of conditions: correct it, or move it away", table)
	}

	for _, n := range r.Notes {
		fmt.Fprintln(stderr, "note: "+n)
	}

	if print {
		_, err := io.WriteString(stdout, r.YAML)
		return err
	}

	if r.Conditions != "" {
		if err := writeNew(table, r.Conditions); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s; fill in the conditions that are not in the names\n", table)
	}

	if err := writeNew(path, r.YAML); err != nil {
		return err
	}

	// A copy of the program's own: an older one may be there.
	if err := export.WriteFile(filepath.Join(dir, scaffold.SchemaFile), func(w io.Writer) error {
		return printJSON(w, pipeline.Schema())
	}); err != nil {
		return err
	}

	fmt.Fprintf(stdout, "wrote %s; read it, correct what its comments ask for, then: pipeline run %s\n", path, path)

	// Check the file at once: it is there to be corrected either way.
	if p, err := pipeline.Load(path); err != nil {
		fmt.Fprintf(stderr, "note: not ready to run yet: %v\n", err)
	} else {
		for _, w := range p.Warnings {
			fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Text)
		}
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

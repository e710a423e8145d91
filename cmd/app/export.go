package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/locate"
	"doubletake/report/answer/export"
	"doubletake/train/numbers"
)

// runExport writes tables of a work directory to files of another format. The tables that it wrote before an error
// stay. The text for people names the file of each table, and the JSON also names the file with its metadata.
func runExport(c *call) error {
	format := c.String("format")
	if format == "" {
		return usage("pipeline export wants --format: one of %s", strings.Join(export.Formats(), ", "))
	}

	source, err := locate.Result(c.arg(0))
	if err != nil {
		return err
	}

	tables, err := export.Find(source)
	if err != nil {
		return err
	}

	if names := c.String("tables"); names != "" {
		tables, err = chooseTables(tables, strings.Split(names, ","))
		if err != nil {
			return err
		}
	}

	var files []numbers.Object
	for _, table := range tables {
		written, err := export.Write(c.arg(1), format, table)
		if err != nil {
			return err
		}

		files = append(files, numbers.Object{
			"files", written.Paths, "rows", written.Rows, "columns", written.Columns,
		})
		if !c.Bool("json") {
			fmt.Fprintf(c.stdout, "%s: %s, %s\n", written.Paths[0], fault.Plural(int64(written.Rows), "row"),
				fault.Plural(int64(written.Columns), "column"))
		}
	}

	if c.Bool("json") {
		return printJSON(c.stdout, numbers.Object{"tables", files})
	}

	return nil
}

// chooseTables returns the tables with the given names. A name may leave out the folders of a table; it then chooses
// all tables with this name.
func chooseTables(tables []export.Source, names []string) ([]export.Source, error) {
	var known []string
	for _, table := range tables {
		known = append(known, table.Name)
		if base := path.Base(table.Name); !slices.Contains(known, base) {
			known = append(known, base)
		}
	}

	var chosen []export.Source
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimSpace(name), ".arrow")
		if !slices.Contains(known, name) {
			return nil, usage("--tables: there is no table %q%s (the tables are %s)", name,
				spelling.DidYouMean(name, known), strings.Join(known, ", "))
		}

		for _, table := range tables {
			named := table.Name == name || path.Base(table.Name) == name
			if named && !slices.Contains(chosen, table) {
				chosen = append(chosen, table)
			}
		}
	}

	return chosen, nil
}

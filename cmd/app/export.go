package app

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/export"
)

func runExport(c *call) error {
	from, dir, format, tables := c.arg(0), c.arg(1), c.String("format"), c.String("tables")
	switch {
	case format == "":
		return usage("pipeline export wants --format: one of %s", strings.Join(exportFormats(), ", "))
	case format == "onnx" && tables != "":
		return usage("pipeline export: --tables chooses tables, and --format onnx writes models")
	case format == "onnx":
		return exportModel(c, from, dir)
	}

	list := fault.Get(export.Find(from))
	if tables != "" {
		list = fault.Get(chooseTables(list, strings.Split(tables, ",")))
	}

	for _, s := range list {
		paths, rows, columns, err := export.Write(dir, format, s)
		fault.Raise(err)
		fmt.Fprintf(c.stdout, "%s: %d rows, %d columns\n", paths[0], rows, columns)
	}

	return nil
}

func exportFormats() []string { return append(export.Formats(), "onnx") }

func exportModel(c *call, model, dir string) error {
	m := fault.Get(export.OpenModels(model))
	for _, p := range fault.Get(m.WriteONNX(dir)) {
		fmt.Fprintln(c.stdout, p)
	}

	if why := m.Uncalibrated(); why != "" {
		fmt.Fprintf(c.stderr, "note: no calibrated.onnx: %s\n", why)
	}

	return nil
}

// chooseTables returns the tables of those names, whole or without folders.
func chooseTables(list []export.Source, names []string) (out []export.Source, err error) {
	var known []string
	for _, s := range list {
		known = append(known, s.Name)
		if base := path.Base(s.Name); !slices.Contains(known, base) {
			known = append(known, base)
		}
	}

	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimSpace(name), ".arrow")
		if !slices.Contains(known, name) {
			return nil, usage("--tables: there is no table %q%s; the tables are %s", name, hint(name, known),
				strings.Join(known, ", "))
		}

		for _, s := range list {
			if (s.Name == name || path.Base(s.Name) == name) && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}

	return out, nil
}

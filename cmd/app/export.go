package app

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/export"
)

func newExportCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write tables as CSV or Parquet files, models as ONNX graphs",
		ArgsUsage: "RUNS|MODEL DIR",
		Description: "RUNS is a folder with tables, such as runs/EXPERIMENT, or one .arrow file. Each table becomes a file " +
			"in DIR under its own name and folders. " +
			"Numbers read back equal. Units and descriptions are kept: for CSV in NAME.csv-metadata.json, for Parquet in " +
			"the file (docs/export.md).\n\n" +
			"With --format onnx, MODEL is a model.json, its folder, or a split's folder with models of several seeds, which " +
			"then predict together. DIR gets first.onnx " +
			"(mean and variance), given.onnx (the same with an outcome fed back) and rule.onnx (mean, variance, C, δ, κ); " +
			"where the split is calibrated on left-out groups also calibrated.onnx (mean and interval of that model).\n\n" +
			"Example: pipeline export runs/drone tables --format csv --tables triplets,recordings\n\n" +
			"Exit status: 0 success, 1 a file cannot be written, 2 usage error, 3 input data error.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: strings.Join(exportFormats(), ", ")},
			&cli.StringFlag{Name: "tables", Usage: "only these, separated by commas: triplets, or " +
				"splits/SPLIT/seed-0/predictions"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage("pipeline export takes RUNS (or MODEL) and DIR, found %q", c.Args().Slice())
			}

			format := c.String("format")
			switch {
			case format == "mat" || format == "npz":
				return usage("--format %s went with version 0.2: csv is read by MATLAB, NumPy and all others, parquet by MATLAB's "+
					"parquetread and pandas", format)
			case !slices.Contains(exportFormats(), format):
				return usage("--format of pipeline export is one of %s, found %q", strings.Join(exportFormats(), ", "), format)
			case format == "onnx" && c.String("tables") != "":
				return usage("pipeline export: --tables chooses tables, and --format onnx writes models")
			case format == "onnx":
				return exportModel(c.Args().Get(0), c.Args().Get(1), stdout, stderr)
			}

			return runExport(c.Args().Get(0), c.Args().Get(1), format, c.String("tables"), stdout)
		},
	}
}

func exportFormats() []string { return append(export.Formats(), "onnx") }

func exportModel(model, dir string, stdout, stderr io.Writer) error {
	m, err := export.OpenModels(model)
	if err != nil {
		return err
	}

	paths, err := m.WriteONNX(dir)
	if err != nil {
		return err
	}

	for _, p := range paths {
		fmt.Fprintln(stdout, p)
	}

	if why := m.Uncalibrated(); why != "" {
		fmt.Fprintf(stderr, "note: no calibrated.onnx: %s\n", why)
	}

	return nil
}

func runExport(from, dir, format, tables string, stdout io.Writer) error {
	list, err := export.Find(from)
	if err != nil {
		return err
	}

	if tables != "" {
		if list, err = chooseTables(list, strings.Split(tables, ",")); err != nil {
			return err
		}
	}

	for _, s := range list {
		paths, rows, columns, err := export.Write(dir, format, s)
		if err != nil {
			return err
		}

		fmt.Fprintf(stdout, "%s: %d rows, %d columns\n", paths[0], rows, columns)
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

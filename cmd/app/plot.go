package app

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/pipeline/locate"
	"doubletake/pipeline/runs"
	"doubletake/report"
)

// runPlot draws a figure of a run or a model for a paper. Without the name of a figure it lists the names.
func runPlot(c *call) error {
	output := c.String("out")
	options, err := plotOptions(c, output)
	if err != nil {
		return err
	}

	folder, err := locate.Folder(c.arg(0))
	if err != nil {
		return err
	}

	plots, err := runs.OpenPlots(folder)
	if err != nil {
		return err
	}

	name := c.arg(1)
	if list := plots.List(name); len(list) > 0 {
		if c.Bool("json") {
			return printJSON(c.stdout, map[string]any{"figures": list})
		}

		_, err := fmt.Fprintln(c.stdout, strings.Join(list, "\n"))
		return err
	}

	figure, err := plots.Draw(name, options)
	if err != nil {
		return err
	}

	output = cmp.Or(output, path.Base(name)+"."+options.Format)
	if err := writeFigure(c, figure, output); err != nil {
		return fmt.Errorf("write figure: %w", err)
	}

	return nil
}

// plotOptions returns the options that the flags of pipeline plot give. Without --format the ending of the path is the
// format. Without both it is pdf.
func plotOptions(c *call, path string) (report.PlotOptions, error) {
	options := report.PlotOptions{Format: c.String("format"), DPI: c.Float64("dpi")}
	if options.Format == "" {
		ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
		options.Format = cmp.Or(ending, "pdf")
	}

	// The flag --format was checked already, so that a wrong format is the ending of --out.
	if !slices.Contains(report.PlotFormats(), options.Format) {
		return options, usage("--out wants a file that ends in one of %s, found %q; or give --format",
			strings.Join(report.PlotFormats(), ", "), options.Format)
	}

	const (
		minDPI = 30
		maxDPI = 2400
	)

	isAllowed := options.DPI >= minDPI && options.DPI <= maxDPI // false for NaN
	if !isAllowed {
		return options, usage("--dpi wants %d to %d, found %g", minDPI, maxDPI, options.DPI)
	}

	var err error
	options.WidthM, err = paperWidth(c.String("width"))

	return options, err
}

// writeFigure writes a figure to a file and prints its path. With the path "-" it writes to standard output.
func writeFigure(c *call, figure []byte, path string) error {
	if path == "-" {
		_, err := raw(c.stdout).Write(figure)
		return err
	}

	if err := os.WriteFile(path, figure, 0o644); err != nil {
		return err
	}

	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"figure": path})
	}

	_, err := fmt.Fprintln(c.stdout, path)

	return err
}

// paperUnits are the units of lengths on paper, in m. A pt is 1/72 of an inch, as in PDF.
var paperUnits = map[string]float64{"mm": 1e-3, "cm": 1e-2, "in": 0.0254, "pt": 0.0254 / 72}

// paperWidth reads a length on paper with its unit and returns it in m.
func paperWidth(text string) (float64, error) {
	const (
		minWidthM = 0.03
		maxWidthM = 1
	)

	for unit, metres := range paperUnits {
		number, found := strings.CutSuffix(text, unit)
		if !found {
			continue
		}

		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		width := value * metres
		if err == nil && width >= minWidthM && width <= maxWidthM {
			return width, nil
		}
	}

	return 0, usage("--width wants a length of 30mm to 1000mm, such as 84mm, 8.4cm, 3.3in or 240pt, found %q", text)
}

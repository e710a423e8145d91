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

	"doubletake/ingest/fault"
	"doubletake/pipeline/runs"
	"doubletake/report"
)

func runPlot(c *call) error {
	o := report.PlotOptions{Format: c.String("format"), DPI: c.Float64("dpi")}

	out := c.String("out")
	if o.Format == "" {
		o.Format = "pdf"
		if e := strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), "."); e != "" {
			o.Format = e
		}
	}

	if !slices.Contains(report.PlotFormats(), o.Format) { // of --out
		return usage("--format of pipeline plot is one of %s, found %q", strings.Join(report.PlotFormats(), ", "), o.Format)
	}

	if !(o.DPI >= 30 && o.DPI <= 2400) {
		return usage("--dpi wants 30 to 2400, found %g", o.DPI)
	}

	var err error
	o.WidthM = fault.Get(paperWidth(c.String("width")))
	plots := fault.Get(runs.OpenPlots(c.arg(0)))
	name := c.arg(1)
	if list := plots.List(name); len(list) > 0 {
		_, err := fmt.Fprintln(c.stdout, strings.Join(list, "\n"))
		return err
	}

	b := fault.Get(plots.Draw(name, o))
	if out == "-" {
		_, err = raw(c.stdout).Write(b)
	} else {
		out = cmp.Or(out, path.Base(name)+"."+o.Format)

		if err = os.WriteFile(out, b, 0o644); err == nil {
			_, err = fmt.Fprintln(c.stdout, out)
		}
	}

	if err != nil {
		return fmt.Errorf("write figure: %w", err)
	}

	return nil
}

// paperWidth reads a length on paper and returns it in m.
func paperWidth(s string) (float64, error) {
	for unit, m := range map[string]float64{"mm": 1e-3, "cm": 1e-2, "in": 0.0254, "pt": 0.0254 / 72} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(n), 64); err == nil && v*m >= 0.03 && v*m <= 1 {
				return v * m, nil
			}
		}
	}

	return 0, usage("--width wants a length of 30mm to 1000mm, such as 84mm, 8.4cm, 3.3in or 240pt, found %q", s)
}

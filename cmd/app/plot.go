package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/runs"
	"doubletake/report"
)

func newPlotCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "plot", Usage: "draw a figure of the report for a paper", ArgsUsage: "RUN|MODEL [FIGURE]",
		Description: "RUN is a work directory or runs/EXPERIMENT; MODEL is a split's folder in it, or a model.json there, " +
			"and means the figures of that split. Without FIGURE the figures are listed.\n\n" +
			"Texts are 8 pt at any width; panels move below one another where they would be too narrow. The figure is the " +
			"page's, with the same numbers: an SVG has them in its attributes.\n\n" +
			"Example: pipeline plot runs/drone/splits/3-blades map --width 84mm --out map.pdf\n\n" +
			"Exit status: 0 success, 1 a file cannot be written, 2 usage error, 3 input data error.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "width", Value: "174mm", Usage: "on paper, in mm, cm, in or pt: 84mm is a column, 174mm two"},
			&cli.StringFlag{
				Name:  "format",
				Usage: strings.Join(report.PlotFormats(), ", ") + " (default: by the ending of --out, else pdf)",
			},
			&cli.StringFlag{
				Name:  "out",
				Usage: "the file to write (default: FIGURE with the format's ending; --out=- is standard output)",
			},
			&cli.Float64Flag{Name: "dpi", Value: 300, Usage: "resolution of a PNG, dots per inch"},
			&cli.StringFlag{Name: "xlim", Usage: "limits of the horizontal axis, such as an angle: --xlim=-60:60"},
			&cli.StringFlag{Name: "ylim", Usage: "limits of the vertical axis, such as a level in dB: --ylim=20:70"},
			&cli.BoolFlag{Name: "polar", Usage: "directivities in polar coordinates"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 1 || c.NArg() > 2 {
				return usage("pipeline plot takes RUN or MODEL, and FIGURE, found %q", c.Args().Slice())
			}
			return runPlot(c, stdout)
		},
	}
}

func runPlot(c *cli.Context, stdout io.Writer) error {
	o := report.PlotOptions{Format: c.String("format"), DPI: c.Float64("dpi"), Polar: c.Bool("polar")}

	out := c.String("out")
	if o.Format == "" {
		o.Format = "pdf"
		if e := strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), "."); e != "" {
			o.Format = e
		}
	}

	if !slices.Contains(report.PlotFormats(), o.Format) {
		return usage("--format of pipeline plot is one of %s, found %q", strings.Join(report.PlotFormats(), ", "), o.Format)
	}

	if !(o.DPI >= 30 && o.DPI <= 2400) {
		return usage("--dpi wants 30 to 2400, found %g", o.DPI)
	}

	var err error
	if o.WidthM, err = paperWidth(c.String("width")); err != nil {
		return err
	}

	if o.X, err = axisLimits("xlim", c.String("xlim")); err != nil {
		return err
	}

	if o.Y, err = axisLimits("ylim", c.String("ylim")); err != nil {
		return err
	}

	plots, err := runs.OpenPlots(c.Args().First(), o.Polar)
	if err != nil {
		return err
	}

	name := c.Args().Get(1)
	if name == "" {
		_, err := fmt.Fprintln(stdout, strings.Join(plots.Names(), "\n"))
		return err
	}

	b, err := plots.Draw(name, o)
	if err != nil {
		return err
	}

	if out == "-" {
		_, err = stdout.Write(b)
	} else {
		out = cmp.Or(out, path.Base(name)+"."+o.Format)

		if err = os.WriteFile(out, b, 0o644); err == nil {
			_, err = fmt.Fprintln(stdout, out)
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

// axisLimits reads FROM:TO; without it both are 0.
func axisLimits(flag, s string) (limits [2]float64, err error) {
	if s == "" {
		return limits, nil
	}

	from, to, ok := strings.Cut(s, ":")
	a, err1 := strconv.ParseFloat(from, 64)

	b, err2 := strconv.ParseFloat(to, 64)
	if !ok || err1 != nil || err2 != nil || !(a < b) || math.IsInf(b-a, 0) {
		return limits, usage("--%s wants FROM:TO, such as --%s=-60:60, found %q", flag, flag, s)
	}

	return [2]float64{a, b}, nil
}

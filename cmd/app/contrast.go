package app

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/contrast"
	"doubletake/report"
)

func newContrastCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "contrast", Usage: "whether two configurations differ, where, by how much, and how sure that is",
		ArgsUsage: "RUN [RUN]",
		Description: "RUN is an experiment's folder; of one --a and --b select the sides, of two the first is A. A side is " +
			"values of columns, or patterns between slashes. Both are compared at equal conditions, at set points where one " +
			"condition varies freely, else by the calibrated final model. What counts as independent are the units that were " +
			"exchanged, never rows: runs, or what --unit names (docs/contrast.md).\n\n" +
			"Example: pipeline contrast runs/blades --a propeller=3 --b propeller=7 --unit '/^[a-m]/'\n\n" +
			"Exit status: 0 success, 1 a file cannot be written, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "a", Usage: "the first side: column=value or column=/pattern/, joined by commas"},
			&cli.StringFlag{Name: "b", Usage: "the second side"},
			&cli.StringFlag{Name: "unit", Value: "run", Usage: "the column of what was exchanged, such as motor or day, or " +
				"/the part of the run's name that tells it/"},
			&cli.StringSliceFlag{Name: "outcome", Usage: "only this outcome (repeatable)"},
			&cli.Float64Flag{Name: "limit", Usage: "state the probability that B − A is above it"},
			&cli.Float64Flag{Name: "alpha", Value: 0.05, Usage: "intervals and bands have the confidence 1 − alpha"},
			&cli.StringFlag{Name: "figure", Usage: "write the differences over the conditions as this SVG"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
		},
		Action: func(c *cli.Context) error { return runContrast(c, stdout, stderr) },
	}
}

func runContrast(c *cli.Context, stdout, stderr io.Writer) error {
	a, b, alpha, limit := c.String("a"), c.String("b"), c.Float64("alpha"), c.Float64("limit")
	switch n := c.NArg(); {
	case n != 1 && n != 2:
		return usage("pipeline contrast takes one RUN or two, found %q", c.Args().Slice())
	case n == 1 && (a == "" || b == ""):
		return usage("pipeline contrast of one RUN wants --a and --b, e.g. --a blades=2 --b blades=3")
	case !(alpha > 0 && alpha < 1):
		return usage("--alpha wants a number between 0 and 1, found %g", alpha)
	case math.IsNaN(limit) || math.IsInf(limit, 0):
		return usage("--limit wants a number, found %g", limit)
	}

	r, err := contrast.Compare(c.Context, contrast.Options{
		Dirs: c.Args().Slice(), A: a, B: b, Unit: c.String("unit"), Outcomes: c.StringSlice("outcome"), Limit: limit,
		Level: 1 - alpha,
	})
	if err != nil {
		return err
	}

	printNotes(stderr, r.Notes)

	if path := c.String("figure"); path != "" {
		svg := r.SVG()
		if svg == nil {
			return usage("--figure: there is no difference over a condition to draw")
		}

		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return fmt.Errorf("write figure: %w", err)
		}
	}

	if c.Bool("json") {
		return printJSON(stdout, r)
	}

	return report.Sheets(stdout, []report.Sheet{r.Sheet()}, width(stdout), colour(stdout))
}

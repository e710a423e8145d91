package app

import (
	"fmt"
	"os"

	"doubletake/pipeline/contrast"
	"doubletake/report"
)

func runContrast(c *call) error {
	a, b := c.String("a"), c.String("b")
	if len(c.args) == 1 && (a == "" || b == "") {
		return usage("pipeline contrast of one RUN wants --a and --b, e.g. --a blades=2 --b blades=3")
	}

	r, err := contrast.Compare(c.ctx, contrast.Options{
		Runs: c.args, A: a, B: b, Unit: c.String("unit"), Outcomes: c.StringSlice("outcome"), Limit: c.Float64("limit"),
		Level: 1 - c.Float64("alpha"),
	})
	if err != nil {
		return err
	}

	printNotes(c.stderr, r.Notes)

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
		return printJSON(c.stdout, r)
	}

	return report.Sheets(c.stdout, []report.Sheet{r.Sheet()}, width(c.stdout), colour(c.stdout))
}

package app

import (
	"fmt"
	"os"

	"doubletake/pipeline/locate"
	"doubletake/report"
	"doubletake/report/answer/contrast"
	"doubletake/report/pairs"
)

// runContrast prints the differences between two groups of runs, and writes a figure of them with --figure.
func runContrast(c *call) error {
	a := c.String("a")
	b := c.String("b")
	if len(c.args) == 1 && (a == "" || b == "") {
		return usage("pipeline contrast with one RESULT wants --a and --b, e.g. --a blades=2 --b blades=3")
	}

	var runs []pairs.Source
	for _, name := range c.args {
		source, _, err := locate.Pairs(name, "")
		if err != nil {
			return err
		}

		runs = append(runs, source)
	}

	result, err := contrast.Compare(c.ctx, contrast.Options{
		Runs: runs, A: a, B: b, Unit: c.String("unit"), Outcomes: c.StringSlice("outcome"), Limit: c.Float64("limit"),
		Level: c.Float64("level"),
	})
	if err != nil {
		return err
	}

	printNotes(c.stderr, result.Notes)

	if path := c.String("figure"); path != "" {
		svg := result.SVG()
		if svg == nil {
			return usage("--figure: there is no difference over a condition to draw")
		}

		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return fmt.Errorf("write figure: %w", err)
		}
	}

	if c.Bool("json") {
		return printJSON(c.stdout, result)
	}

	return report.Sheets(c.stdout, []report.Sheet{result.Sheet()}, width(c.stdout), colour(c.stdout))
}

package app

import (
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/budget"
	"doubletake/report"
)

// monteCarloDraws are enough for two digits of an interval of 95 % (JCGM 101, 7.2).
const monteCarloDraws = 200_000

func newBudgetCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "budget", Usage: "the uncertainty budget of outcomes by JCGM 100 (GUM)", ArgsUsage: "EXPERIMENT|FILE",
		Description: "EXPERIMENT is an experiment of the configuration that has run, or its folder below runs. Its pairs " +
			"and repeats give the uncertainties of type A, ingest.uncertainty and ingest.calibration.uncertainty those " +
			"of type B. FILE.yaml is a budget of your own: outcomes as expressions of inputs or of a table of readings " +
			"(docs/budget.md). " +
			"Without --at the terminal shows the condition where an outcome is least certain.\n\n" +
			"Example: pipeline budget drone --at blades=3,rpm=5000,theta_deg=0 --outcome bpf1_db\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "at", Usage: "conditions, as `blades=3,rpm=5000`; of others all values"},
			&cli.StringFlag{Name: "outcome", Usage: "one outcome instead of all"},
			&cli.StringFlag{Name: "above", Usage: "column of text with a level above the runs, such as the day"},
			&cli.StringFlag{Name: "pool", Usage: "conditions, joined by commas: scatter is pooled over those that are equal " +
				"in them, not over all"},
			&cli.StringFlag{Name: "config", Usage: "configuration with the uncertainties of type B instead of pipeline.yaml"},
			&cli.Float64Flag{Name: "level", Usage: "of the expanded uncertainty; 0.95 where a file states none"},
			&cli.BoolFlag{Name: "csv", Usage: "every outcome and condition as CSV, in full digits"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "tex", Usage: "as LaTeX tables"},
		},
		Action: func(c *cli.Context) error { return runBudget(c, stdout) },
	}
}

func runBudget(c *cli.Context, stdout io.Writer) error {
	if c.NArg() != 1 {
		return usage("pipeline budget takes one EXPERIMENT or FILE.yaml, found %q", c.Args().Slice())
	}

	if l := c.Float64("level"); c.IsSet("level") && !(l > 0.5 && l < 1) {
		return usage("--level wants a number above 0.5 and below 1, found %g", l)
	}

	o := budget.Options{At: c.String("at"), Above: c.String("above"), Pool: c.String("pool"), Config: c.String("config")}
	if name := c.String("outcome"); name != "" {
		o.Outcomes = []string{name}
	}

	list, level, err := budget.Read(c.Args().First(), o)
	if err != nil {
		return err
	}

	if c.IsSet("level") {
		level = c.Float64("level")
	}

	draws := monteCarloDraws
	if c.Bool("csv") {
		draws = 0
	}

	var results []budget.Result
	for _, b := range list {
		r, err := b.Evaluate(level, 0)
		if err != nil {
			return err
		}
		results = append(results, r)
	}

	if !c.IsSet("at") && !c.Bool("csv") && !c.Bool("json") {
		results = budget.LeastCertain(results)
	}

	if len(results) <= 20 && draws > 0 {
		for i, r := range results {
			if results[i], err = r.Budget.Evaluate(level, draws); err != nil {
				return err
			}
		}
	}

	switch {
	case c.Bool("csv"):
		return report.CSV(stdout, budget.CSV(results))
	case c.Bool("json"):
		return printJSON(stdout, budget.JSON(results))
	case c.Bool("tex"):
		_, err := stdout.Write(report.SheetsLaTeX([]report.Sheet{budget.Sheet(results)}))
		return err
	}

	return report.Sheets(stdout, []report.Sheet{budget.Sheet(results)}, width(stdout), colour(stdout))
}

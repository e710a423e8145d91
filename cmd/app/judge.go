package app

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/judge"
	"doubletake/report"
)

func newJudgeCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "judge", Usage: "judge the predictions of any program by pairs, as the report judges ours",
		ArgsUsage: "PREDICTIONS",
		Description: "PREDICTIONS is a CSV file with the conditions of pairs and, for each outcome, its mean in a column " +
			"of its name. OUTCOME_low and OUTCOME_high are an interval of the level, OUTCOME_sd, OUTCOME_sd_epistemic and " +
			"OUTCOME_sd_noise deviations, all optional (docs/judge.md). The pairs must not have been trained on.\n\n" +
			"With --groups, the column says without which group a prediction was trained. Its errors on left-out groups " +
			"then teach intervals for new ones; rows without a group, or what --split holds out, are new, else each group " +
			"is judged by the others.\n\n" +
			"Example: pipeline judge predictions.csv --against runs/drone --groups rotor\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "against", Usage: "the pairs: an experiment or its folder, a triplets.arrow, or a table " +
				"with columns OUTCOME_1 and OUTCOME_2"},
			&cli.StringFlag{Name: "split", Usage: "judge what this split of the experiment holds out"},
			&cli.StringFlag{Name: "groups", Usage: "column with the group that a prediction was trained without"},
			&cli.Float64Flag{Name: "level", Value: 0.95, Usage: "of the intervals, those of OUTCOME_low and OUTCOME_high too"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document with the keys of metrics.json"},
		},
		Action: func(c *cli.Context) error { return runJudge(c, stdout) },
	}
}

func runJudge(c *cli.Context, stdout io.Writer) error {
	o := judge.Options{
		Predictions: c.Args().First(), Against: c.String("against"), Split: c.String("split"), Groups: c.String("groups"),
		Level: c.Float64("level"),
	}

	switch {
	case c.NArg() != 1:
		return usage("pipeline judge takes one table of PREDICTIONS, found %q", c.Args().Slice())
	case o.Against == "":
		return usage("pipeline judge wants --against, e.g. --against runs/drone or --against pairs.csv")
	case !(o.Level > 0.5 && o.Level < 1):
		return usage("--level wants a number above 0.5 and below 1, found %g", o.Level)
	}

	e, err := judge.Judge(c.Context, o)
	if err != nil {
		return err
	}

	if !c.Bool("json") {
		return report.Judgement(stdout, e, width(stdout), colour(stdout))
	}

	b, err := e.MetricsJSON()
	if err == nil {
		_, err = stdout.Write(b)
	}

	if err != nil {
		return fmt.Errorf("write judgement: %w", err)
	}

	return nil
}

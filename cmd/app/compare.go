package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/spelling"
	"doubletake/pipeline"
	"doubletake/report"
)

func newCompareCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare the variants of a sweep by their held-out scores",
		ArgsUsage: "[FILE] [EXPERIMENT]",
		Description: "Prints, for each split, the variants with NLL, CRPS, RMSE and Σe/Σv̂ on what was held out, the " +
			"paired difference from the best with its standard error, and p corrected for their number (Holm). With " +
			"select it also names the variant that is best on groups of the training set. pipeline run makes the results; " +
			"pipeline compare reads them.\n\nExample: pipeline compare pipeline.yaml drone\n\n" +
			"Exit status: 0 success, 1 failed, 2 usage or configuration error.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "as one JSON document"}},
		Action: func(c *cli.Context) error {
			file, experiment, err := compareArguments(c.Args().Slice())
			if err != nil {
				return err
			}

			return runCompare(file, experiment, c.Bool("json"), stdout)
		},
	}
}

// compareArguments reads FILE and EXPERIMENT. A first argument that ends in .yaml or .yml,
// or is a file, is the FILE.
func compareArguments(args []string) (file, experiment string, err error) {
	file = "pipeline.yaml"
	if len(args) > 0 {
		x := filepath.Ext(args[0])
		if fi, err := os.Stat(args[0]); x == ".yaml" || x == ".yml" || err == nil && fi.Mode().IsRegular() {
			file, args = args[0], args[1:]
		}
	}

	switch len(args) {
	case 0:
	case 1:
		experiment = args[0]
	default:
		return "", "", usage("pipeline compare takes a FILE and an EXPERIMENT, found %q", args)
	}

	return file, experiment, nil
}

func runCompare(file, experiment string, asJSON bool, stdout io.Writer) error {
	p, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	known := p.Swept()
	if len(known) == 0 {
		return usage("no experiment of %s has a sweep whose variants are trained; expected train: {inputs: …} and e.g. "+
			"sweep: {loss.beta: [0, 0.5, 1]}", file)
	}

	if experiment != "" {
		if !slices.Contains(known, experiment) {
			return usage("%q has no sweep, expected one of %s%s", experiment, strings.Join(known, ", "),
				spelling.DidYouMean(experiment, known))
		}

		known = []string{experiment}
	}

	sel := pipeline.Selection{Experiments: known, Stages: []string{"report"}}
	res, err := p.Finished(sel)

	var lacks *pipeline.NotReadyError
	if errors.As(err, &lacks) {
		return usage("%v\nrun first: pipeline run %s", err, shellQuote(file))
	}

	if err != nil {
		return err
	}

	list, err := p.Sweeps(res, sel)
	if err != nil {
		return err
	}

	if asJSON {
		return printJSON(stdout, map[string]any{"sweeps": sweepDocuments(list)})
	}

	return writeSweeps(list, stdout)
}

// sweepDocuments are the comparisons for programs.
func sweepDocuments(list []report.Sweep) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s.Document())
	}

	return out
}

func writeSweeps(list []report.Sweep, stdout io.Writer) error {
	for i, s := range list {
		if i > 0 {
			if _, err := io.WriteString(stdout, "\n"); err != nil {
				return err
			}
		}

		if err := report.SweepTerminal(stdout, s, width(stdout), colour(stdout)); err != nil {
			return err
		}
	}

	return nil
}

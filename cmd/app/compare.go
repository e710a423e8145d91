package app

import (
	"errors"
	"os"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
	"doubletake/report"
	"doubletake/train/numbers"
)

// compareArguments returns the arguments FILE and EXPERIMENT. The first argument is the FILE if isConfiguration returns
// true; otherwise file is pipeline.yaml. experiment is "" if it is left out.
func compareArguments(args []string) (file, experiment string, err error) {
	file = "pipeline.yaml"
	rest := args
	if len(args) > 0 && isConfiguration(args[0]) {
		file = args[0]
		rest = args[1:]
	}

	isFileMissing := len(args) == 2 && len(rest) == 2
	switch {
	case isFileMissing:
		return "", "", usage("pipeline compare takes a FILE and an EXPERIMENT, and %q is not a file", args[0])
	case len(rest) > 1:
		return "", "", usage("pipeline compare takes a FILE and an EXPERIMENT, found %q", args)
	case len(rest) == 1:
		experiment = rest[0]
	}

	return file, experiment, nil
}

// isConfiguration reports whether an argument ends as configurations do, or names a file that exists.
func isConfiguration(arg string) bool {
	if config.IsYAML(arg) {
		return true
	}

	info, err := os.Stat(arg)

	return err == nil && info.Mode().IsRegular()
}

// runCompare prints how the variants of sweeps compare, from finished results.
func runCompare(c *call) error {
	file, experiment, err := compareArguments(c.args)
	if err != nil {
		return err
	}

	project, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	known := project.Swept()
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

	selected := pipeline.Selection{Experiments: known, Stages: []string{"report"}}
	result, err := project.Finished(selected)
	if _, lacks := errors.AsType[*pipeline.NotReadyError](err); lacks {
		return usage("%v\nrun first: pipeline run %s", err, shellQuote(file))
	}

	if err != nil {
		return err
	}

	sweeps, err := project.Sweeps(result, selected)
	if err != nil {
		return err
	}

	if c.Bool("json") {
		return printJSON(c.stdout, numbers.Object{"sweeps", numbers.Objects(sweeps, report.Sweep.Document)})
	}

	return writeSweeps(sweeps, c.stdout)
}

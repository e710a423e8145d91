package app

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/train/numbers"
)

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

func runCompare(c *call) error {
	file, experiment, err := compareArguments(c.args)
	fault.Raise(err)
	p := fault.Get(pipeline.Load(file))
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
	if _, lacks := errors.AsType[*pipeline.NotReadyError](err); lacks {
		return usage("%v\nrun first: pipeline run %s", err, shellQuote(file))
	}

	if err != nil {
		return err
	}

	list := fault.Get(p.Sweeps(res, sel))
	if c.Bool("json") {
		return printJSON(c.stdout, numbers.Object{"sweeps", numbers.Objects(list, report.Sweep.Document)})
	}

	return writeSweeps(list, c.stdout)
}

func writeSweeps(list []report.Sweep, stdout io.Writer) error {
	for i, s := range list {
		if i > 0 {
			fault.Get(io.WriteString(stdout, "\n"))
		}

		fault.Raise(report.SweepTerminal(stdout, s, width(stdout), colour(stdout)))
	}

	return nil
}

package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/predict"
	"doubletake/report"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

func newPredictCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "predict", Usage: "predict outcomes and their uncertainty at given conditions", ArgsUsage: "MODEL",
		Description: "MODEL is a model.json, its folder, a split's folder with models of several seeds, which then " +
			"predict together, or an experiment's folder with a final model.\n\n" +
			"The mean and the interval are those of the split's calibrated model (docs/honest.md), or of its networks where " +
			"there is none. Each line has the grade of the interval by the left-out groups alone, and the record of such " +
			"intervals on the held-out conditions. JSON and CSV have the names of docs/export.md: the network's begin with " +
			"network_.\n\n" +
			"Example: pipeline predict runs/drone/splits/3-blades --at blades=3,rpm=5000,theta_deg=0\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "at", Usage: "a condition, input=value,…; several joined by ;"},
			&cli.StringFlag{Name: "conditions", Usage: "a CSV file with a column per input"},
			&cli.StringFlag{Name: "calibrated", Usage: "apply the model's calibration: " + strings.Join(score.Kinds(), ", ")},
			&cli.Float64Flag{Name: "alpha", Value: 0.05, Usage: "the intervals have the confidence 1 − alpha"},
			&cli.BoolFlag{Name: "extrapolate", Usage: "also give intervals outside the training range of an input " +
				"or without a record, where nothing supports them"},
			&cli.BoolFlag{Name: "network", Usage: "also list the network's own mean, interval and √C"},
			&cli.BoolFlag{Name: "details", Usage: "also list what the calibrated model was learned from: the left-out groups, " +
				"the parts of the variance, the largest left-out deviation and what it promises"},
			&cli.StringFlag{Name: "only", Usage: "of CSV and JSON only the calibrated columns, or only network, without " +
				"the sampled raw covariance: quicker"},
			&cli.BoolFlag{Name: "given", Usage: "the networks' second answer as CSV: --conditions has the outcomes, too, " +
				"which are fed back"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "csv", Usage: "as CSV, one row a condition"},
		},
		Action: func(c *cli.Context) error { return runPredict(c, stdout, stderr) },
	}
}

func runPredict(c *cli.Context, stdout, stderr io.Writer) error {
	at, conditions := c.String("at"), c.String("conditions")
	o := predict.Options{
		Calibrated: c.String("calibrated"), Alpha: c.Float64("alpha"), Extrapolate: c.Bool("extrapolate"),
		Network: c.Bool("network"), Details: c.Bool("details"), Only: c.String("only"), Width: width(stdout),
	}

	if c.IsSet("alpha") {
		o.Level = 1 - o.Alpha
	}

	kinds := strings.Join(score.Kinds(), ", ")
	switch {
	case c.NArg() != 1:
		return usage("pipeline predict takes one MODEL, found %q", c.Args().Slice())
	case (at == "") == (conditions == ""):
		return usage("pipeline predict wants --at or --conditions, one of them")
	case c.Bool("json") && c.Bool("csv"):
		return usage("pipeline predict: --json and --csv exclude each other")
	case o.Only != "" && o.Only != predict.OnlyCalibrated && o.Only != predict.OnlyNetwork:
		return usage("--only wants calibrated or network, found %q", o.Only)
	case o.Only != "" && !c.Bool("json") && !c.Bool("csv"):
		return usage("pipeline predict: --only belongs to --csv or --json")
	case c.Bool("given") && conditions == "":
		return usage("pipeline predict: --given wants --conditions with a column for each input and outcome")
	case !(o.Alpha > 0 && o.Alpha < 1):
		return usage("--alpha wants a number between 0 and 1, found %g", o.Alpha)
	case o.Calibrated != "" && !slices.Contains(score.Kinds(), o.Calibrated):
		return usage("--calibrated wants one of %s, found %q", kinds, o.Calibrated)
	}

	m, err := predict.Open(c.Args().First())
	if err != nil {
		return err
	}

	var x []float64
	if at != "" {
		if x, err = m.ParseAt(at); err != nil {
			return usage("--at: %v", err)
		}
	} else if x, err = m.ReadConditions(conditions); err != nil {
		return err
	}

	if c.Bool("given") {
		return printGiven(stdout, m, x, conditions)
	}

	a, err := m.Answer(c.Context, x, o)
	if err != nil {
		return err
	}

	printNotes(stderr, m.Warnings)

	if o.Calibrated == "" && m.Calibrated() {
		fmt.Fprintln(stderr, "note: the model has a calibration; --calibrated with one of "+kinds+" applies it")
	}

	switch {
	case c.Bool("json"):
		return printJSON(stdout, a.JSON())
	case c.Bool("csv"):
		return report.CSV(stdout, a.CSV())
	}

	return a.Table(stdout)
}

// printGiven prints the second answers at conditions x, given the outcomes in a file.
func printGiven(w io.Writer, m *predict.Models, x []float64, path string) error {
	y, err := m.ReadOutcomes(path)
	if err != nil {
		return err
	}

	names := m.InputNames()
	for _, o := range m.Card.Outcomes {
		names = append(names, "network_"+o.Name, "network_"+o.Name+"_var")
	}

	mu, variance := m.Given(x, y)
	in, out := len(m.Card.Inputs), len(m.Card.Outcomes)
	records := make([]numbers.Object, len(x)/in)
	for i := range records {
		values := slices.Clone(x[i*in : (i+1)*in])
		for k := i * out; k < (i+1)*out; k++ {
			values = append(values, mu[k], variance[k])
		}

		records[i] = numbers.Named(names, values)
	}

	return report.CSV(w, records)
}

// printNotes prints what limits the trust in a result.
func printNotes(stderr io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(stderr, "note: "+n)
	}
}

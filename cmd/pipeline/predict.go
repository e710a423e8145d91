package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/fault"
	"doubletake/pipeline/predict"
	"doubletake/train/score"
)

// predictOptions are the arguments of predict.
type predictOptions struct {
	model, at, conditions, calibrated string
	alpha                             float64
	level                             float64 // of the calibrated intervals; 0: the calibration's
	extrapolate, network, json, csv   bool
	details                           bool
}

func newPredictCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "predict", Usage: "predict outcomes and their uncertainty at given conditions", ArgsUsage: "MODEL",
		Description: "MODEL is a model.json, its folder, or a split's folder with models of several seeds, which then " +
			"predict together.\n\n" +
			"The mean and the interval are those of the split's calibrated model (docs/honest.md), or of its networks where " +
			"there is none. Each line has the record of such intervals on the held-out conditions; without a record there is " +
			"no interval.\n\n" +
			"Example: pipeline predict runs/drone/splits/3-blades --at blades=3,rpm=5000,theta_deg=0\n\n" +
			"Exit status: 0 success, 2 usage error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "at", Usage: "a condition, input=value,…; several joined by ;"},
			&cli.StringFlag{Name: "conditions", Usage: "a CSV file with a column per input"},
			&cli.StringFlag{Name: "calibrated", Usage: "apply the model's calibration: " + strings.Join(score.Kinds(), ", ")},
			&cli.Float64Flag{Name: "alpha", Value: 0.05, Usage: "the intervals have the confidence 1 − alpha; in JSON and " +
				"CSV the network's are those of the true mean (Chebyshev)"},
			&cli.BoolFlag{Name: "extrapolate", Usage: "also give intervals outside the training range of an input " +
				"or without a record, where nothing supports them"},
			&cli.BoolFlag{Name: "network", Usage: "also list the network's own mean, interval and √C"},
			&cli.BoolFlag{Name: "details", Usage: "also list what the calibrated model was learned from: the left-out groups, " +
				"the parts of the variance, the largest left-out deviation and what it promises"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
			&cli.BoolFlag{Name: "csv", Usage: "as CSV, one row a condition"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("pipeline predict takes one MODEL, found %q", c.Args().Slice())
			}
			o := predictOptions{
				model: c.Args().First(), at: c.String("at"), conditions: c.String("conditions"), calibrated: c.String("calibrated"),
				alpha: c.Float64("alpha"), json: c.Bool("json"), csv: c.Bool("csv"), extrapolate: c.Bool("extrapolate"),
				network: c.Bool("network"), details: c.Bool("details"),
			}
			if c.IsSet("alpha") {
				o.level = 1 - o.alpha
			}
			return runPredict(c.Context, o, stdout, stderr)
		},
	}
}

func runPredict(ctx context.Context, o predictOptions, stdout, stderr io.Writer) error {
	switch {
	case (o.at == "") == (o.conditions == ""):
		return usage("pipeline predict wants --at or --conditions, one of them")
	case o.json && o.csv:
		return usage("pipeline predict: --json and --csv exclude each other")
	case !(o.alpha > 0 && o.alpha < 1):
		return usage("--alpha wants a number between 0 and 1, found %g", o.alpha)
	case o.calibrated != "" && !slices.Contains(score.Kinds(), o.calibrated):
		return usage("--calibrated wants one of %s, found %q", strings.Join(score.Kinds(), ", "), o.calibrated)
	}
	m, err := predict.Open(o.model)
	if err != nil {
		return err
	}
	var x []float64
	if o.at != "" {
		if x, err = m.ParseAt(o.at); err != nil {
			return usage("--at: %v", err)
		}
	} else if x, err = readConditions(o.conditions, m); err != nil {
		return err
	}
	p, err := m.Predict(ctx, x, o.calibrated)
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		fmt.Fprintln(stderr, "note: "+w)
	}
	if o.calibrated == "" && m.Calibrated() {
		fmt.Fprintln(stderr, "note: the model has a calibration; --calibrated with one of "+
			strings.Join(score.Kinds(), ", ")+" applies it")
	}
	r, err := m.Recommend(ctx, x, o.level, o.extrapolate)
	if err != nil {
		return err
	}
	events, err := m.PredictEvents(ctx, x)
	if err != nil {
		return err
	}
	a := answers{Models: m, x: x, network: p, recommended: r, options: o, events: events}
	a.withhold()
	switch {
	case o.json:
		return printJSON(stdout, a.json())
	case o.csv:
		return a.csv(stdout)
	}
	return a.table(stdout)
}

// maxTable bounds a table of conditions, which is held in memory.
const maxTable = 64 << 20

// readConditions reads a CSV file with a column per input; other columns are
// left alone.
func readConditions(path string, m *predict.Models) ([]float64, error) {
	b, err := fault.ReadFile(path, maxTable, "a CSV file with conditions")
	var data *fault.Error
	if err != nil && !errors.As(err, &data) {
		err = &fault.Error{Path: path, Want: "a CSV file with conditions", Found: "none", Err: err}
	}
	if err != nil {
		return nil, err
	}
	return parseConditions(path, bytes.NewReader(b), m.InputNames())
}

func parseConditions(path string, f io.Reader, names []string) ([]float64, error) {
	r := csv.NewReader(f)
	r.Comment, r.TrimLeadingSpace = '#', true
	head, err := r.Read()
	if err != nil {
		return nil, &fault.Error{
			Path: path, Want: "a header with the columns " + strings.Join(names, ", "),
			Found: "none", Err: notEOF(err),
		}
	}
	if len(head) > 0 {
		head[0] = strings.TrimPrefix(head[0], "\ufeff")
	}
	column := make([]int, len(names))
	for i, n := range names {
		column[i] = -1
		for k, h := range head {
			if strings.TrimSpace(h) == n {
				if column[i] >= 0 {
					return nil, &fault.Error{Path: path, Place: "line 1", Want: "one column " + n, Found: "two"}
				}
				column[i] = k
			}
		}
		if column[i] < 0 {
			return nil, &fault.Error{Path: path, Place: "line 1", Want: "a column " + n, Found: strings.Join(head, ", ")}
		}
	}
	var x []float64
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &fault.Error{Path: path, Want: "rows of equal length", Found: "another", Err: err}
		}
		line, _ := r.FieldPos(0)
		for i, k := range column {
			v, err := strconv.ParseFloat(strings.TrimSpace(rec[k]), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, &fault.Error{
					Path: path, Place: fmt.Sprintf("line %d, column %s", line, names[i]),
					Want: "a number", Found: strconv.Quote(rec[k]),
				}
			}
			x = append(x, v)
		}
	}
	if len(x) == 0 {
		return nil, &fault.Error{Path: path, Want: "at least one condition", Found: "a header alone"}
	}
	return x, nil
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

package app

import (
	"fmt"
	"io"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/pipeline/predict"
	"doubletake/report"
	"doubletake/train/numbers"
)

func runPredict(c *call) error {
	at, conditions := c.String("at"), c.String("conditions")
	o := predict.Options{
		Alpha: c.Float64("alpha"), Extrapolate: c.Bool("extrapolate"),
		Network: c.Bool("network"), Only: c.String("only"), Width: width(c.stdout),
	}

	if c.IsSet("alpha") {
		o.Level = 1 - o.Alpha
	}

	switch {
	case (at == "") == (conditions == ""):
		return usage("pipeline predict wants --at or --conditions, one of them")
	case o.Only != "" && !c.Bool("json") && !c.Bool("csv"):
		return usage("pipeline predict: --only belongs to --csv or --json")
	case c.Bool("given") && conditions == "":
		return usage("pipeline predict: --given wants --conditions with a column for each input and outcome")
	}

	m := fault.Get(predict.Open(c.arg(0)))
	var x []float64
	var err error
	if at != "" {
		if x, o.Things, err = m.ParseAt(at); err != nil {
			return usage("--at: %v", err)
		}
	} else if x, o.Things, err = m.ReadConditions(conditions); err != nil {
		return err
	}

	if c.Bool("given") {
		return printGiven(c.stdout, m, x, conditions)
	}

	a := fault.Get(m.Answer(c.ctx, x, o))
	printNotes(c.stderr, m.Warnings)

	switch {
	case c.Bool("json"):
		return printJSON(c.stdout, a.JSON())
	case c.Bool("csv"):
		return report.CSV(c.stdout, a.CSV())
	}

	return a.Table(c.stdout)
}

// printGiven prints the second answers at conditions x, given the outcomes in a file.
func printGiven(w io.Writer, m *predict.Models, x []float64, path string) error {
	y := fault.Get(m.ReadOutcomes(path))
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

package app

import (
	"io"
	"slices"

	"doubletake/report"
	"doubletake/report/answer/predict"
	"doubletake/train/numbers"
)

// runPredict prints what models predict at conditions.
func runPredict(c *call) error {
	conditions := c.String("conditions")
	options, err := predictOptions(c)
	if err != nil {
		return err
	}

	models, err := c.shared().open(c.arg(0))
	if err != nil {
		return err
	}

	var x []float64 // a row of inputs for each condition
	if text := c.String("at"); text != "" {
		x, options.Things, err = models.ParseAt(text)
		if err != nil {
			return usage("--at: %v", err)
		}
	} else {
		x, options.Things, err = models.ReadConditions(conditions)
		if err != nil {
			return err
		}
	}

	printNotes(c.stderr, models.Warnings)

	switch {
	case c.Bool("given"):
		return printGiven(c.stdout, models, x, conditions)
	case c.Bool("json"):
		return models.WriteJSON(c.ctx, c.stdout, x, options)
	case c.Bool("csv"):
		return models.WriteCSV(c.ctx, c.stdout, x, options)
	}

	answer, err := models.Answer(c.ctx, x, options)
	if err != nil {
		return err
	}

	return answer.Table(c.stdout)
}

// predictOptions returns the options that the flags of pipeline predict give. It returns a *pipeline.UsageError if
// flags are missing or exclude each other.
func predictOptions(c *call) (predict.Options, error) {
	options := predict.Options{
		Level: c.Float64("level"), Extrapolate: c.Bool("extrapolate"),
		Network: c.Bool("network"), Only: c.String("only"), Width: width(c.stdout),
		Colour: colour(c.stdout),
	}

	inline := c.String("at")
	conditions := c.String("conditions")
	switch {
	case (inline == "") == (conditions == ""):
		return options, usage("pipeline predict wants either --at or --conditions")
	case options.Only != "" && !c.Bool("json") && !c.Bool("csv"):
		return options, usage("pipeline predict: --only belongs to --csv or --json")
	case c.Bool("given") && conditions == "":
		return options, usage("pipeline predict: --given wants --conditions with a column for each input and outcome")
	}

	// --given prints the answers of the network alone, as CSV.
	for _, flag := range []string{"json", "only", "level", "extrapolate", "network"} {
		if c.Bool("given") && c.IsSet(flag) {
			return options, usage("pipeline predict: --given and --%s exclude each other", flag)
		}
	}

	return options, nil
}

// printGiven prints as CSV what the network predicts after it is given one measurement of all outcomes. x has a row of
// inputs for each condition, and the file at path has the outcomes.
func printGiven(w io.Writer, models *predict.Models, x []float64, path string) error {
	y, err := models.ReadOutcomes(path)
	if err != nil {
		return err
	}

	names := models.InputNames()
	for _, outcome := range models.Card.Outcomes {
		names = append(names, "network_"+outcome.Name, "network_"+outcome.Name+"_var")
	}

	means, variances := models.Given(x, y)
	inputs := len(models.Card.Inputs)
	outcomes := len(models.Card.Outcomes)
	records := make([]numbers.Object, len(x)/inputs)
	for i := range records {
		values := slices.Clone(x[i*inputs : (i+1)*inputs])
		for k := i * outcomes; k < (i+1)*outcomes; k++ {
			values = append(values, means[k], variances[k])
		}

		records[i] = numbers.Named(names, values)
	}

	return report.CSV(w, records)
}

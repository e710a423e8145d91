package content

import (
	"math"

	"doubletake/ingest/table"
	"doubletake/report"
)

// MetricsTable returns the numbers of a report, one in each row.
func MetricsTable(e report.Experiment) *table.Table {
	t := &table.Table{}
	for number := range e.Numbers() {
		addMetric(t, e.Name, number)
	}

	if len(t.Columns) == 0 { // without splits the table is empty, with the same columns
		addMetric(t, e.Name, report.Number{})
		t = t.Select(nil)
	}

	return t
}

// addMetric adds a row with a number of an experiment's report. The mean and the deviation of an undefined number are
// NaN.
func addMetric(t *table.Table, experiment string, number report.Number) {
	table.AddCell(t, "experiment", "", "entry of the configuration", experiment)
	table.AddCell(t, "split", "", "train/test rule", number.Split)
	table.AddCell(t, "set", "", "train or test", number.Set)
	table.AddCell(t, "outcome", "", "outcome, or \"all\" for the mean over outcomes", number.Outcome)
	if number.Undefined != "" {
		number.Mean = math.NaN()
		number.Std = math.NaN()
	}

	table.AddCell(t, "metric", "", "as in "+report.MetricsFile+"; standardised units", number.Key)
	table.AddCell(t, "mean", "", "mean over seeds", number.Mean)
	table.AddCell(t, "std", "", "sample standard deviation over seeds", number.Std)
	table.AddCell(t, "seeds", "", "number of seeds", number.N)
	table.AddCell(t, "undefined", "", "why there is no number", number.Undefined)
}

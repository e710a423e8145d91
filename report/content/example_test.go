package content_test

import (
	"context"
	"fmt"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/table/tabletest"
	"doubletake/report"
	"doubletake/report/content"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
)

// A page shows the conditions of a table of triplets and the mean outcomes at each.
func ExampleNewData() {
	tab, err := tabletest.Parse(`
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a         1000       61      62
b   b         2000       70      71`)
	if err != nil {
		fmt.Println(err)
		return
	}

	set, err := pairs.Triplets(tab, []string{"rpm"}, []string{"y"})
	if err != nil {
		fmt.Println(err)
		return
	}

	detail := content.NewData(tab, set, 1.5).Detail()
	fmt.Println(detail.X, detail.Mean)
	// Output: [1000 2000] [61.5 70.5]
}

// A report describes the triplets and warns of few conditions, also if nothing is trained on them.
func ExampleResults_Report() {
	tab, err := tabletest.Parse(`
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a         1000       61      62
b   b         2000       70      71`)
	if err != nil {
		fmt.Println(err)
		return
	}

	settings := dsp.DefaultSettings()
	results := content.Results{
		Description: report.Experiment{Name: "fan"}, Triplets: tab, Conditions: []string{"rpm"}, Analysis: &settings,
		Divider: pairs.Divider{Experiment: &experiment.Experiment{}}, Toy: true,
	}

	page, err := results.Report(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}

	e := page.Experiment
	fmt.Println(e.Name, e.Outcomes, e.OutcomeUnits, e.Triplets, "triplets of", e.Runs, "runs")
	warning, _, _ := strings.Cut(e.Warnings[0], " for R²")
	fmt.Println(warning)
	// Output:
	// fan [y] [dB] 2 triplets of 2 runs
	// the whole experiment: two distinct conditions are too few
}

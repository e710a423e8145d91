package content_test

import (
	"fmt"

	"doubletake/ingest/table/tabletest"
	"doubletake/report/content"
	"doubletake/report/pairs"
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

package pairtable_test

import (
	"fmt"
	"log"

	"doubletake/dsp"
	"doubletake/dsp/pairtable"
	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/table"
)

// A pair becomes a row: the run with its conditions, and a column for each of the two values of the outcome.
func ExampleTable_Add() {
	rows := &pairtable.Table{
		Triplets: &table.Table{},
		Derive:   &derive.Set{},
		Cells: func(tab *table.Table, run string, rec ingest.Recording) {
			name := tab.Make("run", "", "name of the run")
			name.Strings = append(name.Strings, run)
			rpm := tab.Make("rpm", "1/min", "shaft speed")
			rpm.Floats = append(rpm.Floats, rec.Conditions["rpm"])
		},
	}
	pairs := &dsp.Pairs{
		Outcomes: []dsp.Outcome{{Name: "lift_n", Unit: "N", Description: "lift"}},
		Members:  [2]string{", first half", ", second half"},
		Rows:     []dsp.Row{{Values: []dsp.Value{{Y: [2]float64{9.8, 10.1}}}}},
	}

	err := rows.Add(pairs, "r1", []ingest.Recording{{ID: "r1", Conditions: map[string]float64{"rpm": 3000}}})
	if err != nil {
		log.Fatal(err)
	}

	for _, column := range rows.Triplets.Columns {
		fmt.Println(column.Name, column.Unit, column.Strings, column.Floats)
	}
	// Output:
	// run  [r1] []
	// rpm 1/min [] [3000]
	// lift_n_1 N [] [9.8]
	// lift_n_2 N [] [10.1]
}

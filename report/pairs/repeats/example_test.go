package repeats_test

import (
	"fmt"
	"log"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
	"doubletake/report/pairs/repeats"
)

// Two runs at nearly the same speed are a pair: the first gives y1, the second y2. The run at 4000 1/min has no
// partner.
func ExamplePairing_Pair() {
	tab := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"r1", "r2", "r3"}},
		{Name: "recording", Strings: []string{"r1", "r2", "r3"}},
		{Name: "rpm", Floats: []float64{3000, 4000, 3010}},
		{Name: "lift_n_1", Floats: []float64{9.8, 17.2, 10.1}},
		{Name: "lift_n_2", Floats: []float64{9.8, 17.2, 10.1}},
	}}
	pairing := &repeats.Pairing{
		Conditions: []string{"rpm"},
		Tolerances: map[string]condition.Tolerance{"rpm": {Absolute: 20}},
	}

	warnings, err := pairing.Pair(tab)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(tab.Column("run").Strings, tab.Column("lift_n_1").Floats, tab.Column("lift_n_2").Floats)
	fmt.Println(warnings[0].Text)
	// Output:
	// [r1 + r3] [9.8] [10.1]
	// 1 recording without a partner of another run left out: r2
}

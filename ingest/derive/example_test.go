package derive_test

import (
	"fmt"

	"doubletake/ingest/derive"
)

// A thrust coefficient is computed from the speed in rev/s, which is computed itself. A misspelt name is an error.
func ExampleNew() {
	set, err := derive.New([]derive.Definition{
		{Name: "ct", Text: "thrust_n/(rho*n_rps^2*diameter_m^4)"},
		{Name: "n_rps", Text: "rpm/60"},
	}, map[string]float64{"rho": 1.25}, []string{"diameter_m", "rpm"}, nil, []string{"thrust_n"})
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println("conditions", set.Conditions(), "outcomes", set.Outcomes())

	values := map[string]float64{"diameter_m": 0.5, "rpm": 3000, "thrust_n": 2}
	if err := set.AddConditions(values, nil); err != nil {
		fmt.Println(err)
	}

	if err := set.AddOutcomes(values, nil); err != nil {
		fmt.Println(err)
	}

	fmt.Println(values["n_rps"], values["ct"])
	_, err = derive.New([]derive.Definition{{Name: "n_rps", Text: "rmp/60"}}, nil, []string{"diameter_m", "rpm"}, nil, nil)
	fmt.Println(err)
	// Output:
	// conditions [n_rps] outcomes [ct]
	// 50 0.01024
	// "rmp/60", character 1: unknown name "rmp"; did you mean "rpm"?
}

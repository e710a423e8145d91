package budget_test

import (
	"fmt"
	"math"

	"doubletake/report/answer/budget"
)

// A resistance by voltage and current.
func ExampleBudget_Evaluate() {
	b := budget.Budget{Outcome: "R", Unit: "Ω", Model: "V/I", Quantities: []budget.Quantity{
		{Name: "V", Value: 10, U: 0.03, DoF: math.Inf(1), Law: "normal"},
		{Name: "I", Value: 2, U: 0.008, DoF: math.Inf(1), Law: "normal"},
	}}
	r, _ := b.Evaluate(0.95, 0)
	fmt.Printf("%.3f ± %.3f %s\n", r.Value, r.Expanded, r.Unit)
	// Output: 5.000 ± 0.049 Ω
}

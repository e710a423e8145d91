package predict_test

import (
	"fmt"

	"doubletake/report/answer/predict"
)

// Conditions of the command line, in the order of the model's inputs.
func ExampleModels_ParseAt() {
	m := predict.New(predict.Card{Inputs: []predict.Input{{Name: "blades"}, {Name: "rpm"}}})
	x, _, err := m.ParseAt("rpm=4000, blades=3; blades=3, rpm=5000")
	fmt.Println(x, err)

	_, _, err = m.ParseAt("rmp=4000, blades=3")
	fmt.Println(err)
	// Output:
	// [3 4000 3 5000] <nil>
	// "rmp" is not an input of the model, whose inputs are blades, rpm; did you mean "rpm"?
}

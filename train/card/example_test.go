package card_test

import (
	"encoding/json"
	"fmt"

	"doubletake/train/card"
)

// A card names what a network maps.
func Example() {
	text := `{"format": "doubletake-card", "version": 1, "inputs": [{"name": "rpm"}], "outcomes": [{"name": "lift_n"}]}`

	var description card.Card
	if err := json.Unmarshal([]byte(text), &description); err != nil {
		fmt.Println(err)
	}

	fmt.Println(description.Inputs[0].Name, "to", description.Outcomes[0].Name)
	// Output: rpm to lift_n
}

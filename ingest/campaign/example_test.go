package campaign_test

import (
	"fmt"
	"log"

	"doubletake/ingest/campaign"
)

// The path of a file states conditions. A path that does not follow the pattern is an error.
func ExamplePattern_Match() {
	p, err := campaign.ParsePattern("Speed{setting}/angle{alpha_deg}.txt")
	if err != nil {
		log.Fatal(err)
	}

	stated, _ := p.Match("data/Speed2/angle-3.5.txt")
	for _, c := range stated {
		fmt.Println(c.Column, c.Value)
	}

	_, err = p.Match("data/Speed4/force.txt")
	fmt.Println(err != nil)
	// Output:
	// setting 2
	// alpha_deg -3.5
	// true
}

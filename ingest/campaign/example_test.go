package campaign_test

import (
	"fmt"
	"log"

	"doubletake/ingest/campaign"
)

func ExamplePattern_Match() {
	p, err := campaign.ParsePattern("Speed{setting}/angle{alpha_deg}.txt")
	if err != nil {
		log.Fatal(err)
	}

	v, ok := p.Match("data/Speed2/angle-3.5.txt")
	fmt.Println(v, ok)
	_, ok = p.Match("data/Speed4/force.txt")
	fmt.Println(ok)
	// Output:
	// map[alpha_deg:-3.5 setting:2] true
	// false
}

package suggest_test

import (
	"fmt"

	"doubletake/report/answer/suggest"
)

// What changes cost and what a session may cost, as on the command line.
func ExampleReadCosts() {
	c, most, err := suggest.ReadCosts([]string{"blades", "rpm"}, "blades=60min,rpm=1min,repeat=2min", "4h")
	fmt.Println(c.Format(c.Change[0]), c.Format(c.Repeat), c.Format(most), err)
	// Output: 60 min 2 min 4 h <nil>
}

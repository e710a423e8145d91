package contrast_test

import (
	"context"
	"fmt"

	"doubletake/report/answer/contrast"
	"doubletake/report/pairs"
)

// Without sides there is nothing to compare.
func ExampleCompare() {
	_, err := contrast.Compare(context.Background(), contrast.Options{
		Runs: []pairs.Source{pairs.FromPath("runs/drone")}, A: "2 blades", B: "blades=3", Unit: "run", Level: 0.95,
	})
	fmt.Println(err)
	// Output: pipeline contrast: --a wants column=value or column=/pattern/, found "2 blades"
}

package library_test

import (
	"context"
	"fmt"

	"doubletake/report/answer/library"
)

// ExampleLearn shows the error of a folder without results, which says what to do.
func ExampleLearn() {
	_, err := library.Learn(context.Background(), []string{"."}, "own")
	fmt.Println(err)
	// Output:
	// .: expected finished calibrations (left-out.arrow), found none (run the pipeline first)
}

package results_test

import (
	"fmt"

	"doubletake/train"
	"doubletake/train/results"
)

// The history of a training has a row for each epoch.
func ExampleHistoryTable() {
	history := results.HistoryTable([]train.Epoch{
		{Epoch: 1, Loss: 0.5, LearningRate: 1e-3}, {Epoch: 2, Loss: 0.25, LearningRate: 1e-4},
	})
	fmt.Println(history.Column("epoch").Ints, history.Column("loss").Floats)
	// Output: [1 2] [0.5 0.25]
}

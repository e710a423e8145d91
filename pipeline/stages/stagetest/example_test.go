package stagetest_test

import (
	"fmt"

	"doubletake/pipeline/stages/stagetest"
)

func ExampleTable() {
	t := stagetest.Table(`
run rpm[1/min] y_1[dB] y_2[dB]
a   1000       61      62
b   2000       70      71.5`)

	fmt.Println(t.Rows(), t.Column("run").Strings, t.Column("y_2").Floats, t.Column("rpm").Unit)
	// Output: 2 [a b] [62 71.5] 1/min
}

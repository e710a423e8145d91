package parallel_test

import (
	"fmt"

	"doubletake/internal/parallel"
)

// Two goroutines compute five squares. A panic in one of them reaches the caller, with its place.
func ExampleDo() {
	squares := make([]int, 5)
	parallel.Do(2, len(squares), func(i int) { squares[i] = i * i })
	fmt.Println(squares)

	defer func() {
		p := parallel.Caught(recover())
		fmt.Printf("%v\nin %s\n", p.Value, p.Place)
	}()

	parallel.Do(2, 3, func(i int) { squares[i+3]++ })
	// Output:
	// [0 1 4 9 16]
	// runtime error: index out of range [5] with length 5
	// in doubletake/internal/parallel_test.ExampleDo.func3, line 20
}

package lists_test

import (
	"fmt"
	"strconv"

	"doubletake/internal/lists"
)

// Small helpers for slices, each with its result.
func Example() {
	squares := []int{0, 1, 4, 9}
	fmt.Println(lists.Numbers(3), lists.Each(squares, strconv.Itoa), lists.Each(nil, strconv.Itoa) == nil)

	even := func(v int) bool { return v%2 == 0 }
	fmt.Println(lists.Split(squares, even))

	m := []float64{1, 2, 3, 4, 5, 6} // 3×2
	fmt.Println(lists.Rows(m, 2, []int{2, 0}), lists.Column(m, 2, 1))

	index, words := lists.Index([]string{"b", "a", "b"})
	fmt.Println(index, words, lists.Alike([]string{"b", "a", "b"}))
	fmt.Println(lists.Names([]string{"b", "", "a", "b"}), lists.Names([]string{""}) == nil)
	fmt.Println(lists.Share(0.07, 100), lists.Share(0.071, 100))
	// Output:
	// [0 1 2] [0 1 4 9] true
	// [0 4] [1 9]
	// [5 6 1 2] [2 4 6]
	// [0 1 0] [b a] [[0 2] [1]]
	// [b a] true
	// 7 8
}

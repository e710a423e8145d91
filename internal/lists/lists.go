// Package lists has what packages slices and maps lack: functions that number, count and group elements, and functions
// that select rows and columns of matrices in row-major order. Unless a comment says otherwise, a result without
// elements is nil.
package lists

import (
	"math"
	"slices"
)

// Each returns the results of convert for each element, in order.
func Each[T, U any](list []T, convert func(T) U) []U {
	if len(list) == 0 {
		return nil
	}

	converted := make([]U, len(list))
	for i, v := range list {
		converted[i] = convert(v)
	}

	return converted
}

// Numbers returns the numbers 0, …, n−1.
func Numbers(n int) []int {
	if n <= 0 {
		return nil
	}

	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}

	return numbers
}

// Share returns how many of n elements are the given share, rounded up to a whole number. It does not round up for a
// rounding error of the product: 7 of 100 elements are the share 0.07, although 0.07·100 is above 7 in float64.
func Share(share float64, n int) int {
	const roundingError = 1e-12 // relative, more than the product can have

	return int(math.Ceil(share * float64(n) * (1 - roundingError)))
}

// Split returns the elements for which ok returns true, and the other elements. Both keep their order.
func Split[T any](list []T, ok func(T) bool) (held, others []T) {
	for _, v := range list {
		if ok(v) {
			held = append(held, v)
		} else {
			others = append(others, v)
		}
	}

	return held, others
}

// Evenly returns n elements, spread evenly over the list, or the list itself if it has at most n elements.
func Evenly[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}

	var spread []T
	for k := range n {
		spread = append(spread, list[(2*k+1)*len(list)/(2*n)])
	}

	return spread
}

// Median returns the median: the middle one of the sorted elements, or the mean of the two in the middle. It panics if
// there are no elements.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)

	return (v[(n-1)/2] + v[n/2]) / 2
}

// Index numbers the distinct elements from 0, in order of first appearance. index has the number of each element of the
// list, and distinct the element of each number.
func Index[T comparable](list []T) (index []int, distinct []T) {
	if len(list) > 0 {
		index = make([]int, len(list))
	}

	numbers := map[T]int{}
	for i, v := range list {
		number, known := numbers[v]
		if !known {
			number = len(distinct)
			numbers[v] = number
			distinct = append(distinct, v)
		}
		index[i] = number
	}

	return index, distinct
}

// Names lists the names in order, each once, without "".
func Names(names []string) []string {
	named, _ := Split(names, func(name string) bool { return name != "" })
	_, distinct := Index(named)

	return distinct
}

// Alike groups equal elements. It returns the places of the elements of each group. Groups are in order of first
// appearance, and the result is empty but not nil if there are no elements.
func Alike[T comparable](list []T) [][]int {
	index, distinct := Index(list)
	places := make([][]int, len(distinct))
	for i, number := range index {
		places[number] = append(places[number], i)
	}

	return places
}

// Rows returns the given rows of v, a row-major matrix with the given number of columns. It returns nil if v is nil,
// and an empty slice if v is not nil and rows is empty.
func Rows[T any](v []T, columns int, rows []int) []T {
	if v == nil {
		return nil
	}

	selected := make([]T, 0, len(rows)*columns)
	for _, i := range rows {
		selected = append(selected, v[i*columns:(i+1)*columns]...)
	}

	return selected
}

// Pick returns the elements of a list at the given places. It returns nil if list is nil, and an empty slice if list is
// not nil and places is empty.
func Pick[T any](list []T, places []int) []T { return Rows(list, 1, places) }

// Column returns column k of v, a row-major matrix with the given number of columns.
func Column[T any](v []T, columns, k int) []T {
	n := len(v) / columns
	if n == 0 {
		return nil
	}

	column := make([]T, n)
	for i := range column {
		column[i] = v[i*columns+k]
	}

	return column
}

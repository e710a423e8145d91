// Package lists makes lists of other ones, of the first numbers, and of matrices in row-major order. A list of nothing
// is nil.
package lists

import "slices"

// Each returns f of each element.
func Each[T, U any](list []T, f func(T) U) []U {
	return Make(len(list), func(i int) U { return f(list[i]) })
}

// Make returns f(0), …, f(n−1).
func Make[U any](n int, f func(i int) U) []U {
	var out []U
	if n > 0 {
		out = make([]U, n)
	}

	for i := range out {
		out[i] = f(i)
	}

	return out
}

// Numbers returns 0, …, n−1.
func Numbers(n int) []int { return Make(n, func(i int) int { return i }) }

// Where returns the numbers below n for which ok holds.
func Where(n int, ok func(i int) bool) (out []int) {
	for i := range n {
		if ok(i) {
			out = append(out, i)
		}
	}

	return out
}

// Keep returns the elements for which ok holds.
func Keep[T any](list []T, ok func(T) bool) []T {
	held := Where(len(list), func(i int) bool { return ok(list[i]) })
	return Each(held, func(i int) T { return list[i] })
}

// Split returns the elements for which ok holds, and the others.
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

// Find returns the first element for which ok holds, and whether there is one.
func Find[T any](list []T, ok func(T) bool) (first T, found bool) {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i], true
	}

	return first, false
}

// Evenly returns at most n elements, spread evenly.
func Evenly[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}

	return Make(n, func(k int) T { return list[(2*k+1)*len(list)/(2*n)] })
}

// Median returns the middle of the elements, or the mean of the two that are.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)

	return (v[(n-1)/2] + v[n/2]) / 2
}

// Index numbers the distinct elements in order of first appearance.
func Index[T comparable](list []T) (index []int, distinct []T) {
	seen := map[T]int{}
	index = Each(list, func(v T) int {
		k, known := seen[v]
		if !known {
			k = len(distinct)
			seen[v], distinct = k, append(distinct, v)
		}

		return k
	})

	return index, distinct
}

// Alike returns the places of equal elements, in order of first appearance.
func Alike[T comparable](list []T) [][]int {
	index, distinct := Index(list)
	out := make([][]int, len(distinct))
	for i, k := range index {
		out[k] = append(out[k], i)
	}

	return out
}

// Map returns values by their names, the first of those given.
func Map[T any](names []string, values []T) map[string]T {
	out := make(map[string]T, len(names))
	for k, v := range values {
		out[names[k]] = v
	}

	return out
}

// Rows returns the given rows of a matrix with so many columns; nil of nil.
func Rows[T any](v []T, columns int, rows []int) []T {
	if v == nil {
		return nil
	}

	out := make([]T, 0, len(rows)*columns)
	for _, i := range rows {
		out = append(out, v[i*columns:(i+1)*columns]...)
	}

	return out
}

// Column returns column k of a matrix with so many.
func Column[T any](v []T, columns, k int) []T {
	return Make(len(v)/columns, func(i int) T { return v[i*columns+k] })
}

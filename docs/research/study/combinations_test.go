package main

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// combinationRows are the page's rows of laws: ln of the ratio of errors to scikit-learn's, and the shares inside of
// the program and of scikit-learn. Standard errors are between designs, in the last row between laws.
func combinationRows(all rows) (out []string) {
	var ratios []float64
	for _, law := range setNamesOf(all, "law") {
		designs := all.where("law", law)
		cells := ""
		var errors, halves []float64
		for _, row := range designs.list {
			errors = append(errors, math.Log(number(row, "program_error")/number(row, "scikit_error")))
			halves = append(halves, math.Log(number(row, "program_half")/number(row, "scikit_half")))
		}

		ratio, se := meanAndError(errors)
		width, _ := meanAndError(halves)
		ratios = append(ratios, ratio)
		cells = fmt.Sprintf(" × %.2f | %+.3f ± %.3f | × %.2f |", math.Exp(ratio), ratio, se, math.Exp(width))
		for _, level := range questionLevels {
			ours, oursSE := meanAndError(columnOf(designs, "program_"+level))
			theirs, _ := meanAndError(columnOf(designs, "scikit_"+level))
			cells += fmt.Sprintf(" %.2f ± %.2f / %.2f |", ours, oursSE, theirs)
		}

		out = append(out, fmt.Sprintf("| %s | %d |%s", law, len(designs.list), cells))
	}

	ratio, se := meanAndError(ratios)
	cells := fmt.Sprintf(" × %.2f | %+.3f ± %.3f | |", math.Exp(ratio), ratio, se)
	for _, level := range questionLevels {
		ours, _ := meanAndError(columnOf(all, "program_"+level))
		theirs, _ := meanAndError(columnOf(all, "scikit_"+level))
		cells += fmt.Sprintf(" %.2f / %.2f |", ours, theirs)
	}

	return append(out, fmt.Sprintf("| **all** | %d |%s", len(all.list), cells))
}

// columnOf are the numbers of a column by row.
func columnOf(r rows, column string) []float64 {
	var out []float64
	for _, row := range r.list {
		out = append(out, number(row, column))
	}

	return out
}

// setNamesOf returns the distinct cells of a column, in the order of the table.
func setNamesOf(r rows, column string) []string {
	var out []string
	for _, row := range r.list {
		if !slices.Contains(out, row[column]) {
			out = append(out, row[column])
		}
	}

	return out
}

// docs/research/intervals.md has the table of missing combinations that combinations.py wrote the lines of. Each law
// contains at least .93 of the values in its 95 % intervals, within two standard errors.
func TestCombinations(t *testing.T) {
	all := tableOf(t, "combinations")
	out := combinationRows(all)
	for _, line := range out {
		t.Log(line) // for the page
	}

	for _, law := range setNamesOf(all, "law") {
		inside, se := meanAndError(columnOf(all.where("law", law), "program_0.95"))
		assert.Greater(t, inside+2*se, 0.93, law)
	}

	quotes(t, "../intervals.md", "<!-- tables/combinations.csv -->", "<!-- end -->", append(out, "68 %", "99 %"))
}

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// curveLevels are the levels of the intervals in tables/curves.csv, as in the names of its columns.
var curveLevels = []string{"0.68", "0.9", "0.95", "0.98"}

// lnRatios are ln of a number by the default over that with offsets alone, by row.
func (r rows) lnRatios(column string) []float64 {
	var out []float64
	for _, row := range r.list {
		out = append(out, math.Log(number(row, "default_"+column)/number(row, "offsets_"+column)))
	}

	return out
}

// curvesTaken is the number of held-out names without which names got curves.
func (r rows) curvesTaken() int { return len(r.where("curves", "1").list) }

// curveCells are the cells of some sets: coverage at four levels and half width as they change by curves, and ln of the
// ratios of interval score, CRPS and error. Numbers are means over names, then over sets; standard errors are between
// sets, or between the names of a single set.
func curveCells(list []rows) string {
	mean := func(column string) float64 {
		sum := 0.0
		for _, set := range list {
			sum += set.mean(column) / float64(len(list))
		}

		return sum
	}

	out := ""
	for _, level := range curveLevels {
		out += fmt.Sprintf(" %.3f → %.3f |", mean("offsets_"+level), mean("default_"+level))
	}

	out += fmt.Sprintf(" %.2f → %.2f |", mean("offsets_half"), mean("default_half"))
	for _, column := range []string{"score", "crps", "error"} {
		v := list[0].lnRatios(column)
		if len(list) > 1 {
			v = nil
			for _, set := range list {
				ofSet, _ := meanAndError(set.lnRatios(column))
				v = append(v, ofSet)
			}
		}

		ratio, se := meanAndError(v)
		out += fmt.Sprintf(" %+.3f ± %.3f |", ratio, se)
	}

	return out
}

// curveRows are the page's rows of a question: the sets in which some names got curves, these together, and all sets.
func curveRows(asked rows) (out []string) {
	var all, curved []rows
	for _, name := range asked.setNames() {
		set := asked.where("set", name)
		all = append(all, set)
		if set.curvesTaken() == 0 {
			continue
		}

		curved = append(curved, set)
		out = append(out, fmt.Sprintf("| %s | %d of %d |%s", name, set.curvesTaken(), len(set.list),
			curveCells([]rows{set})))
	}

	for _, sum := range []struct {
		name string
		list []rows
	}{{"these %d sets", curved}, {"all %d sets", all}} {
		names, taken := 0, 0
		for _, set := range sum.list {
			names, taken = names+len(set.list), taken+set.curvesTaken()
		}

		out = append(out, fmt.Sprintf("| **"+sum.name+"** | %d of %d |%s", len(sum.list), taken, names,
			curveCells(sum.list)))
	}

	return out
}

// docs/research/intervals.md has the table of curves on measured names that `go run ./things -part curves` wrote the
// lines of.
func TestCurves(t *testing.T) {
	all := tableOf(t, "curves")
	var out []string
	for _, asked := range []string{"new name", "known name"} {
		out = append(out, curveRows(all.where("asked", asked))...)
	}

	var without []string
	for _, name := range all.setNames() {
		if all.where("set", name).curvesTaken() == 0 {
			without = append(without, name)
		}
	}

	slices.Sort(without)
	out = append(out, strings.Join(without, "; "), "| 0.68 | 0.90 | 0.95 | 0.98 |")
	for _, line := range out {
		t.Log(line) // for the page
	}

	quotes(t, "../intervals.md", "<!-- tables/curves.csv -->", "<!-- end -->", out)
}

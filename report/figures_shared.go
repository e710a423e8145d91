package report

import (
	"math"
	"slices"
	"strings"

	"doubletake/report/figure"
)

// This file has what several figures share: marks, panels, and the names of runs.

// boundsName names upper bounds in legends.
const boundsName = "upper bound, at the noise floor"

// oneLegend keeps the first entry of each name in the legends of panels.
func oneLegend(panels []figure.Panel) {
	seen := map[string]bool{}
	for _, panel := range panels {
		for i := range panel.Marks {
			mark := &panel.Marks[i]
			mark.Quiet = mark.Quiet || seen[mark.Name]
			seen[mark.Name] = true
		}
	}
}

// equalAxes returns a square panel of outcome k with equal axes and their diagonal. It is blank if there are no points.
func equalAxes(detail *Detail, k int, marks []figure.Mark) figure.Panel {
	low := math.Inf(1)
	high := math.Inf(-1)
	for _, mark := range marks {
		for _, values := range [][]float64{mark.X, mark.Y} {
			for _, value := range values {
				low = min(low, value)
				high = max(high, value)
			}
		}
	}

	if !(high >= low) {
		return figure.Panel{}
	}

	margin := math.Max(0.04*(high-low), 1e-12+1e-6*math.Abs(high))
	low -= margin
	high += margin
	ends := []float64{low, high}
	equal := figure.Mark{Kind: figure.Line, Name: "equal", Class: "grey", Dashed: true, X: ends, Y: ends}
	outcome := detail.Outcomes[k]

	return figure.Panel{
		Title:  outcome.Word(),
		X:      figure.Axis{Label: withUnit("predicted mean μ", clean(outcome.Unit)), Min: low, Max: high},
		Y:      figure.Axis{Label: withUnit(detail.data()+" mean", clean(outcome.Unit)), Min: low, Max: high},
		Square: true, Marks: append([]figure.Mark{equal}, marks...),
	}
}

// sameRange sets the same range of y in all panels: the range of their marks, widened on either side by the share
// beyond of that range. It leaves the panels unchanged if the range is empty or infinite.
func sameRange(panels []figure.Panel, beyond float64) {
	var marks []figure.Mark
	for _, panel := range panels {
		marks = append(marks, panel.Marks...)
	}

	low, high := rangeOfMarks(marks)
	if !(high > low) || math.IsInf(high-low, 0) {
		return
	}

	for i := range panels {
		panels[i].Y.Min = low - beyond*(high-low)
		panels[i].Y.Max = high + beyond*(high-low)
	}
}

// rangeOfMarks returns the least and the largest y of marks, without NaN. If there are no numbers, low is greater than
// high.
func rangeOfMarks(marks []figure.Mark) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, mark := range marks {
		for _, value := range slices.Concat(mark.Y, mark.Lo, mark.Hi) {
			if !math.IsNaN(value) {
				low = min(low, value)
				high = max(high, value)
			}
		}
	}

	return low, high
}

// plainLevel writes a level like levelText, but with a plain blank: CSV files have the names of series too.
func plainLevel(level float64) string { return strings.ReplaceAll(levelText(level), "\u00a0", " ") }

// rowsOf returns the rows of a condition. The first call finds the rows of all conditions.
func (m *maker) rowsOf(c int) []int {
	if m.rowsByCondition == nil {
		m.rowsByCondition = make([][]int, m.detail.conditionCount())
		for row, c := range m.detail.Cond {
			m.rowsByCondition[c] = append(m.rowsByCondition[c], row)
		}
	}

	return m.rowsByCondition[c]
}

// withPoints returns the marks that have points.
func withPoints(marks ...figure.Mark) []figure.Mark {
	var kept []figure.Mark
	for _, mark := range marks {
		if len(mark.X)+len(mark.Y) > 0 {
			kept = append(kept, mark)
		}
	}

	return kept
}

// runOf names the run of a triplet. It returns "" if no run is known.
func (d *Detail) runOf(row int) string {
	if row >= len(d.Run) || d.Run[row] >= len(d.Runs) {
		return ""
	}

	return clean(d.Runs[d.Run[row]])
}

// runsOf names the run of a condition, or the first of several runs: "take7.wav and others".
func (m *maker) runsOf(c int) string {
	rows := m.rowsOf(c)
	if len(rows) == 0 {
		return ""
	}

	first := m.detail.runOf(rows[0])
	for _, row := range rows {
		if m.detail.runOf(row) != first {
			return first + " and others"
		}
	}

	return first
}

// zeroLine returns a line at 0.
func zeroLine() figure.Mark {
	return figure.Mark{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true}
}

// rootOrZero returns the square root of a number, or 0 if the number is negative.
func rootOrZero(value float64) float64 { return math.Sqrt(math.Max(value, 0)) }

// thin returns at most n elements of a list, evenly spaced. It returns the whole list if n is below 1.
func thin[T any](list []T, n int) []T {
	if len(list) <= n || n < 1 {
		return list
	}

	picked := make([]T, n)
	for i := range picked {
		picked[i] = list[i*len(list)/n]
	}

	return picked
}

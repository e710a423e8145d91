package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/report"
	"doubletake/train/numbers"
)

// kind returns the type of the evaluation, "A" or "B".
func (q Quantity) kind() string {
	if q.A {
		return "A"
	}
	return "B"
}

// fourDigits writes a number with four significant digits, or all digits of its whole part.
func fourDigits(v float64) string { return fault.Digits(v, 4) }

// sourceDoF writes the degrees of freedom of a source with three digits or more.
func sourceDoF(v float64) string {
	if v > manyDoF {
		return "∞"
	}
	return fault.Digits(v, 3)
}

// resultDoF writes the degrees of freedom of a result: those with which Coverage computes k.
func resultDoF(v float64) string {
	if v > manyDoF {
		return "∞"
	}
	return strconv.FormatFloat(roundedDown(v), 'f', 0, 64)
}

// rounded writes a value and an uncertainty, both to the second digit of the uncertainty (JCGM 100, 7.2.6).
func rounded(v, u float64) (value, uncertainty string) {
	if !(u > 0) {
		return fourDigits(v), "0"
	}

	decimals := numbers.Decimals(u, 2)

	return numbers.Fixed(v, decimals), numbers.Fixed(u, decimals)
}

// title names the outcome and its condition.
func (r Result) title() string {
	if r.At == "" {
		return r.Outcome
	}
	return r.Outcome + " at " + r.At
}

// summary writes the result in a sentence.
func (r Result) summary() string {
	value, u := rounded(r.Value, r.U)
	other, expanded := rounded(r.Value, r.Expanded)
	if len(value) < len(other) {
		value = other // the one with more digits
	}

	return fmt.Sprintf("%s, standard uncertainty %s; expanded ± %s (k = %.2f, %.4g %%, %s degrees of freedom)",
		strings.TrimSpace(fmt.Sprintf("%s = %s %s", r.Outcome, value, r.Unit)), u, expanded, r.K, 100*r.Level,
		resultDoF(r.DoF))
}

// notes returns the remarks on a budget: its pools, the naive standard error, Monte Carlo if the linear law is too
// coarse, and the effects that the budget does not contain.
func (r Result) notes() []string {
	var notes []string
	if r.Pooled != "" {
		notes = append(notes, "scatter is pooled over "+r.Pooled)
	}

	if r.Naive > 0 {
		_, naive := rounded(r.Value, r.Naive)
		notes = append(notes, fmt.Sprintf("standard error %s if all %s were independent and nothing else varied", naive,
			r.NaiveOf))
	}

	if law := r.MonteCarlo; law != nil && !law.Agrees {
		_, u := rounded(law.Mean, law.U)
		low, _ := rounded(law.Low, r.U/10) // a digit more than the uncertainty has
		high, _ := rounded(law.High, r.U/10)
		notes = append(notes, fmt.Sprintf("the linear law is too coarse; Monte Carlo (JCGM 101, %d draws): standard "+
			"uncertainty %s, %.4g %% interval %s to %s", law.Draws, u, 100*r.Level, low, high))
	}

	return append(notes, r.Unseen...)
}

// sheetNotes returns the notes of all budgets. A note that all budgets share is there once; each other note follows the
// outcome and the condition of its budget.
func sheetNotes(list []Result) []string {
	budgets := map[string]int{} // number of budgets that have a note
	for _, r := range list {
		for _, note := range r.notes() {
			budgets[note]++
		}
	}

	var notes []string
	for _, r := range list {
		for _, note := range r.notes() {
			if budgets[note] < len(list) {
				note = r.title() + ": " + note
			}

			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}

	return notes
}

// Sheet returns budgets as tables with notes. It leaves out sources that have no uncertainty.
func Sheet(list []Result) report.Sheet {
	s := report.Sheet{Title: "Uncertainty of a condition's mean", Notes: sheetNotes(list)}
	for _, r := range list {
		g := report.Grid{
			Title: r.title(), Below: r.summary(), Words: []string{"type", "distribution"},
			Heads: []string{"source", "type", "value", "distribution", "u", "dof", "sensitivity", "contribution", "share"},
		}
		for _, component := range r.uncertain() {
			g.Rows = append(g.Rows, []string{
				component.Source, component.kind(), fourDigits(component.Value), component.Law, fourDigits(component.U),
				sourceDoF(component.DoF), fourDigits(component.Sensitivity), fourDigits(component.Contribution),
				fault.Digits(100*component.Share, 3) + " %",
			})
		}

		s.Grids = append(s.Grids, g)
	}

	return s
}

// uncertain returns the sources that have an uncertainty.
func (r Result) uncertain() []Component {
	var sources []Component
	for _, component := range r.Components {
		if component.U > 0 {
			sources = append(sources, component)
		}
	}

	return sources
}

// document returns the source as an object for JSON and CSV.
func (c Component) document() numbers.Object {
	return numbers.Object{
		"source", c.Source, "type", c.kind(), "value", c.Value, "distribution", c.Law, "standard_u", c.U, "dof", c.DoF,
		"sensitivity", c.Sensitivity, "contribution", c.Contribution, "share", c.Share,
	}
}

// CSV returns a record for each source of each budget, in full digits.
func CSV(list []Result) []numbers.Object {
	var records []numbers.Object
	for _, r := range list {
		outcome := numbers.Object{"outcome", r.Outcome, "unit", r.Unit, "at", r.At}
		total := numbers.Object{
			"result", r.Value, "result_u", r.U, "result_dof", r.DoF, "k", r.K, "expanded_u", r.Expanded, "level", r.Level,
		}
		for _, component := range r.uncertain() {
			records = append(records, slices.Concat(outcome, component.document(), total))
		}
	}

	return records
}

// JSON returns budgets as one document. Infinite degrees of freedom are null.
func JSON(list []Result) []numbers.Object {
	return numbers.Objects(list, func(r Result) numbers.Object {
		naive := r.Naive
		if naive <= 0 { // not known
			naive = math.NaN() // JSON writes NaN as null
		}

		return numbers.Object{
			"outcome", r.Outcome, "unit", r.Unit, "at", r.At, "value", r.Value, "standard_u", r.U, "dof", r.DoF, "k", r.K,
			"expanded_u", r.Expanded, "level", r.Level, "naive_standard_error", naive, "scatter_pooled_over", r.Pooled,
			"sources", numbers.Objects(r.uncertain(), Component.document), "monte_carlo", r.MonteCarlo,
			"not_in_this_budget", append([]string{}, r.Unseen...),
		}
	})
}

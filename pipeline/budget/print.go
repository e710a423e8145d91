package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report"
	"doubletake/train/numbers"
)

// kind is the type of the evaluation.
func (q Quantity) kind() string {
	if q.A {
		return "A"
	}
	return "B"
}

// digits shows a number as people read it.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// free shows degrees of freedom.
func free(v float64) string {
	switch {
	case v > 1e6:
		return "∞"
	case v >= 100:
		return strconv.FormatFloat(math.Floor(v+1e-6), 'f', 0, 64)
	}

	return strconv.FormatFloat(v, 'g', 3, 64)
}

// rounded is a value and an uncertainty, to two digits of the latter (JCGM 100, 7.2.6).
func rounded(v, u float64) (value, uncertainty string) {
	if !(u > 0) {
		return digits(v), "0"
	}

	decimals := numbers.Decimals(u, 2)

	return numbers.Fixed(v, decimals), numbers.Fixed(u, decimals)
}

// title names the outcome and where it is.
func (r Result) title() string {
	if r.At == "" {
		return r.Outcome
	}
	return r.Outcome + " at " + r.At
}

// summary is the result in a sentence.
func (r Result) summary() string {
	v, u := rounded(r.Value, r.U)
	value, expanded := rounded(r.Value, r.Expanded)
	if len(v) < len(value) {
		v = value
	}

	return fmt.Sprintf("%s, standard uncertainty %s; expanded ± %s (k = %.2f, %g %%, %s degrees of freedom)",
		strings.TrimSpace(fmt.Sprintf("%s = %s %s", r.Outcome, v, r.Unit)), u, expanded, r.K, 100*r.Level, free(r.DoF))
}

// notes are what belongs to a budget besides its table.
func (r Result) notes() (out []string) {
	if r.Pooled != "" {
		out = append(out, "scatter is pooled over "+r.Pooled)
	}

	if r.Naive > 0 {
		_, n := rounded(r.Value, r.Naive)
		out = append(out, fmt.Sprintf("%s: standard error %s if all %s were independent and nothing else varied", r.Outcome,
			n, r.NaiveOf))
	}

	if m := r.MonteCarlo; m != nil && !m.Agrees {
		_, u := rounded(m.Mean, m.U)
		low, _ := rounded(m.Low, r.U/10)
		high, _ := rounded(m.High, r.U/10)
		out = append(out, fmt.Sprintf("%s: the linear law is too coarse; Monte Carlo (JCGM 101, %d draws): standard "+
			"uncertainty %s, %g %% interval %s to %s", r.Outcome, m.Draws, u, 100*r.Level, low, high))
	}

	return append(out, r.Unseen...)
}

// Sheet is budgets as tables with what is not in them. Sources without an uncertainty are left out.
func Sheet(list []Result) report.Sheet {
	s := report.Sheet{Title: "Uncertainty of a measurement"}
	for _, r := range list {
		g := report.Grid{
			Title: r.title(), Below: r.summary(), Words: []string{"type", "distribution"},
			Heads: []string{"source", "type", "value", "distribution", "u", "dof", "sensitivity", "contribution", "share"},
		}
		g.Rows = lists.Each(r.uncertain(), func(c Component) []string {
			return []string{
				c.Source, c.kind(), digits(c.Value), c.Law, digits(c.U), free(c.DoF), digits(c.Sensitivity),
				digits(c.Contribution), fmt.Sprintf("%.3g %%", 100*c.Share),
			}
		})

		s.Grids = append(s.Grids, g)
		for _, n := range r.notes() {
			if !slices.Contains(s.Notes, n) {
				s.Notes = append(s.Notes, n)
			}
		}
	}

	return s
}

// uncertain are the sources with an uncertainty.
func (r Result) uncertain() []Component {
	return lists.Keep(r.Components, func(c Component) bool { return c.U > 0 })
}

// document is the source in JSON and CSV.
func (c Component) document() numbers.Object {
	return numbers.Object{
		"source", c.Source, "type", c.kind(), "value", c.Value, "distribution", c.Law, "standard_u", c.U, "dof", c.DoF,
		"sensitivity", c.Sensitivity, "contribution", c.Contribution, "share", c.Share,
	}
}

// CSV is budgets with a record for each source, in full digits.
func CSV(list []Result) (out []numbers.Object) {
	for _, r := range list {
		for _, c := range r.uncertain() {
			out = append(out, slices.Concat(numbers.Object{"outcome", r.Outcome, "unit", r.Unit, "at", r.At}, c.document(),
				numbers.Object{
					"result", r.Value, "result_u", r.U, "result_dof", r.DoF, "k", r.K, "expanded_u", r.Expanded,
					"level", r.Level,
				}))
		}
	}

	return out
}

// JSON is budgets as one document. Infinite degrees of freedom are null.
func JSON(list []Result) []numbers.Object {
	return numbers.Objects(list, func(r Result) numbers.Object {
		naive := r.Naive
		if naive <= 0 {
			naive = math.NaN()
		}

		return numbers.Object{
			"outcome", r.Outcome, "unit", r.Unit, "at", r.At, "value", r.Value, "standard_u", r.U, "dof", r.DoF, "k", r.K,
			"expanded_u", r.Expanded, "level", r.Level, "naive_standard_error", naive, "scatter_pooled_over", r.Pooled,
			"sources", lists.Each(r.uncertain(), Component.document), "monte_carlo", r.MonteCarlo,
			"not_in_this_budget", r.Unseen,
		}
	})
}

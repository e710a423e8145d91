package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
		for _, c := range r.Components {
			if c.U > 0 {
				g.Rows = append(g.Rows, []string{
					c.Source, c.kind(), digits(c.Value), c.Law, digits(c.U), free(c.DoF), digits(c.Sensitivity),
					digits(c.Contribution), fmt.Sprintf("%.3g %%", 100*c.Share),
				})
			}
		}

		s.Grids = append(s.Grids, g)
		for _, n := range r.notes() {
			if !slices.Contains(s.Notes, n) {
				s.Notes = append(s.Notes, n)
			}
		}
	}

	return s
}

// CSV is budgets with a row for each source, in full digits.
func CSV(list []Result) [][]string {
	number := func(v float64) string {
		if math.IsInf(v, 0) {
			return "inf"
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}

	rows := [][]string{{
		"outcome", "unit", "at", "source", "type", "value", "distribution", "standard_u", "dof", "sensitivity",
		"contribution", "share", "result", "result_u", "result_dof", "k", "expanded_u", "level",
	}}
	for _, r := range list {
		for _, c := range r.Components {
			if c.U == 0 {
				continue
			}

			rows = append(rows, []string{
				r.Outcome, r.Unit, r.At, c.Source, c.kind(), number(c.Value), c.Law, number(c.U), number(c.DoF),
				number(c.Sensitivity), number(c.Contribution), number(c.Share), number(r.Value), number(r.U), number(r.DoF),
				number(r.K), number(r.Expanded), number(r.Level),
			})
		}
	}

	return rows
}

// JSON is budgets as one document. Infinite degrees of freedom are null.
func JSON(list []Result) any {
	type source struct {
		Source       string        `json:"source"`
		Type         string        `json:"type"`
		Value        float64       `json:"value"`
		Law          string        `json:"distribution"`
		U            float64       `json:"standard_u"`
		DoF          numbers.Float `json:"dof"`
		Sensitivity  float64       `json:"sensitivity"`
		Contribution float64       `json:"contribution"`
		Share        float64       `json:"share"`
	}
	type document struct {
		Outcome    string        `json:"outcome"`
		Unit       string        `json:"unit"`
		At         string        `json:"at"`
		Value      float64       `json:"value"`
		U          float64       `json:"standard_u"`
		DoF        numbers.Float `json:"dof"`
		K          float64       `json:"k"`
		Expanded   float64       `json:"expanded_u"`
		Level      float64       `json:"level"`
		Naive      numbers.Float `json:"naive_standard_error"`
		Pooled     string        `json:"scatter_pooled_over"`
		Sources    []source      `json:"sources"`
		MonteCarlo *MonteCarlo   `json:"monte_carlo"`
		Unseen     []string      `json:"not_in_this_budget"`
	}

	out := []document{}
	for _, r := range list {
		d := document{
			Outcome: r.Outcome, Unit: r.Unit, At: r.At, Value: r.Value, U: r.U, DoF: numbers.Float(r.DoF), K: r.K,
			Expanded: r.Expanded, Level: r.Level, Naive: numbers.NaN, Pooled: r.Pooled,
			MonteCarlo: r.MonteCarlo, Unseen: r.Unseen,
		}
		if r.Naive > 0 {
			d.Naive = numbers.Float(r.Naive)
		}

		for _, c := range r.Components {
			if c.U > 0 {
				d.Sources = append(d.Sources, source{
					c.Source, c.kind(), c.Value, c.Law, c.U, numbers.Float(c.DoF), c.Sensitivity, c.Contribution, c.Share,
				})
			}
		}

		out = append(out, d)
	}

	return out
}

package budget

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// headings are those of all tables of a budget.
var headings = []string{
	"source", "type", "value", "distribution", "standard u", "degrees of freedom", "sensitivity", "contribution", "share",
}

// cells are a row of a table.
func (c Component) cells() []string {
	kind := "B"
	if c.A {
		kind = "A"
	}

	return []string{
		c.Source, kind, digits(c.Value), c.Law, digits(c.U), free(c.DoF), digits(c.Sensitivity), digits(c.Contribution),
		fmt.Sprintf("%.3g %%", 100*c.Share),
	}
}

// digits shows a number as people read it.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// free shows degrees of freedom.
func free(v float64) string {
	if v > 1e6 {
		return "∞"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// rounded is a value and an uncertainty, to two digits of the latter (JCGM 100, 7.2.6).
func rounded(v, u float64) (value, uncertainty string) {
	if !(u > 0) {
		return digits(v), "0"
	}

	decimals := 1 - int(math.Floor(math.Log10(u)))
	if scale := math.Pow10(decimals); math.Round(u*scale) >= 100 { // 0.0999 is 0.10
		decimals--
	}

	if decimals < 0 {
		scale := math.Pow10(-decimals)
		v, u, decimals = math.Round(v/scale)*scale, math.Round(u/scale)*scale, 0
	}

	return strconv.FormatFloat(v, 'f', decimals, 64), strconv.FormatFloat(u, 'f', decimals, 64)
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

	text := fmt.Sprintf("%s = %s %s, standard uncertainty %s; expanded ± %s (k = %.2f, %g %%, %s degrees of freedom)",
		r.Outcome, v, r.Unit, u, expanded, r.K, 100*r.Level, free(r.DoF))

	return strings.ReplaceAll(text, " ,", ",")
}

// notes are what belongs to a budget besides its table.
func (r Result) notes() (out []string) {
	if r.Naive > 0 {
		_, n := rounded(r.Value, r.Naive)
		out = append(out, fmt.Sprintf("standard error if all segments were independent and nothing else varied: %s", n))
	}

	if m := r.MonteCarlo; m != nil && !m.Agrees {
		_, u := rounded(m.Mean, m.U)
		low, _ := rounded(m.Low, r.U/10)
		high, _ := rounded(m.High, r.U/10)
		out = append(out, fmt.Sprintf("the linear law is too coarse; Monte Carlo (JCGM 101, %d draws): standard uncertainty "+
			"%s, %g %% interval %s to %s", m.Draws, u, 100*r.Level, low, high))
	}

	return append(out, r.Unseen...)
}

// Print writes budgets as tables. Sources without an uncertainty are left out.
func Print(w io.Writer, list []Result) error {
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}

		fmt.Fprintln(w, r.title())
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, strings.Join(headings, "\t"))
		for _, c := range r.Components {
			if c.U > 0 {
				fmt.Fprintln(tw, strings.Join(c.cells(), "\t"))
			}
		}

		if err := tw.Flush(); err != nil {
			return fmt.Errorf("print a budget: %w", err)
		}

		fmt.Fprintln(w, r.summary())
		for _, n := range r.notes() {
			fmt.Fprintln(w, "note: "+n)
		}
	}

	return nil
}

// CSV writes budgets with a row for each source, in full digits.
func CSV(w io.Writer, list []Result) error {
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

			kind := c.cells()[1]
			rows = append(rows, []string{
				r.Outcome, r.Unit, r.At, c.Source, kind, number(c.Value), c.Law, number(c.U), number(c.DoF), number(c.Sensitivity),
				number(c.Contribution), number(c.Share), number(r.Value), number(r.U), number(r.DoF), number(r.K),
				number(r.Expanded), number(r.Level),
			})
		}
	}

	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("print budgets: %w", err)
	}

	return nil
}

var tex = strings.NewReplacer("_", `\_`, "%", `\%`, "&", `\&`, "#", `\#`, "$", `\$`, "{", `\{`, "}", `\}`, "^", `\^{}`,
	"±", `$\pm$`, "∞", `$\infty$`)

// TeX writes budgets as LaTeX tables (booktabs).
func TeX(w io.Writer, list []Result) error {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "\\begin{table}\n\\caption{%s}\n\\begin{tabular}{llrlrrrrr}\n\\toprule\n", tex.Replace(r.title()+": "+
			r.summary()))
		b.WriteString(tex.Replace(strings.Join(headings, "\t")) + "\n\\midrule\n")
		for _, c := range r.Components {
			if c.U > 0 {
				b.WriteString(tex.Replace(strings.Join(c.cells(), "\t")) + "\n")
			}
		}
		b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
	}

	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		if strings.Contains(l, "\t") {
			lines[i] = strings.ReplaceAll(l, "\t", " & ") + ` \\`
		}
	}

	if _, err := io.WriteString(w, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print budgets: %w", err)
	}

	return nil
}

// JSON writes budgets as one document. Infinite degrees of freedom are null.
func JSON(w io.Writer, list []Result) error {
	type source struct {
		Source       string   `json:"source"`
		Type         string   `json:"type"`
		Value        float64  `json:"value"`
		Law          string   `json:"distribution"`
		U            float64  `json:"standard_u"`
		DoF          *float64 `json:"dof"`
		Sensitivity  float64  `json:"sensitivity"`
		Contribution float64  `json:"contribution"`
		Share        float64  `json:"share"`
	}
	type monteCarlo struct {
		Draws  int     `json:"draws"`
		U      float64 `json:"standard_u"`
		Low    float64 `json:"low"`
		High   float64 `json:"high"`
		Agrees bool    `json:"agrees"`
	}
	type document struct {
		Outcome    string      `json:"outcome"`
		Unit       string      `json:"unit"`
		At         string      `json:"at"`
		Value      float64     `json:"value"`
		U          float64     `json:"standard_u"`
		DoF        *float64    `json:"dof"`
		K          float64     `json:"k"`
		Expanded   float64     `json:"expanded_u"`
		Level      float64     `json:"level"`
		Naive      *float64    `json:"naive_standard_error"`
		Sources    []source    `json:"sources"`
		MonteCarlo *monteCarlo `json:"monte_carlo"`
		Unseen     []string    `json:"not_in_this_budget"`
	}

	finite := func(v float64, ok bool) *float64 {
		if !ok || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}

	out := []document{}
	for _, r := range list {
		d := document{
			Outcome: r.Outcome, Unit: r.Unit, At: r.At, Value: r.Value, U: r.U, DoF: finite(r.DoF, true), K: r.K,
			Expanded: r.Expanded, Level: r.Level, Naive: finite(r.Naive, r.Naive > 0), Unseen: r.Unseen,
		}
		for _, c := range r.Components {
			if c.U > 0 {
				d.Sources = append(d.Sources, source{
					c.Source, c.cells()[1], c.Value, c.Law, c.U, finite(c.DoF, true), c.Sensitivity, c.Contribution, c.Share,
				})
			}
		}

		if m := r.MonteCarlo; m != nil {
			d.MonteCarlo = &monteCarlo{m.Draws, m.U, m.Low, m.High, m.Agrees}
		}
		out = append(out, d)
	}

	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("print budgets: %w", err)
	}

	return nil
}

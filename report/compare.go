package report

import (
	"bytes"
	"fmt"
	"strings"
)

// Compared are the scores of one method on a split's test part (METHOD §5), over
// seeds, in standardised units. The method's own mean and variances are judged.
type Compared struct {
	Method string
	Scores []Scored
	FitS   Value // seconds to train, on the machine and load of that run; not part of metrics.json
	AskS   Value // seconds to predict all conditions
}

// Scored is one score with its key of metrics.json.
type Scored struct {
	Key string
	Value
}

// Score returns the score with that key, the zero Value when there is none.
func (c Compared) Score(key string) Value {
	for _, s := range c.Scores {
		if s.Key == key {
			return s.Value
		}
	}
	return Value{}
}

// comparedQuantities are the columns of the comparison, in groups.
var comparedQuantities = []struct {
	group   string
	columns []quantity
}{
	{"mean", []quantity{{"R²", "r2", 1, false, true, ""}, {"e ×10⁻²", "e", percentScale, false, true, ""}}},
	{"distribution of y", []quantity{
		{"NLL", "nll", 1, false, true, ""},
		{"CRPS", "crps", 1, false, true, ""},
		{"in 68 %", "coverage68", 1, false, true, ""},
		{"in 95 %", "coverage95", 1, false, true, ""},
		{"width 95 %", "width95", 1, false, true, ""},
	}},
	{"ENCE", []quantity{{"found", "ence", 1, false, true, ""}, {"if calibrated", "ence_ref", 1, false, true, ""}, {"95 % below", "ence_ref95", 1, false, true, ""}}},
	{"v̂ against e", []quantity{
		{"Σe/Σv̂", "sum_e_ratio", 1, false, true, "sum_e_ratio_se"},
		{"v̂²−2v̂e ×10⁻²", "square", percentScale, false, true, ""},
		{"QLIKE", "qlike", 1, false, true, ""},
		{"floored", "floored", 1, false, true, ""},
	}},
}

// comparisons returns a table per split in which methods were compared.
func (e Experiment) comparisons() []table {
	var out []table
	for _, s := range e.Splits {
		if len(s.Methods) == 0 {
			continue
		}
		title := "Methods compared on what " + clean(s.Name) + " holds out"
		if s.Reach != "" {
			title += ": " + clean(s.Reach)
		}
		t := table{title: title, corner: "method"}
		for _, m := range s.Methods {
			t.labels = append(t.labels, m.Method)
		}
		for _, q := range comparedQuantities {
			g := group{head: q.group}
			for _, c := range q.columns {
				col, se := column{head: c.head}, column{head: "SE"}
				for _, m := range s.Methods {
					col.cells = append(col.cells, round(m.Score(c.key), c.scale))
					if c.se != "" {
						se.cells = append(se.cells, twoDigits(m.Score(c.se), c.scale))
					}
				}
				g.columns = append(g.columns, col)
				if c.se != "" {
					g.columns = append(g.columns, se)
				}
			}
			t.groups = append(t.groups, g)
		}
		g := group{head: "seconds"}
		fit, ask := column{head: "to train"}, column{head: "to predict"}
		timed := false
		for _, m := range s.Methods {
			fit.cells, ask.cells = append(fit.cells, round(m.FitS, 1)), append(ask.cells, round(m.AskS, 1))
			timed = timed || m.FitS.defined()
		}
		if g.columns = []column{fit, ask}; timed {
			t.groups = append(t.groups, g)
		}
		out = append(out, t)
	}
	return out
}

// comparisonWords says how to read the comparison.
func (e Experiment) comparisonWords() []string {
	compared := false
	for _, s := range e.Splits {
		compared = compared || len(s.Methods) > 0
	}
	if !compared {
		return nil
	}
	return []string{
		"Every method is judged on its own mean, by scores that are lowest for the truth (NLL, CRPS, v̂²−2v̂e, QLIKE), or should be 1 (Σe/Σv̂), 0.683 and 0.95 (coverage), or stay near what calibrated data give (ENCE); " +
			"v̂ is the epistemic variance it claims: C or |raw| of the pair model, the spread of means of ensemble and mc-dropout, u² of ZigZag, the posterior variance of the Gaussian process. QLIKE floors v̂ at 1e-4 of the outcome's variance; \"floored\" is how often.",
		"The reference of ENCE has errors that are independent between conditions; real ones are not, so that it is a lower bound. Seconds are of one run on one machine, several tasks at a time.",
	}
}

// comparisonJSON is the part of metrics.json that compares methods; nil without.
func comparisonJSON(s Split) array {
	var out array
	for _, m := range s.Methods {
		o := object{{"method", m.Method}}
		for _, v := range m.Scores {
			o = append(o, member{v.Key, valueJSON(v.Value)})
		}
		out = append(out, o)
	}
	return out
}

// ComparisonMarkdown returns the comparison tables alone, with the words that
// explain them, as Markdown below headings of the given level; empty when no
// methods were compared.
func ComparisonMarkdown(e Experiment, level int) []byte {
	var b bytes.Buffer
	for _, t := range e.comparisons() {
		fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", level), mdEscape(t.title))
		mdTable(&b, t)
		b.WriteByte('\n')
	}
	for _, s := range e.comparisonWords() {
		fmt.Fprintf(&b, "%s\n\n", mdEscape(s))
	}
	return b.Bytes()
}

// Cell writes a value times scale as the tables do: "0.991 ± 0.012".
func Cell(v Value, scale float64) string {
	n := round(v, scale)
	if n.text != "" {
		return n.text
	}
	return n.plain()
}

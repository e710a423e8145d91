// Package form writes a campaign's inputs and outcomes in other forms: logarithms, ratios
// of one dimension, and coefficients such as a force over ρu²ℓ². It lists the forms that
// the units allow, maps numbers to a form and back, and holds the rule by which one of them
// is chosen. It fits nothing; train/honest scores each form on left-out groups.
package form

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
)

// Dimension is the dimension of a quantity in powers of kg, m and s. The zero value is that
// of an angle, a ratio, a level or an unknown unit: such a quantity stays as it is.
type Dimension struct {
	Mass, Length, Time int
	Known              bool // the powers are known
	Count              bool // a number of things, such as blades
}

// Quantity is an input or an outcome.
type Quantity struct {
	Name string
	Dimension
	Positive bool // everywhere in the data
}

func (q Quantity) is(length, time int) bool {
	return q.Positive && q.Known && q.Mass == 0 && q.Length == length && q.Time == time
}

// logarithmic reports whether the quantity can enter as its logarithm.
func (q Quantity) logarithmic() bool { return q.Positive && (q.Known || q.Count) }

// Column is an input of a form: the input From, or Σ Powers·ln x.
type Column struct {
	From   int       `json:"from"`
	Powers []float64 `json:"powers,omitempty"` // of all inputs
	Slope  bool      `json:"slope,omitempty"`  // it enters with a slope only, without a Matérn kernel
}

// Uses reports whether the column depends on input k.
func (c Column) Uses(k int) bool {
	if c.Powers == nil {
		return c.From == k
	}
	return c.Powers[k] != 0
}

// Form maps conditions to columns, and outcomes y to z = y/Π x^p.
type Form struct {
	Name    string      `json:"name"`
	Formula string      `json:"formula"` // of the outcomes, for people
	Columns []Column    `json:"columns"`
	Powers  [][]float64 `json:"outcome_powers"` // of each outcome; nil where it stays
}

// Divides reports whether outcomes are divided.
func (f *Form) Divides() bool {
	return slices.ContainsFunc(f.Powers, func(p []float64) bool { return p != nil })
}

// Raw is the name of the form that a model has anyway.
const Raw = "raw"

// Auto is the name by which the form is chosen.
const Auto = "auto"

// Named reports whether a form can have that name where these are the inputs: Raw, Auto, log, order, or ratios
// or coefficient of a speed and perhaps a length. Units may still exclude it.
func Named(name string, inputs []string) bool {
	if slices.Contains([]string{Raw, Auto, "log", "order"}, name) {
		return true
	}

	kind, rest, _ := strings.Cut(name, "(")
	list, end := strings.CutSuffix(strings.TrimSuffix(rest, "-"), ")")
	of := strings.Split(list, ",")

	return (kind == "ratios" || kind == "coefficient") && end && len(of) <= 2 &&
		!slices.ContainsFunc(of, func(in string) bool { return !slices.Contains(inputs, in) })
}

// List returns the forms other than Raw that the units allow, in the order of a choice.
//
// For each length ℓ and each speed u, or n·ℓ of a shaft speed n, the other inputs are
// divided by the powers of u and ℓ that leave no dimension, and outcomes with a mass by
// ρu^b·ℓ^c. ln u and ln ℓ stay inputs, or in the forms with "-" slopes only. ρ and a length that is
// constant are factors that standardisation takes out: they are not needed.
func List(inputs, outcomes []Quantity) []Form {
	g := generator{in: inputs, out: outcomes}
	logs := lists.Make(len(inputs), g.logarithm)
	if slices.ContainsFunc(logs, func(c Column) bool { return c.Powers != nil }) {
		g.add(Form{Name: "log", Formula: "logarithms of the inputs", Columns: logs, Powers: make([][]float64, len(outcomes))})
	}

	lengths := g.all(1, 0)
	if len(lengths) == 0 {
		lengths = []int{none}
	}

	for _, l := range lengths {
		for _, u := range append(g.all(1, -1), g.all(0, -1)...) {
			g.ratios(u, l, false)
			g.ratios(u, l, true)
		}
	}

	return g.list
}

const none = -1

type generator struct {
	in, out []Quantity
	list    []Form
}

// add keeps a form unless an earlier one has the same columns and outcomes.
func (g *generator) add(f Form) {
	key := func(f Form) string {
		var c []string
		for _, k := range f.Columns {
			if k.Powers != nil {
				k.From = 0
			}
			c = append(c, fmt.Sprint(k))
		}
		slices.Sort(c)
		return fmt.Sprint(slices.Compact(c), f.Powers)
	}

	if !slices.ContainsFunc(g.list, func(o Form) bool { return key(o) == key(f) }) {
		g.list = append(g.list, f)
	}
}

func (g *generator) all(length, time int) []int {
	return lists.Where(len(g.in), func(k int) bool { return g.in[k].is(length, time) })
}

// logarithm is ln of an input where it has one.
func (g *generator) logarithm(k int) Column {
	if !g.in[k].logarithmic() {
		return Column{From: k}
	}

	p := make([]float64, len(g.in))
	p[k] = 1

	return Column{From: k, Powers: p}
}

// powers are those of u^b·ℓ^c, where u is n·ℓ for a shaft speed.
func (g *generator) powers(u, l, b, c int) []float64 {
	p := make([]float64, len(g.in))
	if g.in[u].Length == 0 {
		c += b
	}

	p[u] = float64(b)
	if l != none {
		p[l] = float64(c)
	}

	return p
}

func (g *generator) ratios(u, l int, drop bool) {
	var columns []Column
	for k, q := range g.in {
		if k == u || k == l {
			continue
		}

		column := g.logarithm(k)
		if column.Powers != nil && !q.Count && q.Mass == 0 {
			for i, v := range g.powers(u, l, -q.Time, q.Length+q.Time) {
				column.Powers[i] -= v
			}
		}

		columns = append(columns, column)
	}

	if drop && len(columns) == 0 {
		return // nothing is left for the kernels
	}

	for _, k := range []int{u, l} {
		if k != none {
			column := g.logarithm(k)
			column.Slope = drop
			columns = append(columns, column)
		}
	}

	name, suffix := "ratios", ""
	if drop {
		suffix = "-"
	}

	f := Form{Columns: columns, Powers: make([][]float64, len(g.out))}
	var formula []string
	for j, q := range g.out {
		if !q.Known || q.Mass == 0 {
			continue
		}

		p := g.powers(u, l, -q.Time, q.Length+3*q.Mass+q.Time)
		if !slices.ContainsFunc(p, func(v float64) bool { return v != 0 }) {
			continue
		}

		name, f.Powers[j] = "coefficient", p
		formula = append(formula, q.Name+"/("+density(q.Mass)+g.product(f.Powers[j])+")")
	}

	f.Formula = cmp.Or(strings.Join(formula, ", "), "inputs as ratios with "+g.product(g.powers(u, l, 1, 0)))

	at := g.in[u].Name
	if l != none {
		at += "," + g.in[l].Name
	}

	f.Name = fmt.Sprintf("%s(%s)%s", name, at, suffix)
	g.add(f)
}

func density(mass int) string {
	if mass == 1 {
		return "ρ·"
	}
	return fmt.Sprintf("ρ^%d·", mass)
}

// product writes the powers of the inputs.
func (g *generator) product(powers []float64) string {
	var parts []string
	for k, p := range powers {
		switch {
		case p == 1:
			parts = append(parts, g.in[k].Name)
		case p != 0:
			parts = append(parts, fmt.Sprintf("%s^%g", g.in[k].Name, p))
		}
	}

	return strings.Join(parts, "·")
}

// X returns the columns of conditions x, rows of in. An input that a logarithm is taken of
// must be positive.
func (f *Form) X(x []float64, in int) ([]float64, error) {
	out := make([]float64, 0, len(x)/in*len(f.Columns))
	for i := 0; i < len(x); i += in {
		row := x[i : i+in]
		for _, c := range f.Columns {
			v := row[c.From]
			if c.Powers != nil {
				v = sum(c.Powers, row)
			}

			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("write row %d in the form %s: expected positive inputs, found %g", i/in, f.Name, row)
			}

			out = append(out, v)
		}
	}

	return out, nil
}

// LnFactors returns ln(y/z) for each row of x and each outcome.
func (f *Form) LnFactors(x []float64, in int) []float64 {
	out := make([]float64, 0, len(x)/in*len(f.Powers))
	for i := 0; i < len(x); i += in {
		for _, p := range f.Powers {
			out = append(out, sum(p, x[i:i+in]))
		}
	}

	return out
}

func sum(powers, row []float64) (s float64) {
	for k, p := range powers {
		if p != 0 {
			s += float64(p * math.Log(row[k]))
		}
	}
	return s
}

// Score is how well a form predicts left-out training groups.
type Score struct {
	Name     string  `json:"name"`
	Formula  string  `json:"formula,omitempty"`
	Evidence float64 `json:"evidence"`    // natural logarithm, of the outcomes in their own unit, over that of the first
	Error    float64 `json:"error_ratio"` // rms error of the mean on left-out groups, over that of the first
	Full     bool    `json:"full"`        // fitted in full; else by the screen alone
}

// Margins in nats that the evidence of a form must exceed that of the first by.
const (
	Margin    = 1.0
	FewMargin = 3.0 // with fewer than FewGroups training groups
	FewGroups = 3
)

// Choose returns the place of the form with the largest evidence among those whose error is
// not above that of the first, which a model has anyway, or 0 where the margin is not reached.
func Choose(list []Score, groups int) int {
	margin := Margin
	if groups < FewGroups {
		margin = FewMargin
	}

	best := 0
	for i, s := range list {
		if i > 0 && s.Full && s.Error <= 1 && s.Evidence > margin && (best == 0 || s.Evidence > list[best].Evidence) {
			best = i
		}
	}

	return best
}

// Choice is the form that a model of a split has, and how it was found.
type Choice struct {
	Asked  string  `json:"asked"`          // auto, or the name of a form
	Chosen string  `json:"chosen"`         // its name
	Form   *Form   `json:"form,omitempty"` // nil: Raw
	Groups int     `json:"groups"`         // training groups that were left out in turn
	Fits   int     `json:"fits"`           // of a process, in full
	Screen int     `json:"screening_fits"` // on few conditions with few steps
	Tried  []Score `json:"tried,omitempty"`
}

// Hint is the form that a choice would likely make where none is asked for, by its screen alone.
type Hint struct {
	Outcomes  []string `json:"outcomes"` // that would be divided, with their units
	Condition string   `json:"condition"`
	Groups    int      `json:"groups"` // training groups that were left out in turn
	Score     Score    `json:"score"`
}

// String states the hint in a sentence.
func (h *Hint) String() string {
	return fmt.Sprintf("`form: auto` would likely choose %s: left-out error × %.2f, evidence %+.1f, by a screen; "+
		"%s over %d left-out values of %s", h.Score.Formula, h.Score.Error, h.Score.Evidence,
		strings.Join(h.Outcomes, ", "), h.Groups, h.Condition)
}

// String states the choice in a sentence, with its evidence and the runners-up.
func (c *Choice) String() string {
	if c == nil {
		return ""
	}

	name := func(s Score) string {
		if s.Formula == "" {
			return s.Name
		}
		return s.Name + ", " + s.Formula
	}

	if len(c.Tried) == 0 {
		if c.Asked != "auto" {
			return fmt.Sprintf("form %s, as train.form asks", c.Chosen)
		}
		return fmt.Sprintf("form %s: %d training groups, or units that allow no other form, leave no choice",
			c.Chosen, c.Groups)
	}

	var others []string
	chosen := c.Chosen
	for i, s := range c.Tried {
		text := fmt.Sprintf("%s: evidence %+.1f, left-out error × %.2f", name(s), s.Evidence, s.Error)
		switch {
		case s.Name == c.Chosen && i == 0:
		case s.Name == c.Chosen:
			chosen = text
		case s.Full && i > 0:
			others = append(others, text)
		}
	}

	text := "form " + chosen
	if len(others) > 0 {
		text += " (not " + strings.Join(others, "; ") + ")"
	}

	return text + fmt.Sprintf(", chosen among %d forms by %d left-out groups", len(c.Tried), c.Groups)
}

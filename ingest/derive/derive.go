// Package derive computes numbers from other numbers by expressions that a user
// writes: a tip speed from a diameter and a shaft speed, a coefficient from a force.
//
// An expression is arithmetic of named numbers, the constant pi and the functions sqrt,
// abs, exp, log, log10, sin, cos, tan, asin, acos, atan, atan2, hypot, min, max, round
// (halves away from 0) and floor; comparisons and "a > 1 ? x : y" are arithmetic too. All numbers are float64. A name
// that is no word of letters, digits and underscores is put in quotes. A label, whose values are
// names, is compared with a name in quotes: profile == "Clark-Y" ? 1 : 0. An expression
// has access to nothing else. Package expr-lang/expr parses it.
package derive

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// Definition is a number and the expression that gives it.
type Definition struct{ Name, Text string }

// Set holds the definitions of a campaign, each after those it needs.
type Set struct {
	constants map[string]float64
	all       []derived
}

type derived struct {
	Definition
	names   []string // that its expression uses
	value   evaluate
	needs   []string // all names, also those of definitions it needs
	outcome bool     // it needs an outcome
}

// Error reports a definition that cannot be used.
type Error struct {
	Definition
	Column  int    // of the expression, in characters from 1; 0: the name
	Message string // expected, found, what to do
}

func (e *Error) Error() string {
	if e.Column == 0 {
		return e.Message
	}

	text, most := e.Text, 200
	if len(text) > most {
		from := min(max(e.Column-1-most/2, 0), len(text)-most) // near the fault
		text = strings.ToValidUTF8(text[from:from+most], "") + "…"
	}

	return fmt.Sprintf("%q, character %d: %s", text, e.Column, e.Message)
}

// New checks definitions over conditions, labels, outcomes, constants and each other. A
// definition that needs an outcome defines an outcome, any other one a condition. The
// error is an *Error.
func New(defs []Definition, constants map[string]float64, conditions, labels, outcomes []string) (*Set, error) {
	s := &Set{constants: constants}

	known := slices.Concat(conditions, labels, outcomes, slices.Collect(maps.Keys(constants)))
	slices.Sort(known)
	known = slices.Compact(known)

	for _, d := range defs {
		if slices.Contains(known, d.Name) {
			return nil, &Error{Definition: d, Message: fmt.Sprintf("%q is a name of the data already; choose another", d.Name)}
		}
	}

	known = append(known, lists.Each(defs, func(d Definition) string { return d.Name })...)

	open := make([]derived, len(defs))
	for i, d := range defs {
		names, value, err := parse(d, known, labels)
		if err != nil {
			return nil, err
		}

		open[i] = derived{Definition: d, names: names, value: value, needs: names}
	}

	for len(open) > 0 {
		n := len(open)

		open = slices.DeleteFunc(open, func(d derived) bool { return s.settle(d, open, outcomes) })
		if len(open) == n {
			names := lists.Each(open, func(d derived) string { return d.Name })

			return nil, &Error{Definition: open[0].Definition, Message: fmt.Sprintf(
				"it needs itself, among %s; a derived number needs measured ones in the end", strings.Join(names, ", "))}
		}
	}

	return s, nil
}

// settle appends d where all definitions it needs are there.
func (s *Set) settle(d derived, open []derived, outcomes []string) bool {
	for _, n := range d.names {
		if slices.ContainsFunc(open, func(o derived) bool { return o.Name == n }) {
			return false
		}

		if k := s.index(n); k >= 0 {
			d.needs = append(slices.Clip(d.needs), s.all[k].needs...)
		}
	}

	d.outcome = slices.ContainsFunc(d.needs, func(n string) bool { return slices.Contains(outcomes, n) })
	s.all = append(s.all, d)

	return true
}

func (s *Set) index(name string) int {
	return slices.IndexFunc(s.all, func(d derived) bool { return d.Name == name })
}

// Conditions returns the names of the conditions that are defined. s may be nil, as
// of the other methods.
func (s *Set) Conditions() []string { return s.names(false) }

// Outcomes returns the names of the outcomes that are defined.
func (s *Set) Outcomes() []string { return s.names(true) }

func (s *Set) names(outcomes bool) (out []string) {
	if s == nil {
		return nil
	}

	held := lists.Keep(s.all, func(d derived) bool { return d.outcome == outcomes })

	return lists.Each(held, func(d derived) string { return d.Name })
}

// Text returns the expression of a name, "" where it has none.
func (s *Set) Text(name string) string {
	if s != nil {
		if k := s.index(name); k >= 0 {
			return s.all[k].Text
		}
	}

	return ""
}

// Needs reports whether the definition of a name needs the number called other,
// itself or through others.
func (s *Set) Needs(name, other string) bool {
	if s == nil {
		return false
	}

	k := s.index(name)

	return k >= 0 && slices.Contains(s.all[k].needs, other)
}

// ValueError reports a result that is no finite number.
type ValueError struct {
	Definition
	Value  float64
	Inputs string // the numbers it was computed from: "rpm = 0, tsr = 1"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s = %s is %g with %s", e.Name, e.Text, e.Value, e.Inputs)
}

// AddConditions computes the conditions whose numbers values holds, and whose labels have names,
// and adds them to values. A result that is not finite is a *ValueError.
func (s *Set) AddConditions(values map[string]float64, names map[string]string) error {
	return s.add(values, names, false)
}

// AddOutcomes is AddConditions of the outcomes.
func (s *Set) AddOutcomes(values map[string]float64, names map[string]string) error {
	return s.add(values, names, true)
}

func (s *Set) add(values map[string]float64, names map[string]string, outcomes bool) error {
	if s == nil {
		return nil
	}

	number := func(name string) (Dual, bool) { v, ok := values[name]; return Dual{Value: v}, ok }
	for _, d := range s.all {
		in := s.inputs(d, names, number)
		if d.outcome != outcomes || in == nil {
			continue
		}

		v := d.value(in).Value
		if v-v != 0 {
			return &ValueError{Definition: d.Definition, Value: v, Inputs: d.describe(in, names)}
		}

		values[d.Name] = v
	}

	return nil
}

// Differentiate computes what is defined by numbers that values holds, with exact
// derivatives (forward mode), and adds it to values; names are those of labels. s may be nil.
func (s *Set) Differentiate(values map[string]Dual, names map[string]string) {
	if s == nil {
		return
	}

	number := func(name string) (Dual, bool) { v, ok := values[name]; return v, ok }
	for _, d := range s.all {
		if in := s.inputs(d, names, number); in != nil {
			values[d.Name] = d.value(in)
		}
	}
}

// inputs are the numbers that d is computed of: those given, constants, and those of names; nil if one is not known.
func (s *Set) inputs(d derived, names map[string]string, number func(name string) (Dual, bool)) map[string]Dual {
	in := make(map[string]Dual, len(d.names))
	for _, n := range d.names {
		v, ok := number(n)
		if c, constant := s.constants[n]; constant && !ok {
			v, ok = Dual{Value: c}, true
		}

		if text, named := names[n]; named {
			v, ok = Dual{Value: code(text)}, true
		}

		if !ok {
			return nil
		}

		in[n] = v
	}

	return in
}

// didYouMean ends a message about an unknown name.
func didYouMean(name string, known []string) string {
	if hint := spelling.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "; known are " + strings.Join(known, ", ")
}

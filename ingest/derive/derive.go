// Package derive computes numbers from other numbers by expressions that a user
// writes: a tip speed from a diameter and a shaft speed, a coefficient from a force.
//
// An expression is arithmetic of named numbers, the constant pi and the functions sqrt,
// abs, exp, log, log10, sin, cos, tan, asin, acos, atan, atan2, hypot, min, max, round
// (halves away from 0) and floor; comparisons and "a > 1 ? x : y" are arithmetic too. All numbers are float64. A name
// that is no word of letters, digits and underscores is put in quotes. An expression
// has access to nothing else. Package expr-lang/expr parses and evaluates it. An
// Event is a comparison of an outcome.
package derive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"doubletake/ingest/spelling"
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
	f       *formula
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
	return fmt.Sprintf("%q, character %d: %s", e.Text, e.Column, e.Message)
}

// New checks definitions over conditions, outcomes, constants and each other. A
// definition that needs an outcome defines an outcome, any other one a condition. The
// error is an *Error.
func New(defs []Definition, constants map[string]float64, conditions, outcomes []string) (*Set, error) {
	s := &Set{constants: constants}

	known := slices.Concat(conditions, outcomes)
	for name := range constants {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}

	slices.Sort(known)

	for _, d := range defs {
		if slices.Contains(known, d.Name) {
			return nil, &Error{Definition: d, Message: fmt.Sprintf("%q is a name of the data already; choose another", d.Name)}
		}
	}

	for _, d := range defs {
		known = append(known, d.Name)
	}

	open := make([]derived, len(defs))
	for i, d := range defs {
		f, err := parse(d.Text, known)
		if err != nil {
			return nil, err.of(d)
		}

		open[i] = derived{Definition: d, f: f, needs: f.names}
	}

	for len(open) > 0 {
		n := len(open)

		open = slices.DeleteFunc(open, func(d derived) bool { return s.settle(d, open, outcomes) })
		if len(open) == n {
			names := make([]string, n)
			for i, d := range open {
				names[i] = d.Name
			}

			return nil, &Error{Definition: open[0].Definition, Message: fmt.Sprintf(
				"it needs itself, among %s; a derived number needs measured ones in the end", strings.Join(names, ", "))}
		}
	}

	return s, nil
}

// settle appends d where all definitions it needs are there.
func (s *Set) settle(d derived, open []derived, outcomes []string) bool {
	for _, n := range d.f.names {
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

	for _, d := range s.all {
		if d.outcome == outcomes {
			out = append(out, d.Name)
		}
	}

	return out
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

// AddConditions computes the conditions whose numbers values holds, and adds them to
// it. A result that is not finite is a *ValueError.
func (s *Set) AddConditions(values map[string]float64) error { return s.add(values, false) }

// AddOutcomes computes the outcomes whose numbers values holds, and adds them to it.
func (s *Set) AddOutcomes(values map[string]float64) error { return s.add(values, true) }

func (s *Set) add(values map[string]float64, outcomes bool) error {
	if s == nil {
		return nil
	}

next:
	for _, d := range s.all {
		if d.outcome != outcomes {
			continue
		}

		in := make([]float64, len(d.f.names))
		for i, n := range d.f.names {
			v, ok := values[n]
			if !ok {
				v, ok = s.constants[n]
			}

			if !ok {
				continue next
			}

			in[i] = v
		}

		v := d.f.value(in)
		if v-v != 0 {
			return &ValueError{Definition: d.Definition, Value: v, Inputs: d.f.describe(in)}
		}

		values[d.Name] = v
	}

	return nil
}

// didYouMean ends a message about an unknown name.
func didYouMean(name string, known []string) string {
	if hint := spelling.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "; known are " + strings.Join(known, ", ")
}

// Event is a range of one outcome: "bpf1_db > 70".
type Event struct {
	Definition
	Outcome string
	f       *formula
}

// NewEvent checks a comparison over one of the outcomes. The error is an *Error.
func NewEvent(d Definition, outcomes []string) (*Event, error) {
	f, bad := parseAs(d.Text, outcomes, expr.AsBool())
	if bad != nil {
		return nil, bad.of(d)
	}

	if len(f.names) != 1 {
		found := "none"
		if len(f.names) > 1 {
			found = strings.Join(f.names, ", ")
		}

		return nil, &Error{Definition: d, Column: 1, Message: fmt.Sprintf("expected a comparison of one outcome, found %s; "+
			"ingest: {derive: …} makes one outcome of several; known are %s", found, strings.Join(outcomes, ", "))}
	}

	return &Event{Definition: d, Outcome: f.names[0], f: f}, nil
}

// Holds reports whether a value of the outcome is in the range.
func (e *Event) Holds(value float64) bool { return e.f.run([]float64{value}).(bool) }

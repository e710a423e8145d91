// Package derive computes numbers from other numbers by expressions that a user
// writes: a tip speed from a diameter and a shaft speed, a coefficient from a force.
//
// An expression is arithmetic with named numbers, the constant pi and the functions sqrt,
// abs, exp, log, log10, sin, cos, tan, asin, acos, atan, atan2, hypot, min, max, round
// (halves away from 0) and floor. It may contain comparisons and choices, "a > 1 ? x : y".
// All numbers are float64. A name with other characters than letters, digits and underscores
// is written in quotes. The values of a label are names; a label can only be compared with a
// name in quotes: profile == "Clark-Y" ? 1 : 0. An expression has access to nothing else.
//
// [New] checks the definitions: package expr-lang/expr parses each expression, and the compiler
// (formula.go) turns it into terms. The methods of a [Set] evaluate the terms, with derivatives
// (dual.go) if the caller wants them.
package derive

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
)

// Definition is the name of a number and the expression that it is computed by.
type Definition struct{ Name, Text string }

// Set is the checked definitions of a campaign. A nil *Set has no definitions.
type Set struct {
	constants map[string]float64 // by name
	all       []derived          // each definition after those that it needs
}

// derived is a checked definition.
type derived struct {
	Definition
	names   []string // names in its expression
	value   *term    // its compiled expression
	needs   []string // names in its expression and in the expressions of the definitions that it needs
	outcome bool     // it needs an outcome, and is an outcome itself; otherwise it is a condition
}

// Error is the error of a definition that cannot be used.
type Error struct {
	Definition
	Column  int    // character of the expression, from 1; 0: the name is wrong
	Message string // expected, found, what to do
}

func (e *Error) Error() string {
	if e.Column == 0 {
		return e.Message
	}

	const maxText = 200 // bytes

	text := e.Text
	if len(text) > maxText {
		begin := min(max(e.Column-1-maxText/2, 0), len(text)-maxText) // the fault is about in the middle
		text = strings.ToValidUTF8(text[begin:begin+maxText], "") + "…"
	}

	return fmt.Sprintf("%q, character %d: %s", text, e.Column, e.Message)
}

// New checks definitions and puts them in order. Their expressions may use the given conditions, labels,
// outcomes and constants, and each other. A definition that needs an outcome defines an outcome; any
// other definition defines a condition. The error is an *Error.
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

	for _, d := range defs {
		known = append(known, d.Name)
	}

	parsed := make([]derived, len(defs))
	for i, d := range defs {
		names, value, err := parse(d, known, labels)
		if err != nil {
			return nil, err
		}

		parsed[i] = derived{Definition: d, names: names, value: value, needs: names}
	}

	if err := s.appendInOrder(parsed, outcomes); err != nil {
		return nil, err
	}

	return s, nil
}

// appendInOrder appends definitions to the set, each after the definitions that it needs. It returns an *Error if
// definitions need each other in a circle.
func (s *Set) appendInOrder(defs []derived, outcomes []string) error {
	open := defs // definitions that are not in the set yet
	for len(open) > 0 {
		// A pass appends each definition that needs none of the definitions that were open when the pass began.
		var waiting []derived
		for _, d := range open {
			if !s.settle(d, open, outcomes) {
				waiting = append(waiting, d)
			}
		}

		if len(waiting) == len(open) {
			var names []string
			for _, d := range open {
				names = append(names, d.Name)
			}

			return &Error{Definition: open[0].Definition, Message: fmt.Sprintf(
				"it needs itself, among %s; a derived number needs measured ones in the end", strings.Join(names, ", "))}
		}

		open = waiting
	}

	return nil
}

// settle appends d to the set if it needs none of the open definitions, and reports whether it did.
func (s *Set) settle(d derived, open []derived, outcomes []string) bool {
	for _, n := range d.names {
		if slices.ContainsFunc(open, func(o derived) bool { return o.Name == n }) {
			return false
		}

		if k := s.index(n); k >= 0 {
			d.needs = append(slices.Clip(d.needs), s.all[k].needs...)
		}
	}

	for _, n := range d.needs {
		d.outcome = d.outcome || slices.Contains(outcomes, n)
	}

	s.all = append(s.all, d)

	return true
}

// index returns the index of a name in s.all, or −1.
func (s *Set) index(name string) int {
	return slices.IndexFunc(s.all, func(d derived) bool { return d.Name == name })
}

// Conditions returns the names of the conditions that the set defines.
func (s *Set) Conditions() []string { return s.names(false) }

// Outcomes returns the names of the outcomes that the set defines.
func (s *Set) Outcomes() []string { return s.names(true) }

// names returns the names of the outcomes, or of the conditions, that the set defines.
func (s *Set) names(outcomes bool) []string {
	if s == nil {
		return nil
	}

	var defined []string
	for _, d := range s.all {
		if d.outcome == outcomes {
			defined = append(defined, d.Name)
		}
	}

	return defined
}

// Text returns the expression of a name, or "" if the set does not define the name.
func (s *Set) Text(name string) string {
	if s == nil {
		return ""
	}

	k := s.index(name)
	if k < 0 {
		return ""
	}

	return s.all[k].Text
}

// Needs reports whether the definition of a name needs the number called other, directly or through other
// definitions.
func (s *Set) Needs(name, other string) bool {
	if s == nil {
		return false
	}

	k := s.index(name)

	return k >= 0 && slices.Contains(s.all[k].needs, other)
}

// Sources returns the numbers and labels that the definition of a name needs in the end: neither constants nor names
// that the set defines. It returns nil if the set does not define the name.
func (s *Set) Sources(name string) []string {
	if s == nil {
		return nil
	}

	k := s.index(name)
	if k < 0 {
		return nil
	}

	var sources []string
	for _, needed := range s.all[k].needs {
		_, isConstant := s.constants[needed]
		isGiven := isConstant || s.index(needed) >= 0
		if !isGiven && !slices.Contains(sources, needed) {
			sources = append(sources, needed)
		}
	}

	return sources
}

// ValueError is the error of a result that is not a finite number.
type ValueError struct {
	Definition
	Value  float64
	Inputs string // numbers and names that it was computed from: "rpm = 0, tsr = 1"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s = %s is %g with %s", e.Name, e.Text, e.Value, e.Inputs)
}

// AddConditions computes the conditions and adds them to values. values has the known numbers by name, and names
// the values of the labels. It leaves out conditions that need a number or a label that is missing. A result
// that is not finite is a *ValueError.
func (s *Set) AddConditions(values map[string]float64, names map[string]string) error {
	return s.add(values, names, false)
}

// AddOutcomes does the same as AddConditions for the outcomes.
func (s *Set) AddOutcomes(values map[string]float64, names map[string]string) error {
	return s.add(values, names, true)
}

// add does the work of AddOutcomes, or of AddConditions if outcomes is false.
func (s *Set) add(values map[string]float64, names map[string]string, outcomes bool) error {
	if s == nil {
		return nil
	}

	for _, d := range s.all {
		if d.outcome != outcomes {
			continue
		}

		given := make(map[string]Dual, len(d.names))
		for _, n := range d.names {
			if v, ok := values[n]; ok {
				given[n] = Dual{Value: v}
			}
		}

		inputs, ok := s.inputs(d, given, names)
		if !ok {
			continue
		}

		v := d.value.evaluate(inputs).Value
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &ValueError{Definition: d.Definition, Value: v, Inputs: d.describe(inputs, names)}
		}

		values[d.Name] = v + 0 // −0 + 0 is 0: equal conditions are written alike
	}

	return nil
}

// Differentiate computes all definitions with exact derivatives (forward mode), and adds them to values. values has
// the known numbers by name, and names the values of the labels. It leaves out definitions that need a number or a
// label that is missing.
func (s *Set) Differentiate(values map[string]Dual, names map[string]string) {
	if s == nil {
		return
	}

	for _, d := range s.all {
		if inputs, ok := s.inputs(d, values, names); ok {
			values[d.Name] = d.value.evaluate(inputs)
		}
	}
}

// inputs returns the numbers that d is computed from, by name: known values, constants, and the codes of labels. ok is
// false if one of them is missing.
func (s *Set) inputs(d derived, values map[string]Dual, names map[string]string) (inputs map[string]Dual, ok bool) {
	inputs = make(map[string]Dual, len(d.names))
	for _, n := range d.names {
		v, known := values[n]
		if c, constant := s.constants[n]; constant && !known {
			v = Dual{Value: c}
			known = true
		}

		if text, named := names[n]; named {
			v = Dual{Value: code(text)}
			known = true
		}

		if !known {
			return nil, false
		}

		inputs[n] = v
	}

	return inputs, true
}

// didYouMean returns the end of a message about an unknown name: a similar name, or all known names.
func didYouMean(name string, known []string) string {
	if hint := spelling.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "; known are " + strings.Join(known, ", ")
}

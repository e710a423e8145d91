package config

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rule selects the held-out conditions; all of its terms must hold.
type Rule []Term

// Term is the rule for one condition. Exactly one form is set.
type Term struct {
	Condition    string
	Values       []float64 // one of these
	Min, Max     float64   // Min ≤ value ≤ Max; unset sides are infinite
	Near, Within float64   // |value − Near| ≤ Within
	form         string    // "values", "range", "near", "none"
}

// NoneRule is the rule of a final model: nothing is held out.
func NoneRule() Rule { return Rule{{form: "none"}} }

// None reports whether nothing is held out.
func (r Rule) None() bool { return len(r) == 1 && r[0].form == "none" }

// ValuesTerm is the rule "condition is one of values".
func ValuesTerm(condition string, values ...float64) Term {
	return Term{Condition: condition, Values: values, form: "values"}
}

// RangeTerm is the rule "lo ≤ condition ≤ hi".
func RangeTerm(condition string, lo, hi float64) Term {
	return Term{Condition: condition, Min: lo, Max: hi, form: "range"}
}

// Holds reports whether value v satisfies the term. Values are compared with a
// relative tolerance of 1e-9, for numbers that went through text.
func (t Term) Holds(v float64) bool {
	switch t.form {
	case "range":
		return v >= t.Min && v <= t.Max
	case "near":
		return math.Abs(v-t.Near) <= t.Within*(1+1e-12)
	}
	for _, w := range t.Values {
		if v == w || math.Abs(v-w) <= 1e-9*math.Max(math.Abs(v), math.Abs(w)) {
			return true
		}
	}
	return false
}

func (t Term) String() string {
	switch t.form {
	case "none":
		return "nothing"
	case "range":
		switch {
		case math.IsInf(t.Min, -1):
			return fmt.Sprintf("%s ≤ %g", t.Condition, t.Max)
		case math.IsInf(t.Max, 1):
			return fmt.Sprintf("%s ≥ %g", t.Condition, t.Min)
		}
		return fmt.Sprintf("%g ≤ %s ≤ %g", t.Min, t.Condition, t.Max)
	case "near":
		return fmt.Sprintf("%s = %g ± %g", t.Condition, t.Near, t.Within)
	}
	s := make([]string, len(t.Values))
	for i, v := range t.Values {
		s[i] = fmt.Sprintf("%g", v)
	}
	return t.Condition + " = " + strings.Join(s, ", ")
}

func (r Rule) String() string {
	s := make([]string, len(r))
	for i, t := range r {
		s[i] = t.String()
	}
	return strings.Join(s, " and ")
}

func (r *Rule) decodeNode(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value == "none" {
		*r = NoneRule()
		return
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.fail(n, path, "expected conditions and their held-out values, e.g. {blades: 2}, or none, found %s", describe(n))
		return
	}
	d.eachKey(n, path, func(k, v *yaml.Node) {
		p := path + "." + k.Value
		t := Term{Condition: k.Value}
		switch v = resolve(v); v.Kind {
		case yaml.ScalarNode:
			x, ok := d.number(v, p)
			if !ok {
				return
			}
			t.form, t.Values = "values", []float64{x}
		case yaml.SequenceNode:
			t.form = "values"
			for _, e := range v.Content {
				x, ok := d.number(resolve(e), p)
				if !ok {
					return
				}
				t.Values = append(t.Values, x)
			}
			if len(t.Values) == 0 {
				d.fail(v, p, "expected at least one value, found an empty list")
				return
			}
		case yaml.MappingNode:
			var f struct {
				Min    float64 `key:"min"`
				Max    float64 `key:"max"`
				Near   float64 `key:"near"`
				Within float64 `key:"within"`
			}
			f.Min, f.Max = math.Inf(-1), math.Inf(1)
			before := len(d.errs)
			d.value(v, p, &f)
			if len(d.errs) > before {
				return
			}
			has := func(s string) bool { _, ok := d.where[p+"."+s]; return ok }
			near, rng := has("near") || has("within"), has("min") || has("max")
			switch {
			case near && rng, !near && !rng, near && (!has("near") || !has("within")):
				d.fail(v, p, "expected {min, max} or {near, within}")
				return
			case near:
				t.form, t.Near, t.Within = "near", f.Near, f.Within
			default:
				if f.Min > f.Max {
					d.fail(v, p, "expected min ≤ max, found %g > %g", f.Min, f.Max)
					return
				}
				t.form, t.Min, t.Max = "range", f.Min, f.Max
			}
		}
		*r = append(*r, t)
	})
}

// ParseHold reads what the command line holds out: "blades=3", "blades=2,3",
// "rpm=3000:5000" (a range), several joined with ";" or "&".
func ParseHold(s string) (Rule, error) {
	var r Rule
	for _, part := range strings.FieldsFunc(s, func(c rune) bool { return c == ';' || c == '&' }) {
		name, val, ok := strings.Cut(part, "=")
		name, val = strings.TrimSpace(name), strings.TrimSpace(val)
		if !ok || name == "" || val == "" {
			return nil, fmt.Errorf("hold out %q: expected condition=value, condition=value,value or condition=from:to", part)
		}
		if lo, hi, ok := strings.Cut(val, ":"); ok {
			a, err1 := parseFloat(lo)
			b, err2 := parseFloat(hi)
			if err1 != nil || err2 != nil || a > b {
				return nil, fmt.Errorf("hold out %q: expected a range from:to of numbers, found %q", part, val)
			}
			r = append(r, RangeTerm(name, a, b))
			continue
		}
		t := ValuesTerm(name)
		for _, v := range strings.Split(val, ",") {
			x, err := parseFloat(v)
			if err != nil {
				return nil, fmt.Errorf("hold out %q: expected a number, found %q", part, v)
			}
			t.Values = append(t.Values, x)
		}
		r = append(r, t)
	}
	if len(r) == 0 {
		return nil, fmt.Errorf("hold out %q: expected condition=value", s)
	}
	return r, nil
}

package config

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"doubletake/ingest/fault"
)

// Uncertainty is what a text such as "50.2 m ± 0.1 %, k 2" states.
type Uncertainty struct {
	Value    float64 // NaN: not stated
	Unit     string  // of value or uncertainty; "": not stated
	U        float64 // standard uncertainty, in the unit; relative to the value where Percent
	Percent  bool
	DoF      float64 // degrees of freedom; +Inf: well known
	Law      string  // normal, rectangular, triangular or U-shaped
	Observed bool    // by repeated observations (type A)
}

// laws are the laws of an uncertainty with half width over standard deviation.
var laws = []struct {
	name  string
	ratio float64
}{{"normal", 0}, {"rectangular", math.Sqrt(3)}, {"triangular", math.Sqrt(6)}, {"U-shaped", math.Sqrt2}}

const uncertaintyForm = `"± 0.2, k 2", "± 0.5 %, rectangular" (or triangular, U-shaped) or "u 0.1, dof 12, type A", ` +
	`after a value where one is wanted`

// ParseUncertainty reads the statement of an uncertainty.
func ParseUncertainty(text string) (u Uncertainty, err error) {
	u = Uncertainty{Value: math.NaN(), DoF: math.Inf(1), Law: "normal"}
	bad := func() (Uncertainty, error) {
		return u, fmt.Errorf("expected %s, found %q", uncertaintyForm, text)
	}

	half, k := math.NaN(), 0.0
	u.U = math.NaN()
	for i, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		word, rest, _ := strings.Cut(part, " ")
		before, after, spread := strings.Cut(part, "±")
		law := slices.IndexFunc(laws, func(l struct {
			name  string
			ratio float64
		},
		) bool {
			return l.name == part
		})

		ok := true
		switch {
		case spread:
			if ok = u.number(after, &half); ok && strings.TrimSpace(before) != "" {
				ok = i == 0 && u.number(before, &u.Value)
			}
		case word == "k":
			ok = plainNumber(rest, &k) && k > 0
		case word == "u":
			ok = u.number(rest, &u.U)
		case word == "dof":
			ok = plainNumber(rest, &u.DoF) && u.DoF > 0
		case part == "type A":
			u.Observed = true
		case law >= 0:
			u.Law = part
		default:
			ok = i == 0 && u.number(part, &u.Value)
		}

		if !ok {
			return bad()
		}
	}

	ratio := k
	for _, l := range laws {
		if l.name == u.Law && l.ratio > 0 {
			ratio = l.ratio
		}
	}

	switch stated := half == half; {
	case stated && u.U == u.U, stated && (ratio == 0 || k > 0 && u.Law != "normal"), !stated && k > 0:
		return bad() // two statements, or too few
	case stated:
		u.U = half / ratio
	case u.U != u.U && u.Value == u.Value:
		u.U = 0
	}

	if !(u.U >= 0) {
		return bad()
	}

	return u, nil
}

func plainNumber(text string, v *float64) bool {
	var err error
	*v, err = parseFloat(strings.TrimSpace(text))

	return err == nil && !math.IsInf(*v, 0) && *v == *v
}

// number reads a number with a unit, or %.
func (u *Uncertainty) number(text string, v *float64) bool {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch unit = strings.TrimSpace(unit); {
	case strings.HasSuffix(number, "%") || unit == "%":
		number, u.Percent = strings.TrimSuffix(number, "%"), true
	case unit != "" && u.Unit != "" && unit != u.Unit:
		return false
	case unit != "":
		u.Unit = unit
	}

	if !plainNumber(number, v) {
		return false
	}

	if v != &u.Value && u.Percent {
		*v /= 100
	}

	return true
}

// Budget is a file with a budget of uncertainty.
type Budget struct {
	// outcomes and the expressions of quantities that give them, e.g. R_ohm: V/I*cos(phi)
	Outcomes []NamedString `key:"outcomes"`

	// quantities with their uncertainties, e.g. length_m: "0.5 ± 0.001, rectangular"
	Inputs []NamedString `key:"inputs"`

	// table of readings that were taken together, a column for each quantity
	Readings string `key:"readings"`

	// column of that table with the group of a reading, such as its day
	Groups string `key:"groups"`

	// level of the expanded uncertainty
	Level float64 `key:"level"`

	Path string
}

// LoadBudget reads a file with a budget.
func LoadBudget(path string) (*Budget, error) {
	b, err := fault.ReadFile(path, maxConfiguration, "a budget")
	if err != nil {
		return nil, err
	}

	var doc yaml.Node
	d := &decoder{file: path, lines: strings.Split(string(b), "\n"), where: map[string]pos{}, variant: map[string]string{}}
	if err := yaml.NewDecoder(bytes.NewReader(b)).Decode(&doc); err != nil {
		return nil, Errors{syntaxError(path, d.lines, err)}
	}

	out := &Budget{Path: path, Level: 0.95}
	if len(doc.Content) > 0 {
		d.value(doc.Content[0], "", out)
	}

	f := &File{Path: path, lines: d.lines, where: d.where, variant: d.variant}
	fail := func(key, format string, args ...any) { d.errs = append(d.errs, f.Errorf(key, format, args...)) }
	if len(d.errs) == 0 {
		out.validate(fail)
	}

	if len(d.errs) > 0 {
		return nil, d.errs.distinct()
	}

	if out.Readings != "" && !filepath.IsAbs(out.Readings) {
		out.Readings = filepath.Join(filepath.Dir(path), out.Readings)
	}

	return out, nil
}

func (b *Budget) validate(fail failFunc) {
	if len(b.Outcomes) == 0 {
		fail("outcomes", "expected an outcome with its expression, found none")
	}

	if len(b.Inputs) == 0 && b.Readings == "" {
		fail("inputs", "expected quantities here or a table of readings, found neither")
	}

	if !(b.Level > 0.5 && b.Level < 1) {
		fail("level", "expected a level above 0.5 and below 1, found %s", strconv.FormatFloat(b.Level, 'g', -1, 64))
	}

	for _, in := range b.Inputs {
		if u, err := ParseUncertainty(in.Value); err != nil {
			fail("inputs."+in.Name, "%v", err)
		} else if u.Value != u.Value {
			fail("inputs."+in.Name, "expected a value before the uncertainty, found %q", in.Value)
		}
	}
}

// checkUncertainties reports statements that cannot be read.
func checkUncertainties(list []NamedString, key string, fail failFunc) {
	for _, n := range list {
		if _, err := ParseUncertainty(n.Value); err != nil {
			fail(key+"."+n.Name, "%v", err)
		}
	}
}

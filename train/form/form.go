// Package form writes the inputs and outcomes of a campaign in other forms: as logarithms, as ratios without a
// dimension, and as coefficients such as a force over ρu²ℓ². List returns the forms that the units allow
// (list.go), Form maps numbers to a form and back, and Choose has the rule by which a form is chosen (choice.go). The
// package fits nothing; train/honest scores each form on left-out groups.
//
// A process is the model that sees conditions in a form (package train/gp). A thing is something with a name that was
// measured at several conditions, such as a propeller. An input with one value for each thing, such as its pitch, is a
// property of things (Quantity.OfThing).
package form

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Dimension is the dimension of a quantity. The zero value belongs to an angle, a ratio, a level or an unknown unit:
// forms leave such a quantity as it is.
type Dimension struct {
	Mass, Length, Time int  // powers of kg, m and s
	Known              bool // whether the powers are known
	Count              bool // whether the quantity is a number of things, such as blades
}

// Quantity is an input or an outcome.
type Quantity struct {
	Name string
	Dimension
	Positive bool    // whether all its values in the data are positive
	OfThing  bool    // whether it is an input that has one value for each thing, so that a form may set it aside
	Spread   float64 // of an input: deviation of ln of its values; 0 if they are not all positive
}

// has reports whether the quantity is positive, without mass, and has the given powers of length and time.
func (q Quantity) has(length, time int) bool {
	return q.Positive && q.Known && q.Mass == 0 && q.Length == length && q.Time == time
}

// logarithmic reports whether the quantity can enter as its logarithm: it is positive, and has a dimension or is a
// count.
func (q Quantity) logarithmic() bool { return q.Positive && (q.Known || q.Count) }

// Column is an input that a process sees in a form. It is an input of the data as it is, or ln of a product of powers
// of inputs.
type Column struct {
	Input  int       `json:"from"`             // number of the input; of a product, the input that it is named after
	Powers []float64 `json:"powers,omitempty"` // by input: its power in the product; nil: the input as it is
	Slope  bool      `json:"slope,omitempty"`  // whether outcomes depend on the column linearly, in no Matérn kernel
}

// Uses reports whether the column depends on input k.
func (c Column) Uses(k int) bool {
	if c.Powers == nil {
		return c.Input == k
	}
	return c.Powers[k] != 0
}

// IsProduct reports whether the column is ln of a product of several inputs.
func (c Column) IsProduct() bool {
	factors := 0
	for _, p := range c.Powers {
		if p != 0 {
			factors++
		}
	}

	return factors > 1
}

// Form maps the inputs of conditions to columns, and each outcome y to z = y/Π x^p, with powers p of the inputs x.
type Form struct {
	Name    string      `json:"name"`
	Formula string      `json:"formula"` // what outcomes are divided by, for people
	Columns []Column    `json:"columns"`
	Powers  [][]float64 `json:"outcome_powers"`  // by outcome: power of each input; nil: the outcome stays as it is
	Aside   []string    `json:"aside,omitempty"` // inputs that the form does not use
	Prior   float64     `json:"-"`               // ln of the prior odds of the form if the groups are things
}

// UsesAlone reports whether a column of the form depends on input k and on no other.
func (f *Form) UsesAlone(k int) bool {
	return slices.ContainsFunc(f.Columns, func(c Column) bool { return c.Uses(k) && !c.IsProduct() })
}

// uses reports whether the form uses input k.
func (f *Form) uses(k int) bool {
	if slices.ContainsFunc(f.Columns, func(c Column) bool { return c.Uses(k) }) {
		return true
	}

	return slices.ContainsFunc(f.Powers, func(p []float64) bool { return p != nil && p[k] != 0 })
}

// Divides reports whether the form divides any outcome.
func (f *Form) Divides() bool {
	for _, p := range f.Powers {
		if p != nil {
			return true
		}
	}

	return false
}

// Raw is the name of the form that a model has by default.
const Raw = "raw"

// Auto is the name that asks for a choice of the form by left-out groups.
const Auto = "auto"

// Kinds of forms by their names, before the inputs in brackets.
const (
	ratiosKind      = "ratios"
	coefficientKind = "coefficient"
	tipKind         = "tip"
	reynoldsKind    = "reynolds"
)

// without stands in the name of a form before the inputs that the form sets aside.
const without = " without "

// maxKindInputs is the largest number of inputs in the brackets of a name: a speed and a length.
const maxKindInputs = 2

// Named reports whether a form of the given inputs can have the name: Raw, Auto, log, order, and a kind with one or two
// inputs, a speed and perhaps a length, as in "coefficient(speed,chord)-". log and the kinds may be
// followed by inputs that they set aside, as in "tip(rpm,diameter_in) without pitch_in". Units may still exclude the
// form.
func Named(name string, inputs []string) bool {
	if slices.Contains([]string{Raw, Auto, "order"}, name) {
		return true
	}

	name, aside, setsAside := strings.Cut(name, without)
	if setsAside && !areInputs(strings.Split(aside, ","), inputs) {
		return false
	}

	return name == "log" || namesKind(name, inputs)
}

// namesKind reports whether the name is a kind with one or two of the inputs in brackets, such as
// "tip(rpm,diameter_in)".
func namesKind(name string, inputs []string) bool {
	kind, rest, _ := strings.Cut(name, "(")
	if !slices.Contains([]string{ratiosKind, coefficientKind, tipKind, reynoldsKind}, kind) {
		return false
	}

	list, isClosed := strings.CutSuffix(strings.TrimSuffix(rest, "-"), ")")
	names := strings.Split(list, ",")

	return isClosed && len(names) <= maxKindInputs && areInputs(names, inputs)
}

// areInputs reports whether all names are among the inputs.
func areInputs(names, inputs []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(inputs, n) })
}

// X returns the columns of the form at conditions x, rows of the given number of inputs. It returns an error if an
// input that enters as its logarithm is not positive.
func (f *Form) X(x []float64, inputs int) ([]float64, error) {
	z := make([]float64, 0, len(x)/inputs*len(f.Columns))
	for i := 0; i < len(x); i += inputs {
		row := x[i : i+inputs]
		for _, c := range f.Columns {
			v := row[c.Input]
			if c.Powers != nil {
				v = lnProduct(c.Powers, row)
			}

			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("write row %d in the form %s: expected finite inputs, positive where a logarithm is taken, "+
					"found %g", i/inputs, f.Name, row)
			}

			z = append(z, v)
		}
	}

	return z, nil
}

// LnFactors returns ln(y/z) for each row of conditions x and each outcome, rows × outcomes. It is 0 for outcomes that
// stay as they are. Inputs with a power must be positive.
func (f *Form) LnFactors(x []float64, inputs int) []float64 {
	factors := make([]float64, 0, len(x)/inputs*len(f.Powers))
	for i := 0; i < len(x); i += inputs {
		for _, p := range f.Powers {
			factors = append(factors, lnProduct(p, x[i:i+inputs]))
		}
	}

	return factors
}

// lnProduct returns ln of the product of the numbers of a row, each raised to its power. Without powers it returns 0.
// CONTRIBUTING.md says why the product is converted.
func lnProduct(powers, row []float64) float64 {
	sum := 0.0
	for k, p := range powers {
		if p != 0 {
			sum += float64(p * math.Log(row[k]))
		}
	}

	return sum
}

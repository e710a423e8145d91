package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// List returns the forms other than Raw that the units allow. The order matters: of equally good forms the first is
// chosen.
//
// The first form takes logarithms of the inputs. Then there are two forms for each length ℓ and each speed u, which
// may be n·ℓ for a shaft speed n. They divide the other inputs by the powers of u and ℓ that leave no dimension,
// and outcomes with a mass by ρ·u^b·ℓ^c. ln u and ln ℓ stay inputs; in the form whose name ends with "-" they
// have slopes only. The density ρ and a constant length are factors that standardisation removes, so that neither need
// be an input. A product of a speed and a length, such as a tip speed or a Reynolds number, may replace both (tip.go).
//
// If inputs are properties of things, List adds forms that set some of these inputs aside (things.go). It then leaves
// out the forms that only turn inputs into ratios, because ratios know as much about the things as the inputs do.
func List(inputs, outcomes []Quantity) []Form {
	g := generator{inputs: inputs, outcomes: outcomes}
	var logs []Column
	hasLogarithm := false
	for k := range inputs {
		column := g.logarithm(k)
		logs = append(logs, column)
		hasLogarithm = hasLogarithm || column.Powers != nil
	}

	if hasLogarithm {
		g.add(Form{Name: "log", Formula: "logarithms of the inputs", Columns: logs, Powers: make([][]float64, len(outcomes))})
	}

	lengths := g.withPowers(1, 0)
	if len(lengths) == 0 {
		lengths = []int{none}
	}

	speeds := slices.Concat(g.withPowers(1, -1), g.withPowers(0, -1)) // in m/s, then in 1/s
	for _, l := range lengths {
		for _, u := range speeds {
			g.ratios(u, l, withKernels)
			g.ratios(u, l, withSlopes)
		}
	}

	g.products()
	if slices.ContainsFunc(inputs, func(q Quantity) bool { return q.OfThing }) {
		g.ofThings(Form{Name: "log", Columns: logs, Powers: make([][]float64, len(outcomes))})
	}

	return g.list
}

// none stands for the number of the length if no input is a length.
const none = -1

// scaleColumns says how the logarithms of the speed and the length enter a form of ratios.
type scaleColumns int

const (
	withKernels scaleColumns = iota // like other columns, in Matérn kernels
	withSlopes                      // with slopes only, see Column.Slope
)

// generator collects the forms that some inputs and outcomes can have.
type generator struct {
	inputs, outcomes []Quantity
	list             []Form
}

// add adds a form to the list, unless an earlier one has the same columns and outcomes.
func (g *generator) add(f Form) {
	for _, earlier := range g.list {
		if earlier.key() == f.key() {
			return
		}
	}

	g.list = append(g.list, f)
}

// key returns a text that is the same for forms with the same columns and outcomes.
func (f Form) key() string {
	var columns []string
	for _, c := range f.Columns {
		if c.Powers != nil {
			c.Input = 0 // products of the same inputs are equal, whichever input gives the name
		}

		columns = append(columns, fmt.Sprint(c))
	}

	slices.Sort(columns)

	return fmt.Sprint(slices.Compact(columns), f.Powers)
}

// withPowers returns the positive inputs without mass that have the given powers of length and time.
func (g *generator) withPowers(length, time int) []int {
	var list []int
	for k, q := range g.inputs {
		if q.has(length, time) {
			list = append(list, k)
		}
	}

	return list
}

// logarithm returns the column of ln of an input, or of the input itself if it cannot enter as its logarithm.
func (g *generator) logarithm(k int) Column {
	if !g.inputs[k].logarithmic() {
		return Column{Input: k}
	}

	p := make([]float64, len(g.inputs))
	p[k] = 1

	return Column{Input: k, Powers: p}
}

// powers returns the power of each input in u^b·ℓ^c, where input u is the speed and input l the length ℓ. If input
// u is a shaft speed n, the speed is n·ℓ, and the product n^b·ℓ^(b+c).
func (g *generator) powers(u, l, b, c int) []float64 {
	p := make([]float64, len(g.inputs))
	isShaftSpeed := g.inputs[u].Length == 0
	if isShaftSpeed {
		c += b
	}

	p[u] = float64(b)
	if l != none {
		p[l] = float64(c)
	}

	return p
}

// ratios adds the form of ratios to input u, the speed, and input l, the length, which may be none. It adds no form of
// slopes if there is no other input.
func (g *generator) ratios(u, l int, enter scaleColumns) {
	slopesOnly := enter == withSlopes
	columns := g.ratioColumns(u, l)
	if slopesOnly && len(columns) == 0 {
		return // nothing is left for the kernels
	}

	for _, k := range []int{u, l} {
		if k != none {
			column := g.logarithm(k)
			column.Slope = slopesOnly
			columns = append(columns, column)
		}
	}

	f := Form{Columns: columns, Powers: make([][]float64, len(g.outcomes))}
	var formula []string // of each outcome that is divided
	for j, q := range g.outcomes {
		if !q.Known || q.Mass == 0 {
			continue
		}

		// Let y have the powers a of mass, l of length and t of time. Then y/(ρ^a·u^b·ℓ^c) has no dimension if b = −t and
		// c = l + 3a + t, because ρ is a mass over length³ and u a length over time.
		p := g.powers(u, l, -q.Time, q.Length+3*q.Mass+q.Time)
		if allZero(p) {
			continue
		}

		f.Powers[j] = p
		formula = append(formula, q.Name+"/("+density(q.Mass)+g.text(p)+")")
	}

	name := coefficientKind
	if formula == nil {
		name = ratiosKind
	}

	inputs := g.inputs[u].Name
	if l != none {
		inputs += "," + g.inputs[l].Name
	}

	f.Name = fmt.Sprintf("%s(%s)", name, inputs)
	if slopesOnly {
		f.Name += "-"
	}

	f.Formula = cmp.Or(strings.Join(formula, ", "), "inputs as ratios with "+g.text(g.powers(u, l, 1, 0)))
	g.add(f)
}

// ratioColumns returns the columns of the inputs other than u and l, as ln of ratios to these if they have a dimension.
func (g *generator) ratioColumns(u, l int) []Column {
	var columns []Column
	for k, q := range g.inputs {
		if k == u || k == l {
			continue
		}

		column := g.logarithm(k)
		hasRatio := column.Powers != nil && !q.Count && q.Mass == 0
		if hasRatio {
			for i, v := range g.powers(u, l, -q.Time, q.Length+q.Time) {
				column.Powers[i] -= v
			}
		}

		columns = append(columns, column)
	}

	return columns
}

// allZero reports whether all numbers are 0.
func allZero(v []float64) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}

	return true
}

// density writes a power of ρ as a factor.
func density(mass int) string {
	if mass == 1 {
		return "ρ·"
	}
	return fmt.Sprintf("ρ^%d·", mass)
}

// text writes a product of powers of the inputs.
func (g *generator) text(powers []float64) string {
	var parts []string
	for k, p := range powers {
		if p != 0 {
			parts = append(parts, Power(g.inputs[k].Name, p))
		}
	}

	return strings.Join(parts, "·")
}

// Power writes a power of an input.
func Power(name string, power float64) string {
	if power == 1 {
		return name
	}
	return fmt.Sprintf("%s^%g", name, power)
}

package form

import (
	"fmt"
	"slices"
	"strings"
)

// This file adds the forms in which the product of a speed and a length replaces both: a tip speed n·ℓ of a shaft speed
// n and a diameter ℓ, or a Reynolds number u·ℓ up to the viscosity. A level in dB may then be linear in 10·lg of the
// product.

// products adds a form for each speed and each length. If the name of a length says that it is a diameter or a radius,
// shaft speeds are multiplied by no other length.
func (g *generator) products() {
	lengths := g.withPowers(1, 0)
	tips := slices.DeleteFunc(slices.Clone(lengths), func(l int) bool { return !g.isDiameter(l) })
	if len(tips) == 0 {
		tips = lengths
	}

	for _, n := range g.withPowers(0, -1) {
		for _, l := range tips {
			g.product(tipKind, n, l)
		}
	}

	for _, u := range g.withPowers(1, -1) {
		for _, l := range lengths {
			g.product(reynoldsKind, u, l)
		}
	}
}

// isDiameter reports whether the name of an input says that it is a diameter or a radius.
func (g *generator) isDiameter(l int) bool {
	name := g.inputs[l].Name
	return strings.Contains(name, "diam") || strings.Contains(name, "radius")
}

// product adds the form in which u·ℓ replaces the speed u and the length ℓ. Beside a tip speed, speeds in m/s become
// their ratio to it, the advance ratio. Other inputs enter as their logarithms.
func (g *generator) product(kind string, u, l int) {
	f := Form{
		Name:   fmt.Sprintf("%s(%s,%s)", kind, g.inputs[u].Name, g.inputs[l].Name),
		Powers: make([][]float64, len(g.outcomes)),
	}
	for k, q := range g.inputs {
		if k == l {
			continue
		}

		column := g.logarithm(k)
		isAdvance := kind == tipKind && q.has(1, -1)
		switch {
		case k == u:
			column.Powers[l] = 1
			f.Formula = g.text(column.Powers)
		case isAdvance:
			column.Powers[u] = -1
			column.Powers[l] = -1
		}

		f.Columns = append(f.Columns, column)
	}

	if kind == tipKind {
		f.Formula = "tip speed " + f.Formula
	} else {
		f.Formula = "Reynolds number by " + f.Formula
	}

	if kind == tipKind && g.isDiameter(l) {
		f.Prior = tipSpeed
	}

	g.add(f)
}

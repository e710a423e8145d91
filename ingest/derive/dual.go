package derive

import (
	"maps"
	"math"

	"github.com/expr-lang/expr/ast"
)

// Dual is a number with its derivatives by some others, in an order that the caller
// chooses; without D it is a constant.
type Dual struct {
	Value float64
	D     []float64
}

// slopes are the derivatives of the functions of one number, of its value x and the
// function's v.
var slopes = map[string]func(x, v float64) float64{
	"sqrt":  func(_, v float64) float64 { return 0.5 / v },
	"abs":   func(x, _ float64) float64 { return math.Copysign(1, x) },
	"exp":   func(_, v float64) float64 { return v },
	"log":   func(x, _ float64) float64 { return 1 / x },
	"log10": func(x, _ float64) float64 { return 1 / (x * math.Ln10) },
	"sin":   func(x, _ float64) float64 { return math.Cos(x) },
	"cos":   func(x, _ float64) float64 { return -math.Sin(x) },
	"tan":   func(_, v float64) float64 { return 1 + v*v },
	"asin":  func(x, _ float64) float64 { return 1 / math.Sqrt(1-x*x) },
	"acos":  func(x, _ float64) float64 { return -1 / math.Sqrt(1-x*x) },
	"atan":  func(x, _ float64) float64 { return 1 / (1 + x*x) },
	"round": func(_, _ float64) float64 { return 0 },
	"floor": func(_, _ float64) float64 { return 0 },
}

// Differentiate computes what is defined by numbers that values holds, with exact
// derivatives (forward mode), and adds it to values. s may be nil.
func (s *Set) Differentiate(values map[string]Dual) {
	if s == nil {
		return
	}

	all := map[string]Dual{"pi": {Value: math.Pi}}
	for n, v := range s.constants {
		all[n] = Dual{Value: v}
	}

	maps.Copy(all, values)

next:
	for _, d := range s.all {
		for _, n := range d.f.names {
			if _, ok := all[n]; !ok {
				continue next
			}
		}

		all[d.Name] = differentiate(d.f.program.Node(), all)
		values[d.Name] = all[d.Name]
	}
}

// chain is a number of value v whose derivatives by a and b are da and db.
func chain(v float64, a Dual, da float64, b Dual, db float64) Dual {
	out := Dual{Value: v}
	for _, t := range []struct {
		x Dual
		d float64
	}{{a, da}, {b, db}} {
		if t.x.D == nil || t.d == 0 {
			continue
		}

		if out.D == nil {
			out.D = make([]float64, len(t.x.D))
		}

		for i, x := range t.x.D {
			if x != 0 {
				out.D[i] += t.d * x
			}
		}
	}

	return out
}

// differentiate evaluates a node that was checked; a comparison is 0 or 1.
func differentiate(node ast.Node, values map[string]Dual) Dual {
	switch n := node.(type) {
	case *ast.FloatNode:
		return Dual{Value: n.Value}
	case *ast.IntegerNode:
		return Dual{Value: float64(n.Value)}
	case *ast.BoolNode:
		return truth(n.Value)
	case *ast.IdentifierNode:
		return values[n.Value]
	case *ast.UnaryNode:
		a := differentiate(n.Node, values)
		switch n.Operator {
		case "-":
			return chain(-a.Value, a, -1, Dual{}, 0)
		case "+":
			return a
		}

		return truth(a.Value == 0) // not, !

	case *ast.ConditionalNode:
		if differentiate(n.Cond, values).Value != 0 {
			return differentiate(n.Exp1, values)
		}
		return differentiate(n.Exp2, values)

	case *ast.BinaryNode:
		return binary(n.Operator, differentiate(n.Left, values), differentiate(n.Right, values))
	case *ast.CallNode:
		name := n.Callee.(*ast.IdentifierNode).Value

		a := differentiate(n.Arguments[0], values)
		if f := one[name]; f != nil {
			v := f(a.Value)
			return chain(v, a, slopes[name](a.Value, v), Dual{}, 0)
		}

		return binary(name, a, differentiate(n.Arguments[1], values))
	}

	panic("derive: no derivative of " + node.String()) // parse lets no other node pass
}

func truth(yes bool) Dual {
	if yes {
		return Dual{Value: 1}
	}
	return Dual{}
}

// binary applies an operator, or a function, of two numbers.
func binary(operator string, p, q Dual) Dual {
	a, b := p.Value, q.Value
	switch operator {
	case "+":
		return chain(a+b, p, 1, q, 1)
	case "-":
		return chain(a-b, p, 1, q, -1)
	case "*":
		return chain(a*b, p, b, q, a)
	case "/":
		return chain(a/b, p, 1/b, q, -a/(b*b))
	case "^", "**":
		v, byExponent := math.Pow(a, b), 0.
		if q.D != nil {
			byExponent = v * math.Log(a)
		}
		return chain(v, p, b*math.Pow(a, b-1), q, byExponent)

	case "atan2":
		return chain(math.Atan2(a, b), p, b/(a*a+b*b), q, -a/(a*a+b*b))
	case "hypot":
		v := math.Hypot(a, b)
		return chain(v, p, a/v, q, b/v)

	case "min", "max":
		if a < b == (operator == "min") {
			return p
		}
		return q

	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	case ">":
		return truth(a > b)
	case ">=":
		return truth(a >= b)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "and", "&&":
		return truth(a != 0 && b != 0)
	case "or", "||":
		return truth(a != 0 || b != 0)
	}

	panic("derive: operator " + operator)
}

package derive

import "math"

// Dual is a number with its derivatives with respect to some variables.
type Dual struct {
	Value float64
	D     []float64 // one derivative per variable, in the caller's order; nil: a constant
}

// chain returns the result v of a function of a and b, by the chain rule. da and db are the derivatives of the
// function with respect to a and b.
func chain(v float64, a Dual, da float64, b Dual, db float64) Dual {
	result := Dual{Value: v}
	if n := max(len(a.D), len(b.D)); n > 0 {
		result.D = make([]float64, n)
	}

	addScaled(result.D, da, a.D)
	addScaled(result.D, db, b.D)

	return result
}

// addScaled adds factor·d to sum, in place. It takes 0·∞ for 0.
func addScaled(sum []float64, factor float64, d []float64) {
	if factor == 0 {
		return
	}

	for i, x := range d {
		if x != 0 {
			sum[i] += factor * x
		}
	}
}

// The functions of expressions with one argument and with two. log is the natural logarithm; angles are in radians.
var (
	unaryFunctions = []string{
		"sqrt", "abs", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "round", "floor",
	}
	binaryFunctions = []string{"atan2", "hypot", "min", "max"}
)

// The operators with two operands.
var (
	arithmetic  = []string{"+", "-", "*", "/", "^", "**"}                             // their results are numbers
	comparisons = []string{"<", "<=", ">", ">=", "==", "!=", "and", "&&", "or", "||"} // their results are comparisons
)

// unary applies a function with one argument, or the sign "-".
func unary(name string, a Dual) Dual {
	value, slope := unaryValue(name, a.Value)
	return chain(value, a, slope, Dual{}, 0)
}

// unaryValue returns the value and the derivative of a function with one argument at x.
func unaryValue(name string, x float64) (value, slope float64) {
	switch name {
	case "-":
		return -x, -1
	case "sqrt":
		v := math.Sqrt(x)
		return v, 0.5 / v
	case "abs":
		return math.Abs(x), math.Copysign(1, x)
	case "exp":
		v := math.Exp(x)
		return v, v
	case "log":
		return math.Log(x), 1 / x
	case "log10":
		return math.Log10(x), 1 / (x * math.Ln10)
	case "sin":
		return math.Sin(x), math.Cos(x)
	case "cos":
		return math.Cos(x), -math.Sin(x)
	case "tan":
		v := math.Tan(x)
		return v, 1 + v*v
	case "asin":
		return math.Asin(x), 1 / math.Sqrt(1-x*x)
	case "acos":
		return math.Acos(x), -1 / math.Sqrt(1-x*x)
	case "atan":
		return math.Atan(x), 1 / (1 + x*x)
	case "round":
		return math.Round(x), 0
	case "floor":
		return math.Floor(x), 0
	}

	panic("derive: unknown function " + name) // the compiler checks names
}

// binary applies a function with two arguments, or an arithmetic operator.
func binary(name string, p, q Dual) Dual {
	a := p.Value
	b := q.Value
	switch name {
	case "+":
		return chain(a+b, p, 1, q, 1)
	case "-":
		return chain(a-b, p, 1, q, -1)
	case "*":
		return chain(a*b, p, b, q, a)
	case "/":
		return chain(a/b, p, 1/b, q, -a/(b*b))
	case "^", "**":
		return power(p, q)
	case "atan2":
		return chain(math.Atan2(a, b), p, b/(a*a+b*b), q, -a/(a*a+b*b))
	case "hypot":
		v := math.Hypot(a, b)
		return chain(v, p, a/v, q, b/v)
	case "min":
		return choose(p, q, a < b)
	case "max":
		return choose(p, q, a > b)
	}

	panic("derive: unknown function " + name) // the compiler checks names
}

// choose returns p if first is true or p is NaN, and q otherwise.
func choose(p, q Dual, first bool) Dual {
	if first || math.IsNaN(p.Value) {
		return p
	}

	return q
}

// power returns p to the power of q.
func power(p, q Dual) Dual {
	a := p.Value
	b := q.Value
	v := math.Pow(a, b)
	byExponent := 0.
	if q.D != nil {
		byExponent = v * math.Log(a)
	}

	return chain(v, p, b*math.Pow(a, b-1), q, byExponent)
}

// compare applies an operator of comparisons. For "and" and "or", a number other than 0 is true.
func compare(operator string, a, b float64) bool {
	switch operator {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return a == b
	case "!=":
		return a != b
	case "and", "&&":
		return a != 0 && b != 0
	case "or", "||":
		return a != 0 || b != 0
	}

	panic("derive: unknown operator " + operator) // the compiler checks names
}

// truth returns 1 for true and 0 for false.
func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

package derive

import "math"

// Dual is a number with its derivatives by some others, in an order that the caller
// chooses; without D it is a constant.
type Dual struct {
	Value float64
	D     []float64
}

// chain is a number of value v whose derivatives by a and b are da and db.
func chain(v float64, a Dual, da float64, b Dual, db float64) Dual {
	out := Dual{Value: v}
	if n := max(len(a.D), len(b.D)); n > 0 {
		out.D = make([]float64, n)
	}

	add := func(d float64, by []float64) {
		for i, x := range by {
			if d != 0 && x != 0 { // 0·∞ is 0 here
				out.D[i] += d * x
			}
		}
	}

	add(da, a.D)
	add(db, b.D)

	return out
}

// function is a function of one number x. slope is its derivative, where its value is v.
type function struct {
	value func(x float64) float64
	slope func(x, v float64) float64
}

func (f function) of(a Dual) Dual {
	v := f.value(a.Value)
	return chain(v, a, f.slope(a.Value, v), Dual{}, 0)
}

// one and two are the functions of one number and of two. log is the natural logarithm; angles are in radians.
var one = map[string]function{
	"sqrt":  {math.Sqrt, func(_, v float64) float64 { return 0.5 / v }},
	"abs":   {math.Abs, func(x, _ float64) float64 { return math.Copysign(1, x) }},
	"exp":   {math.Exp, func(_, v float64) float64 { return v }},
	"log":   {math.Log, func(x, _ float64) float64 { return 1 / x }},
	"log10": {math.Log10, func(x, _ float64) float64 { return 1 / (x * math.Ln10) }},
	"sin":   {math.Sin, func(x, _ float64) float64 { return math.Cos(x) }},
	"cos":   {math.Cos, func(x, _ float64) float64 { return -math.Sin(x) }},
	"tan":   {math.Tan, func(_, v float64) float64 { return 1 + v*v }},
	"asin":  {math.Asin, func(x, _ float64) float64 { return 1 / math.Sqrt(1-x*x) }},
	"acos":  {math.Acos, func(x, _ float64) float64 { return -1 / math.Sqrt(1-x*x) }},
	"atan":  {math.Atan, func(x, _ float64) float64 { return 1 / (1 + x*x) }},
	"round": {math.Round, func(_, _ float64) float64 { return 0 }},
	"floor": {math.Floor, func(_, _ float64) float64 { return 0 }},
}

var two = map[string]func(p, q Dual) Dual{
	"atan2": func(p, q Dual) Dual {
		a, b := p.Value, q.Value
		return chain(math.Atan2(a, b), p, b/(a*a+b*b), q, -a/(a*a+b*b))
	},
	"hypot": func(p, q Dual) Dual {
		v := math.Hypot(p.Value, q.Value)
		return chain(v, p, p.Value/v, q, q.Value/v)
	},
	"min": func(p, q Dual) Dual { return choose(p, q, p.Value < q.Value) },
	"max": func(p, q Dual) Dual { return choose(p, q, p.Value > q.Value) },
}

// choose returns a number that is none, else the first or the second.
func choose(p, q Dual, first bool) Dual {
	if first || math.IsNaN(p.Value) {
		return p
	}

	return q
}

// arithmetic are the operators between numbers.
var arithmetic = map[string]func(p, q Dual) Dual{
	"+": func(p, q Dual) Dual { return chain(p.Value+q.Value, p, 1, q, 1) },
	"-": func(p, q Dual) Dual { return chain(p.Value-q.Value, p, 1, q, -1) },
	"*": func(p, q Dual) Dual { return chain(p.Value*q.Value, p, q.Value, q, p.Value) },
	"/": func(p, q Dual) Dual {
		a, b := p.Value, q.Value
		return chain(a/b, p, 1/b, q, -a/(b*b))
	},
	"^": power, "**": power,
}

func power(p, q Dual) Dual {
	a, b := p.Value, q.Value
	v, byExponent := math.Pow(a, b), 0.
	if q.D != nil {
		byExponent = v * math.Log(a)
	}

	return chain(v, p, b*math.Pow(a, b-1), q, byExponent)
}

// comparisons are the operators that give a comparison: of numbers, of comparisons, of two of either.
var comparisons = map[string]func(a, b float64) bool{
	"<":   func(a, b float64) bool { return a < b },
	"<=":  func(a, b float64) bool { return a <= b },
	">":   func(a, b float64) bool { return a > b },
	">=":  func(a, b float64) bool { return a >= b },
	"and": both, "&&": both, "or": either, "||": either,
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
}

func both(a, b float64) bool   { return a != 0 && b != 0 }
func either(a, b float64) bool { return a != 0 || b != 0 }

// truth is a comparison as a number, 1 if it holds.
func truth(yes bool) Dual {
	if yes {
		return Dual{Value: 1}
	}
	return Dual{}
}

package derive

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// formula is an expression that was checked.
type formula struct {
	text    string
	names   []string // that it uses, sorted
	program *vm.Program
}

// longest bounds an expression, in bytes.
const longest = 2000

// one and two are the functions of one number and of two.
var (
	one = map[string]func(float64) float64{
		"sqrt": math.Sqrt, "abs": math.Abs, "exp": math.Exp, "log": math.Log, "log10": math.Log10, "sin": math.Sin,
		"cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"round": math.Round, "floor": math.Floor,
	}
	two = map[string]func(a, b float64) float64{
		"atan2": math.Atan2, "hypot": math.Hypot, "min": math.Min, "max": math.Max,
	}
	operators = strings.Fields("+ - * / ^ ** < <= > >= == != and or && || ! not")
)

// functions lists the functions of expressions. log is the natural logarithm; angles
// are in radians.
func functions() []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(two))
	slices.Sort(out)

	return out
}

// position is an error at a character of an expression, from 1.
type position struct {
	column  int
	message string
}

func (p *position) of(d Definition) *Error {
	return &Error{Definition: d, Column: p.column, Message: p.message}
}

// parse checks an expression over the known names that gives a number.
func parse(text string, known []string) (*formula, *position) {
	return parseAs(text, known, expr.AsFloat64())
}

func parseAs(text string, known []string, kind expr.Option) (*formula, *position) {
	if len(text) > longest {
		return nil, &position{1, fmt.Sprintf("expected up to %d characters, found %d", longest, len(text))}
	}

	c := &checker{known: known, functions: functions()}

	env := map[string]any{"pi": math.Pi}
	for _, n := range known {
		env[n] = 0.
	}

	options := []expr.Option{expr.Env(env), expr.DisableAllBuiltins(), kind, expr.Patch(c)}
	for n, f := range one {
		options = append(options, expr.Function(n, func(p ...any) (any, error) { return f(p[0].(float64)), nil },
			new(func(float64) float64)))
	}

	for n, f := range two {
		options = append(options, expr.Function(n, func(p ...any) (any, error) {
			return f(p[0].(float64), p[1].(float64)), nil
		}, new(func(a, b float64) float64)))
	}

	program, err := expr.Compile(text, options...)

	if c.bad != nil {
		return nil, c.bad
	}

	if err != nil {
		p := &position{1, err.Error()}

		var at *file.Error
		if errors.As(err, &at) {
			p.column, p.message = at.From+1, at.Message
		}

		return nil, p
	}

	slices.Sort(c.names)

	return &formula{text: text, names: slices.Compact(c.names), program: program}, nil
}

// checker makes every number a float64 and every quoted text a name. It keeps the
// names, and the first node that does not belong into an expression.
type checker struct {
	known, functions []string
	names            []string
	bad              *position
}

// Visit implements ast.Visitor; it comes to the parts of a node before the node.
func (c *checker) Visit(node *ast.Node) {
	fail := func(format string, args ...any) {
		if at := (*node).Location().From + 1; c.bad == nil || at < c.bad.column {
			c.bad = &position{at, fmt.Sprintf(format, args...)}
		}
	}

	operator := func(o string) {
		if !slices.Contains(operators, o) {
			fail("%q is no operator here; there are %s", o, strings.Join(operators, " "))
		}
	}

	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.StringNode:
		ast.Patch(node, &ast.IdentifierNode{Value: n.Value})
		c.Visit(node)
	case *ast.IdentifierNode:
		switch {
		case slices.Contains(c.known, n.Value):
			c.names = append(c.names, n.Value)
		case n.Value == "pi", slices.Contains(c.functions, n.Value):
		default:
			fail("unknown name %q%s", n.Value, didYouMean(n.Value, c.known))
		}

	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		if ok && !slices.Contains(c.functions, callee.Value) {
			c.bad = nil // the function is what is wrong, not a name
			fail("unknown function %q; there are %s", callee.Value, strings.Join(c.functions, ", "))
		}

	case *ast.UnaryNode:
		operator(n.Operator)
	case *ast.BinaryNode:
		operator(n.Operator)
	case *ast.ConditionalNode:
		if a, b := c.kind(n.Exp1), c.kind(n.Exp2); a != b {
			fail("expected two numbers or two comparisons to choose from, found a %s and a %s", a, b)
		}

	case *ast.FloatNode, *ast.BoolNode:
	default:
		fail("expected arithmetic: numbers, names, operators and functions")
	}
}

// kind is what a node that was visited gives: expr does not check that of a choice.
func (c *checker) kind(node ast.Node) string {
	switch n := node.(type) {
	case *ast.BoolNode:
		return "comparison"
	case *ast.UnaryNode:
		return c.kind(n.Node)
	case *ast.BinaryNode:
		if !slices.Contains(strings.Fields("+ - * / ^ **"), n.Operator) {
			return "comparison"
		}

	case *ast.ConditionalNode:
		return c.kind(n.Exp1)
	case *ast.IdentifierNode:
		if !slices.Contains(c.known, n.Value) && slices.Contains(c.functions, n.Value) {
			return "function"
		}
	}

	return "number"
}

// value evaluates the expression of a number; values are in the order of its names.
func (f *formula) value(values []float64) float64 { return f.run(values).(float64) }

func (f *formula) run(values []float64) any {
	env := map[string]any{"pi": math.Pi}
	for i, n := range f.names {
		env[n] = values[i]
	}

	v, err := expr.Run(f.program, env)
	if err != nil {
		panic("derive: " + f.text + ": " + err.Error()) // parse has checked the types
	}

	return v
}

// describe writes the values of the names.
func (f *formula) describe(values []float64) string {
	parts := make([]string, len(values))
	for i, n := range f.names {
		parts[i] = n + " = " + strconv.FormatFloat(values[i], 'g', -1, 64)
	}

	return strings.Join(parts, ", ")
}

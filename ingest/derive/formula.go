package derive

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"doubletake/internal/lists"
)

// evaluate computes a part of an expression from the numbers of its names. A comparison is 0 or 1.
type evaluate func(in map[string]Dual) Dual

// longest bounds an expression, in bytes.
const longest = 2000

// code is the number that stands for a name in an expression. Names can only be compared.
func code(name string) (c float64) {
	h := sha256.Sum256([]byte(name))
	for _, b := range h[:6] {
		c = 256*c + float64(b)
	}

	return c
}

var mention = regexp.MustCompile(`"[^"]*"|'[^']*'|[\pL_][\pL\pN_]*`)

// Mentioned lists the words and the quoted texts of an expression: its names are among them.
func Mentioned(text string) []string {
	words := mention.FindAllString(text, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
	}

	return words
}

const operators = "+ - * / ^ ** < <= > >= == != and or && || ! not"

// functions lists the functions of expressions.
func functions() []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(one)), maps.Keys(two))
	slices.Sort(out)

	return out
}

// parse checks an expression over the known names that gives a number. labels are those of
// them that are names. It returns the names that the expression uses, sorted.
func parse(d Definition, known, labels []string) (names []string, v evaluate, bad *Error) {
	if n := len(d.Text); n > longest {
		return nil, nil, &Error{d, 1, fmt.Sprintf("expected up to %d characters, found %d", longest, n)}
	}

	tree, err := parser.Parse(d.Text)
	if at := (*file.Error)(nil); errors.As(err, &at) {
		return nil, nil, &Error{d, at.From + 1, at.Message}
	} else if err != nil {
		return nil, nil, &Error{d, 1, err.Error()}
	}

	c := &compiler{of: d, known: known, labels: labels}
	v = c.operand(tree.Node, number)
	slices.Sort(c.names)

	return slices.Compact(c.names), v, c.bad
}

// compiler checks the nodes of an expression and makes functions of them. It keeps the names, and
// the first fault.
type compiler struct {
	of                   Definition
	known, labels, names []string
	bad                  *Error
}

// kind is what a node gives.
type kind string

const (
	number     kind = "number"
	comparison kind = "comparison"
)

func (c *compiler) fail(node ast.Node, format string, args ...any) {
	if c.bad == nil {
		c.bad = &Error{c.of, node.Location().From + 1, fmt.Sprintf(format, args...)}
	}
}

// node compiles a node. Its value is nil or useless after a fault.
func (c *compiler) node(node ast.Node) (evaluate, kind) {
	switch n := node.(type) {
	case *ast.FloatNode:
		return constant(n.Value), number
	case *ast.IntegerNode:
		return constant(float64(n.Value)), number
	case *ast.BoolNode:
		return constant(truth(n.Value).Value), comparison
	case *ast.IdentifierNode:
		return c.name(n, n.Value), number
	case *ast.StringNode:
		return c.name(n, n.Value), number
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.choice(n)
	case *ast.BuiltinNode:
		return c.call(n, n.Name, n.Arguments), number
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(n, callee.Value, n.Arguments), number
		}
	}

	c.fail(node, "expected arithmetic: numbers, names, operators and functions")

	return nil, number
}

// operand compiles a node that must be of a kind.
func (c *compiler) operand(node ast.Node, want kind) evaluate {
	v, k := c.node(node)
	if k != want {
		c.fail(node, "expected a %s, found a %s", want, k)
	}

	return v
}

func constant(v float64) evaluate { return func(map[string]Dual) Dual { return Dual{Value: v} } }

// use is the value of a name.
func (c *compiler) use(name string) evaluate {
	c.names = append(c.names, name)
	return func(in map[string]Dual) Dual { return in[name] }
}

// name is the value of a name that has a number.
func (c *compiler) name(node ast.Node, name string) evaluate {
	switch {
	case slices.Contains(c.labels, name):
		c.fail(node, "%s has names, no numbers: compare it with one, as %[1]s == \"NAME\"", name)
	case !slices.Contains(c.known, name) && name == "pi":
		return constant(math.Pi)
	case !slices.Contains(c.known, name):
		c.fail(node, "unknown name %q%s", name, didYouMean(name, c.known))
	}

	return c.use(name)
}

// label is the value of a label and of the name that it is compared with; nil of a node that is no label.
func (c *compiler) label(node, other ast.Node) (l, o evaluate) {
	label := ""
	switch n := node.(type) {
	case *ast.IdentifierNode:
		label = n.Value
	case *ast.StringNode:
		label = n.Value
	}

	if !slices.Contains(c.labels, label) {
		return nil, nil
	}

	switch n := other.(type) {
	case *ast.StringNode:
		return c.use(label), constant(code(n.Value))
	case *ast.IdentifierNode:
		if !slices.Contains(c.labels, n.Value) {
			c.fail(n, "expected a name in quotes, %s == %q", label, n.Value)
		}

		return c.use(label), c.use(n.Value)

	case *ast.IntegerNode, *ast.FloatNode:
		c.fail(n, "expected a name in quotes, as %s == \"NAME\"", label)
	}

	return c.name(node, label), nil
}

func (c *compiler) unary(n *ast.UnaryNode) (evaluate, kind) {
	switch n.Operator {
	case "-":
		of := c.operand(n.Node, number)
		return func(in map[string]Dual) Dual { a := of(in); return chain(-a.Value, a, -1, Dual{}, 0) }, number

	case "+":
		return c.operand(n.Node, number), number
	}

	of := c.operand(n.Node, comparison) // not, !

	return func(in map[string]Dual) Dual { return truth(of(in).Value == 0) }, comparison
}

func (c *compiler) binary(n *ast.BinaryNode) (evaluate, kind) {
	if f := arithmetic[n.Operator]; f != nil {
		l, r := c.operand(n.Left, number), c.operand(n.Right, number)
		return func(in map[string]Dual) Dual { return f(l(in), r(in)) }, number
	}

	f := comparisons[n.Operator]
	if f == nil {
		c.fail(n, "%q is no operator here; there are %s", n.Operator, operators)
		return nil, number
	}

	var l, r evaluate
	switch n.Operator {
	case "and", "&&", "or", "||":
		l, r = c.operand(n.Left, comparison), c.operand(n.Right, comparison)
	case "==", "!=":
		l, r = c.equals(n.Left, n.Right)
	default:
		l, r = c.operand(n.Left, number), c.operand(n.Right, number)
	}

	return func(in map[string]Dual) Dual { return truth(f(l(in).Value, r(in).Value)) }, comparison
}

// equals are two of a kind: a label and a name, numbers, or comparisons.
func (c *compiler) equals(left, right ast.Node) (l, r evaluate) {
	if l, r = c.label(left, right); l != nil {
		return l, r
	}

	if r, l = c.label(right, left); r != nil {
		return l, r
	}

	l, k := c.node(left)

	return l, c.operand(right, k)
}

func (c *compiler) choice(n *ast.ConditionalNode) (evaluate, kind) {
	yes := c.operand(n.Cond, comparison)
	a, ka := c.node(n.Exp1)
	b, kb := c.node(n.Exp2)
	if ka != kb {
		c.fail(n, "expected two numbers or two comparisons to choose from, found a %s and a %s", ka, kb)
	}

	return func(in map[string]Dual) Dual {
		if yes(in).Value != 0 {
			return a(in)
		}
		return b(in)
	}, ka
}

// call compiles a function.
func (c *compiler) call(node ast.Node, name string, arguments []ast.Node) evaluate {
	switch f, g, n := one[name], two[name], len(arguments); {
	case f.value == nil && g == nil:
		c.fail(node, "unknown function %q; there are %s", name, strings.Join(functions(), ", "))
	case g == nil && n != 1:
		c.fail(node, "expected %s(x), found %d arguments", name, n)
	case g == nil:
		a := c.operand(arguments[0], number)
		return func(in map[string]Dual) Dual { return f.of(a(in)) }
	case n != 2:
		c.fail(node, "expected %s(x, y), found %d arguments", name, n)
	default:
		a, b := c.operand(arguments[0], number), c.operand(arguments[1], number)
		return func(in map[string]Dual) Dual { return g(a(in), b(in)) }
	}

	return nil
}

// describe writes the numbers and the names that d is computed of.
func (d derived) describe(in map[string]Dual, names map[string]string) string {
	parts := lists.Each(d.names, func(n string) string {
		return n + " = " + cmp.Or(names[n], strconv.FormatFloat(in[n].Value, 'g', -1, 64))
	})

	return strings.Join(parts, ", ")
}

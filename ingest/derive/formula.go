package derive

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// form is the way in which the value of a term is computed.
type form int

const (
	constant   form = iota
	variable        // the number of a name
	oneNumber       // a function of one number, or its negative
	twoNumbers      // a function of two numbers, or an arithmetic operator
	negation        // "not" of a comparison
	comparison      // of two numbers, or of two comparisons
	choice          // the second operand if the first is not 0, otherwise the third
)

// term is a part of a compiled expression. The value of a comparison is 1 (true) or 0.
type term struct {
	form     form
	value    float64 // of a constant
	name     string  // of a variable, a function or an operator
	operands []*term
}

// number returns a constant term.
func number(v float64) *term { return &term{form: constant, value: v} }

// evaluate returns the value of a term. values has the numbers by name.
func (t *term) evaluate(values map[string]Dual) Dual {
	switch t.form {
	case constant:
		return Dual{Value: t.value}
	case variable:
		return values[t.name]
	case choice:
		if t.operands[0].evaluate(values).Value != 0 {
			return t.operands[1].evaluate(values)
		}
		return t.operands[2].evaluate(values)
	}

	first := t.operands[0].evaluate(values)
	switch t.form {
	case oneNumber:
		return unary(t.name, first)
	case negation:
		return Dual{Value: truth(first.Value == 0)}
	}

	second := t.operands[1].evaluate(values)
	if t.form == twoNumbers {
		return binary(t.name, first, second)
	}

	return Dual{Value: truth(compare(t.name, first.Value, second.Value))}
}

// longest is the greatest number of characters in an expression.
const longest = 2000

// code returns the number that stands for the value of a label in an expression, which can only be compared. It is
// made of the first 48 bits of a hash, which a float64 holds exactly.
func code(name string) float64 {
	c := 0.0
	hash := sha256.Sum256([]byte(name))
	for _, b := range hash[:6] {
		c = 256*c + float64(b)
	}

	return c
}

// mention matches a word or a quoted text.
var mention = regexp.MustCompile(`"[^"]*"|'[^']*'|[\pL_][\pL\pN_]*`)

// Mentioned lists the words and the quoted texts of an expression, which need not be valid. The names that it uses are
// among them.
func Mentioned(text string) []string {
	words := mention.FindAllString(text, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
	}

	return words
}

// operators lists all operators, for messages.
const operators = "+ - * / ^ ** < <= > >= == != and or && || ! not"

// functions lists the functions of expressions in alphabetical order.
func functions() []string {
	names := slices.Concat(unaryFunctions, binaryFunctions)
	slices.Sort(names)

	return names
}

// parse compiles the expression of a definition, whose value must be a number. The expression may use the known names.
// labels are the known names that are labels. parse returns the names that the expression uses, sorted, and the root of
// the compiled expression.
func parse(d Definition, known, labels []string) (names []string, root *term, err error) {
	if n := utf8.RuneCountInString(d.Text); n > longest {
		return nil, nil, &Error{d, 1, fmt.Sprintf("expected up to %d characters, found %d", longest, n)}
	}

	tree, err := parser.Parse(d.Text)
	if syntax, ok := errors.AsType[*file.Error](err); ok {
		return nil, nil, &Error{d, syntax.From + 1, syntax.Message}
	}

	if err != nil {
		return nil, nil, &Error{d, 1, err.Error()}
	}

	c := &compiler{definition: d, known: known, labels: labels}

	root, err = c.operand(tree.Node, aNumber)
	if err != nil {
		return nil, nil, err
	}

	slices.Sort(c.names)

	return slices.Compact(c.names), root, nil
}

// compiler turns the nodes of a parsed expression into terms, and checks them.
type compiler struct {
	definition    Definition
	known, labels []string // as in parse
	names         []string // names that the expression uses, in the order of their use
}

// kind is the kind of a node's value, as messages name it.
type kind string

const (
	aNumber     kind = "number"
	aComparison kind = "comparison"
)

// fail returns an error about a node.
func (c *compiler) fail(node ast.Node, format string, args ...any) error {
	return &Error{c.definition, node.Location().From + 1, fmt.Sprintf(format, args...)}
}

// node compiles a node, and returns the kind of its value.
func (c *compiler) node(node ast.Node) (*term, kind, error) {
	switch n := node.(type) {
	case *ast.FloatNode:
		return number(n.Value), aNumber, nil
	case *ast.IntegerNode:
		return number(float64(n.Value)), aNumber, nil
	case *ast.BoolNode:
		return number(truth(n.Value)), aComparison, nil
	case *ast.IdentifierNode:
		t, err := c.name(n, n.Value)
		return t, aNumber, err
	case *ast.StringNode:
		t, err := c.name(n, n.Value)
		return t, aNumber, err
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.choice(n)
	case *ast.BuiltinNode:
		t, err := c.call(n, n.Name, n.Arguments)
		return t, aNumber, err
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			t, err := c.call(n, callee.Value, n.Arguments)
			return t, aNumber, err
		}
	}

	return nil, aNumber, c.fail(node, "expected arithmetic: numbers, names, operators and functions")
}

// operand compiles a node whose value must be of kind want.
func (c *compiler) operand(node ast.Node, want kind) (*term, error) {
	t, k, err := c.node(node)
	if err != nil {
		return nil, err
	}

	if k != want {
		return nil, c.fail(node, "expected a %s, found a %s", want, k)
	}

	return t, nil
}

// operands compiles nodes whose values must be of kind want.
func (c *compiler) operands(want kind, nodes ...ast.Node) ([]*term, error) {
	terms := make([]*term, len(nodes))
	for i, node := range nodes {
		t, err := c.operand(node, want)
		if err != nil {
			return nil, err
		}

		terms[i] = t
	}

	return terms, nil
}

// use adds a name to c.names and returns its term.
func (c *compiler) use(name string) *term {
	c.names = append(c.names, name)
	return &term{form: variable, name: name}
}

// name compiles the name of a number.
func (c *compiler) name(node ast.Node, name string) (*term, error) {
	isKnown := slices.Contains(c.known, name)
	switch {
	case slices.Contains(c.labels, name):
		return nil, c.fail(node, "%s has names, no numbers: compare it with one, as %[1]s == \"NAME\"", name)
	case !isKnown && name == "pi":
		return number(math.Pi), nil
	case !isKnown:
		return nil, c.fail(node, "unknown name %q%s", name, didYouMean(name, c.known))
	}

	return c.use(name), nil
}

// label returns the name in a node. ok is false if the node is not the name of a label.
func (c *compiler) label(node ast.Node) (label string, ok bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		label = n.Value
	case *ast.StringNode:
		label = n.Value
	}

	return label, slices.Contains(c.labels, label)
}

// labelValue compiles the node that a label is compared with: a name in quotes or another label. labelNode is the node
// of the label.
func (c *compiler) labelValue(labelNode ast.Node, label string, node ast.Node) (*term, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return number(code(n.Value)), nil
	case *ast.IdentifierNode:
		if !slices.Contains(c.labels, n.Value) {
			return nil, c.fail(n, "expected a name in quotes, %s == %q", label, n.Value)
		}

		return c.use(n.Value), nil
	case *ast.IntegerNode, *ast.FloatNode:
		return nil, c.fail(n, "expected a name in quotes, as %s == \"NAME\"", label)
	}

	return c.name(labelNode, label) // returns the error that a label must be compared with a name
}

// unary compiles a sign or a negation.
func (c *compiler) unary(n *ast.UnaryNode) (*term, kind, error) {
	switch n.Operator {
	case "-":
		operands, err := c.operands(aNumber, n.Node)
		if err != nil {
			return nil, aNumber, err
		}

		return &term{form: oneNumber, name: "-", operands: operands}, aNumber, nil
	case "+":
		t, err := c.operand(n.Node, aNumber)
		return t, aNumber, err
	}

	operands, err := c.operands(aComparison, n.Node) // "not" or "!"
	if err != nil {
		return nil, aComparison, err
	}

	return &term{form: negation, operands: operands}, aComparison, nil
}

// binary compiles an operator with two operands.
func (c *compiler) binary(n *ast.BinaryNode) (*term, kind, error) {
	if slices.Contains(arithmetic, n.Operator) {
		operands, err := c.operands(aNumber, n.Left, n.Right)
		if err != nil {
			return nil, aNumber, err
		}

		return &term{form: twoNumbers, name: n.Operator, operands: operands}, aNumber, nil
	}

	if !slices.Contains(comparisons, n.Operator) {
		return nil, aNumber, c.fail(n, "%q is no operator here; there are %s", n.Operator, operators)
	}

	operands, err := c.compared(n)
	if err != nil {
		return nil, aComparison, err
	}

	return &term{form: comparison, name: n.Operator, operands: operands}, aComparison, nil
}

// compared compiles the operands of a comparison.
func (c *compiler) compared(n *ast.BinaryNode) ([]*term, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return c.operands(aComparison, n.Left, n.Right)
	case "==", "!=":
		return c.equals(n.Left, n.Right)
	}

	return c.operands(aNumber, n.Left, n.Right)
}

// equals compiles the operands of "==" and "!=": a label and a name, two numbers, or two comparisons.
func (c *compiler) equals(left, right ast.Node) ([]*term, error) {
	if label, ok := c.label(left); ok {
		value, err := c.labelValue(left, label, right)
		if err != nil {
			return nil, err
		}

		return []*term{c.use(label), value}, nil
	}

	if label, ok := c.label(right); ok {
		value, err := c.labelValue(right, label, left)
		if err != nil {
			return nil, err
		}

		return []*term{value, c.use(label)}, nil
	}

	first, k, err := c.node(left)
	if err != nil {
		return nil, err
	}

	second, err := c.operand(right, k)
	if err != nil {
		return nil, err
	}

	return []*term{first, second}, nil
}

// choice compiles "condition ? yes : no".
func (c *compiler) choice(n *ast.ConditionalNode) (*term, kind, error) {
	condition, err := c.operand(n.Cond, aComparison)
	if err != nil {
		return nil, aNumber, err
	}

	yes, yesKind, err := c.node(n.Exp1)
	if err != nil {
		return nil, aNumber, err
	}

	no, noKind, err := c.node(n.Exp2)
	if err != nil {
		return nil, aNumber, err
	}

	if yesKind != noKind {
		return nil, aNumber, c.fail(n, "expected two numbers or two comparisons to choose from, found a %s and a %s",
			yesKind, noKind)
	}

	return &term{form: choice, operands: []*term{condition, yes, no}}, yesKind, nil
}

// call compiles the call of a function.
func (c *compiler) call(node ast.Node, name string, arguments []ast.Node) (*term, error) {
	t := &term{name: name}
	switch {
	case slices.Contains(unaryFunctions, name):
		if len(arguments) != 1 {
			return nil, c.fail(node, "expected %s(x), found %d arguments", name, len(arguments))
		}

		t.form = oneNumber
	case slices.Contains(binaryFunctions, name):
		if len(arguments) != 2 {
			return nil, c.fail(node, "expected %s(x, y), found %d arguments", name, len(arguments))
		}

		t.form = twoNumbers
	default:
		return nil, c.fail(node, "unknown function %q; there are %s", name, strings.Join(functions(), ", "))
	}

	operands, err := c.operands(aNumber, arguments...)
	if err != nil {
		return nil, err
	}

	t.operands = operands

	return t, nil
}

// describe lists the numbers and the values of labels that d is computed from, for messages.
func (d derived) describe(values map[string]Dual, names map[string]string) string {
	parts := make([]string, len(d.names))
	for i, n := range d.names {
		parts[i] = n + " = " + cmp.Or(names[n], strconv.FormatFloat(values[n].Value, 'g', -1, 64))
	}

	return strings.Join(parts, ", ")
}

package campaign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Pattern reads conditions and labels from file names: "naca0012_a{alpha_deg}_u{u_inf_m_s}.csv".
//
// It is matched against as many trailing elements of a path as it has itself.
// {name} matches a number as condition.NameNumber does: -5, m5, neg5, 0.5, 1,5, 1p5,
// 2.5e5; {name:text} matches text within an element, a label; {_} and {*} match any
// text within one and are dropped. Everything else matches itself.
type Pattern struct {
	text   string
	elems  int
	re     *regexp.Regexp
	fields []condition.Condition // in the order of the groups of re, without values
}

var (
	// patternField matches a field, or a brace that belongs to none.
	patternField = regexp.MustCompile(`\{[^}]*\}?|\}`)
	fieldName    = regexp.MustCompile(`^[A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]` +
		`[0-9A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]*$`)
)

// ParsePattern reads a pattern. Errors name the fault and its character; they are plain
// errors, since the pattern is configuration, not data.
func ParsePattern(s string) (*Pattern, error) {
	p := &Pattern{text: s, elems: strings.Count(s, "/") + 1}
	fail := func(format string, args ...any) (*Pattern, error) {
		return nil, fmt.Errorf("parse pattern %q: "+format, append([]any{s}, args...)...)
	}

	re, at := `\A`, 0 // behind the last field
	for _, m := range patternField.FindAllStringIndex(s, -1) {
		field, no := s[m[0]:m[1]], m[0]+1
		re += regexp.QuoteMeta(s[at:m[0]])
		at = m[1]

		inner, closed := strings.CutSuffix(field, "}")
		name, isText := strings.CutSuffix(strings.TrimPrefix(inner, "{"), ":text")
		switch {
		case field == "}":
			return fail("the brace at character %d was never opened", no)
		case !closed:
			return fail("the brace at character %d never closes", no)
		case name == "_" || name == "*":
			re += `[^/]*?`
			continue
		case name == "":
			return fail("the field at character %d has no name (write {_} for any text)", no)
		case !fieldName.MatchString(name):
			return fail("the field name %q at character %d holds other than letters, digits and _", name, no)
		case slices.ContainsFunc(p.fields, func(c condition.Condition) bool { return c.Column == name }):
			return fail("the field %q appears twice", name)
		case isText:
			re += `([^/]+?)`
		default:
			re += "(" + condition.NameNumber + ")"
		}

		p.fields = append(p.fields, condition.Condition{Column: name, Origin: condition.FileName, IsName: isText})
	}

	if len(p.fields) == 0 {
		return fail("it names no condition, like {alpha_deg}")
	}

	var err error
	if p.re, err = regexp.Compile(re + regexp.QuoteMeta(s[at:]) + `\z`); err != nil {
		return fail("%w", err)
	}

	return p, nil
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Names returns the conditions that a match gives, in the pattern's order.
func (p *Pattern) Names() []string { return p.columns(false) }

// LabelNames returns the labels that a match gives, in the pattern's order.
func (p *Pattern) LabelNames() []string { return p.columns(true) }

func (p *Pattern) columns(ofNames bool) []string {
	fields := lists.Keep(p.fields, func(c condition.Condition) bool { return c.IsName == ofNames })
	return lists.Each(fields, func(c condition.Condition) string { return c.Column })
}

// Match reads the conditions and labels from a path. That it does not match, or a number is beyond the range of a
// float64, is a *fault.Error.
func (p *Pattern) Match(file string) (out []condition.Condition, err error) {
	name := lastElements(file, p.elems)
	m := p.re.FindStringSubmatch(name)
	ok := m != nil
	for i := 0; ok && i < len(p.fields); i++ {
		c := p.fields[i]
		if c.IsName {
			c.Name = m[1+i]
		} else {
			c.Value, ok = condition.ParseName(m[1+i])
		}

		out = append(out, c)
	}

	if !ok {
		return nil, fault.At(file, "", fmt.Sprintf("a name like %q", p), strconv.Quote(name),
			"exclude the file, or change the pattern; {_} matches any text")
	}

	return out, nil
}

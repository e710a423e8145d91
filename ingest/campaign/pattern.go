package campaign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/vocabulary"
)

// Pattern reads conditions and labels from file names: "naca0012_a{alpha_deg}_u{u_inf_m_s}.csv".
//
// A pattern is matched against as many trailing elements of a path as it has itself. {name} matches a number as
// condition.NameNumber does: -5, m5, neg5, 0.5, 1,5, 1p5, 2.5e5. {name:text} matches text within an element, which is a
// label. {_} and {*} match any text within an element and are dropped. Everything else matches itself.
type Pattern struct {
	text   string
	elems  int // elements of the path that the pattern is matched against
	re     *regexp.Regexp
	fields []condition.Condition // one for each group of re, without values

	counter int // the field that counts repeats of a condition; −1: none
}

var (
	// patternField matches a field, or a brace that belongs to none.
	patternField = regexp.MustCompile(`\{[^}]*\}?|\}`)
	// fieldName matches a name of letters, digits and underlines that does not begin with a digit. All characters beyond
	// ASCII count as letters, except the one that stands for broken text.
	fieldName = regexp.MustCompile(`^[A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]` +
		`[0-9A-Z_a-z\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}]*$`)
)

// ParsePattern reads a pattern. Its errors give the fault and its character. They are plain errors, since the pattern
// is configuration, not data.
func ParsePattern(s string) (*Pattern, error) {
	p := &Pattern{text: s, elems: strings.Count(s, "/") + 1, counter: -1}
	expression := `\A`
	begin := 0 // behind the last field
	for _, m := range patternField.FindAllStringIndex(s, -1) {
		field := s[m[0]:m[1]]
		expression += regexp.QuoteMeta(s[begin:m[0]])
		begin = m[1]

		inner, isClosed := strings.CutSuffix(field, "}")
		name, isText := strings.CutSuffix(strings.TrimPrefix(inner, "{"), ":text")
		if isClosed && (name == "_" || name == "*") {
			expression += `[^/]*?`
			continue
		}

		if err := p.checkField(field, name, isClosed, m[0]+1); err != nil {
			return nil, fmt.Errorf("parse pattern %q: %w", s, err)
		}

		if isText {
			expression += `([^/]+?)`
		} else {
			expression += "(" + condition.NameNumber + ")"
		}

		p.fields = append(p.fields, condition.Condition{Column: name, Origin: condition.FileName, IsName: isText})
	}

	if len(p.fields) == 0 {
		return nil, fmt.Errorf("parse pattern %q: it names no condition, like {alpha_deg}", s)
	}

	var err error
	p.re, err = regexp.Compile(expression + regexp.QuoteMeta(s[begin:]) + `\z`)
	if err != nil {
		return nil, fmt.Errorf("parse pattern %q: %w", s, err)
	}

	return p, nil
}

// repeatSign matches the text before a field that counts the repeats of a condition: r, _rep, Wdh. The abbreviations r
// and rpt mean a repeat only before a number, so that vocabulary.Repeats lacks them.
var repeatSign = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + vocabulary.RepeatWords + `|r|rpt)[-_.]?$`)

// CountRepeats makes the field of numbers called run count the repeats of a condition, if the text before it says so
// and the pattern has other numbers: then a2_r1 and a4_r1 are two runs, not one. It reports whether it does.
func (p *Pattern) CountRepeats(run string) bool {
	k := slices.IndexFunc(p.fields, func(field condition.Condition) bool { return field.Column == run && !field.IsName })
	before, _, _ := strings.Cut(p.text, "{"+run+"}")
	if k < 0 || len(p.Names()) < 2 || !repeatSign.MatchString(before) {
		return false
	}

	p.counter = k

	return true
}

// nameRepeat names the run of a file by its other numbers and the number of the repeat.
func (p *Pattern) nameRepeat(conditions []condition.Condition) {
	var parts []string
	for k, cond := range conditions {
		if k != p.counter && !cond.IsName {
			parts = append(parts, cond.Column+"="+plain(cond.Value))
		}
	}

	run := &conditions[p.counter]
	run.Name = strings.Join(parts, ",") + "/" + plain(run.Value)
	run.IsName = true
	run.Value = 0
}

// checkField returns an error if a field of the pattern cannot be read. name is the name in its braces, and character
// is where the field begins, from 1.
func (p *Pattern) checkField(field, name string, isClosed bool, character int) error {
	switch {
	case field == "}":
		return fmt.Errorf("the brace at character %d was never opened", character)
	case !isClosed:
		return fmt.Errorf("the brace at character %d never closes", character)
	case name == "":
		return fmt.Errorf("the field at character %d has no name (write {_} for any text)", character)
	case !fieldName.MatchString(name):
		return fmt.Errorf("the field name %q at character %d holds other than letters, digits and _", name, character)
	case slices.ContainsFunc(p.fields, func(cond condition.Condition) bool { return cond.Column == name }):
		return fmt.Errorf("the field %q appears twice", name)
	}

	return nil
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Names returns the conditions that a match gives, in the pattern's order.
func (p *Pattern) Names() []string {
	return p.columnsOf(func(field condition.Condition) bool { return !field.IsName })
}

// LabelNames returns the labels that a match gives, in the pattern's order.
func (p *Pattern) LabelNames() []string {
	return p.columnsOf(func(field condition.Condition) bool { return field.IsName })
}

// columnsOf returns the columns of the fields that are meant.
func (p *Pattern) columnsOf(isMeant func(field condition.Condition) bool) []string {
	var columns []string
	for _, field := range p.fields {
		if isMeant(field) {
			columns = append(columns, field.Column)
		}
	}

	return columns
}

// Match reads the conditions and labels from a path. It returns a *fault.Error if the path does not match, or if a
// number is beyond the range of a float64.
func (p *Pattern) Match(file string) ([]condition.Condition, error) {
	name := lastElements(file, p.elems)
	texts := p.re.FindStringSubmatch(name)
	if texts == nil {
		return nil, p.mismatch(file, name)
	}

	var conditions []condition.Condition
	for i, cond := range p.fields {
		text := texts[1+i]
		if cond.IsName {
			cond.Name = text
		} else {
			value, ok := condition.ParseName(text)
			if !ok {
				return nil, p.mismatch(file, name)
			}

			cond.Value = value
		}

		conditions = append(conditions, cond)
	}

	if p.counter >= 0 {
		p.nameRepeat(conditions)
	}

	return conditions, nil
}

// mismatch returns the error of a file that the pattern does not match.
func (p *Pattern) mismatch(file, name string) error {
	return fault.At(file, "", fmt.Sprintf("a name like %q", p), strconv.Quote(name),
		"leave the file out with exclude under ingest, or change the pattern; {_} matches any text")
}

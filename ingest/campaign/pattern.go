package campaign

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Pattern reads conditions and labels from file names: "naca0012_a{alpha_deg}_u{u_inf_m_s}.csv".
//
// It is matched against as many trailing elements of a path as it has itself.
// {name} matches a number (sign, digits, decimal point, exponent; an m directly in
// front is a minus sign, as in "am5"; a comma or "p" for the point is not
// understood); {name:text} matches text within an element, a label; {_} and {*} match
// any text within one and are dropped.
// Everything else matches itself.
type Pattern struct {
	text  string
	elems int
	re    *regexp.Regexp
	names []string // of the fields of numbers
	texts []string // of the fields of text
	field []string // of all, in the order of the groups of re
}

// ParsePattern reads a pattern. Errors name the fault and its character; they are plain
// errors, since the pattern is configuration, not data.
func ParsePattern(s string) (*Pattern, error) {
	if s == "" {
		return nil, fmt.Errorf("parse pattern: it is empty")
	}

	if len(s) > 1024 {
		return nil, fmt.Errorf("parse pattern: it is longer than 1024 characters")
	}

	p := &Pattern{text: s}
	var re strings.Builder
	re.WriteString(`\A`)

	for i := 0; i < len(s); {
		switch s[i] {
		case '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf("parse pattern %q: the brace at character %d never closes", s, i+1)
			}

			name, isText := strings.CutSuffix(s[i+1:i+end], ":text")
			switch {
			case name == "_" || name == "*":
				re.WriteString(`[^/]*?`)
			case name == "":
				return nil, fmt.Errorf("parse pattern %q: the field at character %d has no name (write {_} for any text)", s, i+1)
			case !fieldName(name):
				return nil, fmt.Errorf("parse pattern %q: the field name %q at character %d holds other than letters, digits and _",
					s, name, i+1)
			default:
				if slices.Contains(p.field, name) {
					return nil, fmt.Errorf("parse pattern %q: the field %q appears twice", s, name)
				}

				p.field = append(p.field, name)
				if isText {
					p.texts = append(p.texts, name)
					re.WriteString(`([^/]+?)`)
				} else {
					p.names = append(p.names, name)
					re.WriteString(`([+m-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`)
				}
			}

			i += end + 1

		case '}':
			return nil, fmt.Errorf("parse pattern %q: the brace at character %d was never opened", s, i+1)

		default:
			j := i
			for j < len(s) && s[j] != '{' && s[j] != '}' {
				j++
			}

			re.WriteString(regexp.QuoteMeta(s[i:j]))
			i = j
		}
	}

	re.WriteString(`\z`)

	p.elems = strings.Count(s, "/") + 1
	if len(p.field) == 0 {
		return nil, fmt.Errorf("parse pattern %q: it names no condition, like {alpha_deg}", s)
	}

	var err error
	if p.re, err = regexp.Compile(re.String()); err != nil {
		return nil, fmt.Errorf("parse pattern %q: %w", s, err)
	}

	return p, nil
}

func fieldName(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9' || r > 0x7f &&
			r != 0xFFFD) {
			return false
		}
	}

	return true
}

// String returns the pattern as it was given.
func (p *Pattern) String() string { return p.text }

// Names returns the conditions a match gives, in the pattern's order.
func (p *Pattern) Names() []string { return slices.Clone(p.names) }

// LabelNames returns the labels a match gives, in the pattern's order.
func (p *Pattern) LabelNames() []string { return slices.Clone(p.texts) }

// Labels reads the labels from a path; nil if there are none or it does not match.
func (p *Pattern) Labels(file string) map[string]string {
	if len(p.texts) == 0 {
		return nil
	}

	m := p.match(file)
	if m == nil {
		return nil
	}

	labels := make(map[string]string, len(p.texts))
	for _, name := range p.texts {
		labels[name] = m[1+slices.Index(p.field, name)]
	}

	return labels
}

// match returns the texts of the fields of a path; nil if it does not match.
func (p *Pattern) match(file string) []string {
	file = path.Clean(filepath.ToSlash(file))
	from := len(file) + 1
	for range p.elems {
		if from == 0 {
			return nil
		}

		from = strings.LastIndexByte(file[:from-1], '/') + 1
	}

	return p.re.FindStringSubmatch(file[from:])
}

// Match reads the conditions from a path; ok is false if it does not match.
func (p *Pattern) Match(file string) (values map[string]float64, ok bool) {
	values = make(map[string]float64, len(p.names))
	if !p.AddTo(values, file) {
		return nil, false
	}

	return values, true
}

// AddTo is Match, into values that are there.
func (p *Pattern) AddTo(values map[string]float64, file string) (ok bool) {
	m := p.match(file)
	if m == nil {
		return false
	}

	for _, name := range p.names {
		text := m[1+slices.Index(p.field, name)]
		if rest, minus := strings.CutPrefix(text, "m"); minus {
			text = "-" + rest
		}

		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false // beyond the range of a float64
		}

		values[name] = v
	}

	return true
}

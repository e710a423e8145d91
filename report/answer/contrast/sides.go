package contrast

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/kv"
)

// term is a requirement of a side: a column must have a value, or match a pattern.
type term struct {
	flag    string // the flag that states the term
	column  string
	value   string
	pattern *regexp.Regexp // nil if the column must have the value
}

// parseSide parses the text of a side, such as "blades=2,run=/^a/".
func parseSide(flag, text string) ([]term, error) {
	parts, err := kv.Parse(text)
	if syntax, ok := errors.AsType[*kv.SyntaxError](err); ok {
		return nil, usage("--%s wants column=value or column=/pattern/, found %q", flag, syntax.Part)
	}

	if err != nil {
		return nil, usage("--%s: %v", flag, err)
	}

	var terms []term
	for _, p := range parts {
		pattern, err := parsePattern(flag, p.Value)
		if err != nil {
			return nil, err
		}

		terms = append(terms, term{flag, p.Key, p.Value, pattern})
	}

	return terms, nil
}

// usage returns an error about the options.
func usage(format string, args ...any) error {
	return &fault.UsageError{Text: "pipeline contrast: " + fmt.Sprintf(format, args...)}
}

// parsePattern parses a pattern between slashes. It returns nil if the text is not between slashes.
func parsePattern(flag, text string) (*regexp.Regexp, error) {
	if len(text) < 3 || text[0] != '/' || text[len(text)-1] != '/' {
		return nil, nil
	}

	p, err := regexp.Compile(text[1 : len(text)-1])
	if err != nil {
		return nil, usage("--%s wants a regular expression between slashes: %v", flag, err)
	}

	return p, nil
}

// holds reports whether a text is the value of the term, or matches its pattern.
func (t term) holds(text string) bool {
	if t.pattern != nil {
		return t.pattern.MatchString(text)
	}

	if text == t.value {
		return true
	}

	want, err := strconv.ParseFloat(t.value, 64)
	if err != nil {
		return false
	}

	have, err := strconv.ParseFloat(text, 64)

	return err == nil && kv.Same(want, have)
}

// parse parses the options A, B and Unit.
func (c *comparison) parse() (err error) {
	for side, text := range []string{c.Options.A, c.Options.B} {
		flag := []string{"a", "b"}[side]
		c.terms[side], err = parseSide(flag, text)
		if err != nil {
			return err
		}
	}

	c.part, err = parsePattern("unit", c.Options.Unit)

	return err
}

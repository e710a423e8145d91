package config

import (
	"fmt"
	"strings"
)

type pos struct{ line, col int }

// Error is one fault of the file, at a place.
type Error struct {
	File      string
	Line, Col int    // from 1; 0 when the whole file is meant
	Key       string // dotted path of the key
	Text      string // expected, found, what to do
	Excerpt   string // the line with a caret below the place; may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Text)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

// Errors are all faults found in a file, in file order.
type Errors []*Error

func (es Errors) Error() string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = e.Error()
	}
	return strings.Join(s, "\n")
}

// Errorf makes an error at the key's place in the file; a key that is not in
// the file is placed at its nearest parent that is.
func (f *File) Errorf(key, format string, args ...any) *Error {
	e := &Error{File: f.Path, Key: key, Text: fmt.Sprintf(format, args...)}
	for k := key; ; {
		if p, ok := f.where[k]; ok {
			e.Line, e.Col = p.line, p.col
			e.Excerpt = excerpt(f.lines, p)
			break
		}
		i := strings.LastIndexByte(k, '.')
		if i < 0 {
			break
		}
		k = k[:i]
	}
	return e
}

// Has reports whether the file has the key.
func (f *File) Has(key string) bool { _, ok := f.where[key]; return ok }

func excerpt(lines []string, p pos) string {
	if p.line < 1 || p.line > len(lines) {
		return ""
	}
	l := strings.ReplaceAll(lines[p.line-1], "\t", " ")
	if len(l) > 160 {
		return ""
	}
	return fmt.Sprintf("  %d | %s\n  %s | %s^", p.line, l, strings.Repeat(" ", len(fmt.Sprint(p.line))),
		strings.Repeat(" ", max(p.col-1, 0)))
}

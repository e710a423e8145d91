package config

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/internal/lists"
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
		b.WriteString(strings.ReplaceAll(e.Key, "\n", `\n`) + ": ") // a name of the user's may have one
	}

	b.WriteString(e.Text)

	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}

	return b.String()
}

// Errors are all faults found in a file, in file order.
type Errors []*Error

func (es Errors) Error() string { return strings.Join(lists.Each(es, (*Error).Error), "\n") }

// distinct leaves out what is reported of several variants.
func (es Errors) distinct() Errors {
	seen := map[Error]bool{}
	return slices.DeleteFunc(es, func(e *Error) bool {
		again := seen[*e]
		seen[*e] = true
		return again
	})
}

// Errorf makes an error at the key's place in the file; a key that is not in
// the file is placed at its nearest parent that is. A key of a variant that the
// sweep does not vary is that of its experiment.
func (f *File) Errorf(key, format string, args ...any) *Error {
	e := &Error{File: f.Path, Key: key, Text: fmt.Sprintf(format, args...)}
	if _, varied := f.where[key]; !varied {
		e.Key = f.written(key)
	}

	for k := e.Key; ; {
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

// written replaces a variant in a key by its experiment.
func (f *File) written(key string) string {
	longest := "" // beta=0.5 begins as beta=0 does
	for own := range f.variant {
		if (key == own || strings.HasPrefix(key, own+".")) && len(own) > len(longest) {
			longest = own
		}
	}

	if longest == "" {
		return key
	}

	return f.variant[longest] + key[len(longest):]
}

// Has reports whether the file has the key.
func (f *File) Has(key string) bool {
	_, varied := f.where[key]
	_, ok := f.where[f.written(key)]
	return varied || ok
}

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

// UsageError reports arguments of the command line that cannot be understood.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

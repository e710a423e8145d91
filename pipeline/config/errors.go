package config

import (
	"fmt"
	"slices"
	"strings"
)

// pos is a place in a file, from line 1 and column 1.
type pos struct{ line, col int }

// Error is one fault of the file, at a place.
type Error struct {
	File      string // or the flag of the command line with its value
	Line, Col int    // from 1; 0 if the fault concerns the whole file
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
		b.WriteString(strings.ReplaceAll(e.Key, "\n", `\n`) + ": ") // a user's name may contain a line end
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
	var lines []string
	for _, err := range es {
		lines = append(lines, err.Error())
	}

	return strings.Join(lines, "\n")
}

// distinct returns the errors without repetitions: variants of a sweep report the same fault of their experiment. It
// reuses the memory of es.
func (es Errors) distinct() Errors {
	seen := map[Error]bool{}
	return slices.DeleteFunc(es, func(e *Error) bool {
		again := seen[*e]
		seen[*e] = true
		return again
	})
}

// Errorf returns an error at the key's place in the file. If the file does not have the key, the error is at the
// nearest parent that the file has. If the key belongs to a variant and the sweep does not vary it, the error names
// the key of the experiment.
func (f *File) Errorf(key, format string, args ...any) *Error {
	e := &Error{File: f.Path, Key: key, Text: fmt.Sprintf(format, args...)}
	if _, varied := f.where[key]; !varied {
		e.Key = f.written(key)
	}

	if p, ok := f.nearest(e.Key); ok {
		e.Line = p.line
		e.Col = p.col
		e.Excerpt = excerpt(f.lines, p)
	}

	return e
}

// nearest returns the place of a key, or of its nearest parent that the file has. It returns false if the file has none
// of them.
func (f *File) nearest(key string) (place pos, ok bool) {
	for {
		if p, found := f.where[key]; found {
			return p, true
		}

		end := strings.LastIndexByte(key, '.')
		if end < 0 {
			return pos{}, false
		}

		key = key[:end]
	}
}

// written returns a key of a variant as the file has it: below the variant's experiment. It returns other keys
// unchanged.
func (f *File) written(key string) string {
	longest := "" // beta=0 also is the beginning of beta=0.5
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

// excerpt returns the line at p with a caret below the place, or "" if the line is missing or too long to print.
func excerpt(lines []string, p pos) string {
	if p.line < 1 || p.line > len(lines) {
		return ""
	}

	l := strings.ReplaceAll(lines[p.line-1], "\t", " ")
	const longest = 160 // bytes; a terminal would wrap a longer line, and the caret would be misplaced
	if len(l) > longest {
		return ""
	}

	return fmt.Sprintf("  %d | %s\n  %s | %s^", p.line, l, strings.Repeat(" ", len(fmt.Sprint(p.line))),
		strings.Repeat(" ", max(p.col-1, 0)))
}

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
	Text      string // what was expected, what was found, what to do
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

// Has reports whether the key stands in the file.
func (f *File) Has(key string) bool { _, ok := f.where[key]; return ok }

func excerpt(lines []string, p pos) string {
	if p.line < 1 || p.line > len(lines) {
		return ""
	}
	l := strings.ReplaceAll(lines[p.line-1], "\t", " ")
	if len(l) > 160 {
		return ""
	}
	return fmt.Sprintf("  %d | %s\n  %s | %s^", p.line, l, strings.Repeat(" ", len(fmt.Sprint(p.line))), strings.Repeat(" ", max(p.col-1, 0)))
}

// Nearest returns the name of candidates that is most like s, or "" when none is near.
func Nearest(s string, candidates []string) string {
	best, at := len(s)/2+1, ""
	if len(s) <= 3 {
		best = 2
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(s), strings.ToLower(c)); d < best {
			best, at = d, c
		}
	}
	return at
}

// distance counts insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			c := 1
			if x[i-1] == y[j-1] {
				c = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+c)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}

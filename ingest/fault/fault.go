// Package fault holds the error that the readers of single formats share: what
// is wrong in a file, where, and what to do. It knows no formats and no paths;
// package ingest, which knows the file's name, makes its DataError of it.
package fault

import "strings"

// Error says what is wrong with a file and where.
type Error struct {
	Place string // "byte 28", `channel "Group/Voltage"`; may be empty
	Want  string // what was expected; may be empty
	Found string // what was found
	Hint  string // what to do about it; may be empty
	Err   error  // the underlying error, if any
}

// Error joins the parts: "place: expected WANT, found FOUND: ERR (HINT)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Place != "" {
		b.WriteString(e.Place + ": ")
	}
	switch {
	case e.Want != "" && e.Found != "":
		b.WriteString("expected " + e.Want + ", found " + e.Found)
	case e.Want != "":
		b.WriteString("expected " + e.Want)
	default:
		b.WriteString(e.Found)
	}
	if e.Err != nil {
		if e.Want != "" || e.Found != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Package fault defines the error of all packages that read or analyse data: what
// is wrong, in which file, where in the file, and what to do. Package ingest, the
// readers of formats and package dsp return it. Readers of formats and dsp do not
// know the path of the file. [In] adds it later. [UsageError] is the error about an
// option that a caller was given.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error describes data that cannot be read or analysed.
type Error struct {
	Path  string // the file (or glob) as the user gave it; empty until a caller that knows it adds it
	Place string // where in the file: "line 12, column 3", "byte 36", "channel 4, sample 1024"; may be empty
	Want  string // the expected value; may be empty
	Found string // the value found
	Hint  string // what to do about it; may be empty
	Err   error  // the underlying error; may be nil
}

// At returns an Error about a place in a file. Each text may be empty.
func At(path, place, want, found, hint string) *Error {
	return &Error{Path: path, Place: place, Want: want, Found: found, Hint: hint}
}

// Error returns the parts as one text, "path: place: expected WANT, found FOUND: ERR (HINT)", without the empty ones.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}

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

// OfJSON returns the Error of a file that does not contain the wanted JSON document. err is the error of
// encoding/json. If the JSON is damaged or of another type, OfJSON replaces the text of err by a simpler one, and adds
// hint, which says what to do about a damaged file.
func OfJSON(path, want string, err error, hint string) *Error {
	isDamaged := errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError))
	if isDamaged {
		return &Error{Path: path, Want: want, Found: "damaged or other JSON", Hint: hint}
	}

	return &Error{Path: path, Want: want, Found: "none", Err: err}
}

// In adds a path to err and returns the result. If err is or wraps an *Error that has a path, In returns err unchanged.
// If that *Error has no path, In returns a copy of it with the path, and leaves out the errors around it. Any other
// error becomes the Err of a new *Error. In returns nil if err is nil.
func In(path string, err error) error {
	if err == nil {
		return nil
	}

	var e *Error
	if !errors.As(err, &e) {
		return &Error{Path: path, Err: fmt.Errorf("read: %w", err)}
	}

	if e.Path != "" {
		return err
	}

	named := *e
	named.Path = path

	return &named
}

// Quoted returns names as `"a", "b"`. It leaves out the names after the twelfth and says how many there are.
func Quoted(names []string) string {
	const maxNames = 12
	quoted := make([]string, 0, maxNames+1)
	for i, name := range names {
		if i == maxNames {
			quoted = append(quoted, "… "+strconv.Itoa(len(names)-maxNames)+" more")
			break
		}

		quoted = append(quoted, strconv.Quote(name))
	}

	return strings.Join(quoted, ", ")
}

// Plural returns a count with its noun: "1 row", "2 rows".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// Clip returns a text for a message. It cuts a text of more than 40 bytes there and adds "…".
func Clip(s string) string {
	const maxBytes = 40
	if len(s) <= maxBytes {
		return s
	}

	return strings.ToValidUTF8(s[:maxBytes], "") + "…"
}

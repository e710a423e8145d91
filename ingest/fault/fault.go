// Package fault holds the error of everything that reads or analyses data: what
// is wrong, in which file, where in it, and what to do. Package ingest, the
// readers of formats and package dsp return it. A reader of a format does not
// know the path of its file, nor does dsp: [In] adds it.
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
	Path  string // the file (or glob) as the user gave it; empty until the caller that knows it adds it
	Place string // where in it: "line 12, column 3", "byte 36", "channel 4, sample 1024"; may be empty
	Want  string // the expected value; may be empty
	Found string // the value found
	Hint  string // what to do about it; may be empty
	Err   error  // the underlying error, if any
}

// At returns the error of a place in a file.
func At(path, place, want, found, hint string) *Error {
	return &Error{Path: path, Place: place, Want: want, Found: found, Hint: hint}
}

// Error joins the parts: "path: place: expected WANT, found FOUND: ERR (HINT)".
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

// OfJSON is the error of a file that is no JSON document of what is wanted, without the words of encoding/json.
func OfJSON(path, want string, err error) *Error {
	e := &Error{Path: path, Want: want, Found: "none", Err: err}
	if errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)) {
		e.Found, e.Err, e.Hint = "damaged or other JSON", nil, "pipeline run --verify makes damaged results again"
	}

	return e
}

// In returns err as an *Error with a path. An err that is or wraps an *Error
// keeps the path it has; any other error becomes the Err of a new one. In
// returns nil if err is nil.
func In(path string, err error) error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return &Error{Path: path, Err: fmt.Errorf("read: %w", err)}
	case e.Path != "":
		return err
	}

	c := *e
	c.Path = path

	return &c
}

// Quoted writes names as `"a", "b"`, at most a dozen of them.
func Quoted(names []string) string {
	const most = 12
	q := make([]string, 0, most)
	for i, s := range names {
		if i == most {
			q = append(q, "… "+strconv.Itoa(len(names)-most)+" more")
			break
		}

		q = append(q, strconv.Quote(s))
	}

	return strings.Join(q, ", ")
}

// Plural writes a count with its noun: "1 row", "2 rows".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// Clip shortens a text for a message to some 40 bytes.
func Clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}

	return strings.ToValidUTF8(s[:most], "") + "…"
}

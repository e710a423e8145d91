// Package decode lets the reader of a format give up in the middle of a file. A reader takes hundreds of values from a
// file, and each value may be damaged. Instead of returning an error from each step, a step panics with its error
// ([Raise]), and the exported function of the reader turns the panic into a returned error ([Catch]), as encoding/gob
// does.
//
// The package that raises an error must catch it: every exported function of such a reader defers [Catch]. Only the
// packages below ingest/format raise errors.
package decode

// raised is the value with which [Raise] panics. It is an error itself, so that its message is shown if nothing
// catches the panic.
type raised struct{ err error }

func (r raised) Error() string { return r.err.Error() }
func (r raised) Unwrap() error { return r.err }

// Raise panics with err unless err is nil. The panic ends all callers up to the one that defers [Catch].
func Raise(err error) {
	if err != nil {
		panic(raised{err})
	}
}

// Get returns v if err is nil, and raises err otherwise.
func Get[T any](v T, err error) T {
	Raise(err)
	return v
}

// Catch assigns a raised error to err, the named result of the function that defers Catch. Catch does not change err
// if nothing was raised, and passes other panics on.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case raised:
		*err = p.err
	default:
		panic(p)
	}
}

package fault

// raised is what Raise panics with.
type raised struct{ err error }

// Raise ends its callers up to the one that defers Catch, unless err is nil. A reader of a format takes hundreds of
// values from a file, each of which may be damaged: as in encoding/gob, the error of each is passed on in one place.
func Raise(err error) {
	if err != nil {
		panic(raised{err})
	}
}

// Unless raises err, unless ok.
func Unless(ok bool, err error) {
	if !ok {
		Raise(err)
	}
}

// Get returns v, or raises err.
func Get[T any](v T, err error) T {
	Raise(err)
	return v
}

// Catch, deferred, makes what is raised the error of its function. Other panics go on.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case raised:
		*err = p.err
	default:
		panic(p)
	}
}

// Try returns what do raises.
func Try(do func()) (err error) {
	defer Catch(&err)
	do()

	return nil
}

package engine

import (
	"fmt"
	"os"

	"doubletake/internal/parallel"
)

// PanicError reports that a task panicked.
type PanicError struct {
	*parallel.Panic
	File string // the first raw file that the task reads; "": it reads none
	Kept string // path of a file with the stack; "": there is none
}

// NewPanicError returns the error of a panic. value is the result of recover, in the deferred function that calls
// NewPanicError.
func NewPanicError(value any) *PanicError { return &PanicError{Panic: parallel.Caught(value)} }

// Keep writes the stack to a file at path, and sets e.Kept. If it cannot, e stays as it is.
func (e *PanicError) Keep(path string) {
	if os.WriteFile(path, fmt.Appendf(nil, "%v\n\n%s", e, e.Stack), 0o644) == nil {
		e.Kept = path
	}
}

func (e *PanicError) Error() string {
	reading := ""
	if e.File != "" {
		reading = " reading " + e.File
	}

	text := fmt.Sprintf("a fault of the program%s, please report it: %v in %s", reading, e.Value, e.Place)
	if e.Kept != "" {
		text += "; send the file " + e.Kept
	}

	return text
}

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// UsageError reports arguments that cannot be understood.
type UsageError = config.UsageError

// Exit statuses of the program.
const (
	ExitSuccess     = 0
	ExitFailed      = 1   // a stage failed
	ExitUsage       = 2   // usage or configuration error
	ExitData        = 3   // input data error
	ExitInterrupted = 130 // by a signal
)

// Panicked is the error of a panic, whose stack it writes to a file.
func Panicked(value any) error {
	e := engine.NewPanicError(value)
	e.Keep(filepath.Join(os.TempDir(), "doubletake-fault.txt"))

	return e
}

// as returns the error of that type in a chain, nil without one.
func as[T error](err error) error {
	var e T
	if errors.As(err, &e) {
		return e
	}

	return nil
}

// ofUsage find errors of the configuration and of how the program is used.
var ofUsage = []func(error) error{
	as[*UsageError], as[config.Errors], as[*config.Error], as[*engine.NotReadyError], as[*engine.WorkdirError],
	as[*engine.LockedError],
}

// ExitStatus returns the exit status that an error of this package means, and
// its text for people.
func ExitStatus(err error) (status int, text string) {
	if errors.Is(err, context.Canceled) {
		return ExitInterrupted, "interrupted; finished results are kept, run again to go on"
	}

	for _, find := range ofUsage {
		if e := find(err); e != nil {
			return ExitUsage, e.Error()
		}
	}

	var worker interface {
		error
		ExitStatus() int
	}
	if errors.As(err, &worker) { // the status of a worker process, with its message
		return worker.ExitStatus(), failures(err, worker.Error())
	}

	var data *fault.Error
	var file *engine.FileError
	var task *engine.TaskError
	switch {
	case errors.As(err, &data):
		return ExitData, failures(err, data.Error())
	case errors.As(err, &file):
		return ExitData, file.Error()
	case errors.As(err, &task):
		return ExitFailed, failures(err, task.Error())
	}

	return ExitFailed, err.Error()
}

// failures lists the errors of all failed tasks, one a line; of a single one it
// returns first.
func failures(err error, first string) string {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		return first
	}

	var lines []string
	var walk func(error)
	walk = func(e error) {
		var t *engine.TaskError
		if u, ok := e.(interface{ Unwrap() []error }); ok {
			for _, x := range u.Unwrap() {
				walk(x)
			}
		} else if errors.As(e, &t) {
			line := t.Error()

			if d, is := errors.AsType[*fault.Error](e); is {
				line = d.Error()
			}

			lines = append(lines, line)
		}
	}

	walk(err)

	if len(lines) < 2 {
		return first
	}

	return fmt.Sprintf("%d tasks failed:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

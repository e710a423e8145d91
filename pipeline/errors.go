package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// UsageError reports arguments that cannot be understood.
type UsageError = fault.UsageError

// Exit statuses of the program.
const (
	ExitSuccess     = 0
	ExitFailed      = 1   // a stage failed
	ExitUsage       = 2   // usage or configuration error
	ExitData        = 3   // input data error
	ExitInterrupted = 130 // by a signal
)

// Panicked returns the error of a panic. It writes the stack to a file, which the error names.
func Panicked(value any) error {
	e := engine.NewPanicError(value)
	e.Keep(filepath.Join(os.TempDir(), "doubletake-fault.txt"))

	return e
}

// as returns the first error of type T in the chain of err, or nil if there is none.
func as[T error](err error) error {
	var e T
	if errors.As(err, &e) {
		return e
	}

	return nil
}

// usageErrors has a function for each type of error whose exit status is ExitUsage. The function returns the error of
// this type in a chain, or nil.
var usageErrors = []func(error) error{
	as[*UsageError], as[config.Errors], as[*config.Error], as[*engine.NotReadyError], as[*engine.WorkdirError],
	as[*engine.LockedError],
}

// ExitStatus returns the exit status that an error means, and its text for people. If several tasks failed, the text
// has a line for each. ExitStatus returns ExitSuccess and "" if err is nil.
func ExitStatus(err error) (status int, text string) {
	if err == nil {
		return ExitSuccess, ""
	}

	if errors.Is(err, context.Canceled) {
		return ExitInterrupted, "interrupted; finished results are kept, run again to go on"
	}

	if e := usageError(err); e != nil {
		return ExitUsage, failures(err, e.Error())
	}

	// Errors of tasks that a worker process made know the status of the original error.
	var worker interface {
		error
		ExitStatus() int
	}
	if errors.As(err, &worker) {
		return worker.ExitStatus(), failures(err, worker.Error())
	}

	var data *fault.Error
	var file *engine.FileError
	var task *engine.TaskError
	switch {
	case errors.As(err, &data):
		return ExitData, failures(err, data.Error())
	case errors.As(err, &file):
		return ExitData, failures(err, file.Error())
	case errors.As(err, &task):
		return ExitFailed, failures(err, task.Error())
	}

	return ExitFailed, err.Error()
}

// usageError returns the first error in the chain of err whose exit status is ExitUsage, or nil if there is none.
func usageError(err error) error {
	for _, find := range usageErrors {
		if e := find(err); e != nil {
			return e
		}
	}

	return nil
}

// failures returns the errors of all failed tasks, one a line. It returns first if no more than one task failed, or if
// all failed with the same error.
func failures(err error, first string) string {
	var joined joinedErrors
	if !errors.As(err, &joined) {
		return first
	}

	lines := taskFailures(err)
	if len(slices.Compact(slices.Clone(lines))) < 2 {
		return first
	}

	return fmt.Sprintf("%d tasks failed:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// joinedErrors is an error that joins others, as errors.Join makes it.
type joinedErrors interface {
	error
	Unwrap() []error
}

// taskFailures returns the texts of the errors of tasks that err joins, in order. If an error of the configuration, a
// fault of the data or a file that could not be read stopped a task, taskFailures returns the text of this error, which
// names the file.
func taskFailures(err error) []string {
	//nolint:errorlint // the error itself is joined or is not; errors.As would find a joined error within a task's
	if joined, ok := err.(joinedErrors); ok {
		var lines []string
		for _, part := range joined.Unwrap() {
			lines = append(lines, taskFailures(part)...)
		}

		return lines
	}

	var task *engine.TaskError
	if !errors.As(err, &task) {
		return nil
	}

	if e := usageError(err); e != nil {
		return []string{e.Error()}
	}

	if data, ok := errors.AsType[*fault.Error](err); ok {
		return []string{data.Error()}
	}

	if file, ok := errors.AsType[*engine.FileError](err); ok {
		return []string{file.Error()}
	}

	return []string{task.Error()}
}

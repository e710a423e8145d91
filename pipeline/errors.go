package pipeline

import (
	"context"
	"errors"
	"fmt"
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

// ExitStatus returns the exit status that an error of this package means, and
// its text for people.
func ExitStatus(err error) (status int, text string) {
	var (
		usage    *UsageError
		one      *config.Error
		all      config.Errors
		workdir  *engine.WorkdirError
		locked   *engine.LockedError
		notReady *engine.NotReadyError
		data     *fault.Error
		file     *engine.FileError
		task     *engine.TaskError
		worker   interface {
			error
			ExitStatus() int
		}
	)

	switch {
	case errors.Is(err, context.Canceled):
		return ExitInterrupted, "interrupted; finished results are kept, run again to go on"
	case errors.As(err, &usage):
		return ExitUsage, usage.Error()
	case errors.As(err, &all):
		return ExitUsage, all.Error()
	case errors.As(err, &one):
		return ExitUsage, one.Error()
	case errors.As(err, &notReady):
		return ExitUsage, notReady.Error()
	case errors.As(err, &workdir):
		return ExitUsage, workdir.Error()
	case errors.As(err, &locked):
		return ExitUsage, locked.Error()
	case errors.As(err, &worker): // the status of a worker process, with its message
		return worker.ExitStatus(), failures(err, worker.Error())
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

			var d *fault.Error
			if errors.As(e, &d) {
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

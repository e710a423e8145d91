// Command pipeline turns raw physical measurements into models that say
// honestly what they do not know.
//
// It is the only place that prints and exits: results go to standard output,
// progress and messages to standard error. Exit status: 0 success, 1 a stage
// failed, 2 usage or configuration error, 3 input data error, 130 interrupted.
//
// One file a command: flags in, text or JSON out. What a project can be asked
// without a terminal belongs to package pipeline.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"doubletake/ingest"
	"doubletake/pipeline"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program: it takes arguments and streams, and returns the
// exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	app := newApp(stdout, stderr)
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"pipeline"}, args...))
	}
	if err == nil {
		return 0
	}
	code, text := explain(err)
	if text != "" {
		fmt.Fprintln(stderr, "pipeline: "+text)
	}
	return code
}

// usageError is a command line that cannot be understood.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// explain gives an error its exit status and its words.
func explain(err error) (code int, text string) {
	var (
		ue       *usageError
		ce       *config.Error
		ces      config.Errors
		work     *engine.WorkdirError
		locked   *engine.LockedError
		notReady *engine.NotReadyError
		data     *ingest.DataError
		file     *engine.FileError
		task     *engine.TaskError
		worker   interface {
			error
			ExitStatus() int
		}
	)
	switch {
	case errors.Is(err, context.Canceled):
		return 130, "interrupted; what was finished is kept, run again to go on"
	case errors.As(err, &ue):
		return 2, ue.text
	case errors.As(err, &ces):
		return 2, ces.Error()
	case errors.As(err, &ce):
		return 2, ce.Error()
	case errors.As(err, &notReady):
		return 2, notReady.Error()
	case errors.As(err, &work):
		return 2, work.Error()
	case errors.As(err, &locked):
		return 2, locked.Error()
	case errors.As(err, &worker): // what a worker process said, or ended with
		return worker.ExitStatus(), allOf(err, worker.Error())
	case errors.As(err, &data):
		return 3, allOf(err, data.Error())
	case errors.As(err, &file):
		return 3, file.Error()
	case errors.As(err, &task):
		return 1, allOf(err, task.Error())
	}
	return 1, err.Error()
}

// allOf lists every failed task's error, one a line; first where there is one.
func allOf(err error, first string) string {
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
			var d *ingest.DataError
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

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name: "pipeline", Usage: "raw measurements in, models that say what they do not know out",
		Description: "Example: pipeline run pipeline.yaml\n\nExit status: 0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Version:     pipeline.Version(), HideVersion: true,
		Writer: stdout, ErrWriter: stderr,
		Commands: []*cli.Command{
			newRunCommand(stdout, stderr), newStatusCommand(stdout), newCheckCommand(stdout, stderr), newReportCommand(stdout, stderr),
			newSimulateCommand(stdout, stderr), newPredictCommand(stdout, stderr), newSuggestCommand(stdout, stderr), newInspectCommand(stdout), newInitCommand(stdout, stderr), newDiffCommand(stdout), newGCCommand(stdout), newSchemaCommand(stdout), newVersionCommand(stdout),
			newTasksCommand(stdout), newExecCommand(stdout, stderr), newCancelCommand(stdout),
			newCompletionCommand(stdout), newManCommand(stdout),
		},
		CommandNotFound: func(*cli.Context, string) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return usage("%v", err) },
		ExitErrHandler:  func(*cli.Context, error) {}, // run maps errors to exit statuses
		Action: func(c *cli.Context) error {
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		c.HideHelpCommand = true // `pipeline help run` is enough; no file is called help
		c.OnUsageError = app.OnUsageError
	}
	return app
}

// Package app is the program pipeline: its commands, arguments and messages.
//
// It is the only place that prints: results go to standard output, progress and
// messages to standard error. Exit status: 0 success, 1 a stage failed, 2 usage
// or configuration error, 3 input data error, 130 interrupted.
//
// One file a command: flags in, text or JSON out. What a project can be asked
// without a terminal belongs to package pipeline.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

// Main runs the program, with what a program of one's own adds, with the arguments and
// streams of this process, and returns the exit status.
func Main(e Extensions) int {
	if err := e.register(); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline: "+err.Error())
		return pipeline.ExitUsage
	}

	// The garbage collector runs each time the heap has doubled, and stages ingest and
	// dsp use a few MiB. So it first runs at 32 MiB, which short commands never reach. From
	// then on the heap has 16 MiB more; they are never touched, so they take no memory.
	var heap []byte
	runtime.AddCleanup(new([64]byte), func(percent int) {
		heap = make([]byte, 16<<20)
		debug.SetGCPercent(percent)
	}, debug.SetGCPercent(800))
	code := run(os.Args[1:], os.Stdout, os.Stderr)
	runtime.KeepAlive(&heap)

	return code
}

// run is the whole program: it takes arguments and streams, and returns the
// exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()

	stdout, stderr = &printer{w: stdout}, &printer{w: stderr}
	app := newApp(stdout, stderr)
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"pipeline"}, args...))
	}

	if err == nil {
		return 0
	}

	code, text := pipeline.ExitStatus(err)
	if text != "" {
		fmt.Fprintln(stderr, "pipeline: "+text)
	}

	return code
}

func usage(format string, args ...any) error {
	return &pipeline.UsageError{Text: fmt.Sprintf(format, args...)}
}

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name: "pipeline", Usage: "turn raw measurements into models that state their own uncertainty",
		Description: "Example: pipeline run pipeline.yaml\n\nExit status: 0 success, 1 a stage failed, 2 usage or " +
			"configuration error, 3 input data error, 130 interrupted.",
		Version: pipeline.Version(), HideVersion: true,
		Writer: stdout, ErrWriter: stderr,
		Flags: []cli.Flag{cli.HelpFlag}, // a command called help keeps the library from adding it
		Commands: []*cli.Command{
			newRunCommand(stdout, stderr), newStatusCommand(stdout), newCheckCommand(stdout, stderr),
			newReportCommand(stdout, stderr),
			newSimulateCommand(stdout, stderr), newPredictCommand(stdout, stderr), newSuggestCommand(stdout, stderr),
			newPlotCommand(stdout),
			newInspectCommand(stdout), newInitCommand(stdout, stderr), newDiffCommand(stdout), newLogCommand(stdout, stderr),
			newCompareCommand(stdout), newContrastCommand(stdout, stderr),
			newJudgeCommand(stdout), newBudgetCommand(stdout), newHonestCommand(stdout, stderr),
			newServeCommand(stdout), newGCCommand(stdout), newSchemaCommand(stdout), newVersionCommand(stdout),
			newExportCommand(stdout, stderr),
			newTasksCommand(stdout), newExecCommand(stdout, stderr), newCancelCommand(stdout),
			newCompletionCommand(stdout), newManCommand(stdout), newGlossaryCommand(stdout), newHelpCommand(stdout),
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

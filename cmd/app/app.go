// Package app is the program pipeline: its commands, arguments and messages.
//
// It is the only place that prints: results go to standard output, progress and
// messages to standard error. Exit status: 0 success, 1 a stage failed, 2 usage
// or configuration error, 3 input data error, 130 interrupted.
//
// commands.txt describes the commands with their arguments and flags; what one does is in
// the file of its name: flags in, text or JSON out. What a project can be asked without a
// terminal belongs to package pipeline.
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

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
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
	err := execute(ctx, commands(), args, stdout, stderr)
	if err == nil {
		return 0
	}

	code, text := pipeline.ExitStatus(err)
	if text != "" {
		fmt.Fprintln(stderr, "pipeline: "+text)
	}

	return code
}

// execute runs the command of a line.
func execute(ctx context.Context, list []*subcommand, args []string, stdout, stderr io.Writer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = pipeline.Panicked(v)
		}
	}()

	args, err = arrange(list, args)
	if err != nil {
		return err
	}

	return newApp(list, stdout, stderr).RunContext(ctx, append([]string{"pipeline"}, args...))
}

// newApp gives the commands to the library, which reads the line, prints help and calls them.
func newApp(list []*subcommand, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name: "pipeline", Usage: about, UsageText: "pipeline COMMAND [flags] [arguments]", HideVersion: true,
		Description:    "Example: pipeline run pipeline.yaml\n\nExit status: " + statuses,
		Flags:          []cli.Flag{cli.HelpFlag}, // a command called help keeps the library from adding it
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return usage("%v", err) },
		ExitErrHandler: func(*cli.Context, error) {}, // run maps errors to exit statuses
		Action:         cli.ShowAppHelp, Writer: stdout, ErrWriter: stderr,
	}

	for _, s := range list {
		cmd := &cli.Command{
			Name: s.name, Usage: s.usage, UsageText: s.line(), Description: s.description,
			HideHelpCommand: true, // `pipeline help run` is enough; no file is called help
			OnUsageError:    app.OnUsageError,
			Flags:           lists.Each(s.flags, func(o option) cli.Flag { return o.flag() }),
			Action: func(c *cli.Context) (err error) {
				defer fault.Catch(&err)
				return s.start(&call{Context: c, ctx: c.Context, args: c.Args().Slice(), stdout: stdout, stderr: stderr})
			},
		}

		app.Commands = append(app.Commands, cmd)
	}

	return app
}

func usage(format string, args ...any) error {
	return &pipeline.UsageError{Text: fmt.Sprintf(format, args...)}
}

// actions are what the commands do.
func actions() map[string]func(*call) error {
	return map[string]func(*call) error{
		"run": runRun, "status": runStatus, "check": runCheck, "report": runReport, "simulate": runSimulate,
		"predict": runPredict, "suggest": runSuggest, "plot": runPlot, "inspect": runInspect, "init": runInit,
		"diff": runDiff, "log": runLog, "compare": runCompare, "contrast": runContrast, "judge": runJudge,
		"budget": runBudget, "honest": runHonest, "serve": runServe, "gc": runGC, "schema": runSchema,
		"version": runVersion, "export": runExport, "tasks": runTasks, "exec": runExec, "cancel": runCancel,
		"man": runMan, "glossary": runGlossary, "help": runHelp,
	}
}

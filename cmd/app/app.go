// Package app is the program pipeline: its commands, arguments and messages.
//
// It is the only place that prints: results go to standard output, progress and
// messages to standard error. Exit status: 0 success, 1 a stage failed, 2 usage
// or configuration error, 3 input data error, 130 interrupted.
//
// commands.txt describes the commands with their arguments and flags. Each command is
// implemented in the file of its name: it reads flags and prints text or JSON. Everything that
// needs no terminal belongs to package pipeline.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

// Main registers the extensions, runs the program with the arguments and streams of this
// process, and returns the exit status.
func Main(extensions Extensions) int {
	if err := extensions.register(); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline: "+err.Error())
		return pipeline.ExitUsage
	}

	limitMemory()
	ballast := delayCollections()
	status := run(os.Args[1:], os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)

	return status
}

const (
	// firstPercent delays the first collection until the heap has 32 MiB: 8 times 4 MiB, the least heap of Go.
	firstPercent = 800
	// ballastBytes is the size of an allocation that is never touched, so that it takes no memory.
	ballastBytes = 16 << 20
)

// delayCollections makes the garbage collector run later. The collector runs each time the heap has doubled, which is
// often for the few MiB that the stages ingest and dsp use. Short commands end before the first collection. After it
// the ballast keeps the heap so large that doubling takes long. The caller keeps the result alive.
func delayCollections() *[]byte {
	ballast := new([]byte)
	usual := debug.SetGCPercent(firstPercent)
	afterFirst := func(percent int) {
		*ballast = make([]byte, ballastBytes)
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([64]byte), afterFirst, usual) // nothing refers to the 64 bytes: the first collection frees them

	return ballast
}

// run runs the program with the given arguments and streams, and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()

	results := &printer{w: stdout}
	stderr = &printer{w: stderr}
	err := execute(ctx, commands(), args, results, stderr)
	if err == nil && results.err != nil { // the disk may be full
		err = fmt.Errorf("write to standard output: %w", results.err)
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

// execute runs the command that the arguments name. It returns a panic as an error that asks for a report.
func execute(ctx context.Context, list []*subcommand, args []string, stdout, stderr io.Writer) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = pipeline.Panicked(value)
		}
	}()

	if !asksCompletion(args) {
		args, err = arrange(list, args)
		if err != nil {
			return err
		}
	}

	return newApp(list, stdout, stderr).RunContext(ctx, append([]string{"pipeline"}, args...))
}

// newApp returns the program as the library knows it, with all commands. The library reads the flags, prints help and
// calls the commands.
func newApp(list []*subcommand, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name: "pipeline", Usage: about, UsageText: "pipeline COMMAND [flags] [arguments]", HideVersion: true,
		EnableBashCompletion: true,
		Description: "Example: pipeline run pipeline.yaml\n\nDocuments, shown by pipeline help TOPIC: " +
			strings.Join(topics(), ", ") + "\n\nExit status: " + statuses,
		Flags:          []cli.Flag{cli.HelpFlag}, // a command called help keeps the library from adding it
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return usage("%v", err) },
		ExitErrHandler: func(*cli.Context, error) {}, // run maps errors to exit statuses
		Action:         cli.ShowAppHelp, Writer: stdout, ErrWriter: stderr,
	}

	for _, cmd := range list {
		command := &cli.Command{
			Name: cmd.name, Usage: cmd.usage, UsageText: cmd.line(), Description: cmd.description,
			HideHelpCommand: true, // `pipeline help run` is enough; no file is called help
			OnUsageError:    app.OnUsageError,
			Action: func(c *cli.Context) error {
				return cmd.start(&call{Context: c, ctx: c.Context, args: c.Args().Slice(), stdout: stdout, stderr: stderr})
			},
		}

		for _, o := range cmd.flags {
			command.Flags = append(command.Flags, o.flag())
		}

		app.Commands = append(app.Commands, command)
	}

	return app
}

// usage returns an error that ends the program with the exit status of wrong usage.
func usage(format string, args ...any) error {
	return &pipeline.UsageError{Text: fmt.Sprintf(format, args...)}
}

// actions returns the function of each command, by the name of the command.
func actions() map[string]func(*call) error {
	return map[string]func(*call) error{
		"run": runRun, "status": runStatus, "check": runCheck, "report": runReport, "simulate": runSimulate,
		"predict": runPredict, "suggest": runSuggest, "plot": runPlot, "inspect": runInspect, "init": runInit,
		"diff": runDiff, "log": runLog, "compare": runCompare, "contrast": runContrast, "judge": runJudge,
		"budget": runBudget, "honest": runHonest, "serve": runServe, "gc": runGC, "schema": runSchema,
		"version": runVersion, "export": runExport, "tasks": runTasks, "exec": runExec, "cancel": runCancel,
		"man": runMan, "glossary": runGlossary, "help": runHelp, "session": runSession,
		"graph": runGraph, "completion": runCompletion,
	}
}

package app

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"doubletake/pipeline"
)

// runOptions are the flags and arguments of the commands run and report.
type runOptions struct {
	file     string
	sel      pipeline.Selection
	jobs     int      // tasks at a time; 0: one for each processor
	keep     bool     // go on after failures
	dryRun   bool     // print what would be done
	explain  bool     // say why tasks are made
	json     bool     // print results as JSON
	tables   bool     // print all tables, with explanations
	progress string   // the form of the progress
	executor string   // one of pipeline.Executors
	added    []string // splits of report --held-out, for workers
}

// parseRun returns the options that the flags and arguments give. The command report does not have all of the flags.
func parseRun(c *call) (runOptions, error) {
	options := runOptions{
		file: c.file(), sel: selection(c), jobs: c.Int("jobs"), keep: c.Bool("keep-going"), dryRun: c.Bool("dry-run"),
		explain: c.Bool("explain"), json: c.Bool("json"), tables: c.Bool("tables"), progress: c.String("progress"),
		executor: c.String("executor"),
	}

	options.sel.Force = c.Bool("force")
	options.sel.Verify = c.Bool("verify")
	switch {
	case options.sel.Verify && options.dryRun:
		return options, usage("--verify and --dry-run exclude each other: use one of them")
	case options.jobs < 0:
		return options, usage("--jobs wants a number of tasks, found %d", options.jobs)
	}

	return options, nil
}

// selection returns the tasks that the flags select.
func selection(c *call) pipeline.Selection {
	return pipeline.Selection{
		Stages: c.StringSlice("stage"), From: c.String("from"), To: c.String("to"),
		Experiments: c.experiments(), Splits: c.StringSlice("split"),
	}
}

// runRun makes all selected results that are out of date, and prints the results. If all were up to date, it only
// prints the path of the page.
func runRun(c *call) error {
	options, err := parseRun(c)
	if err != nil {
		return err
	}

	project, err := pipeline.Load(options.file)
	if err != nil {
		return err
	}

	if options.dryRun {
		return dryRun(project, options, c.stdout)
	}

	result, err := perform(c, project, options)
	if err != nil {
		return err
	}

	if result.Ran == 0 && !options.json && !options.tables {
		if !project.Reported(result, options.sel) {
			return nil
		}

		return printPage(project, c.stdout)
	}

	return show(project, result, options, c.stdout)
}

// perform makes the selected results of a project that are out of date. It prints the warnings about the configuration,
// the progress and its summary.
func perform(c *call, project *pipeline.Project, options runOptions) (*pipeline.Result, error) {
	options.jobs = cmp.Or(options.jobs, runtime.NumCPU())

	c.warn(project.Warnings)

	if options.explain {
		todo, _, err := project.Pending(options.sel)
		if err != nil {
			return nil, err
		}

		explain(todo, c.stderr)
	}

	tasksAtOnce := options.jobs
	if options.executor != "local" {
		tasksAtOnce = 0 // the cluster decides
	}

	bar := newProgress(options.progress, options.keep, tasksAtOnce, project, c.stderr)
	observe := func(event pipeline.Event) {
		if event.Kind == "plan" { // some tasks must be made
			hugePages()
		}
		bar.observe(event)
	}

	executor, err := project.Executor(options.executor, options.file, options.added, bar.note)
	if err != nil {
		return nil, err
	}

	stop := bar.watch()
	result, err := project.Run(c.ctx, pipeline.Options{
		Selection: options.sel, Jobs: options.jobs, KeepGoing: options.keep, Observe: observe, Executor: executor,
	})

	stop()
	if lacks, ok := errors.AsType[*pipeline.NotReadyError](err); ok {
		return nil, usage("%v\nrun first: %s", err, firstRun(options, lacks))
	}

	bar.end(result, err)
	c.warnOfForeign(project, result)

	return result, err
}

// warnOfForeign prints a warning that names the results of experiments that the configuration does not have, if there
// are any. result is nil if the run did not begin.
func (c *call) warnOfForeign(project *pipeline.Project, result *pipeline.Result) {
	if result == nil || len(result.Foreign) == 0 {
		return
	}

	var folders []string
	for _, name := range result.Foreign {
		path, err := filepath.Abs(filepath.Join(project.Plan.Dir, name))
		if err != nil {
			path = name
		}

		folders = append(folders, shortPath(path))
	}

	fmt.Fprintf(c.stderr, "warning: %s: results of experiments that the configuration does not have; "+
		"`pipeline gc --delete` removes them\n", strings.Join(folders, ", "))
}

// firstRun returns the command that makes the results that a partial run lacks.
func firstRun(options runOptions, lacks *pipeline.NotReadyError) string {
	words := []string{"pipeline run"}
	if options.file != "pipeline.yaml" {
		words = append(words, shellQuote(options.file))
	}

	if len(options.sel.Experiments) > 0 {
		words = append(words, "--experiment "+shellQuote(lacks.Needs.Task.Experiment))
	}

	return strings.Join(append(words, "--to "+lacks.Needs.Task.Stage), " ")
}

// unquoted matches words that no shell needs quoted.
var unquoted = regexp.MustCompile(`^[a-zA-Z0-9_\-./=,:@%+]+$`)

// shellQuote returns a word, quoted for a shell if it needs quotes.
func shellQuote(word string) string {
	if unquoted.MatchString(word) {
		return word
	}

	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/report"
)

// runOptions are the flags of run.
type runOptions struct {
	file     string
	sel      pipeline.Selection
	jobs     int
	keep     bool
	dryRun   bool
	explain  bool
	json     bool
	tables   bool // all tables, with explanations
	progress string
	executor string   // one of pipeline.Executors; "": here
	added    []string // splits of report --held-out, for workers
}

func newRunCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "make every result that is out of date", ArgsUsage: "[FILE]",
		Description: "FILE is a configuration, pipeline.yaml by default. Flags and FILE may come in any order.\n\n" +
			"Example: pipeline run pipeline.yaml --experiment drone --to dsp\n\n" +
			"Exit status: 0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: append(selectionFlags(),
			&cli.BoolFlag{Name: "force", Usage: "also make tasks that are up to date"},
			&cli.BoolFlag{Name: "verify", Usage: "hash all files and results, also those whose size and time are as before"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be done, do nothing"},
			&cli.BoolFlag{Name: "explain", Usage: "why, as old → new: equal reasons of a stage's tasks are one line"},
			&cli.BoolFlag{Name: "keep-going", Usage: "after a failure, go on with what does not depend on it"},
			jobsFlag(), executorFlag(), progressFlag(), tablesFlag(),
			&cli.BoolFlag{Name: "json", Usage: "results, or the dry run, as one JSON document"},
		),
		Action: func(c *cli.Context) error {
			o, err := parseRun(c)
			if err != nil {
				return err
			}

			return runRun(c.Context, o, stdout, stderr)
		},
	}
}

// parseRun reads the flags and arguments of run.
func parseRun(c *cli.Context) (o runOptions, err error) {
	file, err := fileArgument(c)
	if err != nil {
		return o, err
	}

	o = runOptions{
		file: file, sel: selection(c), jobs: c.Int("jobs"), keep: c.Bool("keep-going"), dryRun: c.Bool("dry-run"),
		explain: c.Bool("explain"), json: c.Bool("json"), tables: c.Bool("tables"), progress: c.String("progress"),
	}

	o.sel.Force, o.sel.Verify = c.Bool("force"), c.Bool("verify")
	if o.sel.Verify && o.dryRun {
		return o, usage("--verify goes with a run, not with --dry-run")
	}

	o.executor, err = executor(c)

	return o, err
}

func jobsFlag() cli.Flag {
	return &cli.IntFlag{Name: "jobs", Usage: "tasks at a time (0: one per processor)"}
}

func tablesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "tables", Usage: "print all tables with explanations, not one an experiment"}
}

func progressFlag() cli.Flag {
	return &cli.StringFlag{Name: "progress", Value: "auto", Usage: "auto, plain, json or none; goes to standard error"}
}

func executorFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "executor", Value: "local",
		Usage: "where tasks are made: " + strings.Join(pipeline.Executors(), ", ") +
			" (see executor in the configuration)",
	}
}

// executor reads the flag of that name; "" for local.
func executor(c *cli.Context) (string, error) {
	x := c.String("executor")
	if known := pipeline.Executors(); !slices.Contains(known, x) {
		return "", usage("--executor wants %s, found %q", strings.Join(known, ", "), x)
	}

	if x == "local" {
		return "", nil
	}

	return x, nil
}

func selectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "stage", Usage: "only this stage (repeatable): simulate, ingest, dsp, train or report"},
		&cli.StringFlag{Name: "from", Usage: "from this stage on"},
		&cli.StringFlag{Name: "to", Usage: "up to this stage"},
		&cli.StringSliceFlag{Name: "experiment", Usage: "only this experiment (repeatable)"},
		&cli.StringSliceFlag{Name: "split", Usage: "only this split's models (repeatable)"},
	}
}

func selection(c *cli.Context) pipeline.Selection {
	return pipeline.Selection{
		Stages: c.StringSlice("stage"), From: c.String("from"), To: c.String("to"),
		Experiments: experimentNames(c), Splits: c.StringSlice("split"),
	}
}

func runRun(ctx context.Context, o runOptions, stdout, stderr io.Writer) error {
	p, err := pipeline.Load(o.file)
	if err != nil {
		return err
	}

	if o.dryRun {
		return dryRun(p, o, stdout)
	}

	return execute(ctx, p, o, stdout, stderr)
}

// execute runs a project and prints its results.
func execute(ctx context.Context, p *pipeline.Project, o runOptions, stdout, stderr io.Writer) error {
	res, err := perform(ctx, p, o, stderr)
	if err != nil {
		return err
	}

	if res.Ran == 0 && !o.json && !o.tables {
		return showPage(p, res, o, stdout)
	}

	return show(p, res, o, stdout)
}

// results are what a run selected.
func results(p *pipeline.Project, res *pipeline.Result, o runOptions) ([]report.Experiment, []report.Sweep, error) {
	reports, err := p.Reports(res, o.sel)
	if err != nil {
		return nil, nil, err
	}

	sweeps, err := p.Sweeps(res, o.sel)

	return reports, sweeps, err
}

// showPage names the page of results that were there already.
func showPage(p *pipeline.Project, res *pipeline.Result, o runOptions, stdout io.Writer) error {
	reports, sweeps, err := results(p, res, o)
	if err != nil || len(reports)+len(sweeps) == 0 {
		return err
	}

	return printPage(p, stdout)
}

func printPage(p *pipeline.Project, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "%s (all tables: pipeline report --tables)\n", shortPath(p.Page()))
	return err
}

// shortPath is a path from the working directory, where it is below it.
func shortPath(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}

	return path
}

// perform runs a project.
func perform(ctx context.Context, p *pipeline.Project, o runOptions, stderr io.Writer) (*pipeline.Result, error) {
	if o.jobs < 0 {
		return nil, usage("--jobs wants a number of tasks, found %d", o.jobs)
	}

	o.jobs = cmp.Or(o.jobs, runtime.NumCPU())

	for _, w := range p.Warnings {
		fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Text)
	}

	if o.explain {
		todo, _, err := p.Pending(o.sel)
		if err != nil {
			return nil, err
		}

		explain(todo, stderr)
	}

	atOnce := o.jobs
	if o.executor != "" {
		atOnce = 0
	}

	pr, err := newProgress(o.progress, o.keep, atOnce, p, stderr)
	if err != nil {
		return nil, err
	}

	eo := pipeline.Options{Selection: o.sel, Jobs: o.jobs, KeepGoing: o.keep, Observe: func(e pipeline.Event) {
		if e.Kind == "plan" { // there is something to do
			hugePages()
		}
		pr.observe(e)
	}}

	x, err := p.Executor(o.executor, o.file, o.added, pr.note)
	if err != nil {
		return nil, err
	}

	if x != nil {
		eo.Executor = x
	}

	res, err := p.Run(ctx, eo)

	var notReady *pipeline.NotReadyError
	if errors.As(err, &notReady) {
		return nil, usage("%v\nrun first: %s", err, firstRun(o, notReady))
	}

	pr.end(res, err)
	if err != nil {
		return nil, err
	}

	return res, nil
}

// show prints what a run selected.
func show(p *pipeline.Project, res *pipeline.Result, o runOptions, stdout io.Writer) error {
	reports, sweeps, err := results(p, res, o)
	if err != nil {
		return err
	}

	if o.json {
		docs := make([]json.RawMessage, len(reports))
		for i, e := range reports {
			if docs[i], err = e.MetricsJSON(); err != nil {
				return err
			}
		}

		all := map[string]any{"run": res, "experiments": docs}
		if len(sweeps) > 0 {
			all["sweeps"] = sweepDocuments(sweeps)
		}

		return printJSON(stdout, all)
	}

	if err := writeSweeps(sweeps, stdout); err != nil || len(reports) == 0 {
		return err
	}

	if o.tables {
		return report.RunTerminal(stdout, reports, width(stdout), colour(stdout))
	}

	if err := report.Summary(stdout, reports, width(stdout), colour(stdout)); err != nil {
		return err
	}

	if _, err := io.WriteString(stdout, "\n"); err != nil {
		return err
	}

	return printPage(p, stdout)
}

// firstRun is the command that makes what a partial run lacks.
func firstRun(o runOptions, lacks *pipeline.NotReadyError) string {
	words := []string{"pipeline run"}
	if o.file != "pipeline.yaml" {
		words = append(words, shellQuote(o.file))
	}

	if len(o.sel.Experiments) > 0 {
		words = append(words, "--experiment "+shellQuote(lacks.Needs.Task.Experiment))
	}

	return strings.Join(append(words, "--to "+lacks.Needs.Task.Stage), " ")
}

// shellQuote quotes a word for a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./=,:@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}

	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// taskJSON is one task in the output of status and dry runs.
type taskJSON struct {
	Task       string            `json:"task"`
	Stage      string            `json:"stage"`
	Experiment string            `json:"experiment,omitempty"`
	Split      string            `json:"split,omitempty"`
	State      pipeline.State    `json:"state"`
	Reasons    []pipeline.Reason `json:"reasons,omitempty"`
}

func tasksJSON(list []*pipeline.Status) []taskJSON {
	out := make([]taskJSON, len(list))
	for i, s := range list {
		out[i] = taskJSON{s.Task.ID, s.Task.Stage, s.Task.Experiment, s.Task.Split, s.State, s.Reasons}
	}

	return out
}

func printJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}

	_, err = fmt.Fprintf(w, "%s\n", b)

	return err
}

func dryRun(p *pipeline.Project, o runOptions, stdout io.Writer) error {
	todo, cached, err := p.Pending(o.sel)
	if err != nil {
		return err
	}

	if o.json {
		return printJSON(stdout, map[string]any{"would_run": tasksJSON(todo), "up_to_date": cached})
	}

	if o.explain {
		explain(todo, stdout)
	} else {
		for _, st := range todo {
			fmt.Fprintf(stdout, "would run %s: %s\n", st.Task.ID, st.Because())
		}
	}

	fmt.Fprintf(stdout, "%d to run, %d up to date\n", len(todo), cached)

	return nil
}

// shared are the words for reasons that name another file or task for every task.
var shared = map[string]string{
	"upstream": "their inputs are made again", "file": "their files changed", "input": "their inputs changed",
	"unread": "their files were not read yet", "damaged": "their results are damaged",
}

// explain writes why tasks run: equal reasons once per experiment and stage, with the number
// of tasks that have them and one of these.
func explain(todo []*pipeline.Status, w io.Writer) {
	type key struct{ experiment, stage, reason string }
	count := map[key][]*pipeline.Status{}

	var order []key
	for _, st := range todo {
		var words []string
		for _, r := range st.Reasons {
			if s, ok := shared[r.Kind]; !ok {
				words = append(words, r.String())
			} else if !slices.Contains(words, s) {
				words = append(words, s)
			}
		}

		k := key{st.Task.Experiment, st.Task.Stage, strings.Join(words, "; ")}
		if count[k] == nil {
			order = append(order, k)
		}

		count[k] = append(count[k], st)
	}

	for _, k := range order {
		list := count[k]
		if first := list[0]; len(list) == 1 {
			fmt.Fprintf(w, "%s: %s\n", first.Task.ID, first.Because())
		} else {
			fmt.Fprintf(w, "%d tasks of %s: %s (%s, …)\n", len(list), path.Join(k.experiment, k.stage), k.reason, first.Task.ID)
		}
	}
}

// width is the terminal's width if COLUMNS is set; 100 otherwise.
func width(w io.Writer) int {
	if isTerminal(file(w)) {
		if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
			return n
		}
	}

	return 0
}

// colour reports whether w is a terminal that wants colours.
func colour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(file(w))
}

// isTerminal reports whether a file that may be nil is a terminal.
func isTerminal(f *os.File) bool {
	return f != nil && terminal(f)
}

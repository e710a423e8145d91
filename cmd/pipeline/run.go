package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// runOptions are the flags of run.
type runOptions struct {
	file     string
	sel      engine.Selection
	jobs     int
	keep     bool
	dryRun   bool
	explain  bool
	json     bool
	progress string
	executor string   // "slurm", or "": here
	added    []string // splits of report --held-out, for workers
}

func newRunCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "make every result that is out of date", ArgsUsage: "[FILE]",
		Description: "FILE is a configuration, pipeline.yaml by default. Flags and FILE may stand in any order.\n\n" +
			"Example: pipeline run pipeline.yaml --experiment drone --to dsp\n\n" +
			"Exit status: 0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: append(selectionFlags(),
			&cli.BoolFlag{Name: "force", Usage: "also what is up to date"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, do nothing"},
			&cli.BoolFlag{Name: "explain", Usage: "with the reasons, as old → new"},
			&cli.BoolFlag{Name: "keep-going", Usage: "after a failure, go on with what does not depend on it"},
			&cli.IntFlag{Name: "jobs", Usage: "tasks at a time (0: one per processor)"},
			executorFlag(),
			&cli.StringFlag{Name: "progress", Value: "auto", Usage: "auto, plain, json or none; goes to standard error"},
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
		explain: c.Bool("explain"), json: c.Bool("json"), progress: c.String("progress"),
	}
	o.sel.Force = c.Bool("force")
	o.executor, err = executor(c)
	return o, err
}

func executorFlag() cli.Flag {
	return &cli.StringFlag{Name: "executor", Value: "local", Usage: "where tasks are made: local, or slurm (see executor in the configuration)"}
}

// executor reads the flag of that name: "slurm", or "" for here.
func executor(c *cli.Context) (string, error) {
	switch x := c.String("executor"); x {
	case "local":
		return "", nil
	case "slurm":
		return x, nil
	default:
		return "", usage("--executor wants local or slurm, found %q", x)
	}
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

func selection(c *cli.Context) engine.Selection {
	return engine.Selection{
		Stages: c.StringSlice("stage"), From: c.String("from"), To: c.String("to"),
		Experiments: c.StringSlice("experiment"), Splits: c.StringSlice("split"),
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

// execute runs a project and prints its tables.
func execute(ctx context.Context, p *pipeline.Project, o runOptions, stdout, stderr io.Writer) error {
	res, err := perform(ctx, p, o, stderr)
	if err != nil {
		return err
	}
	return show(p, res, o, stdout)
}

// perform runs a project.
func perform(ctx context.Context, p *pipeline.Project, o runOptions, stderr io.Writer) (*engine.Result, error) {
	if o.jobs < 0 {
		return nil, usage("--jobs wants a number of tasks, found %d", o.jobs)
	}
	if o.jobs == 0 {
		o.jobs = runtime.NumCPU()
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Text)
	}
	if o.explain {
		if err := explainPlan(p, o.sel, stderr); err != nil {
			return nil, err
		}
	}
	pr, err := newProgress(o.progress, o.keep, p, stderr)
	if err != nil {
		return nil, err
	}
	eo := engine.Options{Selection: o.sel, Jobs: o.jobs, KeepGoing: o.keep, Observe: pr.observe}
	if o.executor == "slurm" {
		x, done, err := slurmExecutor(p, o, pr.say)
		if err != nil {
			return nil, err
		}
		defer done()
		eo.Executor = x
	}
	res, err := p.Run(ctx, eo)
	var notReady *engine.NotReadyError
	if errors.As(err, &notReady) {
		return nil, usage("%v\nrun first: %s", err, firstRun(o, notReady))
	}
	pr.end(res, err)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// show prints the tables of what a run selected.
func show(p *pipeline.Project, res *engine.Result, o runOptions, stdout io.Writer) error {
	reports, err := p.Reports(res, o.sel)
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
		return printJSON(stdout, map[string]any{"run": res, "experiments": docs})
	}
	return report.RunTerminal(stdout, reports, width(stdout), colour(stdout))
}

// firstRun is the command that makes what a partial run lacks.
func firstRun(o runOptions, lacks *engine.NotReadyError) string {
	words := []string{"pipeline run"}
	if o.file != "pipeline.yaml" {
		words = append(words, shellQuote(o.file))
	}
	if len(o.sel.Experiments) > 0 {
		words = append(words, "--experiment "+shellQuote(lacks.Needs.Task.Experiment))
	}
	return strings.Join(append(words, "--to "+lacks.Needs.Task.Stage), " ")
}

// shellQuote makes a word that a shell reads as it stands.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./=,:@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// taskJSON is one task as status and dry runs tell it.
type taskJSON struct {
	Task       string          `json:"task"`
	Stage      string          `json:"stage"`
	Experiment string          `json:"experiment,omitempty"`
	Split      string          `json:"split,omitempty"`
	State      engine.State    `json:"state"`
	Reasons    []engine.Reason `json:"reasons,omitempty"`
}

func tasksJSON(list []*engine.Status) []taskJSON {
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

// wouldRun lists the selected tasks that are not up to date.
func wouldRun(p *pipeline.Project, s engine.Selection) (todo []*engine.Status, cached int, err error) {
	if err := p.Check(s); err != nil {
		return nil, 0, err
	}
	list, err := p.Status()
	if err != nil {
		return nil, 0, err
	}
	for _, st := range list {
		if !p.Plan.Selects(s, st.Task) {
			continue
		}
		if st.State == engine.UpToDate && !s.Force {
			cached++
			continue
		}
		if s.Force && st.State == engine.UpToDate {
			st.Reasons = []engine.Reason{{Kind: "forced"}}
		}
		todo = append(todo, st)
	}
	return todo, cached, nil
}

func dryRun(p *pipeline.Project, o runOptions, stdout io.Writer) error {
	todo, cached, err := wouldRun(p, o.sel)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(stdout, map[string]any{"would_run": tasksJSON(todo), "up_to_date": cached})
	}
	for _, st := range todo {
		fmt.Fprintf(stdout, "would run %s: %s\n", st.Task.ID, st.Because())
	}
	fmt.Fprintf(stdout, "%d to run, %d up to date\n", len(todo), cached)
	return nil
}

func explainPlan(p *pipeline.Project, s engine.Selection, w io.Writer) error {
	todo, _, err := wouldRun(p, s)
	for _, st := range todo {
		fmt.Fprintf(w, "%s: %s\n", st.Task.ID, st.Because())
	}
	return err
}

// width is the terminal's width where COLUMNS says it; 100 otherwise.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
			return n
		}
	}
	return 0
}

// colour reports whether w is a terminal that wants colours.
func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

package app

import (
	"cmp"
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

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/train/numbers"
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
	executor string   // one of pipeline.Executors
	added    []string // splits of report --held-out, for workers
}

// parseRun reads the flags and arguments of run, and those of report that it has too.
func parseRun(c *call) (o runOptions, err error) {
	o = runOptions{
		file: c.file(), sel: selection(c), jobs: c.Int("jobs"), keep: c.Bool("keep-going"), dryRun: c.Bool("dry-run"),
		explain: c.Bool("explain"), json: c.Bool("json"), tables: c.Bool("tables"), progress: c.String("progress"),
		executor: c.String("executor"),
	}

	o.sel.Force, o.sel.Verify = c.Bool("force"), c.Bool("verify")
	switch {
	case o.sel.Verify && o.dryRun:
		return o, usage("--verify goes with a run, not with --dry-run")
	case o.jobs < 0:
		return o, usage("--jobs wants a number of tasks, found %d", o.jobs)
	}

	return o, nil
}

func selection(c *call) pipeline.Selection {
	return pipeline.Selection{
		Stages: c.StringSlice("stage"), From: c.String("from"), To: c.String("to"),
		Experiments: c.experiments(), Splits: c.StringSlice("split"),
	}
}

func runRun(c *call) error {
	o := fault.Get(parseRun(c))
	p := fault.Get(pipeline.Load(o.file))
	if o.dryRun {
		return dryRun(p, o, c.stdout)
	}

	res := fault.Get(perform(c, p, o))
	if res.Ran == 0 && !o.json && !o.tables {
		if !p.Reported(res, o.sel) {
			return nil
		}

		return printPage(p, c.stdout)
	}

	return show(p, res, o, c.stdout)
}

// results are what a run selected.
func results(p *pipeline.Project, res *pipeline.Result, o runOptions) ([]report.Experiment, []report.Sweep) {
	return fault.Get(p.Reports(res, o.sel)), fault.Get(p.Sweeps(res, o.sel))
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
func perform(c *call, p *pipeline.Project, o runOptions) (_ *pipeline.Result, err error) {
	defer fault.Catch(&err)
	o.jobs = cmp.Or(o.jobs, runtime.NumCPU())

	c.warn(p.Warnings)

	if o.explain {
		todo, _, err := p.Pending(o.sel)
		fault.Raise(err)
		explain(todo, c.stderr)
	}

	atOnce := o.jobs
	if o.executor != "local" {
		atOnce = 0
	}

	pr := newProgress(o.progress, o.keep, atOnce, p, c.stderr)
	eo := pipeline.Options{Selection: o.sel, Jobs: o.jobs, KeepGoing: o.keep, Observe: func(e pipeline.Event) {
		if e.Kind == "plan" { // there is something to do
			hugePages()
		}
		pr.observe(e)
	}}

	if x := fault.Get(p.Executor(o.executor, o.file, o.added, pr.note)); x != nil {
		eo.Executor = x
	}

	res, err := p.Run(c.ctx, eo)
	if notReady, ok := errors.AsType[*pipeline.NotReadyError](err); ok {
		return nil, usage("%v\nrun first: %s", err, firstRun(o, notReady))
	}

	pr.end(res, err)

	return res, err
}

// show prints what a run selected.
func show(p *pipeline.Project, res *pipeline.Result, o runOptions, stdout io.Writer) error {
	reports, sweeps := results(p, res, o)
	if o.json {
		docs := make([]json.RawMessage, len(reports))
		for i, e := range reports {
			docs[i] = fault.Get(e.MetricsJSON())
		}

		all := map[string]any{"run": res, "experiments": docs}
		if len(sweeps) > 0 {
			all["sweeps"] = numbers.Objects(sweeps, report.Sweep.Document)
		}

		return printJSON(stdout, all)
	}

	if err := writeSweeps(sweeps, stdout); err != nil || len(reports) == 0 {
		return err
	}

	if o.tables {
		return report.RunTerminal(stdout, reports, width(stdout), colour(stdout))
	}

	fault.Raise(report.Summary(stdout, reports, width(stdout), colour(stdout)))
	fault.Get(io.WriteString(stdout, "\n"))

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

// warn prints what is doubtful of a configuration or its files.
func (c *call) warn(list []ingest.Warning) {
	for _, w := range list {
		fmt.Fprintf(c.stderr, "warning: %s: %s\n", w.Path, w.Text)
	}
}

// emit writes a document; what is done begins the error.
func emit(w io.Writer, what string, document []byte) error {
	if _, err := w.Write(document); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
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
	fault.Raise(err)
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
	writeCost(stdout, len(todo), func(i int) (string, float64) {
		return todo[i].Task.Stage, todo[i].Task.Weight
	})

	return nil
}

// writeCost writes how many of so many tasks train, and about how long these take.
func writeCost(w io.Writer, tasks int, of func(i int) (stage string, weight float64)) {
	n, seconds := 0, 0.0
	for i := range tasks {
		if stage, weight := of(i); stage == "train" {
			n, seconds = n+1, seconds+weight
		}
	}

	if n > 0 {
		fmt.Fprintf(w, "train: %s, about %.2g s of one processor\n", fault.Plural(int64(n), "task"), seconds)
	}
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
	keys := lists.Each(todo, func(st *pipeline.Status) key {
		var words []string
		for _, r := range st.Reasons {
			if s, ok := shared[r.Kind]; !ok {
				words = append(words, r.String())
			} else if !slices.Contains(words, s) {
				words = append(words, s)
			}
		}

		return key{st.Task.Experiment, st.Task.Stage, strings.Join(words, "; ")}
	})

	for _, at := range lists.Alike(keys) {
		if first, k := todo[at[0]], keys[at[0]]; len(at) == 1 {
			fmt.Fprintf(w, "%s: %s\n", first.Task.ID, first.Because())
		} else {
			fmt.Fprintf(w, "%d tasks of %s: %s (%s, …)\n", len(at), path.Join(k.experiment, k.stage), k.reason, first.Task.ID)
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

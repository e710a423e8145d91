package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/stages"
	"doubletake/report"
)

// Types of package engine that callers of a Project need.
type (
	Selection     = engine.Selection     // which tasks of the plan
	Options       = engine.Options       // how Run works
	Event         = engine.Event         // what an observer of Run receives
	Result        = engine.Result        // summary of a run
	State         = engine.State         // up to date, stale or missing
	Status        = engine.Status        // state of a task, with the reasons
	Reason        = engine.Reason        // why a task is stale
	NotReadyError = engine.NotReadyError // a partial run lacks results from before it
	Estimate      = engine.Estimate      // how long a run still takes
)

// NewEstimate returns the estimate of a run that makes jobs tasks at a time; 0
// where that depends on a cluster.
func NewEstimate(jobs int) *Estimate { return engine.NewEstimate(jobs) }

// States of a task.
const (
	UpToDate = engine.UpToDate
	Missing  = engine.Missing
	Stale    = engine.Stale
)

// Stages lists the names of the stages in the order of the data flow.
func Stages() []string { return stages.Names() }

// Check reports a selection of stages, experiments or splits that do not exist,
// as *config.Error.
func (p *Project) Check(s Selection) error {
	var experiments, splits []string
	seen := map[[2]string]bool{}
	for _, t := range p.Plan.Tasks {
		if e := [2]string{t.Experiment}; t.Experiment != "" && !seen[e] {
			seen[e], experiments = true, append(experiments, t.Experiment)
		}

		if s := [2]string{"", t.Split}; t.Split != "" && !seen[s] {
			seen[s], splits = true, append(splits, t.Split)
		}
	}

	for _, c := range []struct {
		flag  string
		names []string
		known []string
	}{
		{"--stage", s.Stages, Stages()},
		{"--from", []string{s.From}, Stages()},
		{"--to", []string{s.To}, Stages()},
		{"--experiment", s.Experiments, experiments},
		{"--split", s.Splits, splits},
	} {
		for _, n := range c.names {
			if n != "" && !slices.Contains(c.known, n) {
				return &config.Error{File: p.File.Path, Text: fmt.Sprintf("%s %q is unknown, expected one of %s%s",
					c.flag, n, strings.Join(c.known, ", "), spelling.DidYouMean(n, c.known))}
			}
		}
	}

	if s.From != "" && s.To != "" && slices.Index(Stages(), s.From) > slices.Index(Stages(), s.To) {
		return &config.Error{File: p.File.Path, Text: fmt.Sprintf("--from %s comes after --to %s: nothing is between",
			s.From, s.To)}
	}

	return nil
}

// Run makes the selected tasks that are not up to date. Errors: *config.Error for an
// unknown selection, *NotReadyError, errors of the executor, and one that wraps
// every failed task's.
func (p *Project) Run(ctx context.Context, o Options) (*Result, error) {
	if err := p.Check(o.Selection); err != nil {
		return nil, err
	}

	o.Program = p.Program.Version
	o.Annotate = append(o.Annotate, p.kernels())
	start := time.Now()
	r, err := engine.Run(ctx, p.Plan, o)
	kept := runs.Run{
		File: p.File, Plan: p.Plan, Program: p.Program.Version, Kernels: p.Program.Kernels,
		Start: start, Result: r, Failure: err,
		Reports: func() []report.Experiment {
			list, _ := p.Reports(r, Selection{})
			return list
		},
	}

	return r, cmp.Or(err, kept.Keep())
}

// Finished returns the selected results, all of which must be up to date; else the
// error is a *NotReadyError. It only reads: the work directory may be read-only.
func (p *Project) Finished(s Selection) (*Result, error) {
	if err := p.Check(s); err != nil {
		return nil, err
	}
	return engine.Finished(p.Plan, s)
}

// kernels is the fact about the numeric kernels that every result records.
func (p *Project) kernels() kv.Pair { return kv.Pair{Key: "kernels", Value: p.Program.Kernels} }

// Status returns the state of every task of the plan, in its order.
func (p *Project) Status() ([]*Status, error) { return engine.Assess(p.Plan) }

// Pending returns the selected tasks that Run would make, with the reasons, and
// the number of selected tasks that are up to date.
func (p *Project) Pending(s Selection) (todo []*Status, upToDate int, err error) {
	defer fault.Catch(&err)
	fault.Raise(p.Check(s))
	list := fault.Get(p.Status())
	for _, st := range list {
		if !p.Plan.Selects(s, st.Task) {
			continue
		}

		if st.State == UpToDate && !s.Force {
			upToDate++
			continue
		}

		if st.State == UpToDate {
			st.Reasons = []Reason{{Kind: "forced"}}
		}

		todo = append(todo, st)
	}

	return todo, upToDate, nil
}

// Make makes tasks of the plan and publishes their outputs, those that are up to date aside; their
// inputs must exist. siblings, left and done are as for engine.Worker.MakePart.
func (p *Project) Make(ctx context.Context, tasks, siblings []*engine.Task, note func(task, note string),
	done func(task string, made bool),
) (left int, err error) {
	w := p.worker()
	w.Note = note

	return w.MakePart(ctx, tasks, siblings, func(t *engine.Task, made bool) { done(t.ID, made) })
}

// Pick returns the task of a name, or, of the tasks that s selects, a part as 3/64; then siblings are all of these.
// What it does not find is a *UsageError.
func (p *Project) Pick(task, part string, s Selection) (tasks, siblings []*engine.Task, err error) {
	all := p.Plan.Tasks
	if task != "" {
		i := slices.IndexFunc(all, func(t *engine.Task) bool { return t.ID == task })
		if i < 0 {
			return nil, nil, &UsageError{Text: task + ": no such task in the plan; pipeline tasks lists them"}
		}

		return all[i : i+1], nil, nil

	}

	i, n, err := engine.ParsePart(part)
	if err != nil {
		return nil, nil, &UsageError{Text: "--part: " + err.Error()}
	}

	if err := p.Check(s); err != nil {
		return nil, nil, err
	}

	siblings = lists.Keep(all, func(t *engine.Task) bool { return p.Plan.Selects(s, t) })

	return engine.Part(siblings, i, n), siblings, nil
}

func (p *Project) worker() *engine.Worker {
	return &engine.Worker{Plan: p.Plan, Program: p.Program.Version, Annotate: []kv.Pair{p.kernels()}}
}

// Collect lists the results in the cache that the configuration does not refer
// to; with remove it deletes them.
func (p *Project) Collect(remove bool) ([]engine.Garbage, error) {
	list, err := engine.Collect(p.Plan, remove)
	if list == nil {
		list = []engine.Garbage{}
	}

	return list, err
}

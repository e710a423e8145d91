package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/stages"
	"doubletake/report"
)

// These types of package engine are what callers of a Project need.
type (
	// Selection selects tasks of the plan.
	Selection = engine.Selection
	// Options sets how Run works.
	Options = engine.Options
	// Event is passed to an observer of Run.
	Event = engine.Event
	// Result summarizes a run.
	Result = engine.Result
	// State says whether a task is up to date, stale or missing.
	State = engine.State
	// Status describes the state of a task, and why it must run.
	Status = engine.Status
	// Reason is one cause for a task to be stale.
	Reason = engine.Reason
	// NotReadyError reports that a partial run lacks results of earlier stages.
	NotReadyError = engine.NotReadyError
	// Estimate forecasts how long a run still takes.
	Estimate = engine.Estimate
)

// NewEstimate returns the estimate of a run that makes jobs tasks at a time. jobs is 0 if their number depends on a
// cluster.
func NewEstimate(jobs int) *Estimate { return engine.NewEstimate(jobs) }

// States of a task.
const (
	UpToDate = engine.UpToDate
	Missing  = engine.Missing
	Stale    = engine.Stale
)

// Stages lists the names of the stages in the order of the data flow.
func Stages() []string { return stages.Names() }

// Check returns a *config.Error if a selection names a stage, an experiment or a split that does not exist, or if no
// stage is between From and To.
func (p *Project) Check(s Selection) error {
	var experiments, splits []string
	seenExperiments := map[string]bool{"": true}
	seenSplits := map[string]bool{"": true}
	for _, t := range p.Plan.Tasks {
		if !seenExperiments[t.Experiment] {
			seenExperiments[t.Experiment] = true
			experiments = append(experiments, t.Experiment)
		}

		if !seenSplits[t.Split] {
			seenSplits[t.Split] = true
			splits = append(splits, t.Split)
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
		return &config.Error{File: p.File.Path, Text: fmt.Sprintf("--from %s comes after --to %s: exchange the two stages",
			s.From, s.To)}
	}

	return nil
}

// Run makes the selected tasks that are not up to date, and keeps a record of the run. It returns a *config.Error if
// the selection names something unknown, a *NotReadyError if results of earlier stages are missing, an error of the
// executor, or an error that wraps the errors of all failed tasks. The result is nil if the run could not start.
func (p *Project) Run(ctx context.Context, o Options) (*Result, error) {
	if err := p.Check(o.Selection); err != nil {
		return nil, err
	}

	o.Program = p.Program.Version
	o.Annotate = append(slices.Clip(o.Annotate), p.kernels())
	start := time.Now()
	result, err := engine.Run(ctx, p.Plan, o)
	record := runs.Run{
		File: p.File, Plan: p.Plan, Program: p.Program.Version, Kernels: p.Program.Kernels,
		Start: start, Result: result, Failure: err,
		Reports: func() []report.Experiment {
			reports, _ := p.Reports(result, Selection{}) // the record has the numbers of the reports that can be read
			return reports
		},
	}

	notKept := record.Keep() // a failed run leaves a record too
	if err != nil {
		return result, err
	}

	return result, notKept
}

// Finished returns the selected results. It returns a *NotReadyError unless all are up to date. It writes nothing, so
// that the work directory may be read-only.
func (p *Project) Finished(s Selection) (*Result, error) {
	if err := p.Check(s); err != nil {
		return nil, err
	}
	return engine.Finished(p.Plan, s)
}

// kernels returns the name of the numeric kernels, which every result records.
func (p *Project) kernels() kv.Pair { return kv.Pair{Key: "kernels", Value: p.Program.Kernels} }

// Status returns the status of every task, in the order of the plan.
func (p *Project) Status() ([]*Status, error) { return engine.Assess(p.Plan) }

// Pending returns the selected tasks that Run would make, with the reasons, and the number of selected tasks that Run
// would leave as they are.
func (p *Project) Pending(s Selection) (todo []*Status, upToDate int, err error) {
	if err := p.Check(s); err != nil {
		return nil, 0, err
	}

	list, err := p.Status()
	if err != nil {
		return nil, 0, err
	}

	for _, status := range list {
		if !p.Plan.Selects(s, status.Task) {
			continue
		}

		if status.State == UpToDate && !s.Force {
			upToDate++
			continue
		}

		if status.State == UpToDate {
			status.Reasons = []Reason{{Kind: "forced"}}
		}

		todo = append(todo, status)
	}

	return todo, upToDate, nil
}

// Make makes tasks of the plan, unless they are up to date, and publishes their outputs. Their inputs must exist. note
// receives notes about tasks. siblings, left and done are as for engine.Worker.MakePart.
func (p *Project) Make(ctx context.Context, tasks, siblings []*engine.Task, note func(task, note string),
	done func(task string, made bool),
) (left int, err error) {
	w := p.worker()
	w.Note = note

	return w.MakePart(ctx, tasks, siblings, func(t *engine.Task, made bool) { done(t.ID, made) })
}

// Pick returns the task with an ID, and no siblings. If task is "", it returns a part, such as 3/64, of the tasks that
// s selects, and all of these as siblings. It returns a *UsageError if there is no such task or part.
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

	for _, t := range all {
		if p.Plan.Selects(s, t) {
			siblings = append(siblings, t)
		}
	}

	return engine.Part(siblings, i, n), siblings, nil
}

// worker returns a worker that makes single tasks of the plan.
func (p *Project) worker() *engine.Worker {
	return &engine.Worker{Plan: p.Plan, Program: p.Program.Version, Annotate: []kv.Pair{p.kernels()}}
}

// Collect returns what can be removed from the cache, as engine.Collect does. If remove is true, it removes it.
func (p *Project) Collect(remove bool) ([]engine.Garbage, error) {
	garbage, err := engine.Collect(p.Plan, remove)
	if garbage == nil {
		garbage = []engine.Garbage{} // JSON shall have an empty list
	}

	return garbage, err
}

// Package stages turns a configuration into a plan of tasks. Each stage is a
// package of its own below this one: an adapter from configuration to the
// packages that do the work (ingest, dsp, train, report). What a task reads of
// the configuration is listed where the task is made, because it is part of the
// task's key.
//
// The formulas of the method are not here; when a task runs, and whether, is the
// engine's decision.
package stages

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/pipeline/stages/simulatestage"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
)

// names are the stages in the order in which data flow through them.
var names = []string{"simulate", "ingest", "dsp", "train", "report"}

// Names lists the stages in the order in which data flow through them.
func Names() []string { return slices.Clone(names) }

// planned is an experiment with the results of its stages.
type planned struct {
	plan.Experiment
	ing     ingeststage.Result
	trip    dspstage.Result
	trained trainstage.Result
}

// planExperiment adds the tasks of one experiment. A new stage is one package with a plan
// function, one call here, at its place in the flow, and its name in names.
func planExperiment(exp plan.Experiment) *planned {
	ing := fault.Get(ingeststage.Plan(exp, fault.Get(simulatestage.Plan(exp))))
	exp.Ingest.Data = ing.Data
	ing.Warnings = append(ing.Warnings, exp.TakeNames(ing.Columns)...)
	trip := fault.Get(dspstage.Plan(exp, ing))
	trained := fault.Get(trainstage.Plan(exp, ing, trip))
	reportstage.Plan(exp, ing, trip, trained)

	return &planned{exp, ing, trip, trained}
}

// Planned are the tasks of every experiment of a file.
type Planned struct {
	Plan        *engine.Plan
	Warnings    []ingest.Warning
	experiments []*planned
}

// Plan lists the tasks of every experiment of f. For that it reads globs,
// conditions tables and table headers, no samples. extra adds
// splits to the experiments they fit (report --held-out).
func Plan(f *config.File, prog plan.Program, extra []config.Split) (_ *Planned, err error) {
	defer fault.Catch(&err)
	tasks := plan.NewTasks(&engine.Plan{Dir: f.Resolve(f.Workdir), Stages: Names()})
	out := &Planned{Plan: tasks.Plan}
	for k := range f.Experiments {
		exp := plan.NewExperiment(f, k, prog, tasks)
		exp.Asked = extra
		out.experiments = append(out.experiments, planExperiment(exp))
	}

	out.across(f, extra)

	for _, p := range out.experiments {
		for _, w := range p.ing.Warnings { // experiments on the same files have the same warnings
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}

		if r := p.ing.Recordings; r != nil && !r.Simulated {
			p.ing.Known = nil // Check reads the files
		}
	}

	return out, nil
}

// Check opens the files of every experiment and reads their headers
// (ingeststage.CheckFiles), then checks the splits against the conditions found. Where that takes few seconds, by the
// weights of the tasks and the sizes of their files, it also tries all up to the trainings.
func (p *Planned) Check(ctx context.Context) (warnings []ingest.Warning, err error) {
	defer fault.Catch(&err)
	const few, bytesPerSecond = 4, 2e7

	triplets, seconds := engine.Selection{To: "dsp"}, 0.0
	for _, t := range p.Plan.Tasks {
		took := t.Weight
		for _, f := range t.Files {
			if info, err := os.Stat(f.Open); err == nil {
				took += float64(info.Size()) / bytesPerSecond
			}
		}

		if p.Plan.Selects(triplets, t) {
			seconds += took
		}
	}

	for _, p := range p.experiments {
		ing, w, err := ingeststage.CheckFiles(ctx, p.Experiment, p.ing)
		fault.Raise(err)
		dspstage.CheckTares(ctx, p.ing)
		warnings = append(warnings, w...)
		dspstage.CheckRepeats(p.Experiment, ing)
		fault.Raise(trainstage.CheckSplits(p.Experiment, ing, p.trained.Splits))
		warnings = append(warnings, fault.Get(trainstage.WarnEach(p.Experiment, ing))...)
	}

	if seconds < few {
		p.try(ctx, triplets)
	}

	return warnings, nil
}

// try makes the triplets in a folder that is removed, and begins what is made of them. What stops it would stop a run.
func (p *Planned) try(ctx context.Context, triplets engine.Selection) {
	dir, err := os.MkdirTemp("", "doubletake-")
	if err != nil {
		return // nowhere to try it
	}
	defer os.RemoveAll(dir)

	there := *p.Plan
	there.Dir = dir
	made := fault.Get(engine.Run(ctx, &there, engine.Options{Selection: triplets, Jobs: runtime.GOMAXPROCS(0)}))
	for _, x := range p.experiments {
		path, _ := made.Output(x.trip.Triplets.Task, x.trip.Triplets.Output)
		t := fault.Get(table.Read(path))
		x.trained.Check(t)
		reportstage.CheckReference(x.Experiment, x.ing.Conditions, t)
	}
}

// across plans the comparisons of variants and the page. A split that was asked for must fit an experiment.
func (pl *Planned) across(f *config.File, extra []config.Split) {
	all := pl.experiments
	for i := range extra {
		if !slices.ContainsFunc(all, func(p *planned) bool { return p.trained.Fits[i] }) {
			fault.Raise(&config.Error{File: f.Path, Text: noFit(extra[i], all)})
		}
	}

	families := map[string][]reportstage.Variant{}
	for _, p := range all {
		if p.Variant != nil {
			v := reportstage.Variant{
				Experiment: p.Experiment, Columns: p.ing.Columns, Triplets: p.trip.Triplets, Trained: p.trained,
			}
			families[p.Family()] = append(families[p.Family()], v)
		}
	}

	for _, p := range all {
		if family := families[p.Family()]; len(family) > 0 && family[0].Name == p.Name {
			reportstage.PlanSweep(family)
		}
	}

	reportstage.PlanPage(f, pl.Plan)
}

// noFit is the error of a split on the command line that fits no experiment.
func noFit(s config.Split, all []*planned) string {
	var conditions, have []string
	for _, p := range all {
		conditions = append(conditions, p.ing.Conditions...)
		have = append(have, p.Name+" has "+strings.Join(p.ing.Conditions, ", "))
	}

	what, near, unknown := s.Name, "", s.Each
	if len(s.Each) == 0 {
		what, unknown = s.Test.String(), s.Test.Conditions()
	}

	for _, c := range unknown {
		if slices.Contains(conditions, c) {
			continue
		}

		if hint := spelling.DidYouMean(c, conditions); hint != "" {
			near = hint
		}
	}

	return fmt.Sprintf("hold out %s: no experiment that trains has these conditions; %s%s", what, strings.Join(have, "; "),
		near)
}

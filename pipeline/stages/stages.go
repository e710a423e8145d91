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
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/pipeline/stages/simulatestage"
	"doubletake/pipeline/stages/trainstage"
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
func planExperiment(exp plan.Experiment) (*planned, error) {
	sim, err := simulatestage.Plan(exp)
	if err != nil {
		return nil, err
	}

	ing, err := ingeststage.Plan(exp, sim)
	if err != nil {
		return nil, err
	}

	exp.Ingest.Data = ing.Data
	names, err := exp.TakeNames(ing.Columns)
	if err != nil {
		return nil, err
	}

	ing.Warnings = append(ing.Warnings, names...)
	trip, err := dspstage.Plan(exp, ing)
	if err != nil {
		return nil, err
	}

	trained, err := trainstage.Plan(exp, ing, trip)
	if err != nil {
		return nil, err
	}

	reportstage.Plan(exp, ing, trip, trained)

	return &planned{exp, ing, trip, trained}, nil
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
func Plan(f *config.File, prog plan.Program, extra []config.Split) (*Planned, error) {
	tasks := plan.NewTasks(&engine.Plan{Dir: f.Resolve(f.Workdir), Stages: Names()})
	out := &Planned{Plan: tasks.Plan}
	for k := range f.Experiments {
		exp := plan.NewExperiment(f, k, prog, tasks)
		exp.Asked = extra
		p, err := planExperiment(exp)
		if err != nil {
			return nil, err
		}

		out.experiments = append(out.experiments, p)
	}

	if err := out.across(f, extra); err != nil {
		return nil, err
	}

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
// (ingeststage.CheckFiles), then checks the splits against the conditions found.
func (p *Planned) Check(ctx context.Context) (warnings []ingest.Warning, err error) {
	for _, t := range p.Plan.Tasks {
		for _, f := range t.Files {
			if _, err := os.Stat(f.Open); err != nil {
				return nil, &engine.FileError{Path: f.Path, Err: errors.Unwrap(err)}
			}
		}
	}

	for _, p := range p.experiments {
		ing, w, err := ingeststage.CheckFiles(ctx, p.Experiment, p.ing)
		if err != nil {
			return warnings, err
		}

		if err := dspstage.CheckTares(ctx, p.Experiment, p.ing); err != nil {
			return warnings, err
		}

		warnings = append(warnings, w...)
		if err := dspstage.CheckRepeats(p.Experiment, ing); err != nil {
			return warnings, err
		}

		if err := trainstage.CheckSplits(p.Experiment, ing, p.trained.Splits); err != nil {
			return warnings, err
		}

		if w, err = trainstage.WarnEach(p.Experiment, ing); err != nil {
			return warnings, err
		}

		warnings = append(warnings, w...)
	}

	return warnings, nil
}

// across plans the comparisons of variants and the page. A split that was asked for must fit an experiment.
func (pl *Planned) across(f *config.File, extra []config.Split) error {
	all := pl.experiments
	for i := range extra {
		if !slices.ContainsFunc(all, func(p *planned) bool { return p.trained.Fits[i] }) {
			return &config.Error{File: f.Path, Text: noFit(extra[i], all)}
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

	return nil
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

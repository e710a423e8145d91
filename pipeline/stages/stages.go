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

// stage is one step of the way from raw files to the report: its name, and what
// it adds to an experiment's plan. It finds what the stages before it left in
// the builder.
type stage struct {
	name string
	plan func(*plan.Builder) error
}

// registry holds the stages in the order in which data flow through them. A new
// stage is one package with its plan function and one line here.
var registry = []stage{
	{"simulate", simulatestage.Plan},
	{"ingest", ingeststage.Plan},
	{"dsp", dspstage.Plan},
	{"train", trainstage.Plan},
	{"report", reportstage.Plan},
}

// Names lists the stages in the order in which data flow through them.
func Names() []string {
	out := make([]string, len(registry))
	for i, s := range registry {
		out[i] = s.name
	}
	return out
}

// Plan lists the tasks of every experiment of f. For that it reads globs,
// conditions tables and table headers, no samples. extra adds
// splits to the experiments they fit (report --held-out).
func Plan(f *config.File, prog plan.Program, extra []config.Split) (*engine.Plan, []ingest.Warning, error) {
	p, warnings, _, err := build(f, prog, extra)
	return p, warnings, err
}

// Check opens the files of every experiment and reads their headers
// (ingeststage.CheckFiles), then checks the splits against the conditions found.
func Check(ctx context.Context, f *config.File, prog plan.Program) (warnings []ingest.Warning, err error) {
	_, _, builders, err := build(f, prog, nil)
	if err != nil {
		return nil, err
	}
	for _, b := range builders {
		w, err := ingeststage.CheckFiles(ctx, b)
		if err != nil {
			return warnings, err
		}
		warnings = append(warnings, w...)
		if err := trainstage.CheckSplits(b); err != nil {
			return warnings, err
		}
	}
	return warnings, nil
}

// build plans every experiment and returns the builders too.
func build(f *config.File, prog plan.Program, extra []config.Split) (*engine.Plan, []ingest.Warning, []*plan.Builder,
	error,
) {
	var builders []*plan.Builder
	p := &engine.Plan{Dir: f.Resolve(f.Workdir), Stages: Names()}
	var warnings []ingest.Warning
	shared := map[string]*engine.Task{}
	fits := make([]bool, len(extra))
	var all []string  // every experiment's conditions
	var have []string // the experiments' conditions, for the message
	for i := range f.Experiments {
		exp := f.Experiments[i] // a copy: the stages complete it
		b := &plan.Builder{
			File: f, Exp: &exp, Program: prog, Plan: p, At: "experiments." + f.Experiments[i].Name,
			Extra: extra, Shared: shared,
		}
		for _, s := range registry {
			b.Stage = s.name
			if err := s.plan(b); err != nil {
				return nil, nil, nil, err
			}
		}
		builders = append(builders, b)
		for k, ok := range b.ExtraFits {
			fits[k] = fits[k] || ok
		}
		all = append(all, b.Conditions...)
		have = append(have, b.Exp.Name+" has "+strings.Join(b.Conditions, ", "))
		for _, w := range b.Warnings { // experiments on the same files have the same warnings
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	if k := slices.Index(fits, false); k >= 0 {
		return nil, nil, nil, &config.Error{File: f.Path, Text: noFit(extra[k], all, have)}
	}
	for lo := 0; lo < len(builders); { // variants follow each other
		hi, of := lo+1, builders[lo].Exp
		for of.Variant != nil && hi < len(builders) && builders[hi].Exp.Family() == of.Family() {
			hi++
		}
		if of.Variant != nil {
			if err := reportstage.PlanSweep(builders[lo:hi]); err != nil {
				return nil, nil, nil, err
			}
		}
		lo = hi
	}
	reportstage.PlanPage(f, p)
	return p, warnings, builders, nil
}

// noFit is the error of a split on the command line that fits no experiment.
func noFit(s config.Split, conditions, have []string) string {
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

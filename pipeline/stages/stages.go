// Package stages turns a configuration into a plan of tasks. A stage is a function planX, from an experiment and the
// results of earlier stages to a result with what later stages need: simulate.go, ingest.go, dsp.go, train.go and
// report.go contain these functions, and files with the stage's name before an underscore contain what they need. A
// stage is an adapter from the configuration to the packages that do the work (ingest, dsp, train, report). It lists
// the settings that a task reads where it adds the task, because they are part of the task's key.
//
// The formulas of the method are not here. The engine decides whether and when a task runs.
package stages

import (
	"context"
	"os"
	"runtime"
	"slices"

	"doubletake/dsp/background"
	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/train/experiment"
	"doubletake/train/triplets"
)

// stageNames are the stages in the order in which data flow through them.
var stageNames = []string{"simulate", "ingest", "dsp", "train", "report"}

// Names lists the stages in the order in which data flow through them.
func Names() []string { return slices.Clone(stageNames) }

// Tasks write values of these types with package gob. The order is part of the bytes that they write: a new type comes
// last.
func init() {
	taskfile.GobTypes(background.Background{}, triplets.Set{}, report.Detail{}, report.Sweep{}, report.SplitDetail{})
}

// planned is an experiment with the results of its stages.
type planned struct {
	plan.Experiment
	ing     ingestResult
	trip    dspResult
	trained trainResult
}

// planExperiment adds the tasks of one experiment. A new stage needs a function that plans it, a call of that function
// here at its place in the flow, and its name in stageNames.
func planExperiment(exp plan.Experiment) (*planned, error) {
	sim, err := planSimulate(exp)
	if err != nil {
		return nil, err
	}

	ing, err := planIngest(exp, sim)
	if err != nil {
		return nil, err
	}

	exp.Ingest.Data = ing.Data
	warnings, err := exp.TakeNames(ing.Labels)
	if err != nil {
		return nil, err
	}

	ing.Warnings = append(ing.Warnings, warnings...)
	trip, err := planDSP(exp, ing)
	if err != nil {
		return nil, err
	}

	trained, err := planTrain(exp, ing, trip)
	if err != nil {
		return nil, err
	}

	if err := planReport(exp, ing, trip, trained); err != nil {
		return nil, err
	}

	return &planned{exp, ing, trip, trained}, nil
}

// Planned holds the tasks of every experiment of a file.
type Planned struct {
	Plan        *engine.Plan
	Warnings    []ingest.Warning
	experiments []*planned
}

// Plan lists the tasks of every experiment of f. It finds the files and reads tables of conditions and headers of
// tables, but no samples. extra are splits that are added to the experiments whose conditions they name (report
// --held-out).
func Plan(f *config.File, prog plan.Program, extra []config.Split) (*Planned, error) {
	tasks := plan.NewTasks(&engine.Plan{Dir: f.Resolve(f.Workdir), Stages: Names()})
	all := &Planned{Plan: tasks.Plan}
	for k := range f.Experiments {
		exp := plan.NewExperiment(f, k, prog, tasks)
		exp.Asked = extra
		x, err := planExperiment(exp)
		if err != nil {
			return nil, err
		}

		all.experiments = append(all.experiments, x)
	}

	if err := all.planAcross(f, extra); err != nil {
		return nil, err
	}

	for _, x := range all.experiments {
		for _, w := range x.ing.Warnings { // experiments on the same files have the same warnings
			if !slices.Contains(all.Warnings, w) {
				all.Warnings = append(all.Warnings, w)
			}
		}

		if r := x.ing.Recordings; r != nil && r.written == nil {
			x.ing.Known = nil // Check reads the files
		}
	}

	return all, nil
}

// quickSeconds is the largest estimate of the time to compute all triplets for which Check computes them.
const quickSeconds = 4

// Check opens the files of every experiment, reads their headers (checkFiles), and checks the splits with
// the conditions that it found. If all triplets can be computed in quickSeconds, Check also computes them and checks
// the trainings. If Check returns an error, it also returns the warnings so far.
func (pl *Planned) Check(ctx context.Context) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for _, x := range pl.experiments {
		found, err := x.check(ctx)
		warnings = append(warnings, found...)
		if err != nil {
			return warnings, err
		}
	}

	triplets := engine.Selection{To: "dsp"}
	if pl.Plan.Seconds(triplets) < quickSeconds {
		if err := pl.tryTriplets(ctx, triplets); err != nil {
			return warnings, err
		}
	}

	return warnings, nil
}

// check checks the files and the splits of an experiment. If it returns an error, it also returns the warnings so far.
func (x *planned) check(ctx context.Context) ([]ingest.Warning, error) {
	ing, warnings, err := checkFiles(ctx, x.Experiment, x.ing)
	if err != nil {
		return warnings, err
	}

	if r := x.ing.Recordings; r != nil {
		if err := r.Reading.CheckTares(ctx, r.inventory.Files, r.inventory.Project); err != nil {
			return warnings, err
		}
	}

	if err := checkRepeats(x.Experiment, ing); err != nil {
		return warnings, err
	}

	if err := checkSplits(x.Experiment, ing, x.trained.Splits); err != nil {
		return warnings, err
	}

	many, err := warnEach(x.Experiment, ing)
	if err != nil {
		return warnings, err
	}

	return append(warnings, many...), nil
}

// tryTriplets computes the triplets in a folder that it removes afterwards, and checks the trainings with them. It
// returns the error with which a run would fail.
func (pl *Planned) tryTriplets(ctx context.Context, triplets engine.Selection) error {
	dir, err := os.MkdirTemp("", "doubletake-")
	if err != nil {
		return nil // without a temporary folder nothing can be tried, which is not a fault of the configuration
	}
	defer os.RemoveAll(dir)

	trial := *pl.Plan
	trial.Dir = dir
	results, err := engine.Run(ctx, &trial, engine.Options{Selection: triplets, Jobs: runtime.GOMAXPROCS(0)})
	if err != nil {
		return err
	}

	for _, x := range pl.experiments {
		path, _ := results.Output(x.trip.Triplets.Task, x.trip.Triplets.Output)
		t, err := table.Read(path)
		if err != nil {
			return err
		}

		if err := x.trained.Check(t); err != nil {
			return err
		}

		if err := resultsOf(x.Experiment, x.ing.Conditions, t).CheckReference(); err != nil {
			return x.Located("train", err)
		}
	}

	return nil
}

// conditions lists the experiments with their conditions.
func (pl *Planned) conditions() []experiment.Measured {
	var list []experiment.Measured
	for _, x := range pl.experiments {
		list = append(list, experiment.Measured{Name: x.Name, Conditions: x.ing.Conditions})
	}

	return list
}

// planAcross plans the comparisons of variants and the page. It returns an error about a split that was asked for and
// that fits no experiment.
func (pl *Planned) planAcross(f *config.File, extra []config.Split) error {
	for i := range extra {
		fits := func(x *planned) bool { return x.trained.Fits[i] }
		if !slices.ContainsFunc(pl.experiments, fits) {
			return &config.Error{File: "--held-out " + extra[i].Name, Text: experiment.NoFit(extra[i], pl.conditions())}
		}
	}

	families := map[string][]Variant{}
	for _, x := range pl.experiments {
		if x.Variant != nil {
			v := Variant{
				Experiment: x.Experiment, Columns: x.ing.Columns, Triplets: x.trip.Triplets, Trained: x.trained,
			}
			families[x.Family()] = append(families[x.Family()], v)
		}
	}

	for _, x := range pl.experiments {
		if family := families[x.Family()]; len(family) > 0 && family[0].Name == x.Name {
			planSweep(family)
		}
	}

	planPage(f, pl.Plan)

	return nil
}

package stages

import (
	"fmt"

	"doubletake/dsp"
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/content"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// This file reads what the tasks of stage train wrote about the splits of an experiment.

// honestDeps lists the result of the task that calibrates a split on left-out groups. It returns nil if the split is
// not calibrated.
func honestDeps(exp plan.Experiment, split config.Split) []engine.Dep {
	if _, absent := experiment.HonestCondition(exp.Train.Honest, split, exp.Train.Splits); absent != "" {
		return nil
	}
	return []engine.Dep{{Task: HonestID(exp, split.Name), Output: honest.File}}
}

// compareDeps lists the outputs of one seed's tasks that the comparison of methods on a split reads.
func compareDeps(exp plan.Experiment, split config.Split, seed int) []engine.Dep {
	tr := exp.Train

	deps := []engine.Dep{{Task: TrainID(exp, split.Name, seed), Output: FlagsJSON}}
	for _, name := range tr.Compare {
		task := MethodID(exp, split.Name, name, seed)
		deps = append(deps, engine.Dep{Task: task, Output: MethodArrow})
	}

	return deps
}

// results returns the triplets of an experiment, with readers of what was trained on them and found with them.
func (x *reportStage) results(job *engine.Job, tab *table.Table) *content.Results {
	exp := x.exp
	results := resultsOf(exp, x.ing.Conditions, tab)
	results.Divider = x.trained.experiment
	results.Description = report.Experiment{
		Name: exp.Name, Data: exp.Ingest.Data, Pairs: x.ing.PairKind, Construction: exp.DSP.Triplets,
		ConfigDigest: plan.Digest(x.settings()...), Version: exp.Program.Version,
	}
	results.Construction = x.ing.Construction
	results.Subtracted = exp.Ingest.Background != nil && exp.Ingest.Background.Subtract
	results.Toy = x.ing.Pairs != nil && x.ing.Pairs.Toy != nil
	results.Index = tableReader(job, x.ing.Index)
	results.Spectra = tableReader(job, x.trip.Spectra)
	results.Seed = func(split config.Split, seed int) (content.Seed, error) { return readSeed(exp, job, split, seed) }
	results.Intervals = func(split config.Split) (*interval.Result, error) {
		return honest.ReadResult(job.Input(HonestID(exp, split.Name), honest.File))
	}
	if dep := x.trip.Background; dep != nil {
		results.Background = func(channel, unit, recording string) ([]dsp.BackgroundRecording, error) {
			background, err := readBackground(job.Input(dep.Task, dep.Output))
			if err != nil {
				return nil, err
			}

			return background.Recordings(channel, unit, recording)
		}
	}

	return results
}

// resultsOf returns the triplets of an experiment, without what was trained on them.
func resultsOf(exp plan.Experiment, conditions []string, tab *table.Table) *content.Results {
	results := &content.Results{
		Description: report.Experiment{Name: exp.Name}, Triplets: tab, Conditions: conditions, Divider: dividerOf(exp),
		Analysis: &exp.DSP.Settings,
	}
	if name := exp.Report.Compare; name != "" {
		results.Compared = content.Predictions{Name: name, Path: exp.File.Resolve(name)}
	}

	return results
}

// tableReader returns a function that reads a table that another task wrote. It returns nil if there is no such table.
func tableReader(job *engine.Job, dep *engine.Dep) func() (*table.Table, error) {
	if dep == nil {
		return nil
	}

	return func() (*table.Table, error) { return readTable(job, *dep) }
}

// readSeed reads the results of one training of a split.
func readSeed(exp plan.Experiment, job *engine.Job, split config.Split, seed int) (content.Seed, error) {
	id := TrainID(exp, split.Name, seed)

	var result content.Seed
	var err error
	result.Predictions, err = table.Read(job.Input(id, "predictions.arrow"))
	if err != nil {
		return content.Seed{}, err
	}

	result.History, err = table.Read(job.Input(id, HistoryArrow))
	if err != nil {
		return content.Seed{}, fmt.Errorf("read losses: %w", err)
	}

	if err := taskfile.ReadJSON(job.Input(id, FlagsJSON), &result.Flags); err != nil {
		return content.Seed{}, err
	}

	for _, name := range exp.Train.Compare {
		answers, err := table.Read(job.Input(MethodID(exp, split.Name, name, seed), MethodArrow))
		if err != nil {
			return content.Seed{}, err
		}

		result.Methods = append(result.Methods, content.Method{Name: name, Answers: answers})
	}

	return result, nil
}

package stages

import (
	"context"
	"fmt"
	"strconv"

	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/baseline"
	"doubletake/train/honest"
	"doubletake/train/results"
)

// methodVersion is the version of the results of the methods that are compared with the network. Raise it when the task
// of a method gives another result for the same input; baseline.Info.Version counts changes of one method.
const methodVersion = 4

// MethodID returns the ID of the task of a method on a split.
func MethodID(exp plan.Experiment, split, method string, k int) string {
	return exp.ID("train", split, method, "seed-"+strconv.Itoa(k))
}

// methods adds a task for each method that is compared with the networks on a split, and for each seed. The method is
// trained on the rows that the network was trained on, and predicts every distinct condition.
func (pl *trainPlanner) methods(split config.Split) {
	tr := pl.exp.Train

	// Methods that consist of networks depend on the settings of networks. No method depends on how the covariance is
	// sampled and on how a pair network feeds back its outcomes.
	settings := settingsRead(pl.reads.WithoutEstimate(true))
	for _, name := range tr.Compare {
		for k := range tr.Seeds {
			pl.methodTask(settings, split, name, k)
		}
	}
}

// methodTask adds the task that trains a method on a split with the k-th seed. settings are the settings of networks
// that methods read.
func (pl *trainPlanner) methodTask(settings []kv.Pair, split config.Split, name string, k int) {
	tr := pl.exp.Train
	work := &methodTraining{
		trainPlanner: pl, split: split, name: name, number: k, settings: settings,
		seed: plan.SeedOf(tr.Seed, "method "+name, strconv.Itoa(k)),
	}
	work.local = []kv.Pair{
		split.Setting(),
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(work.seed, 10)},
	}

	info, _ := baseline.Describe(name) // the configuration was checked for unknown methods
	if info.Version > 0 {
		work.local = append(work.local, kv.Pair{Key: "version of the method", Value: strconv.Itoa(info.Version)})
	}

	if info.Simple {
		work.leaveGroupsOut()
	}

	weight := pl.experiment.Weight()
	if info.Members {
		work.local = append(work.local, kv.Pair{Key: "train.members", Value: strconv.Itoa(tr.Members)})
		weight *= float64(tr.Members)
	}

	pl.exp.Add(&engine.Task{
		ID: MethodID(pl.exp, split.Name, name, k), Stage: "train", Split: split.Name, Version: methodVersion,
		Config: work.settings, Local: pl.stated(work.local), Deps: []engine.Dep{pl.trip.Triplets}, Weight: weight,
		Publish: []engine.Link{{
			Output: MethodArrow,
			Path:   pl.exp.Published("train", "splits", split.Name, "seed-"+strconv.Itoa(k), name+".arrow"),
		}},
		Run: work.run,
	})
}

// methodTraining is the work of a task that trains a method on a split.
type methodTraining struct {
	*trainPlanner
	split    config.Split
	name     string
	number   int // of the split's trainings, from 0
	seed     uint64
	settings []kv.Pair
	local    []kv.Pair
	grouped  honest.Learner // has a condition if the method leaves out groups to choose its terms
}

// leaveGroupsOut sets the learner to the groups of the split, so that the method chooses its terms by whole groups.
func (m *methodTraining) leaveGroupsOut() {
	m.grouped = m.experiment.GroupsOfMethod(m.split)
	groups := fmt.Sprintf("%s, blocks %d, labels %t, within %g", m.grouped.Condition, m.grouped.Blocks, m.grouped.Labels,
		m.grouped.Tolerance)
	m.local = append(m.local, kv.Pair{Key: "groups", Value: groups})
}

// run trains the method and writes its answers at every distinct condition.
func (m *methodTraining) run(ctx context.Context, job *engine.Job) error {
	tab, err := readTable(job, m.trip.Triplets)
	if err != nil {
		return err
	}

	set, prediction, err := m.experiment.CompareTable(ctx, tab, m.split, m.grouped, m.name, m.seed)
	if err != nil {
		return m.exp.Located("train", err)
	}

	answers := results.MethodTable(set, prediction)
	answers.Meta = append(answers.Meta, provenance(m.exp, m.split, m.number, m.settings, m.local)...)

	return taskfile.WriteTable(job, MethodArrow, answers)
}

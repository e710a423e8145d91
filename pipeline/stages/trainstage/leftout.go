package trainstage

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// leftOutVersion is the version of the results of trainings that leave groups out. Raise it when a training gives
// another result for the same input.
const leftOutVersion = 3

// leftOutModel is the output of a training that leaves a group out: an honest.EnsembleModel.
const leftOutModel = "ensemble.json"

// leftOut lists the trainings that the calibration of one split needs, if its model is trained anew without each group.
type leftOut struct {
	grouping honest.Grouping // the groups of values
	values   []float64       // distinct values of the condition, ascending; for a label the places of its names
	names    []string        // sorted names of a label; nil for a condition of numbers
	full     subset          // the rows that the split does not hold out
	byGroup  map[int]subset  // by training group: the rows of full that are not in the group
}

// subset describes the rows of one training. Its name contains the values that the rows have, and not the values that
// are left out: two splits that leave the same rows then share a training.
type subset struct {
	name      string          // contains the condition and the values
	condition string          // the condition whose values select the rows
	values    []float64       // values of the condition that the rows have, ascending
	rule      holdout.Holdout // rows that it holds out are left out too; nil if it holds out none
	plan      *leftOut        // the trainings of the first split that needs this one
}

// task returns the ID of the training on the subset.
func (s subset) task(exp plan.Experiment) string { return exp.ID("train", "on", s.name) }

// trainedAnew returns the base that is trained anew for each left-out group, or "".
func trainedAnew(settings honest.Settings) string {
	switch {
	case settings.Scale == "ecov":
		return "pair"
	case settings.Base == "gp" || settings.Base == "none":
		return ""
	}

	return settings.Base
}

// planLeftOut plans the left-out trainings of all splits and adds their tasks: one that selects the rows, and one for
// each distinct training. Splits that need the same training share it: G groups, each held out in turn, need
// G + G(G−1)/2 trainings. planLeftOut returns the trainings by split, or nil if no model is trained anew.
func (pl *planner) planLeftOut() (map[string]*leftOut, error) {
	settings := pl.exp.Train.Honest
	base := trainedAnew(settings)
	if base == "" || pl.exp.DSP.Couples {
		return nil, nil
	}

	planned := map[string]*leftOut{}
	for _, split := range pl.exp.Train.Splits {
		condition, absent := HonestCondition(settings, split, pl.exp.Train.Splits)
		if absent != "" {
			continue
		}

		learner := pl.learner(split, condition)
		values, err := pl.groupValues(&learner)
		if err != nil {
			return nil, err
		}

		if len(values) == 0 {
			return nil, pl.exp.Errorf("train.honest.base", "%s needs the values of %s to plan its trainings, and they are "+
				"not known before the files are read; use base: gp and scale: plain", base, condition)
		}

		left := newLeftOut(learner, values, split)
		pl.addSubset(left.full)
		for _, s := range left.inTurn() {
			pl.addSubset(s)
		}

		planned[split.Name] = left
	}

	if len(pl.subsets) > 0 {
		rows := pl.subsetsTask(pl.subsets)
		for _, s := range pl.subsets {
			pl.leftOutTask(rows, s)
		}
	}

	return planned, nil
}

// addSubset adds a subset, unless there is one with its name.
func (pl *planner) addSubset(s subset) {
	known := slices.ContainsFunc(pl.subsets, func(other subset) bool { return other.name == s.name })
	if !known {
		pl.subsets = append(pl.subsets, s)
	}
}

// groupValues lists the values of the learner's condition that are known before files are read. The values of a label
// are the places of its names, which groupValues stores in the learner.
func (pl *planner) groupValues(learner *honest.Learner) ([]float64, error) {
	if !slices.Contains(pl.ing.Labels, learner.Condition) {
		return pl.ing.Values(learner.Condition)
	}

	names, err := pl.ing.Names(learner.Condition)
	if err != nil {
		return nil, err
	}

	learner.Names = names
	var places []float64
	for k := range learner.Names {
		places = append(places, float64(k))
	}

	return places, nil
}

// newLeftOut lists the trainings with which a split is calibrated. values are the values of the learner's condition.
func newLeftOut(learner honest.Learner, values []float64, split config.Split) *leftOut {
	grouping := learner.Grouping(values)
	left := &leftOut{grouping: grouping, values: values, names: learner.Names, byGroup: map[int]subset{}}
	left.full = left.subset(learner.Condition, split, -1)
	for group := range grouping.Names {
		rest := left.subset(learner.Condition, split, group)
		if n := len(rest.values); n > 0 && n < len(left.full.values) {
			left.byGroup[group] = rest
		}
	}

	return left
}

// subset returns the rows of a split's training without one group. For the group −1 it returns all of them.
func (l *leftOut) subset(condition string, split config.Split, group int) subset {
	byCondition := split.Test.Group() == condition || split.Final()
	rest := subset{plan: l, condition: condition}
	for k, v := range l.values {
		held := split.Test.Holds(condition, v)
		if l.names != nil {
			held = split.Test.HoldsLabel(condition, l.names[k])
		}

		if l.grouping.Group[k] != group && (!byCondition || !held) {
			rest.values = append(rest.values, v)
		}
	}

	rest.name = subsetName(condition, rest.values, l.names)
	if !byCondition { // other conditions choose the test part, so that no other split has the same rows
		rest.rule = split.Test
		rest.name = split.Name + "-" + rest.name
	}

	return rest
}

// maxValuesText is the largest number of bytes of a list of values in the name of a subset.
const maxValuesText = 24

// subsetName names a subset by its condition and values. A long list of values, or of a label's names, is replaced by
// the number of values and a hash. If names is not nil, values are places in names.
func subsetName(condition string, values []float64, names []string) string {
	texts := make([]string, len(values))
	for k, v := range values {
		texts[k] = strconv.FormatFloat(v, 'g', -1, 64)
		if names != nil {
			texts[k] = names[int(v)]
		}
	}

	list := strings.Join(texts, ",")
	if len(list) > maxValuesText || names != nil { // names may have characters that are not allowed in file names
		h := fnv.New64a()
		h.Write([]byte(list))
		list = fmt.Sprintf("%d-values-%016x", len(values), h.Sum64())
	}

	return condition + "=" + list
}

// output returns the name of the output with the rows of the subset.
func (s subset) output() string { return s.name + ".gob" }

// rowsOf returns the rows of a table of triplets that belong to a subset. set is the set of the table.
func (pl *planner) rowsOf(s subset, t *table.Table, set triplets.Set) (triplets.Set, error) {
	places, err := coordinates(t, s.condition, s.plan.names)
	if err != nil {
		return triplets.Set{}, pl.exp.Errorf("train.honest.groups", "%v", err)
	}

	held, err := cmp.Or(s.rule, holdout.Nothing).Held(pairs.AtSetPoints{Table: t})
	if err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	var rows []int
	for i, z := range places {
		if _, known := slices.BinarySearch(s.values, z); known && !held[i] {
			rows = append(rows, i)
		}
	}

	return honest.Numbers(set, rows), nil
}

// subsetsTask adds the task that writes the rows of each subset into a file of its own, and returns the ID of the task.
// A training then depends on its rows alone, and does not run again if other rows change.
func (pl *planner) subsetsTask(subsets []subset) (id string) {
	tr := pl.exp.Train
	dep := pl.trip.Triplets

	local := []kv.Pair{
		{Key: "inputs", Value: strings.Join(tr.Inputs, ",")}, {Key: "outcomes", Value: strings.Join(tr.Outcomes, ",")},
	}
	for _, s := range subsets {
		rule := ""
		if s.rule != nil {
			rule = s.rule.String()
		}

		local = append(local, kv.Pair{Key: s.name, Value: rule})
	}

	if t := pl.exp.Ingest.Table; t != nil && t.Use == "all" {
		local = append(local, kv.Pair{Key: "weights of pairs", Value: "kept"})
	}

	local = append(local, pl.all.across...)

	id = pl.exp.ID("train", "rows")
	t := pl.exp.Add(&engine.Task{ID: id, Stage: "train", Version: leftOutVersion, Local: local, Deps: []engine.Dep{dep}})
	t.Run = func(_ context.Context, job *engine.Job) error { return pl.writeSubsets(job, dep, subsets) }

	return id
}

// writeSubsets writes the rows of each subset.
func (pl *planner) writeSubsets(job *engine.Job, dep engine.Dep, subsets []subset) error {
	t, err := table.Read(job.Input(dep.Task, dep.Output))
	if err != nil {
		return err
	}

	set, err := Triplets(pl.exp, t)
	if err != nil {
		return err
	}

	for _, s := range subsets {
		rows, err := pl.rowsOf(s, t, set)
		if err != nil {
			return err
		}

		if err := plan.WriteGob(rowsData, job.Output(s.output()), rows); err != nil {
			return err
		}
	}

	return nil
}

// rowsData names the rows of a training in messages.
const rowsData = "rows to train on"

func init() { plan.GobTypes(interval.Result{}, triplets.Set{}) }

// ensemble describes the networks that are trained on each subset.
func (pl *planner) ensemble() honest.Ensemble {
	if trainedAnew(pl.exp.Train.Honest) == "pair" {
		return honest.Ensemble{Members: pl.exp.Train.Seeds, Claims: true}
	}

	return honest.Ensemble{Members: pl.exp.Train.Members}
}

// leftOutTask adds the training of networks on a subset.
func (pl *planner) leftOutTask(rows string, s subset) {
	tr := pl.exp.Train
	ensemble := pl.ensemble()
	base := trainedAnew(tr.Honest)
	settings := pl.all
	settings.Estimate = nil
	settings.single = !ensemble.Claims
	ensemble.Seed = plan.SeedOf(tr.Seed, "left-out groups", base)
	ensemble.Train = func(ctx context.Context, set triplets.Set, seed uint64) (honest.Network, error) {
		return pl.trainMember(ctx, set, seed, ensemble.Claims)
	}

	local := []kv.Pair{
		{Key: "base", Value: base},
		{Key: "members", Value: strconv.Itoa(ensemble.Members)},
		{Key: "seed", Value: strconv.FormatUint(ensemble.Seed, 10)},
	}

	dep := engine.Dep{Task: rows, Output: s.output()}
	t := pl.exp.Add(&engine.Task{
		ID: s.task(pl.exp), Stage: "train", Version: leftOutVersion, Config: settings.flatten(), Local: local,
		Deps: []engine.Dep{dep}, Weight: pl.weight() * float64(ensemble.Members),
	})

	t.Run = func(ctx context.Context, job *engine.Job) error {
		var set triplets.Set
		if err := plan.ReadGob(rowsData, job.Input(dep.Task, dep.Output), &set); err != nil {
			return err
		}

		model, err := ensemble.Fit(ctx, set)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}

		return plan.WriteJSON(job, leftOutModel, model)
	}
}

// trainMember trains one network of an ensemble on standardised rows. If claims is true, it is a pair network, which
// predicts its own uncertainty.
func (pl *planner) trainMember(ctx context.Context, set triplets.Set, seed uint64, claims bool) (
	honest.Network, error,
) {
	cfg := network(pl.exp, seed)
	cfg.Standardise = false // the rows are standardised

	model, _, err := train.FitWith(ctx, setOf(set), cfg, train.FitOptions{Single: !claims})
	if err != nil {
		return nil, err
	}

	if claims {
		return honest.PairNetwork{Pair: model}, nil
	}

	return model, nil
}

// setOf returns the set of the rows with numbered conditions, which a training needs.
func setOf(rows triplets.Set) triplets.Set {
	set := triplets.New(make([]triplets.Quantity, rows.In), make([]triplets.Quantity, rows.Out), rows.X, rows.Y1, rows.Y2)
	set.Weight = rows.Weight
	set.SetPoints = rows.SetPoints
	set.Alone = rows.Alone

	return set
}

// inTurn lists the trainings without one group, in the order of the groups.
func (l *leftOut) inTurn() (all []subset) {
	for _, group := range slices.Sorted(maps.Keys(l.byGroup)) {
		all = append(all, l.byGroup[group])
	}

	return all
}

// calibrate calibrates models that were trained without one group each. If the scale is "ecov", it instead calibrates a
// process with the rises of E|cov| of these models. read returns the model that was trained on a subset.
func (l *leftOut) calibrate(ctx context.Context, learner honest.Learner, set triplets.Set, groups []float64,
	read func(subset) (*honest.Model, error),
) (*honest.Model, *interval.Prediction, error) {
	grouping, err := l.grouping.Extend(l.values, groups)
	if err != nil {
		return nil, nil, err
	}

	full, err := read(l.full)
	if err != nil {
		return nil, nil, err
	}

	readWithout := func(group int) (*honest.Model, error) { return read(l.byGroup[group]) }
	if learner.Scale != "ecov" {
		return learner.Retrained(ctx, set, grouping, full, readWithout)
	}

	learner.Rises, err = honest.RisesOf(ctx, set, grouping, full, readWithout)
	if err != nil {
		return nil, nil, err
	}

	return learner.Process(ctx, set, groups)
}

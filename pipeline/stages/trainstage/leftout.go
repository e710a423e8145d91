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

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// leftOutVersion is the version of the results of trainings that leave groups out.
// 2, 3: the layout of the rows.
const leftOutVersion = 3

// leftOutModel is the output of such a training, an honest.EnsembleModel.
const leftOutModel = "ensemble.json"

// leftOut lists the trainings with which a model of one split is calibrated that is
// trained anew for each left-out group.
type leftOut struct {
	grouping honest.Grouping // of values
	values   []float64       // of the condition, distinct, ascending; of a label the places of its names
	names    []string        // of a label, sorted; else nil
	full     subset          // all that the split does not hold out
	without  map[int]subset  // by training group, all of full but the group
}

// subset is the rows of a training: those whose condition has one of the values, and
// for which the rule, unless nil, does not hold. It is named after the values it
// has, not after those left out, so that a training stays the same when a further
// group is left out of it.
type subset struct {
	name   string
	values []float64
	rule   holdout.Holdout
	of     *leftOut // of the first split that needs it
}

// task is the ID of the training on the subset.
func (s subset) task(exp plan.Experiment) string { return exp.ID("train", "on", s.name) }

// trainedAnew is the base that is trained anew for each left-out group, "" where none is.
func trainedAnew(h honest.Settings) string {
	switch {
	case h.Scale == "ecov":
		return "pair"
	case h.Base == "gp" || h.Base == "none":
		return ""
	}

	return h.Base
}

// planLeftOut plans the left-out trainings of all splits and adds their tasks: one
// that selects the rows, and one for each distinct training. Splits that need the
// same training share it: G groups, each held out in turn, need G + G(G−1)/2.
func (pl *planner) planLeftOut() map[string]*leftOut {
	h := pl.exp.Train.Honest
	base := trainedAnew(h)
	if base == "" || pl.exp.DSP.Couples {
		return nil
	}

	add := func(s subset) subset {
		if !slices.ContainsFunc(pl.subsets, func(o subset) bool { return o.name == s.name }) {
			pl.subsets = append(pl.subsets, s)
		}
		return s
	}

	out := map[string]*leftOut{}
	for _, s := range pl.exp.Train.Splits {
		condition, absent := HonestCondition(h, s, pl.exp.Train.Splits)
		if absent != "" {
			continue
		}

		learn := pl.learner(s, condition)
		values := pl.groupValues(&learn)
		pl.exp.Refuse(len(values) == 0, "train.honest.base", "%s needs the values of %s to plan its trainings, and they are "+
			"not known before the files are read; use base: gp and scale: plain", base, condition)

		l := newLeftOut(learn, values, s)
		l.full = add(l.full)
		for _, g := range l.inTurn() {
			add(g)
		}

		out[s.Name] = l
	}

	if len(pl.subsets) > 0 {
		rows := pl.subsetsTask(pl.subsets)
		for _, s := range pl.subsets {
			pl.leftOutTask(rows, s)
		}
	}

	return out
}

// groupValues lists the values of the condition, of a label the places of its names, which it
// stores in l.
func (pl *planner) groupValues(l *honest.Learner) []float64 {
	if !slices.Contains(pl.ing.Labels, l.Condition) {
		return pl.ing.Values(l.Condition)
	}

	l.Names = pl.ing.Names(l.Condition)

	return lists.Make(len(l.Names), func(k int) float64 { return float64(k) })
}

func newLeftOut(learn honest.Learner, values []float64, s config.Split) *leftOut {
	condition, g := learn.Condition, learn.Grouping(values)
	l := &leftOut{grouping: g, values: values, names: learn.Names, without: map[int]subset{}}
	same := s.Test.Group() == condition || s.Final()
	make1 := func(keep func(k int) bool) subset {
		r := subset{of: l}
		for k, v := range values {
			holds := s.Test.Holds(condition, v)
			if l.names != nil {
				holds = s.Test.HoldsLabel(condition, l.names[k])
			}

			if keep(k) && !(same && holds) {
				r.values = append(r.values, v)
			}
		}

		r.name = subsetName(condition, r.values, l.names)
		if !same { // the test part is chosen by something else: no other split has the same rows
			r.rule, r.name = s.Test, s.Name+"-"+r.name
		}

		return r
	}

	l.full = make1(func(int) bool { return true })
	for h := range g.Names {
		rest := make1(func(k int) bool { return g.Of[k] != h })
		if n := len(rest.values); n > 0 && n < len(l.full.values) {
			l.without[h] = rest
		}
	}

	return l
}

// subsetName names a subset by its values, or by their number and a hash. The values of a
// label are the places of its names.
func subsetName(condition string, values []float64, names []string) string {
	list := strings.Join(lists.Each(values, func(v float64) string {
		if names != nil {
			return names[int(v)]
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}), ",")
	if len(list) > 24 || names != nil { // a name may have characters that a file's cannot
		h := fnv.New64a()
		h.Write([]byte(list))
		list = fmt.Sprintf("%d-values-%016x", len(values), h.Sum64())
	}

	return condition + "=" + list
}

func (s subset) output() string { return s.name + ".gob" }

// rowsOf are the rows that the networks of a subset are trained on.
func (pl *planner) rowsOf(s subset, t *table.Table, set triplets.Set) triplets.Set {
	name := s.name[:strings.LastIndex(s.name, "=")]
	if s.rule != nil {
		name = pl.exp.Train.Honest.Groups
	}

	z, err := coordinates(t, name, s.of.names)
	pl.exp.Refuse(err != nil, "train.honest.groups", "%v", err)
	held := reading(cmp.Or(s.rule, holdout.Nothing).Held(plan.AtSetPoints{Table: t}))

	return honest.Numbers(set, lists.Where(len(z), func(i int) bool {
		_, known := slices.BinarySearch(s.values, z[i])
		return known && !held[i]
	}))
}

// subsetsTask adds the task that writes the rows of all subsets, a file each: a
// training depends on its rows alone.
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
	t.Run = func(_ context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		trip := fault.Get(table.Read(j.Input(dep.Task, dep.Output)))
		set := fault.Get(Triplets(pl.exp, trip))
		for _, s := range subsets {
			fault.Raise(plan.WriteGob(rowsData, j.Output(s.output()), pl.rowsOf(s, trip, set)))
		}

		return nil
	}

	return id
}

// rowsData are the rows of a training.
const rowsData = "rows to train on"

func init() { plan.GobTypes(interval.Result{}, triplets.Set{}) }

// ensemble are the networks of each subset.
func (pl *planner) ensemble() honest.Ensemble {
	if trainedAnew(pl.exp.Train.Honest) == "pair" {
		return honest.Ensemble{Members: pl.exp.Train.Seeds, Claims: true}
	}

	return honest.Ensemble{Members: pl.exp.Train.Members}
}

// leftOutTask adds the training of networks on a subset.
func (pl *planner) leftOutTask(rows string, s subset) {
	tr, e := pl.exp.Train, pl.ensemble()
	base := trainedAnew(tr.Honest)
	r := pl.all
	r.Estimate, r.single = nil, !e.Claims
	cfg := r.settings()
	e.Seed = plan.SeedOf(tr.Seed, "left-out groups", base)
	local := []kv.Pair{
		{Key: "base", Value: base},
		{Key: "members", Value: strconv.Itoa(e.Members)},
		{Key: "seed", Value: strconv.FormatUint(e.Seed, 10)},
	}

	dep := engine.Dep{Task: rows, Output: s.output()}
	t := pl.exp.Add(&engine.Task{
		ID: s.task(pl.exp), Stage: "train", Version: leftOutVersion, Config: cfg, Local: local, Deps: []engine.Dep{dep},
		Weight: pl.weight() * float64(e.Members),
	})

	t.Run = func(ctx context.Context, j *engine.Job) error {
		var d triplets.Set
		if err := plan.ReadGob(rowsData, j.Input(dep.Task, dep.Output), &d); err != nil {
			return err
		}

		e := e
		e.Train = func(ctx context.Context, d triplets.Set, seed uint64) (honest.Network, error) {
			c := network(pl.exp, seed)
			c.Standardise = false // the rows are standardised

			m, _, err := train.FitWith(ctx, setOf(d), c, train.FitOptions{Single: !e.Claims})
			if err != nil {
				return nil, err
			}

			if e.Claims {
				return honest.PairNetwork{Pair: m}, nil
			}

			return m, nil
		}

		m, err := e.Fit(ctx, d)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}

		return plan.WriteJSON(j, leftOutModel, m)
	}
}

// setOf numbers the conditions of the rows, as a training needs them.
func setOf(d triplets.Set) triplets.Set {
	s := triplets.New(make([]triplets.Quantity, d.In), make([]triplets.Quantity, d.Out), d.X, d.Y1, d.Y2)
	s.Weight, s.SetPoints, s.Alone = d.Weight, d.SetPoints, d.Alone
	return s
}

// inTurn are the trainings without a group, in the order of the groups.
func (l *leftOut) inTurn() []subset {
	return lists.Each(slices.Sorted(maps.Keys(l.without)), func(group int) subset { return l.without[group] })
}

// calibrate calibrates models that were trained without one group each, or a process with the rises of E|cov| that they
// give. read returns the model that was trained on a subset.
func (l *leftOut) calibrate(ctx context.Context, learn honest.Learner, s triplets.Set, z []float64,
	read func(subset) (*honest.Model, error),
) (_ *honest.Model, _ *interval.Prediction, err error) {
	defer fault.Catch(&err)
	g, full := fault.Get(l.grouping.Extend(l.values, z)), fault.Get(read(l.full))
	without := func(group int) (*honest.Model, error) { return read(l.without[group]) }
	if learn.Scale != "ecov" {
		return learn.Retrained(ctx, s, g, full, without)
	}

	learn.Rises = fault.Get(honest.RisesOf(ctx, s, g, full, without))

	return learn.Process(ctx, s, z)
}

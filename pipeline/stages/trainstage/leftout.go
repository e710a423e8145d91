package trainstage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// leftOutModel is the output of such a training.
func leftOutModel(h honest.Settings) string {
	if h.Base == "gp-refit" {
		return "process.json"
	}
	return "ensemble.json"
}

// readLeftOut reads it.
func readLeftOut(path string, h honest.Settings) (*honest.Model, error) {
	if h.Base == "gp-refit" {
		return honest.Read(path)
	}

	m := &honest.Model{Ensemble: &honest.EnsembleModel{}}

	return m, plan.ReadJSON(path, m.Ensemble)
}

// leftOut lists the trainings with which a model of one split is calibrated that is
// trained anew for each left-out group.
type leftOut struct {
	grouping honest.Grouping // of values
	values   []float64       // of the condition, distinct, ascending; of a label the places of its names
	names    []string        // of a label, sorted; else nil
	full     subset          // all that the split does not hold out
	groups   []leftOutGroup  // the training groups
}

// leftOutGroup is a training group and the training without it.
type leftOutGroup struct {
	group int
	subset
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

// trainsAnew reports whether a base is trained anew for each left-out group.
func trainsAnew(base string) bool { return base != "gp" && base != "none" }

// planLeftOut plans the left-out trainings of all splits and adds their tasks: one
// that selects the rows, and one for each distinct training. Splits that need the
// same training share it: G groups, each held out in turn, need G + G(G−1)/2.
func (pl *planner) planLeftOut() (map[string]*leftOut, error) {
	h := pl.exp.Train.Honest
	if !trainsAnew(h.Base) || pl.exp.DSP.Couples {
		return nil, nil
	}

	var subsets []subset
	add := func(s subset) subset {
		if !slices.ContainsFunc(subsets, func(o subset) bool { return o.name == s.name }) {
			subsets = append(subsets, s)
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
		values, err := pl.groupValues(&learn)
		if err != nil {
			return nil, err
		}

		if len(values) == 0 {
			return nil, pl.exp.Errorf("train.honest.base",
				"%s needs the values of %s to plan its trainings, and they are "+
					"not known before the files are read; use base: gp", h.Base, condition)
		}

		l := newLeftOut(learn, values, s)
		l.full = add(l.full)
		for _, g := range l.groups {
			add(g.subset)
		}

		out[s.Name] = l
	}

	if len(subsets) > 0 {
		rows := pl.subsetsTask(subsets)
		for _, s := range subsets {
			if h.Base == "gp-refit" {
				pl.refitTask(rows, s)
			} else {
				pl.leftOutTask(rows, s)
			}
		}
	}

	return out, nil
}

// groupValues lists the values of the condition, of a label the places of its names, which it
// stores in l.
func (pl *planner) groupValues(l *honest.Learner) (values []float64, err error) {
	if !slices.Contains(pl.ing.Labels, l.Condition) {
		return pl.ing.Values(l.Condition)
	}

	l.Names, err = pl.ing.Names(l.Condition)
	for k := range l.Names {
		values = append(values, float64(k))
	}

	return values, err
}

func newLeftOut(learn honest.Learner, values []float64, s config.Split) *leftOut {
	condition, g := learn.Condition, learn.Grouping(values)
	l := &leftOut{grouping: g, values: values, names: learn.Names}
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
			l.groups = append(l.groups, leftOutGroup{h, rest})
		}
	}

	return l
}

// subsetName names a subset by its values, or by their number and a hash. The values of a
// label are the places of its names.
func subsetName(condition string, values []float64, names []string) string {
	var text []string
	for _, v := range values {
		if names != nil {
			text = append(text, names[int(v)])
		} else {
			text = append(text, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}

	list := strings.Join(text, ",")
	if len(list) > 24 || names != nil { // a name may have characters that a file's cannot
		h := fnv.New64a()
		h.Write([]byte(list))
		list = fmt.Sprintf("%d-values-%016x", len(values), h.Sum64())
	}

	return condition + "=" + list
}

func (s subset) output() string { return s.name + ".gob" }

// rows lists the rows of the subset.
func (s subset) rows(t *table.Table, condition []float64) ([]int, error) {
	rule := cmp.Or(s.rule, holdout.Nothing)

	held, err := rule.Held(plan.AtSetPoints{Table: t})
	if err != nil {
		return nil, fmt.Errorf("read triplets: %w", err)
	}

	var out []int
	for i, v := range condition {
		if _, known := slices.BinarySearch(s.values, v); known && !held[i] {
			out = append(out, i)
		}
	}

	return out, nil
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

	if tr.Honest.Base == "gp-refit" {
		local = append(local, kv.Pair{Key: "base", Value: tr.Honest.Base}, kv.Pair{Key: "form", Value: tr.Honest.Form})
	}

	id = pl.exp.ID("train", "rows")
	t := pl.exp.Add(&engine.Task{ID: id, Stage: "train", Version: leftOutVersion, Local: local, Deps: []engine.Dep{dep}})
	t.Run = func(_ context.Context, j *engine.Job) error {
		trip, err := table.Read(j.Input(dep.Task, dep.Output))
		if err != nil {
			return err
		}

		set, err := Triplets(pl.exp, trip)
		if err != nil {
			return err
		}

		for _, s := range subsets {
			name := s.name[:strings.LastIndex(s.name, "=")]
			if s.rule != nil {
				name = pl.exp.Train.Honest.Groups
			}

			z, err := coordinates(trip, name, s.of.names)
			if err != nil {
				return pl.exp.Errorf("train.honest.groups", "%v", err)
			}

			rows, err := s.rows(trip, z)
			if err != nil {
				return fmt.Errorf("choose rows to train on: %w", err)
			}

			var content any = honest.Numbers(set, rows)
			if tr.Honest.Base == "gp-refit" {
				g, err := s.of.grouping.Extend(s.of.values, z)
				if err != nil {
					return fmt.Errorf("choose rows to train on: %w", err)
				}

				content = honest.Learner{Settings: honest.Settings(tr.Honest), Rate: IsRate}.ProcessRows(set, g, rows)
			}

			if err := plan.WriteGob(rowsData, j.Output(s.output()), content); err != nil {
				return err
			}
		}

		return nil
	}

	return id
}

// rowsData are the rows of a training.
const rowsData = "rows to train on"

func init() { plan.GobTypes(interval.Result{}, triplets.Set{}, honest.ProcessRows{}) }

// refitTask adds the fit of a process to a subset, with its own hyperparameters.
func (pl *planner) refitTask(rows string, s subset) {
	dep := engine.Dep{Task: rows, Output: s.output()}
	t := pl.exp.Add(&engine.Task{
		ID: s.task(pl.exp), Stage: "train", Version: honestVersion, Local: []kv.Pair{
			{Key: "base", Value: "gp-refit"}, {Key: "kernels", Value: pl.exp.Program.Kernels},
		},
		Deps: []engine.Dep{dep}, Weight: pl.honestWeight(),
	})

	t.Run = func(ctx context.Context, j *engine.Job) error {
		var r honest.ProcessRows
		if err := plan.ReadGob(rowsData, j.Input(dep.Task, dep.Output), &r); err != nil {
			return err
		}

		m, err := r.Fit(ctx)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}

		return plan.WriteJSON(j, leftOutModel(pl.exp.Train.Honest), m)
	}
}

// leftOutTask adds the training of networks on a subset.
func (pl *planner) leftOutTask(rows string, s subset) {
	tr := pl.exp.Train
	e := honest.EnsembleOf(tr.Honest.Base, tr.Members, tr.Seeds)
	r := pl.all
	r.Estimate, r.Calibration, r.single = nil, 0, !e.Claims
	cfg := r.settings()
	e.Seed = plan.SeedOf(tr.Seed, "left-out groups", tr.Honest.Base)
	local := []kv.Pair{
		{Key: "base", Value: tr.Honest.Base},
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

		dir, err := j.Scratch()
		if err != nil {
			return err
		}

		e := e
		c, err := stoppedWithin(ctx, pl.exp, j, d, e)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}

		k := 0
		e.Train = func(ctx context.Context, d triplets.Set, seed uint64) (honest.Network, error) {
			k++
			c.Seed = seed
			return trainMember(ctx, j, setOf(d), c, e.Claims, filepath.Join(dir, fmt.Sprintf("member-%d.json", k)))
		}

		m, err := e.Fit(ctx, d)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}

		return plan.WriteJSON(j, leftOutModel(tr.Honest), m)
	}
}

// trainMember trains one network, or reads it where an interrupted run has finished
// it: path is in the task's scratch folder.
func trainMember(ctx context.Context, j *engine.Job, set triplets.Set, c train.Config, pair bool, path string) (
	honest.Network, error,
) {
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		if n, err := honest.ReadNetwork(b, set.In, set.Out); err == nil {
			j.Note("checkpoint", filepath.Base(path)+" was trained before")
			return n, nil
		}

	case !errors.Is(err, fs.ErrNotExist):
		j.Note("checkpoint", fmt.Sprintf("not used: %v", err))
	}

	c.Standardise = false // the rows are standardised
	m, _, err := fit(ctx, j, set, c, train.FitOptions{Single: !pair})
	if err != nil {
		return nil, err
	}

	n := honest.Network(m)
	if pair {
		n = honest.PairNetwork{Pair: m}
	}

	if b, err = json.Marshal(n); err == nil {
		err = finish(path, b)
	}

	if err != nil {
		j.Note("checkpoint", fmt.Sprintf("not written: %v", err)) // only time is lost
	}

	return n, nil
}

// setOf numbers the conditions of the rows, as a training needs them.
func setOf(d triplets.Set) triplets.Set {
	s := triplets.New(make([]triplets.Quantity, d.In), make([]triplets.Quantity, d.Out), d.X, d.Y1, d.Y2)
	s.Weight, s.SetPoints = d.Weight, d.SetPoints
	return s
}

// finish writes what a training in a scratch folder gave, and removes its checkpoint, which
// is of no use to the next one.
func finish(path string, b []byte) error {
	if err := engine.WriteFile(path, b); err != nil {
		return err
	}

	err := os.Remove(filepath.Join(filepath.Dir(path), checkpointFile))
	Saved(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	return err
}

// calibrate calibrates models that were trained without one group each. read returns
// the model that was trained on a subset.
func (l *leftOut) calibrate(ctx context.Context, learn honest.Learner, s triplets.Set, z []float64,
	read func(subset) (*honest.Model, error),
) (*honest.Model, *interval.Prediction, error) {
	g, err := l.grouping.Extend(l.values, z)
	if err != nil {
		return nil, nil, err
	}

	full, err := read(l.full)
	if err != nil {
		return nil, nil, err
	}

	return learn.Retrained(ctx, s, g, full, func(group int) (*honest.Model, error) {
		k := slices.IndexFunc(l.groups, func(o leftOutGroup) bool { return o.group == group })
		return read(l.groups[k].subset)
	})
}

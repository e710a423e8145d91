package trainstage

import (
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
	"doubletake/train/triplets"
)

// leftOutVersion is the version of the results of trainings that leave groups out.
const leftOutVersion = 1

// leftOutModel is the output of such a training.
func leftOutModel(h config.Honest) string {
	if h.Base == "gp-refit" {
		return "process.json"
	}
	return "ensemble.json"
}

// readLeftOut reads it.
func readLeftOut(path string, h config.Honest) (*HonestModel, error) {
	if h.Base == "gp-refit" {
		return ReadHonestModel(path)
	}
	m := &HonestModel{Ensemble: &networks{}}
	return m, plan.ReadJSON(path, m.Ensemble)
}

// leftOut lists the trainings with which a model of one split is calibrated that is
// trained anew for each left-out group.
type leftOut struct {
	grouping honest.Grouping // of values
	values   []float64       // of the condition, distinct, ascending
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
func (s subset) task(b *plan.Builder) string { return b.ID("train", "on", s.name) }

// trainsAnew reports whether a base is trained anew for each left-out group.
func trainsAnew(base string) bool { return base != "gp" && base != "none" }

// planLeftOut plans the left-out trainings of all splits and adds their tasks: one
// that selects the rows, and one for each distinct training. Splits that need the
// same training share it: G groups, each held out in turn, need G + G(G−1)/2.
func planLeftOut(b *plan.Builder, cfg []kv.Pair) (map[string]*leftOut, error) {
	h := b.Exp.Train.Honest
	if !trainsAnew(h.Base) || b.Exp.DSP.Couples {
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
	for _, s := range b.Exp.Train.Splits {
		condition, absent := HonestCondition(h, s)
		if absent != "" {
			continue
		}
		values, err := plannedValues(b, condition)
		if err != nil {
			return nil, err
		}
		if len(values) == 0 {
			return nil, b.File.Errorf(b.At+".train.honest.base",
				"%s needs the values of %s to plan its trainings, and they are "+
					"not known before the files are read; use base: gp", h.Base, condition)
		}
		f := honestFit{settings: h, condition: condition, within: s.Test.Within(condition)}
		l := newLeftOut(f.grouping(values), values, s, condition)
		l.full = add(l.full)
		for _, g := range l.groups {
			add(g.subset)
		}
		out[s.Name] = l
	}
	if len(subsets) > 0 {
		rows := subsetsTask(b, subsets)
		for _, s := range subsets {
			if h.Base == "gp-refit" {
				refitTask(b, rows, s)
			} else {
				leftOutTask(b, cfg, rows, s)
			}
		}
	}
	return out, nil
}

func newLeftOut(g honest.Grouping, values []float64, s config.Split, condition string) *leftOut {
	l := &leftOut{grouping: g, values: values}
	same := s.Test.Group() == condition
	make1 := func(keep func(k int) bool) subset {
		r := subset{of: l}
		for k, v := range values {
			if keep(k) && !(same && s.Test.Holds(condition, v)) {
				r.values = append(r.values, v)
			}
		}
		r.name = subsetName(condition, r.values)
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

// subsetName names a subset by its values, or by their number and a hash.
func subsetName(condition string, values []float64) string {
	var text []string
	for _, v := range values {
		text = append(text, strconv.FormatFloat(v, 'g', -1, 64))
	}
	list := strings.Join(text, ",")
	if len(list) > 24 {
		h := fnv.New64a()
		h.Write([]byte(list))
		list = fmt.Sprintf("%d-values-%016x", len(values), h.Sum64())
	}
	return condition + "=" + list
}

func (s subset) output() string { return s.name + ".gob" }

// rows lists the rows of the subset.
func (s subset) rows(t *table.Table, condition []float64) ([]int, error) {
	rule := s.rule
	if rule == nil {
		rule = holdout.Nothing
	}
	held, err := rule.Held(t)
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
func subsetsTask(b *plan.Builder, subsets []subset) (id string) {
	tr := b.Exp.Train
	dep := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
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
	if t := b.Exp.Ingest.Table; t != nil && t.Use == "all" {
		local = append(local, kv.Pair{Key: "weights of pairs", Value: "kept"})
	}
	if tr.Honest.Base == "gp-refit" {
		local = append(local, kv.Pair{Key: "base", Value: tr.Honest.Base}, kv.Pair{Key: "form", Value: tr.Honest.Form})
	}
	id = b.ID("train", "rows")
	t := b.Add(&engine.Task{ID: id, Stage: "train", Version: leftOutVersion, Local: local, Deps: []engine.Dep{dep}})
	t.Run = func(_ context.Context, j *engine.Job) error {
		trip, err := table.Read(j.Input(dep.Task, dep.Output))
		if err != nil {
			return err
		}
		set, err := Triplets(b, trip)
		if err != nil {
			return err
		}
		for _, s := range subsets {
			name := s.name[:strings.LastIndex(s.name, "=")]
			if s.rule != nil {
				name = b.Exp.Train.Honest.Groups
			}
			z, err := trip.Floats(name)
			if err != nil {
				return b.File.Errorf(b.At+".train.honest.groups", "%v", err)
			}
			rows, err := s.rows(trip, z)
			if err != nil {
				return fmt.Errorf("choose rows to train on: %w", err)
			}
			var content any = rowsOf(set, rows)
			if tr.Honest.Base == "gp-refit" {
				g, err := s.of.rowGroups(z)
				if err != nil {
					return fmt.Errorf("choose rows to train on: %w", err)
				}
				content = newProcessRows(set, g, rows, tr.Honest.Form)
			}
			values := []any{content}
			if weight := set.Select(rows).Weight; weight != nil {
				values = append(values, weight)
			}
			if err := plan.WriteGob(rowsData, j.Output(s.output()), values...); err != nil {
				return err
			}
		}
		return nil
	}
	return id
}

// rowsData are the rows of a training and, where there are any, their weights.
const rowsData = "rows to train on"

func init() { plan.GobTypes(Honest{}, honest.Data{}, processRows{}, []float64{}) }

func rowsOf(s triplets.Set, rows []int) honest.Data {
	d := honest.Data{N: len(rows), In: s.In, Out: s.Out}
	for _, i := range rows {
		d.X = append(d.X, s.X[i*s.In:(i+1)*s.In]...)
		d.Y1 = append(d.Y1, s.Y1[i*s.Out:(i+1)*s.Out]...)
		d.Y2 = append(d.Y2, s.Y2[i*s.Out:(i+1)*s.Out]...)
	}
	return d
}

// refitTask adds the fit of a process to a subset, with its own hyperparameters.
func refitTask(b *plan.Builder, rows string, s subset) {
	dep := engine.Dep{Task: rows, Output: s.output()}
	t := b.Add(&engine.Task{
		ID: s.task(b), Stage: "train", Version: honestVersion, Local: []kv.Pair{
			{Key: "base", Value: "gp-refit"}, {Key: "kernels", Value: b.Program.Kernels},
		},
		Deps: []engine.Dep{dep}, Weight: honestWeight(b),
	})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		var r processRows
		if err := plan.ReadGob(rowsData, j.Input(dep.Task, dep.Output), &r, &r.weight); err != nil {
			return err
		}
		m, _, err := r.fit(ctx)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}
		m.Format, m.Version = honestFormat, 1
		return plan.WriteJSON(j.Output(leftOutModel(b.Exp.Train.Honest)), m)
	}
}

// leftOutTask adds the training of networks on a subset.
func leftOutTask(b *plan.Builder, cfg []kv.Pair, rows string, s subset) {
	tr := b.Exp.Train
	e := ensembleOf(tr)
	cfg = plan.Without(slices.Clone(cfg), "train.estimate", "train.calibration")
	if !e.Claims {
		cfg = plan.Without(cfg, "train.loss.pairs", "train.model.feedback", "train.model.feedback_value")
	}
	e.Seed = plan.SeedOf(tr.Seed, "left-out groups", tr.Honest.Base)
	local := []kv.Pair{
		{Key: "base", Value: tr.Honest.Base},
		{Key: "members", Value: strconv.Itoa(e.Members)},
		{Key: "seed", Value: strconv.FormatUint(e.Seed, 10)},
	}
	dep := engine.Dep{Task: rows, Output: s.output()}
	t := b.Add(&engine.Task{
		ID: s.task(b), Stage: "train", Version: leftOutVersion, Config: cfg, Local: local, Deps: []engine.Dep{dep},
		Weight: weight(b) * float64(e.Members),
	})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		var d honest.Data
		var weight []float64
		if err := plan.ReadGob(rowsData, j.Input(dep.Task, dep.Output), &d, &weight); err != nil {
			return err
		}
		dir, err := j.Scratch()
		if err != nil {
			return err
		}
		e := e
		e.Weight = weight
		c, err := stoppedWithin(ctx, b, j, d, e)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}
		k := 0
		e.Train = func(ctx context.Context, d honest.Data, seed uint64) (honest.Network, error) {
			k++
			c.Seed = seed
			return trainMember(ctx, j, setOf(d, weight), c, e.Claims, filepath.Join(dir, fmt.Sprintf("member-%d.json", k)))
		}
		m, err := e.Fit(ctx, d)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.name, err)
		}
		return plan.WriteJSON(j.Output(leftOutModel(tr.Honest)), m)
	}
}

// ensembleOf is the ensemble that a base of networks consists of.
func ensembleOf(tr config.Train) honest.Ensemble {
	switch tr.Honest.Base {
	case "pair":
		return honest.Ensemble{Members: tr.Seeds, Claims: true}
	case "prior-ensemble":
		return honest.Ensemble{Members: tr.Members + tr.Members%2, Prior: 1, Signed: true}
	}
	return honest.Ensemble{Members: tr.Members}
}

// trainMember trains one network, or reads it where an interrupted run has finished
// it: path is in the task's scratch folder.
func trainMember(ctx context.Context, j *engine.Job, set triplets.Set, c train.Config, pair bool, path string) (
	honest.Network, error,
) {
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		if n, err := readNetwork(b, set.In, set.Out); err == nil {
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
		n = pairNetwork{m}
	}
	if b, err = json.Marshal(n); err == nil {
		err = finish(path, b)
	}
	if err != nil {
		j.Note("checkpoint", fmt.Sprintf("not written: %v", err)) // only time is lost
	}
	return n, nil
}

// setOf is the set of rows to train on.
func setOf(d honest.Data, weight []float64) triplets.Set {
	s := triplets.New(make([]triplets.Quantity, d.In), make([]triplets.Quantity, d.Out), d.X, d.Y1, d.Y2)
	s.Weight = weight
	return s
}

// finish writes what a training in a scratch folder gave, and removes its checkpoint, which
// is of no use to the next one.
func finish(path string, b []byte) error {
	if err := engine.WriteFile(path, b); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), checkpointFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pairNetwork is the network that is given its own prediction: its claim is the
// covariance C of its two answers.
type pairNetwork struct {
	Pair *train.Model `json:"pair"`
}

func (p pairNetwork) Predict(x []float64) (mu, variance []float64) { return p.Pair.Predict(x) }

// Claim returns C.
func (p pairNetwork) Claim(ctx context.Context, x []float64) ([]float64, error) {
	e, err := p.Pair.Estimate(ctx, x, train.EstimateOptions{Samples: 2})
	if err != nil {
		return nil, err
	}
	return e.Cov, nil
}

// readNetwork reads a member of an ensemble.
func readNetwork(data []byte, in, out int) (honest.Network, error) {
	var pair struct{ Pair *train.Model }
	if err := json.Unmarshal(data, &pair); err != nil {
		return nil, err
	}
	m := pair.Pair
	if m == nil {
		m = &train.Model{}
		if err := json.Unmarshal(data, m); err != nil {
			return nil, err
		}
	}
	if m.In != in || m.Out != out {
		return nil, fmt.Errorf("expected a network of %d inputs and %d outcomes, found %d and %d", in, out, m.In, m.Out)
	}
	if pair.Pair != nil {
		return pairNetwork{m}, nil
	}
	return m, nil
}

// networks are the trained networks of a split in honest.json.
type networks struct{ *honest.EnsembleModel }

func (n *networks) UnmarshalJSON(data []byte) (err error) {
	n.EnsembleModel, err = honest.ReadEnsemble(data, readNetwork)
	return err
}

// rowGroups assigns the rows of a set to the groups, by their condition.
func (l *leftOut) rowGroups(z []float64) (honest.Grouping, error) {
	g := l.grouping
	g.Of = make([]int, len(z))
	for i, v := range z {
		k, known := slices.BinarySearch(l.values, v)
		if !known {
			return g, fmt.Errorf("%s %g of a triplet was not known when the trainings were planned", g.Condition, v)
		}
		g.Of[i] = l.grouping.Of[k]
	}
	if g.Z != nil {
		g.Z = z
	}
	return g, nil
}

// trained calibrates models that were trained without one group each, as split does
// in closed form. read returns the model that was trained on a subset.
func (f honestFit) trained(ctx context.Context, s triplets.Set, z []float64, l *leftOut,
	read func(subset) (*HonestModel, error),
) (*Honest, *HonestModel, *honest.Prediction, error) {
	if s.Couples {
		return f.absent("the pairs are couples: they measure no error")
	}
	g, err := l.rowGroups(z)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := read(l.full)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !model.Predicts():
		return f.absent(model.Absent)
	}
	test := make([]bool, s.N) // rows set aside to recalibrate the pair network are trained on
	for i, p := range s.Part {
		test[i] = p == triplets.Test
	}
	p := honest.NewPlan(g, []honest.Split{{Name: "all", Test: test}})
	fitted := make(honest.Fitted, len(p.Trainings))
	for _, h := range p.Splits[0].LeftOut {
		k := slices.IndexFunc(l.groups, func(o leftOutGroup) bool { return o.group == h.Group })
		m, err := read(l.groups[k].subset)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case !m.Predicts():
			return f.absent(fmt.Sprintf("without %s %s: %s", g.Condition, g.Names[h.Group], m.Absent))
		}
		fitted[h.Training] = m.predictor()
	}
	data := honest.Data{N: s.N, In: s.In, Out: s.Out, X: model.inputs(s.X), Y1: s.Y1, Y2: s.Y2, Run: s.Run}
	left, err := honest.LeaveOut(ctx, data, g, p, 0, fitted)
	if err != nil {
		return nil, nil, nil, err
	}
	train := p.Trainings[p.Splits[0].Full].Rows
	o := honest.Options{Base: model.base(f.settings), ClaimedNoise: f.settings.Base == "gp-refit"}
	return f.calibrate(ctx, s, g, train, left, model.predictor(), model, o)
}

// Package trainstage plans stage train: one task per split and seed for the
// network, and one per split, seed and method it is compared with. It writes
// models, histories and predictions. The networks and methods are in package
// train and below.
package trainstage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 2: card.json; 3: diagnostics.json, timing.json; 4: estimates round otherwise;
// 5: other points for C with five outcomes and more, _kappa; 6: held-out loss in the
// history; 7: diagnostics.json in parts.
const version = 7

// Result is what later stages need of stage train.
type Result struct {
	Splits []config.Split            // with each value of those that hold one out after the other, and those asked for
	Inner  map[string][]config.Split // by split, those by which a variant is selected; none without a sweep's select
	Fits   []bool                    // which of the splits asked for are about the experiment

	*planner // of the tasks
}

// planner adds the tasks of one experiment.
type planner struct {
	exp  plan.Experiment
	ing  ingeststage.Result
	trip dspstage.Result
	all  reads     // settings of every training
	cfg  []kv.Pair // of these

	prior    scale.Prior // of the scale of new groups, where it is a file
	numbered []string    // inputs whose values are things
	subsets  []subset    // of rows on which networks are trained without a group
}

// Plan adds a task per split and seed, and the tasks of the methods compared. Splits asked for
// are in addition to those of the configuration, where the experiment has their conditions.
func Plan(exp plan.Experiment, ing ingeststage.Result, trip dspstage.Result) (out Result, err error) {
	defer fault.Catch(&err)
	pl := &planner{exp: exp, ing: ing, trip: trip}
	out = Result{
		Splits: exp.Train.Splits, Inner: map[string][]config.Split{}, Fits: make([]bool, len(exp.Asked)), planner: pl,
	}
	if len(exp.Train.Inputs) == 0 {
		return out, nil
	}

	out.Splits = pl.expand(exp.Train.Splits, false)
	for i, x := range exp.Asked {
		out.Splits, out.Fits[i] = pl.ask(out.Splits, x)
	}

	pl.exp.Train.Splits = out.Splits
	pl.prior = readPrior(exp)
	pl.numbered = pl.numberedThings()
	pl.all = readsOf(pl.exp)
	pl.cfg = pl.all.settings()
	left := pl.planLeftOut()
	for _, s := range out.Splits {
		inner := pl.inner(s)
		out.Inner[s.Name] = inner
		for _, s := range append(slices.Clone(inner), s) {
			for k := range exp.Train.Seeds {
				pl.trainTask(s, k)
			}
		}

		if !s.Final() { // else there are no held-out values to compare methods on
			pl.methods(s)
		}

		pl.honestTask(s, left[s.Name])
	}

	pl.checkSplits()

	return out, nil
}

// ask adds the splits of x that fit the experiment, which has their conditions. One that holds
// the same out as another is not trained again under another name.
func (pl *planner) ask(splits []config.Split, x config.Split) (all []config.Split, fits bool) {
	for _, s := range pl.expand([]config.Split{x}, true) {
		unknown := func(condition string) bool {
			return !slices.Contains(pl.ing.Conditions, condition) && !slices.Contains(pl.ing.Labels, condition)
		}
		if slices.ContainsFunc(s.Test.Conditions(), unknown) {
			continue
		}

		fits = true

		same := func(o config.Split) bool { return o.Name == s.Name || o.Test.String() == s.Test.String() }
		if !slices.ContainsFunc(splits, same) {
			splits = append(slices.Clone(splits), s)
		}
	}

	return splits, fits
}

// TrainID is the ID of the task that trains the k-th network of a split.
func TrainID(exp plan.Experiment, split string, k int) string {
	return exp.ID("train", split, "seed-"+strconv.Itoa(k))
}

func (pl *planner) trainTask(s config.Split, k int) {
	tr := pl.exp.Train
	seed := plan.SeedOf(tr.Seed, "train", strconv.Itoa(k))
	dep := pl.trip.Triplets
	dir := pl.exp.Published("train", "splits", s.Name, "seed-"+strconv.Itoa(k))
	local := []kv.Pair{
		s.Setting(),
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}

	if s.Without != nil {
		local = append(local, kv.Pair{Key: "train.splits." + s.Name + ".without", Value: s.Without.String()})
	}

	// The card states what the triplets' values do not.
	kind := append(pl.stated(nil), kv.Pair{Key: "pairs", Value: pl.ing.PairKind})
	kind = append(kind, pl.ing.Points.Settings(pl.exp.Ingest.Within)...)
	if s.Final() {
		kind = append(kind, kv.Pair{Key: "record of splits", Value: strings.Join(record(pl.exp), ",")})
	}

	t := pl.exp.Add(&engine.Task{
		ID: TrainID(pl.exp, s.Name, k), Stage: "train", Split: s.Name, Version: version, Config: pl.cfg,
		Local: slices.Concat(local, kind), Deps: []engine.Dep{dep}, Weight: pl.weight(),
	})

	outputs := []string{"model.json", cardJSON, FlagsJSON, "history.arrow", "predictions.arrow"}
	if s.Without != nil {
		outputs, t.Split = nil, s.Outer()
	}

	for _, o := range outputs {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(dir, o)})
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		trip, set := readSplit(pl.exp, j, dep, s)
		data := pl.trainingPart(s, set)
		c := network(pl.exp, seed)

		model, history, err := train.FitWith(ctx, data, c, observed(set, c.Epochs))
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}

		o := tr.Estimate
		o.Seed = estimateSeed(pl.exp, k)
		est, err := model.Estimate(ctx, set.Distinct, o)
		if err != nil {
			return fmt.Errorf("estimate covariance: %w", err)
		}

		fault.Raise(writeFlags(j.Output(FlagsJSON), diagnose(set, est)))
		about := card(pl.exp, pl.ing.PairKind, set, s, k, plan.Digest(pl.cfg, local), est)
		fault.Raise(plan.WriteJSON(j, cardJSON, about))
		fault.Raise(plan.WriteJSON(j, "model.json", model))
		meta := provenance(pl.exp, s, k, pl.cfg, local)
		h, p := historyTable(history), predictionTable(trip, set, est)
		h.Meta, p.Meta = meta, slices.Concat(meta, p.Meta)

		return errors.Join(plan.WriteTable(j, "history.arrow", h), plan.WriteTable(j, "predictions.arrow", p))
	}
}

// weight is the seconds that one training takes on one processor, roughly: by
// pairs and epochs.
func (pl *planner) weight() float64 {
	_, pairs := pl.ing.Size()
	return 0.02 + 6e-7*pairs*float64(pl.exp.Train.Optimizer.Epochs)
}

// readSplit reads the triplets and splits them.
func readSplit(exp plan.Experiment, j *engine.Job, dep engine.Dep, s config.Split) (*table.Table, triplets.Set) {
	t, set, err := SplitTable(exp, fault.Get(table.Read(j.Input(dep.Task, dep.Output))), s)
	fault.Raise(err)

	return t, set
}

// readGroups is readSplit with the values of the condition that groups are left out by, for
// a label the places of the names in l.Names, which are those of the table unless they were
// planned.
func readGroups(exp plan.Experiment, j *engine.Job, dep engine.Dep, s config.Split, l *honest.Learner) (triplets.Set,
	[]float64,
) {
	t, set := readSplit(exp, j, dep, s)
	if c := t.Column(l.Condition); l.Names == nil && c != nil && c.Strings != nil {
		l.Names = holdout.Distinct(c.Strings)
	}

	l.Offsets = slices.Clone(l.Offsets)
	for k, o := range l.Offsets {
		if o.Name == l.Condition {
			continue // the names are the groups'
		}

		l.Offsets[k].Of = reading(t.Strings(o.Name))
	}

	z, err := coordinates(t, l.Condition, l.Names)
	exp.Refuse(err != nil, "train.honest.groups", "%v", err)

	return set, z
}

// coordinates returns the values of a condition in each row, or the places of a label's names.
func coordinates(t *table.Table, condition string, names []string) ([]float64, error) {
	if names == nil {
		return plan.AtSetPoints{Table: t}.Floats(condition)
	}

	v, err := t.Strings(condition)
	z := make([]float64, len(v))
	for i, n := range v {
		k, known := slices.BinarySearch(names, n)
		if !known {
			return nil, fmt.Errorf("%s %s of a triplet was not known when the trainings were planned", condition, n)
		}

		z[i] = float64(k)
	}

	return z, err
}

// SplitTable returns the rows of t that take part in a split, split.
func SplitTable(exp plan.Experiment, t *table.Table, s config.Split) (_ *table.Table, set triplets.Set, err error) {
	defer fault.Catch(&err)
	if s.Without != nil {
		t = t.Select(rowsWith(reading(heldOut(exp, s.Without, t)), false))
	}

	set, err = Split(exp, fault.Get(Triplets(exp, t)), t, s)

	return t, set, err
}

// trainingPart returns the training part of a split, or raises the error of one that no network can be trained on.
func (pl *planner) trainingPart(s config.Split, set triplets.Set) triplets.Set {
	data := set.Of(triplets.Train)
	fault.Raise(checkBatch(pl.exp, s, data.N))
	err := train.Check(data, network(pl.exp, 0))
	if c := (*train.ConstantInputError)(nil); errors.As(err, &c) {
		fault.Raise(constantInput(pl.exp, s, pl.exp.Train.Inputs[c.Column], c.Value))
	}

	pl.exp.Refuse(err != nil, "train.splits."+s.Name, "%v", err)

	return data
}

func constantInput(exp plan.Experiment, s config.Split, input string, value float64) error {
	return exp.Errorf("train.inputs", "%q is constant (%g) in the training set of split %q: "+
		"nothing can be learned from it; take it out of the inputs or hold out something else", input, value, s.Name)
}

// stated adds to the key of a task what its metadata states and it does not read.
func (pl *planner) stated(local []kv.Pair) []kv.Pair {
	if db := pl.exp.DSP.EmergenceDB; db != dsp.DefaultSettings().EmergenceDB { // in the descriptions of columns
		local = append(slices.Clone(local), plan.Only("dsp", plan.Settings("dsp", pl.exp.DSP), "emergence_db")...)
	}

	return slices.Concat(local, plan.Stated(pl.exp.Meta()), plan.Settings("ingest", struct {
		Derive []config.NamedString `key:"derive"` // likewise
	}{pl.exp.Ingest.Derive}))
}

// provenance is the metadata of what one training writes.
func provenance(exp plan.Experiment, s config.Split, k int, cfg, local []kv.Pair) []kv.Pair {
	return append(exp.Meta(cfg, local),
		kv.Pair{Key: "split", Value: s.Name}, kv.Pair{Key: "held_out", Value: s.Test.String()},
		kv.Pair{Key: "seed", Value: strconv.Itoa(k)}, kv.Pair{Key: "kernels", Value: exp.Program.Kernels})
}

// SeedFlags are the diagnostics of one model on one split.
type SeedFlags struct {
	Train []score.Flag `json:"train"`
	Test  []score.Flag `json:"test"`
}

// diagnose checks the identities of the theory (docs/method.md#diagnostics) on
// the distinct conditions of the training and of the test part.
func diagnose(s triplets.Set, est *train.Estimates) SeedFlags {
	part := func(p triplets.Part) []score.Flag {
		return append([]score.Flag{}, score.Diagnose(est.Rows(s.Of(p).Present(), s.Out))...)
	}
	return SeedFlags{Train: part(triplets.Train), Test: part(triplets.Test)}
}

func writeFlags(path string, f SeedFlags) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}

	if err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}

	return nil
}

// Package trainstage plans stage train: one task per split and seed for the
// network, and one per split, seed and method it is compared with. It writes
// models, histories and predictions. The networks and methods are in package
// train and below.
package trainstage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/dsp"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 2: card.json; 3: diagnostics.json, timing.json; 4: estimates round otherwise;
// 5: other points for C with five outcomes and more, _kappa; 6: held-out loss in the
// history.
const version = 6

// jointVersion is part of the key of trainings with a joint head alone: results of other
// heads stay valid. 2: the loss rounds otherwise; 3: other dropout bits, full matrices in
// float32.
var jointVersion = kv.Pair{Key: "joint head", Value: "3"}

// Plan adds a task per split and seed, and the tasks of the methods compared.
func Plan(b *plan.Builder) error {
	tr := &b.Exp.Train
	if len(tr.Inputs) == 0 {
		return nil
	}
	var err error
	if tr.Splits, err = expand(b, tr.Splits, false); err != nil {
		return err
	}
	b.ExtraFits = make([]bool, len(b.Extra))
	for i, x := range b.Extra {
		asked, err := expand(b, []config.Split{x}, true)
		if err != nil {
			return err
		}
		for _, s := range asked {
			unknown := func(condition string) bool { return !slices.Contains(b.Conditions, condition) }
			if slices.ContainsFunc(s.Test.Conditions(), unknown) {
				continue
			}
			b.ExtraFits[i] = true
			// A split that holds the same out is not trained again under another name.
			same := func(o config.Split) bool { return o.Name == s.Name || o.Test.String() == s.Test.String() }
			if !slices.ContainsFunc(tr.Splits, same) {
				tr.Splits = append(slices.Clone(tr.Splits), s)
			}
		}
	}
	cfg := plan.Without(plan.Settings("train", *tr),
		"train.splits", "train.seeds", "train.seed", "train.compare", "train.members", "train.honest", "train.events")
	cfg = plan.Without(cfg, "train.calibration.kind") // the methods do not depend on it
	for i, p := range cfg {
		if p.Key == "train.calibration.share" { // its name before there were kinds
			cfg[i].Key = "train.calibration"
		}
	}
	if tr.Calibration.Share == 0 {
		cfg = plan.Without(cfg, "train.calibration")
	}
	if tr.EarlyStop.On == "" {
		cfg = plan.Without(cfg, "train.early_stopping")
	}
	cfg = append(cfg, kv.Pair{Key: "kernels", Value: b.Program.Kernels},
		kv.Pair{Key: "dsp.couples", Value: strconv.FormatBool(b.Exp.DSP.Couples)})
	if tr.Head == train.Joint || tr.Head == train.JointFull {
		cfg = append(cfg, jointVersion)
	}
	if t := b.Exp.Ingest.Table; t != nil && t.Use == "all" {
		cfg = append(cfg, kv.Pair{Key: "weights of pairs", Value: "loss, scale, R², e"})
	}
	if b.Outcomes != nil {
		if _, err := Events(b, b.Outcomes); err != nil {
			return err
		}
	}
	left, err := planLeftOut(b, cfg)
	if err != nil {
		return err
	}
	for _, s := range tr.Splits {
		inner, err := Inner(b, s)
		if err != nil {
			return err
		}
		for _, s := range append(inner, s) {
			for k := range tr.Seeds {
				stopTask(b, cfg, s, k)
				trainTask(b, cfg, s, k)
			}
		}
		if s.Final() {
			continue // no held-out values to compare methods on
		}
		methods(b, cfg, s)
		for k := range tr.Seeds {
			crossTask(b, cfg, s, "pair", k)
		}
		honestTask(b, s, left[s.Name])
	}
	return checkSplits(b)
}

// TrainID is the ID of the task that trains the k-th network of a split.
func TrainID(b *plan.Builder, split string, k int) string {
	return b.ID("train", split, "seed-"+strconv.Itoa(k))
}

func trainTask(b *plan.Builder, cfg []kv.Pair, s config.Split, k int) {
	tr := b.Exp.Train
	seed := plan.SeedOf(tr.Seed, "train", strconv.Itoa(k))
	dep := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
	dir := b.Published("splits", s.Name, "seed-"+strconv.Itoa(k))
	local := []kv.Pair{
		s.Setting(),
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}
	if s.Without != nil {
		local = append(local, kv.Pair{Key: "train.splits." + s.Name + ".without", Value: s.Without.String()})
	}
	if tr.Calibration.Share > 0 {
		// The kinds learned; without calibration this is not part of the key.
		local = append(local, kv.Pair{Key: "calibration", Value: strings.Join(kinds(tr.Calibration), ", ")})
	}
	// The card states what the triplets' values do not.
	kind := []kv.Pair{{Key: "kind of data", Value: b.Exp.Ingest.Data}, {Key: "pairs", Value: b.PairKind()}}
	t := b.Add(&engine.Task{
		ID: TrainID(b, s.Name, k), Stage: "train", Split: s.Name, Version: version, Config: cfg,
		Local: slices.Concat(local, kind), Deps: append([]engine.Dep{dep}, stopDeps(b, s, k)...), Weight: weight(b),
	})
	outputs := []string{"model.json", cardJSON, FlagsJSON, "history.arrow", "predictions.arrow"}
	if tr.Calibration.Share > 0 {
		outputs = append(outputs, CalibrationJSON)
	}
	if s.Without != nil {
		outputs, t.Split = nil, s.Outer()
	}
	for _, o := range outputs {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(dir, o)})
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		trip, set, err := readSplit(b, j, dep, s)
		if err != nil {
			return err
		}
		data := set.Of(triplets.Train)
		if err := checkBatch(b, s, data.N); err != nil {
			return err
		}
		start := time.Now()
		c, err := stopped(b, j, s, k, network(b, seed))
		if err != nil {
			return err
		}
		model, history, err := fit(ctx, j, data, c, observed(j, set, cmp.Or(c.Stop, c.Epochs), b.Exp.Ingest.Data))
		if err != nil {
			return fitError(b, s, fmt.Errorf("train: %w", err))
		}
		fitted := time.Now()
		o := tr.Estimate
		o.Seed = estimateSeed(b, k)
		est, err := model.Estimate(ctx, set.Distinct, o)
		if err != nil {
			return fmt.Errorf("estimate covariance: %w", err)
		}
		if err := writeTiming(j, fitted.Sub(start), time.Since(fitted)); err != nil {
			return err
		}
		if err := writeFlags(j.Output(FlagsJSON), diagnose(set, est)); err != nil {
			return err
		}
		if err := plan.WriteJSON(j.Output(cardJSON), card(b, set, s, k, plan.Digest(cfg, local), est)); err != nil {
			return err
		}
		if tr.Calibration.Share > 0 {
			r, err := recalibrate(set, est, tr.Calibration.Kind)
			if err != nil {
				return err
			}
			if err := plan.WriteJSON(j.Output(CalibrationJSON), r); err != nil {
				return err
			}
		}
		if err := plan.WriteJSON(j.Output("model.json"), model); err != nil {
			return err
		}
		meta := provenance(b, s, k, cfg, local)
		h, p := historyTable(history), predictionTable(trip, set, est)
		h.Meta, p.Meta = meta, slices.Concat(meta, p.Meta)
		return errors.Join(writeTable(j, "history.arrow", h), writeTable(j, "predictions.arrow", p))
	}
}

// weight is the seconds that one training takes on one processor, roughly: by
// pairs and epochs.
func weight(b *plan.Builder) float64 {
	_, pairs := size(b)
	return 0.02 + 6e-7*pairs*float64(b.Exp.Train.Optimizer.Epochs)
}

// Guesses while planning: microphones of a run, rows of a table of pairs.
const typicalMicrophones, typicalRows = 12, 1000

// size estimates the conditions and the pairs that an experiment will have.
func size(b *plan.Builder) (conditions, pairs float64) {
	conditions = float64(max(len(b.Known), 1))
	switch c := b.Construction.(type) {
	case nil:
		return typicalRows, typicalRows
	case dsp.PerRun:
		return conditions, conditions * float64(c.PairsPerRun(&b.Exp.DSP.Settings))
	case dsp.OfSpectra:
		if !perChannel(b) {
			conditions *= typicalMicrophones
		}
	}
	return conditions, conditions
}

// perChannel reports whether the known conditions are those of single channels: more
// than there are files.
func perChannel(b *plan.Builder) bool {
	files := 0
	for _, t := range b.Plan.Tasks {
		if t.Stage == "ingest" && b.Owns(t) {
			files++
		}
	}
	return len(b.Known) > files
}

// readSplit reads the triplets and splits them.
func readSplit(b *plan.Builder, j *engine.Job, dep engine.Dep, s config.Split) (*table.Table, triplets.Set, error) {
	t, err := table.Read(j.Input(dep.Task, dep.Output))
	if err != nil {
		return nil, triplets.Set{}, err
	}
	return SplitTable(b, t, s)
}

// readGroups is readSplit with the values of the condition that groups are left out by.
func readGroups(b *plan.Builder, j *engine.Job, dep engine.Dep, s config.Split, condition string) (triplets.Set,
	[]float64, error,
) {
	t, set, err := readSplit(b, j, dep, s)
	if err != nil {
		return set, nil, err
	}
	z, err := t.Floats(condition)
	if err != nil {
		err = b.File.Errorf(b.At+".train.honest.groups", "%v", err)
	}
	return set, z, err
}

// SplitTable returns the rows of t that take part in a split, split.
func SplitTable(b *plan.Builder, t *table.Table, s config.Split) (*table.Table, triplets.Set, error) {
	if s.Without != nil {
		held, err := s.Without.Held(t)
		if err != nil {
			return nil, triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}
		t = t.Select(rowsWith(held, false))
	}
	set, err := Triplets(b, t)
	if err == nil {
		set, err = Split(b, set, t, s)
	}
	return t, set, err
}

// fitError places an input that does not vary in the configuration; other errors
// stay as they are.
func fitError(b *plan.Builder, s config.Split, err error) error {
	var constant *train.ConstantInputError
	if !errors.As(err, &constant) {
		return err
	}
	return constantInput(b, s, b.Exp.Train.Inputs[constant.Column], constant.Value)
}

func constantInput(b *plan.Builder, s config.Split, input string, value float64) error {
	return b.File.Errorf(b.At+".train.inputs", "%q is constant (%g) in the training set of split %q: "+
		"nothing can be learned from it; take it out of the inputs or hold out something else", input, value, s.Name)
}

// provenance is the metadata of what one training writes.
func provenance(b *plan.Builder, s config.Split, k int, cfg, local []kv.Pair) []kv.Pair {
	return append(b.Meta(cfg, local),
		kv.Pair{Key: "split", Value: s.Name}, kv.Pair{Key: "held_out", Value: s.Test.String()},
		kv.Pair{Key: "seed", Value: strconv.Itoa(k)}, kv.Pair{Key: "kernels", Value: b.Program.Kernels})
}

func writeTable(j *engine.Job, output string, t *table.Table) error {
	digest, err := t.WriteFile(j.Output(output))
	j.SetDigest(output, digest)
	return err
}

// kinds are the kinds of recalibration that are learned.
func kinds(c config.Recalibrate) []string {
	return slices.DeleteFunc(score.Kinds(), func(k string) bool {
		return k == score.Beta && c.Kind == "" || k == score.GPBeta && c.Kind != score.GPBeta
	})
}

// recalibrate learns from the runs set aside, in standardised units.
func recalibrate(s triplets.Set, est *train.Estimates, law string) (*score.Recalibration, error) {
	part := s.Of(triplets.Calibration).Standardised()
	set := score.Set{Set: part, Answers: est.Rows(part.Condition, s.Out)}
	r, err := score.Recalibrate(set, set.Var, set.Cov, law)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	return r, nil
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

// Timing is how long a method took, in seconds of wall clock.
type Timing struct {
	Fit     float64 `json:"fit_s"`
	Predict float64 `json:"predict_s"`
}

func writeTiming(j *engine.Job, fit, predict time.Duration) error {
	j.SetDigest(TimingJSON, "not a result")
	return plan.WriteJSON(j.Output(TimingJSON), Timing{fit.Seconds(), predict.Seconds()})
}

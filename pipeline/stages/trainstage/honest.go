package trainstage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/honest"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// honestVersion is the version of the results of the calibration on left-out groups.
// 2: record on the test part, left-out groups where they are too few; 3: other starts
// of the search, predictions of the test rows for the figures; 4: other order of sums;
// 5: blocks with equal numbers of values, not of rows.
const honestVersion = 5

// Outputs of a split's calibration on left-out groups.
const (
	HonestJSON  = "honest.json"  // the model and its calibration, for predictions
	HonestData  = "honest.gob"   // an Honest, for the report
	honestArrow = "honest.arrow" // the held-out triplets with their intervals
)

// Honest is the calibration of one split on left-out groups, and its judgement on
// the test set. The calibration has seen no outcome of the test set.
type Honest struct {
	Absent      string // why there is none; "" where there is one
	Condition   string // whose values are the groups
	Base        string // "gp", "gp in order form"
	Calibration *honest.Calibration
	Report      honest.Report
	Trust       []score.Trust // of the calibrated intervals on the test set, for the outcomes of each unit

	Mu, Half []float64 // of the test rows × outcomes: mean and half width of the interval, own units
	Distance float64   // of the test rows to the measured groups, mean
	Added    float64   // variance there by the calibration, mean, in standardised units
}

// HonestID is the ID of the task that calibrates a split on left-out groups.
func HonestID(b *plan.Builder, split string) string { return b.ID("train", split, "honest") }

// HonestCondition returns the condition whose values are the groups of a split,
// "" with a reason where the split has no calibration.
func HonestCondition(h config.Honest, s config.Split) (condition, absent string) {
	switch {
	case s.Final():
		return "", "nothing is held out"
	case h.Base == "none":
		return "", "train.honest.base is none"
	case h.Groups != "":
		return h.Groups, ""
	case s.Test.Group() != "":
		return s.Test.Group(), ""
	}
	return "", "the split holds out several conditions at once; name the one whose values are the groups with " +
		"train.honest.groups"
}

// honestWeight is the seconds that the calibration takes on one processor,
// roughly: hyperparameters are sought on so many conditions at most, for each outcome
// on its own (of a balance two); the harmonics of a rotor are one exact process.
func honestWeight(b *plan.Builder) float64 {
	conditions, _ := size(b)
	n, all := min(conditions, 320)/320, min(conditions, 1000)/1000
	switch b.Construction.(type) {
	case dsp.OfSpectra:
		return 0.1 + 0.35*n*n + 3.5*all*all
	case dsp.PerRun:
		return 0.1 + 1.3*n*n
	}
	return 0.1 + 0.35*n*n
}

// honestTask adds the calibration of a split on left-out groups.
func honestTask(b *plan.Builder, s config.Split, left *leftOut) {
	condition, absent := HonestCondition(b.Exp.Train.Honest, s)
	if absent != "" {
		return
	}
	tr := b.Exp.Train
	dep := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
	cfg := plan.Settings("train.honest", tr.Honest)
	local := []kv.Pair{
		s.Setting(),
		{Key: "groups", Value: condition},
		{Key: "inputs", Value: strings.Join(tr.Inputs, ",")},
		{Key: "outcomes", Value: strings.Join(tr.Outcomes, ",")},
		{Key: "calibration", Value: strconv.FormatFloat(tr.Calibration.Share, 'g', -1, 64)},
		{Key: "kind of data", Value: b.Exp.Ingest.Data},
		{Key: "construction", Value: b.Exp.DSP.Triplets},
		{Key: "kernels", Value: b.Program.Kernels},
	}
	if t := b.Exp.Ingest.Table; t != nil && t.Use == "all" {
		local = append(local, kv.Pair{Key: "weights of pairs", Value: "spread, process, left-out groups"})
	}
	t := b.Add(&engine.Task{
		ID: HonestID(b, s.Name), Stage: "train", Split: s.Name, Version: honestVersion, Config: cfg, Local: local,
		Deps: []engine.Dep{dep}, Weight: honestWeight(b),
	})
	if left != nil {
		t.Weight = 1
		t.Deps = append(t.Deps, engine.Dep{Task: left.full.task(b), Output: leftOutModel(tr.Honest)})
		for _, g := range left.groups {
			t.Deps = append(t.Deps, engine.Dep{Task: g.task(b), Output: leftOutModel(tr.Honest)})
		}
	}
	for _, o := range []string{HonestJSON, honestArrow} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(b.Published("splits", s.Name), o)})
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		set, z, err := readGroups(b, j, dep, s, condition)
		if err != nil {
			return err
		}
		f := honestFit{settings: tr.Honest, condition: condition, within: s.Test.Within(condition)}
		var result *Honest
		var model *HonestModel
		var p *honest.Prediction
		if left == nil {
			result, model, p, err = f.split(ctx, set, z)
		} else {
			result, model, p, err = f.trained(ctx, set, z, left, func(s subset) (*HonestModel, error) {
				return readLeftOut(j.Input(s.task(b), leftOutModel(tr.Honest)), tr.Honest)
			})
		}
		if err != nil {
			return fmt.Errorf("calibrate on left-out groups: %w", err)
		}
		model.Format, model.Version = honestFormat, 1
		model.Split, model.HeldOut, model.Data = s.Name, s.Test.String(), b.Exp.Ingest.Data
		out := honestTable(set, p)
		out.Meta = append(b.Meta(cfg, local), kv.Pair{Key: "split", Value: s.Name},
			kv.Pair{Key: "held_out", Value: s.Test.String()})
		return errors.Join(plan.WriteJSON(j.Output(HonestJSON), model),
			plan.WriteGob("calibration", j.Output(HonestData), result), writeTable(j, honestArrow, out))
	}
}

// honestFit calibrates one split.
type honestFit struct {
	settings  config.Honest
	condition string
	within    float64
}

// manyValues is the number of distinct values from which a condition is taken for
// continuous and cut into defaultBlocks blocks.
const (
	manyValues    = 40
	defaultBlocks = 8
)

func (f honestFit) grouping(z []float64) honest.Grouping {
	values := slices.Clone(z)
	slices.Sort(values)
	values = slices.Compact(values)
	switch {
	case f.settings.Blocks > 0:
		return blocks(f.condition, z, values, f.settings.Blocks)
	case f.settings.Labels:
		label := make([]string, len(z))
		for i, v := range z {
			label[i] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		return honest.ByLabel(f.condition, label)
	case len(values) > manyValues && f.within == 0:
		return blocks(f.condition, z, values, defaultBlocks)
	}
	return honest.ByValue(f.condition, z, f.within)
}

// blocks cuts the distinct values into n blocks, as splits with each do: a held-out
// block is then one of the groups. Other numbers of rows for each value do not move it.
func blocks(condition string, z, values []float64, n int) honest.Grouping {
	g := honest.ByBlock(condition, values, n)
	of := g.Of
	g.Of, g.Z = make([]int, len(z)), z
	for i, v := range z {
		k, _ := slices.BinarySearch(values, v)
		g.Of[i] = of[k]
	}
	return g
}

// absent is the result of a split without a calibration.
func (f honestFit) absent(reason string) (*Honest, *HonestModel, *honest.Prediction, error) {
	return &Honest{Condition: f.condition, Absent: reason}, &HonestModel{Absent: reason}, nil, nil
}

// split fits the process to the training rows, learns the covariance of new groups
// from the groups it leaves out, and judges the intervals on the test rows. The
// prediction is nil where there is no calibration.
func (f honestFit) split(ctx context.Context, s triplets.Set, z []float64) (*Honest, *HonestModel, *honest.Prediction,
	error,
) {
	if s.Couples {
		return f.absent("the pairs are couples: they measure no error")
	}
	g := f.grouping(z)
	train := s.RowsOf(triplets.Train)
	model, base, err := newProcessRows(s, g, train, f.settings.Form).fit(ctx)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case base == nil:
		return f.absent(model.Absent)
	}
	data := honest.Data{N: s.N, In: s.In, Out: s.Out, X: s.X, Y1: s.Y1, Y2: s.Y2, Run: s.Run}
	left, err := leaveOut(ctx, s, data, g, base)
	if err != nil {
		return nil, nil, nil, err
	}
	o := honest.Options{Base: model.base(f.settings), SawGroups: true, ClaimedNoise: true}
	return f.calibrate(ctx, s, g, train, left, base, model, o)
}

// Calibrated fits the additive process to the training rows of s and calibrates it by
// leaving out each value of one of its inputs. The result says where there is no
// calibration, and why.
func Calibrated(ctx context.Context, s triplets.Set, groups string) (*HonestModel, error) {
	column := slices.Index(s.InputNames(), groups)
	if column < 0 {
		return nil, fmt.Errorf("calibrate on left-out groups: %s is no input", groups)
	}
	var z []float64
	for i := range s.N {
		z = append(z, s.X[i*s.In+column])
	}
	f := honestFit{settings: config.Honest{Base: "gp", Form: "auto", Variant: "auto", Level: 0.95}, condition: groups}
	_, m, _, err := f.split(ctx, s, z)
	return m, err
}

// calibrate learns the covariance of new groups from the left-out groups of a base,
// and judges its intervals on the test rows. train are the rows of the base.
func (f honestFit) calibrate(ctx context.Context, s triplets.Set, g honest.Grouping, train []int,
	left []honest.LeftOut, base honest.Predictor, model *HonestModel, o honest.Options,
) (*Honest, *HonestModel, *honest.Prediction, error) {
	result := &Honest{Condition: f.condition, Base: o.Base}
	model.Condition, model.Inputs, model.Outcomes = f.condition, cardInputs(s), cardOutcomes(s)
	o.Variant, o.Level = f.variant(), f.settings.Level
	o.InputNames, o.FromGroup = s.InputNames(), fromGroup(s, g)
	data := honest.Data{N: s.N, In: s.In, Out: s.Out, X: s.X, Y1: s.Y1, Y2: s.Y2, Run: s.Run}
	cal, err := honest.Calibrate(data, g, train, left, o)
	var few *honest.TooFewGroupsError
	switch {
	case errors.As(err, &few):
		result.Absent, model.Absent, model.LeftOut = err.Error(), err.Error(), few.Groups
		return result, model, nil, nil
	case err != nil:
		return f.absent(err.Error())
	}
	model.Calibration, result.Calibration = cal, cal
	p, err := result.judge(ctx, s, g, base, model)
	return result, model, p, err
}

// variant is the form of the covariance: the configured one, or what was found best
// for the base.
func (f honestFit) variant() honest.Variant {
	if v := f.settings.Variant; v != "auto" {
		return honest.Variant(v)
	}
	switch f.settings.Base {
	case "pair", "ensemble":
		return honest.VariantB
	case "prior-ensemble", "gp-refit":
		return honest.VariantOE
	}
	return honest.VariantE
}

// predictor is a fitted process, in order form or not.
type predictor interface {
	honest.Predictor
	LeaveOut(ctx context.Context) (mu, claim, noise []float64, err error)
}

// leaveOut predicts each training group without any measurement of it.
func leaveOut(ctx context.Context, s triplets.Set, d honest.Data, g honest.Grouping, base predictor) ([]honest.LeftOut,
	error,
) {
	mu, claim, noise, err := base.LeaveOut(ctx)
	if err != nil {
		return nil, err
	}
	other := make([]bool, s.N) // the test set, and rows set aside to recalibrate the network
	for i, p := range s.Part {
		other[i] = p != triplets.Train
	}
	p := honest.NewPlan(g, []honest.Split{{Name: "all", Test: other}})
	left := honest.LeaveOutRows(d, g, p, 0, mu, claim, noise, s.Of(triplets.Train).Condition)
	for k, h := range p.Splits[0].LeftOut {
		left[k].Weight = s.Select(h.Rows).Weight
	}
	return left, nil
}

// judge predicts the test rows and compares their intervals with their pairs.
func (r *Honest) judge(ctx context.Context, s triplets.Set, g honest.Grouping, base honest.Predictor,
	m *HonestModel,
) (*honest.Prediction, error) {
	test := s.Of(triplets.Test)
	var coordinate []float64
	if g.Z != nil {
		for _, i := range s.RowsOf(triplets.Test) {
			coordinate = append(coordinate, g.Z[i])
		}
	}
	present := test.Present()
	index := map[int]int{}
	var x []float64
	for i, c := range present {
		index[c] = i
		x = append(x, test.At(c)...)
	}
	mu, claim, noise, err := base.Predict(ctx, m.inputs(x))
	if err != nil {
		return nil, err
	}
	perRow := func(v []float64) []float64 {
		out := make([]float64, 0, test.N*s.Out)
		for _, c := range test.Condition {
			i := index[c] * s.Out
			out = append(out, v[i:i+s.Out]...)
		}
		return out
	}
	p := r.Calibration.Predict(test.X, coordinate, perRow(mu), perRow(claim), perRow(noise))
	r.Report = r.Calibration.Judge(p, test.Y1, test.Y2, test.Run)
	total := make([]float64, len(p.Half))
	for i, half := range p.Half {
		total[i] = half * half / (normal95 * normal95)
	}
	groups := UnitGroups(s)
	r.Trust = TrustOf(s, test, p.Mu, total, p.Epistemic, groups)
	r.Mu, r.Half = p.Mu, p.Half
	for _, w := range p.Where {
		r.Distance += w.Distance / float64(p.N)
	}
	learned := p.Added
	if r.Calibration.Covariance.Variant.OnTop() {
		learned = p.Epistemic // as in the left-out groups
	}
	for k, v := range learned {
		scale := r.Calibration.Covariance.Scale[k%p.Out]
		r.Added += v / (scale * scale) / float64(len(learned))
	}
	m.Record = recordOf(s, r.Report, groups, r.Trust)
	return p, nil
}

// normal95 is the 97.5 % quantile of the standard normal distribution.
const normal95 = 1.959963984540054

// UnitGroups groups the outcomes of one unit, in order of first appearance.
func UnitGroups(s triplets.Set) [][]int {
	var out [][]int
	index := map[string]int{}
	for k, o := range s.Outcomes {
		i, ok := index[o.Unit]
		if !ok {
			i = len(out)
			index[o.Unit] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	return out
}

// TrustOf compares predictions for the test part of s with its pairs, for each
// group of outcomes, in the outcomes' own units.
func TrustOf(s, test triplets.Set, mu, total, epistemic []float64, groups [][]int) []score.Trust {
	spread := s.Of(triplets.Train).OutcomeScale().Std
	set := score.Set{Set: test, Answers: triplets.Answers{Mu: mu}}
	out := make([]score.Trust, len(groups))
	for i, g := range groups {
		out[i] = score.TrustOf(set, total, epistemic, spread, g)
	}
	return out
}

// fromGroup tells which inputs are functions of the group: constant in each group
// and different between some.
func fromGroup(s triplets.Set, g honest.Grouping) []bool {
	out := make([]bool, s.In)
	for k := range out {
		first := map[int]float64{}
		constant, values := true, map[float64]bool{}
		for i := range s.N {
			v := s.X[i*s.In+k]
			values[v] = true
			if w, ok := first[g.Of[i]]; ok && w != v {
				constant = false
			}
			first[g.Of[i]] = v
		}
		out[k] = s.Inputs[k].Name == g.Condition || constant && len(values) > 1
	}
	return out
}

func cardInputs(s triplets.Set) []Input {
	train := s.Of(triplets.Train)
	var out []Input
	for k, q := range s.Inputs {
		in := Input{Name: q.Name, Unit: q.Unit, Min: math.Inf(1), Max: math.Inf(-1)}
		for i := range train.N {
			v := train.X[i*s.In+k]
			in.Min, in.Max = math.Min(in.Min, v), math.Max(in.Max, v)
		}
		out = append(out, in)
	}
	return out
}

func cardOutcomes(s triplets.Set) []Outcome {
	var out []Outcome
	for _, q := range s.Outcomes {
		out = append(out, Outcome{Name: q.Name, Unit: q.Unit})
	}
	return out
}

// honestTable is the held-out triplets with their intervals, in the outcomes' own
// units. p is nil where there is no calibration.
func honestTable(s triplets.Set, p *honest.Prediction) *table.Table {
	t, test := &table.Table{}, s.Of(triplets.Test)
	run, recording := table.Column{Name: "run", Description: "one acquisition at one condition"},
		table.Column{Name: "recording", Description: "one channel of a run, or the group that makes one outcome vector"}
	for _, i := range s.RowsOf(triplets.Test) {
		run.Strings, recording.Strings = append(run.Strings, s.Runs[s.Run[i]]), append(recording.Strings, s.Recording[i])
	}
	t.Columns = append(t.Columns, run, recording)
	for k, q := range s.Inputs {
		plan.AddColumn(t, table.Column{Name: q.Name, Unit: q.Unit, Description: q.Description}, test.X, s.In, k)
	}
	if p == nil {
		return t
	}
	for k, o := range s.Outcomes {
		for _, c := range []struct {
			suffix, description string
			square              bool
			v                   []float64
		}{
			{"_mu", "mean", false, p.Mu},
			{"_claim", "epistemic variance that the model states itself", true, p.Claim},
			{"_added", "C_x, the covariance learned from left-out groups", true, p.Added},
			{"_var", "variance of one new measurement, everything included", true, p.Total},
			{"_half", "half width of the interval of one new measurement", false, p.Half},
		} {
			column := table.Column{Name: o.Name + c.suffix, Unit: o.Unit, Description: c.description}
			if c.square {
				column.Unit = squared(o.Unit)
			}
			plan.AddColumn(t, column, c.v, s.Out, k)
		}
	}
	return t
}

// ReadHonest reads the calibration of a split for the report.
func ReadHonest(path string) (*Honest, error) {
	h := &Honest{}
	return h, plan.ReadGob("calibration", path, h)
}

package trainstage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// honestVersion is the version of the results of the calibration on left-out groups.
// 2: record on the test part, left-out groups where they are too few; 3: other starts
// of the search, predictions of the test rows for the figures; 4: other order of sums;
// 5: blocks with equal numbers of values, not of rows; 6: the layout of honest.gob.
const honestVersion = 6

// Outputs of a split's calibration on left-out groups.
const (
	HonestJSON  = "honest.json"  // the model and its calibration, for predictions
	HonestData  = "honest.gob"   // an interval.Result, for the report
	honestArrow = "honest.arrow" // the held-out triplets with their intervals
)

// HonestID is the ID of the task that calibrates a split on left-out groups.
func HonestID(exp plan.Experiment, split string) string { return exp.ID("train", split, "honest") }

// HonestCondition returns the condition whose values are the groups of a split,
// "" with a reason where the split has no calibration.
func HonestCondition(h honest.Settings, s config.Split) (condition, absent string) {
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
func (pl *planner) honestWeight() float64 {
	conditions, _ := pl.ing.Size()
	n, all := min(conditions, 320)/320, min(conditions, 1000)/1000
	switch pl.ing.Construction.(type) {
	case dsp.OfSpectra:
		return 0.1 + 0.35*n*n + 3.5*all*all
	case dsp.PerRun:
		return 0.1 + 1.3*n*n
	}

	return 0.1 + 0.35*n*n
}

// honestTask adds the calibration of a split on left-out groups.
func (pl *planner) honestTask(s config.Split, left *leftOut) {
	condition, absent := HonestCondition(pl.exp.Train.Honest, s)
	if absent != "" {
		return
	}

	tr := pl.exp.Train
	dep := pl.trip.Triplets
	cfg := plan.Settings("train.honest", tr.Honest)
	local := []kv.Pair{
		s.Setting(),
		{Key: "groups", Value: condition},
		{Key: "inputs", Value: strings.Join(tr.Inputs, ",")},
		{Key: "outcomes", Value: strings.Join(tr.Outcomes, ",")},
		{Key: "calibration", Value: strconv.FormatFloat(tr.Calibration.Share, 'g', -1, 64)},
		{Key: "kind of data", Value: pl.exp.Ingest.Data},
		{Key: "construction", Value: pl.exp.DSP.Triplets},
		{Key: "kernels", Value: pl.exp.Program.Kernels},
	}

	if t := pl.exp.Ingest.Table; t != nil && t.Use == "all" {
		local = append(local, kv.Pair{Key: "weights of pairs", Value: "spread, process, left-out groups"})
	}

	t := pl.exp.Add(&engine.Task{
		ID: HonestID(pl.exp, s.Name), Stage: "train", Split: s.Name, Version: honestVersion, Config: cfg, Local: local,
		Deps: []engine.Dep{dep}, Weight: pl.honestWeight(),
	})

	if left != nil {
		t.Weight = 1
		t.Deps = append(t.Deps, engine.Dep{Task: left.full.task(pl.exp), Output: leftOutModel(tr.Honest)})
		for _, g := range left.groups {
			t.Deps = append(t.Deps, engine.Dep{Task: g.task(pl.exp), Output: leftOutModel(tr.Honest)})
		}
	}

	for _, o := range []string{HonestJSON, honestArrow} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: pl.exp.Published("train", "splits", s.Name, o)})
	}

	t.Run = func(ctx context.Context, j *engine.Job) error {
		set, z, err := readGroups(pl.exp, j, dep, s, condition)
		if err != nil {
			return err
		}

		l := learner(tr.Honest, s, condition)
		var m *honest.Model

		var p *interval.Prediction
		if left == nil {
			m, p, err = l.Process(ctx, set, z)
		} else {
			m, p, err = left.calibrate(ctx, l, set, z, func(s subset) (*honest.Model, error) {
				return readLeftOut(j.Input(s.task(pl.exp), leftOutModel(tr.Honest)), tr.Honest)
			})
		}

		if err != nil {
			return fmt.Errorf("calibrate on left-out groups: %w", err)
		}

		m.Split, m.HeldOut, m.Data = s.Name, s.Test.String(), pl.exp.Ingest.Data
		out := honestTable(set, p)
		out.Meta = append(pl.exp.Meta(cfg, local), kv.Pair{Key: "split", Value: s.Name},
			kv.Pair{Key: "held_out", Value: s.Test.String()})

		return errors.Join(plan.WriteJSON(j.Output(HonestJSON), m),
			plan.WriteGob("calibration", j.Output(HonestData), m.Result()), writeTable(j, honestArrow, out))
	}
}

// learner calibrates a split on groups of a condition.
func learner(h honest.Settings, s config.Split, condition string) honest.Learner {
	return honest.Learner{
		Settings: h, Condition: condition, Within: s.Test.Within(condition), Rate: IsRate,
	}
}

// IsRate reports whether a condition is a speed or a rate: effects of such a
// condition go with its ratio.
func IsRate(name string) bool {
	u, ok := units.OfName(name)
	if !ok {
		return false
	}

	for _, text := range []string{"m/s", "1/s"} {
		if v, err := units.Parse(text); err == nil && v.Dimension == u.Dimension {
			return true
		}
	}

	return false
}

// honestTable is the held-out triplets with their intervals, in the outcomes' own
// units. p is nil where there is no calibration.
func honestTable(s triplets.Set, p *interval.Prediction) *table.Table {
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
func ReadHonest(path string) (*interval.Result, error) {
	r := &interval.Result{}
	return r, plan.ReadGob("calibration", path, r)
}

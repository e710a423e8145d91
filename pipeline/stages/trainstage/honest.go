package trainstage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/form"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// honestVersion is the version of the results of the calibration on left-out groups.
// 2: record on the test part, left-out groups where they are too few; 3: other starts
// of the search, predictions of the test rows for the figures; 4: other order of sums;
// 5: blocks with equal numbers of values, not of rows; 6: the layout of honest.gob; 7: the
// scale of new groups, the blocks of the split; 8: intervals of 68 % and the farthest row of
// left-out groups, the trust of each outcome, rivals; 9: cells above 4,000 rows, the search of many
// outcomes; 10: forms, and the hint at one; 11: the record of honest.json has all numbers of metrics.json.
const honestVersion = 11

// Outputs of a split's calibration on left-out groups.
const (
	HonestJSON  = "honest.json"    // the model and its calibration, for predictions
	HonestData  = "honest.gob"     // an interval.Result, for the report
	LeftOutData = "left-out.arrow" // what the scale of new groups was learned from
	honestArrow = "honest.arrow"   // the held-out triplets with their intervals
)

// HonestID is the ID of the task that calibrates a split on left-out groups.
func HonestID(exp plan.Experiment, split string) string { return exp.ID("train", split, "honest") }

// HonestCondition returns the condition whose values are the groups of a split,
// "" with a reason where the split has no calibration. A final model has the groups of the
// first of the other splits that has any.
func HonestCondition(h honest.Settings, s config.Split, all []config.Split) (condition, absent string) {
	switch {
	case h.Base == "none":
		return "", "train.honest.base is none"
	case h.Groups != "":
		return h.Groups, ""
	case s.Test.Group() != "":
		return s.Test.Group(), ""
	case s.Final():
		for _, o := range all {
			if o.Test.Group() != "" {
				return o.Test.Group(), ""
			}
		}

		return "", "nothing is held out, and no other split has groups"
	}

	return "", "the split holds out several conditions at once; name the one whose values are the groups with " +
		"train.honest.groups"
}

// blocksOf is the number of blocks into which the condition is cut: that of the
// settings, or of the splits, whose blocks are then the groups.
func blocksOf(h honest.Settings, s config.Split, all []config.Split, condition string) int {
	if h.Blocks != 0 || h.Labels {
		return h.Blocks
	}

	for _, o := range append([]config.Split{s}, all...) {
		if o.Blocks != 0 && o.Test.Group() == condition && (o.Name == s.Name || s.Final()) {
			return o.Blocks
		}
	}

	return 0
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
	tr := pl.exp.Train
	condition, absent := HonestCondition(tr.Honest, s, tr.Splits)
	if absent != "" {
		return
	}

	l := pl.learner(s, condition)
	dep := pl.trip.Triplets
	cfg := pl.honestSettings(l)
	local := []kv.Pair{
		s.Setting(),
		{Key: "groups", Value: condition},
		{Key: "inputs", Value: strings.Join(tr.Inputs, ",")},
		{Key: "outcomes", Value: strings.Join(tr.Outcomes, ",")},
		{Key: "construction", Value: pl.exp.DSP.Triplets},
		{Key: "kernels", Value: pl.exp.Program.Kernels},
	}

	if t := pl.exp.Ingest.Table; t != nil && t.Use == "all" {
		local = append(local, kv.Pair{Key: "weights of pairs", Value: "spread, process, left-out groups"})
	}

	if l.Represent != "" {
		local = append(local, kv.Pair{Key: "form", Value: l.Represent})
	}

	local = slices.Concat(local, pl.ing.Points.Settings(pl.exp.Ingest.Within), pl.all.across)
	if pl.all.across != nil {
		local = append(local, kv.Pair{Key: "variance within occasions", Value: "of repeats"})
	}

	if names := lists.Each(l.Offsets, func(o honest.Label) string { return o.Name }); names != nil {
		local = append(local, kv.Pair{Key: "offsets of names", Value: strings.Join(names, ",")})
	}

	t := pl.exp.Add(&engine.Task{
		ID: HonestID(pl.exp, s.Name), Stage: "train", Split: s.Name, Version: honestVersion, Config: cfg,
		Local: pl.stated(local),
		Deps:  []engine.Dep{dep}, Weight: pl.honestWeight(),
	})

	if left != nil {
		if l.Scale != "ecov" {
			t.Weight = 1
		}

		t.Deps = append(t.Deps, engine.Dep{Task: left.full.task(pl.exp), Output: leftOutModel})
		for _, g := range left.inTurn() {
			t.Deps = append(t.Deps, engine.Dep{Task: g.task(pl.exp), Output: leftOutModel})
		}
	}

	for _, o := range []string{HonestJSON, LeftOutData, honestArrow} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: pl.exp.Published("train", "splits", s.Name, o)})
	}

	t.Run = func(ctx context.Context, j *engine.Job) (err error) {
		defer fault.Catch(&err)
		set, z := readGroups(pl.exp, j, dep, s, &l)
		across, _ := pl.exp.Across()
		between := honest.Across(set.Of(triplets.Train), across)
		triplets.Apart(&set, z) // a group left out teaches nothing by second values either

		var m *honest.Model

		var p *interval.Prediction
		if left == nil {
			m, p, err = l.Process(ctx, set, z)
		} else {
			m, p, err = left.calibrate(ctx, l, set, z, func(s subset) (*honest.Model, error) {
				m := &honest.Model{Ensemble: &honest.EnsembleModel{}}
				return m, plan.ReadJSON(j.Input(s.task(pl.exp), leftOutModel), m.Ensemble)
			})
		}

		if err != nil {
			return fmt.Errorf("calibrate on left-out groups: %w", err)
		}

		if m.Calibration != nil {
			m.Calibration.Things = append(m.Calibration.Things, between...)
		}

		m.Split, m.HeldOut, m.Data = s.Name, s.Test.String(), pl.exp.Ingest.Data
		out := honestTable(set, p)
		out.Meta = append(pl.exp.Meta(cfg, local), kv.Pair{Key: "split", Value: s.Name},
			kv.Pair{Key: "held_out", Value: s.Test.String()})

		groups := LeftOutTable(m.Result().LeftOut(), m.Left, set.OutcomeNames())
		groups.Meta = append(slices.Clone(out.Meta), kv.Pair{Key: "condition", Value: condition},
			kv.Pair{Key: "base", Value: tr.Honest.Base})

		return errors.Join(plan.WriteJSON(j, HonestJSON, m),
			plan.WriteGob("calibration", j.Output(HonestData), m.Result()), plan.WriteTable(j, honestArrow, out),
			plan.WriteTable(j, LeftOutData, groups))
	}
}

// Without is the record of a split's process that was fitted without the rows for which left holds, of a run and a
// recording, and leaves out the groups of the others in closed form. It is nil where no training row is left out, or
// the split has no calibrated process.
func (r Result) Without(ctx context.Context, j *engine.Job, s config.Split, left func(run, recording string) bool) (
	_ *interval.Record, err error,
) {
	defer fault.Catch(&err)
	condition, absent := HonestCondition(r.exp.Train.Honest, s, nil)
	if absent != "" || r.exp.Train.Honest.Base != "gp" {
		return nil, nil
	}

	l := r.learner(s, condition)
	set, z := readGroups(r.exp, j, r.trip.Triplets, s, &l)
	triplets.Apart(&set, z)
	trained := 0
	for i, run := range set.Run {
		if left(set.Runs[run], set.Recording[i]) {
			if set.Part[i] == triplets.Train {
				trained++
			}

			set.Part[i] = triplets.Neither
		}
	}

	if trained == 0 {
		return nil, nil
	}

	m, _, err := l.Process(ctx, set, z)
	if err != nil || m.Record == nil {
		return nil, err
	}

	return m.Record, nil
}

// LeftOutTable holds the named left-out groups as package scale takes them, a row for each
// condition and outcome. The noise is that of the pairs.
func LeftOutTable(names []string, left []scale.Group, outcomes []string) *table.Table {
	group := table.Column{Name: "group", Description: "left-out training group", Strings: []string{}}
	condition := table.Column{Name: "condition", Description: "number of the condition in its group", Ints: []int64{}}
	outcome := table.Column{Name: "outcome", Description: "in units of its training deviation", Strings: []string{}}
	residual := table.Column{Name: "residual", Description: "mean of all measurements less the prediction"}
	noise := table.Column{Name: "noise", Description: "twice the variance of that mean by its pairs"}
	claim := table.Column{Name: "claim", Description: "epistemic variance that the model states itself"}
	distance := table.Column{Name: "distance", Description: "distance to the other groups; 1 for labels"}

	for h, g := range left {
		for k, r := range g.Residual {
			i := k / len(outcomes)
			group.Strings, condition.Ints = append(group.Strings, names[h]), append(condition.Ints, int64(i))
			outcome.Strings = append(outcome.Strings, outcomes[k%len(outcomes)])
			residual.Floats, noise.Floats = append(residual.Floats, r), append(noise.Floats, g.Noise[k])
			claim.Floats, distance.Floats = append(claim.Floats, g.Claim[k]), append(distance.Floats, g.Distance[i])
		}
	}

	return &table.Table{Columns: []table.Column{group, condition, outcome, residual, noise, claim, distance}}
}

// ReadLeftOut reads what LeftOutTable made, and the number of outcomes.
func ReadLeftOut(t *table.Table) (names []string, left []scale.Group, outcomes int, err error) {
	group, condition, outcome := t.Column("group"), t.Column("condition"), t.Column("outcome")
	n := t.Rows()
	if group == nil || condition == nil || outcome == nil || len(group.Strings) != n || len(condition.Ints) != n ||
		len(outcome.Strings) != n {
		return nil, nil, 0, errors.New("read left-out groups: expected columns group, condition and outcome, found others")
	}

	var values [4][]float64
	for k, name := range []string{"residual", "noise", "claim", "distance"} {
		v, err := t.Floats(name)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("read left-out groups: %w", err)
		}

		for i, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) || name == "distance" && x <= 0 || name != "residual" && x < 0 {
				return nil, nil, 0, fmt.Errorf("read left-out groups: expected a %s that is finite and not negative, "+
					"found %g in row %d", name, x, i)
			}
		}

		values[k] = v
	}

	for outcomes < n && (outcomes == 0 || outcome.Strings[outcomes] != outcome.Strings[0]) {
		outcomes++
	}

	for i := range n {
		if i == 0 || group.Strings[i] != group.Strings[i-1] {
			names, left = append(names, group.Strings[i]), append(left, scale.Group{})
		}

		g := &left[len(left)-1]
		if len(g.Residual)%outcomes == 0 {
			g.Conditions, g.Distance = g.Conditions+1, append(g.Distance, values[3][i])
		}

		if at := len(g.Residual); condition.Ints[i] != int64(at/outcomes) ||
			outcome.Strings[i] != outcome.Strings[at%outcomes] {
			return nil, nil, 0, fmt.Errorf("read left-out groups: expected condition %d of group %s in row %d, found %d",
				at/outcomes, names[len(names)-1], i, condition.Ints[i])
		}

		g.Residual, g.Noise = append(g.Residual, values[0][i]), append(g.Noise, values[1][i])
		g.Claim = append(g.Claim, values[2][i])
	}

	for h, g := range left {
		if len(g.Residual)%outcomes != 0 {
			return nil, nil, 0, fmt.Errorf("read left-out groups: expected %d outcomes of each condition, found fewer in "+
				"group %s", outcomes, names[h])
		}
	}

	return names, left, outcomes, nil
}

// honestSettings are the settings of a calibration. A prior counts with its numbers, not
// with the place of its file.
func (pl *planner) honestSettings(l honest.Learner) []kv.Pair {
	h := l.Settings
	h.Prior = l.ScalePrior().Name
	cfg := plan.Settings("train.honest", h)
	if h.Scale != "ecov" { // nothing is computed otherwise than before it could be chosen
		cfg = slices.DeleteFunc(cfg, func(p kv.Pair) bool { return p.Key == "train.honest.scale" })
	}

	return append(cfg, kv.Pair{Key: "digest of the prior", Value: l.ScalePrior().Digest()})
}

// learner calibrates a split on groups of a condition.
func (pl *planner) learner(s config.Split, condition string) honest.Learner {
	h := pl.exp.Train.Honest
	h.Labels = h.Labels || slices.Contains(pl.ing.Labels, condition) ||
		slices.Contains(pl.numbered, condition) && blocksOf(h, s, pl.exp.Train.Splits, condition) == 0
	h.Blocks = blocksOf(h, s, pl.exp.Train.Splits, condition)

	l := honest.Learner{
		Settings: h, Condition: condition, Within: s.Test.Within(condition), Law: pl.prior, Rate: IsRate,
		Represent: pl.exp.Train.Form, Dimension: dimension, Scatter: scatter(pl.exp),
	}
	l.Offsets = lists.Each(pl.offsets(condition, h), func(name string) honest.Label { return honest.Label{Name: name} })
	return l
}

// numberedThings lists the inputs each of whose values is one thing, as far as conditions are known before a file is
// read. Values that scatter about set points are not, and none are where honest.groups names a condition.
func (pl *planner) numberedThings() (names []string) {
	if h := pl.exp.Train.Honest; h.Base != "gp" || h.Groups != "" || len(pl.exp.Train.Inputs) < 3 {
		return nil
	}

	rows := pl.ing.Rows()
	columns := map[string][]float64{}
	for _, in := range pl.exp.Train.Inputs {
		if v, unknown := rows.Floats(in); unknown == nil {
			columns[in] = v
		}
	}

	for _, name := range pl.exp.Train.Inputs {
		others := maps.Clone(columns)
		delete(others, name)
		_, scatters := pl.ing.Points[name]
		if !scatters && honest.NumbersThings(columns[name], slices.Collect(maps.Values(others))) {
			names = append(names, name)
		}
	}

	return names
}

// offsets lists the labels whose names have offsets in a process: that of the groups, the things and occasions that
// were declared, and with one of them the runs. Those across which repeats are paired have theirs in the pairs.
func (pl *planner) offsets(condition string, h honest.Settings) (labels []string) {
	in := pl.exp.Ingest
	if h.Base != "gp" {
		return nil
	}

	if h.Labels {
		labels = []string{condition}
	}

	labels = append(labels, lists.Keep(slices.Concat(in.Things, in.Occasions), func(name string) bool {
		return name != condition && slices.Contains(pl.ing.Labels, name)
	})...)

	across, _ := pl.exp.Across()
	if len(labels) == 1 && labels[0] != across {
		labels = append(labels, honest.Runs)
	}

	return slices.DeleteFunc(labels, func(name string) bool { return name == across })
}

// dimension is that of the unit that a quantity states, or its name.
func dimension(q triplets.Quantity) form.Dimension {
	if q.Name == "blades" {
		return form.Dimension{Count: true}
	}

	u, err := units.Parse(q.Unit)
	if q.Unit == "" || err != nil {
		var ok bool
		if u, ok = units.OfName(q.Name); !ok {
			return form.Dimension{}
		}
	}

	// Angles, temperatures, electric quantities and numbers stay as they are.
	d := u.Dimension
	if d == (units.Dimension{}) || d[3] != 0 || d[4] != 0 || d[5] != 0 {
		return form.Dimension{}
	}

	return form.Dimension{Mass: int(d[0]), Length: int(d[1]), Time: int(d[2]), Known: true}
}

// readPrior reads the prior of the scale of new groups where it is a file.
func readPrior(exp plan.Experiment) (p scale.Prior) {
	name := exp.Train.Honest.Prior
	if scale.IsNamed(name) || name == "" {
		return p
	}

	b, err := os.ReadFile(exp.File.Resolve(name))
	exp.Refuse(err != nil, "train.honest.prior", "expected wide, library or a file of priors: %v", err)

	list, err := scale.ReadPriors(b)
	exp.Refuse(err != nil, "train.honest.prior", "%s: %v", name, err)

	return list[0]
}

// IsRate reports whether a condition is a speed or a rate: effects of such a
// condition go with its ratio.
func IsRate(name string) bool {
	u, ok := units.OfName(name)
	if !ok {
		return false
	}

	return slices.ContainsFunc([]string{"m/s", "1/s"}, func(text string) bool {
		v, err := units.Parse(text)
		return err == nil && v.Dimension == u.Dimension
	})
}

// honestTable is the held-out triplets with their intervals, in the outcomes' own
// units. p is nil where there is no calibration.
func honestTable(s triplets.Set, p *interval.Prediction) *table.Table {
	t, test := &table.Table{}, s.Of(triplets.Test)

	rows := s.RowsOf(triplets.Test)
	t.Make("run", "", "one acquisition at one condition").Strings = lists.Each(rows,
		func(i int) string { return s.Runs[s.Run[i]] })
	t.Make("recording", "", "one channel of a run, or the group that makes one outcome vector").Strings = lists.Rows(
		s.Recording, 1, rows)
	for k, q := range s.Inputs {
		t.Make(q.Name, q.Unit, q.Description).Floats = lists.Column(test.X, s.In, k)
	}

	if p == nil {
		return t
	}

	for k, o := range s.Outcomes {
		for _, c := range interval.Columns {
			column := t.Make(o.Name+c.Suffix, o.Unit, c.Description)
			for i := k; i < len(p.Mu); i += s.Out {
				column.Floats = append(column.Floats, c.Of(p, i))
			}
		}
	}

	return t
}

// ReadHonest reads the calibration of a split for the report.
func ReadHonest(path string) (*interval.Result, error) {
	r := &interval.Result{}
	return r, plan.ReadGob("calibration", path, r)
}

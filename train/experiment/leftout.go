package experiment

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/setting"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// LeftOut lists the trainings that the calibration of one split needs, if its model is trained anew without each group.
type LeftOut struct {
	grouping honest.Grouping // the groups of values
	values   []float64       // distinct values of the condition, ascending; for a label the places of its names
	names    []string        // sorted names of a label; nil for a condition of numbers
	Full     Subset          // the rows that the split does not hold out
	byGroup  map[int]Subset  // by training group: the rows of Full that are not in the group
}

// Subset describes the rows of one training. Its name contains the values that the rows have, and not the values that
// are left out: two splits that leave the same rows then share a training.
type Subset struct {
	Name      string          // contains the condition and the values
	condition string          // the condition whose values select the rows
	values    []float64       // values of the condition that the rows have, ascending
	rule      holdout.Holdout // rows that it holds out are left out too; nil: values alone selects the rows
	plan      *LeftOut        // the trainings of the first split that needs this one
}

// Rule returns in words which further rows are left out, or "" if the values alone select the rows.
func (s Subset) Rule() string {
	if s.rule == nil {
		return ""
	}

	return s.rule.String()
}

// TrainedAnew returns the name of the model that is trained anew without each group. It returns "" if there is none: a
// Gaussian process (base "gp") leaves groups out in closed form. The scale "ecov" always needs pair networks, whatever
// the base is.
func TrainedAnew(settings honest.Settings) string {
	switch {
	case settings.Scale == "ecov":
		return "pair"
	case settings.Base == "gp" || settings.Base == "none":
		return ""
	}

	return settings.Base
}

// LeaveOut lists the trainings without a group that all splits need, and the distinct ones among them. Splits that need
// the same training share it: G groups, each held out in turn, need G + G(G−1)/2 trainings. LeaveOut returns nothing if
// no model is trained anew.
func (e *Experiment) LeaveOut() (bySplit map[string]*LeftOut, distinct []Subset, err error) {
	settings := e.Honest
	base := TrainedAnew(settings)
	if base == "" || e.Couples {
		return nil, nil, nil
	}

	bySplit = map[string]*LeftOut{}
	for _, split := range e.Splits {
		condition, absent := e.HonestCondition(split)
		if absent != "" {
			continue
		}

		learner := e.Learner(split, condition)
		values, err := e.groupValues(&learner)
		if err != nil {
			return nil, nil, err
		}

		if len(values) == 0 {
			return nil, nil, setting.Errorf("honest.base", "%s needs the values of %s to plan its trainings, and they are "+
				"not known before the files are read; use base: gp and scale: plain", base, condition)
		}

		left := newLeftOut(learner, values, split)
		for _, s := range append([]Subset{left.Full}, left.InTurn()...) {
			isSame := func(other Subset) bool { return other.Name == s.Name }
			if !slices.ContainsFunc(distinct, isSame) {
				distinct = append(distinct, s)
			}
		}

		bySplit[split.Name] = left
	}

	return bySplit, distinct, nil
}

// groupValues lists the values of the learner's condition that are known before files are read. The values of a label
// are the places of its names, which groupValues stores in the learner.
func (e *Experiment) groupValues(learner *honest.Learner) ([]float64, error) {
	if !slices.Contains(e.Labels, learner.Condition) {
		return e.Values(learner.Condition)
	}

	names, err := e.Names(learner.Condition)
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
func newLeftOut(learner honest.Learner, values []float64, split Split) *LeftOut {
	grouping := learner.Grouping(values)
	left := &LeftOut{grouping: grouping, values: values, names: learner.Names, byGroup: map[int]Subset{}}
	left.Full = left.subset(learner.Condition, split, noGroup)
	for group := range grouping.Names {
		// The split may hold out the whole group, so that leaving it out changes nothing. If the split trains on this group
		// alone, nothing remains to train on.
		rest := left.subset(learner.Condition, split, group)
		isHeldOut := len(rest.values) == len(left.Full.values)
		isEmpty := len(rest.values) == 0
		if !isHeldOut && !isEmpty {
			left.byGroup[group] = rest
		}
	}

	return left
}

// noGroup is the number of a group that has no values.
const noGroup = -1

// subset returns the rows of a split's training without one group, which may be noGroup. If the split holds out values
// of the condition itself, these values are left out too. If it holds out by other conditions, they remain, and the
// split's rule selects the rows; no other split then has the same rows.
func (l *LeftOut) subset(condition string, split Split, group int) Subset {
	byCondition := split.Test.Group() == condition || split.Final()
	rest := Subset{plan: l, condition: condition}
	for k, v := range l.values {
		isHeldOut := byCondition && l.holds(split, condition, k)
		if l.grouping.Group[k] != group && !isHeldOut {
			rest.values = append(rest.values, v)
		}
	}

	rest.Name = subsetName(condition, rest.values, l.names)
	if !byCondition {
		rest.rule = split.Test
		rest.Name = split.Name + "-" + rest.Name
	}

	return rest
}

// holds reports whether a split holds out value k of the condition.
func (l *LeftOut) holds(split Split, condition string, k int) bool {
	if l.names != nil {
		return split.Test.HoldsLabel(condition, l.names[k])
	}

	return split.Test.Holds(condition, l.values[k])
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

// RowsOf returns the rows of a set that belong to a subset. rows has the conditions of the set's rows.
func (e *Experiment) RowsOf(s Subset, rows holdout.Rows, set triplets.Set) (triplets.Set, error) {
	places, err := Coordinates(rows, s.condition, s.plan.names)
	if err != nil {
		return triplets.Set{}, setting.Errorf("honest.groups", "%v", err)
	}

	held, err := cmp.Or(s.rule, holdout.Nothing).Held(rows)
	if err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	var kept []int
	for i, z := range places {
		if _, known := slices.BinarySearch(s.values, z); known && !held[i] {
			kept = append(kept, i)
		}
	}

	return honest.Numbers(set, kept), nil
}

// Ensemble describes the networks that are trained on each subset.
func (e *Experiment) Ensemble() honest.Ensemble {
	if TrainedAnew(e.Honest) == "pair" {
		return honest.Ensemble{Members: e.Seeds, Claims: true}
	}

	return honest.Ensemble{Members: e.Members}
}

// TrainMember trains one network of an ensemble on standardised rows. If claims is true, it is a pair network, which
// predicts its own uncertainty.
func (e *Experiment) TrainMember(ctx context.Context, set triplets.Set, seed uint64, claims bool) (
	honest.Network, error,
) {
	cfg := e.Network
	cfg.Seed = seed
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

// InTurn lists the trainings without one group, in the order of the groups.
func (l *LeftOut) InTurn() (all []Subset) {
	for _, group := range slices.Sorted(maps.Keys(l.byGroup)) {
		all = append(all, l.byGroup[group])
	}

	return all
}

// Calibrate calibrates models that were trained without one group each. If the scale is "ecov", it instead calibrates a
// process with the rises of E|cov| of these models. read returns the model that was trained on a subset.
func (l *LeftOut) Calibrate(ctx context.Context, learner honest.Learner, set triplets.Set, groups []float64,
	read func(Subset) (*honest.Model, error),
) (*honest.Model, *interval.Prediction, error) {
	grouping, err := l.grouping.Extend(l.values, groups)
	if err != nil {
		return nil, nil, err
	}

	full, err := read(l.Full)
	if err != nil {
		return nil, nil, err
	}

	readWithout := func(group int) (*honest.Model, error) { return read(l.byGroup[group]) }
	if learner.Scale != "ecov" {
		return learner.Retrained(ctx, set, grouping, full, readWithout)
	}

	learner.Rises, err = honest.ComputeRises(ctx, set, grouping, full, readWithout)
	if err != nil {
		return nil, nil, err
	}

	return learner.Process(ctx, set, groups)
}

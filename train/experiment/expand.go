package experiment

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/train/holdout"
)

// UnknownCondition says what Expand does with a split by an unknown condition.
type UnknownCondition int

// Ways to treat a split by an unknown condition.
const (
	RefuseUnknown UnknownCondition = iota // return an error
	LeaveUnknown                          // leave the split out, because it is about another experiment
)

// Expand replaces each split that holds out the values of conditions in turn (key each) by one split for each value,
// for each block of neighbouring values, or for each measured combination of values.
func (e *Experiment) Expand(splits []Split, unknown UnknownCondition) ([]Split, error) {
	var all []Split
	for _, split := range splits {
		key := "splits." + split.Name
		if len(split.Each) == 0 {
			if err := checkName(key, all, split.Name); err != nil {
				return nil, err
			}

			test := holdout.For(split.Test, split.Name, e.Inputs)
			split.Test = holdout.AtSetPoints(test, e.Points.Find)
			all = append(all, split)
			continue
		}

		each, err := e.eachOf(key, split, unknown)
		if err != nil {
			return nil, err
		}

		for _, named := range each {
			if err := checkName(key, all, named.Name); err != nil {
				return nil, err
			}

			test := holdout.AtSetPoints(named.Holdout, e.Points.Find)
			all = append(all, Split{Name: named.Name, Test: test, Blocks: split.Blocks})
		}
	}

	return all, nil
}

// Ask appends the splits that an asked split expands to, if the experiment has their conditions. It skips a split that
// has the name of a known split, or that holds out the same rows. fits reports whether the experiment has the
// conditions of any of them.
func (e *Experiment) Ask(splits []Split, asked Split) (all []Split, fits bool, err error) {
	expanded, err := e.Expand([]Split{asked}, LeaveUnknown)
	if err != nil {
		return nil, false, err
	}

	known := slices.Concat(e.Conditions, e.Labels)
	isUnknown := func(name string) bool { return !slices.Contains(known, name) }
	for _, split := range expanded {
		if slices.ContainsFunc(split.Test.Conditions(), isUnknown) {
			continue
		}

		fits = true
		same := func(o Split) bool { return o.Name == split.Name || o.Test.String() == split.Test.String() }
		if !slices.ContainsFunc(splits, same) {
			splits = append(slices.Clone(splits), split)
		}
	}

	return splits, fits, nil
}

// Measured is an experiment by its name and its conditions.
type Measured struct {
	Name       string
	Conditions []string
}

// NoFit explains that no experiment has the conditions of a split that is asked for. It suggests the condition whose
// name is most like an unknown one.
func NoFit(asked Split, all []Measured) string {
	var conditions, have []string
	for _, measured := range all {
		conditions = append(conditions, measured.Conditions...)
		have = append(have, measured.Name+" has "+strings.Join(measured.Conditions, ", "))
	}

	unknown := asked.Each
	if len(asked.Each) == 0 {
		unknown = asked.Test.Conditions()
	}

	near := ""
	for _, condition := range unknown {
		if slices.Contains(conditions, condition) {
			continue
		}

		if hint := spelling.DidYouMean(condition, conditions); hint != "" {
			near = hint
		}
	}

	return fmt.Sprintf("no experiment that trains has these conditions; %s%s", strings.Join(have, "; "), near)
}

// Record names the splits that judge a final model: the ones that hold something out.
func (e *Experiment) Record() (names []string) {
	for _, split := range e.Splits {
		if !split.Final() {
			names = append(names, split.Name)
		}
	}

	return names
}

// eachOf returns the holdouts that a split with the key each stands for. It returns none if a condition is unknown and
// such a split is left out.
func (e *Experiment) eachOf(key string, split Split, unknown UnknownCondition) ([]holdout.Named, error) {
	if len(split.Each) == 1 {
		return e.each(key, split.Each[0], split.Blocks, unknown)
	}

	if split.Blocks != 0 {
		return nil, setting.Errorf(key+".blocks", "belongs to one condition, found combinations of %s",
			strings.Join(split.Each, ", "))
	}

	var parts [][]holdout.Named
	for _, condition := range split.Each {
		part, err := e.each(key, condition, 0, unknown)
		if err != nil || part == nil {
			return nil, err
		}

		parts = append(parts, part)
	}

	rows, err := e.Rows()
	if err != nil {
		return nil, err
	}

	combinations, err := holdout.EachCombination(parts, rows)
	if err != nil {
		return nil, setting.Errorf(key, "%v", err)
	}

	switch n := len(combinations); {
	case n == 0:
		return nil, setting.Errorf(key, "found no combination of %s that can be held out; name some with "+
			"{test: [{…}, {…}]}", strings.Join(split.Each, ", "))
	case n > maxEach:
		return nil, setting.Errorf(key, "%s have %d combinations, more than %d splits; hold out some of them with "+
			"{test: [{…}, {…}]}", strings.Join(split.Each, ", "), n, maxEach)
	}

	return combinations, nil
}

// each returns a holdout for each name or value of a condition, or for each block of values if blocks is not 0. It
// returns none if the condition is unknown and its split is left out.
func (e *Experiment) each(key, condition string, blocks int, unknown UnknownCondition) ([]holdout.Named, error) {
	switch {
	case slices.Contains(e.Labels, condition):
		return e.eachLabel(key, condition, blocks)
	case slices.Contains(e.Conditions, condition):
		return e.eachValue(key, condition, blocks)
	case unknown == LeaveUnknown:
		return nil, nil
	}

	return nil, e.notACondition(key, condition)
}

// checkName returns an error if one of the splits has the name already, or a name that differs only by letter case,
// which folders of Windows and macOS do not distinguish.
func checkName(key string, splits []Split, name string) error {
	for _, other := range splits {
		if other.Name == name {
			return setting.Errorf(key, "two splits are named %q", name)
		}

		if strings.EqualFold(other.Name, name) {
			return setting.Errorf(key, "the names %q and %q of splits differ by letter case alone, and "+
				"on Windows and macOS their folders would be one; name one of them otherwise, as in {other-name: {test: …}}",
				other.Name, name)
		}
	}

	return nil
}

// eachValue returns a holdout for each value of a condition, or for each block of neighbouring values if blocks is not
// 0.
func (e *Experiment) eachValue(key, condition string, blocks int) ([]holdout.Named, error) {
	values, err := e.Values(condition)
	if err != nil {
		return nil, err
	}

	n := len(values)
	switch {
	case n == 0:
		return nil, setting.Errorf(key, "the values of %s are not known before the files are read, "+
			"so each cannot list them; write one split per value: {test: {%s: VALUE}}", condition, spelling.YAML(condition))
	case n < 2 || blocks > n:
		return nil, setting.Errorf(key, "%s has %d values, too few to hold out one after the other", condition, n)
	case blocks == 0 && n > maxEach:
		return nil, setting.Errorf(key, "%s has %d values, more than %d splits; hold out blocks of them: {each: %s, "+
			"blocks: 5}, or, where they scatter about set points, state by how much: ingest: {within: {%s: 0.5 %%}}",
			condition, n, maxEach, spelling.YAML(condition), spelling.YAML(condition))
	}

	return holdout.Each(condition, values, blocks), nil
}

// eachLabel returns a holdout for each name of a label.
func (e *Experiment) eachLabel(key, label string, blocks int) ([]holdout.Named, error) {
	if blocks != 0 {
		return nil, noBlocks(key+".blocks", label)
	}

	names, err := e.Names(label)
	if err != nil {
		return nil, err
	}

	n := len(names)
	switch {
	case n == 0:
		return nil, setting.Errorf(key, "the names of %s are not known before the files are read, "+
			"so each cannot list them; write one split per name: {test: {%s: NAME}}", label, spelling.YAML(label))
	case n < 2 || n > maxEach:
		return nil, setting.Errorf(key, "expected 2 to %d names of %s to hold out one after the other, found %d: %s; name "+
			"those to hold out with {test: {%s: NAME}}", maxEach, label, n, holdout.Listed(names), spelling.YAML(label))
	}

	return holdout.EachLabel(label, names), nil
}

// maxEach is the largest number of splits that one split with the key each may stand for, because each is trained once
// per seed.
const maxEach = 100

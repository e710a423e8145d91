package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/report/pairs"
	"doubletake/train/triplets"
)

// Columns lists the conditions and outcomes that the tables of an experiment will have.
type Columns struct {
	Conditions []string             // conditions of numbers, in the order of the tables
	Found      []string             // the last of Conditions, which the analysis of a run finds
	Labels     []string             // columns of text by which rows are split or grouped
	Texts      []string             // all columns of text of the data
	Outcomes   []string             // measured and derived outcomes; nil if they are not known
	Tolerances []config.NamedString // tolerances of conditions that scatter about set points
	Derive     *derive.Set          // derived conditions and outcomes; nil if there are none
	Converted  map[string]string    // by condition: words for the conversion of its unit
}

// BeforeAnalysis lists the conditions that are known before the analysis of a run.
func (c *Columns) BeforeAnalysis() []string {
	return slices.DeleteFunc(slices.Clone(c.Conditions), func(name string) bool { return slices.Contains(c.Found, name) })
}

// Derived returns the definitions of the columns with the given names that are derived, as a part of a task's key.
func (c *Columns) Derived(names []string) []kv.Pair {
	var settings []kv.Pair
	for _, name := range names {
		if text := c.Derive.Text(name); text != "" {
			settings = append(settings, kv.Pair{Key: "ingest.derive." + name, Value: text})
		}
	}

	return settings
}

// SetDerived stores the measured outcomes, and the conditions and outcomes that the configuration derives from
// conditions, constants and outcomes. constants are the constants that are not conditions. A condition that is derived
// from a condition in c.Found is added to c.Found. If SetDerived returns an error, c is unchanged.
func (c *Columns) SetDerived(exp Experiment, constants []config.NamedNumber, measured []string) error {
	if len(exp.Ingest.Derive) == 0 {
		c.Outcomes = measured
		return nil
	}

	var definitions []derive.Definition
	for _, definition := range exp.Ingest.Derive {
		definitions = append(definitions, derive.Definition{Name: definition.Name, Text: definition.Value})
		for _, outcome := range measured {
			suffix, ofOutcome := strings.CutPrefix(definition.Name, outcome+"_")
			if ofOutcome && slices.Contains(dsp.ByProductSuffixes(), suffix) {
				return exp.Errorf("ingest.derive."+definition.Name,
					"the tables have columns of that name with the outcome %s; choose another", outcome)
			}
		}
	}

	fixed := map[string]float64{}
	for _, k := range constants {
		fixed[k.Name] = k.Value
	}

	set, err := derive.New(definitions, fixed, c.Conditions, c.Labels, measured)
	if err != nil {
		key := "ingest.derive"
		if bad, ok := errors.AsType[*derive.Error](err); ok {
			key += "." + bad.Name
		}

		return exp.Errorf(key, "%v", err)
	}

	var early []string
	late := slices.Clone(c.Found)
	for _, name := range set.Conditions() {
		needsFound := slices.ContainsFunc(c.Found, func(found string) bool { return set.Needs(name, found) })
		if needsFound {
			late = append(late, name)
		} else {
			early = append(early, name)
		}
	}

	c.Conditions = slices.Concat(c.BeforeAnalysis(), early, late)
	c.Found = late
	c.Derive = set
	c.Outcomes = slices.Concat(measured, set.Outcomes())

	return nil
}

// SetTexts stores the names of the columns of text. The ones by which the experiment groups recordings become labels,
// which are columns of the tables.
func (c *Columns) SetTexts(exp Experiment, texts []string) {
	c.Texts = texts
	c.Labels = nil
	roles := exp.Roles()
	for _, name := range texts {
		if roles.Grouped(name) {
			c.Labels = append(c.Labels, name)
		}
	}
}

// LabelSetting returns the names of the labels as a part of a task's key, or nil if there are none.
func (c *Columns) LabelSetting() []kv.Pair {
	if len(c.Labels) == 0 {
		return nil
	}

	return []kv.Pair{{Key: "labels", Value: strings.Join(c.Labels, ",")}}
}

// SetTolerances stores the tolerances of set points, after it has checked the columns. It returns an error about a
// tolerance of a column that is not a condition, about things and occasions that are not columns of names, and about a
// condition or one of the outcomes whose name another column of the program's tables has.
func (c *Columns) SetTolerances(exp Experiment, outcomes []string) error {
	for _, tolerance := range exp.Ingest.Tolerances {
		key := "ingest.within." + tolerance.Name
		err := exp.OneOf(c.Conditions, tolerance.Name, key, "is not a condition of this experiment, which has")
		if err != nil {
			return err
		}

		set := tolerance.Name + pairs.SetPointSuffix
		if slices.Contains(c.Conditions, set) {
			return exp.Errorf(key, "the tables have a column %s with the set points, and a "+
				"condition is called so; rename it where it comes from", set)
		}
	}

	if err := c.checkNamed(exp, "ingest.occasions", exp.Ingest.Occasions...); err != nil {
		return err
	}

	if err := c.checkNamed(exp, "ingest.things", exp.Ingest.Things...); err != nil {
		return err
	}

	if across, key := exp.Across(); across != "" {
		if err := c.checkNamed(exp, key, across); err != nil {
			return err
		}
	}

	if err := c.checkUnique(exp, outcomes); err != nil {
		return err
	}

	c.Tolerances = exp.Ingest.Tolerances

	return nil
}

// checkNamed returns an error if one of the names that a key gives is not a column of text.
func (c *Columns) checkNamed(exp Experiment, key string, names ...string) error {
	for _, name := range names {
		if !slices.Contains(c.Texts, name) {
			return exp.Errorf(key, "%q is not a column of names of this experiment, which has %v%s", name,
				c.Texts, spelling.DidYouMean(name, slices.Concat(c.Texts, c.Conditions)))
		}
	}

	return nil
}

// checkUnique returns an error about the first condition, label or outcome whose name another column of the program's
// tables has.
func (c *Columns) checkUnique(exp Experiment, outcomes []string) error {
	conditions := slices.Concat(c.Conditions, c.Labels)
	for i, name := range slices.Concat(conditions, outcomes) {
		reason := ""
		switch {
		case slices.Contains(condition.Reserved, name):
			reason = "it is a column of every table that the program writes"
		case i >= len(conditions): // an outcome, with which the conditions were compared
		case slices.Contains(outcomes, name):
			reason = "a condition and an outcome have it"
		case slices.Contains(conditions[:i], name):
			reason = "it is a condition of numbers and one of text"
		default:
			if outcome := columnOf(name, outcomes); outcome != "" {
				reason = "the tables have a column of that name for the outcome " + outcome
			}
		}

		if reason != "" {
			return exp.Errorf("ingest", "%q cannot name a condition or an outcome: %s; rename it where it comes from, "+
				"e.g. %s_number", name, reason, name)
		}
	}

	return nil
}

// columnOf returns the outcome that has a column of the given name in the tables, and "" if there is none.
func columnOf(name string, outcomes []string) string {
	suffixes := strings.Fields("_1 _2 _epistemic _low _high _sd _sd_epistemic _sd_noise _sd_claimed _no_interval")
	for _, column := range triplets.AnswerColumns {
		suffixes = append(suffixes, column.Suffix)
	}

	for _, outcome := range outcomes {
		suffix, ofOutcome := strings.CutPrefix(name, outcome)
		if ofOutcome && slices.Contains(suffixes, suffix) {
			return outcome
		}
	}

	return ""
}

// TakeNames removes columns of names from the network's inputs and adds them to the things, whose offsets the process
// of the intervals models. It returns a warning that explains this, or nil if no input is a column of names. If
// TakeNames returns an error, the experiment is unchanged.
func (e *Experiment) TakeNames(c Columns) ([]ingest.Warning, error) {
	var names, numbers []string
	for _, input := range e.Train.Inputs {
		if slices.Contains(c.Labels, input) {
			names = append(names, input)
		} else {
			numbers = append(numbers, input)
		}
	}

	if len(names) == 0 {
		return nil, nil
	}

	const key = "train.inputs"
	across, _ := e.Across()
	base := e.Train.Honest.Base
	switch {
	case len(numbers) == 0:
		return nil, e.Errorf(key, "%v are names: expected a condition of numbers too, which the network's inputs are", names)
	case base != "gp":
		return nil, e.Errorf(key, "%v are names, which the process of the intervals takes alone: expected honest: "+
			"{base: gp}, found %s", names, base)
	case slices.Contains(names, across):
		return nil, e.Errorf(key, "repeats are paired across %s: it cannot be an input too", across)
	}

	declared := e.Roles().Declared()
	things := slices.Clone(e.Ingest.Things)
	for _, name := range names {
		if !slices.Contains(declared, name) {
			things = append(things, name)
		}
	}

	e.Train.Inputs = numbers
	e.Ingest.Things = things
	text := fmt.Sprintf("%s: the calibrated predictions count what was measured of each %s; the network sees %s alone",
		e.Name, strings.Join(names, " and "), strings.Join(numbers, ", "))

	return []ingest.Warning{{Path: e.File.Path, Code: "names-as-inputs", Text: text}}, nil
}

// Tolerances returns the tolerances of set points, by condition.
func Tolerances(list []config.NamedString) map[string]condition.Tolerance {
	tolerances := map[string]condition.Tolerance{}
	for _, tolerance := range list {
		tolerances[tolerance.Name], _ = condition.ParseTolerance(tolerance.Value) // checked with the configuration
	}

	return tolerances
}

package pairs

import (
	"errors"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/condition"
	"doubletake/ingest/derive"
	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/train/triplets"
)

// Columns lists the conditions and outcomes that the tables of pairs of an experiment will have. Its methods return a
// *setting.Error about a setting of section ingest that does not fit the columns.
type Columns struct {
	Conditions []string              // conditions of numbers, in the order of the tables
	Found      []string              // the last of Conditions, which the analysis of a run finds
	Labels     []string              // columns of text by which rows are split or grouped
	Texts      []string              // all columns of text of the data
	Outcomes   []string              // measured and derived outcomes; nil if they are not known
	Tolerances []setting.NamedString // tolerances of conditions that scatter about set points
	Derive     *derive.Set           // derived conditions and outcomes; nil if there are none
	Converted  map[string]string     // by condition: words for the conversion of its unit
}

// BeforeAnalysis lists the conditions that are known before the analysis of a run.
func (c *Columns) BeforeAnalysis() []string {
	return slices.DeleteFunc(slices.Clone(c.Conditions), func(name string) bool { return slices.Contains(c.Found, name) })
}

// SetDerived stores the measured outcomes, and the conditions and outcomes that definitions derive from conditions,
// constants and outcomes. constants are the constants that are not conditions. A condition that is derived
// from a condition in c.Found is added to c.Found. If SetDerived returns an error, c is unchanged.
func (c *Columns) SetDerived(definitions []setting.NamedString, constants []setting.NamedNumber,
	measured []string,
) error {
	if len(definitions) == 0 {
		c.Outcomes = measured
		return nil
	}

	var parsed []derive.Definition
	for _, definition := range definitions {
		if err := checkNoByProduct(definition.Name, measured); err != nil {
			return err
		}

		parsed = append(parsed, derive.Definition{Name: definition.Name, Text: definition.Value})
	}

	fixed := map[string]float64{}
	for _, constant := range constants {
		fixed[constant.Name] = constant.Value
	}

	set, err := derive.New(parsed, fixed, c.Conditions, c.Labels, measured)
	if err != nil {
		key := "derive"
		if bad, ok := errors.AsType[*derive.Error](err); ok {
			key += "." + bad.Name
		}

		return setting.Errorf(key, "%v", err)
	}

	c.addConditions(set)
	c.Derive = set
	c.Outcomes = slices.Concat(measured, set.Outcomes())

	return nil
}

// checkNoByProduct returns an error if the tables have a column with the name of a definition, because it is the name
// of a by-product of an outcome.
func checkNoByProduct(definition string, outcomes []string) error {
	for _, outcome := range outcomes {
		suffix, ofOutcome := strings.CutPrefix(definition, outcome+"_")
		if ofOutcome && slices.Contains(dsp.ByProductSuffixes(), suffix) {
			return setting.Errorf("derive."+definition,
				"the tables have columns of that name with the outcome %s; choose another", outcome)
		}
	}

	return nil
}

// addConditions adds the derived conditions: those that need a condition that the analysis finds after the others, to
// c.Found too.
func (c *Columns) addConditions(set *derive.Set) {
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
}

// SetTexts stores the names of the columns of text. The ones by which roles group recordings become labels, which are
// columns of the tables.
func (c *Columns) SetTexts(roles condition.Roles, texts []string) {
	c.Texts = texts
	c.Labels = roles.GroupedAmong(texts)
}

// Settle stores the tolerances of set points and checks that the settings of a campaign fit the columns: tolerances
// belong to conditions, occasions and things are columns of text, and no other column of the program's tables has the
// name of a condition, a label or one of the outcomes. After an error, the columns may be changed.
func (c *Columns) Settle(settings *setting.Campaign, outcomes []string) error {
	if err := c.setTolerances(settings.Tolerances); err != nil {
		return err
	}

	if err := c.CheckTexts("occasions", settings.Occasions...); err != nil {
		return err
	}

	if err := c.CheckTexts("things", settings.Things...); err != nil {
		return err
	}

	return c.checkUnique(outcomes)
}

// setTolerances stores the tolerances of set points. It returns an error about a tolerance of a column that is not a
// condition, and about a condition that is called as the column of another's set points.
func (c *Columns) setTolerances(tolerances []setting.NamedString) error {
	for _, tolerance := range tolerances {
		key := "within." + tolerance.Name
		err := setting.CheckOneOf(c.Conditions, tolerance.Name, key, "is not a condition of this experiment, which has")
		if err != nil {
			return err
		}

		set := tolerance.Name + SetPointSuffix
		if slices.Contains(c.Conditions, set) {
			return setting.Errorf(key, "the tables have a column %s with the set points, and a "+
				"condition is called so; rename it where it comes from", set)
		}
	}

	c.Tolerances = tolerances

	return nil
}

// CheckTexts returns an error if one of the names that the setting with a key gives is not a column of text.
func (c *Columns) CheckTexts(key string, names ...string) error {
	for _, name := range names {
		if !slices.Contains(c.Texts, name) {
			return setting.Errorf(key, "%q is not a column of names of this experiment, which has %v%s", name,
				c.Texts, spelling.DidYouMean(name, slices.Concat(c.Texts, c.Conditions)))
		}
	}

	return nil
}

// checkUnique returns an error about the first condition, label or outcome whose name another column of the program's
// tables has.
func (c *Columns) checkUnique(outcomes []string) error {
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
			return setting.Errorf("", "%q cannot name a condition or an outcome: %s; rename it where it comes from, "+
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

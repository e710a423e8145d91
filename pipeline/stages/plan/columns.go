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
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/train/triplets"
)

// Columns are the conditions and outcomes that the tables of an experiment will have.
type Columns struct {
	Conditions []string             // names, in the order of the tables
	Found      []string             // the last of them: those that the analysis of a run finds
	Labels     []string             // columns of text, by which splits or their groups are
	Texts      []string             // all columns of text that the data have
	Outcomes   []string             // names, derived ones too; nil: not known
	Within     []config.NamedString // by condition that scatters about set points, by how much
	Derive     *derive.Set          // what is derived; nil: nothing
	Converted  map[string]string    // by condition, how its unit was converted
}

// BeforeAnalysis lists the conditions that are known before the analysis of a run.
func (c *Columns) BeforeAnalysis() []string {
	return slices.DeleteFunc(slices.Clone(c.Conditions), func(n string) bool { return slices.Contains(c.Found, n) })
}

// commonConditions are the units and meanings of condition names in common use.
var commonConditions = map[string]struct{ unit, meaning string }{
	"blades":        {"", "number of rotor blades"},
	"rpm":           {"1/min", "shaft speed, nominal"},
	"rpm_tracked":   {"1/min", "shaft speed found in the sound, mean of the two halves"},
	"rpm_measured":  {"1/min", "shaft speed by the tachometer, mean of the two halves"},
	"rps":           {"1/s", "shaft speed, nominal, in revolutions per second"},
	"theta_deg":     {"deg", "microphone angle from the rotor plane"},
	"phi_deg":       {"deg", "azimuth of the microphone"},
	"alpha_deg":     {"deg", "angle of attack"},
	"u_inf_m_s":     {"m/s", "free-stream speed"},
	"radius_m":      {"m", "distance of the microphone"},
	"q_pa":          {"Pa", "dynamic pressure"},
	"temperature_c": {"°C", "air temperature"},
	"humidity_pct":  {"%", "relative humidity of the air"},
	"pressure_pa":   {"Pa", "static pressure"},
}

// UnitOf returns the unit and meaning of a condition's name: that in common use, else the unit that its ending states.
func UnitOf(condition string) (unit, description string) {
	if c, common := commonConditions[condition]; common {
		return c.unit, c.meaning
	}

	u, _ := units.OfName(condition)

	return u.Text, "condition"
}

// Derived are the definitions of those names, as settings.
func (c *Columns) Derived(names []string) (out []kv.Pair) {
	for _, n := range names {
		if text := c.Derive.Text(n); text != "" {
			out = append(out, kv.Pair{Key: "ingest.derive." + n, Value: text})
		}
	}

	return out
}

// SetDerived stores the outcomes measured and all that the configuration derives of conditions, constants and
// outcomes, or raises an error. constants are those that are no conditions. Conditions derived of c.Found are found as
// those.
func (c *Columns) SetDerived(e Experiment, constants []config.NamedNumber, measured []string) {
	c.Outcomes = measured
	if len(e.Ingest.Derive) == 0 {
		return
	}

	var defs []derive.Definition
	for _, d := range e.Ingest.Derive {
		defs = append(defs, derive.Definition{Name: d.Name, Text: d.Value})
		for _, o := range measured {
			end, ok := strings.CutPrefix(d.Name, o+"_")
			e.Refuse(ok && slices.Contains(dsp.ByProductSuffixes(), end), "ingest.derive."+d.Name,
				"the tables have columns of that name with the outcome %s; choose another", o)
		}
	}

	fixed := map[string]float64{}
	for _, k := range constants {
		fixed[k.Name] = k.Value
	}

	set, err := derive.New(defs, fixed, c.Conditions, c.Labels, measured)
	key := "ingest.derive"
	if bad, is := errors.AsType[*derive.Error](err); is {
		key += "." + bad.Name
	}

	e.Refuse(err != nil, key, "%v", err)

	late, early := lists.Split(set.Conditions(), func(name string) bool {
		return slices.ContainsFunc(c.Found, func(f string) bool { return set.Needs(name, f) })
	})
	late = slices.Concat(c.Found, late)
	c.Conditions, c.Found = slices.Concat(c.BeforeAnalysis(), early, late), late
	c.Derive, c.Outcomes = set, slices.Concat(measured, set.Outcomes())
}

// SetTexts stores the names of the columns of text. The tables get those of things and occasions.
func (c *Columns) SetTexts(e Experiment, texts []string) {
	c.Texts, c.Labels = texts, lists.Keep(texts, e.Roles().Grouped)
}

// TakeNames takes the columns of names out of the network's inputs: they are things, whose offsets the process of the
// intervals has. It returns what that means.
func (e *Experiment) TakeNames(c Columns) []ingest.Warning {
	names := lists.Keep(e.Train.Inputs, func(n string) bool { return slices.Contains(c.Labels, n) })
	if len(names) == 0 {
		return nil
	}

	unless := func(ok bool, format string, args ...any) { fault.Unless(ok, e.Errorf("train.inputs", format, args...)) }
	isName := func(n string) bool { return slices.Contains(names, n) }
	e.Train.Inputs = slices.DeleteFunc(slices.Clone(e.Train.Inputs), isName)
	across, _ := e.Across()
	base := e.Train.Honest.Base
	unless(len(e.Train.Inputs) > 0, "%v are names: expected a condition of numbers too, which the network's inputs are",
		names)
	unless(base == "gp", "%v are names, which the process of the intervals takes alone: expected honest: {base: gp}, "+
		"found %s", names, base)
	unless(!isName(across), "repeats are paired across %s: it cannot be an input too", across)

	declared := e.Roles().Declared()
	e.Ingest.Things = slices.Concat(e.Ingest.Things,
		lists.Keep(names, func(n string) bool { return !slices.Contains(declared, n) }))
	text := fmt.Sprintf("%s: the calibrated predictions count what was measured of each %s; the network sees %s alone",
		e.Name, strings.Join(names, " and "), strings.Join(e.Train.Inputs, ", "))

	return []ingest.Warning{{Path: e.File.Path, Code: "names-as-inputs", Text: text}}
}

// LabelSetting is the names of the labels as a setting of a task; nil without any.
func (c *Columns) LabelSetting() []kv.Pair {
	if len(c.Labels) == 0 {
		return nil
	}

	return []kv.Pair{{Key: "labels", Value: strings.Join(c.Labels, ",")}}
}

// Check stores the tolerances of set points. It raises an error of one for what is no condition, of things and
// occasions that are no columns of names, and of a condition or one of the outcomes whose name another column of our
// tables has. It comes before anything is computed.
func (c *Columns) Check(e Experiment, outcomes []string) {
	c.Within = e.Ingest.Within
	for _, w := range c.Within {
		key, set := "ingest.within."+w.Name, w.Name+setColumn
		e.OneOf(c.Conditions, w.Name, key, "is not a condition of this experiment, which has")
		e.Refuse(slices.Contains(c.Conditions, set), key, "the tables have a column %s with the set points, and a "+
			"condition is called so; rename it where it comes from", set)
	}

	named := func(key string, names ...string) {
		for _, n := range names {
			e.Refuse(!slices.Contains(c.Texts, n), key, "%q is not a column of names of this experiment, which has %v%s", n,
				c.Texts, spelling.DidYouMean(n, slices.Concat(c.Texts, c.Conditions)))
		}
	}
	named("ingest.occasions", e.Ingest.Occasions...)
	named("ingest.things", e.Ingest.Things...)
	if across, key := e.Across(); across != "" {
		named(key, across)
	}

	ends := append(strings.Fields("_1 _2 _epistemic _low _high _sd _sd_epistemic _sd_noise _sd_claimed _no_interval"),
		lists.Each(triplets.AnswerColumns, func(c triplets.AnswerColumn) string { return c.Suffix })...)
	conditions := slices.Concat(c.Conditions, c.Labels)
	for i, name := range slices.Concat(conditions, outcomes) {
		of := slices.IndexFunc(outcomes, func(o string) bool {
			end, ok := strings.CutPrefix(name, o)
			return ok && slices.Contains(ends, end)
		})

		why := ""
		switch {
		case slices.Contains(condition.Reserved, name):
			why = "it is a column of every table that the program writes"
		case i >= len(conditions):
		case slices.Contains(outcomes, name):
			why = "a condition and an outcome have it"
		case slices.Contains(conditions[:i], name):
			why = "it is a condition of numbers and one of text"
		case of >= 0:
			why = "the tables have a column of that name for the outcome " + outcomes[of]
		}

		e.Refuse(why != "", "ingest", "%q cannot name a condition or an outcome: %s; rename it where it comes from, "+
			"e.g. %s_number", name, why, name)
	}
}

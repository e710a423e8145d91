package plan

import (
	"errors"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/derive"
	"doubletake/ingest/units"
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
var commonConditions = map[string][2]string{
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

// UnitOf returns the unit and meaning of condition names in common use. For other
// names the unit is empty.
func UnitOf(condition string) (unit, description string) {
	if c, ok := commonConditions[condition]; ok {
		return c[0], c[1]
	}

	return "", "condition"
}

// Describe returns the unit and the meaning of a condition.
func (c *Columns) Describe(condition string) (unit, description string) {
	unit, description = UnitOf(condition)
	if text := c.Derive.Text(condition); text != "" {
		description += "; derived: " + text
		if u, ok := units.OfName(condition); ok {
			unit = u.Text
		}
	}

	return unit, description
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

// WithDerived returns the columns with the outcomes measured and all that the configuration
// derives of conditions, constants and outcomes. constants are those that are no conditions.
// Conditions derived of c.Found are found as those.
func (c Columns) WithDerived(e Experiment, constants []config.NamedNumber, measured []string) (Columns, error) {
	c.Outcomes = measured
	if len(e.Ingest.Derive) == 0 {
		return c, nil
	}

	defs := make([]derive.Definition, len(e.Ingest.Derive))
	for i, d := range e.Ingest.Derive {
		defs[i] = derive.Definition{Name: d.Name, Text: d.Value}

		for _, o := range measured {
			if end, ok := strings.CutPrefix(d.Name, o+"_"); ok && slices.Contains(dsp.ByProductSuffixes(), end) {
				return c, e.Errorf("ingest.derive."+d.Name,
					"the tables have columns of that name with the outcome %s; choose another", o)
			}
		}
	}

	fixed := map[string]float64{}
	for _, k := range constants {
		fixed[k.Name] = k.Value
	}

	set, err := derive.New(defs, fixed, c.Conditions, measured)

	var bad *derive.Error
	if errors.As(err, &bad) {
		return c, e.Errorf("ingest.derive."+bad.Name, "%v", bad)
	}

	if err != nil {
		return c, err
	}

	early, late := c.BeforeAnalysis(), slices.Clone(c.Found)
	for _, name := range set.Conditions() {
		if slices.ContainsFunc(c.Found, func(f string) bool { return set.Needs(name, f) }) {
			late = append(late, name)
		} else {
			early = append(early, name)
		}
	}

	c.Conditions, c.Found = slices.Concat(early, late), late
	c.Derive, c.Outcomes = set, slices.Concat(measured, set.Outcomes())

	return c, nil
}

// SetTexts stores the names of the columns of text. The tables get those that the
// experiment's splits and groups name.
func (c *Columns) SetTexts(e Experiment, texts []string) {
	groups := e.Groups()
	c.Texts = texts
	c.Labels = slices.DeleteFunc(slices.Clone(texts), func(n string) bool { return !slices.Contains(groups, n) })
}

// LabelSetting is the names of the labels as a setting of a task; nil without any.
func (c *Columns) LabelSetting() []kv.Pair {
	if len(c.Labels) == 0 {
		return nil
	}

	return []kv.Pair{{Key: "labels", Value: strings.Join(c.Labels, ",")}}
}

// reserved are the columns of our tables that are no condition and no outcome.
var reserved = []string{
	"run", "recording", "set", "file", "channel", "format", "encoding", "unit", "scale", "calibration",
	"calibrator_spread_db", "rate_hz", "row0", "samples", "duration_s", "min", "max", "mean", "rms", "std",
	"integral_time_s", "clipped", "longest_constant", "sha256", "pairs", "half", "bin_hz", "shaft_hz", "power",
	"line_hz", "line_power", "floor", "search_lo", "search_hi", "band_lo", "band_hi", "shaft_order", "shaft_order_hz",
	"shaft_order_power", "group", "outcome", "weight",
}

// CheckNames reports a condition or an outcome whose name another column of our
// tables has. It comes before anything is computed.
func CheckNames(e Experiment, conditions, outcomes []string) error {
	fail := func(name, why string) error {
		return e.Errorf("ingest", "%q cannot name a condition or an outcome: %s; rename it where it comes from, "+
			"e.g. %s_number", name, why, name)
	}

	ends := []string{
		"_1", "_2", "_epistemic", "_low", "_high", "_sd", "_sd_epistemic", "_sd_noise", "_sd_claimed", "_no_interval",
	}
	for _, c := range triplets.AnswerColumns {
		ends = append(ends, c.Suffix)
	}

	for i, name := range slices.Concat(conditions, outcomes) {
		if slices.Contains(reserved, name) {
			return fail(name, "it is a column of every table that the program writes")
		}

		if i >= len(conditions) {
			continue
		}

		if slices.Contains(outcomes, name) {
			return fail(name, "a condition and an outcome have it")
		}

		if slices.Contains(conditions[:i], name) {
			return fail(name, "it is a condition of numbers and one of text")
		}

		for _, o := range outcomes {
			if end, ok := strings.CutPrefix(name, o); ok && slices.Contains(ends, end) {
				return fail(name, "the tables have a column of that name for the outcome "+o)
			}
		}
	}

	return nil
}

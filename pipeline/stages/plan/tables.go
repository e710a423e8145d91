package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
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
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// RunLabel is the label of a recording with the name of its run, where a source of conditions states it.
const RunLabel = "run"

// Cells begins a row of a table: the run, the recording and its conditions, NaN where one is
// not known, and its labels.
func (c *Columns) Cells(t *table.Table, run string, rec ingest.Recording) {
	t.Cell("run", "", "one acquisition at one condition", cmp.Or(rec.Labels[RunLabel], run))
	t.Cell("recording", "", "one channel of a run, or the group that makes one outcome vector", rec.ID)

	for _, name := range c.Conditions {
		v, ok := rec.Conditions[name]
		if !ok {
			v = math.NaN()
		}

		unit, doc := UnitOf(name)
		if text := c.Derive.Text(name); text != "" {
			doc += "; derived: " + text
		}

		if how := c.Converted[name]; how != "" {
			doc += "; " + how
		}

		t.Cell(name, unit, doc, v)
	}

	for _, name := range c.Labels {
		t.Cell(name, "", LabelText, rec.Labels[name])
	}
}

// LabelText describes a label.
const LabelText = "name by which splits or their groups are"

// Outcomes lists the names of a triplet table's outcomes, in table order: the
// float columns NAME_1 with a NAME_2 that are no by-product of a level.
func Outcomes(t *table.Table) []string {
	var out []string
	for _, c := range t.Columns {
		base, ok := strings.CutSuffix(c.Name, "_1")
		if !ok || c.Floats == nil || t.Column(base+"_2") == nil {
			continue
		}

		byProduct := func(i int) bool {
			return base[i] == '_' && dsp.IsByProduct(base[i+1:]) && t.Column(base[:i]+"_1") != nil
		}
		if !slices.ContainsFunc(lists.Numbers(len(base)), byProduct) {
			out = append(out, base)
		}
	}

	return out
}

// Conditions lists the conditions of a triplet table: the columns of numbers that belong to no outcome, and
// those of text but run and recording. Columns of set points are not among them (AtSetPoints).
func Conditions(t *table.Table) (numbers, texts []string) {
	for _, c := range t.Columns {
		stem := strings.TrimSuffix(strings.TrimSuffix(c.Name, "_1"), "_2")
		paired := stem != c.Name && t.Column(stem+"_1") != nil && t.Column(stem+"_2") != nil
		set, ofSet := strings.CutSuffix(c.Name, setColumn)

		switch {
		case paired, c.Name == "weight", ofSet && t.Column(set) != nil:
		case c.Floats != nil:
			numbers = append(numbers, c.Name)
		case c.Strings != nil && c.Name != "run" && c.Name != "recording":
			texts = append(texts, c.Name)
		}
	}

	return numbers, texts
}

// Across is the occasion that the pairs of a triplet table are made across; "": none. The second outcome of a row is
// there the first one of another.
func Across(t *table.Table) string {
	return cmp.Or(t.Get("config:ingest.table.across"), t.Get("config:dsp.across"))
}

// RunsOf returns the runs of a row of a triplet table: both of a pair of repeats, whose names a plus joins, else one.
func RunsOf(t *table.Table, row int) []string {
	name := t.Column("run").Strings[row]
	if runs := strings.Split(name, " + "); len(runs) == 2 {
		return runs
	}

	has := func(key string) bool { return t.Get("config:ingest.table."+key) != "" } // else re=1e+06 names conditions
	runs := strings.Split(name, "+")
	if len(runs) == 2 && t.Get("pairs") == "repeat-run" && has("repeats") && has("run") && Across(t) == "" {
		return runs
	}

	return []string{name}
}

// Triplets reads the set of a triplet table: the conditions named inputs, and
// both values of the outcomes.
func Triplets(t *table.Table, inputs, outcomes []string) (triplets.Set, error) {
	x, err1 := Matrix(t, inputs, "")
	y1, err2 := Matrix(t, outcomes, "_1")
	y2, err3 := Matrix(t, outcomes, "_2")
	at, err4 := Matrix(AtSetPoints{t}, inputs, "")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(t, inputs, ""), quantities(t, outcomes, "_1"), x, y1, y2)
	s.SetRuns(t.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{t}.Scatters) {
		s.SetPoints = at
	}

	s.Recording = t.Column("recording").Strings
	if w := t.Column("weight"); w != nil {
		s.Weight = w.Floats
	}

	return s, nil
}

func quantities(t *table.Table, names []string, suffix string) []triplets.Quantity {
	return lists.Each(names, func(n string) triplets.Quantity {
		c := t.Column(n + suffix)
		return triplets.Quantity{Name: n, Unit: c.Unit, Description: c.Description}
	})
}

// floats are columns of numbers.
type floats interface {
	Floats(name string) ([]float64, error)
}

// Matrix reads the columns NAME+suffix of a table into rows of numbers.
func Matrix(t floats, names []string, suffix string) ([]float64, error) {
	var out []float64
	for k, name := range names {
		v, err := t.Floats(name + suffix)
		if err != nil {
			return nil, err
		}

		if out == nil {
			out = make([]float64, len(v)*len(names))
		}

		for i, x := range v {
			out[i*len(names)+k] = x
		}
	}

	return out, nil
}

// setColumn is the ending of the column with the set points of a condition.
const setColumn = "_set"

// Points are the set points of conditions, by name.
type Points map[string]condition.SetPoints

// Find returns the set point of a condition's value and the words for it.
func (p Points) Find(condition string, v float64) (at float64, text string, ok bool) {
	found, ok := p[condition].Find(v)
	return found.Nominal, found.String(), ok
}

// Settings are the set points as settings of a task.
func (p Points) Settings(within []config.NamedString) (out []kv.Pair) {
	for _, w := range within {
		out = append(out, kv.Pair{Key: "ingest.within." + w.Name, Value: w.Value})
		if known, ok := p[w.Name]; ok {
			out = append(out, kv.Pair{Key: "set points of " + w.Name, Value: fmt.Sprint(known.List)})
		}
	}

	return out
}

// AddSetPoints adds to a table the set points of its conditions: those given, which are known
// before the files are read, else those of its rows.
func (p Points) AddSetPoints(within []config.NamedString, t *table.Table) {
	found := SetPointsOf(within, t)
	maps.Copy(found, p)
	for _, w := range within {
		i := slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Name == w.Name })
		c := t.Columns[i]
		c.Name, c.Description = c.Name+setColumn, "set point of "+w.Name+", within "+w.Value
		c.Floats = lists.Each(c.Floats, found[w.Name].At)
		t.Columns = slices.Insert(t.Columns, i+1, c)
	}
}

// SetPointsOf finds the set points of the conditions in a table's rows, or raises the error of a table without one.
func SetPointsOf(within []config.NamedString, t *table.Table) Points {
	out := Points{}
	for name, tolerance := range Tolerances(within) {
		out[name] = condition.SetPointsOf(fault.Get(t.Floats(name)), tolerance)
	}

	return out
}

// AtSetPoints are the rows of a triplet table with the conditions at their set points.
type AtSetPoints struct{ *table.Table }

// Scatters reports whether the condition has set points.
func (t AtSetPoints) Scatters(condition string) bool { return t.Column(condition+setColumn) != nil }

// Floats returns the set points of a condition, or its values where it has none.
func (t AtSetPoints) Floats(condition string) ([]float64, error) {
	if t.Scatters(condition) {
		condition += setColumn
	}

	return t.Table.Floats(condition)
}

// Tolerances are those of set points, by condition.
func Tolerances(within []config.NamedString) map[string]condition.Tolerance {
	out := map[string]condition.Tolerance{}
	for _, w := range within {
		out[w.Name], _ = condition.ParseTolerance(w.Value) // checked with the configuration
	}

	return out
}

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
	names, numbers := lists.Split(e.Train.Inputs, func(n string) bool { return slices.Contains(c.Labels, n) })
	if len(names) == 0 {
		return nil
	}

	const key = "train.inputs"
	e.Train.Inputs = numbers
	across, _ := e.Across()
	base := e.Train.Honest.Base
	e.Refuse(len(numbers) == 0, key, "%v are names: expected a condition of numbers too, which the network's inputs are",
		names)
	e.Refuse(base != "gp", key, "%v are names, which the process of the intervals takes alone: expected honest: "+
		"{base: gp}, found %s", names, base)
	e.Refuse(slices.Contains(names, across), key, "repeats are paired across %s: it cannot be an input too", across)

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

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

		byProduct := false
		for i := range base {
			if base[i] == '_' && dsp.IsByProduct(base[i+1:]) && t.Column(base[:i]+"_1") != nil {
				byProduct = true
			}
		}

		if !byProduct {
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
func (p Points) AddSetPoints(within []config.NamedString, t *table.Table) error {
	found, err := SetPointsOf(within, t)
	if err != nil {
		return err
	}

	maps.Copy(found, p)
	for _, w := range within {
		i := slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Name == w.Name })
		c := t.Columns[i]
		c.Name, c.Description = c.Name+setColumn, "set point of "+w.Name+", within "+w.Value
		c.Floats = lists.Each(c.Floats, found[w.Name].At)
		t.Columns = slices.Insert(t.Columns, i+1, c)
	}

	return nil
}

// SetPointsOf finds the set points of the conditions in a table's rows.
func SetPointsOf(within []config.NamedString, t *table.Table) (Points, error) {
	out := Points{}
	for name, tolerance := range Tolerances(within) {
		v, err := t.Floats(name)
		if err != nil {
			return nil, fmt.Errorf("find set points: %w", err)
		}

		out[name] = condition.SetPointsOf(v, tolerance)
	}

	return out, nil
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

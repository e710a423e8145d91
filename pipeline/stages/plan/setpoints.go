package plan

import (
	"fmt"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

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

	for _, w := range within {
		points, known := p[w.Name]
		if !known {
			points = found[w.Name]
		}

		i := slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Name == w.Name })
		c := t.Columns[i]
		c.Name, c.Floats, c.Description = c.Name+setColumn, slices.Clone(c.Floats), "set point of "+w.Name+", within "+w.Value
		for k, v := range c.Floats {
			c.Floats[k] = points.At(v)
		}

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

// SetWithin stores the tolerances of set points. Of what is no condition it is an error.
func (c *Columns) SetWithin(e Experiment) error {
	c.Within = e.Ingest.Within
	for _, w := range c.Within {
		if !slices.Contains(c.Conditions, w.Name) {
			return e.Errorf("ingest.within."+w.Name, "%q is not a condition of this experiment, which has %v%s", w.Name,
				c.Conditions, spelling.DidYouMean(w.Name, c.Conditions))
		}

		if set := w.Name + setColumn; slices.Contains(c.Conditions, set) {
			return e.Errorf("ingest.within."+w.Name, "the tables have a column %s with the set points, and a condition is "+
				"called so; rename it where it comes from", set)
		}
	}

	return nil
}

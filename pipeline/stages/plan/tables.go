package plan

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// RunLabel is the label of a recording with the name of its run, where a source of conditions states it.
const RunLabel = "run"

// Cells begins a row of a table: the run, the recording and its conditions, NaN where one is
// not known, and its labels.
func (c *Columns) Cells(t *table.Table, run string, rec ingest.Recording) {
	Cell(t, "run", "", "one acquisition at one condition", cmp.Or(rec.Labels[RunLabel], run))
	Cell(t, "recording", "", "one channel of a run, or the group that makes one outcome vector", rec.ID)

	for _, name := range c.Conditions {
		v, ok := rec.Conditions[name]
		if !ok {
			v = math.NaN()
		}

		unit, doc := c.Describe(name)
		if how := c.Converted[name]; how != "" {
			doc += "; " + how
		}

		Cell(t, name, unit, doc, v)
	}

	for _, name := range c.Labels {
		Cell(t, name, "", LabelText, rec.Labels[name])
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

// AppendTables appends the rows of tables that other tasks gave.
func AppendTables(j *engine.Job, t *table.Table, parts []engine.Dep) error {
	for _, d := range parts {
		part, err := table.Read(j.Input(d.Task, d.Output))
		if err == nil && part.Rows() > 0 { // else a skipped file
			err = t.Append(part)
		}

		if err != nil {
			return fmt.Errorf("join %s: %w", d.Task, err)
		}
	}

	return nil
}

// Column returns the column of that name, and makes it if it is not there.
func Column(t *table.Table, name, unit, doc string) *table.Column {
	c := t.Column(name)
	if c == nil {
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: doc})
		c = &t.Columns[len(t.Columns)-1]
	}

	return c
}

// Cell appends v to the column of that name and makes the column if it is the
// first. v is a string, float64, bool, int or []float32. Rows that are appended
// with the same cells in the same order keep the columns of equal length.
func Cell(t *table.Table, name, unit, doc string, v any) {
	c := Column(t, name, unit, doc)
	switch v := v.(type) {
	case string:
		c.Strings = append(c.Strings, v)
	case float64:
		c.Floats = append(c.Floats, v)
	case bool:
		c.Bools = append(c.Bools, v)
	case int:
		c.Ints = append(c.Ints, int64(v))
	case []float32:
		c.Lists = append(c.Lists, v)
	}
}

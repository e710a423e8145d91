package plan

import (
	"hash/fnv"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/pipeline/table"
)

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

// Cell appends v to the column of that name and makes the column if it is the
// first. v is a string, float64, bool, int or []float32. Rows that are appended
// with the same cells in the same order keep the columns of equal length.
func Cell(t *table.Table, name, unit, doc string, v any) {
	c := t.Column(name)
	if c == nil {
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: doc})
		c = &t.Columns[len(t.Columns)-1]
	}
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

// SeedOf derives a seed from the experiment's seed and a run's name.
func SeedOf(seed uint64, purpose, run string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(seed, 10) + "\x00" + purpose + "\x00" + run))
	return h.Sum64()
}

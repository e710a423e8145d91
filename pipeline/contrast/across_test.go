package contrast

import (
	"testing"

	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

// Of pairs across occasions the first value is the occasion's own: the second is another's first.
func TestPairsAcross(t *testing.T) {
	tab := &table.Table{
		Meta: []kv.Pair{{Key: "config:ingest.table.across", Value: "Day"}},
		Columns: []table.Column{
			{Name: "run", Strings: []string{"Day=Mon", "Day=Tue"}},
			{Name: "Day", Strings: []string{"Mon", "Tue"}},
			{Name: "y_1", Floats: []float64{1, 4}},
			{Name: "y_2", Floats: []float64{4, 1}},
		},
	}

	c := &comparison{Options: Options{Outcomes: []string{"y"}, Unit: "run"}, Result: &Result{}}
	for side, day := range []string{"Mon", "Tue"} {
		c.terms[side] = []term{{column: "Day", value: day}}
		c.add(tab, side)
	}

	if len(c.rows) != 2 || c.rows[1].y[0]-c.rows[0].y[0] != 3 {
		t.Errorf("%+v", c.rows)
	}
}

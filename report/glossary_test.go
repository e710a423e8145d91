package report

import (
	"slices"
	"testing"

	"doubletake/docs"
	"doubletake/train/score"
)

// The glossary has every heading and every group of headings of every table, but for those
// that are names of the user's own: settings of a sweep.
func TestHeadingsAreExplained(t *testing.T) {
	var metrics []docs.Term
	for _, m := range score.Metrics {
		metrics = append(metrics, docs.Term{Name: m.Key + ", " + m.Symbol})
	}

	s := Sweep{Name: "toy", Paths: []string{"train.gamma"}, Variants: []Variant{
		{Name: "toy/a", Settings: []Fact{{"train.gamma", "1"}}}, {Name: "toy/b", Settings: []Fact{{"train.gamma", "2"}}},
	}}
	held := Comparison{Runs: 9}
	for key, name := range shownAs {
		held.Criteria = append(held.Criteria, ByCriterion{Key: key, Name: name, Ranks: []VariantRank{
			{Value: score.Mean([]float64{1})}, {Variant: 1, Value: score.Mean([]float64{2}), Above: 1, SE: 0.5},
		}})
	}

	s.Splits = []SweptSplit{{Name: "gap", Held: held, Inner: held, Groups: 3}}
	tables := s.tables()
	for _, e := range outputExperiments() {
		tables = append(tables, e.summary())
		tables = append(tables, e.tables()...)
		for _, v := range e.violated() {
			tables = append(tables, v.table())
		}
	}

	seen := map[string]bool{"": true}
	for _, tab := range tables {
		heads := []string{tab.Corner}
		for _, h := range tab.Heads {
			if !slices.Contains(s.settings(), h.Name) {
				heads = append(heads, h.Name, h.Group)
			}
		}

		for _, h := range heads {
			if !seen[h] && docs.Named(h, metrics...) == nil {
				t.Errorf("table %q: the glossary has no %q", tab.Title, h)
			}

			seen[h] = true
		}
	}

	if len(seen) < 60 {
		t.Errorf("%d headings", len(seen))
	}
}

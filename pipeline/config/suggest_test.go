package config

import (
	"maps"
	"testing"
)

// Costs by hand, in minutes; names and units that cannot be are refused with their key.
func TestPrices(t *testing.T) {
	f, err := Parse("pipeline.yaml", []byte(`version: 1
experiments:
  drone:
    ingest: {table: t.csv}
    train: {inputs: [blades, rpm], splits: {s: {test: {rpm: 1000}}}}
    suggest: {cost: {blades: 1.5 h, rpm: 30 s, repeat: 2 min}, budget: 4 h}
`))
	if err != nil {
		t.Fatal(err)
	}

	p, err := f.Experiment("drone").Suggest.Prices([]string{"blades", "rpm"})
	if want := map[string]float64{"blades": 90, "rpm": 0.5, "repeat": 2}; err != nil || !maps.Equal(p.Of, want) ||
		!p.Timed || p.Budget != 240 || f.Experiment("wing") != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

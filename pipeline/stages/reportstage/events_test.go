package reportstage

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/stages/stagetest"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/train/score"
)

// The report's numbers of an event are those of the held-out rows, computed here from
// the tables and the models: shares by counting, probabilities by the model at each row.
func TestEventsAreCounted(t *testing.T) {
	b := planned(t, "{inputs: [x], seeds: 2, model: {head: binned, bins: 4, hidden: [8]}, optimizer: {epochs: 30}, "+
		"events: {high: \"y > 41\"}, honest: {base: none}, splits: {high: {test: {x: {min: 4}}}}}", stagetest.Wave())
	output := made(t, b)
	var doc struct {
		Splits []struct {
			Events []struct {
				Event, Expression       string
				Claimed, Happened, E, V struct{ Mean float64 }
				Ratio                   struct{ Mean float64 } `json:"sum_e_ratio"`
				HappenedSE              struct{ Mean float64 } `json:"happened_se"`
			}
		}
	}

	raw, err := os.ReadFile(output(ReportTask("x"), "metrics.json"))
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}

	if err != nil || len(doc.Splits) != 1 || len(doc.Splits[0].Events) != 1 {
		t.Fatalf("%+v: %v", doc, err)
	}

	got := doc.Splits[0].Events[0]

	var claimed, happened, e, v, ratio, se float64
	for k := range 2 {
		id := trainstage.TrainID(b.Experiment, "high", k)
		pred := stagetest.Read(t, output(id, "predictions.arrow"))

		m, err := readModel(output(id, "model.json"))
		if err != nil {
			t.Fatal(err)
		}

		x, y1, y2 := stagetest.Floats(t, pred, "x"), stagetest.Floats(t, pred, "y_1"), stagetest.Floats(t, pred, "y_2")
		p, variance, err := m.Event(context.Background(), x, 0, func(y float64) bool { return y > 41 })
		if err != nil {
			t.Fatal(err)
		}

		var n, sumE, sumV float64
		var share []float64
		var runs []int

		var names []string
		for i, part := range pred.Column("set").Strings {
			if part != "test" {
				continue
			}

			one := func(y float64) float64 { return math.Ceil(math.Max(0, math.Min(1, (y-41)*1e300))) }
			n++
			claimed += p[i] / 2
			happened += (one(y1[i]) + one(y2[i])) / 4
			sumE += (one(y1[i]) - p[i]) * (one(y2[i]) - p[i])
			sumV += variance[i]
			share = append(share, (one(y1[i])+one(y2[i]))/2)

			run := pred.Column("run").Strings[i]
			if !slices.Contains(names, run) {
				names = append(names, run)
			}

			runs = append(runs, slices.Index(names, run))
		}

		e, v, ratio = e+sumE/n/2, v+sumV/n/2, ratio+sumE/sumV/2
		_, s := score.ClusteredMean(share, runs)
		se += s / 2

		if k == 1 {
			claimed, happened = claimed/n, happened/n
		}
	}

	for what, d := range map[string]float64{
		"claimed": got.Claimed.Mean - claimed, "happened": got.Happened.Mean - happened, "e": got.E.Mean - e,
		"V": got.V.Mean - v, "Σe/ΣV": (got.Ratio.Mean - ratio) / ratio, "SE": got.HappenedSE.Mean - se,
	} {
		if !(math.Abs(d) < 1e-9) {
			t.Errorf("%s is off by %v", what, d)
		}
	}

	if got.Event != "high" || got.Expression != "y > 41" || happened == 0 || happened == 1 {
		t.Errorf("%+v", got)
	}

	tables, err := os.ReadFile(filepath.Join(filepath.Dir(output(ReportTask("x"), "metrics.json")), "tables.md"))
	if err != nil || !strings.Contains(string(tables), "Events on what high holds out") {
		t.Error(err, "no table of events")
	}
}

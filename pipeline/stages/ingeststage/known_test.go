package ingeststage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/simulate"
	"doubletake/internal/must"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// The kind of pairs states whether both outcomes of a pair come from one run.
func TestPairKind(t *testing.T) {
	for _, c := range []struct {
		e    config.Experiment
		want string
	}{
		{config.Experiment{DSP: config.DSP{Triplets: "split-halves"}}, "same-run"},
		{config.Experiment{DSP: config.DSP{Triplets: "repeats"}}, "repeat-run"},
		{config.Experiment{DSP: config.DSP{Triplets: "table"}}, "synthetic"},
		{config.Experiment{
			DSP:    config.DSP{Triplets: "table"},
			Ingest: config.Ingest{Table: &config.Table{Pairs: "repeat-run"}},
		}, "repeat-run"},
	} {
		kind := c.e.DSP.Triplets
		must.Equal(t, pairKind(plan.Experiment{Experiment: c.e}, dsp.Find(kind, true)), c.want, "%v", kind)
	}
}

// The values of a table of pairs are read while planning, those of the toy made.
func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.csv")
	must.Write(t, path, "x,y_1,y_2\n2,1,1\n-1,1,1\n2,3,4\n0.5,1,1\n")

	r := &Result{Pairs: &Pairs{
		Files:   []campaign.TableFile{{Path: path, Name: "pairs.csv"}},
		Options: campaign.TableOptions{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}},
	}}

	must.Equal(t, r.Values("x"), []float64{-1, 0.5, 2}, "values")
	must.Be(t, len(r.Values("z")), 0, "values of no condition")

	must.Do(t, os.Remove(path))

	must.Refuse(t, fault.Try(func() { r.Values("x") }), "pairs.csv")

	toy := simulate.DefaultToy()
	toy.N = 7
	r = &Result{Pairs: &Pairs{Toy: &toy}}
	if v := r.Values("x"); len(v) == 0 || !slices.IsSorted(v) {
		t.Errorf("of the toy: %v", v)
	}
}

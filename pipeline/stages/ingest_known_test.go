package stages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/setting"
	"doubletake/ingest/simulate"
	"doubletake/internal/testfile"
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
			Ingest: setting.Campaign{Table: &setting.Table{Pairs: "repeat-run"}},
		}, "repeat-run"},
	} {
		kind := c.e.DSP.Triplets
		assert.Equal(t, c.want, pairKind(plan.Experiment{Experiment: c.e}, dsp.Find(kind, dsp.Balance)), "%v", kind)
	}
}

// The values of a table of pairs are read while planning, those of the toy made.
func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.csv")
	testfile.Write(t, path, "x,y_1,y_2\n2,1,1\n-1,1,1\n2,3,4\n0.5,1,1\n")

	r := &ingestResult{Pairs: &Pairs{ResultTable: campaign.ResultTable{
		Files:   []campaign.TableFile{{Path: path, Name: "pairs.csv"}},
		Options: campaign.TableOptions{Inputs: []string{"x"}, Y1: []string{"y_1"}, Y2: []string{"y_2"}},
	}}}

	numbers, err := r.Values("x")
	require.NoError(t, err)
	assert.Equal(t, []float64{-1, 0.5, 2}, numbers, "values")
	none, err := r.Values("z")
	require.NoError(t, err)
	require.Empty(t, none, "values of no condition")

	require.NoError(t, os.Remove(path))

	_, err = r.Values("x")
	assert.ErrorContains(t, err, "pairs.csv")

	toy := simulate.DefaultToy()
	toy.N = 7
	r = &ingestResult{Pairs: &Pairs{Toy: &toy}}
	v, err := r.Values("x")
	require.NoError(t, err)
	assert.NotEmpty(t, v, "values of the toy")
	assert.IsNonDecreasing(t, v, "values of the toy")
}

// A table that a task will write has the typical number of rows.
func TestSizes(t *testing.T) {
	unwritten := Pairs{ResultTable: campaign.ResultTable{Files: []campaign.TableFile{{Path: "none.csv"}}}}
	conditions, pairs := unwritten.sizes()
	assert.Equal(t, []float64{typicalRows, typicalRows}, []float64{conditions, pairs})
}

package stages

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/testfile"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/triplets"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallTable is a section train whose tasks take milliseconds.
const smallTable = "{inputs: [x], seeds: 2, model: {hidden: [8]}, optimizer: {epochs: 20}, " +
	"estimate: {samples: 16}, compare: [constant], honest: {base: none}, splits: {high: {test: {x: {min: 4}}}}}"

// madeTrain plans the stage and runs its tasks. It returns a function that returns the path of an output.
func madeTrain(t *testing.T, train string, tab *table.Table) (*stageTest, func(task, output string) string) {
	t.Helper()

	b := newStageTest(t, train, tab)
	_, err := planTrain(b.Experiment, b.Ing, b.Trip)
	require.NoError(t, err)

	output, err := b.Run(context.Background(), nil)
	require.NoError(t, err)

	return b, output
}

// The outputs of one training agree with each other: the model in model.json gives the predictions in
// predictions.arrow, its scale is that of the training rows, and the card and the history describe the same training.
func TestTrainTask(t *testing.T) {
	b, output := madeTrain(t, smallTable, tabletest.Wave(t))
	id := TrainID(b.Experiment, "high", 1)
	pred := tabletest.Read(t, output(id, "predictions.arrow"))
	assert.Equal(t, 120, pred.Rows())
	for key, want := range map[string]string{
		"split": "high", "held_out": "x ≥ 4", "seed": "1", "kernels": "portable", "samples": "16",
	} {
		assert.Equal(t, want, pred.Get(key), "%s", key)
	}

	x := tabletest.Floats(t, pred, "x")
	y1 := tabletest.Floats(t, pred, "y_1")
	y2 := tabletest.Floats(t, pred, "y_2")
	mu := tabletest.Floats(t, pred, "y_mu")
	variance := tabletest.Floats(t, pred, "y_var")
	cov := tabletest.Floats(t, pred, "y_cov")

	var m train.Model
	require.NoError(t, taskfile.ReadJSON(output(id, "model.json"), &m))

	est, err := m.Estimate(context.Background(), x, train.EstimateOptions{Samples: 2})
	require.NoError(t, err)

	scale := m.OutcomeScale()
	for i := range x {
		std := scale.Std[0]
		require.InDelta(t, scale.Mean[0]+std*est.Mu[i], mu[i], 1e-9, "mean of row %d", i)
		require.InDelta(t, est.Var[i]*std*std, variance[i], 1e-9, "variance of row %d", i)
		require.InDelta(t, est.Cov[i]*std*std, cov[i], 1e-9, "covariance of row %d", i)
	}

	var trained []float64
	for i, part := range pred.Column("set").Strings {
		want := "train"
		if x[i] >= 4 {
			want = "test"
		}

		require.Equal(t, want, part, "part of row %d at %g", i, x[i])
		if part == "train" {
			trained = append(trained, y1[i], y2[i])
		}
	}

	want := triplets.ScaleOf(1, trained)
	assert.InDelta(t, want.Mean[0], scale.Mean[0], 1e-9)
	assert.InDelta(t, want.Std[0], scale.Std[0], 1e-9)

	epochs := tabletest.Read(t, output(id, "history.arrow")).Column("epoch").Ints
	require.Len(t, epochs, 20)
	assert.Equal(t, int64(20), epochs[19])

	var description card.Card
	require.NoError(t, taskfile.ReadJSON(output(id, card.File), &description))
	assert.Equal(t, len(trained)/2, description.Triplets)
	assert.Equal(t, 1, description.Seed)

	other := tabletest.Read(t, output(TrainID(b.Experiment, "high", 0), "predictions.arrow"))
	assert.NotEqual(t, mu[0], tabletest.Floats(t, other, "y_mu")[0], "both seeds have the same prediction")
}

// The task of a method writes its predictions in the units of the outcomes. The expected values of the constant were
// computed by hand: the mean of the training rows, and their variance (over n − 1) plus the variance of the mean of
// rows.
func TestMethodTask(t *testing.T) {
	tab := tabletest.MustParse(t, rotor)
	b, output := madeTrain(t, "{inputs: [rpm], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 1}, "+
		"compare: [constant], honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}", tab)
	got := tabletest.Read(t, output(MethodID(b.Experiment, "s", "constant", 0), MethodArrow))
	assert.Equal(t, 5, got.Rows(), "distinct speeds")
	assert.Equal(t, "0", got.Get("seed"))
	assert.Equal(t, "s", got.Get("split"))

	// 10, 11, 30, 33, 40, 44: mean 28, squares about it 1042; row means 10.5, 31.5, 42,
	// squares about 28 of 17.5² + 3.5² + 14² = 514.5.
	epistemic := 514.5 / 3 / 2
	for name, want := range map[string]float64{"y_mu": 28, "y_epistemic": epistemic, "y_var": 1042.0/5 + epistemic} {
		for i, v := range tabletest.Floats(t, got, name) {
			assert.InDelta(t, want, v, 1e-9*want, "row %d: %s", i, name)
		}
	}
}

// Simple methods leave out the groups of the split, unless another condition is named. The expected variances were
// computed by hand: the outcome is 10 times the number of blades, and the method learns from 2, 3 and 5 blades. If
// these are left out in turn, 2 and 3 are predicted by each other and 5 by 3, with the squares 100, 100 and 400 and
// their mean 200. If speeds are left out, each row is predicted exactly.
func TestMethodGroups(t *testing.T) {
	var text strings.Builder
	text.WriteString("run recording rpm blades y_1[N] y_2[N]\n")

	for _, blades := range []int{2, 3, 4, 5} {
		for _, rpm := range []int{1000, 2000, 4000} {
			fmt.Fprintf(&text, "r%d-%d r%d-%d %d %d %d %d\n", blades, rpm, blades, rpm, rpm, blades, 10*blades, 10*blades)
		}
	}

	keys := map[string]bool{}
	for groups, want := range map[string]float64{"": 200, "groups: rpm, ": 0} {
		b, output := madeTrain(t, "{inputs: [rpm, blades], seeds: 1, model: {hidden: [4]}, optimizer: {epochs: 1}, "+
			"compare: [nearest-group], honest: {"+groups+"base: none}, splits: {s: {test: {blades: 4}}}}",
			tabletest.MustParse(t, text.String()))
		id := MethodID(b.Experiment, "s", "nearest-group", 0)
		keys[b.Keys()[id]] = true
		got := tabletest.Read(t, output(id, MethodArrow))
		for i, v := range tabletest.Floats(t, got, "y_epistemic") {
			assert.InDelta(t, want, v, 1e-9*200, "groups %q, row %d: epistemic variance", groups, i)
		}
	}

	assert.Len(t, keys, 2, "distinct keys")
}

// The model does not learn from the held-out outcomes, although their loss is computed after every few epochs: if all
// of them change, the losses do, and the model is the same to the bit.
func TestTestPartStaysOut(t *testing.T) {
	other := tabletest.Wave(t)
	for i, x := range other.Column("x").Floats {
		if x >= 4 {
			other.Column("y_1").Floats[i] *= -7
			other.Column("y_2").Floats[i] += 1e5
		}
	}

	b, one := madeTrain(t, smallTable, tabletest.Wave(t))
	_, two := madeTrain(t, smallTable, other)
	same := func(task, name string) bool {
		return bytes.Equal(testfile.Read(t, one(task, name)), testfile.Read(t, two(task, name)))
	}
	for k := range 2 {
		assert.True(t, same(TrainID(b.Experiment, "high", k), "model.json"), "seed %d: the model is the same", k)
		assert.False(t, same(TrainID(b.Experiment, "high", k), "history.arrow"), "seed %d: the losses differ", k)
	}
}

// A fault that only the data show is an error at the key that causes it.
func TestTaskErrors(t *testing.T) {
	for _, c := range []struct{ train, want string }{
		{
			"{inputs: [rpm, blades], seeds: 1, honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}",
			`pipeline.yaml:6:13: experiments.x.train.inputs: "blades" is constant (2) in the training set of split "s": ` +
				"nothing can be learned from it",
		},
		{
			"{inputs: [rpm], seeds: 1, optimizer: {batch: 4}, honest: {base: none}, splits: {s: {test: {blades: {min: 3}}}}}",
			`experiments.x.train.optimizer.batch: expected up to 3 triplets, which the training set of split "s" has, found 4`,
		},
	} {
		b := newStageTest(t, c.train, tabletest.MustParse(t, rotor))
		_, err := planTrain(b.Experiment, b.Ing, b.Trip)
		require.NoError(t, err)

		_, err = b.Run(context.Background(), nil)
		assert.ErrorContains(t, err, c.want)
	}
}

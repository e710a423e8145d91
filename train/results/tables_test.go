package results

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/testfile"
	"doubletake/report/pairs"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// levels returns a table and a set of three triplets at two conditions, in dB, whose scale has mean 10 and deviation 2.
func levels(t *testing.T) (*table.Table, triplets.Set) {
	t.Helper()

	tab := tabletest.MustParse(t, `
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a         1000       8       12
b   b         2000       9       10
c   c         1000       7       8`)

	set, err := pairs.Triplets(tab, []string{"rpm"}, []string{"y"})
	require.NoError(t, err)

	set.Part = []triplets.Part{triplets.Train, triplets.Test, triplets.Train}
	set.Scale = triplets.Scale{Mean: []float64{10}, Std: []float64{2}}

	return tab, set
}

// The table of predictions has the triplets and, in their units, the answers of each row's condition. The expected
// values were computed by hand: a level is 10 + 2 times the standardised one, variances are four times and shifts
// twice the standardised ones.
func TestPredictionTable(t *testing.T) {
	tab, set := levels(t)
	est := &train.Estimates{
		Answers: triplets.Answers{
			Mu: []float64{0.5, -1}, Var: []float64{1, 0.25}, CovRaw: []float64{0.5, 0.125}, Cov: []float64{-0.25, 2},
			Delta: []float64{0.125, -0.5}, Kappa: []float64{0, 3}, ZigZag: []float64{0.25, 1},
		},
		Samples: 64, Sampler: "antithetic", Method: "exact",
	}

	got := PredictionTable(tab, set, est)
	for _, c := range []struct {
		name, unit string
		want       []float64
	}{
		{"rpm", "1/min", []float64{1000, 2000, 1000}},
		{"y_1", "dB", []float64{8, 9, 7}},
		{"y_mu", "dB", []float64{11, 8, 11}},
		{"y_var", "dB²", []float64{4, 1, 4}},
		{"y_cov_raw", "dB²", []float64{2, 0.5, 2}},
		{"y_cov", "dB²", []float64{-1, 8, -1}},
		{"y_delta", "dB", []float64{0.25, -1, 0.25}},
		{"y_kappa", "dB²", []float64{0, 12, 0}},
		{"y_zigzag", "dB", []float64{0.5, 2, 0.5}},
	} {
		column := got.Column(c.name)
		require.NotNil(t, column, "%s", c.name)
		assert.Equal(t, c.want, column.Floats, "%s", c.name)
		assert.Equal(t, c.unit, column.Unit, "unit of %s", c.name)
		assert.NotEmpty(t, column.Description, "description of %s", c.name)
	}

	assert.Equal(t, []string{"train", "test", "train"}, got.Column("set").Strings, "parts")

	for key, want := range map[string]string{
		"inputs": "rpm", "outcomes": "y", "outcome_mean": "10", "outcome_std": "2", "samples": "64",
		"sampler": "antithetic", "cov_method": "exact",
	} {
		assert.Equal(t, want, got.Get(key), "%s", key)
	}

	assert.Len(t, tab.Columns, 5, "the table of triplets is unchanged")

	answers, err := ReadPredictions(got, set)
	require.NoError(t, err)
	assert.Equal(t, triplets.Answers{
		Mu: []float64{11, 8, 11}, Var: []float64{4, 1, 4}, CovRaw: []float64{2, 0.5, 2}, Cov: []float64{-1, 8, -1},
		Delta: []float64{0.25, -1, 0.25}, Kappa: []float64{0, 12, 0}, ZigZag: []float64{0.5, 2, 0.5},
	}, answers)
}

// A table of predictions with other rows than the set, or without a column, is refused.
func TestReadPredictionsErrors(t *testing.T) {
	tab, set := levels(t)
	est := &train.Estimates{Answers: triplets.Answers{
		Mu: []float64{0, 0}, Var: []float64{1, 1}, CovRaw: []float64{0, 0}, Cov: []float64{0, 0},
		Delta: []float64{0, 0}, Kappa: []float64{0, 0}, ZigZag: []float64{0, 0},
	}}

	got := PredictionTable(tab, set, est)

	fewer := set.Select([]int{0, 1})
	_, err := ReadPredictions(got, fewer)
	assert.ErrorContains(t, err, "expected 2 rows, found 3")

	got.Columns = slices.DeleteFunc(got.Columns, func(c table.Column) bool { return c.Name == "y_cov" })
	_, err = ReadPredictions(got, set)
	assert.ErrorContains(t, err, "read predictions: ")
	assert.ErrorContains(t, err, "y_cov")
}

// The table of a method has a row for each distinct condition. ReadMethod reads the values that were written.
func TestMethodTable(t *testing.T) {
	_, set := levels(t)
	p := &baseline.Prediction{
		N: 2, Out: 1, Mu: []float64{9, 8}, Total: []float64{4, 5}, Epistemic: []float64{0.5, 0.25},
		Doubt: "the chains disagree",
	}

	got := MethodTable(set, p)
	for _, c := range []struct {
		name, unit string
		want       []float64
	}{
		{"rpm", "1/min", []float64{1000, 2000}},
		{"y_mu", "dB", []float64{9, 8}},
		{"y_var", "dB²", []float64{4, 5}},
		{"y_epistemic", "dB²", []float64{0.5, 0.25}},
	} {
		column := got.Column(c.name)
		require.NotNil(t, column, "%s", c.name)
		assert.Equal(t, c.want, column.Floats, "%s", c.name)
		assert.Equal(t, c.unit, column.Unit, "unit of %s", c.name)
	}

	assert.Equal(t, "the chains disagree", got.Get("doubt"))

	answers, err := ReadMethod(got, set)
	require.NoError(t, err)
	assert.Equal(t, p.Mu, answers.Mu)
	assert.Equal(t, p.Total, answers.Var)
	assert.Equal(t, p.Epistemic, answers.Cov)

	other := set
	other.Distinct = []float64{1000, 2000, 3000}
	_, err = ReadMethod(got, other)
	assert.ErrorContains(t, err, "expected 3 conditions, found 2")

	_, err = ReadMethod(tabletest.MustParse(t, "y_mu\n1\n2"), set)
	assert.ErrorContains(t, err, "y_var")
}

// The history has a row for each epoch. It has the held-out loss if some was computed, and NaN for the other epochs.
func TestHistoryTable(t *testing.T) {
	got := HistoryTable([]train.Epoch{
		{Epoch: 1, Loss: 0.5, LearningRate: 1e-3}, {Epoch: 2, Loss: 0.25, LearningRate: 1e-4},
	})
	assert.Equal(t, []int64{1, 2}, got.Column("epoch").Ints)
	assert.Equal(t, []float64{0.5, 0.25}, got.Column("loss").Floats)
	assert.Equal(t, []float64{1e-3, 1e-4}, got.Column("learning_rate").Floats)
	assert.Nil(t, got.Column(HeldOutLoss))

	got = HistoryTable([]train.Epoch{{Epoch: 1, Loss: 3}, {Epoch: 2, Loss: 2, HeldOut: 7, Judged: true}})
	losses := got.Column(HeldOutLoss).Floats
	require.Len(t, losses, 2)
	assert.True(t, math.IsNaN(losses[0]))
	assert.Equal(t, 7.0, losses[1])
}

// The identities are checked on the distinct conditions of each part. At the condition of the test part the covariance
// is above the variance. Expected: a flag of the test part, and an empty list of the training part.
func TestDiagnose(t *testing.T) {
	_, set := levels(t)
	est := &train.Estimates{Answers: triplets.Answers{
		Mu: []float64{0, 0}, Var: []float64{1, 1}, CovRaw: []float64{0.5, 5}, Cov: []float64{0.5, 5},
		Delta: []float64{0, 0}, Kappa: []float64{0, 0}, ZigZag: []float64{0, 0},
	}}

	flags := Diagnose(set, est)
	assert.Empty(t, flags.Train)
	require.Len(t, flags.Test, 1)
	assert.Equal(t, "cov-above-var", flags.Test[0].Code)
	assert.Equal(t, 1.0, flags.Test[0].Value)

	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, flags.Write(path))

	var stored map[string]any
	require.NoError(t, json.Unmarshal(testfile.Read(t, path), &stored))
	assert.Equal(t, []any{}, stored["train"], "an empty list, and not null")
	assert.Len(t, stored["test"], 1)

	err := flags.Write(filepath.Join(path, "no"))
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "write diagnostics: "), "%v", err)
}

package trainstage

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/stagetest"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// levels is a set of three triplets at two conditions, in dB, whose scale has mean
// 10 and deviation 2.
func levels(t *testing.T) (*table.Table, triplets.Set) {
	t.Helper()
	tab := stagetest.Table(`
run recording rpm[1/min] y_1[dB] y_2[dB]
a   a         1000       8       12
b   b         2000       9       10
c   c         1000       7       8`)

	b := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 2000}}}}", tab)
	set, err := Triplets(b.Experiment, tab)
	require.NoError(t, err)

	set.Part = []triplets.Part{triplets.Train, triplets.Test, triplets.Train}
	set.Scale = triplets.Scale{Mean: []float64{10}, Std: []float64{2}}

	return tab, set
}

// The table of predictions has the triplets and, in their units, the answers of
// each row's condition. Expected by hand: levels are 10 + 2·standardised, variances
// four times, shifts twice the standardised ones.
func TestPredictionTable(t *testing.T) {
	tab, set := levels(t)
	est := &train.Estimates{
		Answers: triplets.Answers{
			Mu: []float64{0.5, -1}, Var: []float64{1, 0.25}, CovRaw: []float64{0.5, 0.125}, Cov: []float64{-0.25, 2},
			Delta: []float64{0.125, -0.5}, Kappa: []float64{0, 3}, ZigZag: []float64{0.25, 1},
		},
		Samples: 64, Sampler: "antithetic", Method: "exact",
	}

	got := predictionTable(tab, set, est)
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
		col := got.Column(c.name)
		if col == nil || !slices.Equal(col.Floats, c.want) || col.Unit != c.unit || col.Description == "" {
			t.Errorf("%s: %+v, expected %v %s", c.name, col, c.want, c.unit)
		}
	}

	assert.Equal(t, []string{"train", "test", "train"}, got.Column("set").Strings, "parts")

	for key, want := range map[string]string{
		"inputs": "rpm", "outcomes": "y", "outcome_mean": "10", "outcome_std": "2", "samples": "64",
		"sampler": "antithetic", "cov_method": "exact",
	} {
		assert.Equal(t, want, got.Get(key), "%s", key)
	}

	assert.Len(t, tab.Columns, 5, "the table of triplets has columns now")

	a, err := ReadPredictions(got, set)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 12, 0}, a.Kappa, "read back: %+v, %v", a, err)
	assert.Equal(t, []float64{-1, 8, -1}, a.Cov, "read back: %+v, %v", a, err)
}

// A table of predictions that is not that of the set is refused by name.
func TestReadPredictionsErrors(t *testing.T) {
	tab, set := levels(t)
	est := &train.Estimates{Answers: triplets.Answers{
		Mu: []float64{0, 0}, Var: []float64{1, 1}, CovRaw: []float64{0, 0}, Cov: []float64{0, 0},
		Delta: []float64{0, 0}, Kappa: []float64{0, 0}, ZigZag: []float64{0, 0},
	}}

	got := predictionTable(tab, set, est)

	fewer := set.Select([]int{0, 1})
	_, err := ReadPredictions(got, fewer)
	assert.ErrorContains(t, err, "expected 2 rows, found 3")

	got.Columns = slices.DeleteFunc(got.Columns, func(c table.Column) bool { return c.Name == "y_cov" })
	_, err = ReadPredictions(got, set)
	assert.ErrorContains(t, err, "read predictions: ")
	assert.ErrorContains(t, err, "y_cov")
}

// A method's table has a row for each distinct condition and comes back as it was.
func TestMethodTable(t *testing.T) {
	_, set := levels(t)
	p := &baseline.Prediction{
		N: 2, Out: 1, Mu: []float64{9, 8}, Total: []float64{4, 5}, Epistemic: []float64{0.5, 0.25},
		Doubt: "the chains disagree",
	}

	got := methodTable(set, p)
	for _, c := range []struct {
		name, unit string
		want       []float64
	}{
		{"rpm", "1/min", []float64{1000, 2000}},
		{"y_mu", "dB", []float64{9, 8}},
		{"y_var", "dB²", []float64{4, 5}},
		{"y_epistemic", "dB²", []float64{0.5, 0.25}},
	} {
		if col := got.Column(c.name); col == nil || !slices.Equal(col.Floats, c.want) || col.Unit != c.unit {
			t.Errorf("%s: %+v", c.name, col)
		}
	}

	back, err := ReadMethod(got, set)
	if err != nil || !slices.Equal(back.Var, p.Total) || !slices.Equal(back.Cov, p.Epistemic) ||
		got.Get("doubt") != p.Doubt {
		t.Errorf("%+v, %v", back, err)
	}
	other := set
	other.Distinct = []float64{1000, 2000, 3000}
	_, err = ReadMethod(got, other)
	assert.ErrorContains(t, err, "expected 3 conditions, found 2")

	_, err = ReadMethod(stagetest.Table("y_mu\n1\n2"), set)
	assert.ErrorContains(t, err, "y_var")
}

// The history has a row for each epoch.
func TestHistoryTable(t *testing.T) {
	got := historyTable([]train.Epoch{
		{Epoch: 1, Loss: 0.5, LearningRate: 1e-3}, {Epoch: 2, Loss: 0.25, LearningRate: 1e-4},
	})
	if !slices.Equal(got.Column("epoch").Ints, []int64{1, 2}) ||
		!slices.Equal(got.Column("loss").Floats, []float64{0.5, 0.25}) ||
		!slices.Equal(got.Column("learning_rate").Floats, []float64{1e-3, 1e-4}) {
		t.Errorf("%+v", got)
	}

	assert.Nil(t, got.Column(HeldOutLoss), "a held-out loss where nothing is held out")

	got = historyTable([]train.Epoch{{Epoch: 1, Loss: 3}, {Epoch: 2, Loss: 2, HeldOut: 7, Judged: true}})
	if values := got.Column(HeldOutLoss).Floats; len(values) != 2 || !math.IsNaN(values[0]) || values[1] != 7 {
		t.Errorf("held-out loss %v", values)
	}
}

func TestSquared(t *testing.T) {
	for unit, want := range map[string]string{
		"": "", "dB": "dB²", "m/s": "(m/s)²", "N·m": "(N·m)²", "dB re 20 µPa": "(dB re 20 µPa)²",
	} {
		assert.Equal(t, want, Squared(unit), "%q", unit)
	}
}

// The card describes the training part: its range, values and conditions in order
// of appearance, and what was held out.
func TestCard(t *testing.T) {
	tab := stagetest.Table(rotor)
	b := stagetest.New(t, "{inputs: [rpm, blades], seed: 7, splits: {s: {test: {blades: 3}}}}", tab)
	set, err := Triplets(b.Experiment, tab)
	require.NoError(t, err)

	split := b.Train.Splits[0]
	set, err = Split(b.Experiment, set, tab, split)
	require.NoError(t, err)

	raw := triplets.Answers{CovRaw: []float64{1, -2, 3, -4, 9, 9}}
	est := &train.Estimates{Out: 1, Answers: raw, Samples: 8, Sampler: "plain"}
	c := card(b.Experiment, b.Ing.PairKind, set, training{split: split, number: 1}, "digest", est)
	if c.Format != "doubletake-card" || c.Version != 1 || c.Program != "doubletake test" || c.Experiment != "x" ||
		c.Data != "measured" || c.Pairs != "same-run" || c.Split != "s" || c.HeldOut != "blades = 3" || c.Seed != 1 ||
		c.Config != "digest" || c.Triplets != 4 {
		t.Errorf("%+v", c)
	}

	assert.Equal(t, (Estimate{8, "plain", 17998474354917059471}), c.Estimate)

	rpm, blades := c.Inputs[0], c.Inputs[1]
	if rpm.Name != "rpm" || rpm.Unit != "1/min" || rpm.Min != 1000 || rpm.Max != 5000 ||
		!slices.Equal(rpm.Values, []float64{1000, 2000, 3000, 5000}) || !slices.Equal(blades.Values, []float64{2, 4}) {
		t.Errorf("%+v", c.Inputs)
	}

	want := [][]float64{{1000, 2}, {2000, 2}, {3000, 2}, {5000, 4}}
	assert.True(t, slices.EqualFunc(c.Conditions, want, slices.Equal[[]float64]), "%v", c.Conditions)

	assert.Equal(t, []Outcome{{Name: "y", Unit: "dB"}}, c.Outcomes)
}

// A card lists at most a hundred values of an input and maxCardConditions
// conditions.
func TestCardIsBounded(t *testing.T) {
	b := stagetest.New(t, "{inputs: [rpm], splits: {s: {test: {rpm: 3}}}}", nil)
	for _, n := range []int{100, 101, maxCardConditions, maxCardConditions + 1} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}

		set := triplets.New([]triplets.Quantity{{Name: "rpm"}}, []triplets.Quantity{{Name: "y"}}, x, x, x)
		c := card(b.Experiment, b.Ing.PairKind, set, training{split: config.Split{Test: holdout.Nothing}}, "",
			&train.Estimates{Out: 1, Answers: triplets.Answers{CovRaw: make([]float64, n)}})
		if (c.Inputs[0].Values != nil) != (n <= 100) || (c.Conditions != nil) != (n <= maxCardConditions) {
			t.Errorf("%d conditions: %d values, %d conditions", n, len(c.Inputs[0].Values), len(c.Conditions))
		}

		require.Equal(t, float64(n-1), c.Inputs[0].Max, "%+v", c.Inputs[0])
		assert.Equal(t, n, c.Triplets, "%+v", c.Inputs[0])
	}
}

// The identities are checked on the distinct conditions of each part: C above σ²
// at one of the two conditions is reported for its part alone.
func TestDiagnose(t *testing.T) {
	_, set := levels(t)
	est := &train.Estimates{Answers: triplets.Answers{
		Mu: []float64{0, 0}, Var: []float64{1, 1}, CovRaw: []float64{0.5, 5}, Cov: []float64{0.5, 5},
		Delta: []float64{0, 0}, Kappa: []float64{0, 0}, ZigZag: []float64{0, 0},
	}}

	f := diagnose(set, est)
	if f.Train == nil || len(f.Train) != 0 || len(f.Test) != 1 ||
		f.Test[0].Code != "cov-above-var" || f.Test[0].Value != 1 {
		t.Errorf("%+v", f)
	}

	path := filepath.Join(t.TempDir(), "flags.json")
	require.NoError(t, writeFlags(path, f))

	err := writeFlags(filepath.Join(path, "no"), f)
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "write diagnostics: "), "%v", err)
}

package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// A triplet of weight 3 counts as three triplets, in the loss and the gradient of every variant. Expected values: a
// batch in which the triplet occurs three times.
func TestGradientWeights(t *testing.T) {
	data := shapeData(gradientRows, gradientInputs, gradientOutcomes)

	var once, often batch
	var weights []float64
	for i := range gradientRows {
		weight := 1 + i%3
		isSwapped := i%4 == 1
		weights = append(weights, float64(weight))
		once.add(i, isSwapped)
		for range weight {
			often.add(i, isSwapped)
		}
	}

	weighted := data
	weighted.Weight = weights
	eachVariant(func(name string, cfg Config) {
		tr, loss := gradientOf(weighted, cfg, once)
		copies, want := gradientOf(data, cfg, often)

		assert.InDelta(t, want, loss, 1e-12*math.Abs(want), "%s: loss", name)
		near(t, name+": gradient", tr.g, copies.g, 1e-12)
	})
}

// A row that is alone counts in the first answer and not in the second one, also if the set has no weights. Expected
// values: the loss and the gradient with all weights 1.
func TestAloneWithoutWeights(t *testing.T) {
	var all batch
	const isSwapped = false
	data := shapeData(gradientRows, gradientInputs, gradientOutcomes)
	for i := range gradientRows {
		data.Alone = append(data.Alone, i%2 == 0)
		all.add(i, isSwapped)
	}

	weighted := data
	weighted.Weight = slices.Repeat([]float64{1}, gradientRows)
	eachVariant(func(name string, cfg Config) {
		tr, loss := gradientOf(data, cfg, all)
		ones, want := gradientOf(weighted, cfg, all)
		assert.Equal(t, want, loss, "%s: loss", name)
		assert.Equal(t, ones.g, tr.g, "%s: gradient", name)
	})
}

// The loss of held-out rows has the weights that the loss of a training has.
func TestHeldOutLossWeights(t *testing.T) {
	data := shapeData(gradientRows, gradientInputs, gradientOutcomes)
	var all batch
	const isSwapped = false
	for i := range gradientRows {
		data.Weight = append(data.Weight, float64(1+i%3))
		all.add(i, isSwapped)
	}

	rows := packRows[float64](data, triplets.Identity(gradientInputs), triplets.Identity(gradientOutcomes))
	eachVariant(func(name string, cfg Config) {
		tr, want := gradientOf(data, cfg, all)
		assert.InDelta(t, want, tr.loss(rows, tr.weight, tr.second), 1e-12*math.Abs(want), name)
	})
}

// batch is a batch of triplets.
type batch struct {
	rows    []int32
	swapped []bool // whether the answers of each are exchanged, which counts with Swap
}

// add adds the triplet of a row.
func (b *batch) add(row int, isSwapped bool) {
	b.rows = append(b.rows, int32(row))
	b.swapped = append(b.swapped, isSwapped)
}

// gradientOf returns a trainer with the gradient of a batch of data, and the loss of the batch. The data have the shape
// of gradientInputs and gradientOutcomes.
func gradientOf(data triplets.Set, cfg Config, b batch) (*trainer[float64], float64) {
	l := newLayout(gradientInputs, gradientOutcomes, flagInputs(cfg.Feedback), cfg.Hidden)
	tr := newTrainer(l, kernel.Portable[float64](), cfg)
	tr.initialise(5)
	tr.weight, tr.second = rowWeights[float64](data)

	if cfg.Pairs != Swap {
		b.swapped = nil
	}

	rows := packRows[float64](data, triplets.Identity(gradientInputs), triplets.Identity(gradientOutcomes))
	return tr, tr.gradient(rows, b.rows, b.swapped)
}

// repeatedRuns returns the runs of 12 conditions, two to six each, as triplets of a run with itself, and all pairs of
// the runs of a condition. The r(r−1)/2 pairs of r runs have the weight 1/(r−1) each, so that every run counts once.
func repeatedRuns() (runs, pairs triplets.Set) {
	rng := rand.New(rand.NewPCG(2, 5))
	for c := range 12 {
		x := float64(c)/6 - 1

		y := make([]float64, 2+c%5)
		for i := range y {
			y[i] = math.Sin(3*x) + 0.3*rng.NormFloat64()
			runs.X = append(runs.X, x)
			runs.Y1 = append(runs.Y1, y[i])
			runs.Y2 = append(runs.Y2, y[i])
		}

		addPairs(&pairs, x, y)
	}

	for _, set := range []*triplets.Set{&runs, &pairs} {
		set.N = len(set.X)
		set.In = 1
		set.Out = 1
	}

	return runs, pairs
}

// addPairs adds all pairs of the runs y at the condition x to a set, with their weights.
func addPairs(set *triplets.Set, x float64, y []float64) {
	for i := range y {
		for k := i + 1; k < len(y); k++ {
			set.X = append(set.X, x)
			set.Y1 = append(set.Y1, y[i])
			set.Y2 = append(set.Y2, y[k])
			set.Weight = append(set.Weight, 1/float64(len(y)-1))
			set.N++
		}
	}
}

// All weighted pairs of the runs have the loss and the gradient of the runs, each taken once, with any number of runs
// per condition (closed form). The network ignores the feedback, so that both runs of a pair count alike.
func TestAllPairsCountRuns(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Hidden = []int{9, 7}
	cfg.Dropout = 0
	cfg.Feedback = DropWeights
	gradient := func(d triplets.Set) (float64, []float64) {
		tr := newTrainer(newLayout(1, 1, 0, cfg.Hidden), kernel.Portable[float64](), cfg)
		tr.initialise(3)
		tr.weight, tr.second = rowWeights[float64](d)
		tr.zeroFeedback()
		loss := tr.gradient(packRows[float64](d, triplets.Identity(1), triplets.Identity(1)), upTo(d.N), nil)

		for u := range tr.width[0] { // the feedback weights stay 0: their gradient does not count
			tr.g[tr.at(0, 1, u)] = 0
		}

		return loss, tr.g
	}

	runs, pairs := repeatedRuns()
	loss, g := gradient(pairs)
	want, wantG := gradient(runs)

	assert.InDelta(t, want, loss, 1e-12*math.Abs(want), "loss")
	near(t, "gradient", g, wantG, 1e-12)
}

// All weighted pairs of the runs have the mean and the standard deviation of the runs.
func TestAllPairsScale(t *testing.T) {
	runs, pairs := repeatedRuns()
	want := runs.OutcomeScale()
	got := pairs.OutcomeScale()
	assert.InDelta(t, want.Mean[0], got.Mean[0], 1e-14, "mean")
	assert.InDelta(t, want.Std[0], got.Std[0], 1e-14, "standard deviation")
}

// Networks of the default method find the mean of the runs if pairs have weights. In a simulated campaign with two
// conditions, half the groups have two runs about +1, and half have six about −1. Counted as runs the mean is
// (2 − 6)/8 = −0.5. Without weights it is (1 − 15)/16 = −0.875: a group of six runs has 15 pairs. The feedback is Flag,
// which keeps the first answer apart.
func TestWeightsSimulation(t *testing.T) {
	const groups, sigma = 240, 0.5
	rng := rand.New(rand.NewPCG(15, 7))
	weighted := triplets.Set{In: 1, Out: 1}
	for g := range groups {
		condition := float64(g / 2 % 2)
		runs := 2
		expected := 1.
		if g%2 == 1 {
			runs = 6
			expected = -1
		}

		y := make([]float64, runs)
		for i := range y {
			y[i] = expected + sigma*rng.NormFloat64()
		}

		addPairs(&weighted, condition, y)
	}

	withoutWeights := weighted
	withoutWeights.Weight = nil

	cfg := DefaultConfig()
	cfg.Hidden = []int{32}
	cfg.Batch = 64
	cfg.Epochs = 200
	cfg.Schedule = "cosine"
	cfg.Dropout = 0
	cfg.Feedback = Flag
	for _, c := range []struct {
		name string
		data triplets.Set
		want float64
	}{
		{"with weights", weighted, -0.5},
		{"without weights", withoutWeights, -0.875},
	} {
		m, _, err := Fit(context.Background(), c.data, cfg, nil)
		require.NoError(t, err)

		mu, _ := m.Predict([]float64{0, 1})
		for x, v := range mu {
			// 480 runs scatter the mean by σ/√480 = 0.02; the rest is the network's.
			assert.InDelta(t, c.want, v, 0.1, "%s: mean at condition %d", c.name, x)
		}
	}
}

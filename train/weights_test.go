package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// A triplet of weight 3 is three triplets: loss and gradients of every variant, in
// float64 to rounding.
func TestGradientWeights(t *testing.T) {
	const n = 67
	data := shapeData(n, 2, 3)
	var once, often []int32
	weights := make([]float64, n)

	swapped := make([]bool, n)
	swappedOften := []bool(nil)
	for i := range n {
		once = append(once, int32(i))
		weights[i] = float64(1 + i%3)
		swapped[i] = i%4 == 1
		for range 1 + i%3 {
			often = append(often, int32(i))
			swappedOften = append(swappedOften, swapped[i])
		}
	}

	rows := packRows[float64](data, triplets.Identity(2), triplets.Identity(3))
	eachVariant(func(name string, cfg Config) {
		gradient := func(weight []float64, idx []int32, sw []bool) (float64, []float64) {
			tr := newTrainer(newLayout(2, 3, flagInputs(cfg.Feedback), cfg.Hidden), kernel.Portable[float64](), cfg)
			tr.initialise(5)
			d := data
			d.Weight = weight
			tr.weight, tr.second = rowWeights[float64](d)

			if cfg.Pairs != Swap {
				sw = nil
			}

			loss := tr.gradient(rows, idx, sw)
			if weight != nil && sw == nil {
				if held := tr.loss(rows, tr.weight, tr.second); math.Abs(held-loss) > 1e-12*math.Abs(loss) {
					t.Errorf("%s: loss %.15g held out, %.15g in training", name, held, loss)
				}
			}

			return loss, tr.g
		}

		loss, g := gradient(weights, once, swapped)

		want, wantG := gradient(nil, often, swappedOften)
		assert.InDelta(t, want, loss, 1e-12*math.Abs(want), "%s: loss", name)

		near(t, name+": gradient", g, wantG, 1e-12)
	})
}

// All r(r−1)/2 pairs of r runs with the weight 1/(r−1) have the loss and the gradient of
// the runs, each taken once, whatever r is at each condition (closed form; β-NLL of one
// answer, which takes the two values of a pair alike).
func TestAllPairsCountRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))

	var pairs, runs triplets.Set
	for c := range 12 {
		r := 2 + c%5
		x := float64(c)/6 - 1

		y := make([]float64, r)
		for i := range y {
			y[i] = math.Sin(3*x) + 0.3*rng.NormFloat64()
			runs.X = append(runs.X, x)
			runs.Y1 = append(runs.Y1, y[i])
			runs.Y2 = append(runs.Y2, y[i])
		}

		for i := range y {
			for k := i + 1; k < r; k++ {
				pairs.X = append(pairs.X, x)
				pairs.Y1 = append(pairs.Y1, y[i])
				pairs.Y2 = append(pairs.Y2, y[k])
				pairs.Weight = append(pairs.Weight, 1/float64(r-1))
			}
		}
	}

	cfg := DefaultConfig()
	cfg.Hidden = []int{9, 7}
	cfg.Dropout = 0
	cfg.Feedback = DropWeights
	gradient := func(d triplets.Set) (float64, []float64) {
		d.N = len(d.X)
		d.In = 1
		d.Out = 1
		idx := upTo(d.N)

		tr := newTrainer(newLayout(1, 1, 0, cfg.Hidden), kernel.Portable[float64](), cfg)
		tr.initialise(3)
		tr.weight, tr.second = rowWeights[float64](d)
		tr.zeroFeedback()
		loss := tr.gradient(packRows[float64](d, triplets.Identity(1), triplets.Identity(1)), idx, nil)

		for u := range tr.width[0] { // the cut weights have none
			tr.g[tr.at(0, 1, u)] = 0
		}

		return loss, tr.g
	}

	loss, g := gradient(pairs)

	want, wantG := gradient(runs)
	assert.InDelta(t, want, loss, 1e-12*math.Abs(want), "loss")

	near(t, "gradient", g, wantG, 1e-12)
	a := pairs
	b := runs
	a.Out = 1
	b.Out = 1
	s := a.OutcomeScale()
	r := b.OutcomeScale()
	require.InDelta(t, r.Mean[0], s.Mean[0], 1e-14, "scale %v, of the runs %v", s, r)
	assert.InDelta(t, r.Std[0], s.Std[0], 1e-14, "scale %v, of the runs %v", s, r)
}

// A simulated campaign with known truth: at each of two conditions half the groups have
// two runs about +1, half six about −1. Counted as runs the mean is (2 − 6)/8 = −0.5;
// pairs without weights pull it to (1 − 15)/16 = −0.875. Networks of the default method
// find the one or the other (feedback: flag, which keeps the first answer apart).
func TestWeightsSimulation(t *testing.T) {
	const groups, sigma = 240, 0.5
	rng := rand.New(rand.NewPCG(15, 7))
	d := triplets.Set{In: 1, Out: 1}

	sum := [2]float64{}
	n := [2]float64{}
	for g := range groups {
		r := 2
		m := 1.
		x := g / 2 % 2
		if g%2 == 1 {
			r = 6
			m = -1
		}

		y := make([]float64, r)
		for i := range y {
			y[i] = m + sigma*rng.NormFloat64()
			sum[x], n[x] = sum[x]+y[i], n[x]+1
		}

		for i := range y {
			for k := i + 1; k < r; k++ {
				d.X = append(d.X, float64(x))
				d.Y1 = append(d.Y1, y[i])
				d.Y2 = append(d.Y2, y[k])
				d.Weight = append(d.Weight, 1/float64(r-1))
				d.N++
			}
		}
	}

	cfg := DefaultConfig()
	cfg.Hidden = []int{32}
	cfg.Batch = 64
	cfg.Epochs = 200
	cfg.Schedule = "cosine"
	cfg.Dropout = 0
	cfg.Feedback = Flag
	for _, c := range []struct {
		weight []float64
		want   float64
	}{{d.Weight, -0.5}, {nil, -0.875}} {
		set := d
		set.Weight = c.weight
		m, _, err := Fit(context.Background(), set, cfg, nil)
		require.NoError(t, err)

		mu, _ := m.Predict([]float64{0, 1})
		for x, v := range mu {
			// 480 runs scatter the mean by σ/√480 = 0.02; the rest is the network's.
			assert.InDelta(t, c.want, v, 0.1, "condition %d: (mean of the runs %.3f)", x, sum[x]/n[x])
			t.Logf("weights %v: %.3f, expected %.3f", c.weight != nil, v, c.want)
		}
	}
}

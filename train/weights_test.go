package train

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/internal/must"
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

	swapped, swappedOften := make([]bool, n), []bool(nil)
	for i := range n {
		once = append(once, int32(i))
		weights[i] = float64(1 + i%3)
		swapped[i] = i%4 == 1
		for range 1 + i%3 {
			often, swappedOften = append(often, int32(i)), append(swappedOften, swapped[i])
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
		must.Near(t, loss, want, 1e-12*math.Abs(want), "%s: loss", name)

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
			runs.X, runs.Y1, runs.Y2 = append(runs.X, x), append(runs.Y1, y[i]), append(runs.Y2, y[i])
		}

		for i := range y {
			for k := i + 1; k < r; k++ {
				pairs.X, pairs.Y1, pairs.Y2 = append(pairs.X, x), append(pairs.Y1, y[i]), append(pairs.Y2, y[k])
				pairs.Weight = append(pairs.Weight, 1/float64(r-1))
			}
		}
	}

	cfg := DefaultConfig()
	cfg.Hidden, cfg.Dropout, cfg.Feedback = []int{9, 7}, 0, DropWeights
	gradient := func(d triplets.Set) (float64, []float64) {
		d.N, d.In, d.Out = len(d.X), 1, 1
		idx := upTo(d.N)

		tr := newTrainer(newLayout(1, 1, 0, cfg.Hidden), kernel.Portable[float64](), cfg)
		tr.initialise(3)
		tr.weight, tr.second = rowWeights[float64](d)
		tr.deafen()
		loss := tr.gradient(packRows[float64](d, triplets.Identity(1), triplets.Identity(1)), idx, nil)

		for u := range tr.width[0] { // the cut weights have none
			tr.g[tr.at(0, 1, u)] = 0
		}

		return loss, tr.g
	}

	loss, g := gradient(pairs)

	want, wantG := gradient(runs)
	must.Near(t, loss, want, 1e-12*math.Abs(want), "loss")

	near(t, "gradient", g, wantG, 1e-12)
	a, b := pairs, runs
	a.Out, b.Out = 1, 1
	s, r := a.OutcomeScale(), b.OutcomeScale()
	must.Not(t, math.Abs(s.Mean[0]-r.Mean[0]) > 1e-14 || math.Abs(s.Std[0]-r.Std[0]) > 1e-14, "scale %v, of the runs %v",
		s, r)
}

// A simulated campaign with known truth: at each of two conditions half the groups have
// two runs about +1, half six about −1. Counted as runs the mean is (2 − 6)/8 = −0.5;
// pairs without weights pull it to (1 − 15)/16 = −0.875. Networks of the default method
// find the one or the other (feedback: flag, which keeps the first answer apart).
func TestWeightsSimulation(t *testing.T) {
	const groups, sigma = 240, 0.5
	rng := rand.New(rand.NewPCG(15, 7))
	d := triplets.Set{In: 1, Out: 1}

	sum, n := [2]float64{}, [2]float64{}
	for g := range groups {
		r, m, x := 2, 1., g/2%2
		if g%2 == 1 {
			r, m = 6, -1
		}

		y := make([]float64, r)
		for i := range y {
			y[i] = m + sigma*rng.NormFloat64()
			sum[x], n[x] = sum[x]+y[i], n[x]+1
		}

		for i := range y {
			for k := i + 1; k < r; k++ {
				d.X, d.Y1, d.Y2 = append(d.X, float64(x)), append(d.Y1, y[i]), append(d.Y2, y[k])
				d.Weight, d.N = append(d.Weight, 1/float64(r-1)), d.N+1
			}
		}
	}

	cfg := DefaultConfig()
	cfg.Hidden, cfg.Batch, cfg.Epochs, cfg.Schedule, cfg.Dropout, cfg.Feedback = []int{32}, 64, 200, "cosine", 0, Flag
	for _, c := range []struct {
		weight []float64
		want   float64
	}{{d.Weight, -0.5}, {nil, -0.875}} {
		set := d
		set.Weight = c.weight
		m, _, err := Fit(context.Background(), set, cfg, nil)
		must.Do(t, err)

		mu, _ := m.Predict([]float64{0, 1})
		for x, v := range mu {
			// 480 runs scatter the mean by σ/√480 = 0.02; the rest is the network's.
			must.Near(t, v, c.want, 0.1, "condition %d: (mean of the runs %.3f)", x, sum[x]/n[x])
			t.Logf("weights %v: %.3f, expected %.3f", c.weight != nil, v, c.want)
		}
	}
}

package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// naiveLoss is the loss of docs/method.md#model-and-training written out: no padding, no blocks, no kernels.
type naiveLoss struct {
	*layout
	cfg     Config
	rows    []float64 // x, y1 and y2 of each triplet
	swapped []bool    // triplets whose answers are exchanged; nil: none
}

// evaluate returns the mean loss at the parameters p, and the factors v^β of its terms in their order. With frozen it
// uses these factors instead of its own: the β-NLL takes them as constant (stop gradient).
func (l naiveLoss) evaluate(p, frozen []float64) (loss float64, factors []float64) {
	term := func(x, fed, target []float64) float64 {
		mu, v := l.answer(p, x, fed)

		sum := 0.0
		for j := range target {
			factor := math.Pow(v[j], l.cfg.Beta)
			factors = append(factors, factor)
			if frozen != nil {
				factor = frozen[len(factors)-1]
			}

			residual := target[j] - mu[j]
			sum += factor * (0.5*math.Log(v[j]) + residual*residual/(2*v[j]))
		}

		return sum
	}

	columns := l.inputs + 2*l.outcomes
	n := len(l.rows) / columns
	for i := range n {
		row := l.rows[i*columns : (i+1)*columns]
		x := row[:l.inputs]
		y1 := row[l.inputs : l.inputs+l.outcomes]
		y2 := row[l.inputs+l.outcomes:]
		if l.swapped != nil && l.swapped[i] {
			y1, y2 = y2, y1
		}

		if l.cfg.Pairs == Symmetrised {
			loss += 0.5 * (term(x, nil, y1) + term(x, nil, y2) + term(x, y1, y2) + term(x, y2, y1))
		} else {
			loss += term(x, nil, y1) + term(x, y1, y2)
		}
	}

	return loss / float64(n*l.outcomes), factors
}

// answer returns the means and the variances of the network at the condition x. fed are the outcomes fed back, and nil
// for the first answer.
func (l naiveLoss) answer(p, x, fed []float64) (mu, v []float64) {
	z := l.networkInputs(x, fed)
	for i := range l.depth() + 1 {
		next := make([]float64, l.fanOut(i))
		for target := range next {
			next[target] = p[l.b[i]+target]
			for source, value := range z {
				next[target] += value * p[l.at(i, source, target)]
			}

			if i < l.depth() {
				next[target] = math.Max(0, next[target])
			}
		}

		z = next
	}

	for _, raw := range z[l.outcomes:] {
		v = append(v, math.Log1p(math.Exp(raw))+1e-6)
	}

	return z[:l.outcomes], v
}

// networkInputs returns the condition, the outcomes fed back or what stands for none, and the flag.
func (l naiveLoss) networkInputs(x, fed []float64) []float64 {
	z := slices.Clone(x)
	if fed != nil {
		z = append(z, fed...)
	} else {
		for range l.outcomes {
			z = append(z, l.cfg.FeedbackValue) // 0 unless the feedback is constant
		}
	}

	if l.cfg.Feedback != Flag {
		return z
	}

	if fed != nil {
		return append(z, 1)
	}

	return append(z, 0)
}

// eachVariant calls f with every feedback and way to take pairs, for one to three hidden layers, without dropout.
func eachVariant(f func(name string, cfg Config)) {
	for _, fb := range []string{DropWeights, Constant, Flag} {
		for _, pairs := range []string{Symmetrised, Swap, Plain} {
			for _, hidden := range [][]int{{5}, {7, 20}, {6, 3, 9}} {
				cfg := DefaultConfig()
				cfg.Feedback = fb
				cfg.Pairs = pairs
				cfg.Hidden = hidden
				cfg.Dropout = 0
				if fb == Constant {
					cfg.FeedbackValue = 1.5
				}

				f(fmt.Sprintf("%s, %s, %v", fb, pairs, hidden), cfg)
			}
		}
	}
}

const (
	gradientRows     = 67 // two blocks of 48 triplets, or three of 32 (symmetrised); the last one is short
	gradientInputs   = 2
	gradientOutcomes = 3
)

// The loss and the gradient of every variant are right. Expected values: the naive loss, and its central differences
// for every fifth parameter (with DOUBLETAKE_LONG=all, for each). The sets for float32 agree with float64.
func TestGradientVariants(t *testing.T) {
	data := shapeData(gradientRows, gradientInputs, gradientOutcomes)
	idx := upTo(gradientRows)

	every := 5
	if longtest.IsStudy() {
		every = 1
	}

	eachVariant(func(name string, cfg Config) {
		l := newLayout(gradientInputs, gradientOutcomes, flagInputs(cfg.Feedback), cfg.Hidden)
		tr := newTrainer(l, kernel.Portable[float64](), cfg)
		tr.initialise(5)
		rows := packRows[float64](data, triplets.Identity(gradientInputs), triplets.Identity(gradientOutcomes))

		var swapped []bool
		if cfg.Pairs == Swap {
			for i := range gradientRows {
				swapped = append(swapped, i%3 == 1)
			}
		}

		naive := naiveLoss{l, cfg, rows, swapped}
		want, _ := naive.evaluate(tr.p, nil)
		assert.InDelta(t, want, tr.gradient(rows, idx, swapped), 1e-12*math.Abs(want), "%s: loss", name)
		compareDifferences(t, name, naive, tr, every)

		for _, set := range kernel.Names() {
			t32 := newTrainer(l, resolved(t, set), cfg)
			t32.initialise(5)
			rows32 := packRows[float32](data, triplets.Identity(gradientInputs), triplets.Identity(gradientOutcomes))
			loss := t32.gradient(rows32, idx, swapped)
			near(t, set+": "+name+": loss", []float64{loss}, []float64{want}, 1e-5)
			near(t, set+": "+name+": gradient", t32.g, tr.g, 1e-5)
		}
	})
}

// compareDifferences compares the gradient of a trainer with the central differences of the naive loss, for one in
// every parameters.
func compareDifferences(t *testing.T, name string, naive naiveLoss, tr *trainer[float64], every int) {
	t.Helper()

	const h = 1e-6
	_, factors := naive.evaluate(tr.p, nil)
	for _, q := range naive.places() {
		if q%every != 0 {
			continue
		}

		p := slices.Clone(tr.p)
		p[q] += h
		above, _ := naive.evaluate(p, factors)
		p[q] -= 2 * h
		below, _ := naive.evaluate(p, factors)
		difference := (above - below) / (2 * h)

		// No sample may lie within h of a kink of the network, because the difference is between two slopes there. None
		// of these data does.
		tolerance := 2e-8 * math.Max(1, math.Abs(difference))
		require.InDelta(t, difference, tr.g[q], tolerance, "%s: derivative by parameter %d", name, q)
	}
}

// places returns the indices of all weights and biases, without the padding.
func (l *layout) places() []int {
	var places []int
	for i := range l.depth() + 1 {
		for target := range l.fanOut(i) {
			places = append(places, l.b[i]+target)
			for source := range l.fanIn(i) {
				places = append(places, l.at(i, source, target))
			}
		}
	}

	return places
}

// With dropout the gradient is right for given random bits. Expected values: central differences of the trainer's own
// loss, with the random generator set back before each evaluation. With β = 0 no factor is held constant.
func TestGradientDropout(t *testing.T) {
	const n = 40
	data := shapeData(n, 2, 1)
	idx := upTo(n)

	cfg := DefaultConfig()
	cfg.Hidden = []int{12, 10}
	cfg.Dropout = 0.3
	cfg.Beta = 0
	l := newLayout(2, 1, 0, cfg.Hidden)
	tr := newTrainer(l, kernel.Portable[float64](), cfg)
	tr.initialise(6)
	rows := packRows[float64](data, triplets.Identity(2), triplets.Identity(1))
	loss := func() float64 {
		clear(tr.g)
		*tr.lanes = *kernel.NewLanes(77)
		return tr.gradient(rows, idx, nil)
	}

	withDropout := loss()
	g := slices.Clone(tr.g)

	withoutDropout, _ := naiveLoss{l, cfg, rows, nil}.evaluate(tr.p, nil)
	assert.Greater(t, math.Abs(withDropout-withoutDropout), 1e-3, "difference of the losses with and without dropout")

	const h = 1e-6
	for _, q := range l.places() {
		p := tr.p[q]
		tr.p[q] = p + h
		above := loss()
		tr.p[q] = p - h
		below := loss()
		tr.p[q] = p

		difference := (above - below) / (2 * h)
		tolerance := 2e-8 * math.Max(1, math.Abs(difference))
		require.InDelta(t, difference, g[q], tolerance, "derivative by parameter %d", q)
	}
}

// Averaged over many random bits, the network answers as it does without dropout, because the units that are kept count
// more (inverted dropout). The tolerance is 4.5 standard errors of the average.
func TestDropoutUnbiased(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Hidden = []int{64}
	cfg.Dropout = 0.25
	k := resolved(t, "auto")
	tr := newTrainer(newLayout(1, 1, 0, cfg.Hidden), k, cfg)
	tr.initialise(1)

	for r := range rowBlock {
		tr.z[r*tr.ldIn] = 2 // the condition
	}

	tr.prepare()
	training := tr.scale
	tr.scale = 1
	tr.forward(rowBlock, nil)
	want := float64(tr.o[0])

	tr.scale = training

	const rounds = 200
	sum := 0.0
	squares := 0.0
	for range rounds {
		for i, b := range tr.bits {
			k.Bits(b[:padBits(rowBlock*tr.pad[i])], tr.dropout, tr.lanes)
		}

		tr.forward(rowBlock, tr.bits)

		for r := range rowBlock {
			v := float64(tr.o[r*tr.headN])
			sum += v
			squares += v * v
		}
	}

	n := float64(rounds * rowBlock)
	average := sum / n
	standardError := math.Sqrt((squares/n - average*average) / n)
	require.Positive(t, standardError, "standard error of the answers with dropout")
	assert.InDelta(t, want, average, 4.5*standardError, "answer with dropout, on average")
}

// A step of the training allocates no memory.
func TestStepAllocatesNothing(t *testing.T) {
	data := shapeData(100, 3, 5)
	for _, name := range kernel.Names() {
		cfg := DefaultConfig()

		k := resolved(t, name)

		tr := newTrainer(newLayout(3, 5, 0, cfg.Hidden), k, cfg)
		tr.initialise(1)
		rows := packRows[float32](data, triplets.Identity(3), triplets.Identity(5))

		idx := make([]int32, 40)
		allocations := testing.AllocsPerRun(20, func() {
			tr.gradient(rows, idx, nil)
			tr.step(1e-3)
		})
		assert.Zero(t, allocations, name)
	}
}

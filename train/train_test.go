package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
	gradientRows     = 67 // two or three blocks, the last one short
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

		// A sample within 1e-6 of a kink moves the difference by 1e-6 of its slope.
		tolerance := 2e-6 * math.Max(1, math.Abs(difference))
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
		tolerance := 2e-6 * math.Max(1, math.Abs(difference))
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

// smallConfig returns settings for a training of five epochs.
func smallConfig() Config {
	cfg := DefaultConfig()
	cfg.Epochs = 5
	cfg.Batch = 16
	cfg.Seed = 3
	return cfg
}

// mustFit returns a trained model.
func mustFit(t testing.TB, data triplets.Set, cfg Config) *Model {
	t.Helper()

	m, _, err := Fit(context.Background(), data, cfg, nil)
	require.NoError(t, err)

	return m
}

// Two trainings with the same data, settings and kernels give the same weights, and another seed gives others. The
// model names the kernels.
func TestFitDeterministic(t *testing.T) {
	data := shapeData(101, 3, 5)
	for _, name := range kernel.Names() {
		cfg := smallConfig()
		cfg.Kernels = name
		cfg.Pairs = Swap
		a := mustFit(t, data, cfg)
		b := mustFit(t, data, cfg)
		assert.Equal(t, b.params, a.params, "%s: weights of two trainings", name)
		assert.Equal(t, name, a.Kernels)

		cfg.Seed++
		assert.NotEqual(t, a.params, mustFit(t, data, cfg).params, "%s: weights with another seed", name)
	}
}

// Hashes of all weights after five epochs, and of all estimates, first computed on amd64. If one of them changes, every
// model changes, which must be deliberate.
const (
	portableWeights   = 0x858e6e5a53aae2f7
	portableEstimate  = 0xba04af7a8be72714 // one outcome
	portableEstimate3 = 0xf2a2ff644d3f897d // three outcomes
)

// portableConfig returns settings for a training that gives the same bytes everywhere.
func portableConfig() Config {
	cfg := smallConfig()
	cfg.Kernels = "portable"
	cfg.Schedule = "cosine"
	return cfg
}

// Weights from the portable kernels have the same bytes on every machine.
func TestPortableWeights(t *testing.T) {
	m := mustFit(t, exactData(101, 2, 1), portableConfig())

	var hash uint64
	for _, w := range m.params {
		hash = hash*0x100000001b3 ^ uint64(math.Float32bits(w))
	}

	assert.Equal(t, uint64(portableWeights), hash, "hash of the weights")
}

// Estimates with the portable kernels have the same bytes on every machine.
func TestPortableEstimates(t *testing.T) {
	for outcomes, want := range map[int]uint64{1: portableEstimate, 3: portableEstimate3} {
		m := mustFit(t, exactData(101, 2, outcomes), portableConfig())
		e := estimated(t, m, []float64{0.5, -0.25}, EstimateOptions{Samples: 64})

		var hash uint64
		for _, figures := range [][]float64{e.Mu, e.Var, e.CovRaw, e.Cov, e.Delta, e.Kappa, e.ZigZag} {
			for _, x := range figures {
				hash = hash*0x100000001b3 ^ math.Float64bits(x)
			}
		}

		assert.Equal(t, want, hash, "hash of the estimates of %d outcomes", outcomes)
	}
}

// exactData draws triplets whose outcomes are the sum of the inputs with noise. All numbers are multiples of a power of
// two, and no library function is used, so that they are exact on every machine.
func exactData(n, in, out int) triplets.Set {
	d := triplets.Set{N: n, In: in, Out: out}
	p := newStream(8, 98)
	draw := func() float64 { return float64(p.Uint64()>>48)/(1<<15) - 1 }
	for range n {
		sum := 0.0
		for range in {
			x := draw()
			d.X = append(d.X, x)
			sum += x
		}

		for range out {
			d.Y1 = append(d.Y1, sum+draw()/8)
			d.Y2 = append(d.Y2, sum+draw()/8)
		}
	}

	return d
}

// A network learns y = sin(x0) + sin(x1) with noise of the deviation 0.3: the error of its mean is well below the
// noise, and its variance is near 0.09.
func TestFitLearns(t *testing.T) {
	data := shapeData(2000, 2, 1)
	for _, fb := range []string{DropWeights, Constant, Flag} {
		cfg := DefaultConfig()
		cfg.Epochs = 40
		cfg.Feedback = fb
		if fb == Constant {
			cfg.FeedbackValue = -3
		}

		seen := 0
		m, hist, err := Fit(context.Background(), data, cfg, func(e Epoch) { seen++ })
		require.NoError(t, err)

		assert.Equal(t, 40, seen, "%s: calls of the hook", fb)
		require.Len(t, hist, 40, "%s: epochs", fb)
		assert.Equal(t, 1, hist[0].Epoch, fb)
		assert.Equal(t, 40, hist[39].Epoch, fb)
		assert.Less(t, hist[39].Loss, hist[0].Loss, fb)

		var x []float64
		for i := -3; i <= 3; i++ {
			for j := -3; j <= 3; j++ {
				x = append(x, float64(i)/2, float64(j)/2)
			}
		}

		mu, v := m.Predict(x)

		squares := 0.0
		for i := range mu {
			d := mu[i] - math.Sin(x[2*i]) - math.Sin(x[2*i+1])
			squares += d * d
		}

		rmse := math.Sqrt(squares / float64(len(mu)))
		assert.LessOrEqual(t, rmse, 0.1, "%s: root mean square error of the mean", fb)
		assert.InDelta(t, 0.09, mean(v), 0.03, "%s: mean variance", fb)

		// Without couples y1 says nothing of y2, so that the feedback matters little where there are data.
		again, _ := m.PredictGiven(x, mu)
		for i := range mu {
			assert.InDelta(t, mu[i], again[i], 0.3, "%s: second answer at %v", fb, x[2*i:2*i+2])
		}
	}
}

// Data in other units give the same network and predictions in these units: to the bit, as the units differ by powers
// of two.
func TestStandardise(t *testing.T) {
	data := shapeData(101, 2, 2)
	scaled := triplets.Set{N: data.N, In: 2, Out: 2}
	for _, x := range data.X {
		scaled.X = append(scaled.X, 1024*x)
	}

	for i := range data.Y1 {
		scaled.Y1 = append(scaled.Y1, data.Y1[i]/8)
		scaled.Y2 = append(scaled.Y2, data.Y2[i]/8)
	}

	a := mustFit(t, data, smallConfig())
	b := mustFit(t, scaled, smallConfig())
	assert.Equal(t, b.params, a.params, "weights differ after a change of units")

	mu, v := a.Predict(data.X)

	mu2, v2 := b.Predict(scaled.X)
	for i := range mu {
		require.Equal(t, mu[i]/8, mu2[i], "mean %d", i)
		require.Equal(t, v[i]/64, v2[i], "variance %d", i)
	}

	// The scale has the mean and the standard deviation of the population of both outcomes of the pairs.
	var pooled []float64
	for i := 0; i < len(data.Y1); i += 2 {
		pooled = append(pooled, data.Y1[i], data.Y2[i])
	}

	m := a.OutcomeScale().Mean
	s := a.OutcomeScale().Std
	want := mean(pooled)

	ss := 0.0
	for _, y := range pooled {
		ss += (y - want) * (y - want)
	}

	assert.InDelta(t, want, m[0], 1e-12)
	assert.InDelta(t, math.Sqrt(ss/float64(len(pooled))), s[0], 1e-12)

	cfg := smallConfig()
	cfg.Standardise = false
	own := mustFit(t, data, cfg).OutcomeScale()
	assert.Equal(t, 0.0, own.Mean[0], "without standardising")
	assert.Equal(t, 1.0, own.Std[0], "without standardising")
}

// A constant input is an error of its own type, which states the column and the value.
func TestConstantInputError(t *testing.T) {
	data := shapeData(20, 2, 1)
	for i := range data.N {
		data.X[2*i+1] = 4.7
	}

	_, _, err := Fit(context.Background(), data, smallConfig(), nil)

	var constant *ConstantInputError
	require.ErrorAs(t, err, &constant)
	assert.Equal(t, 1, constant.Column)
	assert.Equal(t, 4.7, constant.Value)
}

// Data that nothing can be learned from, settings out of range and a loss that diverges are errors with the place, and
// there is no model.
func TestFitErrors(t *testing.T) {
	good := shapeData(20, 2, 1)
	edit := func(f func(*triplets.Set)) triplets.Set {
		d := triplets.Set{
			N: good.N, In: 2, Out: 1, X: slices.Clone(good.X), Y1: slices.Clone(good.Y1),
			Y2: slices.Clone(good.Y2),
		}

		f(&d)

		return d
	}

	for _, c := range []struct {
		name string
		data triplets.Set
		cfg  func(*Config)
		want string
	}{
		{"constant input", edit(func(d *triplets.Set) {
			for i := range d.N {
				d.X[2*i+1] = 4.7
			}
		}), nil, "input column 1 is constant (4.7)"},
		{"constant outcome", edit(func(d *triplets.Set) {
			for i := range d.N {
				d.Y1[i] = 2
				d.Y2[i] = 2
			}
		}), nil, "outcome column 0 is constant (2)"},
		{
			"one row",
			triplets.Set{N: 1, In: 2, Out: 1, X: []float64{1, 2}, Y1: []float64{1}, Y2: []float64{2}},
			nil,
			"at least 2 training rows, found 1",
		},
		{"no rows", triplets.Set{N: 0, In: 2, Out: 1}, nil, "at least 2 training rows, found 0"},
		{"NaN input", edit(func(d *triplets.Set) { d.X[7] = math.NaN() }), nil, "row 3, input column 1: expected a number " +
			"up to 1e+150, found NaN"},
		{"infinite outcome", edit(func(d *triplets.Set) { d.Y2[4] = math.Inf(1) }), nil, "row 4, second outcome column 0"},
		{
			"diverging", edit(func(d *triplets.Set) { d.Y1[3] = 1e30 }), func(c *Config) { c.Standardise = false },
			"in epoch 1",
		},
		{"bad setting", good, func(c *Config) { c.Pairs = "pairs" }, "pairs: expected symmetrised, swap or plain"},
	} {
		cfg := smallConfig()
		if c.cfg != nil {
			c.cfg(&cfg)
		}

		m, _, err := Fit(context.Background(), c.data, cfg, nil)
		require.ErrorContains(t, err, c.want, c.name)
		assert.Nil(t, m, c.name)
	}
}

// Slices that do not fit the shape of the set are a misuse: Fit panics.
func TestFitMisuse(t *testing.T) {
	bad := shapeData(20, 2, 1)
	bad.Y2 = bad.Y2[1:]
	assert.Panics(t, func() { _, _, _ = Fit(context.Background(), bad, smallConfig(), nil) })
}

// Each setting that is out of range is an error that names it.
func TestValidate(t *testing.T) {
	require.NoError(t, DefaultConfig().Validate())

	for want, f := range map[string]func(*Config){
		"hidden: expected 1 to 8": func(c *Config) { c.Hidden = nil },
		"for layer 2":             func(c *Config) { c.Hidden = []int{64, 0} },
		"dropout":                 func(c *Config) { c.Dropout = 1 },
		"feedback: expected":      func(c *Config) { c.Feedback = "none" },
		"feedback_value: expected": func(c *Config) {
			c.Feedback = Constant
			c.FeedbackValue = math.NaN()
		},
		"feedback_value: expected feed": func(c *Config) { c.FeedbackValue = 3 },
		"beta":                          func(c *Config) { c.Beta = -1 },
		"learning_rate":                 func(c *Config) { c.LearningRate = 0 },
		"weight_decay":                  func(c *Config) { c.WeightDecay = 1000 },
		"batch":                         func(c *Config) { c.Batch = 0 },
		"epochs":                        func(c *Config) { c.Epochs = 0 },
		"schedule":                      func(c *Config) { c.Schedule = "step" },
		"kernels: expected auto, port":  func(c *Config) { c.Kernels = "sse" },
	} {
		c := DefaultConfig()
		f(&c)

		assert.ErrorContains(t, c.Validate(), want)
	}
}

// A training ends after the epoch in which its context is cancelled, and a cancelled context ends sampling.
func TestFitCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := smallConfig()
	cfg.Epochs = 1000000
	m, _, err := Fit(ctx, shapeData(50, 1, 1), cfg, func(e Epoch) {
		if e.Epoch == 2 {
			cancel()
		}
	})

	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "epoch 3")
	assert.Nil(t, m)

	model := mustFit(t, shapeData(50, 1, 1), smallConfig())
	_, err = model.Estimate(ctx, []float64{1}, EstimateOptions{})
	assert.ErrorIs(t, err, context.Canceled)
}

// A model that is written and read again is the same: its weights, its settings, its predictions and its file.
func TestModelJSON(t *testing.T) {
	eachVariant(func(name string, cfg Config) {
		cfg.Epochs = 2
		cfg.Seed = 1<<63 + 7
		m := mustFit(t, shapeData(40, 3, 2), cfg)
		b, err := json.Marshal(m)
		require.NoError(t, err)

		var r Model
		require.NoError(t, json.Unmarshal(b, &r), name)
		assert.Equal(t, m.params, r.params, name)
		assert.Equal(t, m.Kernels, r.Kernels, name)
		assert.Equal(t, cfg.Seed, r.Config.Seed, name)

		again, err := json.Marshal(&r)
		require.NoError(t, err)
		assert.Equal(t, b, again, name)

		x := []float64{0.1, -0.4, 2}
		mu, v := m.PredictGiven(x, []float64{0.5, 1})

		mu2, v2 := r.PredictGiven(x, []float64{0.5, 1})
		assert.Equal(t, mu2, mu, "means of %s", name)
		assert.Equal(t, v2, v, "variances of %s", name)
	})
}

// describedModel is what the file of a model says about the network, without anything that this package adds.
type describedModel struct {
	InputMean   []float64 `json:"input_mean"`
	InputStd    []float64 `json:"input_std"`
	OutcomeMean []float64 `json:"outcome_mean"`
	OutcomeStd  []float64 `json:"outcome_std"`
	Feedback    string
	None        float64 `json:"feedback_when_none"`
	Layers      []describedLayer
}

// describedLayer is a layer of a describedModel.
type describedLayer struct {
	Activation string
	Weights    [][]float64 // by input and output
	Bias       []float64
}

// predict returns the means and the variances at the condition x. y are the outcomes fed back, and nil for the first
// answer.
func (m describedModel) predict(x, y []float64) (mu, v []float64) {
	z := m.networkInputs(x, y)
	for _, layer := range m.Layers {
		z = layer.apply(z)
	}

	outcomes := len(m.OutcomeMean)
	for j, std := range m.OutcomeStd {
		mu = append(mu, z[j]*std+m.OutcomeMean[j])
		v = append(v, (math.Log1p(math.Exp(z[outcomes+j]))+1e-6)*std*std)
	}

	return mu, v
}

// networkInputs returns the inputs of the network: the condition, the outcomes fed back, and the flag if there is one.
func (m describedModel) networkInputs(x, y []float64) []float64 {
	var z []float64
	for i := range x {
		z = append(z, (x[i]-m.InputMean[i])/m.InputStd[i])
	}

	for j := range m.OutcomeMean {
		if y == nil {
			z = append(z, m.None)
		} else {
			z = append(z, (y[j]-m.OutcomeMean[j])/m.OutcomeStd[j])
		}
	}

	if m.Feedback != "flag" {
		return z
	}

	if y == nil {
		return append(z, 0)
	}

	return append(z, 1)
}

// apply returns the outputs of the layer for the inputs z.
func (l describedLayer) apply(z []float64) []float64 {
	outputs := slices.Clone(l.Bias)
	for i, weights := range l.Weights {
		for o := range outputs {
			outputs[o] += z[i] * weights[o]
		}
	}

	if l.Activation == "relu" {
		for o := range outputs {
			outputs[o] = math.Max(0, outputs[o])
		}
	}

	return outputs
}

// The description in the file suffices to evaluate the model. Expected values: describedModel, in float64.
func TestModelDescription(t *testing.T) {
	data := shapeData(60, 2, 2)
	x := []float64{0.3, -1.2}
	y := []float64{0.7, -0.1}
	eachVariant(func(name string, cfg Config) {
		cfg.Epochs = 3
		m := mustFit(t, data, cfg)
		b, err := json.Marshal(m)
		require.NoError(t, err)

		var described describedModel
		require.NoError(t, json.Unmarshal(b, &described))

		mu, v := m.Predict(x)
		wantMu, wantV := described.predict(x, nil)
		near(t, name+": mean of the first answer", mu, wantMu, 1e-5)
		near(t, name+": variance of the first answer", v, wantV, 1e-5)

		mu, v = m.PredictGiven(x, y)
		wantMu, wantV = described.predict(x, y)
		near(t, name+": mean of the second answer", mu, wantMu, 1e-5)
		near(t, name+": variance of the second answer", v, wantV, 1e-5)
	})
}

// A file that was changed by hand is an error with its place.
func TestModelJSONErrors(t *testing.T) {
	m := mustFit(t, shapeData(30, 2, 1), smallConfig())
	good, err := json.Marshal(m)
	require.NoError(t, err)

	for _, c := range []struct{ from, to, want string }{
		{`"format":"doubletake-model"`, `"format":"other"`, `expected format "doubletake-model"`},
		{`"version":1`, `"version":9`, "version 9"},
		{`"inputs":2`, `"inputs":3`, "expected 3 input means"},
		{`"inputs":2`, `"inputs":0`, "expected 1 to"},
		{`"outcome_std":[`, `"outcome_std":[0,`, "1 outcome means"},
		{`"activation":"linear"`, `"activation":"tanh"`, `expected activation "linear", found "tanh"`},
		{`"hidden":[64,64]`, `"hidden":[64]`, "expected 2 layers, found 3"},
		{`"hidden":[64,64]`, `"hidden":[64,32]`, "layer 1: expected 64×32"},
		{`"weights":[[`, `"weights":[[1,`, "row 0: expected 64 weights, found 65"},
		{`"feedback":"drop-weights","feedback_when`, `"feedback":"flag","feedback_when`, `"flag", but "drop-weights"`},
		{`{`, `[`, "decode model"},
	} {
		bad := strings.Replace(string(good), c.from, c.to, 1)
		require.NotEqual(t, string(good), bad, "%q does not occur", c.from)

		var r Model
		assert.ErrorContains(t, r.UnmarshalJSON([]byte(bad)), c.want)
	}
}

// A condition's estimates depend neither on the others nor on their order.
func TestEstimateOrder(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		m := mustFit(t, shapeData(60, 2, d), smallConfig())
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "n")
			x := make([]float64, 2*n)
			for i := range x {
				x[i] = rapid.Float64Range(-3, 3).Draw(t, "x")
			}

			o := EstimateOptions{
				Samples: 10, Seed: uint64(d),
				Sampler: rapid.SampledFrom([]string{Antithetic, PlainSampling}).Draw(t, "sampler"),
			}

			all, err1 := m.Estimate(context.Background(), x, o)
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			one, err2 := m.Estimate(context.Background(), x[2*i:2*i+2], o)
			require.NoError(t, err1, "estimates of all conditions")
			require.NoError(t, err2, "estimates of one condition")

			assert.Equal(t, one.Mu, all.Mu[i*d:(i+1)*d], "μ of condition %d", i)
			assert.Equal(t, one.Var, all.Var[i*d:(i+1)*d], "σ² of condition %d", i)
			assert.Equal(t, one.CovRaw, all.CovRaw[i*d:(i+1)*d], "raw covariance of condition %d", i)
			assert.Equal(t, one.Cov, all.Cov[i*d:(i+1)*d], "C of condition %d", i)
			assert.Equal(t, one.Delta, all.Delta[i*d:(i+1)*d], "δ of condition %d", i)
			assert.Equal(t, one.Kappa, all.Kappa[i*d:(i+1)*d], "κ of condition %d", i)
			assert.Equal(t, one.ZigZag, all.ZigZag[i*d:(i+1)*d], "zigzag of condition %d", i)
		})
	}
}

// The rules agree with each other: C by the rule for the model's dimension, and
// C_raw − μδ by a million antithetic samples (in the short run a tenth). The standard
// error of the samples is σ²·√(2/500 000) at C = σ², 0.2 %. Four standard errors are allowed.
func TestEstimateRules(t *testing.T) {
	samples := 1_000_000
	if !longtest.IsStudy() {
		samples /= 10
	}

	sampling := 4 * math.Sqrt(4/float64(samples))
	for _, c := range []struct {
		d      int
		method string
		tol    float64 // of σ²
	}{
		{1, "exact-1d", 0},
		{2, "tensor-15", 0.01},
		{3, "tensor-7", 0.01},
		{4, "tensor-5", 0.01},
		{5, "halton-1024", 0.01},
		{7, "halton-2048", 0.01},
	} {
		cfg := DefaultConfig()
		cfg.Epochs = 60
		data := shapeData(300, 2, c.d)
		data.Y2 = data.Y1 // couples: a covariance worth measuring
		m := mustFit(t, data, cfg)
		e, err := m.Estimate(context.Background(), []float64{0.2, 0.1, -1, 2, 3, 3, 0, -2},
			EstimateOptions{Samples: samples, Seed: 5})
		require.NoError(t, err)
		assert.Equal(t, c.method, e.Method, "%d outcomes: method", c.d)

		for i := range e.Cov {
			sampled := e.CovRaw[i] - e.Mu[i]*e.Delta[i]
			assert.InDelta(t, sampled, e.Cov[i], (c.tol+sampling)*e.Var[i], "%d outcomes, C %d by %s", c.d, i, e.Method)
		}
	}
}

// C, δ and κ have the same bytes with any number of samples for the raw covariance, and any sampler and seed. Expected
// values: those with 2 samples.
func TestCovarianceIgnoresDraws(t *testing.T) {
	for _, d := range []int{1, 2, 5, 7, 23} {
		m := mustFit(t, shapeData(60, 2, d), smallConfig())
		x := []float64{0.2, 0.1, -1, 2, 1.5, -0.4}

		var want *Estimates
		for _, o := range []EstimateOptions{
			{Samples: 2},
			{Samples: 10, Sampler: PlainSampling},
			{Samples: 1000, Seed: 3},
			{Samples: 5000, Seed: 4},
		} {
			e := estimated(t, m, x, o)

			if want == nil {
				want = e
			}

			assert.Equal(t, want.Cov, e.Cov, "C of %d outcomes, %+v", d, o)
			assert.Equal(t, want.Delta, e.Delta, "δ of %d outcomes, %+v", d, o)
			assert.Equal(t, want.Kappa, e.Kappa, "κ of %d outcomes, %+v", d, o)
			assert.Equal(t, want.ZigZag, e.ZigZag, "zigzag of %d outcomes, %+v", d, o)
		}
	}
}

// Expected values: the moments of the standard normal distribution, mean 0 and
// covariance the identity exactly, fourth moments 3 nearly.
func TestPairSets(t *testing.T) {
	for _, d := range []int{5, 6, 12, 20, 21, 60} {
		points := haltonNormal
		if d > maxHalton {
			points = normalPoints
		}

		nodes, weights := pairSet(points(d, 1024), d)
		for a := range d {
			mean := 0.0
			fourth := 0.0
			for i, w := range weights {
				x := float64(nodes[i*d+a])
				mean += w * x
				fourth += w * x * x * x * x
			}

			assert.InDelta(t, 0, mean, 1e-12, "%d outcomes: mean of %d", d, a)
			assert.InDelta(t, 3, fourth, 0.6, "%d outcomes: fourth moment of %d", d, a)

			for b := range a + 1 {
				s := 0.0
				want := 0.0
				for i, w := range weights {
					s += w * float64(nodes[i*d+a]) * float64(nodes[i*d+b])
				}

				if a == b {
					want = 1
				}

				assert.InDelta(t, want, s, 1e-6, "%d outcomes: covariance of %d and %d", d, a, b)
			}
		}
	}
}

// Estimates have 1000 antithetic samples by default. Antithetic samples are an even number.
func TestEstimateOptions(t *testing.T) {
	m := mustFit(t, shapeData(30, 1, 1), smallConfig())
	e, err := m.Estimate(context.Background(), []float64{0, 1}, EstimateOptions{})
	require.NoError(t, err)
	assert.Equal(t, 1000, e.Samples)
	assert.Equal(t, Antithetic, e.Sampler)
	assert.Equal(t, 2, e.N)
	assert.Equal(t, 1, e.Out)

	e, err = m.Estimate(context.Background(), nil, EstimateOptions{Samples: 7})
	require.NoError(t, err)
	assert.Equal(t, 0, e.N, "without conditions")
	assert.Equal(t, 8, e.Samples, "seven samples are asked for")

	for _, o := range []EstimateOptions{{Samples: -1}, {Sampler: "sobol"}} {
		_, err := m.Estimate(context.Background(), []float64{0}, o)
		assert.Error(t, err, "%+v", o)
	}
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

// auto is the first of the kernel sets that this processor has. A set that it does not have is an error.
func TestKernelSet(t *testing.T) {
	t.Setenv(kernel.EnvVar, "")

	k, err := KernelSet("auto")
	require.NoError(t, err)
	assert.Equal(t, kernel.Names()[0], k)

	_, err = KernelSet("vax")
	assert.Error(t, err, "an unknown set")
}

// The functions that replace package math, whose bits differ between machines, are accurate. Expected values:
// scipy.special.ndtri and package math.
func TestMath64(t *testing.T) {
	for _, c := range []struct{ p, z float64 }{
		// scipy.special.ndtri
		{0.5, 0}, {0.975, 1.959963984540054}, {0.01, -2.3263478740408408}, {1e-10, -6.361340902404056}, {1e-300, -37.0471},
	} {
		tolerance := 1e-14 * max(1, math.Abs(c.z))
		if c.p < 1e-200 {
			tolerance = 1e-4 // as many digits as are written above
		}

		assert.InDelta(t, c.z, normQuantile(c.p), tolerance, "quantile of %g", c.p)
	}

	for i := range 2001 {
		x := float64(i) / 2000
		assert.InDelta(t, math.Cos(math.Pi*x), cosPi(x), 1e-15, "cos π·%g", x)

		z := 18*x - 9
		assert.InDelta(t, 0.5*math.Erfc(-z/math.Sqrt2), normCDF(z), 2e-15, "Φ(%g)", z)
		assert.InDelta(t, 1, expNeg(40*x)/math.Exp(-40*x), 1e-15, "exp(−%g) in math.Exp", 40*x)

		y := math.Exp(60*x - 30)
		assert.InDelta(t, math.Log(y), logPos(y), 5e-16*math.Max(1, math.Abs(math.Log(y))), "log %g", y)

		r := 100*x - 50
		closed := math.Max(r, 0) + math.Log1p(math.Exp(-math.Abs(r)))
		assert.InDelta(t, 1, softplus(r)/closed, 1e-14, "softplus(%g) in its closed form", r)
	}
}

// Expected values: numpy.polynomial.hermite_e.hermegauss with weights divided by their sum, and for any number n of
// nodes the moments of the standard normal distribution, which are exact up to 2n−1.
func TestGaussHermite(t *testing.T) {
	for _, c := range []struct {
		n    int
		x, w []float64
	}{
		{2, []float64{-1, 1}, []float64{0.5, 0.5}},
		{3, []float64{-1.7320508075688772, 0, 1.7320508075688772}, []float64{1.0 / 6, 2.0 / 3, 1.0 / 6}},
		{
			5,
			[]float64{-2.8569700138728056, -1.355626179974266, 0, 1.355626179974266, 2.8569700138728056},
			[]float64{0.011257411327720693, 0.22207592200561266, 0.5333333333333333, 0.22207592200561266, 0.011257411327720693},
		},
	} {
		x, w := gaussHermite(c.n)
		near(t, "nodes", x, c.x, 1e-14)
		near(t, "weights", w, c.w, 1e-14)
	}

	for n := 2; n <= tensorOrder(2); n++ {
		x, w := gaussHermite(n)

		moment := 1.0 // the even ones: 1, 1, 3, 15 …
		for k := 0; k < 2*n; k += 2 {
			if k > 0 {
				moment *= float64(k - 1)
			}

			got := 0.0
			for i := range x {
				got += w[i] * math.Pow(x[i], float64(k))
			}

			assert.InDelta(t, moment, got, 1e-12*moment, "%d nodes: moment %d", n, k)
		}
	}
}

// A shuffle is a permutation, and each is equally likely: χ² over the 24 permutations of four is below 49.7, its 99.9 %
// quantile at 23 degrees of freedom.
func TestShuffle(t *testing.T) {
	p := newStream(3, streamOrder)
	counts := map[[4]int32]int{}

	const n = 24000
	for range n {
		idx := []int32{0, 1, 2, 3}
		shuffle(p, idx)
		counts[[4]int32(idx)]++
	}

	chi := 0.0
	for _, c := range counts {
		d := float64(c) - n/24
		chi += d * d / (n / 24)
	}

	require.Len(t, counts, 24, "permutations")
	assert.LessOrEqual(t, chi, 49.7, "χ²")
}

// Every model that is read without an error can be evaluated and written.
func FuzzModelJSON(f *testing.F) {
	cfg := smallConfig()
	cfg.Hidden = []int{2}
	cfg.Epochs = 1
	b, err := json.Marshal(mustFit(f, shapeData(10, 1, 1), cfg))
	require.NoError(f, err)

	f.Add(b)
	f.Add([]byte(`{"format":"doubletake-model","version":1,"inputs":4096,"outcomes":4096}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Model
		if json.Unmarshal(b, &m) != nil {
			return
		}

		mu, v := m.Predict(make([]float64, m.In))
		assert.Len(t, mu, m.Out, "means")
		assert.Len(t, v, m.Out, "variances")

		_, err := json.Marshal(&m)
		assert.NoError(t, err, "write the model again")
	})
}

func ExampleFit() {
	data := triplets.Set{
		N: 4, In: 1, Out: 1, X: []float64{0, 1, 2, 3}, Y1: []float64{0, 1.1, 1.9, 3},
		Y2: []float64{0.1, 0.9, 2, 3.1},
	}

	cfg := DefaultConfig()
	cfg.Epochs = 300
	cfg.Dropout = 0
	cfg.Seed = 1
	model, history, err := Fit(context.Background(), data, cfg, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}

	mu, _ := model.Predict([]float64{1.5})

	est, err := model.Estimate(context.Background(), []float64{1.5}, EstimateOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}

	fmt.Printf("%d epochs, mean at 1.5: %.1f, C by %s\n", len(history), mu[0], est.Method)
	// Output: 300 epochs, mean at 1.5: 1.5, C by exact-1d
}

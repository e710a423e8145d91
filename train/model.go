package train

import (
	"fmt"
	"slices"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Model is a trained network with the scales of its data. It is safe for
// concurrent use. ModelFile is its form as JSON.
type Model struct {
	In, Out int    // numbers of inputs and of outcomes
	Config  Config // settings of its training
	Kernels string // set of kernels of its training: "portable" or "avx2"

	shape                    *layout
	params                   []float32      // in the places of shape
	inputScale, outcomeScale triplets.Scale // from the data's units to the network's
}

// newModel returns the model that t has trained.
func newModel(t *trainer[float32], cfg Config, inputScale, outcomeScale triplets.Scale, kernels string) *Model {
	cfg.Hidden = append([]int(nil), cfg.Hidden...)
	return &Model{
		In: t.inputs, Out: t.outcomes, Config: cfg, Kernels: kernels, shape: t.layout, params: t.p,
		inputScale: inputScale, outcomeScale: outcomeScale,
	}
}

// OutcomeScale returns a copy of the scale by which the outcomes are standardised. If
// they are not, the means are 0 and the deviations 1.
func (m *Model) OutcomeScale() triplets.Scale {
	return triplets.Scale{Mean: slices.Clone(m.outcomeScale.Mean), Std: slices.Clone(m.outcomeScale.Std)}
}

// set returns the kernels of the model's training. If this machine does not run
// them, it returns the machine's default.
func (m *Model) set() *kernel.Set[float32] {
	for _, name := range []string{m.Kernels, "auto"} {
		if k, err := kernel.Resolve(name); err == nil {
			return k
		}
	}

	k, _ := kernel.Resolve("portable") // every machine runs it

	return k
}

// Predict returns the first answer at n conditions x (row-major n×In): mean and
// variance of the outcomes, with nothing fed back and without dropout. Both results are
// n×Out. All numbers are in the data's own units, variances in units². Predict panics
// if len(x) is not a multiple of In.
func (m *Model) Predict(x []float64) (mu, variance []float64) { return m.predict(x, nil) }

// PredictGiven returns the second answer μ(x|y), σ²(x|y): as Predict, with the outcomes y (n×Out,
// in the data's own units) fed back. It panics if y does not have n×Out numbers.
func (m *Model) PredictGiven(x, y []float64) (mu, variance []float64) {
	if y == nil {
		y = []float64{} // nil would mean no feedback
	}
	return m.predict(x, y)
}

// predict returns the second answer, or the first one if y is nil.
func (m *Model) predict(x, y []float64) (mu, variance []float64) {
	n := m.rows(x)
	if y != nil && len(y) != n*m.Out {
		panic(fmt.Sprintf("train: %d outcomes fed back for %d conditions of %d outcomes", len(y), n, m.Out))
	}

	mu = make([]float64, n*m.Out)
	variance = make([]float64, n*m.Out)
	e := newEvaluator(m)
	e.answers(e.scaleX(x), e.scaleY(y), mu, variance)

	for i := range mu {
		s := m.outcomeScale.Std[i%m.Out]
		mu[i] = float64(mu[i]*s) + m.outcomeScale.Mean[i%m.Out]
		variance[i] *= s * s
	}

	return mu, variance
}

// rows returns the number of conditions in x. It panics if len(x) is not a multiple of In.
func (m *Model) rows(x []float64) int {
	if len(x)%m.In != 0 {
		panic(fmt.Sprintf("train: %d numbers are not rows of %d inputs", len(x), m.In))
	}
	return len(x) / m.In
}

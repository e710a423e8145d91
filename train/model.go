package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// ModelFormat and ModelVersion identify the JSON form of a Model.
const (
	ModelFormat  = "doubletake-model"
	ModelVersion = 1

	// MaxModelFile is the size in bytes of the largest model file that is read. It
	// holds some ten million weights.
	MaxModelFile = 256 << 20
)

// Model is a trained network with the scales of its data. It is safe for
// concurrent use. Its JSON form is described at MarshalJSON.
type Model struct {
	In, Out int    // inputs, outcomes
	Config  Config // settings of its training
	Kernels string // set of kernels it was trained with: "portable", "avx2", of 0.1.0 also "avx512"

	shape   *layout
	params  []float32 // flat, ordered by layout
	in, out triplets.Scale
}

func newModel(t *trainer[float32], cfg Config, in, out triplets.Scale, kernels string) *Model {
	cfg.Hidden = append([]int(nil), cfg.Hidden...)
	return &Model{In: t.in, Out: t.out, Config: cfg, Kernels: kernels, shape: t.layout, params: t.p, in: in, out: out}
}

// OutcomeScale returns a copy of the scale by which the outcomes are standardised
// (0 and 1 where they are not).
func (m *Model) OutcomeScale() triplets.Scale {
	return triplets.Scale{Mean: slices.Clone(m.out.Mean), Std: slices.Clone(m.out.Std)}
}

// set returns the kernels the model was trained with or, on a machine without
// them, the ones chosen by default there.
func (m *Model) set() *kernel.Set[float32] {
	for _, name := range []string{m.Kernels, "auto"} {
		if k, err := kernel.Resolve(name); err == nil {
			return k
		}
	}

	k, _ := kernel.Resolve("portable")

	return k
}

// Predict returns mean and variance of the outcomes at n conditions x
// (row-major n×In, in the data's own units; variances in unit²): the first
// answer, dropout off, nothing fed back. Both results are n×Out.
// It panics if len(x) is not a multiple of In.
func (m *Model) Predict(x []float64) (mu, variance []float64) { return m.predict(x, nil) }

// PredictGiven is Predict with outcomes y (n×Out, own units) fed back: the
// second answer μ(x|y), σ²(x|y).
func (m *Model) PredictGiven(x, y []float64) (mu, variance []float64) {
	if y == nil {
		y = []float64{}
	}
	return m.predict(x, y)
}

func (m *Model) predict(x, y []float64) (mu, variance []float64) {
	n := m.rows(x)
	if y != nil && len(y) != n*m.Out {
		panic(fmt.Sprintf("train: %d outcomes fed back for %d conditions of %d outcomes", len(y), n, m.Out))
	}

	mu, variance = make([]float64, n*m.Out), make([]float64, n*m.Out)
	e := newEvaluator(m)
	e.answers(e.scaleX(x), e.scaleY(y), mu, variance)

	for i := range mu {
		s := m.out.Std[i%m.Out]
		mu[i] = float64(mu[i]*s) + m.out.Mean[i%m.Out]
		variance[i] *= s * s
	}

	return mu, variance
}

func (m *Model) rows(x []float64) int {
	if len(x)%m.In != 0 {
		panic(fmt.Sprintf("train: %d numbers are not rows of %d inputs", len(x), m.In))
	}
	return len(x) / m.In
}

// evaluator runs a model on blocks of rows.
type evaluator struct {
	net[float32]
	m *Model
	v []float32 // raw variances of a block, dense
}

// evalBlock rows are evaluated together.
const evalBlock = 240

func newEvaluator(m *Model) *evaluator {
	e := &evaluator{net: *newNet(m.shape, m.set(), m.params, evalBlock), m: m}
	e.prepare()
	e.v = aligned[float32](kernel.PadLane(evalBlock * m.Out))

	return e
}

func (e *evaluator) scaleX(x []float64) []float32 { return scale32(x, e.m.in) }

// scaleY keeps nil as nil: nothing fed back.
func (e *evaluator) scaleY(y []float64) []float32 {
	if y == nil {
		return nil
	}
	return scale32(y, e.m.out)
}

func scale32(x []float64, s triplets.Scale) []float32 {
	r := make([]float32, len(x))
	for i, v := range x {
		j := i % len(s.Mean)
		r[i] = float32((v - s.Mean[j]) / s.Std[j])
	}

	return r
}

// none is what the feedback inputs read without feedback.
func (e *evaluator) none() float32 {
	if e.m.Config.Feedback == Constant {
		return float32(e.m.Config.FeedbackValue)
	}
	return 0
}

// answers evaluates rows x (network units), with y fed back unless nil, into
// mu and variance (network units).
func (e *evaluator) answers(x, y []float32, mu, variance []float64) {
	n := len(x) / e.in
	for s := 0; s < n; s += e.block {
		rows := min(e.block, n-s)
		for r := range rows {
			z := e.z[r*e.ldIn : (r+1)*e.ldIn]
			copy(z, x[(s+r)*e.in:(s+r+1)*e.in])

			f := z[e.in : e.in+e.out]
			if y == nil {
				for j := range f {
					f[j] = e.none()
				}
			} else {
				copy(f, y[(s+r)*e.out:])
			}

			if e.flag > 0 {
				z[e.in+e.out] = 0
				if y != nil {
					z[e.in+e.out] = 1
				}
			}
		}

		m, v := mu[s*e.out:(s+rows)*e.out], variance[s*e.out:(s+rows)*e.out]
		e.run(rows, m, v)
	}
}

// run evaluates the first rows of z.
func (e *evaluator) run(rows int, mu, variance []float64) {
	padded := kernel.PadRows(rows)
	clear(e.z[rows*e.ldIn : padded*e.ldIn])
	e.forward(padded, nil)

	d := e.out
	flat := e.v[:kernel.PadLane(rows*d)]
	for r := range rows {
		o := e.o[r*e.headN : r*e.headN+2*d]
		for j := range d {
			mu[r*d+j] = float64(o[j])
			flat[r*d+j] = o[d+j]
		}
	}

	clear(flat[rows*d:])
	e.k.Variance(flat)

	for i := range variance {
		variance[i] = float64(flat[i])
	}
}

// ModelFile is a model as its file has it. Every weight is a float32 in the shortest
// decimal form that reads back as the same float32.
type ModelFile struct {
	Format      string      `json:"format"`
	Version     int         `json:"version"`
	Description string      `json:"description"`
	Inputs      int         `json:"inputs"`
	Outcomes    int         `json:"outcomes"`
	Standardise bool        `json:"standardise"`
	InputMean   []float64   `json:"input_mean"`
	InputStd    []float64   `json:"input_std"`
	OutputMean  []float64   `json:"outcome_mean"`
	OutputStd   []float64   `json:"outcome_std"`
	Feedback    string      `json:"feedback"`
	None        float64     `json:"feedback_when_none"`
	Kernels     string      `json:"kernels"`
	Config      modelConfig `json:"config"`
	Layers      []LayerFile `json:"layers"`
}

// modelConfig are the settings of a model's training; Head is a kind of network that 0.1.0 had.
type modelConfig struct {
	Config
	Head string `json:"head,omitempty"`
}

// LayerFile is a layer of a ModelFile.
type LayerFile struct {
	In         int         `json:"in"`
	Out        int         `json:"out"`
	Activation string      `json:"activation"`
	Weights    [][]float32 `json:"weights"` // in rows of out numbers
	Bias       []float32   `json:"bias"`
}

const modelDescription = "z = [x, y, b], x = (input-input_mean)/input_std, y = (outcome-outcome_mean)/outcome_std " +
	"fed back or feedback_when_none, " +
	"b only for feedback \"flag\": 1 when y is fed back, else 0 and y 0. " +
	"Each layer: z = activation(z*weights + bias), weights[in][out], without dropout. " +
	"The last gives the means, then the raw variances: variance = log(1+exp(raw)) + 1e-6, standardised; times " +
	"outcome_std and outcome_std^2."

// MarshalJSON writes what File returns. Reading it back gives the same weights bit for bit.
func (m *Model) MarshalJSON() ([]byte, error) { return json.Marshal(m.File()) }

// File returns the open form of the model: one document that describes how
// to evaluate it (description), with the layers' weights as rows of numbers.
func (m *Model) File() ModelFile {
	j := ModelFile{
		Format: ModelFormat, Version: ModelVersion, Description: modelDescription, Inputs: m.In, Outcomes: m.Out,
		Standardise: m.Config.Standardise, InputMean: m.in.Mean, InputStd: m.in.Std, OutputMean: m.out.Mean,
		OutputStd: m.out.Std,
		Feedback:  m.Config.Feedback, Kernels: m.Kernels, Config: modelConfig{Config: m.Config},
	}

	if m.Config.Feedback == Constant {
		j.None = m.Config.FeedbackValue
	}

	l := m.shape
	for i := range l.depth() + 1 {
		lj := LayerFile{In: l.fanIn(i), Out: l.fanOut(i), Activation: "relu"}
		if i == l.depth() {
			lj.Activation = "linear"
		}

		lj.Weights = make([][]float32, lj.In)
		for a := range lj.Weights {
			lj.Weights[a] = make([]float32, lj.Out)
			for b := range lj.Out {
				lj.Weights[a][b] = m.params[l.at(i, a, b)]
			}
		}

		lj.Bias = m.params[l.b[i] : l.b[i]+lj.Out]
		j.Layers = append(j.Layers, lj)
	}

	return j
}

// UnmarshalJSON reads what MarshalJSON wrote and checks that it is a complete
// network with finite numbers.
func (m *Model) UnmarshalJSON(data []byte) error {
	var j ModelFile
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("decode model: %w", err)
	}

	if j.Format != ModelFormat || j.Version != ModelVersion {
		return fmt.Errorf("decode model: expected format %q version %d, found %q version %d", ModelFormat, ModelVersion,
			j.Format, j.Version)
	}

	if j.Inputs < 1 || j.Outcomes < 1 || j.Inputs > maxWidth || j.Outcomes > maxWidth {
		return fmt.Errorf("decode model: expected 1 to %d inputs and outcomes, found %d and %d", maxWidth, j.Inputs,
			j.Outcomes)
	}

	if j.Config.Kernels == "avx512" { // of 0.1.0
		j.Config.Kernels = "auto"
	}

	if h := j.Config.Head; h != "" {
		return fmt.Errorf("decode model: expected a network of two answers, found head: %s, which went in 0.2.0; train it "+
			"again", h)
	}

	if err := j.Config.Validate(); err != nil {
		return fmt.Errorf("decode model: check config: %w", err)
	}

	if j.Feedback != j.Config.Feedback {
		return fmt.Errorf("decode model: feedback is %q, but %q in config", j.Feedback, j.Config.Feedback)
	}

	in, out := triplets.Scale{Mean: j.InputMean, Std: j.InputStd}, triplets.Scale{Mean: j.OutputMean, Std: j.OutputStd}
	if err := errors.Join(in.Check("input", j.Inputs), out.Check("outcome", j.Outcomes)); err != nil {
		return fmt.Errorf("decode model: %w", err)
	}

	hidden := j.Config.Hidden
	if len(j.Layers) != len(hidden)+1 {
		return fmt.Errorf("decode model: expected %d layers, found %d", len(hidden)+1, len(j.Layers))
	}

	// Sizes are checked against what the document holds before anything of
	// that size is made.
	l := newLayout(j.Inputs, j.Outcomes, flagInputs(j.Feedback), hidden)
	for i, lj := range j.Layers {
		from, to := l.fanIn(i), l.fanOut(i)

		want := "relu"
		if i == len(hidden) {
			want = "linear"
		}

		if lj.In != from || lj.Out != to || len(lj.Weights) != from || len(lj.Bias) != to {
			return fmt.Errorf("decode model: layer %d: expected %d×%d weights and %d biases, found %d×%d declared, %d rows, "+
				"%d biases", i, from, to, to, lj.In, lj.Out, len(lj.Weights), len(lj.Bias))
		}

		if lj.Activation != want {
			return fmt.Errorf("decode model: layer %d: expected activation %q, found %q", i, want, lj.Activation)
		}

		for a, row := range lj.Weights {
			if len(row) != to {
				return fmt.Errorf("decode model: layer %d, row %d: expected %d weights, found %d", i, a, to, len(row))
			}
		}
	}

	params := aligned[float32](l.size)
	for i, lj := range j.Layers {
		for a, row := range lj.Weights {
			for b, w := range row {
				params[l.at(i, a, b)] = w
			}
		}

		copy(params[l.b[i]:], lj.Bias)
	}

	*m = Model{
		In: j.Inputs, Out: j.Outcomes, Config: j.Config.Config, Kernels: j.Kernels, shape: l, params: params, in: in,
		out: out,
	}

	return nil
}

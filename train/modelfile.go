package train

import (
	"encoding/json"
	"errors"
	"fmt"

	"doubletake/train/triplets"
)

// ModelFormat and ModelVersion identify the JSON form of a Model.
const (
	ModelFormat  = "doubletake-model"
	ModelVersion = 1

	// MaxModelFile is the size in bytes of the largest model file that is read: about ten
	// million weights.
	MaxModelFile = 256 << 20
)

// ModelFile is the content of a model's file. In JSON every weight is a float32 in the shortest
// decimal form that reads back as the same float32. Description says how to evaluate the model.
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
	Config      Config      `json:"config"`
	Layers      []LayerFile `json:"layers"`
}

// LayerFile is a layer of a ModelFile.
type LayerFile struct {
	In         int         `json:"in"`
	Out        int         `json:"out"`
	Activation string      `json:"activation"`
	Weights    [][]float32 `json:"weights"` // [input][output]
	Bias       []float32   `json:"bias"`
}

const modelDescription = "z = [x, y, b], x = (input-input_mean)/input_std, y = (outcome-outcome_mean)/outcome_std " +
	"fed back or feedback_when_none, " +
	"b only for feedback \"flag\": 1 when y is fed back, else 0 and y 0. " +
	"Each layer: z = activation(z*weights + bias), weights[in][out], without dropout. " +
	"The last gives the means, then the raw variances: variance = log(1+exp(raw)) + 1e-6, standardised; times " +
	"outcome_std and outcome_std^2."

// MarshalJSON returns the JSON of File. UnmarshalJSON reads the same weights from it, bit for bit.
func (m *Model) MarshalJSON() ([]byte, error) { return json.Marshal(m.File()) }

// File returns the content of the model's file. Its biases share memory with the model.
func (m *Model) File() ModelFile {
	j := ModelFile{
		Format: ModelFormat, Version: ModelVersion, Description: modelDescription, Inputs: m.In, Outcomes: m.Out,
		Standardise: m.Config.Standardise,
		InputMean:   m.inputScale.Mean, InputStd: m.inputScale.Std,
		OutputMean: m.outcomeScale.Mean, OutputStd: m.outcomeScale.Std,
		Feedback: m.Config.Feedback, Kernels: m.Kernels, Config: m.Config,
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

// UnmarshalJSON reads a model from the JSON that MarshalJSON returns. It returns an error unless the JSON is a
// complete network that Fit could have trained. It allocates the network only after checking the sizes.
func (m *Model) UnmarshalJSON(data []byte) error {
	var j ModelFile
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("decode model: %w", err)
	}

	if err := j.checkHeader(); err != nil {
		return fmt.Errorf("decode model: %w", err)
	}

	inputScale := triplets.Scale{Mean: j.InputMean, Std: j.InputStd}
	outcomeScale := triplets.Scale{Mean: j.OutputMean, Std: j.OutputStd}
	if err := errors.Join(inputScale.Check("input", j.Inputs), outcomeScale.Check("outcome", j.Outcomes)); err != nil {
		return fmt.Errorf("decode model: %w", err)
	}

	l := newLayout(j.Inputs, j.Outcomes, flagInputs(j.Feedback), j.Config.Hidden)
	if err := j.checkLayers(l); err != nil {
		return fmt.Errorf("decode model: %w", err)
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
		In: j.Inputs, Out: j.Outcomes, Config: j.Config, Kernels: j.Kernels, shape: l, params: params,
		inputScale: inputScale, outcomeScale: outcomeScale,
	}

	return nil
}

// checkHeader returns an error if a field before the layers is wrong, except for the scales.
func (j *ModelFile) checkHeader() error {
	if j.Format != ModelFormat || j.Version != ModelVersion {
		return fmt.Errorf("expected format %q version %d, found %q version %d", ModelFormat, ModelVersion, j.Format,
			j.Version)
	}

	if err := checkSizes(j.Inputs, j.Outcomes); err != nil {
		return err
	}

	if err := j.Config.Validate(); err != nil {
		return fmt.Errorf("check config: %w", err)
	}

	if j.Feedback != j.Config.Feedback {
		return fmt.Errorf("feedback is %q, but %q in config", j.Feedback, j.Config.Feedback)
	}

	return nil
}

// checkLayers returns an error if the layers do not have the shape l.
func (j *ModelFile) checkLayers(l *layout) error {
	if len(j.Layers) != l.depth()+1 {
		return fmt.Errorf("expected %d layers, found %d", l.depth()+1, len(j.Layers))
	}

	for i, lj := range j.Layers {
		fanIn := l.fanIn(i)
		fanOut := l.fanOut(i)

		want := "relu"
		if i == l.depth() {
			want = "linear"
		}

		sameShape := lj.In == fanIn && lj.Out == fanOut && len(lj.Weights) == fanIn && len(lj.Bias) == fanOut
		if !sameShape {
			return fmt.Errorf("layer %d: expected %d×%d weights and %d biases, found %d×%d declared, %d rows, %d biases", i,
				fanIn, fanOut, fanOut, lj.In, lj.Out, len(lj.Weights), len(lj.Bias))
		}

		if lj.Activation != want {
			return fmt.Errorf("layer %d: expected activation %q, found %q", i, want, lj.Activation)
		}

		for a, row := range lj.Weights {
			if len(row) != fanOut {
				return fmt.Errorf("layer %d, row %d: expected %d weights, found %d", i, a, fanOut, len(row))
			}
		}
	}

	return nil
}

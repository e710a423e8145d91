package train

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

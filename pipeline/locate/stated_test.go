package locate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/derive"
	"doubletake/pipeline/config"
	"doubletake/pipeline/locate"
	"doubletake/report/answer/budget"
)

// The expected standard uncertainties were computed by hand: half widths over k, and over √3 for a rectangular law. A
// reference that is not set is not stated.
func TestStated(t *testing.T) {
	const text = `version: 1
experiments:
  e:
    ingest:
      files: x*.wav
      pattern: "x{rpm}.wav"
      calibration: {unit: Pa, uncertainty: {calibrator: "± 0.2 dB, k 2", sensitivity_v_per_pa: "± 2 %, rectangular"}}
      constants: {rho_kg_m3: 1.2}
      derive: {q_pa: rho_kg_m3/2*rpm^2}
      uncertainty: {rpm: "u 3, dof 12, type A"}
    dsp: {triplets: split-half-spectrum}
`
	file, err := config.Parse("pipeline.yaml", []byte(text))
	require.NoError(t, err)

	exact := math.Inf(1)
	want := &budget.Stated{
		Experiment:   "e",
		IsCalibrated: true,
		Calibration: []budget.Uncertainty{
			{Name: "calibrator", U: 0.1, DoF: exact, Law: "normal"},
			{Name: "sensitivity_v_per_pa", U: 0.02 / math.Sqrt(3), Percent: true, DoF: exact, Law: "rectangular"},
		},
		Uncertainty: []budget.Uncertainty{{Name: "rpm", U: 3, DoF: 12, Law: "normal", Observed: true}},
		Constants:   map[string]float64{"rho_kg_m3": 1.2},
		References:  map[string]float64{},
		Derive:      []derive.Definition{{Name: "q_pa", Text: "rho_kg_m3/2*rpm^2"}},
	}
	assert.Equal(t, want, locate.Stated(&file.Experiments[0]))
	assert.Nil(t, locate.Stated(nil))
}

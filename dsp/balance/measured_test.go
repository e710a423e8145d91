package balance

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
)

// degrees converts angles in radians, and returns others as they are. π/6 is 30°.
func TestDegrees(t *testing.T) {
	angles := []float64{0, math.Pi / 6}
	assert.InDeltaSlice(t, []float64{0, 30}, degrees(angles, "rad"), 1e-12)
	assert.Equal(t, []float64{0, math.Pi / 6}, angles, "the given angles are unchanged")
	assert.Equal(t, angles, degrees(angles, "deg"))
}

// A condition that a recording does not state is an error with the conditions that it states, in order. Expected texts
// by hand. The angle is a condition of the campaign, and is not taken for 0°; the speed is needed for coefficients.
func TestMissingConditions(t *testing.T) {
	campaign := &setting.Campaign{Balance: &setting.Balance{Angle: "alpha_deg"}}
	loads := &Loads{Balance: &Balance{Campaign: campaign, Model: &dsp.Settings{}, Conditions: []string{"alpha_deg"}}}
	file := &recording.File{Path: "run.csv"}
	rec := ingest.Recording{Conditions: map[string]float64{"yaw_deg": 0, "pressure_pa": 1e5}}

	_, err := loads.measure(context.Background(), file, rec, nil)
	require.EqualError(t, err, "run.csv: expected a condition alpha_deg, found conditions [pressure_pa yaw_deg]")

	_, err = loads.angleOfAttack("run.csv", rec, &measured{})
	require.EqualError(t, err, "run.csv: expected a condition alpha_deg, found conditions [pressure_pa yaw_deg]")

	_, err = loads.dynamicPressure(file, rec, &measured{})
	require.EqualError(t, err, "run.csv: expected a condition u_inf_m_s, found conditions [pressure_pa yaw_deg]")
}

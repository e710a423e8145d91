package balance

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// If the angle is a condition, a recording that does not state it is an error, and is not taken for one at 0°.
func TestMeasureWithoutAngle(t *testing.T) {
	campaign := &setting.Campaign{Balance: &setting.Balance{Angle: "alpha_deg"}}
	loads := &Loads{Balance: &Balance{Campaign: campaign, Conditions: []string{"alpha_deg"}}}
	rec := ingest.Recording{Conditions: map[string]float64{"u_inf_m_s": 20}}
	_, err := loads.measure(context.Background(), &recording.File{Path: "run.csv"}, rec, nil)
	require.EqualError(t, err, "run.csv: expected a condition alpha_deg, found conditions [alpha_deg]")
}

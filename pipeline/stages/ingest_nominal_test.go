package stages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The name of a file has the set point of an angle that the table measured. Both count the angle from the axis, and
// both become angles from the rotor plane. Expected, by hand: 90° − 30.4° has the set point 90° − 30° = 60°.
func TestSetPointsOfConvertedNames(t *testing.T) {
	files := map[string]string{
		"a_30.npy": npyFile(count(100, 1)), "b_50.npy": npyFile(count(100, 1)),
		"c.csv": "file,theta_deg\na_30.npy,30.4\nb_50.npy,49.8\n",
	}
	for settings, want := range map[string][2]float64{
		"theta_from: axis, ": {60, 40},
		"":                   {30, 50},
	} {
		b := planFiles(t, files, `{files: "*.npy", pattern: "{_}_{theta_deg}.npy", conditions: c.csv, rate_hz: 1000, `+
			settings+"within: {theta_deg: 1}}", "{triplets: split-half-spectrum}")
		for k, nominal := range want {
			require.Len(t, b.Known, 2)
			assert.InDelta(t, nominal, b.Known[k].Numbers["theta_deg"], 1e-9, "file %d with %q", k, settings)
		}
	}
}

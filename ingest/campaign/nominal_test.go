package campaign_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The name of a file has the set point of an angle that the table measured. Both count the angle from the axis, and
// both become angles from the rotor plane. Expected, by hand: 90° − 30.4° has the set point 90° − 30° = 60°.
func TestSetPointsOfConvertedNames(t *testing.T) {
	files := map[string]string{
		"a_30.npy": samples(100, 1), "b_50.npy": samples(100, 1),
		"c.csv": "file,theta_deg\na_30.npy,30.4\nb_50.npy,49.8\n",
	}
	for settings, want := range map[string][2]float64{
		"theta_from: axis, ": {60, 40},
		"":                   {30, 50},
	} {
		inventory := settled(t, files, `{files: "*.npy", pattern: "{_}_{theta_deg}.npy", conditions: c.csv, rate_hz: 1000, `+
			settings+"within: {theta_deg: 1}}", "split-half-spectrum")
		require.Len(t, inventory.Files, 2)
		rows := slices.Concat(inventory.Files[0].Known, inventory.Files[1].Known)
		points := inventory.SetPoints(rows, inventory.Settings.Tolerances)
		points.Move(rows)
		for k, nominal := range want {
			assert.InDelta(t, nominal, rows[k].Numbers["theta_deg"], 1e-9, "file %d with %q", k, settings)
		}
	}
}

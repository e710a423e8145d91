package recording

import (
	"testing"

	"doubletake/ingest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The conditions of each microphone are checked, not only those of the first. Expected: no distance is negative, 300 m
// is an unlikely distance of a microphone, and two microphones with one value have one warning.
func TestPlausibleRecordings(t *testing.T) {
	run := func(distances ...float64) Run {
		var r Run
		for _, m := range distances {
			r.Run.Recordings = append(r.Run.Recordings, ingest.Recording{Conditions: map[string]float64{"distance_m": m}})
		}

		return r
	}

	warnings, err := Plausible(ingest.Info{Path: "a.wav"}, run(1.5, 300, 300), nil)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Text, "condition distance_m: 300 m is an unlikely distance: mm?")

	_, err = Plausible(ingest.Info{Path: "a.wav"}, run(1.5, -1), nil)
	require.ErrorContains(t, err, "a.wav: condition distance_m: expected a possible value")
}

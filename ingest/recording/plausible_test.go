package recording

import (
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/setting"
	"doubletake/ingest/stats"
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

// The means of the columns of air are checked in the unit of their quantity, and other columns are not. Expected:
// 294.15 is the room's temperature in K, and 1.013 its pressure in bar; 1013 hPa are 101300 Pa.
func TestPlausibleAir(t *testing.T) {
	info := ingest.Info{Path: "a.csv", Channels: []ingest.Channel{{Name: "Fx"}, {Name: "p"}, {Name: "T"}}}
	flow := &setting.Flow{Pressure: "p", Temperature: "T"}
	run := func(pressure, temperature float64, pressureUnit string) Run {
		return Run{
			Run:   ingest.Run{Recordings: []ingest.Recording{{Channels: []int{0, 1, 2}}}},
			Units: []string{"N", pressureUnit, "degC"},
			Stats: []stats.Summary{{Samples: 9, Mean: -1e6}, {Samples: 9, Mean: pressure}, {Samples: 9, Mean: temperature}},
		}
	}

	for _, c := range []struct {
		name string
		run  Run
		want string // in the warning or the error; "": neither
	}{
		{"Pa and °C", run(101325, 21, "Pa"), ""},
		{"hPa", run(1013, 21, "hPa"), ""},
		{"kelvin", run(101325, 294.15, "Pa"), "column T (temperature_c): "},
		{"bar", run(1.013, 21, "Pa"), "column p (pressure_pa): expected a possible value"},
	} {
		warnings, err := Plausible(info, c.run, flow)

		found := ""
		if err != nil {
			found = err.Error()
		}

		for _, warning := range warnings {
			found += warning.Text
		}

		if c.want == "" {
			assert.Empty(t, found, c.name)
		} else {
			assert.Contains(t, found, c.want, c.name)
		}
	}

	unused, err := Plausible(info, run(1.013, 294.15, "Pa"), nil)
	require.NoError(t, err)
	assert.Empty(t, unused, "no columns of air")
}

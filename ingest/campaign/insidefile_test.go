package campaign

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/setting"
)

// A table of conditions in the file has a row for each channel.
func TestTableInside(t *testing.T) {
	channel := func(name string, n int) ingest.Channel {
		return ingest.Channel{Name: name, Samples: int64(n), RateHz: 10}
	}
	rd := &ingesttest.Memory{
		Header: ingest.Info{Path: "f.h5", Channels: []ingest.Channel{
			channel("m1", 100), channel("m2", 100), channel("theta", 2),
			channel("from", 2), channel("to", 2),
		}, Attributes: []ingest.Attribute{
			{Name: "one", Value: "5"},
			{Name: "propeller", Value: "APC"},
			{Name: "left.speed", Value: "1"},
			{Name: "right.speed", Value: "2"},
		}},
		X: [][]float64{make([]float64, 100), make([]float64, 100), {10, 20}, {0, 50}, {40, 90}},
	}

	table := func(conditions ...setting.NamedString) (*Conditions, Grouping, error) {
		group := Grouping{Except: []string{"from", "to", "theta"}}
		return TableInside(context.Background(), rd, conditions, nil, group)
	}
	c, group, err := table(setting.NamedString{Name: "theta_deg", Value: "theta"})
	require.NoError(t, err)

	require.Len(t, c.Rows, 2)
	assert.Equal(t, "2", c.Rows[1].Channel)
	assert.InDelta(t, 20, c.Rows[1].States[0].Value, 0)
	assert.True(t, math.IsInf(c.Rows[0].End, 1), "the row has no end")
	assert.Len(t, group.Except, 4)

	for want, s := range map[string][]setting.NamedString{
		"array theta: expected a value for each of the 1 recordings, found 2": {
			{Name: "a", Value: "theta"}, {Name: "b", Value: "m1"},
		},
		"array one: expected a value for each of the 2 recordings, found 1": {{Name: "a", Value: "one"}},
		"condition a: f.h5: expected a channel":                             {{Name: "a", Value: "none"}},

		// An attribute that is found but cannot be used is described, and not reported as a missing channel.
		`condition a: f.h5: attribute propeller: expected a number, found "APC"`: {{Name: "a", Value: "propeller"}},
		`condition a: f.h5: expected one attribute "speed", found "left.speed"`:  {{Name: "a", Value: "speed"}},
	} {
		_, _, err := table(s...)
		assert.ErrorContains(t, err, want)
	}
}

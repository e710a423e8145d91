package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// By hand: 4800 equal samples at 48 kHz are 0.1 s, reported; 2000 are 0.042 s, not;
// a channel that never moves is reported elsewhere as stuck.
func TestDropouts(t *testing.T) {
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic", RateHz: 48000}}}
	found := func(constant int64) []ingest.Warning {
		return Dropouts(info, Run{
			Run:   ingest.Run{ID: "a.wav", Recordings: []ingest.Recording{{Channels: []int{0}}}},
			Stats: []stats.Summary{{Samples: 96000, Constant: constant}},
		})
	}

	warnings := found(4800)
	require.Len(t, warnings, 1, "0.1 s")
	assert.Contains(t, warnings[0].Text, "channel mic is constant for 4800 samples (0.1 s) of 96000")
	assert.Empty(t, found(2000), "0.042 s")
	assert.Empty(t, found(96000), "a channel that never moves")
}

package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// By hand: at 48 kHz, 2400 equal samples are 0.05 s, and reported; 2399 are not. At 1 kHz, 50 equal samples are 0.05 s,
// but fewer than 100 samples are never reported. Without a rate, 100 samples are reported. A channel that never moves
// is reported elsewhere as stuck.
func TestDropouts(t *testing.T) {
	for _, c := range []struct {
		name     string
		rateHz   float64
		constant int64
		want     string // in the warning; "": none
	}{
		{"0.1 s", 48000, 4800, "channel mic is constant for 4800 samples (0.1 s) of 96000"},
		{"0.05 s", 48000, 2400, "2400 samples (0.05 s) of 96000"},
		{"less than 0.05 s", 48000, 2399, ""},
		{"99 samples of 1 kHz", 1000, 99, ""},
		{"100 samples of 1 kHz", 1000, 100, "100 samples (0.1 s) of 96000"},
		{"99 samples without a rate", 0, 99, ""},
		{"100 samples without a rate", 0, 100, "channel mic is constant for 100 samples of 96000"},
		{"a channel that never moves", 48000, 96000, ""},
	} {
		info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic", RateHz: c.rateHz}}}
		warnings := Dropouts(info, Run{
			Run:   ingest.Run{ID: "a.wav", Recordings: []ingest.Recording{{Channels: []int{0}}}},
			Stats: []stats.Summary{{Samples: 96000, Constant: c.constant}},
		})

		if c.want == "" {
			assert.Empty(t, warnings, c.name)
			continue
		}

		if assert.Len(t, warnings, 1, c.name) {
			assert.Contains(t, warnings[0].Text, c.want, c.name)
		}
	}
}

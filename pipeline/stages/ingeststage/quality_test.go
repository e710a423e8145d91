package ingeststage

import (
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// By hand: 4800 equal samples at 48 kHz are 0.1 s, reported; 2000 are 0.042 s, not;
// a channel that never moves is reported elsewhere as stuck.
func TestDropouts(t *testing.T) {
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic", RateHz: 48000}}}
	for _, c := range []struct {
		constant int64
		want     string
	}{{4800, "channel mic is constant for 4800 samples (0.1 s) of 96000"}, {2000, ""}, {96000, ""}} {
		run := RunResult{
			Run:   ingest.Run{ID: "a.wav", Recordings: []ingest.Recording{{Channels: []int{0}}}},
			Stats: []stats.Summary{{Samples: 96000, Constant: c.constant}},
		}

		w := dropouts(info, run)
		if c.want == "" && len(w) > 0 || c.want != "" && (len(w) != 1 || !strings.Contains(w[0].Text, c.want)) {
			t.Errorf("%d equal samples: %v", c.constant, w)
		}
	}
}

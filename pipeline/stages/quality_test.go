package stages

import (
	"strings"
	"testing"

	"doubletake/ingest"
)

// By hand: 4800 equal samples at 48 kHz are 0.1 s, told; 2000 are 0.042 s, not; a
// channel that never moves is told elsewhere as stuck.
func TestDropouts(t *testing.T) {
	info := ingest.Info{Path: "a.wav", Channels: []ingest.Channel{{Name: "mic", RateHz: 48000}}}
	for _, c := range []struct {
		constant int64
		want     string
	}{{4800, "channel mic stands still for 4800 samples (0.1 s) of 96000"}, {2000, ""}, {96000, ""}} {
		run := runResult{Run: ingest.Run{ID: "a.wav", Recordings: []ingest.Recording{{Channels: []int{0}}}}, Stats: []ingest.Stats{{Samples: 96000, Constant: c.constant}}}
		w := dropouts(info, run)
		if c.want == "" && len(w) > 0 || c.want != "" && (len(w) != 1 || !strings.Contains(w[0].Text, c.want)) {
			t.Errorf("%d equal samples: %v", c.constant, w)
		}
	}
}

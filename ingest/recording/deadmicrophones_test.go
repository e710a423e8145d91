package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// A microphone is reported if its level, 20·log10 of its deviation, differs from both neighbours by apartDB (20 dB, a
// factor of 10) or from a single neighbour by pairDB (60 dB, a factor of 1000). By hand: 0.11 is 19.2 dB below 1, and
// 0.09 is 20.9 dB below.
func TestDeadMicrophones(t *testing.T) {
	for _, c := range []struct {
		name string
		std  []float64 // deviations of the microphones a, b, …
		want string    // in the warning; "": none
	}{
		{"alike", []float64{1, 1.2, 0.9, 1}, ""},
		{"one 39 dB below", []float64{1, 0.01, 0.9, 1}, "channel b is 39 dB below its neighbours a and c: "},
		{"one 19 dB below", []float64{1, 0.11, 1, 1}, ""},
		{"one 21 dB below", []float64{1, 0.09, 1, 1}, "channel b is 21 dB below its neighbours a and c: "},
		{"the first 26 dB above", []float64{20, 1, 0.9, 1}, "channel a is 26 dB above its neighbours c and b: "},
		{"the last 26 dB above", []float64{1, 0.9, 1, 20}, "channel d is 26 dB above its neighbours c and b: "},
		{"between two levels", []float64{1, 1, 11, 120, 120}, ""},
		{"a slope: both ends are apart, more than a third of all", []float64{1, 11, 150, 1600}, ""},
		{"two that differ by 40 dB", []float64{0.01, 1}, ""},
		{"two that differ by 59 dB", []float64{1, 0.00112}, ""},
		{"the second of two 61 dB below", []float64{1, 0.00089}, "channel b is 61 dB below its neighbour a: "},
		{"the second of two 94 dB below", []float64{0.05, 1e-6}, "channel b is 94 dB below its neighbour a: "},
		{"the first of two 94 dB below", []float64{1e-6, 0.05}, "channel a is 94 dB below its neighbour b: "},
		{"stuck, which another check reports", []float64{1, 0, 1}, ""},
	} {
		var run Run
		var info ingest.Info
		for i, s := range c.std {
			info.Channels = append(info.Channels, ingest.Channel{Name: string(rune('a' + i))})
			run.Run.Recordings = append(run.Run.Recordings, ingest.Recording{Channels: []int{i}})
			run.Stats = append(run.Stats, stats.Summary{Std: s})
			run.Units = append(run.Units, "Pa")
		}

		warnings := DeadMicrophones(info, run)
		if c.want == "" {
			assert.Empty(t, warnings, c.name)
			continue
		}

		if assert.Len(t, warnings, 1, c.name) {
			assert.Contains(t, warnings[0].Text, c.want, c.name)
		}
	}
}

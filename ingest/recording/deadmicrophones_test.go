package recording

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// A microphone is reported if its level, 20·log10 of its deviation, differs from both neighbours by apartDB (20 dB, a
// factor of 10) or from a single neighbour by pairDB (60 dB, a factor of 1000).
func TestDeadMicrophones(t *testing.T) {
	for _, c := range []struct {
		name string
		std  []float64 // deviation of each microphone
		want int       // warnings
	}{
		{"alike", []float64{1, 1.2, 0.9, 1}, 0},
		{"one 39 dB below", []float64{1, 0.01, 0.9, 1}, 1},
		{"the first 26 dB above", []float64{20, 1, 0.9, 1}, 1},
		{"a slope: both ends are apart, more than a third of all", []float64{1, 11, 150, 1600}, 0},
		{"two that differ by 40 dB", []float64{0.01, 1}, 0},
		{"the second of two 94 dB below", []float64{0.05, 1e-6}, 1},
		{"the first of two 94 dB below", []float64{1e-6, 0.05}, 1},
		{"stuck, which another check reports", []float64{1, 0, 1}, 0},
	} {
		var run Run
		var info ingest.Info
		for i, s := range c.std {
			info.Channels = append(info.Channels, ingest.Channel{Name: string(rune('a' + i))})
			run.Run.Recordings = append(run.Run.Recordings, ingest.Recording{Channels: []int{i}})
			run.Stats = append(run.Stats, stats.Summary{Std: s})
			run.Units = append(run.Units, "Pa")
		}

		assert.Len(t, DeadMicrophones(info, run), c.want, c.name)
	}
}

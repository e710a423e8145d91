package recording

import (
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// Expected values: 20·log10 of the ratios of deviations.
func TestDeadMicrophones(t *testing.T) {
	for _, c := range []struct {
		std  []float64
		want int
	}{
		{[]float64{1, 1.2, 0.9, 1}, 0},
		{[]float64{1, 0.01, 0.9, 1}, 1},
		{[]float64{20, 1, 0.9, 1}, 1},
		{[]float64{1, 11, 150, 1600}, 0}, // both ends of a slope, more than a third
		{[]float64{0.01, 1}, 0},          // two places may differ by 40 dB
		{[]float64{0.05, 1e-6}, 1},
		{[]float64{1e-6, 0.05}, 1},
		{[]float64{1, 0, 1}, 0}, // stuck
	} {
		var run Run
		var info ingest.Info
		for i, s := range c.std {
			info.Channels = append(info.Channels, ingest.Channel{Name: string(rune('a' + i))})
			run.Run.Recordings = append(run.Run.Recordings, ingest.Recording{Channels: []int{i}})
			run.Stats = append(run.Stats, stats.Summary{Std: s})
			run.Units = append(run.Units, "Pa")
		}

		if got := DeadMicrophones(info, run); len(got) != c.want {
			t.Errorf("%v: %v, expected %d", c.std, got, c.want)
		}
	}
}

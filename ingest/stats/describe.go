package stats

import (
	"context"

	"doubletake/ingest"
)

// Describe reads a whole file once and returns one Summary for every channel of the file. Samples that are
// not finite are counted, and do not count in the other numbers. The warnings are the warnings of Scan, and
// "not-finite". Channels of equal length are read together.
func Describe(ctx context.Context, r ingest.Reader) ([]Summary, []ingest.Warning, error) {
	info := r.Info()
	stats := make([]Summary, len(info.Channels))
	var warns []ingest.Warning

	done := make([]bool, len(info.Channels)) // channels that were read with an earlier one
	for c, ch := range info.Channels {
		if done[c] {
			continue
		}

		if ch.Samples == 0 {
			var none accumulator
			none.begin(0)
			stats[c], _ = none.stats()
			continue
		}

		run := ingest.Run{ID: info.Path, Path: info.Path, Row1: -1}
		for k := c; k < len(info.Channels); k++ {
			if info.Channels[k].Samples == ch.Samples {
				done[k] = true
				run.Recordings = append(run.Recordings, ingest.Recording{Channels: []int{k}})
			}
		}

		summaries, more, err := scanRun(ctx, r, run, countNonFinite)
		if err != nil {
			return nil, nil, err
		}

		for i, recording := range run.Recordings {
			stats[recording.Channels[0]] = summaries[i]
		}

		warns = append(warns, more...)
	}

	for c, summary := range stats {
		if summary.NaN > 0 {
			warns = append(warns, ingest.Warn(info.Path, "not-finite",
				"channel %s: values that are not finite numbers: %d, the first is sample %d (counted from 0)",
				info.Channels[c].Name, summary.NaN, summary.FirstNaN))
		}
	}

	return stats, warns, nil
}

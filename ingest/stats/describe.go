package stats

import (
	"context"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Describe reads a whole file once and returns the statistics of every channel,
// whatever it holds: samples that are no finite numbers are counted and left
// out of the other figures. Warnings are those of Scan, and "not-finite".
func Describe(ctx context.Context, r ingest.Reader) ([]Summary, []ingest.Warning, error) {
	info := r.Info()
	stats := make([]Summary, len(info.Channels))
	var warns []ingest.Warning

	done := make([]bool, len(info.Channels))
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

		s, w, err := scanRun(ctx, r, run, true)
		if err != nil {
			return nil, nil, err
		}

		for i, rec := range run.Recordings {
			stats[rec.Channels[0]] = s[i]
		}

		warns = append(warns, w...)
	}

	for c, s := range stats {
		if s.NaN > 0 {
			warns = append(warns, ingest.Warn(info.Path, "not-finite",
				"channel %s: %s no finite numbers, the first is sample %d", info.Channels[c].Name,
				fault.Plural(s.NaN, "value"), s.FirstNaN))
		}
	}

	return stats, warns, nil
}

package recording

import (
	"context"

	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// unknownSecond is the number of samples that ScanForCheck takes for a second if the sampling rate is not known.
const unknownSecond = 1000

// ScanForCheck looks for samples that are not numbers or cannot be read. It reads the first and the last second of a
// run with recordings, or unknownSecond samples at each end if the sampling rate is not known. If ends is false and
// the samples are floating-point numbers, it reads the whole run, as it does for runs of at most a second. The
// statistics describe the samples that it read last, and a warning describes one of the two seconds, not the run. In a
// run of less than two seconds the seconds overlap, so that two warnings may be about the same samples.
func ScanForCheck(ctx context.Context, rd ingest.Reader, run ingest.Run, ends bool) ([]stats.Summary, []ingest.Warning,
	error,
) {
	onlyEnds := ends
	if q, ok := rd.(ingest.Quantized); ok {
		step, _, _ := q.Quantum()
		onlyEnds = onlyEnds || step > 0
	}

	channel := rd.Info().Channels[run.Recordings[0].Channels[0]]
	begin, end := run.Interval(channel.Samples)
	second := max(1, int64(channel.RateHz))
	if channel.RateHz == 0 {
		second = unknownSecond
	}

	if !onlyEnds || begin+second >= end {
		return stats.Scan(ctx, rd, run)
	}

	var sums []stats.Summary
	var warnings []ingest.Warning
	for _, row := range []int64{begin, max(begin, end-second)} {
		run.Row0 = row
		run.Row1 = min(end, row+second)

		last, found, err := stats.Scan(ctx, rd, run)
		if err != nil {
			return nil, nil, err
		}

		sums = last
		warnings = append(warnings, found...)
	}

	return sums, warnings, nil
}

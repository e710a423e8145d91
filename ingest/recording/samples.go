package recording

import (
	"context"
	"errors"
	"io"

	"doubletake/ingest"
)

// Length returns how many samples of a run the file contains.
func Length(info ingest.Info, run ingest.Run) int64 {
	begin, end := run.Interval(info.Channels[run.Recordings[0].Channels[0]].Samples)
	return end - begin
}

// Source delivers the samples of channels (ingest.Reader).
type Source interface {
	Read(channels []int, start int64, dst [][]float64) (n int, err error)
}

// readSamples is the number of samples that ReadColumns reads between two looks at the context.
const readSamples = 1 << 16

// ReadColumns reads n samples of each channel from sample start on. It returns an error if the source has fewer.
func ReadColumns(ctx context.Context, source Source, channels []int, start, n int64) ([][]float64, error) {
	columns := make([][]float64, len(channels))
	for i := range columns {
		columns[i] = make([]float64, n)
	}

	part := make([][]float64, len(channels))
	for done := int64(0); done < n; done += readSamples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		m := min(n-done, readSamples)
		for i := range columns {
			part[i] = columns[i][done : done+m]
		}

		got, err := source.Read(channels, start+done, part)
		if int64(got) < m {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}

			return nil, err
		}
	}

	return columns, nil
}

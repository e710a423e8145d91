package ingeststage

import (
	"context"
	"errors"
	"io"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/stats"
)

// length returns the number of samples of a run; 0 where the file has not as
// many, or none.
func length(info ingest.Info, run ingest.Run) int64 {
	samples := info.Channels[run.Recordings[0].Channels[0]].Samples
	from, to := run.Interval(samples)
	if to > samples {
		return 0
	}
	return max(0, to-from)
}

// ReadRun reads the columns of a balance's run, n samples of each.
func ReadRun(ctx context.Context, rd dsp.Source, run ingest.Run, n int64) ([][]float64, error) {
	return ReadColumns(ctx, rd, run.Recordings[0].Channels, run.Row0, n)
}

// ReadColumns reads n samples of each channel from start on, some at a time. rd
// is an ingest.Reader or passes its samples on.
func ReadColumns(ctx context.Context, rd dsp.Source, channels []int, start, n int64) ([][]float64, error) {
	out, part := make([][]float64, len(channels)), make([][]float64, len(channels))
	for i := range out {
		out[i] = make([]float64, n)
	}
	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := min(n-at, 1<<16)
		for i := range out {
			part[i] = out[i][at : at+m]
		}
		got, err := rd.Read(channels, start+at, part)
		if int64(got) < m {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		at += m
	}
	return out, nil
}

// loadSpectra is stats.Scan, and on the way loads the spectra of the run. The task of
// stage dsp reports errors of the spectra.
func (f *file) loadSpectra(ctx context.Context, info ingest.Info, rd ingest.Reader, run ingest.Run) ([]stats.Summary,
	[]ingest.Warning, error,
) {
	c, ok := f.b.Construction.(dsp.OfSpectra)
	n := length(info, run)
	if !ok || n == 0 {
		return stats.Scan(ctx, rd, run)
	}
	var scale []float64
	var units []string
	for _, rec := range run.Recordings {
		s, u, _, _, err := Factor(f.src, f.cal, info, rec.Channels[0])
		if err != nil {
			return stats.Scan(ctx, rd, run)
		}
		scale, units = append(scale, s), append(units, u)
	}
	load, err := c.Spectra(NewRun(f.b, info, run, n, scale, units))
	if err != nil {
		return stats.Scan(ctx, rd, run)
	}
	pass := stats.NewPass(rd, run)
	an := f.b.Analysers.Get()
	if err := an.Load(ctx, pass, load); err == nil {
		f.reading.SetSpectra(an)
	} else {
		f.b.Analysers.Put(an)
	}
	return pass.Stats(ctx, f.open)
}

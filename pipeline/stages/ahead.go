package stages

import (
	"context"
	"errors"
	"io"
	"reflect"
	"sync"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/engine"
)

// analysers are reused between tasks; each is used by one task at a time. There
// are no more than tasks at a time (of a sync.Pool there would be: what one
// processor gave back another does not find).
var analysers shelf

type shelf struct {
	mu   sync.Mutex
	free []*dsp.Analyser
}

func (s *shelf) get() *dsp.Analyser {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return dsp.NewAnalyser()
	}
	a := s.free[n-1]
	s.free = s.free[:n-1]
	return a
}

func (s *shelf) put(a *dsp.Analyser) {
	s.mu.Lock()
	s.free = append(s.free, a)
	s.mu.Unlock()
}

// Release lets go of memory that is kept between tasks and not in use: when an
// experiment's files are done, when models are trained, when a run has ended.
func Release() {
	analysers.mu.Lock()
	analysers.free = nil
	analysers.mu.Unlock()
}

// ahead is one pass over a file for two tasks: where the task of stage dsp
// follows that of ingest, in this process and for certain, the samples are read
// once and the statistics made of what passes. Of microphones the analyser reads
// them, and is left with the spectra; of a balance the samples of its runs are
// left. Either task gives the same, bit by bit, when it reads by itself.
type ahead struct {
	b        *builder
	analyser *dsp.Analyser // holds the spectra; nil: nothing was read ahead
	settings dsp.RotorSettings
	series   map[string][][]float64 // by run: the balance's columns
	held     int                    // samples in series
}

// mostHeld bounds the samples of a balance that are left (32 MiB).
const mostHeld = 4 << 20

// readAhead returns the ahead of a file's tasks; nil where the file is to be
// read for each.
func (b *builder) readAhead(src *source, j *engine.Job, next string) *ahead {
	if src.in.Tachometer != nil || !j.Follows(next) {
		return nil
	}
	return &ahead{b: b, series: map[string][][]float64{}}
}

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

// readRun reads the columns of a balance's run, n samples of each.
func readRun(ctx context.Context, rd dsp.Source, run ingest.Run, n int64) ([][]float64, error) {
	return readColumns(ctx, rd, run.Recordings[0].Channels, run.Row0, n)
}

// readColumns reads n samples of each channel from start on, some at a time. rd
// is an ingest.Reader or passes its samples on.
func readColumns(ctx context.Context, rd dsp.Source, channels []int, start, n int64) ([][]float64, error) {
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

// keep leaves the samples of a balance's run for the task that follows.
func (a *ahead) keep(run ingest.Run, series [][]float64) {
	if a == nil || series == nil {
		return
	}
	if n := len(series) * len(series[0]); a.held+n <= mostHeld {
		a.held += n
		a.series[run.ID] = series
	}
}

// columns returns the samples of a balance's run: what was kept, else by reading.
func (a *ahead) columns(ctx context.Context, rd ingest.Reader, run ingest.Run, n int64) ([][]float64, error) {
	if a != nil {
		if s, ok := a.series[run.ID]; ok && len(s) == len(run.Recordings[0].Channels) && int64(len(s[0])) == n {
			return s, nil
		}
	}
	return readRun(ctx, rd, run, n)
}

// scan is ingest.Scan, and on the way loads the spectra of the run. What is
// wrong with them is left for the task of stage dsp to tell.
func (a *ahead) scan(ctx context.Context, src *source, cal []sensitivity, info ingest.Info, rd ingest.Reader, again func() (ingest.Reader, error), run ingest.Run) ([]ingest.Stats, []ingest.Warning, error) {
	var scale []float64
	for _, rec := range run.Recordings {
		f, _, _, _, err := src.factor(cal, info, rec.Channels[0])
		if err != nil {
			return ingest.Scan(ctx, rd, run)
		}
		scale = append(scale, f)
	}
	n := length(info, run)
	settings, _, err := a.b.rotorSettings(src, info, run, n, scale)
	if err != nil || n == 0 {
		return ingest.Scan(ctx, rd, run)
	}
	pass := ingest.NewPass(rd, run)
	an := analysers.get()
	if err := an.Load(ctx, pass, settings); err == nil {
		a.analyser, a.settings = an, settings
	} else {
		analysers.put(an)
	}
	return pass.Stats(ctx, again)
}

// evaluate analyses a run: what was read ahead, if it is that, else by reading.
func (a *ahead) evaluate(ctx context.Context, rd ingest.Reader, s dsp.RotorSettings) (*dsp.RotorRun, error) {
	if a != nil && a.analyser != nil && reflect.DeepEqual(a.settings, s) {
		return a.analyser.Evaluate()
	}
	an := analysers.get()
	defer analysers.put(an)
	return an.Run(ctx, rd, s)
}

// free gives the analyser back.
func (a *ahead) free() {
	if a != nil && a.analyser != nil {
		analysers.put(a.analyser)
		a.analyser = nil
	}
}

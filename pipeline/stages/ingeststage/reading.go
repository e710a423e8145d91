package ingeststage

import (
	"sync"

	"doubletake/dsp"
)

// analysers are idle ones: to make one costs more than to analyse a short file.
var analysers = sync.Pool{New: func() any { return dsp.NewAnalyser() }}

// BorrowAnalyser returns an idle analyser, to be given back to ReturnAnalyser.
func BorrowAnalyser() *dsp.Analyser { return analysers.Get().(*dsp.Analyser) }

// ReturnAnalyser makes an analyser idle.
func ReturnAnalyser(a *dsp.Analyser) { analysers.Put(a) }

// Reading is what one pass over the samples of a file leaves in memory for the
// task of stage dsp: of microphones the spectra, of a balance the samples. The
// task gives the same bytes without it. A nil Reading holds nothing.
type Reading struct {
	Found    *FileResult            // of the task that read, as stage dsp would decode it
	analyser *dsp.Analyser          // holds spectra; nil: none
	series   map[string][][]float64 // by run: the balance's columns
	held     int                    // samples in series
}

// MaxHeld bounds the samples of a balance that a Reading holds (32 MiB).
const MaxHeld = 4 << 20

// NewReading returns an empty Reading.
func NewReading() *Reading { return &Reading{series: map[string][][]float64{}} }

// SetSpectra stores an analyser that has loaded the spectra of the file's run.
func (r *Reading) SetSpectra(a *dsp.Analyser) {
	r.Free()
	r.analyser = a
}

// Spectra returns the analyser if it holds the spectra asked for, else nil.
func (r *Reading) Spectra(s *dsp.Segments) *dsp.Analyser {
	if r == nil || r.analyser == nil || !r.analyser.Holds(s) {
		return nil
	}
	return r.analyser
}

// SetSeries stores the columns of a run, unless the Reading would hold more than
// MaxHeld samples.
func (r *Reading) SetSeries(run string, series [][]float64) {
	if r == nil || len(series) == 0 {
		return
	}

	if n := len(series) * len(series[0]); r.held+n <= MaxHeld {
		r.held += n
		r.series[run] = series
	}
}

// Series returns the columns of a run if there are that many of that length,
// else nil.
func (r *Reading) Series(run string, columns int, samples int64) [][]float64 {
	if r == nil {
		return nil
	}

	if s := r.series[run]; len(s) == columns && columns > 0 && int64(len(s[0])) == samples {
		return s
	}

	return nil
}

// Free gives the analyser back.
func (r *Reading) Free() {
	if r != nil && r.analyser != nil {
		ReturnAnalyser(r.analyser)
		r.analyser = nil
	}
}

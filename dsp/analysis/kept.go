package analysis

import (
	"sync"

	"doubletake/dsp"
	"doubletake/ingest/recording"
)

// Kept passes on in memory what a Reader read of a file and its analysis needs: the spectra of microphones, or the
// samples of a balance. Rows computes the same bytes without it, but reads the file again. A nil Kept contains nothing.
type Kept struct {
	Found    *recording.File        // what the Reader returned
	analyser *dsp.Analyser          // has loaded the spectra; nil if there are none
	series   map[string][][]float64 // the balance's columns, by run
	held     int                    // number of samples in series
}

// maxKept bounds the samples of a balance that a Kept contains (32 MiB).
const maxKept = 4 << 20 // samples of 8 bytes

// NewKept returns an empty Kept.
func NewKept() *Kept { return &Kept{series: map[string][][]float64{}} }

// SetSpectra stores an analyser that has loaded the spectra of the file's run. It returns the former analyser to the
// idle ones.
func (r *Kept) SetSpectra(a *dsp.Analyser) {
	r.Free()
	r.analyser = a
}

// Spectra returns the analyser if it holds the spectra asked for, and nil otherwise.
func (r *Kept) Spectra(s *dsp.Segments) *dsp.Analyser {
	if r == nil || r.analyser == nil || !r.analyser.Holds(s) {
		return nil
	}
	return r.analyser
}

// SetSeries stores the columns of a run, unless the Kept would hold more than
// maxKept samples.
func (r *Kept) SetSeries(run string, series [][]float64) {
	if r == nil || len(series) == 0 {
		return
	}

	if n := len(series) * len(series[0]); r.held+n <= maxKept {
		r.held += n
		r.series[run] = series
	}
}

// Series returns the columns of a run if they are held, and nil otherwise.
func (r *Kept) Series(run string) [][]float64 {
	if r == nil {
		return nil
	}

	return r.series[run]
}

// Free returns the analyser to the idle ones.
func (r *Kept) Free() {
	if r != nil && r.analyser != nil {
		ReturnAnalyser(r.analyser)
		r.analyser = nil
	}
}

// analysers contains idle analysers, because to make one costs more than to analyse a short file.
var analysers = sync.Pool{New: func() any { return dsp.NewAnalyser() }}

// BorrowAnalyser returns an analyser that the caller must give to ReturnAnalyser when it is done.
func BorrowAnalyser() *dsp.Analyser { return analysers.Get().(*dsp.Analyser) }

// ReturnAnalyser stores an analyser for later callers of BorrowAnalyser.
func ReturnAnalyser(a *dsp.Analyser) { analysers.Put(a) }

package stages

import (
	"sync"

	"doubletake/dsp"
)

// Reading passes results from the task of this stage that reads a file to the task of stage dsp, in memory: the spectra
// of microphones, or the samples of a balance. Stage dsp computes the same bytes without it, but reads the file again.
// A nil Reading contains nothing.
type Reading struct {
	Found    *FileResult            // the result of the task of this stage, which stage dsp need not decode
	analyser *dsp.Analyser          // has loaded the spectra; nil if there are none
	series   map[string][][]float64 // the balance's columns, by run
	held     int                    // number of samples in series
}

// maxHeld bounds the samples of a balance that a Reading contains (32 MiB).
const maxHeld = 4 << 20 // samples of 8 bytes

// newReading returns an empty Reading.
func newReading() *Reading { return &Reading{series: map[string][][]float64{}} }

// SetSpectra stores an analyser that has loaded the spectra of the file's run. It returns the former analyser to the
// idle ones.
func (r *Reading) SetSpectra(a *dsp.Analyser) {
	r.Free()
	r.analyser = a
}

// Spectra returns the analyser if it holds the spectra asked for, and nil otherwise.
func (r *Reading) Spectra(s *dsp.Segments) *dsp.Analyser {
	if r == nil || r.analyser == nil || !r.analyser.Holds(s) {
		return nil
	}
	return r.analyser
}

// SetSeries stores the columns of a run, unless the Reading would hold more than
// maxHeld samples.
func (r *Reading) SetSeries(run string, series [][]float64) {
	if r == nil || len(series) == 0 {
		return
	}

	if n := len(series) * len(series[0]); r.held+n <= maxHeld {
		r.held += n
		r.series[run] = series
	}
}

// Series returns the columns of a run if they are held, and nil otherwise.
func (r *Reading) Series(run string) [][]float64 {
	if r == nil {
		return nil
	}

	return r.series[run]
}

// Free returns the analyser to the idle ones.
func (r *Reading) Free() {
	if r != nil && r.analyser != nil {
		returnAnalyser(r.analyser)
		r.analyser = nil
	}
}

// analysers contains idle analysers, because to make one costs more than to analyse a short file.
var analysers = sync.Pool{New: func() any { return dsp.NewAnalyser() }}

// borrowAnalyser returns an analyser that the caller must give to returnAnalyser when it is done.
func borrowAnalyser() *dsp.Analyser { return analysers.Get().(*dsp.Analyser) }

// returnAnalyser stores an analyser for later callers of borrowAnalyser.
func returnAnalyser(a *dsp.Analyser) { analysers.Put(a) }

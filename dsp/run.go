package dsp

import "fmt"

// Run is one acquisition at one condition, as a construction takes it.
type Run struct {
	RateHz         float64 // sampling rate; 0: not known
	Start, Samples int64   // first sample of the run in the source, and number of samples
	Seed           uint64  // of random draws, derived from Settings.Seed and the run's name
	Settings       *Settings
	Microphones    []Microphone // for an OfSpectra; an OfSeries gets its series by a parameter
	Pulses         *Pulses      // of a tachometer, relative to Start; nil: no tachometer
	Subtract       bool         // subtract the background of the microphones from their levels
}

// Microphone is one channel of a run.
type Microphone struct {
	Channel    int                   // its number in the source, from 0
	Scale      float64               // factor from samples to the physical unit
	Unit       string                // the physical unit: "Pa", "full-scale", …
	Conditions map[string]float64    // by name: "rpm", "blades", …
	Background []BackgroundRecording // without the source under test; nil: not recorded
}

// condition returns a condition of the whole run, or 0 if it is not known. It returns an error
// if the microphones have different values.
func (r *Run) condition(name string) (float64, error) {
	first := r.Microphones[0].Conditions[name]
	for _, m := range r.Microphones {
		v := m.Conditions[name]
		if v != first {
			return 0, wrong("", "one value of "+name+" for all channels of a run", fmt.Sprintf("%g and %g", first, v), "")
		}
	}

	return first, nil
}

// rate returns the sampling rate, or an error if it is not known.
func (r *Run) rate() (float64, error) {
	if r.RateHz == 0 {
		return 0, wrong("", "a sampling rate", "none in the file", "state it in the configuration: ingest: {rate_hz: …}")
	}

	if !(r.RateHz > 0) || !finite(r.RateHz) {
		return 0, wrong("", "a sampling rate above 0 Hz", fmt.Sprint(r.RateHz), "state the rate if the file does not")
	}

	return r.RateHz, nil
}

// Series is one outcome of a balance, sample by sample.
type Series struct {
	Name, Unit string
	Note       string // how the unit was converted; may be empty
	Values     []float64
}

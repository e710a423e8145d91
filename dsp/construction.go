package dsp

import (
	"context"
	"slices"

	"doubletake/ingest/fault"
)

// constructions lists all constructions. A new construction needs a file of its own and a line
// here. Other programs add theirs by RegisterConstructions.
var constructions = []Construction{
	randomSamples{},
	splitHalves{},
	halfSpectra{name: "split-half-spectrum", standard: "harmonics", version: 2},
	halfSpectra{name: "split-half-bands", standard: "bands", version: 3},
	halfSpectra{name: "repeats", standard: "harmonics", repeats: true, version: 3},
	repeatedMeans{},
}

// A Construction makes pairs of outcomes (y1, y2) from the runs of a campaign. Every
// Construction is either an OfSpectra or an OfSeries.
type Construction interface {
	// Describe returns the facts about the construction.
	Describe() Description
	// Check calls fail for every setting outside its limits that Pairs reads.
	Check(s *Settings, fail Fail)
}

// OfSpectra is a Construction that takes the spectra of microphones. Each
// microphone of a run is a recording.
type OfSpectra interface {
	Construction
	// Spectra returns the segments whose spectra Pairs needs. A run that cannot be
	// analysed is a *fault.Error.
	Spectra(r *Run) (*Segments, error)
	// Pairs makes the pairs of a run. a has loaded the segments that Spectra returned. src
	// delivers the samples again, for outcomes that need more than spectra. A run that
	// cannot be analysed is a *fault.Error.
	Pairs(ctx context.Context, src Source, r *Run, a *Analyser) (*Pairs, error)
}

// OfSeries is a Construction that takes the series of a balance. They were
// sampled at the same instants and are one recording.
type OfSeries interface {
	Construction
	// Pairs makes the pairs of a run. All series are equally long. A run that cannot be
	// analysed is a *fault.Error.
	Pairs(r *Run, series []Series) (*Pairs, error)
}

// PerRun is a Construction whose number of pairs follows from its settings.
type PerRun interface {
	Construction
	// PairsPerRun returns the number of pairs of every run.
	PairsPerRun(s *Settings) int
}

// Fail reports a fault of a setting. key is the setting's name, or "" if the fault concerns
// several settings.
type Fail func(key, format string, args ...any)

// unless reports a fault if ok is false.
func (f Fail) unless(ok bool, key, format string, args ...any) {
	if !ok {
		f(key, format, args...)
	}
}

// isRange reports whether r has two values, in ascending order, both from lo to hi.
func isRange(r []float64, lo, hi float64) bool {
	if len(r) != 2 {
		return false
	}

	return lo <= r[0] && r[0] <= r[1] && r[1] <= hi
}

// Description has the facts about a construction.
type Description struct {
	Name     string   // in the configuration: "split-half-spectrum"
	Doc      string   // how y1 and y2 come about: "y1 and y2 are …"
	Settings []string // keys of the Settings that change the result
	Shaft    bool     // a run needs the condition blades and a shaft speed
	Repeats  bool     // a run gives one value; y1 and y2 come from two runs at equal conditions
	Version  int      // part of the keys of caches: raise it if the same input gives another result
}

// PairKind returns the kind of the pairs: same-run or repeat-run (docs/method.md#units-of-data).
func (d Description) PairKind() string {
	if d.Repeats {
		return "repeat-run"
	}

	return "same-run"
}

// Constructions lists the names of all constructions.
func Constructions() []string {
	var names []string
	for _, c := range constructions {
		if name := c.Describe().Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	return names
}

// Instrument is what made the recordings.
type Instrument int

// The instruments.
const (
	Microphones Instrument = iota // their spectra are for an OfSpectra
	Balance                       // its series are for an OfSeries
)

// Find returns the construction of that name, or nil if there is none. If two constructions have that name, it returns
// the OfSeries for a balance, and the OfSpectra for microphones.
func Find(name string, instrument Instrument) Construction {
	var found Construction
	for _, c := range constructions {
		if c.Describe().Name != name {
			continue
		}

		_, takesSeries := c.(OfSeries)
		if takesSeries == (instrument == Balance) || found == nil {
			found = c
		}
	}

	return found
}

// configured is a Construction whose Description depends on the settings.
type configured interface {
	// configure returns a copy that describes itself under those settings.
	configure(s *Settings) Construction
}

// Configure returns c, or a copy of c that describes itself under those settings if its
// Description depends on them. If c is nil, Configure returns nil.
func Configure(c Construction, s *Settings) Construction {
	if c, ok := c.(configured); ok {
		return c.configure(s)
	}
	return c
}

// fromZero is the hint of an error that gives the number of a sample.
const fromZero = "samples count from 0"

// wrong returns a *fault.Error about data: where they are wrong, the expected value, the value
// found, and a hint at what to do. place and hint may be empty.
func wrong(place, want, found, hint string) error { return fault.At("", place, want, found, hint) }

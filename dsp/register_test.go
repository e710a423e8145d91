package dsp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/fault"
	"doubletake/internal/must"
)

// An outcome of a program of one's own is known by its name, and once; its version is part
// of the construction's.
func TestRegister(t *testing.T) {
	defer func(all []spectralOutcome, c []Construction) {
		spectralOutcomes, constructions = all, c
	}(slices.Clone(spectralOutcomes), slices.Clone(constructions))

	peak := SpectralOutcome{
		Name: "largest", Column: "largest_hz", Unit: "Hz", Description: "frequency of the largest bin", Version: 2,
		Value: func(HalfSpectrum) float64 { return math.NaN() },
	}
	must.Do(t, RegisterOutcomes(peak))

	s := DefaultSettings()
	before := Configure(Find("split-half-spectrum", false), &s).Describe().Version
	s.Outcomes = []string{"largest"}
	d := Configure(Find("split-half-spectrum", false), &s).Describe()
	if !slices.Contains(Outcomes(), "largest") || d.Version != before+2000 || !strings.Contains(d.Doc, peak.Description) {
		t.Errorf("%v, %+v", Outcomes(), d)
	}

	m := &sound{mic: &Microphone{Channel: 1}, power: [2][]float64{{1}, {1}}}
	must.Refuse(t, fault.Try(func() { ownOutcome{&peak}.add(m) }), "channel 2, first half")

	known, none := peak, peak
	known.Name, none.Value = "overall", nil
	for _, o := range []SpectralOutcome{peak, known, none} {
		must.Refuse(t, RegisterOutcomes(o), "register outcome")
	}

	must.Refuse(t, RegisterConstructions(splitHalves{}), "split-halves")

	own := halfSpectra{name: "split-half-own", standard: "largest", version: 1}
	if err := RegisterConstructions(own); err != nil || Find("split-half-own", false) == nil {
		t.Error(err)
	}
}

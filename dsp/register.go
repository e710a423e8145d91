package dsp

import (
	"fmt"
	"slices"
)

// RegisterConstructions adds constructions of a program of one's own, before a
// configuration is read. A name that is known is an error.
func RegisterConstructions(more ...Construction) error {
	for _, c := range more {
		name := c.Describe().Name
		if names := append(Constructions(), "table", ""); slices.Contains(names, name) {
			return fmt.Errorf("register construction %q: expected a name other than %q", name, names)
		}

		constructions = append(constructions, c)
	}

	return nil
}

// A SpectralOutcome is an outcome of microphones of a program of one's own: one number of
// the mean spectrum of each half, in any unit.
type SpectralOutcome struct {
	Name        string // in the configuration
	Column      string // of the tables, with the unit: "centroid_hz"
	Unit        string
	Description string // "spectral centroid"
	Version     int    // raise it where the same input gives another result

	// Value returns the number; one that is not finite is an error of the recording.
	Value func(h HalfSpectrum) float64
}

// HalfSpectrum is the mean spectrum of half a recording, or with repeats of a whole one.
type HalfSpectrum struct {
	Power     []float64 // mean square of each bin, in the microphone's unit squared; do not change it
	BinHz     float64   // distance of two bins
	NoiseBins float64   // noise bandwidth of the window: the sum of Power over it is the mean square
	ShaftHz   float64   // 0: not looked for
	Unit      string    // of the microphone
}

// RegisterOutcomes adds outcomes of a program of one's own, before a configuration is
// read. A name that is known is an error.
func RegisterOutcomes(more ...SpectralOutcome) error {
	for _, o := range more {
		if slices.Contains(append(Outcomes(), ""), o.Name) || o.Column == "" || o.Value == nil {
			return fmt.Errorf("register outcome %q: expected Column, Value and a name other than %q", o.Name, Outcomes())
		}

		spectralOutcomes = append(spectralOutcomes, ownOutcome{&o})
	}

	return nil
}

// ownOutcome is a SpectralOutcome among those of the program.
type ownOutcome struct{ *SpectralOutcome }

func (o ownOutcome) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: o.Name, words: o.Description}
}

func (o ownOutcome) names(*Settings) []string   { return []string{o.Column} }
func (ownOutcome) check(*Settings, Fail)        {}
func (ownOutcome) fits(*Settings, float64, int) {}

func (o ownOutcome) add(m *sound) {
	var v Value
	for h, power := range m.power {
		y := o.Value(HalfSpectrum{power, m.binHz, m.noise, m.shaftHz[h], m.mic.Unit})
		unless(finite(y), fmt.Sprintf("channel %d, %s half", m.mic.Channel+1, halfName(h)), "a finite "+o.Description,
			fmt.Sprint(y), "")

		v.Y[h] = y
	}

	m.give(Outcome{Name: o.Column, Unit: o.Unit, Description: o.Description}, v)
}

package dsp

import (
	"fmt"
	"slices"
)

// RegisterConstructions adds constructions that another program implements. Call it before the
// configuration is read. It returns an error if a name is taken already; the constructions before
// that one stay registered.
func RegisterConstructions(more ...Construction) error {
	for _, c := range more {
		name := c.Describe().Name
		names := append(Constructions(), "table", "")
		if slices.Contains(names, name) {
			return fmt.Errorf("register construction %q: expected a name other than %q", name, names)
		}

		constructions = append(constructions, c)
	}

	return nil
}

// A SpectralOutcome is an outcome that another program implements. It is one number, in any unit,
// calculated from the mean spectrum of each half of a microphone's recording.
type SpectralOutcome struct {
	Name        string // in the configuration
	Column      string // in tables, ends in the unit: "centroid_hz"
	Unit        string
	Description string // for people: "spectral centroid"
	Version     int    // part of the keys of caches: raise it if the same input gives another result

	// Value returns the number, or an error if the spectrum cannot give it. A result that is
	// not finite counts as an error, too.
	Value func(h HalfSpectrum) (float64, error)
}

// HalfSpectrum is the mean spectrum of one half of a recording, or of the whole recording with the
// construction "repeats".
type HalfSpectrum struct {
	Power     []float64 // mean square of each bin, in the microphone's unit squared; do not change it
	BinHz     float64   // distance of two bins, Hz
	NoiseBins float64   // noise bandwidth of the window, bins: the mean square is sum(Power)/NoiseBins
	ShaftHz   float64   // shaft speed, rev/s; 0: not looked for
	Unit      string    // of the microphone
}

// RegisterOutcomes adds outcomes that another program implements. Call it before the configuration
// is read. It returns an error if a name or a column is taken already, or if Column or Value is missing; the
// outcomes before that one stay registered.
func RegisterOutcomes(more ...SpectralOutcome) error {
	for _, o := range more {
		if slices.Contains(append(Outcomes(), ""), o.Name) || o.Column == "" || o.Value == nil {
			return fmt.Errorf("register outcome %q: expected Column, Value and a name other than %q", o.Name, Outcomes())
		}

		hasColumn := func(known spectralOutcome) bool {
			own, isOwn := known.(ownOutcome)
			return isOwn && own.Column == o.Column
		}
		if slices.ContainsFunc(spectralOutcomes, hasColumn) {
			return fmt.Errorf("register outcome %q: another outcome has the column %s", o.Name, o.Column)
		}

		spectralOutcomes = append(spectralOutcomes, ownOutcome{&o})
	}

	return nil
}

// ownOutcome implements the internal interface spectralOutcome for a SpectralOutcome of another
// program.
type ownOutcome struct{ *SpectralOutcome }

func (o ownOutcome) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: o.Name, words: o.Description}
}

func (o ownOutcome) names(*Settings) []string         { return []string{o.Column} }
func (ownOutcome) check(*Settings, Fail)              {}
func (ownOutcome) fits(*Settings, float64, int) error { return nil }

func (o ownOutcome) add(m *sound) error {
	var v Value
	for h, power := range m.power {
		y, err := o.Value(HalfSpectrum{
			Power: power, BinHz: m.binHz, NoiseBins: m.noise, ShaftHz: m.shaftHz[h], Unit: m.mic.Unit,
		})
		if err != nil {
			return fmt.Errorf("outcome %s, %s: %w", o.Name, m.place(h), err)
		}

		if !finite(y) {
			return wrong(m.place(h), "a finite "+o.Description, fmt.Sprint(y), "")
		}

		v.Y[h] = y
	}

	m.give(Outcome{Name: o.Column, Unit: o.Unit, Description: o.Description}, v)

	return nil
}

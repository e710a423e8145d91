package dsp

import (
	"fmt"
	"math"
)

// harmonicLevels are the levels of the harmonics of a rotor's blade passing
// frequency (docs/method.md#split-half-spectra).
type harmonicLevels struct{}

// rotorKeys are the settings that outcomes of a rotor read.
var rotorKeys = []string{
	"harmonics", "tolerance", "min_bins", "amplitude", "speed", "track", "emergence_db", "censored",
}

func (harmonicLevels) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: "harmonics", words: "levels of harmonics", rotor: true}
}

func (harmonicLevels) names(s *Settings) (out []string) {
	for k := range s.Harmonics {
		out = append(out, harmonicName(k))
	}
	return s.levelNames(out...)
}

// harmonicName names harmonic k+1.
func harmonicName(k int) string { return fmt.Sprintf("bpf%d", k+1) }

func (harmonicLevels) fits(*Settings, float64, int) error { return nil } // newRotor does

func (harmonicLevels) check(s *Settings, fail Fail) {
	if s.Harmonics < 1 || s.Harmonics > maxHarmonics {
		fail("harmonics", "expected 1 to %d harmonics, found %d", maxHarmonics, s.Harmonics)
	}

	if !(s.Tolerance > 0 && s.Tolerance < maxTolerance) {
		fail("tolerance", "expected a relative tolerance between 0 and %g, found %v", maxTolerance, s.Tolerance)
	}

	if s.MinBins < 0 || s.MinBins > maxBins {
		fail("min_bins", "expected 0 to %d bins, found %d", maxBins, s.MinBins)
	}

	if t := s.Track; t != nil && (len(t.RangeHz) != 2 ||
		!(t.RangeHz[0] > 0 && t.RangeHz[0] < t.RangeHz[1] && t.RangeHz[1] <= maxShaftHz)) {
		fail("track", "expected range_hz: [from, to] with 0 < from < to, up to %g Hz, found %v", maxShaftHz, t.RangeHz)
	}
}

// outcome is the level of harmonic k+1.
func (harmonicLevels) outcome(m *sound, k int) Outcome {
	s, l := m.r.Settings, m.level
	o := Outcome{
		Name: harmonicName(k) + "_" + l.suffix, Unit: l.unit,
		Description: fmt.Sprintf("%s of harmonic %d of the blade passing frequency (%s)", l.meaning, k+1, s.Amplitude),
		ByProducts: []ByProduct{
			{Suffix: sufRho, Unit: "dB", Description: "line above the floor, per bin"},
			{Suffix: sufSD, Unit: "dB", Description: "predicted standard deviation of the level"},
			{Suffix: sufHz, Unit: "Hz", Description: "frequency of the line"},
			{Suffix: sufBound, Description: "the level is an upper bound", Bool: true},
		},
	}

	if m.mic.Background != nil {
		o.ByProducts = append(o.ByProducts,
			ByProduct{Suffix: sufBackground, Unit: l.unit, Description: "level of the background's recordings in the same " +
				"bins, not subtracted"})
	}

	o.ByProducts = append(o.ByProducts, ByProduct{
		Suffix: sufEmergent, Description: fmt.Sprintf("the line is %g dB above the floor over both halves together",
			s.EmergenceDB), Single: true, Bool: true,
	})

	if m.air != nil {
		o.ByProducts = append(o.ByProducts, ByProduct{Suffix: sufAir, Unit: "dB", Description: m.air.words()})
	}

	return o
}

func (c harmonicLevels) add(m *sound) error {
	ch := m.rotor.Channels[m.i]
	for k := range m.r.Settings.Harmonics {
		lines := [2]Line{ch.Halves[0].Lines[k], ch.Halves[1].Lines[k]}
		if m.repeats { // one value a run: both are it until runs are paired
			lines[0] = whole(lines, m.averages)
			lines[1] = lines[0]
		}

		emergent := 0.0
		if ch.Emergent[k] {
			emergent = 1
		}

		if m.pairs.Outcomes == nil { // else the first microphone gave them
			m.outcomes = append(m.outcomes, c.outcome(m, k))
		}

		m.values = append(m.values, c.value(m, k, lines, emergent))
	}

	return nil
}

// value is the pair of levels of harmonic k+1. It counts levels and adds flags.
func (harmonicLevels) value(m *sound, k int, lines [2]Line, emergent float64) Value {
	var v Value

	var rhoDB, sd, hz, bound, background, air [2]float64
	for h, l := range lines {
		if m.air != nil {
			air[h] = m.air.db(l.PeakHz)
		}

		v.Y[h] = m.level.value(l.Power * math.Pow(10, air[h]/10))
		rhoDB[h], sd[h], hz[h] = 10*math.Log10(l.Rho), l.SDdB, l.PeakHz
		m.pairs.Levels++

		if l.UpperBound {
			bound[h] = 1
			m.pairs.Bounds++
		}

		if m.mic.Background == nil {
			continue
		}

		lo, hi := l.Between(m.binHz, m.noise, m.r.Settings.Amplitude)
		b, tone, file := BackgroundBetween(m.mic.Background, lo, hi)
		background[h] = m.level.value(b * math.Pow(10, air[h]/10))

		if l.Power < b*math.Pow(10, NearBackgroundDB/10.) {
			m.pairs.Near++
		}

		if tone != nil && tone.MeanSquare > l.Power*math.Pow(10, -BackgroundToneDB/10.) {
			above := 10 * math.Log10(tone.MeanSquare/l.Power)
			m.pairs.Flags = append(m.pairs.Flags, Flag{
				Code: "background-tone", Channel: m.i, Statistic: above,
				Text: fmt.Sprintf("harmonic %d at %.5g Hz%s has a tone of the background (%s) at %.5g Hz in its bins, "+
					"%+.1f dB re the line: it is not subtracted", k+1, l.PeakHz, m.pairs.Members[h], file, tone.Hz, above),
			})
		}
	}

	v.ByProducts = append(make([][2]float64, 0, 7), rhoDB, sd, hz, bound)
	if m.mic.Background != nil {
		v.ByProducts = append(v.ByProducts, background)
	}

	v.ByProducts = append(v.ByProducts, [2]float64{emergent})
	if m.air != nil {
		v.ByProducts = append(v.ByProducts, air)
	}

	return v
}

package dsp

import (
	"fmt"
	"math"

	"doubletake/internal/lists"
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

func (harmonicLevels) names(s *Settings) []string {
	return s.levelNames(lists.Make(s.Harmonics, harmonicName)...)
}

// harmonicName names harmonic k+1.
func harmonicName(k int) string { return fmt.Sprintf("bpf%d", k+1) }

func (harmonicLevels) fits(*Settings, float64, int) {} // newRotor does

func (harmonicLevels) check(s *Settings, fail Fail) {
	fail.unless(s.Harmonics >= 1 && s.Harmonics <= 100, "harmonics", "expected 1 to 100 harmonics, found %d", s.Harmonics)
	fail.unless(s.Tolerance > 0 && s.Tolerance < 0.5, "tolerance",
		"expected a relative tolerance between 0 and 0.5, found %v", s.Tolerance)
	fail.unless(s.MinBins >= 0 && s.MinBins <= 1e6, "min_bins", "expected 0 to 1000000 bins, found %d", s.MinBins)

	if s.Track != nil {
		r := s.Track.RangeHz
		fail.unless(len(r) == 2 && r[0] > 0 && r[0] < r[1] && r[1] <= 1e5, "track",
			"expected range_hz: [from, to] with 0 < from < to, up to 100000 Hz, found %v", r)
	}
}

// lineLevel is a line with its emergence, the correction for the air and the share of the background.
type lineLevel struct {
	Line
	emergent              bool // over both halves
	airDB, backgroundPart float64
}

// lineByProduct is a by-product of the level of a line.
type lineByProduct struct {
	ByProduct
	value func(l *lineLevel) float64
}

func flag(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// byProducts of the levels of a microphone's lines.
func (harmonicLevels) byProducts(m *sound) []lineByProduct {
	var list []lineByProduct
	add := func(b ByProduct, value func(l *lineLevel) float64) { list = append(list, lineByProduct{b, value}) }
	add(ByProduct{Suffix: sufRho, Unit: "dB", Description: "line above the floor, per bin"},
		func(l *lineLevel) float64 { return 10 * math.Log10(l.Rho) })
	add(ByProduct{Suffix: sufSD, Unit: "dB", Description: "predicted standard deviation of the level"},
		func(l *lineLevel) float64 { return l.SDdB })
	add(ByProduct{Suffix: sufHz, Unit: "Hz", Description: "frequency of the line"},
		func(l *lineLevel) float64 { return l.PeakHz })
	add(ByProduct{Suffix: sufBound, Description: "the level is an upper bound", Bool: true},
		func(l *lineLevel) float64 { return flag(l.UpperBound) })

	if m.mic.Background != nil {
		words := "level of the background's recordings in the same bins, not subtracted"
		add(ByProduct{Suffix: sufBackground, Unit: m.level.unit, Description: words}, func(l *lineLevel) float64 {
			return m.level.value(l.backgroundPart * math.Pow(10, l.airDB/10))
		})
	}

	words := fmt.Sprintf("the line is %g dB above the floor over both halves together", m.r.Settings.EmergenceDB)
	add(ByProduct{Suffix: sufEmergent, Single: true, Bool: true, Description: words},
		func(l *lineLevel) float64 { return flag(l.emergent) })

	if m.air != nil {
		add(ByProduct{Suffix: sufAir, Unit: "dB", Description: m.air.words()},
			func(l *lineLevel) float64 { return l.airDB })
	}

	return list
}

func (c harmonicLevels) add(m *sound) {
	ch, list := m.rotor.Channels[m.i], c.byProducts(m)
	of := lists.Each(list, func(b lineByProduct) ByProduct { return b.ByProduct })

	for k := range m.r.Settings.Harmonics {
		lines := [2]Line{ch.Halves[0].Lines[k], ch.Halves[1].Lines[k]}
		if m.repeats { // one value a run: both are it until runs are paired
			lines[0] = whole(lines, m.averages)
			lines[1] = lines[0]
		}

		if m.pairs.Outcomes == nil { // else the first microphone gave them
			m.outcomes = append(m.outcomes, Outcome{
				Name: harmonicName(k) + "_" + m.level.suffix, Unit: m.level.unit, ByProducts: of,
				Description: fmt.Sprintf("%s of harmonic %d of the blade passing frequency (%s)", m.level.meaning, k+1,
					m.r.Settings.Amplitude),
			})
		}

		v := Value{ByProducts: make([][2]float64, len(list))}
		for h, l := range lines {
			level := c.level(m, k, h, l, ch.Emergent[k])
			v.Y[h] = m.level.value(l.Power * math.Pow(10, level.airDB/10))
			for i, b := range list {
				v.ByProducts[i][h] = b.value(&level)
			}
		}

		m.values = append(m.values, v)
	}
}

// level is the line of harmonic k+1 in half h. It counts levels and adds flags.
func (harmonicLevels) level(m *sound, k, h int, l Line, emergent bool) lineLevel {
	out := lineLevel{Line: l, emergent: emergent}
	m.pairs.Levels++

	if l.UpperBound {
		m.pairs.Bounds++
	}

	if m.air != nil {
		out.airDB = m.air.db(l.PeakHz)
	}

	if m.mic.Background == nil {
		return out
	}

	lo, hi := l.Between(m.binHz, m.noise, m.r.Settings.Amplitude)
	b, tone, file := BackgroundBetween(m.mic.Background, lo, hi)
	out.backgroundPart = b

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

	return out
}

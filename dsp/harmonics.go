package dsp

import (
	"fmt"
	"math"
)

// harmonicLevels makes the levels of the harmonics of a rotor's blade passing
// frequency (docs/method.md#split-half-spectra).
type harmonicLevels struct{}

// rotorKeys are the keys of the settings that every outcome with a shaft speed reads.
var rotorKeys = []string{
	"harmonics", "tolerance", "min_bins", "amplitude", "speed", "track", "emergence_db", "censored",
}

func (harmonicLevels) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: "harmonics", words: "levels of harmonics", rotor: true}
}

func (harmonicLevels) names(s *Settings) []string {
	var names []string
	for k := range s.Harmonics {
		names = append(names, harmonicName(k))
	}

	return s.levelNames(names...)
}

// harmonicName returns the name of harmonic k+1: "bpf1" for k = 0.
func harmonicName(k int) string { return fmt.Sprintf("bpf%d", k+1) }

func (harmonicLevels) fits(*Settings, float64, int) error { return nil } // newRotor checks it

func (harmonicLevels) check(s *Settings, fail Fail) {
	fail.unless(s.Harmonics >= 1 && s.Harmonics <= 100, "harmonics", "expected 1 to 100 harmonics, found %d", s.Harmonics)
	fail.unless(s.Tolerance > 0 && s.Tolerance < 0.5, "tolerance",
		"expected a relative tolerance between 0 and 0.5, found %v", s.Tolerance)
	fail.unless(s.MinBins >= 0 && s.MinBins <= 1e6, "min_bins", "expected 0 to 1000000 bins, found %d", s.MinBins)

	if s.Track != nil {
		r := s.Track.RangeHz
		fail.unless(isRange(r, 0, 1e5) && r[0] > 0 && r[0] < r[1], "track",
			"expected range_hz: [from, to] with 0 < from < to, up to 100000 Hz, found %v", r)
	}
}

// lineLevel is a line with the numbers behind its by-products.
type lineLevel struct {
	Line
	emergent       bool    // over both halves together
	airDB          float64 // correction for the air, dB; 0: none
	backgroundPart float64 // mean square of the background in the line's bins; 0: none recorded
}

// byProducts lists the by-products of the levels of a microphone's lines.
func (harmonicLevels) byProducts(m *sound) []ByProduct {
	list := []ByProduct{
		{Suffix: sufRho, Unit: "dB", Description: "line above the floor, per bin"},
		{Suffix: sufSD, Unit: "dB", Description: "predicted standard deviation of the level"},
		{Suffix: sufHz, Unit: "Hz", Description: "frequency of the line"},
		{Suffix: sufBound, Description: "the level is an upper bound", Bool: true},
	}

	if m.mic.Background != nil {
		list = append(list, ByProduct{
			Suffix: sufBackground, Unit: m.level.unit,
			Description: "level of the background's recordings in the same bins, " + m.subtractedWord(),
		})
	}

	list = append(list, ByProduct{
		Suffix: sufEmergent, Single: true, Bool: true,
		Description: fmt.Sprintf("the line is %g dB above the floor over both halves together", m.r.Settings.EmergenceDB),
	})

	if m.air != nil {
		list = append(list, ByProduct{Suffix: sufAir, Unit: "dB", Description: m.air.words()})
	}

	return list
}

// byProduct returns the value of the by-product with that suffix, or an error for another suffix.
func (l *lineLevel) byProduct(suffix string, level *leveler) (float64, error) {
	switch suffix {
	case sufRho:
		return 10 * math.Log10(l.Rho), nil
	case sufSD:
		return l.SDdB, nil
	case sufHz:
		return l.PeakHz, nil
	case sufBound:
		return flag(l.UpperBound), nil
	case sufBackground:
		return level.value(l.backgroundPart * math.Pow(10, l.airDB/10)), nil
	case sufEmergent:
		return flag(l.emergent), nil
	case sufAir:
		return l.airDB, nil
	default:
		return 0, fmt.Errorf("find by-product of a line: expected a known suffix, found %q", suffix)
	}
}

// flag returns 1 for true and 0 for false.
func flag(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func (c harmonicLevels) add(m *sound) error {
	ch := m.rotor.Channels[m.i]
	byProducts := c.byProducts(m)

	for k := range m.r.Settings.Harmonics {
		lines := [2]Line{ch.Halves[0].Lines[k], ch.Halves[1].Lines[k]}
		if m.repeats { // the one value of the run stands for both until the runs are paired
			both := whole(lines, m.averages)
			lines = [2]Line{both, both}
		}

		if m.pairs.Outcomes == nil { // otherwise they are known from the first microphone
			m.outcomes = append(m.outcomes, Outcome{
				Name: harmonicName(k) + "_" + m.level.suffix, Unit: m.level.unit, ByProducts: byProducts,
				Description: fmt.Sprintf("%s of harmonic %d of the blade passing frequency (%s)", m.level.meaning, k+1,
					m.r.Settings.Amplitude),
			})
		}

		v := Value{ByProducts: make([][2]float64, len(byProducts))}
		for h, l := range lines {
			line := c.level(m, k, h, l, ch.Emergent[k])
			v.Y[h] = m.level.value(line.Power * math.Pow(10, line.airDB/10))
			for i, b := range byProducts {
				value, err := line.byProduct(b.Suffix, &m.level)
				if err != nil {
					return err
				}

				v.ByProducts[i][h] = value
			}
		}

		m.values = append(m.values, v)
	}

	return nil
}

// level returns the line of harmonic k+1 in half h, with its correction for the air and the part of the background in
// it. If the run wants it, level subtracts the background.
//
// level also changes m.pairs. It counts the level in Levels, in Bounds if it is an upper bound, and in Near if it is
// near the background. If the background has a tone in the line's bins that may move the level, level appends a flag.
// With repeats both halves have the same level, and only half 0 is counted and flagged.
func (harmonicLevels) level(m *sound, k, h int, l Line, emergent bool) lineLevel {
	line := lineLevel{Line: l, emergent: emergent}
	if m.air != nil {
		line.airDB = m.air.db(l.PeakHz)
	}

	var tone *Tone
	file := ""
	isNear := false
	if m.mic.Background != nil {
		lo, hi := l.Between(m.binHz, m.noise, m.r.Settings.Amplitude)
		line.backgroundPart, tone, file = BackgroundBetween(m.mic.Background, lo, hi)
		isNear = l.Power < line.backgroundPart*math.Pow(10, NearBackgroundDB/10.)
		m.subtractLine(&line, lo, hi)
	}

	if !m.counts(h) {
		return line
	}

	m.pairs.count(line.UpperBound, isNear)
	if tone != nil && tone.MeanSquare > l.Power*math.Pow(10, -BackgroundToneDB/10.) {
		member := m.pairs.Members[h]
		if m.repeats {
			member = ""
		}

		above := 10 * math.Log10(tone.MeanSquare/l.Power)
		m.pairs.Flags = append(m.pairs.Flags, Flag{
			Code: "background-tone", Channel: m.i, Statistic: above,
			Text: fmt.Sprintf("harmonic %d at %.5g Hz%s has a tone of the background (%s) at %.5g Hz in its bins, "+
				"%+.1f dB re the line: it is %s", k+1, l.PeakHz, member, file, tone.Hz, above, m.subtractedWord()),
		})
	}

	return line
}

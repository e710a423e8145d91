package dsp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// bandLevels makes the levels of fractional octaves, or of the bands in Settings.Bands
// (docs/method.md#bands). It needs a shaft speed only if Settings.Bands are shaft orders.
type bandLevels struct{}

// bandKeys are the settings that select bands.
var bandKeys = []string{"bands_hz", "bands_per_octave", "bands", "bands_unit"}

// perOctave returns the number of bands per octave.
func (s *Settings) perOctave() int {
	return cmp.Or(s.BandsPerOctave, 3)
}

func (bandLevels) describe(s *Settings) outcomeFacts {
	facts := outcomeFacts{name: "bands", words: octaveWord(s.perOctave()) + " levels", settings: bandKeys}
	if len(s.Bands) > 0 {
		facts.words = "levels of bands"
		facts.rotor = s.BandsUnit == "orders"
	}

	return facts
}

func (bandLevels) check(s *Settings, fail Fail) {
	r := s.BandsHz
	fail.unless(len(r) == 0 || isRange(r, 10, maxBandHz), "bands_hz",
		"expected [from, to] with 10 <= from <= to <= %g, found %v", maxBandHz, r)
	fail.unless(octaveWord(s.perOctave()) != "", "bands_per_octave", "expected 1, 3, 6 or 12, found %d", s.BandsPerOctave)

	for i, b := range s.Bands {
		fail.unless(isRange(b, 0, maxBandHz) && b[0] < b[1], "bands",
			"expected [[lo, hi], …] with 0 <= lo < hi <= %g, found %v", maxBandHz, b)

		isTwin := func(earlier []float64) bool { return slices.Equal(earlier, b) }
		fail.unless(!slices.ContainsFunc(s.Bands[:i], isTwin), "bands", "%v is named twice", b)
	}

	fail.unless(s.BandsUnit != "orders" || len(s.Bands) > 0, "bands_unit",
		"is the unit of bands, and there are none: expected bands: [[lo, hi], …]")
	fail.unless(len(s.Bands) == 0 || len(r) == 0, "bands_hz",
		"selects fractional octaves; bands lists bands of your own: keep one of them")
}

// namedBand is a band with its names.
type namedBand struct {
	Band         // in Hz, or in shaft orders
	name  string // middle of its column's name: "125hz"
	words string // for people: "octave band of 125 Hz"
}

func (bandLevels) fits(s *Settings, binHz float64, bins int) error {
	_, err := wantedBands(s, binHz, bins)
	return err
}

// wantedBands lists the bands of the settings. It returns a *fault.Error for a band that a
// spectrum of that many bins, binHz apart, does not resolve. It does not check bands in shaft
// orders, as their frequencies depend on the speed of the run.
func wantedBands(s *Settings, binHz float64, bins int) ([]namedBand, error) {
	if len(s.Bands) == 0 {
		return octaveBands(s, binHz, bins)
	}

	list := ownBands(s)
	if s.BandsUnit == "orders" {
		return list, nil
	}

	for _, b := range list {
		if err := unresolved(b.Band, binHz, bins, 1, b.words, "change bands"); err != nil {
			return nil, err
		}
	}

	return list, nil
}

// ownBands lists the bands of Settings.Bands with their names.
func ownBands(s *Settings) []namedBand {
	unit := "Hz"
	unitSuffix := "hz"
	if s.BandsUnit == "orders" {
		unit = "shaft orders"
		unitSuffix = "so"
	}

	var list []namedBand
	for _, b := range s.Bands {
		lo := decimal(b[0])
		hi := decimal(b[1])
		list = append(list, namedBand{
			Band:  Band{b[0], (b[0] + b[1]) / 2, b[1]},
			name:  lo + "to" + hi + unitSuffix,
			words: fmt.Sprintf("band from %s to %s %s", lo, hi, unit),
		})
	}

	return list
}

// octaveBands lists the fractional octaves with nominal mid-frequencies in BandsHz. It returns a
// *fault.Error if a spectrum of that many bins, binHz apart, does not resolve one of them. If
// BandsHz is empty, octaveBands lists all fractional octaves from 10 Hz on that the spectrum
// resolves.
func octaveBands(s *Settings, binHz float64, bins int) ([]namedBand, error) {
	perOctave := s.perOctave()
	lowest := 10.0
	highest := math.Inf(1)
	if len(s.BandsHz) == 2 {
		lowest = s.BandsHz[0]
		highest = s.BandsHz[1]
	}

	// Band 0 is at 1 kHz: the loop goes from 7 octaves below to 10 octaves above.
	var list []namedBand
	for x := -7 * perOctave; x <= 10*perOctave; x++ {
		nominal := nominalHz(perOctave, x)
		if nominal < lowest || nominal > highest {
			continue
		}

		b := FractionalOctave(perOctave, x)
		if err := unresolved(b, binHz, bins, 2, fmt.Sprintf("band of %g Hz", nominal), "narrow bands_hz"); err != nil {
			if len(s.BandsHz) > 0 {
				return nil, err
			}

			continue
		}

		list = append(list, namedBand{
			Band: b, name: decimal(nominal) + "hz",
			words: octaveWord(perOctave) + " band of " + decimal(nominal) + " Hz",
		})
	}

	if len(list) == 0 {
		return nil, wrong("", "a "+octaveWord(perOctave)+" band",
			fmt.Sprintf("none in bands_hz: %v that bins of %s Hz resolve", s.BandsHz, fault.Digits(binHz, 4)),
			"widen bands_hz, or record longer")
	}

	return list, nil
}

// decimal writes a number without exponent.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// names lists the names of all bands of the settings, whether or not a spectrum resolves them.
func (bandLevels) names(s *Settings) []string {
	list := ownBands(s)
	if len(list) == 0 {
		// BandsHz contains no band. List all octave bands, as if the bins were very fine and very many, and let
		// fits report the error.
		list, _ = octaveBands(s, 1e-9, math.MaxInt)
	}

	var columns []string
	for _, b := range list {
		columns = append(columns, b.column())
	}

	return s.levelNames(columns...)
}

// column returns the name of the band's level without its suffix, which levelNames adds.
func (b namedBand) column() string { return "l_" + strings.ReplaceAll(b.name, ".", "_") }

func (bandLevels) add(m *sound) error {
	s := m.r.Settings
	list, err := wantedBands(s, m.binHz, len(m.power[0]))
	if err != nil {
		return err
	}

	for _, b := range list {
		both := [2]Band{b.Band, b.Band} // of each half, in Hz
		if len(s.Bands) > 0 && s.BandsUnit == "orders" {
			for h, hz := range m.shaftHz {
				both[h] = Band{b.Lo * hz, b.Centre * hz, b.Hi * hz}
				if err := unresolved(both[h], m.binHz, len(m.power[h]), 1, b.words, "change bands"); err != nil {
					return err
				}
			}
		}

		if err := m.add(b.column(), b.words, both, m.sum(both, nil)); err != nil {
			return err
		}
	}

	return nil
}

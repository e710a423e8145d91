package dsp

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// bandLevels are the levels of fractional octaves or of bands of one's own
// (docs/method.md#bands). They need no rotor, unless bands are in shaft orders.
type bandLevels struct{}

// bandKeys are the settings that select bands.
var bandKeys = []string{"bands_hz", "bands_per_octave", "bands", "bands_unit"}

// perOctave is the number of bands of an octave.
func (s *Settings) perOctave() int {
	return cmp.Or(s.BandsPerOctave, 3)
}

func (bandLevels) describe(s *Settings) outcomeFacts {
	if len(s.Bands) > 0 {
		return outcomeFacts{"bands", "levels of bands", bandKeys, s.BandsUnit == "orders"}
	}
	return outcomeFacts{"bands", octaveWord(s.perOctave()) + " levels", bandKeys, false}
}

func (bandLevels) check(s *Settings, fail Fail) {
	r := s.BandsHz
	fail.unless(len(r) == 0 || len(r) == 2 && r[0] >= 10 && r[0] <= r[1] && r[1] <= maxBandHz, "bands_hz",
		"expected [from, to] with 10 <= from <= to <= %g, found %v", maxBandHz, r)
	fail.unless(octaveWord(s.perOctave()) != "", "bands_per_octave", "expected 1, 3, 6 or 12, found %d", s.BandsPerOctave)

	for _, b := range s.Bands {
		fail.unless(len(b) == 2 && b[0] >= 0 && b[0] < b[1] && b[1] <= maxBandHz, "bands",
			"expected [[lo, hi], …] with 0 <= lo < hi <= %g, found %v", maxBandHz, b)
	}

	fail.unless(s.BandsUnit != "orders" || len(s.Bands) > 0, "bands_unit",
		"is the unit of bands, and there are none: expected bands: [[lo, hi], …]")
	fail.unless(len(s.Bands) == 0 || len(r) == 0, "bands_hz",
		"selects fractional octaves; bands lists bands of your own: keep one of them")
}

// namedBand is a band with the middle of its outcome's name.
type namedBand struct {
	Band        // in Hz, or in shaft orders
	name, words string
}

func (bandLevels) fits(s *Settings, binHz float64, bins int) { fault.Get(wantedBands(s, binHz, bins)) }

// wantedBands lists the bands of the settings. Of fractional octaves these are those
// with nominal mid-frequencies in BandsHz, else those that the spectrum resolves. A
// band that it does not resolve is an *Error.
func wantedBands(s *Settings, binHz float64, bins int) (out []namedBand, err error) {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, b := range s.Bands {
		n := namedBand{Band: Band{b[0], (b[0] + b[1]) / 2, b[1]}}
		n.name = text(b[0]) + "to" + text(b[1])
		n.words = fmt.Sprintf("band from %s to %s ", text(b[0]), text(b[1]))
		if s.BandsUnit == "orders" { // resolved or not by the speed of a run
			n.name, n.words = n.name+"so", n.words+"shaft orders"
		} else {
			n.name, n.words = n.name+"hz", n.words+"Hz"
			err = cmp.Or(err, unresolved(n.Band, binHz, bins, 1, n.words, "change bands"))
		}

		out = append(out, n)
	}

	if err != nil || len(out) > 0 {
		return out, err
	}

	per, from, to := s.perOctave(), 10.0, math.Inf(1)
	if len(s.BandsHz) == 2 {
		from, to = s.BandsHz[0], s.BandsHz[1]
	}

	for x := -7 * per; x <= 10*per; x++ {
		b, nominal := FractionalOctave(per, x), nominalHz(per, x)
		not := unresolved(b, binHz, bins, 2, fmt.Sprintf("band of %g Hz", nominal), "narrow bands_hz")
		switch {
		case nominal < from, nominal > to, not != nil && len(s.BandsHz) == 0:
		case not == nil:
			out = append(out, namedBand{b, text(nominal) + "hz", octaveWord(per) + " band of " + text(nominal) +
				" Hz"})
		default:
			return nil, not
		}
	}

	if len(out) == 0 {
		return nil, wrong("", "a "+octaveWord(per)+" band",
			fmt.Sprintf("none in bands_hz: %v that bins of %.4g Hz resolve", s.BandsHz, binHz),
			"widen bands_hz, or record longer")
	}

	return out, nil
}

// names lists the bands that a spectrum of any resolution has.
func (bandLevels) names(s *Settings) []string {
	list, _ := wantedBands(s, 1e-9, math.MaxInt64)
	return s.levelNames(lists.Each(list, namedBand.column)...)
}

// column is the name of the band's level, without the end that leveler adds.
func (b namedBand) column() string { return "l_" + strings.ReplaceAll(b.name, ".", "_") }

func (bandLevels) add(m *sound) {
	for _, b := range fault.Get(wantedBands(m.r.Settings, m.binHz, len(m.power[0]))) {
		both := [2]Band{b.Band, b.Band}
		if len(m.r.Settings.Bands) > 0 && m.r.Settings.BandsUnit == "orders" {
			for h, hz := range m.shaftHz {
				both[h] = Band{b.Lo * hz, b.Centre * hz, b.Hi * hz}
				fault.Raise(unresolved(both[h], m.binHz, len(m.power[h]), 1, b.words, "change bands"))
			}
		}

		m.add(b.column(), b.words, m.sum(both, nil))
	}
}

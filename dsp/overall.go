package dsp

import (
	"math"
	"slices"
	"strings"
)

// overallLevel makes the level of the sum over a range of frequencies, one for each weighting in
// Settings.Weighting (docs/method.md#overall-levels).
type overallLevel struct{}

func (overallLevel) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: "overall", words: "overall level", settings: []string{"overall_hz", "weighting"}}
}

func (overallLevel) names(s *Settings) []string { return s.weightedNames("oaspl") }

func (overallLevel) check(s *Settings, fail Fail) {
	r := s.OverallHz
	isBand := isRange(r, 0, maxBandHz) && r[0] < r[1]
	fail.unless(len(r) == 0 || isBand, "overall_hz",
		"expected [from, to] with 0 <= from < to <= %g, found %v", maxBandHz, r)

	for i, w := range s.Weighting {
		if !slices.Contains([]string{"Z", "A", "C"}, w) {
			fail("weighting", "expected Z, A or C, found %q", w)
		} else if slices.Contains(s.Weighting[:i], w) {
			fail("weighting", "%s is named twice", w)
		}
	}
}

func (overallLevel) fits(s *Settings, binHz float64, bins int) error {
	return unresolved(overallBand(s, binHz, bins), binHz, bins, 1, "overall_hz", "change overall_hz")
}

// overallBand returns the range of the sum for a spectrum of that many bins, binHz apart: OverallHz, or all bins. Bin 0
// is left out of both. Centre is not set.
func overallBand(s *Settings, binHz float64, bins int) Band {
	b := Band{Lo: binHz / 2, Hi: binHz * (float64(bins) - 0.5)}
	if len(s.OverallHz) == 2 {
		b.Lo = max(b.Lo, s.OverallHz[0])
		b.Hi = s.OverallHz[1]
	}

	return b
}

func (overallLevel) add(m *sound) error {
	b := overallBand(m.r.Settings, m.binHz, len(m.power[0]))
	for _, w := range m.weightings() {
		bands := [2]Band{b, b}
		if err := m.add("oaspl"+w.suffix, "sum"+w.words, bands, m.sum(bands, w.gain)); err != nil {
			return err
		}
	}

	return nil
}

// weightingNames returns the names of the weightings of the settings. "Z" is the name for no weighting.
func (s *Settings) weightingNames() []string {
	if len(s.Weighting) == 0 {
		return []string{"Z"}
	}
	return s.Weighting
}

// weightingSuffix returns the end that a weighting gives the names of columns: "_a", "_c" or nothing.
func weightingSuffix(w string) string {
	if w == "Z" {
		return ""
	}
	return "_" + strings.ToLower(w)
}

// weightedNames returns the names of levels under each weighting of the settings.
func (s *Settings) weightedNames(names ...string) []string {
	var weighted []string
	for _, w := range s.weightingNames() {
		for _, n := range names {
			weighted = append(weighted, n+weightingSuffix(w))
		}
	}

	return s.levelNames(weighted...)
}

// weighting is a frequency weighting of a microphone's spectrum.
type weighting struct {
	suffix string    // by weightingSuffix
	words  string    // end of descriptions, with the range of frequencies
	gain   []float64 // factor of each bin's power; nil: 1
}

// weightings returns the weightings of the settings, with gains for the bins of m.
func (m *sound) weightings() []weighting {
	words := " over all frequencies"
	if len(m.r.Settings.OverallHz) == 2 {
		words = " over the frequencies of overall_hz"
	}

	var list []weighting
	for _, name := range m.r.Settings.weightingNames() {
		w := weighting{suffix: weightingSuffix(name), words: words}
		if name != "Z" {
			w.words += ", weighted by " + name
			w.gain = make([]float64, len(m.power[0]))
			for k := range w.gain {
				w.gain[k] = math.Pow(10, WeightingDB(name, float64(k)*m.binHz)/10)
			}
		}

		list = append(list, w)
	}

	return list
}

// WeightingDB returns the frequency weighting A or C of IEC 61672-1 in dB, and 0 for any
// other name. It uses the analogue formula with the poles f1 … f4 of annex E, and is 0 dB at 1 kHz. At
// 0 Hz it returns −Inf.
func WeightingDB(weighting string, hz float64) float64 {
	const f1, f2, f3, f4 = 20.598997, 107.65265, 737.86223, 12194.217 // Hz

	// a and c return the amplitude of A and C up to a factor, with q the squared frequency.
	c := func(q float64) float64 { return q / ((q + f1*f1) * (q + f4*f4)) }
	a := func(q float64) float64 { return c(q) * q / math.Sqrt((q+f2*f2)*(q+f3*f3)) }
	switch weighting {
	case "A":
		return 20 * math.Log10(a(hz*hz)/a(1e6))
	case "C":
		return 20 * math.Log10(c(hz*hz)/c(1e6))
	}

	return 0
}

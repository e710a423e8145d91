package dsp

import (
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// overallLevel is the level of the sum over a range of frequencies, weighted or
// not (docs/method.md#overall-levels). It needs no rotor.
type overallLevel struct{}

func (overallLevel) describe(*Settings) outcomeFacts {
	return outcomeFacts{name: "overall", words: "overall level", settings: []string{"overall_hz", "weighting"}}
}

func (overallLevel) names(s *Settings) []string { return s.weightedNames("oaspl") }

func (overallLevel) check(s *Settings, fail Fail) {
	r := s.OverallHz
	fail.unless(len(r) == 0 || len(r) == 2 && r[0] >= 0 && r[0] < r[1] && r[1] <= maxBandHz, "overall_hz",
		"expected [from, to] with 0 <= from < to <= %g, found %v", maxBandHz, r)

	for i, w := range s.Weighting {
		if !slices.Contains([]string{"Z", "A", "C"}, w) {
			fail("weighting", "expected Z, A or C, found %q", w)
		} else if slices.Contains(s.Weighting[:i], w) {
			fail("weighting", "%s is named twice", w)
		}
	}
}

func (overallLevel) fits(s *Settings, binHz float64, bins int) {
	fault.Raise(unresolved(overallBand(s, binHz, bins), binHz, bins, 1, "overall_hz", "change overall_hz"))
}

// overallBand is the range of the sum: all bins but the first where the settings
// name none.
func overallBand(s *Settings, binHz float64, bins int) Band {
	b := Band{Lo: binHz / 2, Hi: binHz * (float64(bins) - 0.5)}
	if len(s.OverallHz) == 2 {
		b.Lo, b.Hi = max(b.Lo, s.OverallHz[0]), s.OverallHz[1]
	}

	return b
}

func (overallLevel) add(m *sound) {
	b := overallBand(m.r.Settings, m.binHz, len(m.power[0]))
	m.weighted(func(suffix, words string, gain []float64) {
		m.add("oaspl"+suffix, "sum"+words, m.sum([2]Band{b, b}, gain))
	})
}

// weightings are those of the settings; Z is none.
func (s *Settings) weightings() []string {
	if len(s.Weighting) == 0 {
		return []string{"Z"}
	}
	return s.Weighting
}

// weightingSuffix is the end of a name for a weighting.
func weightingSuffix(w string) string {
	if w == "Z" {
		return ""
	}
	return "_" + strings.ToLower(w)
}

func (s *Settings) weightedNames(names ...string) (out []string) {
	for _, w := range s.weightings() {
		out = append(out, lists.Each(names, func(n string) string { return n + weightingSuffix(w) })...)
	}

	return s.levelNames(out...)
}

// weighted calls f for each weighting of the settings with the gain of each bin,
// nil for 1, and ends of names and descriptions.
func (m *sound) weighted(f func(suffix, words string, gain []float64)) {
	for _, w := range m.r.Settings.weightings() {
		suffix, words, gain := weightingSuffix(w), " over all frequencies", []float64(nil)
		if r := m.r.Settings.OverallHz; len(r) == 2 {
			words = " over the frequencies of overall_hz"
		}

		if w != "Z" {
			words += ", weighted by " + w

			gain = lists.Make(len(m.power[0]), func(k int) float64 {
				return math.Pow(10, WeightingDB(w, float64(k)*m.binHz)/10)
			})
		}

		f(suffix, words, gain)
	}
}

// WeightingDB is the frequency weighting A or C of IEC 61672-1 in dB, 0 of any
// other: the analogue formula with the poles of its annex E, 0 dB at 1 kHz. It is
// −Inf at 0 Hz.
func WeightingDB(weighting string, hz float64) float64 {
	const f1, f2, f3, f4 = 20.598997, 107.65265, 737.86223, 12194.217
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

package dsp

import (
	"fmt"
	"math"
)

// Settings are the settings of all constructions. Start with DefaultSettings: the zero value is not
// usable, as 0 is a setting of its own for most fields. In a field with the tag zero:"unset", 0 means
// that the key is not given, and configuration files may not contain 0. The other tags are for
// configuration files, too: key is the setting's name, enum lists its values. The comments of the
// fields are the documentation of the keys for users.
type Settings struct {
	// microphones: harmonics, bands (fractional octaves or bands of your own), overall (weighted sums),
	// broadband (the sum without the lines of the shaft's orders, and these lines); not given: harmonics, of
	// split-half-bands bands. Balances, with split-halves and repeats: mean, rms, bands; not given: mean. Any
	// of
	Outcomes []string `key:"outcomes" of:"outcomes"`

	// spectra: segments per half
	Segments int `key:"segments"`

	// spectra: instead of segments: the length of a segment in s; as many as fit
	SegmentS float64 `key:"segment_s" omit:"zero" zero:"unset"`

	// spectra: instead of segments: the distance of two bins in Hz, 1 over the length of a segment
	ResolutionHz float64 `key:"resolution_hz" omit:"zero" zero:"unset"`

	// spectra: share of a segment that the next one has too, up to 0.75, within a half; not given: 0
	Overlap float64 `key:"overlap" omit:"zero"`

	// spectra: window (periodic)
	Window string `key:"window" enum:"hann|hamming|blackman|flattop"`

	// spectra: harmonics of the blade passing frequency
	Harmonics int `key:"harmonics"`

	// spectra: half-width of the search around a harmonic, relative to its frequency: 0.03 is 3 %
	Tolerance float64 `key:"tolerance"`

	// spectra: smallest half-width of the search in bins
	MinBins int `key:"min_bins"`

	// spectra: band sums the bins of a line above the floor, peak takes the largest bin, synchronous averages
	// over the shaft's angle by the tachometer
	Amplitude string `key:"amplitude" enum:"band|peak|synchronous"`

	// spectra: dB re 20 uPa when calibrated (dBFS when not), or the mean square
	Output string `key:"output" enum:"dB|power"`

	// spectra: refine finds the shaft speed near the condition rpm from the lines of each half, nominal uses
	// rpm
	Speed string `key:"speed" enum:"refine|nominal"`

	// spectra: find the shaft speed in the sound
	Track *Track `key:"track"`

	// spectra: a line at least this many dB above the floor is emergent; the level of a weaker one is marked
	// as an upper bound
	EmergenceDB float64 `key:"emergence_db"`

	// spectra: recordings with a line that is not emergent are kept and flagged, or dropped and counted
	Censored string `key:"censored" enum:"keep|drop"`

	// spectra: levels are normalised from one distance to another (20 lg r/r0)
	Distance *Distance `key:"distance"`

	// spectra: levels are corrected to this atmosphere (ISO 9613-1) from that of the conditions temperature_c,
	// humidity_pct and, if given, pressure_pa
	Atmosphere *Atmosphere `key:"atmosphere"`

	// bands: nominal mid-frequencies [from, to] in Hz of fractional octaves; not given: all that the spectrum
	// resolves
	BandsHz []float64 `key:"bands_hz"`

	// bands: fractional octaves 1/1, 1/3, 1/6 or 1/12, as 1, 3, 6 or 12; not given: 3
	BandsPerOctave int `key:"bands_per_octave" omit:"zero" zero:"unset"`

	// bands: instead of fractional octaves your own, [[lo, hi], …]
	Bands [][]float64 `key:"bands"`

	// bands: unit of bands: Hz, or orders of the shaft's frequency; not given: Hz
	BandsUnit string `key:"bands_unit" enum:"Hz|orders"`

	// overall, broadband: frequencies [from, to] in Hz of the sum; not given: all above 0 Hz
	OverallHz []float64 `key:"overall_hz"`

	// overall, broadband: a list of Z (none), A and C (IEC 61672-1), an outcome for each; not given: Z
	Weighting []string `key:"weighting"`

	// random-samples: triplets per run; twice as many samples are drawn
	Samples int `key:"samples"`

	// balance: chord in m; with span_m forces become coefficients
	ChordM float64 `key:"chord_m" zero:"unset"`

	// balance: span in m
	SpanM float64 `key:"span_m" zero:"unset"`

	// balance: air density in kg/m3
	DensityKgM3 float64 `key:"density_kg_m3" zero:"unset"`

	// balance: air temperature in °C, with pressure_pa instead of the density
	TemperatureC float64 `key:"temperature_c"`

	// balance: static pressure in Pa
	PressurePa float64 `key:"pressure_pa" zero:"unset"`

	// random-samples: seed of the draw
	Seed uint64 `key:"seed" default:"0"`
}

// Track is a range to find the shaft speed in.
type Track struct {
	// shaft frequency from, to in Hz (rev/s)
	RangeHz []float64 `key:"range_hz"`
}

// Distance normalises levels.
type Distance struct {
	// distance of the microphones in m
	FromM float64 `key:"from_m"`

	// distance of the normalised levels in m
	ToM float64 `key:"to_m"`
}

// DefaultSettings returns the settings of a configuration without any keys.
func DefaultSettings() Settings {
	return Settings{
		Segments: 8, Window: DefaultWindow, Harmonics: 5, Tolerance: 0.03, MinBins: 2, Amplitude: "band", Output: "dB",
		Speed: "refine", EmergenceDB: 6, Censored: "keep", Samples: 250,
	}
}

// Limits that several settings share: values beyond them are mistakes.
const (
	maxBandHz    = 1e6
	minAirC      = -73
	maxAirC      = 100
	minAirPa     = 1e4
	maxAirPa     = 2e5
	maxDistanceM = 1e6
)

// CheckSettings calls fail for every setting outside its limits, whichever construction reads it.
// Constructions that share a setting report the same fault: CheckSettings passes it on once. It does not
// check settings with the tag enum, whose values the reader of a configuration file checks.
func CheckSettings(s *Settings, fail Fail) {
	type report struct{ key, text string }

	seen := map[report]bool{}
	failOnce := func(key, format string, args ...any) {
		r := report{key, fmt.Sprintf(format, args...)}
		if !seen[r] {
			seen[r] = true
			fail(key, "%s", r.text)
		}
	}

	for _, c := range constructions {
		c.Check(s, failOnce)
	}
}

// checkSpectra checks the settings that every OfSpectra reads.
func (s *Settings) checkSpectra(fail Fail) {
	fail.unless(s.Segments >= 2 && s.Segments <= 1e6, "segments", "expected 2 to 1000000 segments, found %d", s.Segments)
	fail.unless(s.SegmentS >= 0 && s.SegmentS <= 1e4, "segment_s", "expected a length above 0 and up to 10000 s, found %g",
		s.SegmentS)
	fail.unless(s.ResolutionHz >= 0 && s.ResolutionHz <= 1e6, "resolution_hz",
		"expected a distance of bins above 0 and up to 1e+06 Hz, found %g", s.ResolutionHz)
	fail.unless(s.Overlap >= 0 && s.Overlap <= 0.75, "overlap", "expected a share from 0 to 0.75, found %g", s.Overlap)
	s.Atmosphere.check(s, fail)
	fail.unless(math.Abs(s.EmergenceDB) <= 1000, "emergence_db", "expected a level from -1000 to 1000 dB, found %g",
		s.EmergenceDB)

	if d := s.Distance; d != nil {
		checkDistance("distance.from_m", d.FromM, fail)
		checkDistance("distance.to_m", d.ToM, fail)
	}
}

// checkDistance calls fail unless a distance of m metres is above 0 and plausible.
func checkDistance(key string, m float64, fail Fail) {
	fail.unless(m > 0 && m <= maxDistanceM, key, "expected a distance above 0 and up to %g m, found %g", maxDistanceM, m)
}

// averagingKeys are the keys of the settings of segments and windows.
var averagingKeys = []string{"segments", "segment_s", "resolution_hz", "overlap", "window"}

// segLen returns the length of a segment in samples, or 0 if the settings give the number of
// segments instead.
func (s *Settings) segLen(rateHz float64) int {
	switch {
	case s.SegmentS > 0:
		return max(1, int(math.Round(s.SegmentS*rateHz)))
	case s.ResolutionHz > 0:
		return max(1, int(math.Round(rateHz/s.ResolutionHz)))
	}

	return 0
}

// loadSettings lists the keys of the settings that turn the channels of a balance into series,
// before a construction takes these.
var loadSettings = []string{"chord_m", "span_m", "density_kg_m3", "temperature_c", "pressure_pa"}

// checkLoads checks the settings that loadSettings lists.
func (s *Settings) checkLoads(fail Fail) {
	fail.unless((s.ChordM > 0) == (s.SpanM > 0), "", "chord_m and span_m make coefficients together; only one is given")

	for _, v := range []struct {
		key, unit string
		value, hi float64
	}{
		{"chord_m", "m", s.ChordM, 1000},
		{"span_m", "m", s.SpanM, 1000},
		{"density_kg_m3", "kg/m3", s.DensityKgM3, 1e4},
		{"pressure_pa", "Pa", s.PressurePa, 1e9},
	} {
		fail.unless(v.value >= 0 && v.value <= v.hi, v.key, "expected a number above 0 and up to %g %s, found %g", v.hi,
			v.unit, v.value)
	}

	fail.unless(s.TemperatureC >= -273 && s.TemperatureC <= 1e4, "temperature_c", "expected -273 to 10000 °C, found %g",
		s.TemperatureC)
	fail.unless(s.PressurePa == 0 || s.DensityKgM3 == 0, "density_kg_m3",
		"the density is given twice: here, and by temperature_c and pressure_pa")
}

package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// constructions are all there are. A new one is a file and a line here; a program of one's
// own registers further ones.
var constructions = []Construction{
	randomSamples{},
	splitHalves{},
	halfSpectra{name: "split-half-spectrum", standard: "harmonics", version: 2},
	halfSpectra{name: "split-half-bands", standard: "bands", version: 3},
	halfSpectra{name: "repeats", standard: "harmonics", repeats: true, version: 2},
	repeatedMeans{},
}

// A Construction makes pairs of outcomes (y1, y2) of the runs of a campaign. It
// is an OfSpectra or an OfSeries.
type Construction interface {
	// Describe returns the facts about the construction.
	Describe() Description
	// Check calls fail for every setting outside its limits that Pairs reads.
	Check(s *Settings, fail Fail)
}

// OfSpectra is a Construction that takes the spectra of microphones; each
// microphone of a run is a recording.
type OfSpectra interface {
	Construction
	// Spectra returns the spectra that Pairs needs of a run. A run that cannot be
	// analysed is a *fault.Error.
	Spectra(r *Run) (*Segments, error)
	// Pairs makes the pairs of a run whose spectra a holds. src delivers the
	// samples again, where spectra do not suffice.
	Pairs(ctx context.Context, src Source, r *Run, a *Analyser) (*Pairs, error)
}

// OfSeries is a Construction that takes the series of a balance, which were
// sampled at the same instants; they are one recording.
type OfSeries interface {
	Construction
	// Pairs makes the pairs of a run. Series are equally long.
	Pairs(r *Run, series []Series) (*Pairs, error)
}

// PerRun is a Construction whose number of pairs follows from its settings.
type PerRun interface {
	Construction
	// PairsPerRun returns the number of pairs of every run.
	PairsPerRun(s *Settings) int
}

// Fail reports a fault of a setting. key is its name, or "" for several.
type Fail func(key, format string, args ...any)

func (f Fail) unless(ok bool, key, format string, args ...any) {
	if !ok {
		f(key, format, args...)
	}
}

// Description holds the facts about a construction.
type Description struct {
	Name     string   // in the configuration: "split-half-spectrum"
	Doc      string   // how y1 and y2 come about: "y1 and y2 are …"
	Settings []string // keys of the Settings that change the result
	Shaft    bool     // a run needs the condition blades and a shaft speed
	Repeats  bool     // a run gives one value; y1 and y2 come from runs at equal conditions
	Version  int      // raise it where the same input gives another result
}

// Settings are those of all constructions: start with DefaultSettings. Zero is a value, but of
// fields with the tag zero:"unset" it means that the key is not given, and files may not state it. The
// tags are for configuration files: key is the setting's name, enum lists its values. The comments are
// the documentation of the keys.
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

// DefaultSettings returns the settings where nothing else is stated.
func DefaultSettings() Settings {
	return Settings{
		Segments: 8, Window: DefaultWindow, Harmonics: 5, Tolerance: 0.03, MinBins: 2, Amplitude: "band", Output: "dB",
		Speed: "refine", EmergenceDB: 6, Censored: "keep", Samples: 250,
	}
}

// Limits of several settings: larger numbers are a mistake.
const (
	maxBandHz    = 1e6
	minAirC      = -73
	maxAirC      = 100
	minAirPa     = 1e4
	maxAirPa     = 2e5
	maxDistanceM = 1e6
)

// Constructions lists the names of all constructions.
func Constructions() []string {
	_, names := lists.Index(lists.Each(constructions, func(c Construction) string { return c.Describe().Name }))
	return names
}

// Find returns the construction of that name, nil if there is none. Where one
// takes spectra and another series, series selects one.
func Find(name string, series bool) Construction {
	var found Construction
	for _, c := range constructions {
		if c.Describe().Name != name {
			continue
		}

		if _, is := c.(OfSeries); is == series || found == nil {
			found = c
		}
	}

	return found
}

// configured is a Construction whose facts depend on the settings.
type configured interface {
	configure(s *Settings) Construction
}

// Configure returns the construction as Describe states it under those settings,
// which it keeps. c may be nil.
func Configure(c Construction, s *Settings) Construction {
	if c, ok := c.(configured); ok {
		return c.configure(s)
	}
	return c
}

// CheckSettings calls fail for every setting outside its limits, whichever
// construction reads it.
func CheckSettings(s *Settings, fail Fail) {
	type fault struct{ key, text string }

	seen := map[fault]bool{}
	for _, c := range constructions {
		c.Check(s, func(key, format string, args ...any) {
			if f := (fault{key, fmt.Sprintf(format, args...)}); !seen[f] {
				seen[f] = true
				fail(key, "%s", f.text)
			}
		})
	}
}

// Run is one acquisition at one condition, as a construction takes it.
type Run struct {
	RateHz         float64 // sampling rate; 0: not known
	Start, Samples int64   // interval of the run in the source
	Seed           uint64  // of random draws: from Settings.Seed and the run's name
	Settings       *Settings
	Microphones    []Microphone // OfSpectra
	Pulses         *Pulses      // of a tachometer, from Start on; nil without
}

// Microphone is one channel of a run.
type Microphone struct {
	Channel    int     // of the source
	Scale      float64 // factor to the physical unit
	Unit       string  // the physical unit: "Pa", "full-scale", …
	Conditions map[string]float64
	Background []BackgroundRecording // without the source under test; nil: not recorded
}

// condition returns a condition of the whole run, 0 where it is not one.
// Microphones with different values raise an error.
func (r *Run) condition(name string) float64 {
	first := r.Microphones[0].Conditions[name]
	for _, m := range r.Microphones {
		v := m.Conditions[name]
		unless(v == first, "", "one value of "+name+" for all channels of a run", fmt.Sprintf("%g and %g", first, v), "")
	}

	return first
}

// rate returns the sampling rate; none raises an error.
func (r *Run) rate() float64 {
	unless(r.RateHz != 0, "", "a sampling rate", "none in the file",
		"state it in the configuration: ingest: {rate_hz: …}")
	unless(r.RateHz > 0 && finite(r.RateHz), "", "a sampling rate above 0 Hz", fmt.Sprint(r.RateHz),
		"state the rate if the file does not")

	return r.RateHz
}

// Series is one outcome of a balance, sample by sample.
type Series struct {
	Name, Unit string
	Note       string // how the unit was converted; may be empty
	Values     []float64
}

// Pairs are the pairs of one run.
type Pairs struct {
	Outcomes []Outcome  // the same of every run of a campaign
	Members  [2]string  // ends of the descriptions of first and of second values
	Rows     []Row      // none where everything was dropped
	Spectra  []Spectra  // for figures, by microphone; nil of series
	ShaftHz  [2]float64 // shaft speed of each half, rev/s; 0: not looked for
	BinHz    float64    // of Spectra
	Flags    []Flag     // doubts; Channel is a position among the microphones or series
	Dropped  int        // recordings left out because of Settings.Censored
	Levels   int        // values that are levels …
	Bounds   int        // … of which so many are upper bounds
	Near     int        // … and so many less than NearBackgroundDB above the background
}

// Outcome is a quantity with a pair of values, in the columns NAME_1 and NAME_2.
type Outcome struct {
	Name, Unit, Description string
	Note                    string // how the unit was converted; may be empty
	ByProducts              []ByProduct
}

// ByProduct is a number that comes with an outcome's values, in the columns
// NAME_SUFFIX_1 and NAME_SUFFIX_2, or NAME_SUFFIX where there is one for both.
type ByProduct struct {
	Suffix, Unit, Description string
	Single                    bool // one for both values
	Bool                      bool // true or false: 1 or 0
}

// Suffixes of by-products.
const (
	sufRho        = "rho_db"
	sufSD         = "sd"
	sufHz         = "hz"
	sufBound      = "bound"      // true or false
	sufBackground = "background" //
	sufEmergent   = "emergent"   // single, true or false
	sufAverages   = "averages"   // single
	sufNear       = "near"       // true or false
	sufAir        = "air"
)

// ByProductSuffixes lists the suffixes of all by-products.
func ByProductSuffixes() []string {
	return []string{sufRho, sufSD, sufHz, sufBound, sufBackground, sufEmergent, sufAverages, sufNear, sufAir}
}

// IsByProduct reports whether number columns NAME_SUFFIX_1 and NAME_SUFFIX_2 are
// by-products of an outcome NAME.
func IsByProduct(suffix string) bool {
	return slices.Contains([]string{sufRho, sufSD, sufHz, sufBackground, sufAir}, suffix)
}

// Row is one pair.
type Row struct {
	Recording int     // position of the microphone; 0 of series
	Values    []Value // one per outcome
}

// Value is a pair of values of an outcome, with its by-products.
type Value struct {
	Y          [2]float64
	ByProducts [][2]float64 // one per by-product; of a single one the first counts
}

// Spectra are the spectra of the halves of a microphone.
type Spectra struct {
	Recording int // position of the microphone
	Halves    [2]Half
}

// leveler turns mean squares into outcomes, by the settings output and distance.
type leveler struct {
	decibel       bool
	ref, shift    float64
	suffix        string // of the outcome's name: "db" or "power"
	unit, meaning string // meaning: "level", "mean square", …
}

func (s *Settings) leveler(unit string) leveler {
	l := leveler{suffix: "power", unit: unit + "²", meaning: "mean square"}
	if s.Output == "dB" {
		l.decibel, l.suffix, l.meaning = true, "db", "level"
		l.ref, l.unit = Reference(unit)
	}

	if s.Distance != nil {
		l.shift = DistanceDB(s.Distance.FromM, s.Distance.ToM)
		l.meaning += fmt.Sprintf(", normalised from %g m to %g m", s.Distance.FromM, s.Distance.ToM)
	}

	return l
}

// levelNames are the names of levels, as add gives them.
func (s *Settings) levelNames(names ...string) []string {
	for i := range names {
		names[i] += "_" + s.leveler("").suffix
	}

	return names
}

// value returns the outcome of a mean square.
func (l *leveler) value(meanSquare float64) float64 {
	if l.decibel {
		return LevelDB(meanSquare, l.ref) + l.shift
	}
	return meanSquare * math.Pow(10, l.shift/10)
}

// checkSpectra checks the settings that all constructions of spectra read.
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
		for key, m := range map[string]float64{"distance.from_m": d.FromM, "distance.to_m": d.ToM} {
			fail.unless(m > 0 && m <= maxDistanceM, key, "expected a distance above 0 and up to %g m, found %g", maxDistanceM, m)
		}
	}
}

// averagingKeys are the keys of segments and window.
var averagingKeys = []string{"segments", "segment_s", "resolution_hz", "overlap", "window"}

// segLen is the length of a segment in samples; 0: by their number.
func (s *Settings) segLen(rateHz float64) int {
	switch {
	case s.SegmentS > 0:
		return max(1, int(math.Round(s.SegmentS*rateHz)))
	case s.ResolutionHz > 0:
		return max(1, int(math.Round(rateHz/s.ResolutionHz)))
	}

	return 0
}

// loadSettings are the keys of what makes outcomes of a balance's channels,
// before any construction takes them.
var loadSettings = []string{"chord_m", "span_m", "density_kg_m3", "temperature_c", "pressure_pa"}

// checkLoads checks them.
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

// loadOutcomes are the outcomes of series.
func loadOutcomes(series []Series) []Outcome {
	return lists.Each(series, func(s Series) Outcome { return Outcome{Name: s.Name, Unit: s.Unit, Note: s.Note} })
}

// loadMembers describe the values of a balance's pair.
var loadMembers = [2]string{"first outcome", "second outcome, independent of the first given the run"}

// loadRow is a row of values without by-products.
func loadRow(y1, y2 []float64) Row {
	row := Row{Values: make([]Value, len(y1))}
	for i := range y1 {
		row.Values[i].Y = [2]float64{y1[i], y2[i]}
	}

	return row
}

// loadPairs are the pairs of a balance, with the doubts about the run: whether
// its halves agree, where the rate is known.
func loadPairs(r *Run, series []Series, rows ...Row) *Pairs {
	p := &Pairs{Outcomes: loadOutcomes(series), Members: loadMembers, Rows: rows}
	if r.RateHz > 0 {
		if c, err := CheckBalance(values(series), r.RateHz); err == nil {
			p.Flags = c.Flags
		}
	}

	return p
}

func values(series []Series) [][]float64 {
	return lists.Each(series, func(s Series) []float64 { return s.Values })
}

// wrong is the error of data: where, what is expected and found there, and what to do about it.
func wrong(place, want, found, hint string) error { return fault.At("", place, want, found, hint) }

// unless raises such an error, unless ok.
func unless(ok bool, place, want, found, hint string) {
	if !ok {
		fault.Raise(wrong(place, want, found, hint))
	}
}

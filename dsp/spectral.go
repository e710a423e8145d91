package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// spectralOutcome makes outcomes of the spectra of a microphone's two halves.
type spectralOutcome interface {
	// describe returns the facts under those settings.
	describe(s *Settings) outcomeFacts
	// names returns the names of the outcomes that spectra can give under those
	// settings; levelNames has those of levels.
	names(s *Settings) []string
	// check calls fail for every setting outside its limits that add reads.
	check(s *Settings, fail Fail)
	// fits raises an error where spectra with so many bins cannot give it.
	fits(s *Settings, binHz float64, bins int)
	// add appends the outcomes of one microphone.
	add(m *sound)
}

// outcomeFacts are the facts about a spectralOutcome.
type outcomeFacts struct {
	name     string   // in Settings.Outcomes
	words    string   // "levels of harmonics"
	settings []string // keys it reads
	rotor    bool     // it needs blades and a shaft speed
}

// spectralOutcomes are all there are. A new one is a file and a line here; a program of
// one's own registers further ones.
var spectralOutcomes = []spectralOutcome{harmonicLevels{}, bandLevels{}, overallLevel{}, broadbandLevel{}}

// Outcomes lists the names of all outcomes, of microphones and of balances.
func Outcomes() []string {
	s := DefaultSettings()
	names := lists.Each(spectralOutcomes, func(o spectralOutcome) string { return o.describe(&s).name })
	_, names = lists.Index(append(names, loadOutcomeNames...))

	return names
}

// CheckOutcomes calls fail where the construction of that name, of series or not,
// does not make the outcomes of the settings.
func CheckOutcomes(name string, series bool, s *Settings, fail Fail) {
	var can []string
	switch c := Find(name, series).(type) {
	case nil:
		if len(s.Outcomes) > 0 && name == "table" {
			fail("outcomes", "belongs to recordings; the columns of a table are its outcomes")
		}
		return

	case splitHalves, repeatedMeans:
		can = loadOutcomeNames
		if s.BandsUnit == "orders" && slices.Contains(s.Outcomes, "bands") {
			fail("bands_unit", "a balance has no shaft speed; expected Hz")
		}

	case halfSpectra:
		can = lists.Each(spectralOutcomes, func(o spectralOutcome) string { return o.describe(s).name })

		if len(c.outcomes(s)) > 0 && !c.makes(s, "harmonics") && s.Amplitude == "synchronous" {
			fail("amplitude", "synchronous is for harmonics, which are not among the outcomes")
		}
	}

	for i, o := range s.Outcomes {
		switch {
		case can == nil:
			fail("outcomes", "%s has its own; leave the key out", name)
			return
		case !slices.Contains(can, o):
			fail("outcomes", "expected %s of %s, found %q", strings.Join(can, ", "), name, o)
		case slices.Contains(s.Outcomes[:i], o):
			fail("outcomes", "%s is named twice", o)
		}
	}
}

// halfSpectra makes outcomes of the spectra of the two halves of every microphone
// (docs/method.md#split-half-spectra), or, with repeats, of both together.
type halfSpectra struct {
	name     string
	standard string // outcome where the settings name none
	repeats  bool
	version  int
	s        *Settings // nil: those of DefaultSettings
}

// outcomeNames lists the names of all outcomes that spectra can give.
func (c halfSpectra) outcomeNames(s *Settings) []string {
	return slices.Concat(lists.Each(c.outcomes(s), func(o spectralOutcome) []string { return o.names(s) })...)
}

// outcomes lists the outcomes in the order of spectralOutcomes.
func (c halfSpectra) outcomes(s *Settings) []spectralOutcome {
	var out []spectralOutcome
	for _, o := range spectralOutcomes {
		name := o.describe(s).name
		if slices.Contains(s.Outcomes, name) || len(s.Outcomes) == 0 && name == c.standard {
			out = append(out, o)
		}
	}

	return out
}

// makes reports whether the outcome of that name is among them.
func (c halfSpectra) makes(s *Settings, name string) bool {
	return slices.ContainsFunc(c.outcomes(s), func(o spectralOutcome) bool { return o.describe(s).name == name })
}

// rotor reports whether an outcome needs blades and a shaft speed.
func (c halfSpectra) rotor(s *Settings) bool {
	return slices.ContainsFunc(c.outcomes(s), func(o spectralOutcome) bool { return o.describe(s).rotor })
}

// configure implements configured.
func (c halfSpectra) configure(s *Settings) Construction { c.s = s; return c }

func (c halfSpectra) Describe() Description {
	s := c.s
	if s == nil {
		d := DefaultSettings()
		s = &d
	}

	d := Description{
		Name: c.name, Shaft: c.rotor(s), Repeats: c.repeats, Version: c.version,
		Settings: append([]string{"output", "distance", "outcomes", "atmosphere"}, averagingKeys...),
	}

	if d.Shaft {
		d.Settings = append(d.Settings, rotorKeys...)
	}

	var words []string
	for _, o := range c.outcomes(s) {
		f := o.describe(s)
		d.Settings, words = append(d.Settings, f.settings...), append(words, f.words)
		if own, is := o.(ownOutcome); is {
			d.Version += 1000 * own.Version
		}
	}

	overlap := "without overlap"
	if s.Overlap > 0 {
		overlap = fmt.Sprintf("that overlap by %g %% within a half", 100*s.Overlap)
	}

	switch {
	case c.repeats:
		d.Doc = repeatsDoc
	case len(s.Outcomes) == 0 && c.standard == "harmonics":
		d.Doc = "y1 and y2 come from the spectra of a recording's two halves, averaged over segments " + overlap
	default:
		d.Doc = "y1 and y2 are the " + strings.Join(words, ", ") + " of a recording's two halves, averaged over segments " +
			overlap
	}

	return d
}

func (halfSpectra) Check(s *Settings, fail Fail) {
	s.checkSpectra(fail)
	for _, o := range spectralOutcomes {
		o.check(s, fail)
	}
}

func (c halfSpectra) Spectra(r *Run) (_ *Segments, err error) {
	defer fault.Catch(&err)

	s := c.segments(r)
	for _, o := range c.outcomes(r.Settings) {
		o.fits(r.Settings, s.binHz(), s.bins())
	}

	return s, nil
}

func (c halfSpectra) segments(r *Run) *Segments {
	if !c.rotor(r.Settings) {
		return r.segments(floorMinBins, "")
	}

	return newRotor(r, c.makes(r.Settings, "harmonics")).segments
}

func (c halfSpectra) Pairs(ctx context.Context, src Source, r *Run, a *Analyser) (_ *Pairs, err error) {
	defer fault.Catch(&err)

	p := &Pairs{Members: [2]string{", first half", ", second half"}, BinHz: a.BinHz()}
	if c.repeats {
		p.Members = [2]string{", first run", ", second run"}
	}

	var run *rotorRun

	switch {
	case c.rotor(r.Settings):
		run = a.harmonics(ctx, src, newRotor(r, c.makes(r.Settings, "harmonics")))
		p.ShaftHz, p.Flags = run.ShaftHz, slices.Clone(run.Flags)

	case r.Pulses != nil: // the speed is a condition of the run
		p.ShaftHz = fault.Get(r.Pulses.HalvesHz(r.RateHz, r.Samples))
		p.Flags = r.Pulses.Check()
	}

	outcomes := c.outcomes(r.Settings)
	var spectra [2][][]float32
	if run == nil {
		spectra = a.powers32()
	}

	for i := range r.Microphones {
		halves := [2]Half{{ShaftHz: p.ShaftHz[0]}, {ShaftHz: p.ShaftHz[1]}}
		if run != nil {
			halves = run.Channels[i].Halves
		} else {
			halves[0].Spectrum, halves[1].Spectrum = spectra[0][i], spectra[1][i]
		}

		p.Spectra = append(p.Spectra, Spectra{i, halves})
		if r.Settings.Censored == "drop" && c.makes(r.Settings, "harmonics") &&
			slices.Contains(run.Channels[i].Emergent, false) {
			p.Dropped++
			continue
		}

		m := newSound(r, i, a, run, p, c.repeats)

		for _, o := range outcomes {
			o.add(m)
		}

		if p.Outcomes == nil {
			p.Outcomes = m.outcomes
		}

		p.Rows = append(p.Rows, Row{Recording: i, Values: m.values})
	}

	return p, nil
}

// sound is the recording of one microphone, as a spectralOutcome takes it.
type sound struct {
	r        *Run
	i        int // position of the microphone
	mic      *Microphone
	rotor    *rotorRun // nil without
	pairs    *Pairs    // takes counts and flags
	repeats  bool      // both halves are one estimate
	level    leveler
	binHz    float64
	noise    float64      // noise bandwidth of the window, bins
	power    [2][]float64 // mean spectrum of each half; with repeats of both, twice
	averages averages     // of each of them
	shaftHz  [2]float64   // 0: not looked for
	air      *air         // nil: no correction

	outcomes []Outcome
	values   []Value
}

func newSound(r *Run, i int, a *Analyser, run *rotorRun, p *Pairs, repeats bool) *sound {
	m := &sound{
		r: r, i: i, mic: &r.Microphones[i], rotor: run, pairs: p, repeats: repeats, binHz: a.BinHz(),
		noise: NoiseBins(r.Settings.Window), power: [2][]float64{a.Power(0, i), a.Power(1, i)}, averages: a.averages,
		shaftHz: p.ShaftHz,
	}

	m.level, m.air = r.Settings.leveler(m.mic.Unit), r.Settings.air(m.mic.Conditions)

	if repeats {
		both := slices.Clone(m.power[0])
		for k, v := range m.power[1] {
			both[k] = (both[k] + v) / 2
		}

		mean := (m.shaftHz[0] + m.shaftHz[1]) / 2
		m.power, m.averages, m.shaftHz = [2][]float64{both, both}, m.averages.double(), [2]float64{mean, mean}
	}

	return m
}

// sum returns the mean square of each half in a band of frequencies, bins counted
// by gain (nil: 1).
func (m *sound) sum(bands [2]Band, gain []float64) estimate {
	var e estimate
	for h, b := range bands {
		all := m.air.gains(gain, len(m.power[h]), m.binHz)
		e.power[h], e.sd[h] = m.averages.level(m.power[h], m.binHz, b, all)
		e.power[h] /= m.noise
		if m.air != nil {
			raw, _ := m.averages.level(m.power[h], m.binHz, b, gain)
			e.air[h] = 10 * math.Log10(e.power[h]*m.noise/raw)
		}

		if m.mic.Background == nil {
			continue
		}

		e.hasBackground = true
		if all == nil {
			e.background[h], _, _ = BackgroundBetween(m.mic.Background, b.Lo, b.Hi)
			continue
		}

		for k := max(1, int(b.Lo/m.binHz-0.5)); k < len(all) && (float64(k)-0.5)*m.binHz < b.Hi; k++ {
			lo, hi := max(b.Lo, (float64(k)-0.5)*m.binHz), min(b.Hi, (float64(k)+0.5)*m.binHz)
			if lo < hi {
				part, _, _ := BackgroundBetween(m.mic.Background, lo, hi)
				e.background[h] += all[k] * part
			}
		}
	}

	return e
}

// estimate is a mean square of each half with what is known about it.
type estimate struct {
	power, sd     [2]float64 // sd of the level in dB
	background    [2]float64
	hasBackground bool
	air           [2]float64  // correction in dB, contained in power
	bound         *[2]float64 // 1: power is an upper bound; nil: it never is
}

// add appends a level. what describes it: "one-third-octave band of 125 Hz".
func (m *sound) add(name, what string, e estimate) {
	o := Outcome{
		Name: name + "_" + m.level.suffix, Unit: m.level.unit, Description: m.level.meaning + " of the " + what,
		ByProducts: []ByProduct{{Suffix: sufSD, Unit: "dB", Description: "predicted standard deviation of the level"}},
	}

	v := Value{ByProducts: [][2]float64{e.sd}}
	with := func(b ByProduct, x [2]float64) {
		o.ByProducts, v.ByProducts = append(o.ByProducts, b), append(v.ByProducts, x)
	}

	var background, near [2]float64
	for h, p := range e.power {
		unless(p > 0, fmt.Sprintf("channel %d, %s half", m.mic.Channel+1, halfName(h)), "sound in the "+what,
			"silence (power is zero)", "")

		v.Y[h] = m.level.value(p)
		m.pairs.Levels++

		if e.bound != nil && e.bound[h] == 1 {
			m.pairs.Bounds++
		}

		if !e.hasBackground {
			continue
		}

		if background[h] = m.level.value(e.background[h]); p < e.background[h]*math.Pow(10, NearBackgroundDB/10.) {
			near[h] = 1
			m.pairs.Near++
		}
	}

	if e.hasBackground {
		with(ByProduct{
			Suffix: sufBackground, Unit: m.level.unit, Description: "level of the background's recordings in the " +
				"band, not subtracted",
		}, background)

		with(ByProduct{Suffix: sufNear, Bool: true, Description: fmt.Sprintf("less than %d dB above the background",
			NearBackgroundDB)}, near)
	}

	with(ByProduct{Suffix: sufAverages, Single: true, Description: "effective number of averages of the spectrum"},
		[2]float64{m.averages.count()})

	if e.bound != nil {
		with(ByProduct{Suffix: sufBound, Description: "the level is an upper bound", Bool: true}, *e.bound)
	}

	if m.air != nil {
		with(ByProduct{Suffix: sufAir, Unit: "dB", Description: m.air.words()}, e.air)
	}

	m.give(o, v)
}

// give appends an outcome in any unit.
func (m *sound) give(o Outcome, v Value) {
	m.outcomes, m.values = append(m.outcomes, o), append(m.values, v)
}

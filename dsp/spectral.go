package dsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// spectralOutcome makes outcomes from the spectra of the two halves of a microphone's recording.
type spectralOutcome interface {
	// describe returns the facts about the outcome under those settings.
	describe(s *Settings) outcomeFacts
	// names returns the names of all columns that spectra may give under those
	// settings. levelNames completes the names of levels.
	names(s *Settings) []string
	// check looks at the settings that add reads, and calls fail for each that is outside its limits.
	check(s *Settings, fail Fail)
	// fits returns an error if spectra of that many bins, binHz apart, cannot give the outcomes.
	fits(s *Settings, binHz float64, bins int) error
	// add appends the outcomes of one microphone to m, by sound.add or sound.give.
	add(m *sound) error
}

// outcomeFacts are the facts about a spectralOutcome.
type outcomeFacts struct {
	name     string   // in Settings.Outcomes
	words    string   // for people: "levels of harmonics"
	settings []string // keys of the settings that it reads
	rotor    bool     // it needs the number of blades and a shaft speed
}

// spectralOutcomes lists all outcomes of microphones. A new outcome needs a file of its own and a
// line here. Other programs add theirs by RegisterOutcomes.
var spectralOutcomes = []spectralOutcome{harmonicLevels{}, bandLevels{}, overallLevel{}, broadbandLevel{}}

// Outcomes lists the names of all outcomes, of microphones and of balances.
func Outcomes() []string {
	s := DefaultSettings()
	names := spectralNames(&s)
	for _, name := range loadOutcomeNames {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}

	return names
}

// spectralNames lists the names of all outcomes of microphones.
func spectralNames(s *Settings) []string {
	var names []string
	for _, o := range spectralOutcomes {
		names = append(names, o.describe(s).name)
	}

	return names
}

// CheckOutcomes calls fail if the construction that Find(name, instrument) returns does not make the
// outcomes of the settings.
func CheckOutcomes(name string, instrument Instrument, s *Settings, fail Fail) {
	var known []string // outcomes that can be asked for; nil: the construction does not read the setting
	switch c := Find(name, instrument).(type) {
	case nil:
		if len(s.Outcomes) > 0 && name == "table" {
			fail("outcomes", "belongs to recordings; the columns of a table are its outcomes")
		}
		return

	case splitHalves, repeatedMeans:
		known = loadOutcomeNames
		if s.BandsUnit == "orders" && slices.Contains(s.Outcomes, "bands") {
			fail("bands_unit", "a balance has no shaft speed; expected Hz")
		}

	case halfSpectra:
		known = spectralNames(s)

		if len(c.outcomes(s)) > 0 && !c.makesHarmonics(s) && s.Amplitude == "synchronous" {
			fail("amplitude", "synchronous is for harmonics, which are not among the outcomes")
		}
	}

	for i, o := range s.Outcomes {
		switch {
		case known == nil:
			fail("outcomes", "%s has its own; leave the key out", name)
			return
		case !slices.Contains(known, o):
			fail("outcomes", "expected %s of %s, found %q", strings.Join(known, ", "), name, o)
		case slices.Contains(s.Outcomes[:i], o):
			fail("outcomes", "%s is named twice", o)
		}
	}
}

// halfSpectra is the Construction whose y1 and y2 come from the spectra of the two halves of every
// microphone's recording (docs/method.md#split-half-spectra). With repeats, both halves together
// give one value, and y1 and y2 come from two runs at equal conditions.
type halfSpectra struct {
	name     string
	standard string // the outcome if the settings name none
	repeats  bool
	version  int       // Description.Version
	s        *Settings // nil: DefaultSettings
}

// outcomeNames lists the names of the columns of all outcomes that the settings ask for.
func (c halfSpectra) outcomeNames(s *Settings) []string {
	var names []string
	for _, o := range c.outcomes(s) {
		names = append(names, o.names(s)...)
	}

	return names
}

// outcomes lists the outcomes that the settings ask for, in the order of spectralOutcomes.
func (c halfSpectra) outcomes(s *Settings) []spectralOutcome {
	names := s.Outcomes
	if len(names) == 0 {
		names = []string{c.standard}
	}

	var wanted []spectralOutcome
	for _, o := range spectralOutcomes {
		if slices.Contains(names, o.describe(s).name) {
			wanted = append(wanted, o)
		}
	}

	return wanted
}

// makesHarmonics reports whether the levels of the harmonics are among the outcomes.
func (c halfSpectra) makesHarmonics(s *Settings) bool {
	return slices.ContainsFunc(c.outcomes(s), func(o spectralOutcome) bool { return o.describe(s).name == "harmonics" })
}

// needsRotor reports whether an outcome needs the number of blades and a shaft speed.
func (c halfSpectra) needsRotor(s *Settings) bool {
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
		Name: c.name, Shaft: c.needsRotor(s), Repeats: c.repeats, Version: c.version,
		Settings: append([]string{"output", "distance", "outcomes", "atmosphere"}, averagingKeys...),
	}

	if d.Shaft {
		d.Settings = append(d.Settings, rotorKeys...)
	}

	var words []string
	for _, o := range c.outcomes(s) {
		f := o.describe(s)
		d.Settings = append(d.Settings, f.settings...)
		words = append(words, f.words)
		if own, ok := o.(ownOutcome); ok {
			d.Version += 1000 * own.Version // distinct from the versions of this program
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

func (c halfSpectra) Spectra(r *Run) (*Segments, error) {
	s, err := c.segments(r)
	if err != nil {
		return nil, err
	}

	for _, o := range c.outcomes(r.Settings) {
		if err := o.fits(r.Settings, s.binHz(), s.bins()); err != nil {
			return nil, err
		}
	}

	return s, nil
}

// segments cuts the run into segments. If an outcome needs a rotor, the segments are long enough to resolve its
// harmonics.
func (c halfSpectra) segments(r *Run) (*Segments, error) {
	if !c.needsRotor(r.Settings) {
		return r.segments(floorMinBins, "")
	}

	s, err := newRotor(r, c.makesHarmonics(r.Settings))
	if err != nil {
		return nil, err
	}

	return s.segments, nil
}

func (c halfSpectra) Pairs(ctx context.Context, src Source, r *Run, a *Analyser) (*Pairs, error) {
	p := &Pairs{Members: [2]string{", first half", ", second half"}, BinHz: a.BinHz()}
	if c.repeats {
		p.Members = [2]string{", first run", ", second run"}
	}

	run, err := c.analyseRotor(ctx, src, r, a, p) // nil: no outcome needs a rotor
	if err != nil {
		return nil, err
	}

	p.Spectra = spectraOf(run, a, p.ShaftHz)
	outcomes := c.outcomes(r.Settings)

	// Harmonics need a rotor, so run is not nil if drop is true.
	drop := r.Settings.Censored == "drop" && c.makesHarmonics(r.Settings)
	for i := range r.Microphones {
		if drop && slices.Contains(run.Channels[i].Emergent, false) {
			p.Dropped++
			continue
		}

		m, err := newSound(r, i, a, run, p, c.repeats)
		if err != nil {
			return nil, err
		}

		for _, o := range outcomes {
			if err := o.add(m); err != nil {
				return nil, err
			}
		}

		if p.Outcomes == nil {
			p.Outcomes = m.outcomes
		}

		p.Rows = append(p.Rows, Row{Recording: i, Values: m.values})
	}

	return p, nil
}

// spectraOf returns the spectra of each microphone: the halves that run has, or without a rotor (nil) the spectra of a
// at the shaft speeds of the halves in rev/s, which are 0 if they are not known.
func spectraOf(run *rotorRun, a *Analyser, shaftHz [2]float64) []Spectra {
	var list []Spectra
	if run != nil {
		for i, channel := range run.Channels {
			list = append(list, Spectra{Recording: i, Halves: channel.Halves})
		}

		return list
	}

	powers := a.powers32()
	for i := range powers[0] {
		list = append(list, Spectra{Recording: i, Halves: [2]Half{
			{ShaftHz: shaftHz[0], Spectrum: powers[0][i]}, {ShaftHz: shaftHz[1], Spectrum: powers[1][i]},
		}})
	}

	return list
}

// analyseRotor finds the shaft speed of each half and the lines of the rotor, and stores the speeds and the flags in p.
// If no outcome needs a rotor, it returns nil and no error. If such a run has a tachometer, analyseRotor still stores
// the speeds and the flags of the tachometer in p.
func (c halfSpectra) analyseRotor(ctx context.Context, src Source, r *Run, a *Analyser, p *Pairs) (*rotorRun, error) {
	if !c.needsRotor(r.Settings) {
		if r.Pulses == nil {
			return nil, nil
		}

		// The speed is a condition of the run.
		shaftHz, err := r.Pulses.HalvesHz(r.RateHz, r.Samples)
		if err != nil {
			return nil, err
		}

		p.ShaftHz = shaftHz
		p.Flags = r.Pulses.Check()

		return nil, nil
	}

	s, err := newRotor(r, c.makesHarmonics(r.Settings))
	if err != nil {
		return nil, err
	}

	run, err := a.harmonics(ctx, src, s)
	if err != nil {
		return nil, err
	}

	p.ShaftHz = run.ShaftHz
	p.Flags = slices.Clone(run.Flags)

	return run, nil
}

package dsp

import (
	"fmt"
	"math"
	"slices"
)

// sound is the recording of one microphone. A spectralOutcome reads it and appends to outcomes and
// values.
type sound struct {
	r        *Run
	i        int // position of the microphone in Run.Microphones
	mic      *Microphone
	rotor    *rotorRun // nil: no outcome needs a rotor
	pairs    *Pairs    // of the run; takes counts and flags
	repeats  bool      // both halves are one estimate
	level    leveler
	binHz    float64
	noise    float64        // noise bandwidth of the window, bins
	power    [2][]float64   // mean power spectrum of each half; with repeats both are the whole run's spectrum
	averages averages       // how each of these spectra scatters
	shaftHz  [2]float64     // shaft speed of each half, rev/s; 0: not looked for
	air      *airCorrection // nil: no correction

	outcomes []Outcome
	values   []Value // one per outcome
}

// newSound returns the recording of microphone i of a run, without outcomes. rotor is nil if no outcome needs a rotor.
// newSound returns a *fault.Error if a condition for the correction to another air is missing.
func newSound(r *Run, i int, a *Analyser, rotor *rotorRun, p *Pairs, repeats bool) (*sound, error) {
	m := &sound{
		r: r, i: i, mic: &r.Microphones[i], rotor: rotor, pairs: p, repeats: repeats, binHz: a.BinHz(),
		noise: NoiseBins(r.Settings.Window), power: [2][]float64{a.Power(0, i), a.Power(1, i)}, averages: a.averages,
		shaftHz: p.ShaftHz,
	}

	m.level = r.Settings.leveler(m.mic.Unit)

	var err error
	m.air, err = newAirCorrection(r.Settings, m.mic.Conditions)
	if err != nil {
		return nil, err
	}

	if repeats {
		both := slices.Clone(m.power[0])
		for k, v := range m.power[1] {
			both[k] = (both[k] + v) / 2
		}

		mean := (m.shaftHz[0] + m.shaftHz[1]) / 2
		m.power = [2][]float64{both, both}
		m.averages = m.averages.double()
		m.shaftHz = [2]float64{mean, mean}
	}

	return m, nil
}

// place returns the name of the microphone and half h for messages.
func (m *sound) place(h int) string {
	return fmt.Sprintf("channel %d, %s half", m.mic.Channel+1, halfName(h))
}

// sum returns the mean square of each half in its band of frequencies. gain is the factor of each bin's
// power (nil: 1).
func (m *sound) sum(bands [2]Band, gain []float64) estimate {
	var e estimate
	for h, b := range bands {
		gainInAir := m.air.gains(gain, len(m.power[h]), m.binHz)
		e.power[h], e.sd[h] = m.averages.level(m.power[h], m.binHz, b, gainInAir)
		e.power[h] /= m.noise
		if m.air != nil {
			raw, _ := m.averages.level(m.power[h], m.binHz, b, gain)
			e.air[h] = 10 * math.Log10(e.power[h]*m.noise/raw)
		}

		if m.mic.Background != nil {
			e.hasBackground = true
			e.background[h] = m.background(b, gainInAir)
		}
	}

	return e
}

// background returns the mean square of the background in a band. gain is the factor of each bin's power
// (nil: 1).
func (m *sound) background(b Band, gain []float64) float64 {
	if gain == nil {
		meanSquare, _, _ := BackgroundBetween(m.mic.Background, b.Lo, b.Hi)
		return meanSquare
	}

	sum := 0.0
	for k := max(1, int(b.Lo/m.binHz-0.5)); k < len(gain) && (float64(k)-0.5)*m.binHz < b.Hi; k++ {
		lo := max(b.Lo, (float64(k)-0.5)*m.binHz)
		hi := min(b.Hi, (float64(k)+0.5)*m.binHz)
		if lo < hi {
			part, _, _ := BackgroundBetween(m.mic.Background, lo, hi)
			sum += gain[k] * part
		}
	}

	return sum
}

// counts reports whether the values of half h count as levels. With repeats the halves have one value, which counts
// once.
func (m *sound) counts(h int) bool { return h == 0 || !m.repeats }

// subtractedWord returns words for messages about a line: whether the background is subtracted from its level.
func (m *sound) subtractedWord() string {
	if m.r.Subtract && m.r.Settings.Amplitude != "synchronous" {
		return "subtracted"
	}

	return "not subtracted"
}

// estimate is a mean square of each half, with the numbers for its by-products.
type estimate struct {
	power         [2]float64  // mean square, unit²
	sd            [2]float64  // predicted standard deviation of the level, dB
	background    [2]float64  // mean square of the background in the same band, unit²
	hasBackground bool        // false: background is not known
	air           [2]float64  // correction to another air, contained in power, dB
	bound         *[2]float64 // 1: power is an upper bound, 0: it is not; nil: the outcome has no bounds
}

// byProducts is a list of by-products with the values of each.
type byProducts struct {
	facts  []ByProduct
	values [][2]float64
}

// append appends a by-product with its values.
func (p *byProducts) append(b ByProduct, values [2]float64) {
	p.facts = append(p.facts, b)
	p.values = append(p.values, values)
}

// add appends the level of e as an outcome, and counts it in m.pairs. bands are the frequencies of each half, in which
// it subtracts the background if the run wants it. name is the name of its column without the suffix of levels. words
// say what was measured, such as "one-third-octave band of 125 Hz". add returns a *fault.Error if a mean square is not
// positive.
func (m *sound) add(name, words string, bands [2]Band, e estimate) error {
	var near [2]float64
	for h, p := range e.power {
		if !(p > 0) {
			return wrong(m.place(h), "sound in the "+words, "silence (power is zero)", "")
		}

		isNear := e.hasBackground && p < e.background[h]*math.Pow(10, NearBackgroundDB/10.)
		near[h] = flag(isNear)
	}

	m.subtractBackground(&e, bands)

	var y, background [2]float64
	for h, p := range e.power {
		y[h] = m.level.value(p)
		if m.counts(h) {
			isBound := e.bound != nil && e.bound[h] == 1
			m.pairs.count(isBound, near[h] == 1)
		}

		if e.hasBackground {
			background[h] = m.level.value(e.background[h])
		}
	}

	list := m.byProducts(e, background, near)
	m.give(Outcome{
		Name: name + "_" + m.level.suffix, Unit: m.level.unit, Description: m.level.meaning + " of the " + words,
		ByProducts: list.facts,
	}, Value{Y: y, ByProducts: list.values})

	return nil
}

// byProducts returns the by-products of the level of e. background has the levels of the background, and near is 1 for
// a level near the background; both count only if the background is known.
func (m *sound) byProducts(e estimate, background, near [2]float64) byProducts {
	var list byProducts
	list.append(ByProduct{Suffix: sufSD, Unit: "dB", Description: "predicted standard deviation of the level"}, e.sd)

	if e.hasBackground {
		list.append(ByProduct{
			Suffix: sufBackground, Unit: m.level.unit,
			Description: "level of the background's recordings in the band, " + m.subtractedWord(),
		}, background)
		list.append(ByProduct{
			Suffix: sufNear, Bool: true,
			Description: fmt.Sprintf("less than %d dB above the background", NearBackgroundDB),
		}, near)
	}

	list.append(ByProduct{
		Suffix: sufAverages, Single: true, Description: "effective number of averages of the spectrum",
	}, [2]float64{m.averages.count()})

	if e.bound != nil {
		list.append(ByProduct{Suffix: sufBound, Description: "the level is an upper bound", Bool: true}, *e.bound)
	}

	if m.air != nil {
		list.append(ByProduct{Suffix: sufAir, Unit: "dB", Description: m.air.words()}, e.air)
	}

	return list
}

// give appends an outcome in any unit, with its values.
func (m *sound) give(o Outcome, v Value) {
	m.outcomes = append(m.outcomes, o)
	m.values = append(m.values, v)
}

package dsp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
)

// The analysis of a rotor: newRotor derives the numbers of the run and the length of its segments.
// After Load, Analyser.harmonics finds the shaft speed of each half (speeds), measures the lines of the
// harmonics in every channel (lines), and tests whether the halves agree (consistency). The blade
// passing frequency (BPF) is the number of blades times the shaft speed.

// rotor is a run of a rotor with the numbers that follow from its conditions and settings.
type rotor struct {
	*Run
	segments             *Segments
	blades, harmonics    int        // numbers of blades, and of harmonics to analyse
	shaftHz              float64    // by the tachometer or the conditions, rev/s; 0: track it in the sound
	trackLoHz, trackHiHz float64    // range of shaft speeds to track in, rev/s
	stated               float64    // speed by the conditions if there is a tachometer, rev/s; 0: none
	halves               [2]float64 // speed of each half by the tachometer, rev/s; 0 without
}

// rotorRun is the result of Analyser.harmonics.
type rotorRun struct {
	BinHz    float64  // distance of two bins
	averages averages // how the mean spectrum of one half scatters
	blades   int
	finder   *lineFinder
	ShaftHz  [2]float64     // speed of each half: nominal, refined or tracked; all channels share it
	Channels []rotorChannel // one per microphone
	Flags    []Flag         // doubts, about the whole run first, then by channel
}

// rotorChannel is the result for one microphone.
type rotorChannel struct {
	Halves       [2]Half
	Emergent     []bool    // [harmonic]: EmergenceRho is at least Settings.EmergenceDB
	EmergenceRho []float64 // [harmonic]: ρ over both halves together, linear
}

// Half is the result for one half of one channel.
type Half struct {
	ShaftHz     float64   // rev/s; 0: not looked for
	Lines       []Line    // harmonics of the BPF, m = 1 … harmonics
	ShaftOrders []Line    // shaft orders up to blades·harmonics that are not multiples of blades
	Spectrum    []float32 // mean one-sided power spectrum, unit²
}

// maxBlades is the greatest number of blades that is accepted.
const maxBlades = 1000

// newRotor derives the numbers of a run of a rotor. If levels is true, the levels of the harmonics are
// outcomes, and the sampling rate must be high enough for all of them. Otherwise the harmonics only serve
// to find the speed, and newRotor takes fewer if the rate is too low. A run that cannot be analysed is a
// *fault.Error.
func newRotor(r *Run, levels bool) (*rotor, error) {
	blades, err := r.condition("blades")
	if err != nil {
		return nil, err
	}

	shaftHz, err := r.statedShaftHz()
	if err != nil {
		return nil, err
	}

	isWhole := blades == math.Trunc(blades)
	if !(isWhole && blades >= 1 && blades <= maxBlades) {
		return nil, wrong("", "a whole number of blades", fmt.Sprintf("blades = %g", blades), "")
	}

	rate, err := r.rate()
	if err != nil {
		return nil, err
	}

	set := r.Settings
	s := &rotor{Run: r, blades: int(blades), harmonics: set.Harmonics}
	if err := s.setSpeed(shaftHz, rate); err != nil {
		return nil, err
	}

	if !levels {
		bpf := blades * max(s.shaftHz, s.trackHiHz) * (1 + set.Tolerance)
		s.harmonics = max(1, min(s.harmonics, int(rate/2/bpf)))
	}

	lowest := cmp.Or(s.shaftHz, s.trackLoHz) // lowest possible shaft speed, rev/s

	// The main lobes of neighbouring harmonics must not overlap. In a segment of P periods of the BPF,
	// neighbouring harmonics are P bins apart.
	periods := 2 * windows[windowOf(set.Window)].lobe
	least := int(math.Ceil(float64(periods) * rate / (blades * lowest)))
	s.segments, err = r.segments(max(least, floorMinBins),
		fmt.Sprintf("%d periods of the blade passing frequency %.6g Hz", periods, blades*lowest))
	if err != nil {
		return nil, err
	}

	s.segments.keep = s.lastBin() + 1

	if err := s.checkNyquist(lowest); err != nil {
		return nil, err
	}

	return s, nil
}

// setSpeed sets the fields of s with the speeds that are known before the sound is analysed: shaftHz, stated and
// halves, or the range to track in. stated is the speed by the conditions in rev/s, and 0 if there is none. A
// tachometer takes precedence over Settings.Track, and Settings.Track over the conditions. setSpeed returns an error if
// none of the three gives a speed, or if amplitude "synchronous" has no tachometer.
func (s *rotor) setSpeed(stated, rate float64) error {
	if s.Pulses != nil {
		halves, err := s.Pulses.HalvesHz(rate, s.Samples)
		if err != nil {
			return err
		}

		s.halves = halves
		s.stated = stated
		s.shaftHz = (halves[0] + halves[1]) / 2

		return nil
	}

	if s.Settings.Amplitude == "synchronous" {
		return &fault.Error{Want: "a tachometer for amplitude \"synchronous\"", Found: "none"}
	}

	if track := s.Settings.Track; track != nil {
		s.trackLoHz = track.RangeHz[0]
		s.trackHiHz = track.RangeHz[1]

		return nil
	}

	if !(stated > 0) || !finite(stated) {
		return &fault.Error{Want: "a shaft speed above zero", Found: fmt.Sprintf("%g rev/s", stated)}
	}

	s.shaftHz = stated

	return nil
}

// statedShaftHz returns the shaft speed by the condition rps or, without it, rpm, in rev/s. It returns 0
// if there is neither.
func (r *Run) statedShaftHz() (float64, error) {
	rpm, err := r.condition("rpm")
	if err != nil {
		return 0, err
	}

	rps, err := r.condition("rps")
	if err != nil {
		return 0, err
	}

	if _, ok := r.Microphones[0].Conditions["rps"]; ok {
		return rps, nil
	}

	return rpm / 60, nil
}

// checkNyquist returns an error if a harmonic is not below the Nyquist frequency at that shaft speed in
// rev/s. The message names the first such harmonic.
func (s *rotor) checkNyquist(shaft float64) error {
	bpf := float64(s.blades) * shaft
	nyquist := s.RateHz / 2
	if float64(s.harmonics)*bpf < nyquist {
		return nil
	}

	m := 1
	for float64(m)*bpf < nyquist {
		m++
	}

	hint := fmt.Sprintf("record at more than %.0f Hz for all %d", 2*float64(s.harmonics)*bpf, s.harmonics)
	if m > 1 {
		hint = fmt.Sprintf("set harmonics to %d or less, or %s", m-1, hint)
	} else {
		hint = "check blades and speed, or " + hint
	}

	return wrong(fmt.Sprintf("harmonic %d of the blade passing frequency", m),
		fmt.Sprintf("less than the Nyquist frequency %.6g Hz", nyquist),
		fmt.Sprintf("%.6g Hz (%d blades at %.6g rev/s)", float64(m)*bpf, s.blades, shaft), hint)
}

// harmonics analyses the run whose spectra Load has kept. It finds the shaft speed of each half from all
// channels, measures the lines of the harmonics, and flags halves that do not agree
// (docs/method.md#do-the-halves-agree). With amplitude "synchronous" it reads the channels again from
// src; otherwise it does not use src.
//
// It panics unless the Analyser has loaded s.segments. If the run cannot be analysed, it returns a
// *fault.Error. It wraps errors of src and ctx.
func (a *Analyser) harmonics(ctx context.Context, src Source, s *rotor) (*rotorRun, error) {
	if !a.Holds(s.segments) {
		panic("dsp: harmonics of other spectra than those loaded")
	}

	set := s.Settings
	run := &rotorRun{
		BinHz: a.BinHz(), averages: a.averages, blades: s.blades, Channels: make([]rotorChannel, len(s.Microphones)),
		Flags: s.tachometerFlags(),
	}

	widen := windows[windowOf(set.Window)].lobe - windows[0].lobe
	fullGuard := floorGuardBins + widen
	run.finder = &lineFinder{
		binHz: run.BinHz, tolerance: set.Tolerance, minBins: set.MinBins, averages: a.averages, widen: widen,
		emergence: math.Pow(10, set.EmergenceDB/10), tone: a.welch.ToneFactor(),
		peakOnly: set.Amplitude == "peak", guard: fullGuard,
	}

	measured, err := a.speeds(run, s)
	if err != nil {
		return nil, err
	}

	floors, err := a.lines(run, s)
	if err != nil {
		return nil, err
	}

	if f, ok := a.contradiction(run, s); ok {
		run.Flags = append(run.Flags, f)
	}

	if run.finder.guard < fullGuard {
		run.Flags = append(run.Flags, run.guardFlag(fullGuard))
	}

	run.Flags = append(run.Flags, a.consistency(run, s, measured, floors)...)

	if set.Amplitude == "synchronous" {
		if err := s.synchronous(ctx, src, run); err != nil {
			return nil, err
		}
	}

	return run, nil
}

// guardFlag returns the flag that floors leave out fewer than fullGuard bins around shaft orders.
func (run *rotorRun) guardFlag(fullGuard int) Flag {
	guard := run.finder.guard
	apart := run.ShaftHz[0] / run.BinHz
	text := fmt.Sprintf("shaft orders are %.1f bins apart: the floor leaves out ±%d bins around each instead of ±%d",
		apart, guard, fullGuard)
	if guard < 0 {
		text = fmt.Sprintf("shaft orders are %.1f bins apart: the floor includes them", apart)
	}

	return Flag{
		Code: "floor-guard", Channel: -1, Statistic: float64(guard), Text: text + "; a longer recording resolves them",
	}
}

// lastBin returns the highest bin that the analysis of the harmonics may read.
func (s *rotor) lastBin() int {
	binHz := s.segments.binHz()
	bins := s.segments.bins()

	hi := cmp.Or(s.shaftHz, s.trackHiHz)
	top := float64(s.harmonics) + 0.5 // as a multiple of the BPF
	if s.shaftHz == 0 {
		top = float64(max(s.harmonics, s.blades, 3)) + 1.5 // fundamental reads up to there
	}

	top *= float64(s.blades) * hi * (1 + s.Settings.Tolerance) * (1 + s.Settings.Tolerance) // in Hz
	if k := top/binHz + 2*floorMinBins; k < float64(bins-1) {
		return int(k)
	}

	return bins - 1
}

// speedFinder sets up a.speed for the spectra of a half and returns it.
func (a *Analyser) speedFinder(lines *lineFinder, half int, s *rotor) *speedFinder {
	f := &a.speed
	f.lines = lines
	f.power = a.mean[half]
	f.blades = s.blades
	f.harm = s.harmonics
	f.last = s.lastBin()

	return f
}

// speeds fills run.ShaftHz with the speeds to analyse with. It returns the speeds of the halves that were measured, by
// the tachometer or in the sound, for the flag "speed-shift". It measures them even if the settings ask for the nominal
// speed. It returns 0 for both halves if the sound of one half does not show a speed near the stated one.
func (a *Analyser) speeds(run *rotorRun, s *rotor) (measured [2]float64, err error) {
	var found [2]bool
	for h := range run.ShaftHz {
		switch {
		case s.Pulses != nil:
			measured[h] = s.halves[h]
			found[h] = true
			run.ShaftHz[h] = s.halves[h]

		case s.shaftHz > 0:
			measured[h], found[h] = a.speedFinder(run.finder, h, s).refine(s.shaftHz)
			run.ShaftHz[h] = s.refined(run, h, measured[h], found[h])

		default:
			measured[h], err = s.tracked(run, h, a.speedFinder(run.finder, h, s))
			if err != nil {
				return measured, err
			}

			found[h] = true
			run.ShaftHz[h] = measured[h]
		}

		if err := s.checkNyquist(run.ShaftHz[h]); err != nil {
			return measured, err
		}
	}

	if !found[0] || !found[1] {
		return [2]float64{}, nil
	}

	if s.shaftHz == 0 {
		err = checkTracked(measured)
	}

	return measured, err
}

// refined returns the speed to analyse half h with: measured if the settings ask to refine the speed, and the stated
// speed otherwise. found is false if no speed was measured; measured is then the stated speed, and refined appends a
// flag to run.Flags if a measured speed was asked for.
func (s *rotor) refined(run *rotorRun, h int, measured float64, found bool) float64 {
	if s.Settings.Speed != "refine" {
		return s.shaftHz
	}

	if !found {
		run.Flags = append(run.Flags, Flag{
			Code: "speed-not-refined", Channel: -1,
			Text: fmt.Sprintf("%s half: no harmonic is %g dB above the floor within ±%g %% of %.6g rev/s; the nominal "+
				"speed is used", halfName(h), s.Settings.EmergenceDB, 100*s.Settings.Tolerance, s.shaftHz),
		})
	}

	return measured
}

// trackEdge is how near to an edge of the range a tracked speed is flagged, relative to the speed.
const trackEdge = 0.005

// tracked returns the speed of half h within the range of the settings, or a *fault.Error if too few
// harmonics have lines. If the speed is at an edge of the range, it appends a flag to run.Flags.
func (s *rotor) tracked(run *rotorRun, h int, finder *speedFinder) (float64, error) {
	shaft, count := finder.track(s.trackLoHz, s.trackHiHz)
	if count < min(2, s.harmonics) {
		return 0, &fault.Error{
			Place: halfName(h) + " half",
			Want:  fmt.Sprintf("lines at multiples of %d × %.6g … %.6g Hz", s.blades, s.trackLoHz, s.trackHiHz),
			Found: fmt.Sprintf("%d at least %g dB above the floor at the best candidate, %.6g rev/s", count,
				s.Settings.EmergenceDB, shaft),
			Hint: "check the range and the number of blades, or give rpm with the conditions",
		}
	}

	if edge := trackEdge * shaft; shaft < s.trackLoHz+edge || shaft > s.trackHiHz-edge {
		run.Flags = append(run.Flags, Flag{
			Code: "track-edge", Channel: -1, Statistic: shaft,
			Text: fmt.Sprintf("%s half: tracked %.6g rev/s, the edge of the range %.6g … %.6g; the true speed may lie outside",
				halfName(h), shaft, s.trackLoHz, s.trackHiHz),
		})
	}

	return shaft, nil
}

// maxSpeedStep is the greatest ratio of the halves' tracked speeds that is accepted.
const maxSpeedStep = 1.25

// checkTracked returns a *fault.Error if the ratio of the halves' tracked speeds is above maxSpeedStep. Real speeds
// drift by percents. If the tracked speeds differ more, one of them is likely a multiple of the true speed.
func checkTracked(measured [2]float64) error {
	lo := min(measured[0], measured[1])
	hi := max(measured[0], measured[1])
	if hi <= maxSpeedStep*lo {
		return nil
	}

	return &fault.Error{
		Want:  "one shaft speed in both halves",
		Found: fmt.Sprintf("%.6g rev/s in the first and %.6g in the second", measured[0], measured[1]),
		Hint: fmt.Sprintf("one is likely a multiple of the true speed: narrow the range it is looked for in to less than "+
			"a factor of two, such as %.0f to %.0f rev/s where %.6g is right",
			0.74*hi, 1.4*hi, hi),
	}
}

// halfName returns the name of half 0 or 1 for messages.
func halfName(h int) string { return [2]string{"first", "second"}[h] }

// lines measures the lines of every channel and stores them in run.Channels. It returns the floor bins of
// all harmonics for each half, in ascending order and each bin once.
func (a *Analyser) lines(run *rotorRun, s *rotor) (floors [2][]int, err error) {
	orders := s.blades * s.harmonics
	a.floorBins = resizeOuter(a.floorBins, orders+1) // per shaft order
	spectra := a.powers32()

	for h, shaft := range run.ShaftHz {
		floors[h] = a.findFloors(run, s, shaft)
		for c := range run.Channels {
			half := &run.Channels[c].Halves[h]
			half.ShaftHz = shaft
			half.Lines = make([]Line, 0, s.harmonics)
			half.ShaftOrders = make([]Line, 0, orders-s.harmonics)
			half.Spectrum = spectra[h][c]
			if err := a.measureLines(run, s, h, c); err != nil {
				return floors, err
			}
		}
	}

	a.findEmergent(run, s)

	return floors, nil
}

// findFloors fills a.floorBins for a shaft speed in rev/s, and lowers run.finder.guard to the smallest
// guard of a harmonic. It returns the floor bins of all harmonics, in ascending order and each bin once.
func (a *Analyser) findFloors(run *rotorRun, s *rotor, shaft float64) []int {
	bpf := float64(s.blades) * shaft
	last := a.welch.Bins() - 1

	var floors []int
	for j := 1; j < len(a.floorBins); j++ {
		bins, guard := run.finder.floorBins(a.floorBins[j], float64(j)*shaft, shaft, bpf, last)
		a.floorBins[j] = bins
		if j%s.blades == 0 {
			run.finder.guard = min(run.finder.guard, guard)
			floors = append(floors, bins...)
		}
	}

	slices.Sort(floors)

	return slices.Compact(floors)
}

// measureLines measures the lines of channel c in half h and appends them to the half's Lines and
// ShaftOrders. A harmonic without any power is a *fault.Error.
func (a *Analyser) measureLines(run *rotorRun, s *rotor, h, c int) error {
	p := a.mean[h][c]
	half := &run.Channels[c].Halves[h]
	shaft := half.ShaftHz
	bpf := float64(s.blades) * shaft

	for j := 1; j < len(a.floorBins); j++ {
		order := j
		hz := float64(j) * shaft
		harmonic := j%s.blades == 0
		if harmonic {
			order = j / s.blades
			hz = float64(order) * bpf
		}

		l := run.finder.measure(p, order, hz, shaft, run.finder.floor(p, a.floorBins[j]))
		if !harmonic {
			half.ShaftOrders = append(half.ShaftOrders, l)
			continue
		}

		if !(l.Power > 0) {
			return wrong(fmt.Sprintf("channel %d, %s half", s.Microphones[c].Channel+1, halfName(h)),
				fmt.Sprintf("sound at harmonic %d (%.6g Hz)", order, l.Hz), "silence (power is zero)",
				"leave the channel out if it was not connected")
		}

		half.Lines = append(half.Lines, l)
	}

	return nil
}

// findEmergent fills Emergent and EmergenceRho of all channels.
func (a *Analyser) findEmergent(run *rotorRun, s *rotor) {
	last := a.welch.Bins() - 1
	bpf := [2]float64{float64(s.blades) * run.ShaftHz[0], float64(s.blades) * run.ShaftHz[1]}

	var bins []int
	for m := range s.harmonics {
		order := float64(m + 1)
		hz := [2]float64{order * bpf[0], order * bpf[1]}
		bins, _ = run.finder.floorBins(bins, hz[0], run.ShaftHz[0], bpf[0], last)
		for c := range run.Channels {
			ch := &run.Channels[c]
			r := run.finder.emergent([2][]float64{a.mean[0][c], a.mean[1][c]}, hz, run.ShaftHz[0], bins)
			ch.EmergenceRho = append(ch.EmergenceRho, r)
			ch.Emergent = append(ch.Emergent, r >= run.finder.emergence)
		}
	}
}

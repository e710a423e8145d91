package dsp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
)

// rotor is a run of a rotor with the numbers that follow from its conditions and settings.
type rotor struct {
	*Run
	segments             *Segments
	blades, harmonics    int        // BPF = blades·shaft
	shaftHz              float64    // by the conditions or the tachometer, rev/s; 0: track
	trackLoHz, trackHiHz float64    // range of shaft speeds to track in, rev/s
	stated               float64    // shaftHz of the conditions, where there is a tachometer; 0: none
	halves               [2]float64 // speed of each half by the tachometer, rev/s
}

// rotorRun is the result of Analyser.harmonics.
type rotorRun struct {
	BinHz    float64  // distance of the bins
	averages averages // of a half
	blades   int
	finder   *lineFinder
	ShaftHz  [2]float64 // per half: nominal, refined or tracked; all channels share it
	Channels []rotorChannel
	Flags    []Flag // doubts, in order: whole run first, then by channel
}

// rotorChannel is one microphone's result.
type rotorChannel struct {
	Halves       [2]Half
	Emergent     []bool    // per harmonic: ρ ≥ emergence_db over both halves together
	EmergenceRho []float64 // that ρ, linear
}

// Half is one half's result for one channel.
type Half struct {
	ShaftHz     float64
	Lines       []Line    // harmonics of the BPF, m = 1 … Harmonics
	ShaftOrders []Line    // shaft orders up to Blades·Harmonics that are no multiple of Blades
	Spectrum    []float32 // mean one-sided power spectrum
}

// newRotor derives them. With levels the harmonics are outcomes; else they only find the
// speed, and there are fewer where the rate is too low. A run that cannot be analysed is
// raises an error.
func newRotor(r *Run, levels bool) *rotor {
	blades, rpm, rps := r.condition("blades"), r.condition("rpm"), r.condition("rps")
	unless(blades == math.Trunc(blades) && blades >= 1 && blades <= 1000, "", "a whole number of blades",
		fmt.Sprintf("blades = %g", blades), "")

	rate := r.rate()

	set := r.Settings
	s := &rotor{Run: r, blades: int(blades), harmonics: set.Harmonics, shaftHz: rpm / 60}
	if _, ok := r.Microphones[0].Conditions["rps"]; ok {
		s.shaftHz = rps
	}

	switch {
	case r.Pulses != nil:
		s.halves = fault.Get(r.Pulses.HalvesHz(rate, r.Samples))
		s.stated, s.shaftHz = s.shaftHz, (s.halves[0]+s.halves[1])/2

	case set.Amplitude == "synchronous":
		fault.Raise(&fault.Error{Want: "a tachometer for amplitude \"synchronous\"", Found: "none"})
	case set.Track != nil:
		s.shaftHz, s.trackLoHz, s.trackHiHz = 0, set.Track.RangeHz[0], set.Track.RangeHz[1]
	case !(s.shaftHz > 0) || !finite(s.shaftHz):
		fault.Raise(&fault.Error{Want: "a shaft speed above zero", Found: fmt.Sprintf("%g rev/s", s.shaftHz)})
	}

	if !levels {
		bpf := blades * max(s.shaftHz, s.trackHiHz) * (1 + set.Tolerance)
		s.harmonics = max(1, min(s.harmonics, int(rate/2/bpf)))
	}

	lowest := cmp.Or(s.shaftHz, s.trackLoHz)

	// Neighbouring harmonics must be resolved: the Hann window's main lobe is 4
	// bins wide.
	periods := 2 * windows[windowOf(set.Window)].lobe
	least := int(math.Ceil(float64(periods) * rate / (blades * lowest)))
	s.segments = r.segments(max(least, floorMinBins),
		fmt.Sprintf("%d periods of the blade passing frequency %.6g Hz", periods, blades*lowest))

	s.segments.keep = s.lastBin() + 1

	s.checkNyquist(lowest)
	return s
}

// checkNyquist reports the first harmonic of shaft above the Nyquist frequency.
func (s *rotor) checkNyquist(shaft float64) {
	bpf := float64(s.blades) * shaft

	nyquist := s.RateHz / 2
	if float64(s.harmonics)*bpf < nyquist {
		return
	}

	m := 1
	for float64(m)*bpf < nyquist {
		m++
	}

	hint := fmt.Sprintf("record at more than %.0f Hz", 2*float64(s.harmonics)*bpf)
	if m > 1 {
		hint = fmt.Sprintf("set harmonics to %d or less, or %s", m-1, hint)
	} else {
		hint = "check blades and speed, or " + hint
	}

	fault.Raise(wrong(fmt.Sprintf("harmonic %d of the blade passing frequency", m),
		fmt.Sprintf("less than the Nyquist frequency %.6g Hz", nyquist),
		fmt.Sprintf("%.6g Hz (%d blades at %.6g rev/s)", float64(m)*bpf, s.blades, shaft), hint))
}

// harmonics analyses the run whose spectra Load has kept: the shaft speed per
// half from all channels, the harmonics' lines, and the flags about whether the
// halves agree (docs/method.md#do-the-halves-agree). Amplitude "synchronous"
// reads the channels again; otherwise src is not used.
//
// It panics unless the Analyser holds s.segments. Errors are those of Load.
func (a *Analyser) harmonics(ctx context.Context, src Source, s *rotor) *rotorRun {
	if !a.Holds(s.segments) {
		panic("dsp: harmonics of other spectra than those loaded")
	}

	run := &rotorRun{
		BinHz: a.BinHz(), averages: a.averages, blades: s.blades, Channels: make([]rotorChannel, len(s.Microphones)),
	}

	set := s.Settings
	lf := &lineFinder{
		binHz: run.BinHz, tolerance: set.Tolerance, minBins: set.MinBins, averages: a.averages,
		emergence: math.Pow(10, set.EmergenceDB/10), tone: a.welch.ToneFactor(),
		peakOnly: set.Amplitude == "peak", widen: windows[windowOf(set.Window)].lobe - windows[0].lobe,
	}

	most := floorGuardBins + lf.widen
	lf.guard, run.finder = most, lf
	run.Flags = s.tachometerFlags()
	measured := a.speeds(run, s, lf)

	floors := a.lines(run, s, lf)

	if f, ok := a.contradiction(run, s); ok {
		run.Flags = append(run.Flags, f)
	}

	if lf.guard < most {
		text := fmt.Sprintf("shaft orders are %.1f bins apart: the floor leaves out ±%d bins around each instead of ±%d",
			run.ShaftHz[0]/run.BinHz, lf.guard, most)
		if lf.guard < 0 {
			text = fmt.Sprintf("shaft orders are %.1f bins apart: the floor includes them", run.ShaftHz[0]/run.BinHz)
		}

		run.Flags = append(run.Flags, Flag{
			Code: "floor-guard", Channel: -1, Statistic: float64(lf.guard),
			Text: text + "; a longer recording resolves them",
		})
	}

	run.Flags = append(run.Flags, a.consistency(run, s, measured, floors)...)
	if set.Amplitude == "synchronous" {
		s.synchronous(ctx, src, run)
	}

	return run
}

// lastBin is the highest bin the harmonics, their searches and floors touch.
func (s *rotor) lastBin() int {
	binHz, bins := s.segments.binHz(), s.segments.bins()

	hi := cmp.Or(s.shaftHz, s.trackHiHz)
	top := float64(s.harmonics) + 0.5
	if s.shaftHz == 0 {
		top = float64(max(s.harmonics, s.blades, 3)) + 1.5 // fundamental looks that far
	}

	top *= float64(s.blades) * hi * (1 + s.Settings.Tolerance) * (1 + s.Settings.Tolerance)
	if k := top/binHz + 2*floorMinBins; k < float64(bins-1) {
		return int(k)
	}

	return bins - 1
}

// speeds fills run.ShaftHz and returns the speeds measured from the sound,
// both zero where none could be (for the speed-shift flag, also when the
// nominal speed is used).
func (a *Analyser) speeds(run *rotorRun, s *rotor, lf *lineFinder) (measured [2]float64) {
	last := s.lastBin()

	var found [2]bool
	for h := range run.ShaftHz {
		sf := &a.speed
		sf.lines, sf.power, sf.blades, sf.harm, sf.last = lf, a.mean[h], s.blades, s.harmonics, last
		if s.Pulses != nil {
			measured[h], found[h], run.ShaftHz[h] = s.halves[h], true, s.halves[h]
		} else if s.shaftHz > 0 {
			measured[h], found[h] = sf.refine(s.shaftHz)
			run.ShaftHz[h] = s.shaftHz
			if s.Settings.Speed == "refine" {
				run.ShaftHz[h] = measured[h]
				if !found[h] {
					run.Flags = append(run.Flags, Flag{
						Code: "speed-not-refined", Channel: -1,
						Text: fmt.Sprintf("%s half: no harmonic is %g dB above the floor within ±%g %% of %.6g rev/s; the nominal "+
							"speed is used", halfName(h), s.Settings.EmergenceDB, 100*s.Settings.Tolerance, s.shaftHz),
					})
				}
			}
		} else {
			shaft, count := sf.track(s.trackLoHz, s.trackHiHz)
			fault.Unless(count >= min(2, s.harmonics), &fault.Error{
				Place: halfName(h) + " half",
				Want:  fmt.Sprintf("lines at multiples of %d × %.6g … %.6g Hz", s.blades, s.trackLoHz, s.trackHiHz),
				Found: fmt.Sprintf("%d at least %g dB above the floor at the best candidate, %.6g rev/s", count,
					s.Settings.EmergenceDB, shaft),
				Hint: "check the range and the number of blades, or give rpm with the conditions",
			})

			measured[h], found[h], run.ShaftHz[h] = shaft, true, shaft
			if edge := 0.005 * shaft; shaft < s.trackLoHz+edge || shaft > s.trackHiHz-edge {
				run.Flags = append(run.Flags, Flag{
					Code: "track-edge", Channel: -1, Statistic: shaft,
					Text: fmt.Sprintf("%s half: tracked %.6g rev/s, the edge of the range %.6g … %.6g; the true speed may lie outside",
						halfName(h), shaft, s.trackLoHz, s.trackHiHz),
				})
			}
		}

		s.checkNyquist(run.ShaftHz[h])
	}

	if !found[0] || !found[1] {
		return [2]float64{}
	}

	if s.shaftHz == 0 {
		// Speeds drift by percents; a larger step is one half taken for a multiple of the other.
		lo, hi := min(measured[0], measured[1]), max(measured[0], measured[1])
		fault.Unless(hi <= maxSpeedStep*lo, &fault.Error{
			Want:  "one shaft speed in both halves",
			Found: fmt.Sprintf("%.6g rev/s in the first and %.6g in the second", measured[0], measured[1]),
			Hint: fmt.Sprintf("one is likely a multiple of the true speed: narrow the range it is looked for in to less than "+
				"a factor of two, such as %.0f to %.0f rev/s where %.6g is right",
				0.74*hi, 1.4*hi, hi),
		})
	}

	return measured
}

// maxSpeedStep is how far apart, as a ratio, tracked speeds of the halves of one
// run may lie.
const maxSpeedStep = 1.25

func halfName(h int) string { return [2]string{"first", "second"}[h] }

// lines measures every channel's lines and returns, per half, the floor bins
// of all harmonics, each bin once.
func (a *Analyser) lines(run *rotorRun, s *rotor, lf *lineFinder) (floors [2][]int) {
	last := a.welch.Bins() - 1
	orders := s.blades * s.harmonics
	floorBins := resizeOuter(a.floorBins, orders+1) // per shaft order
	a.floorBins = floorBins

	spectra := a.powers32()

	for h, shaft := range run.ShaftHz {
		bpf := float64(s.blades) * shaft
		for j := 1; j <= orders; j++ {
			guard := 0
			floorBins[j], guard = lf.floorBins(floorBins[j], float64(j)*shaft, shaft, bpf, last)
			if j%s.blades == 0 {
				lf.guard = min(lf.guard, guard)
				floors[h] = append(floors[h], floorBins[j]...)
			}
		}

		slices.Sort(floors[h])

		floors[h] = slices.Compact(floors[h])
		for c := range run.Channels {
			p := a.mean[h][c]
			half := &run.Channels[c].Halves[h]
			half.ShaftHz = shaft
			half.Lines, half.ShaftOrders = make([]Line, 0, s.harmonics), make([]Line, 0, orders-s.harmonics)
			for j := 1; j <= orders; j++ {
				order, hz := j, float64(j)*shaft

				harmonic := j%s.blades == 0
				if harmonic {
					order = j / s.blades
					hz = float64(order) * bpf
				}

				l := lf.measure(p, order, hz, shaft, lf.floor(p, floorBins[j]))
				if harmonic {
					if !(l.Power > 0) {
						fault.Raise(wrong(fmt.Sprintf("channel %d, %s half", s.Microphones[c].Channel+1, halfName(h)),
							fmt.Sprintf("sound at harmonic %d (%.6g Hz)", order, l.Hz), "silence (power is zero)",
							"leave the channel out if it was not connected"))
					}

					half.Lines = append(half.Lines, l)
				} else {
					half.ShaftOrders = append(half.ShaftOrders, l)
				}
			}

			half.Spectrum = spectra[h][c]
		}
	}

	var bins []int
	for m := range s.harmonics { // the same frequencies in all channels
		order, bpf := float64(m+1), [2]float64{float64(s.blades) * run.ShaftHz[0], float64(s.blades) * run.ShaftHz[1]}
		hz := [2]float64{order * bpf[0], order * bpf[1]}
		bins, _ = lf.floorBins(bins, hz[0], run.ShaftHz[0], bpf[0], last)
		for c := range run.Channels {
			ch := &run.Channels[c]
			r := lf.emergent([2][]float64{a.mean[0][c], a.mean[1][c]}, hz, run.ShaftHz[0], bins)
			ch.EmergenceRho = append(ch.EmergenceRho, r)
			ch.Emergent = append(ch.Emergent, r >= lf.emergence)
		}
	}

	return floors
}

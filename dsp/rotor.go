package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// RotorSettings describe one run of a rotor and how to analyse it. Zero values
// of the fields with a default in their comment take it.
type RotorSettings struct {
	RateHz         float64   // sampling rate
	Start, Samples int64     // interval of the run in the source
	Channels       []int     // channels of the source, microphones of one run
	Scale          []float64 // per channel, factor to the physical unit; nil: 1

	Segments  int     // per half; 8; with SegLen as many as fit
	SegLen    int     // samples per segment; 0: as many as Segments allow
	Overlap   float64 // of segments of one half, see SpectrumSettings
	Precision string  // of the transforms; "": Double
	Window    string  // "": DefaultWindow
	Blades    int     // number of blades n; BPF = n·shaft
	Harmonics int     // of the BPF; 5
	Tolerance float64 // relative half-width of the search; 0.03
	MinBins   int     // least half-width of the search in bins; 2
	Amplitude string  // "band" (default), "peak" or "synchronous" (docs/method.md#split-half-spectra)

	Pulses               *Pulses // of a tachometer, from Start on: wins over all other speeds; "synchronous" needs it
	ShaftHz              float64 // shaft speed from the conditions, rev/s; 0: track
	Speed                string  // "refine" (default): per half within ±Tolerance of ShaftHz; "nominal": ShaftHz as it is
	TrackLoHz, TrackHiHz float64 // range of shaft speeds to track in, rev/s; both 0: off; used only when ShaftHz is 0

	EmergenceDB float64 // ρ from which a line counts as one; 6
	KeepSpectra bool    // keep Half.Spectrum

	stated float64    // ShaftHz as given, where Pulses are
	halves [2]float64 // speed of each half by Pulses, rev/s
}

// RotorRun is the result of Analyser.Harmonics.
type RotorRun struct {
	SegLen   int      // samples per segment, ⌊⌊Samples/2⌋/Segments⌋
	BinHz    float64  // RateHz/SegLen
	Segments int      // per half
	averages averages // of a half
	blades   int
	finder   *lineFinder
	ShaftHz  [2]float64 // per half: nominal, refined or tracked; all channels share it
	Channels []RotorChannel
	Flags    []Flag // doubts, in order: whole run first, then by channel
}

// RotorChannel is one microphone's result.
type RotorChannel struct {
	Halves       [2]Half
	Emergent     []bool    // per harmonic: ρ ≥ EmergenceDB over both halves together
	EmergenceRho []float64 // that ρ, linear
}

// Half is one half's result for one channel.
type Half struct {
	ShaftHz     float64
	Lines       []Line    // harmonics of the BPF, m = 1 … Harmonics
	ShaftOrders []Line    // shaft orders up to Blades·Harmonics that are no multiple of Blades
	Spectrum    []float32 // mean one-sided power spectrum; nil unless KeepSpectra
}

// Defaults of the settings of spectra and harmonics.
const (
	defaultSegments    = 8
	defaultHarmonics   = 5
	defaultTolerance   = 0.03
	defaultMinBins     = 2
	defaultAmplitude   = "band"
	defaultSpeed       = "refine"
	defaultEmergenceDB = 6
)

var amplitudes = []string{"band", "peak", "synchronous"}

// withDefaults fills in defaults and checks values. It panics on shapes that
// only a programmer can get wrong.
func (s RotorSettings) withDefaults() (RotorSettings, error) {
	checkShape(s.Channels, s.Scale)
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}

	deff := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}

	def(&s.Segments, defaultSegments)
	def(&s.Harmonics, defaultHarmonics)
	def(&s.MinBins, defaultMinBins)
	deff(&s.Tolerance, defaultTolerance)
	deff(&s.EmergenceDB, defaultEmergenceDB)

	if s.Amplitude == "" {
		s.Amplitude = defaultAmplitude
	}

	if s.Speed == "" {
		s.Speed = defaultSpeed
	}

	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	switch {
	case !(s.RateHz > 0) || math.IsInf(s.RateHz, 0):
		return s, &fault.Error{
			Want: "a sampling rate above 0 Hz", Found: number(s.RateHz),
			Hint: "state the rate if the file does not",
		}

	case s.Segments < 1:
		return s, &fault.Error{Want: "at least 1 segment per half", Found: strconv.Itoa(s.Segments)}
	case s.Harmonics < 1:
		return s, &fault.Error{Want: "at least 1 harmonic", Found: strconv.Itoa(s.Harmonics)}
	case s.Blades < 1:
		return s, &fault.Error{
			Want: "at least 1 blade", Found: strconv.Itoa(s.Blades),
			Hint: "the number of blades is a condition of the run",
		}

	case !(s.Tolerance > 0 && s.Tolerance < 0.5):
		return s, &fault.Error{Want: "a tolerance between 0 and 0.5", Found: number(s.Tolerance)}
	case s.MinBins < 1:
		return s, &fault.Error{Want: "a search of at least 1 bin", Found: strconv.Itoa(s.MinBins)}
	case !finite(s.EmergenceDB):
		return s, &fault.Error{Want: "an emergence in dB", Found: number(s.EmergenceDB)}
	case !slices.Contains(amplitudes, s.Amplitude):
		return s, &fault.Error{Want: `amplitude "band", "peak" or "synchronous"`, Found: strconv.Quote(s.Amplitude)}
	case s.Amplitude == "synchronous" && s.Pulses == nil:
		return s, &fault.Error{Want: "a tachometer for amplitude \"synchronous\"", Found: "none"}
	case s.Speed != "refine" && s.Speed != "nominal":
		return s, &fault.Error{Want: `speed "refine" or "nominal"`, Found: strconv.Quote(s.Speed)}
	case s.Pulses != nil:
		return s.byTachometer()
	case !finite(s.ShaftHz) || s.ShaftHz < 0:
		return s, &fault.Error{Want: "a shaft speed above 0 rev/s", Found: number(s.ShaftHz)}
	case s.ShaftHz == 0 && s.TrackLoHz == 0 && s.TrackHiHz == 0:
		return s, &fault.Error{
			Want: "a shaft speed", Found: "neither the condition rpm nor a range to track it in",
			Hint: "give rpm with the conditions, or track: {range_hz: [a, b]}",
		}

	case s.ShaftHz == 0 && !(s.TrackLoHz > 0 && s.TrackHiHz > s.TrackLoHz && finite(s.TrackHiHz)):
		return s, &fault.Error{
			Want:  "a range of shaft speeds 0 < a < b to track in",
			Found: number(s.TrackLoHz) + " … " + number(s.TrackHiHz) + " rev/s",
		}
	}

	return s, nil
}

// lowest returns the lowest shaft speed in question.
func (s *RotorSettings) lowest() float64 {
	if s.ShaftHz > 0 {
		return s.ShaftHz
	}
	return s.TrackLoHz
}

// checkNyquist reports the first harmonic of shaft above the Nyquist frequency.
func (s *RotorSettings) checkNyquist(shaft float64) error {
	bpf := float64(s.Blades) * shaft

	nyquist := s.RateHz / 2
	if float64(s.Harmonics)*bpf < nyquist {
		return nil
	}

	m := 1
	for float64(m)*bpf < nyquist {
		m++
	}

	hint := fmt.Sprintf("record at more than %.0f Hz", 2*float64(s.Harmonics)*bpf)
	if m > 1 {
		hint = fmt.Sprintf("set harmonics to %d or less, or %s", m-1, hint)
	} else {
		hint = "check blades and speed, or " + hint
	}

	return &fault.Error{
		Place: fmt.Sprintf("harmonic %d of the blade passing frequency", m),
		Want:  fmt.Sprintf("less than the Nyquist frequency %.6g Hz", nyquist),
		Found: fmt.Sprintf("%.6g Hz (%d blades at %.6g rev/s)", float64(m)*bpf, s.Blades, shaft),
		Hint:  hint,
	}
}

// prepare is withDefaults, and refuses runs that are too short or sampled too
// slowly.
func (s RotorSettings) prepare() (RotorSettings, error) {
	s, err := s.withDefaults()
	if err != nil {
		return s, err
	}

	lowest := s.lowest()

	// Neighbouring harmonics must be resolved: the Hann window's main lobe is 4
	// bins wide.
	periods := 2 * windows[windowOf(s.Window)].lobe
	segment := int(math.Ceil(float64(periods) * s.RateHz / (float64(s.Blades) * lowest)))

	o := s.load()
	switch {
	case s.SegLen > 0 && s.SegLen < segment:
		return s, &fault.Error{
			Want: fmt.Sprintf("segments of at least %d samples, %d periods of the blade passing frequency %.6g Hz", segment,
				periods, float64(s.Blades)*lowest),
			Found: strconv.Itoa(s.SegLen), Hint: "ask for longer segments",
		}

	case s.SegLen > 0:
		if err := o.check(); err != nil {
			return s, err
		}
		s.Segments = o.Segments

	case o.segLen() < max(segment, floorMinBins):
		per := max(segment, floorMinBins)
		return s, &fault.Error{
			Want: fmt.Sprintf("at least %d samples (2 halves of %d segments, each %d periods of the blade passing frequency "+
				"%.6g Hz)", 2*(per+(s.Segments-1)*(per-o.shared(per))), s.Segments, periods, float64(s.Blades)*lowest),
			Found: strconv.FormatInt(s.Samples, 10),
			Hint:  "record longer or ask for fewer segments",
		}
	}

	return s, s.checkNyquist(lowest)
}

// load are the settings of the spectra but for SegmentBins.
func (s *RotorSettings) load() SpectrumSettings {
	return SpectrumSettings{
		RateHz: s.RateHz, Start: s.Start, Samples: s.Samples, Channels: s.Channels, Scale: s.Scale,
		Segments: s.Segments, SegLen: s.SegLen, Overlap: s.Overlap, Window: s.Window, Precision: s.Precision,
	}
}

// spectra are the settings of the spectra that the harmonics are found in.
func (s *RotorSettings) spectra() SpectrumSettings {
	o := s.load()
	n := o.segLen()
	o.SegmentBins = s.lastBin(s.RateHz/float64(n), n/2+1) + 1
	return o
}

// Spectra returns the settings for Analyser.Load. Settings or a run that cannot
// be analysed are a *fault.Error.
func (s RotorSettings) Spectra() (SpectrumSettings, error) {
	s, err := s.prepare()
	if err != nil {
		return SpectrumSettings{}, err
	}

	return s.spectra(), nil
}

// Run is Load and Harmonics.
func (a *Analyser) Run(ctx context.Context, src Source, s RotorSettings) (*RotorRun, error) {
	load, err := s.Spectra()
	if err != nil {
		return nil, err
	}

	if err := a.Load(ctx, src, load); err != nil {
		return nil, err
	}

	return a.Harmonics(ctx, src, s)
}

// Harmonics analyses the run whose spectra Load has kept: the shaft speed per
// half from all channels, the harmonics' lines, and the flags about whether the
// halves agree (docs/method.md#do-the-halves-agree). Amplitude "synchronous"
// reads the channels again; otherwise src is not used.
//
// It panics unless the Analyser holds s.Spectra(). Errors are those of Load.
func (a *Analyser) Harmonics(ctx context.Context, src Source, s RotorSettings) (*RotorRun, error) {
	s, err := s.prepare()
	if err != nil {
		return nil, err
	}

	if !a.Holds(s.spectra()) {
		panic("dsp: harmonics of other spectra than those loaded")
	}

	segLen := a.welch.SegLen()
	run := &RotorRun{
		SegLen: segLen, BinHz: s.RateHz / float64(segLen), Segments: s.Segments, averages: a.averages, blades: s.Blades,
		Channels: make([]RotorChannel, len(s.Channels)),
	}

	lf := &lineFinder{
		kernels: a.welch.kernels, binHz: run.BinHz, tolerance: s.Tolerance, minBins: s.MinBins, averages: a.averages,
		emergence: math.Pow(10, s.EmergenceDB/10), tone: a.welch.ToneFactor(),
		peakOnly: s.Amplitude == "peak", widen: windows[windowOf(s.Window)].lobe - windows[0].lobe,
	}

	most := floorGuardBins + lf.widen
	lf.guard, run.finder = most, lf
	run.Flags = s.tachometerFlags()
	measured, err := a.speeds(run, &s, lf)
	if err != nil {
		return nil, err
	}

	floors, err := a.lines(run, &s, lf)
	if err != nil {
		return nil, err
	}

	if f, ok := a.contradiction(run, &s); ok {
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

	run.Flags = append(run.Flags, a.consistency(run, &s, measured, floors)...)
	if s.Amplitude == "synchronous" {
		err = s.synchronous(ctx, src, run)
	}

	return run, err
}

// lastBin is the highest bin the harmonics, their searches and floors touch.
func (s *RotorSettings) lastBin(binHz float64, bins int) int {
	hi := s.ShaftHz
	if hi == 0 {
		hi = s.TrackHiHz
	}

	top := float64(s.Harmonics) + 0.5
	if s.ShaftHz == 0 {
		top = float64(max(s.Harmonics, s.Blades, 3)) + 1.5 // fundamental looks that far
	}

	top *= float64(s.Blades) * hi * (1 + s.Tolerance) * (1 + s.Tolerance)
	if k := top/binHz + 2*floorMinBins; k < float64(bins-1) {
		return int(k)
	}

	return bins - 1
}

// speeds fills run.ShaftHz and returns the speeds measured from the sound,
// both zero where none could be (for the speed-shift flag, also when the
// nominal speed is used).
func (a *Analyser) speeds(run *RotorRun, s *RotorSettings, lf *lineFinder) (measured [2]float64, err error) {
	bins := a.welch.Bins()

	var found [2]bool
	for h := range run.ShaftHz {
		sf := &a.speed
		sf.lines, sf.power, sf.blades, sf.harm, sf.last = lf, a.mean[h], s.Blades, s.Harmonics, s.lastBin(run.BinHz, bins)
		if s.Pulses != nil {
			measured[h], found[h], run.ShaftHz[h] = s.halves[h], true, s.halves[h]
		} else if s.ShaftHz > 0 {
			measured[h], found[h] = sf.refine(s.ShaftHz)
			run.ShaftHz[h] = s.ShaftHz
			if s.Speed == "refine" {
				run.ShaftHz[h] = measured[h]
				if !found[h] {
					run.Flags = append(run.Flags, Flag{
						Code: "speed-not-refined", Channel: -1,
						Text: fmt.Sprintf("%s half: no harmonic is %g dB above the floor within ±%g %% of %.6g rev/s; the nominal "+
							"speed is used", halfName(h), s.EmergenceDB, 100*s.Tolerance, s.ShaftHz),
					})
				}
			}
		} else {
			shaft, count := sf.track(s.TrackLoHz, s.TrackHiHz)
			if count < min(2, s.Harmonics) {
				return measured, &fault.Error{
					Place: halfName(h) + " half",
					Want:  fmt.Sprintf("lines at multiples of %d × %.6g … %.6g Hz", s.Blades, s.TrackLoHz, s.TrackHiHz),
					Found: fmt.Sprintf("%d at least %g dB above the floor at the best candidate, %.6g rev/s", count, s.EmergenceDB,
						shaft),
					Hint: "check the range and the number of blades, or give rpm with the conditions",
				}
			}

			measured[h], found[h], run.ShaftHz[h] = shaft, true, shaft
			if edge := 0.005 * shaft; shaft < s.TrackLoHz+edge || shaft > s.TrackHiHz-edge {
				run.Flags = append(run.Flags, Flag{
					Code: "track-edge", Channel: -1, Statistic: shaft,
					Text: fmt.Sprintf("%s half: tracked %.6g rev/s, the edge of the range %.6g … %.6g; the true speed may lie outside",
						halfName(h), shaft, s.TrackLoHz, s.TrackHiHz),
				})
			}
		}

		if err := s.checkNyquist(run.ShaftHz[h]); err != nil {
			return measured, err
		}
	}

	if !found[0] || !found[1] {
		return [2]float64{}, nil
	}

	if s.ShaftHz == 0 {
		// Speeds drift by percents; a larger step is one half taken for a multiple of the other.
		if lo, hi := min(measured[0], measured[1]), max(measured[0], measured[1]); hi > maxSpeedStep*lo {
			return measured, &fault.Error{
				Want:  "one shaft speed in both halves",
				Found: fmt.Sprintf("%.6g rev/s in the first and %.6g in the second", measured[0], measured[1]),
				Hint: fmt.Sprintf("one is likely a multiple of the true speed: narrow the range it is looked for in to less than "+
					"a factor of two, such as %.0f to %.0f rev/s where %.6g is right",
					0.74*hi, 1.4*hi, hi),
			}
		}
	}

	return measured, nil
}

// maxSpeedStep is how far apart, as a ratio, tracked speeds of the halves of one
// run may lie.
const maxSpeedStep = 1.25

func halfName(h int) string { return [2]string{"first", "second"}[h] }

// lines measures every channel's lines and returns, per half, the floor bins
// of all harmonics, each bin once.
func (a *Analyser) lines(run *RotorRun, s *RotorSettings, lf *lineFinder) (floors [2][]int, err error) {
	last := a.welch.Bins() - 1
	orders := s.Blades * s.Harmonics
	floorBins := resizeOuter(a.floorBins, orders+1) // per shaft order
	a.floorBins = floorBins

	var spectra [2][][]float32
	if s.KeepSpectra {
		spectra = a.powers32()
	}

	for h, shaft := range run.ShaftHz {
		bpf := float64(s.Blades) * shaft
		for j := 1; j <= orders; j++ {
			guard := 0
			floorBins[j], guard = lf.floorBins(floorBins[j], float64(j)*shaft, shaft, bpf, last)
			if j%s.Blades == 0 {
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
			half.Lines, half.ShaftOrders = make([]Line, 0, s.Harmonics), make([]Line, 0, orders-s.Harmonics)
			for j := 1; j <= orders; j++ {
				order, hz := j, float64(j)*shaft

				harmonic := j%s.Blades == 0
				if harmonic {
					order = j / s.Blades
					hz = float64(order) * bpf
				}

				l := lf.measure(p, order, hz, shaft, lf.floor(p, floorBins[j]))
				if harmonic {
					if !(l.Power > 0) {
						return floors, &fault.Error{
							Place: fmt.Sprintf("channel %d, %s half", s.Channels[c]+1, halfName(h)),
							Want:  fmt.Sprintf("sound at harmonic %d (%.6g Hz)", order, l.Hz), Found: "silence (power is zero)",
							Hint: "leave the channel out if it was not connected",
						}
					}

					half.Lines = append(half.Lines, l)
				} else {
					half.ShaftOrders = append(half.ShaftOrders, l)
				}
			}

			if s.KeepSpectra {
				half.Spectrum = spectra[h][c]
			}
		}
	}

	var bins []int
	for m := range s.Harmonics { // the same frequencies in all channels
		order, bpf := float64(m+1), [2]float64{float64(s.Blades) * run.ShaftHz[0], float64(s.Blades) * run.ShaftHz[1]}
		hz := [2]float64{order * bpf[0], order * bpf[1]}
		bins, _ = lf.floorBins(bins, hz[0], run.ShaftHz[0], bpf[0], last)
		for c := range run.Channels {
			ch := &run.Channels[c]
			r := lf.emergent([2][]float64{a.mean[0][c], a.mean[1][c]}, hz, run.ShaftHz[0], bins)
			ch.EmergenceRho = append(ch.EmergenceRho, r)
			ch.Emergent = append(ch.Emergent, r >= lf.emergence)
		}
	}

	return floors, nil
}

package dsp

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Expected values: the biases stated in docs/method.md#split-half-spectra, for a
// tone of power ρ·ν (ν the mean floor per bin, 3σ²/N for the Hann window) in
// white noise, 8 segments a half. 800 halves, 200 in a short run: standard errors of the means
// 0.05 dB and less with 800. Scalloping over tones uniform between bins: closed form of
// the Hann main lobe, mean −0.49, deviation 0.43 dB.
func TestAmplitudeBias(t *testing.T) {
	var lobe, lobe2 float64

	const points = 10001
	for i := range points {
		d := -0.5 + float64(i)/(points-1)

		v := 1.0
		if d != 0 {
			v = math.Sin(math.Pi*d) / (math.Pi * d) / (1 - d*d)
		}

		db := 20 * math.Log10(v)
		lobe += db / points
		lobe2 += db * db / points
	}

	lobeSD := math.Sqrt(lobe2 - lobe*lobe)

	const n = 512
	for _, c := range []struct {
		amplitude           string
		db                  float64
		between             bool // frequency uniform between bins, else on a bin
		mean, meanTolerance float64
		sd, sdTolerance     float64
	}{
		{amplitude: "peak", mean: 3, meanTolerance: 0.2, sd: 1.2, sdTolerance: 0.2},
		{amplitude: "peak", db: 6, mean: 0.9, meanTolerance: 0.15, sd: 0.9, sdTolerance: 0.15},
		{amplitude: "peak", db: 40, between: true, mean: lobe, meanTolerance: 0.06, sd: lobeSD, sdTolerance: 0.03},
		{amplitude: "band", db: 30, between: true, meanTolerance: 0.02, sd: 0.08, sdTolerance: 0.02},
		{amplitude: "band", db: 30, meanTolerance: 0.02, sd: 0.08, sdTolerance: 0.02},
		{amplitude: "band", db: 12, between: true, mean: -0.1, meanTolerance: 0.15, sd: 0.55, sdTolerance: 0.15},
		{amplitude: "band", db: 12, mean: -0.1, meanTolerance: 0.15, sd: 0.55, sdTolerance: 0.15},
	} {
		r := rand.New(rand.NewPCG(1, uint64(c.db)))
		var sum, square, count float64
		a := NewAnalyser()

		x := make([]float64, 16*n)
		for range turns(400, 100) {
			f := 64.
			if c.between {
				f += r.Float64() - 0.5
			}

			p := math.Pow(10, c.db/10) * 3 / n

			phase := 2 * math.Pi * r.Float64()
			for i := range x {
				x[i] = r.NormFloat64() + math.Sqrt(2*p)*math.Sin(2*math.Pi*f*float64(i)/n+phase)
			}

			run, err := a.run(t.Context(), memory{x}, rotorAt(memory{x}, n, 4, f/4, func(s *Settings) {
				s.Harmonics = 1
				s.Speed = "nominal"
				s.Amplitude = c.amplitude
			}))
			require.NoError(t, err)

			for _, h := range run.Channels[0].Halves {
				e := LevelDB(h.Lines[0].Power/p, 1)
				sum += e
				square += e * e
				count += 1
			}
		}

		mean := sum / count
		sd := math.Sqrt(square/count - mean*mean)
		t.Logf("%s at %g dB, between bins %t: %+.2f ± %.2f dB", c.amplitude, c.db, c.between, mean, sd)

		require.InDelta(t, c.mean, mean, c.meanTolerance,
			"%s at %g dB, between bins %t: %+.3f ± %.3f dB, want %+.2f ± %.2f",
			c.amplitude, c.db, c.between, mean, sd, c.mean, c.sd)
		assert.InDelta(t, c.sd, sd, c.sdTolerance,
			"%s at %g dB, between bins %t: %+.3f ± %.3f dB, want %+.2f ± %.2f",
			c.amplitude, c.db, c.between, mean, sd, c.mean, c.sd)
	}
}

// spinningRotor describes the sound of a rotor. The first harmonic of the BPF has 0 dB (amplitude 1).
type spinningRotor struct {
	rate, seconds float64
	blades        int
	shaft         func(t float64) float64 // rev/s at time t
	fallDB        float64                 // each further harmonic of the BPF is lower by it
	sideDB        float64                 // other shaft orders are lower than their neighbours by it
	noise         float64                 // standard deviation
	seed          uint64
}

// samples returns the sound.
func (s spinningRotor) samples() []float64 {
	r := rand.New(rand.NewPCG(s.seed, 7))
	x := make([]float64, int(s.rate*s.seconds))
	orders := 6 * s.blades
	amp := make([]float64, orders+1)
	phase := make([]float64, orders+1)
	for j := 1; j <= orders; j++ {
		db := -s.fallDB * (float64(j)/float64(s.blades) - 1)
		if j%s.blades != 0 {
			db -= s.sideDB
		}

		amp[j] = math.Pow(10, db/20)
		phase[j] = 2 * math.Pi * r.Float64()
	}

	turn := 0.0
	for i := range x {
		turn += s.shaft(float64(i)/s.rate) / s.rate
		for j := 1; j <= orders; j++ {
			if float64(j)*s.shaft(0) < s.rate/2.1 {
				x[i] += amp[j] * math.Sin(2*math.Pi*float64(j)*turn+phase[j])
			}
		}

		x[i] += s.noise * r.NormFloat64()
	}

	return x
}

func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// Expected value: the speed put in. Refining starts up to 2.8 % off and must
// come within 0.02 bins of the highest harmonic; weak lines and drift allow
// less.
func TestRefine(t *testing.T) {
	for i, c := range []struct {
		shaft, nominal, sigma, within float64
	}{
		{50, 50, 0.1, 2e-5},
		{50.31, 49, 0.1, 2e-5},
		{49.123, 50.4, 0.1, 2e-5},
		{83.3, 81.1, 1, 2e-4},
		{83.3, 85.5, 3, 1e-3},
	} {
		x := memory{
			spinningRotor{
				rate: 6400, seconds: 8, blades: 3, shaft: constant(c.shaft),
				fallDB: 4, sideDB: 25, noise: c.sigma, seed: uint64(i),
			}.samples(),
			spinningRotor{
				rate: 6400, seconds: 8, blades: 3, shaft: constant(c.shaft),
				fallDB: 6, sideDB: 25, noise: c.sigma, seed: uint64(i + 50),
			}.samples(),
		}

		run := analyse(t, x, rotorAt(x, 6400, 3, c.nominal))
		for h, got := range run.ShaftHz {
			assert.InDelta(t, c.shaft, got, c.within*c.shaft, "case %d, half %d: rev/s", i, h)
		}
	}
}

// Expected value: the time mean of the speed put in, which drifts by 1.6 %
// within each half: lines spread over up to 60 bins. The band levels stay
// right: 10 log10(a²/2), the drift moves power between bins only.
func TestDrift(t *testing.T) {
	shaft := func(t float64) float64 { return 80 * (1 + 0.004*t) }
	x := spinningRotor{
		rate: 6400, seconds: 8, blades: 3, shaft: shaft,
		fallDB: 6, sideDB: 40, noise: 0.05, seed: 3,
	}.samples()
	run := analyse(t, memory{x}, rotorAt(memory{x}, 6400, 3, 80))
	for h, got := range run.ShaftHz {
		want := shaft(2 + 4*float64(h))
		assert.InDelta(t, want, got, 1e-3*want, "half %d", h)

		for m, l := range run.Channels[0].Halves[h].Lines {
			assert.InDelta(t, -3.01-6*float64(m), LevelDB(l.Power, 1), 0.25, "half %d, harmonic %d: dB", h, m+1)
		}
	}

	assert.True(t, run.Channels[0].Emergent[4], "harmonic 5 does not emerge")
}

// Noise alone leaves nothing to refine: the nominal speed stays, flagged, and
// every level is a finite upper bound.
func TestRefineWithoutLines(t *testing.T) {
	x := memory{noise(51200, 1)}
	run := analyse(t, x, rotorAt(x, 6400, 3, 50))
	assert.Equal(t, [2]float64{50, 50}, run.ShaftHz, "speeds")
	require.Len(t, run.Flags, 2, "flags %v", run.Flags)
	assert.Equal(t, "speed-not-refined", run.Flags[0].Code, "flags %v", run.Flags)

	for _, h := range run.Channels[0].Halves {
		for _, l := range h.Lines {
			require.True(t, l.UpperBound, "line")
			require.True(t, finite(LevelDB(l.Power, 1)), "line")
			assert.GreaterOrEqual(t, l.Power, l.PeakPower, "line")
		}
	}

	for m, e := range run.Channels[0].Emergent {
		assert.False(t, e, "harmonic %d of noise emerges, ρ %.1f", m+1, run.Channels[0].EmergenceRho[m])
	}
}

// Expected value: the speed put in; the range holds its half, third, double
// and 3/2, which shaft orders 10 dB below the BPF's harmonics make plausible.
func TestTrack(t *testing.T) {
	for _, blades := range []int{2, 3, 4, 5}[:turns(4, 2)] {
		for _, shaft := range []float64{41.7, 66.6, 93.1} {
			for _, fall := range []float64{2, 8} {
				x := spinningRotor{
					rate: 12800, seconds: 4, blades: blades, shaft: constant(shaft),
					fallDB: fall, sideDB: 10, noise: 0.2, seed: uint64(shaft),
				}.samples()
				run := analyse(t, memory{x}, rotorAt(memory{x}, 12800, blades, 0, tracked(0.3*shaft, 2.2*shaft)))

				for h, got := range run.ShaftHz {
					assert.InDelta(t, shaft, got, 5e-4*shaft, "%d blades, half %d", blades, h+1)
				}
			}
		}
	}
}

// A range whose upper part has its harmonics above the Nyquist frequency does
// not mislead; a speed found there is an error that names the harmonic.
func TestTrackAcrossNyquist(t *testing.T) {
	x := memory{spinningRotor{
		rate: 6400, seconds: 4, blades: 3, shaft: constant(66.6),
		fallDB: 6, sideDB: 20, noise: 0.2, seed: 1,
	}.samples()}
	s := rotorAt(x, 6400, 3, 0, tracked(50, 900))
	run := analyse(t, x, s)
	assert.InDelta(t, 66.6, run.ShaftHz[0], 0.02, "tracked %v", run.ShaftHz)

	_, err := NewAnalyser().run(t.Context(), memory{spinningRotor{
		rate: 6400, seconds: 4, blades: 3, shaft: constant(401),
		fallDB: 3, sideDB: 20, noise: 0.01, seed: 1,
	}.samples()}, s)
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "harmonic 3 of the blade passing frequency: expected less than the "+
		"Nyquist frequency 3200 Hz, found 3609 Hz (3 blades at 401 rev/s)"))
}

// Noise has no lines: tracking returns an error that names the half and the lines that it expected.
func TestTrackFindsNothing(t *testing.T) {
	x := memory{noise(51200, 1)}
	_, err := NewAnalyser().run(t.Context(), x, rotorAt(x, 6400, 2, 0, tracked(30, 60)))

	var e *fault.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "first half", e.Place)
	assert.Contains(t, e.Want, "lines at multiples of 2 × 30 … 60 Hz")
}

// Expected texts: what a person needs to mend the input.
func TestErrors(t *testing.T) {
	x := memory{spinningRotor{
		rate: 6400, seconds: 2, blades: 2, shaft: constant(100),
		fallDB: 3, sideDB: 20, noise: 0.1, seed: 1,
	}.samples(), make([]float64, 12800)}
	bad := slices.Clone(x[0])
	bad[9000] = math.NaN()
	x = append(x, bad)

	for _, c := range []struct {
		name string
		edit func(*Run)
		want string
	}{
		{"short", func(r *Run) { r.Samples = 1000 }, "expected at least 2048 samples (2 halves of 8 segments, " +
			"each 4 periods of the blade passing frequency 200 Hz), found 1000 (record longer or ask for fewer segments)"},
		{
			"Nyquist", func(r *Run) { r.Settings.Harmonics = 20 },
			"harmonic 16 of the blade passing frequency: expected less than the Nyquist frequency 3200 Hz, found 3200 Hz (2 " +
				"blades at 100 rev/s) (set harmonics to 15 or less, or record at more than 8000 Hz for all 20)",
		},
		{"end", func(r *Run) { r.Samples = 14400 }, "sample 12800: expected 14400 samples from 0 on, found the " +
			"end of the data"},
		{
			"silence", func(r *Run) { r.Microphones[0].Channel = 1 },
			"channel 2, first half: expected sound, found silence (all samples equal) (leave the channel out if it was not " +
				"connected)",
		},
		{"NaN", func(r *Run) { r.Microphones[0].Channel = 2 }, "channel 3, sample 9000: expected a finite number, found " +
			"NaN"},
		{
			"no speed", func(r *Run) { delete(r.Microphones[0].Conditions, "rps") },
			"expected a shaft speed above zero, found 0 rev/s",
		},
		{"rate", func(r *Run) { r.RateHz = -1 }, "expected a sampling rate above 0 Hz, found -1 (state the rate if " +
			"the file does not)"},
		{"blades", func(r *Run) { r.Microphones[0].Conditions["blades"] = 0 }, "expected a whole number of blades, found " +
			"blades = 0"},
	} {
		r := rotorAt(x[:1], 6400, 2, 100)
		c.edit(r)
		_, err := NewAnalyser().run(t.Context(), x, r)

		var e *fault.Error
		require.ErrorAs(t, err, &e, "%s:\n got %v\nwant %s", c.name, err, c.want)
		assert.Equal(t, c.want, err.Error(), "%s:\n got %v\nwant %s", c.name, err, c.want)
	}
}

// broken is a Source that fails, and counts the reads.
type broken struct{ asked int }

func (b *broken) Read([]int, int64, [][]float64) (int, error) {
	b.asked++
	return 0, io.ErrClosedPipe
}

// An error of the source is passed on. A cancelled context ends the analysis before anything is read.
func TestSourceErrorsAndCancel(t *testing.T) {
	s := rotorAt(memory{make([]float64, 51200)}, 6400, 2, 100)
	_, err := NewAnalyser().run(t.Context(), &broken{}, s)
	assert.ErrorIs(t, err, io.ErrClosedPipe)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	src := &broken{}
	_, err = NewAnalyser().run(ctx, src, s)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 0, src.asked)
}

// ordered checks that a run is read once, forwards, two segments at a time.
type ordered struct {
	memory
	t    *testing.T
	next int64
	size int
}

func (o *ordered) Read(channels []int, start int64, dst [][]float64) (int, error) {
	require.GreaterOrEqual(o.t, start, o.next, "read")
	assert.Len(o.t, dst[0], o.size, "read")

	o.next = start + int64(len(dst[0]))

	return o.memory.Read(channels, start, dst)
}

// The interval, not the file, is analysed, and an Analyser leaves nothing of
// one run in the next; a result does not change under the caller.
func TestIntervalAndReuse(t *testing.T) {
	x := spinningRotor{
		rate: 6400, seconds: 4, blades: 2, shaft: constant(100),
		fallDB: 3, sideDB: 20, noise: 0.5, seed: 1,
	}.samples()
	cut := memory{x}
	padded := memory{slices.Concat(noise(777, 4), x, noise(999, 5))}
	s := rotorAt(cut, 6400, 2, 100)
	want := analyse(t, cut, s)
	a := NewAnalyser()
	long := rotorAt(cut, 6400, 2, 100, func(s *Settings) { s.Segments = 4 })
	long.Start = 100
	long.Samples = 20000
	_, err := a.run(t.Context(), padded, long)
	require.NoError(t, err)

	s.Start = 777
	got, err := a.run(t.Context(), &ordered{memory: padded, t: t, size: 2 * int(6400/want.BinHz)}, s)
	require.NoError(t, err)
	assert.Equal(t, want, got, "results differ")

	_, err = a.run(t.Context(), padded, long)
	require.NoError(t, err)
	assert.Equal(t, want, got, "a later run changed an earlier result")
}

// Invariants: a factor to the physical unit multiplies powers by its square
// and nothing else; channels do not depend on each other at a nominal speed.
func TestScaleAndChannels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "log2 scale")) // exact
		seed := rapid.Uint64().Draw(t, "seed")
		src := memory{
			spinningRotor{
				rate: 1600, seconds: 4, blades: 2, shaft: constant(50),
				fallDB: 3, sideDB: 20, noise: 0.3, seed: seed,
			}.samples(), spinningRotor{
				rate: 1600, seconds: 4, blades: 2, shaft: constant(50),
				fallDB: 6, sideDB: 10, noise: 0.6, seed: seed + 1,
			}.samples(),
		}
		s := rotorAt(src, 1600, 2, 50, func(s *Settings) { s.Speed = "nominal" })
		both, err := NewAnalyser().run(context.Background(), src, s)
		require.NoError(t, err)

		s.Microphones = s.Microphones[1:]
		s.Microphones[0].Scale = scale
		alone, err := NewAnalyser().run(context.Background(), src, s)
		require.NoError(t, err)

		for h := range 2 {
			for m, l := range alone.Channels[0].Halves[h].Lines {
				want := both.Channels[1].Halves[h].Lines[m]
				require.InDelta(t, want.Power*scale*scale, l.Power, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.Floor*scale*scale, l.Floor, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.Rho, l.Rho, 0, "half %d, harmonic %d", h, m+1)
				require.InDelta(t, want.PeakHz, l.PeakHz, 1e-9, "half %d, harmonic %d", h, m+1)
			}
		}
	})
}

// Expected bins: counted by hand from docs/method.md#split-half-spectra.
func TestSearchAndFloorBins(t *testing.T) {
	lf := lineFinder{binHz: 2, tolerance: 0.03, minBins: 2}
	for _, c := range []struct {
		hz, shaft float64
		want      [2]int
	}{
		{100, 50, [2]int{48, 52}},     // ±max(3, 4) Hz
		{1000, 100, [2]int{485, 515}}, // ±30 Hz
		{1000, 40, [2]int{490, 510}},  // clipped midway, ±20 Hz
		{101, 1, [2]int{51, 51}},      // no bin within ±0.5 Hz: the nearest
	} {
		assert.Equal(t, c.want, lf.searchBins(c.hz, c.shaft, 6400), "%g Hz, shaft %g: bins", c.hz, c.shaft)
	}

	// BPF 300 = 3 × 100 Hz, second harmonic: 525 … 675 Hz, orders at 600 only
	// (500 and 700 are 12 bins outside): bins 263 … 337 without 296 … 304.
	bins, guard := lf.floorBins(nil, 600, 100, 300, 6400)
	assert.Equal(t, 4, guard, "guard")
	assert.Equal(t, 263, bins[0], "first bin of the floor")
	assert.Equal(t, 337, bins[len(bins)-1], "last bin of the floor")
	require.Len(t, bins, 75-9, "bins of the floor")
	assert.NotContains(t, bins, 296, "bin inside the guard of an order")
	assert.Contains(t, bins, 295, "bin next to the guard of an order")

	// Orders 8 bins apart: ±4 leaves nothing, ±3 one bin an order, 10 of them.
	bins, guard = lf.floorBins(nil, 16*18, 16, 2*16*9, 6400)
	assert.Equal(t, 3, guard, "guard")
	assert.Len(t, bins, 10, "bins of the floor")

	// Orders a bin apart: no order can be left out.
	bins, guard = lf.floorBins(nil, 200, 2, 40, 6400)
	assert.Equal(t, -1, guard, "guard")
	require.GreaterOrEqual(t, len(bins), floorMinBins, "bins of the floor")
	assert.NotContains(t, bins, 100, "bin of the line")
}

// The predicted deviation at ρ = 0 and for large ρ, by hand from
// docs/method.md#split-half-spectra: 4.343/√8 and 4.343·√(2/(8ρ)).
func TestLevelSD(t *testing.T) {
	assert.InDelta(t, 1.5355, independent(8).lineSD(0), 1e-4, "ρ = 0")
	assert.InDelta(t, 4.3429*math.Sqrt(2/8e6), independent(8).lineSD(1e6), 1e-6, "ρ = 1e6")
}

// A rotor of 3 blades turns at 66.2 rev/s. Its nominal speed, 66 rev/s, is refined in each half of the recording, so
// that the harmonics are found at their true frequencies.
func ExampleAnalyser() {
	x := spinningRotor{
		rate: 12800, seconds: 8, blades: 3, shaft: constant(66.2),
		fallDB: 6, sideDB: 30, noise: 0.01, seed: 1,
	}.samples()

	run, err := NewAnalyser().run(context.Background(), memory{x}, rotorAt(memory{x}, 12800, 3, 66))
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, l := range run.Channels[0].Halves[0].Lines {
		fmt.Printf("%d × BPF at %.0f Hz: %.1f dB re full scale\n", l.Order, l.Hz, LevelDB(l.Power, 1))
	}
	// Output:
	// 1 × BPF at 199 Hz: -3.0 dB re full scale
	// 2 × BPF at 397 Hz: -9.0 dB re full scale
	// 3 × BPF at 596 Hz: -15.0 dB re full scale
	// 4 × BPF at 794 Hz: -21.0 dB re full scale
	// 5 × BPF at 993 Hz: -27.0 dB re full scale
}

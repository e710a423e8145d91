package dsp

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/ingest/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The level of a tone in white noise is biased, because the noise adds to it and because the tone may lie between two
// bins. Expected: the biases and deviations that docs/method.md#split-half-spectra states for 8 segments a half. The
// tone has the power ρ·ν, where ν is the mean power of a bin of the noise, 3σ²/N under the Hann window. For strong
// tones between bins, the expected mean of −0.49 dB and deviation of 0.43 dB come from the closed form of the window's
// main lobe. Over 800 halves (200 in a short test) the mean has a standard error of at most 0.05 dB.
func TestAmplitudeBias(t *testing.T) {
	lobe, lobeSD := mainLobeDB()

	const n = 512
	for _, c := range []struct {
		amplitude           string
		db                  float64 // ρ
		between             bool    // the frequency is random between two bins; otherwise it is on a bin
		mean, meanTolerance float64 // of the error of the level, dB
		sd, sdTolerance     float64 // of this error, dB
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

		assert.InDelta(t, c.mean, mean, c.meanTolerance, "%s at %g dB, between bins %t: mean in dB",
			c.amplitude, c.db, c.between)
		assert.InDelta(t, c.sd, sd, c.sdTolerance, "%s at %g dB, between bins %t: deviation in dB",
			c.amplitude, c.db, c.between)
	}
}

// mainLobeDB returns the mean and the standard deviation, in dB, of the power that the nearest bin of a Hann-windowed
// spectrum shows of a tone, relative to the tone's power, if every frequency between two bins is equally probable.
func mainLobeDB() (mean, sd float64) {
	const points = 10001
	square := 0.0
	for i := range points {
		distance := -0.5 + float64(i)/(points-1) // from the bin, in bins

		amplitude := 1.0
		if distance != 0 {
			amplitude = math.Sin(math.Pi*distance) / (math.Pi * distance) / (1 - distance*distance)
		}

		db := 20 * math.Log10(amplitude)
		mean += db / points
		square += db * db / points
	}

	return mean, math.Sqrt(square - mean*mean)
}

// spinningRotor describes the sound of a rotor. The first harmonic of the BPF has 0 dB (amplitude 1).
type spinningRotor struct {
	rate, seconds float64
	blades        int
	shaft         func(t float64) float64 // rev/s at time t
	fallDB        float64                 // how much lower each further harmonic of the BPF is
	sideDB        float64                 // how much lower the other shaft orders are than a harmonic would be there
	noise         float64                 // standard deviation of the white noise
	seed          uint64
}

// samples returns the sound: all shaft orders up to the sixth harmonic of the BPF, unless they are near the Nyquist
// frequency, and white noise.
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

// constant returns the speed of a shaft whose speed is v at all times.
func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// The refined speed is the speed of the simulated rotor, although the stated speed is up to 2.8 % off. Each case states
// the allowed error; more noise allows more. For clear lines it is 2e-5, which is 0.02 bins at the highest harmonic.
func TestRefine(t *testing.T) {
	for i, c := range []struct {
		shaft, nominal float64 // true and stated speed, rev/s
		sigma          float64 // standard deviation of the noise
		within         float64 // allowed relative error
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

// The speed of the simulated shaft drifts by 1.6 % within each half, so that lines spread over up to 60 bins. Expected:
// the refined speed is the mean over the time of the half. The levels are 10·log10(a²/2) all the same, because the
// drift only moves power between the bins of a line.
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

	assert.True(t, run.Channels[0].Emergent[4], "harmonic 5 emerges")
}

// In noise alone there is no line to refine the speed by. The run keeps the nominal speed, with a flag for each half,
// and every level is a finite upper bound.
func TestRefineWithoutLines(t *testing.T) {
	x := memory{noise(51200, 1)}
	run := analyse(t, x, rotorAt(x, 6400, 3, 50))
	assert.Equal(t, [2]float64{50, 50}, run.ShaftHz, "speeds")
	require.Len(t, run.Flags, 2, "a flag for each half")
	for _, f := range run.Flags {
		assert.Equal(t, "speed-not-refined", f.Code)
	}

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

// The tracked speed is the speed of the simulated rotor. The range also contains its half, its third, its double and
// 3/2 of it, which are plausible because the other shaft orders are only 10 dB below the harmonics of the BPF.
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

// The upper part of the range has harmonics above the Nyquist frequency, which does not mislead the search. A true
// speed in that part is an error that names the harmonic.
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
	assert.ErrorContains(t, err, "harmonic 3 of the blade passing frequency: expected less than the "+
		"Nyquist frequency 3200 Hz, found 3609 Hz (3 blades at 401 rev/s)")
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

// Errors about data name the place, the expected value, the value found and the remedy.
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
		require.ErrorAs(t, err, &e, c.name)
		assert.EqualError(t, err, c.want, c.name)
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

// ordered is a Source that checks how it is read: forwards, each sample once, and two segments at a time.
type ordered struct {
	memory
	t    *testing.T
	next int64 // first sample that was not read yet
	size int   // samples of two segments
}

func (o *ordered) Read(channels []int, start int64, dst [][]float64) (int, error) {
	require.GreaterOrEqual(o.t, start, o.next, "read")
	assert.Len(o.t, dst[0], o.size, "read")

	o.next = start + int64(len(dst[0]))

	return o.memory.Read(channels, start, dst)
}

// A run is an interval of the source: samples before and after it do not change the result. An Analyser gives the same
// result after another run, and that result does not change when the Analyser goes on.
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

// The factor to the physical unit multiplies powers by its square, and changes nothing else. With a nominal speed, a
// channel has the same results with and without the other channel.
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

	// The second harmonic of the BPF 300 Hz, of 3 blades at 100 Hz: the floor is from 525 to 675 Hz, which are the bins
	// 263 to 337. Of the shaft orders only 600 Hz is in this range: its guard leaves out the bins 296 to 304.
	bins, guard := lf.floorBins(nil, 600, 100, 300, 6400)
	assert.Equal(t, 4, guard, "guard")
	assert.Equal(t, 263, bins[0], "first bin of the floor")
	assert.Equal(t, 337, bins[len(bins)-1], "last bin of the floor")
	require.Len(t, bins, 75-9, "bins of the floor")
	assert.NotContains(t, bins, 296, "bin inside the guard of an order")
	assert.Contains(t, bins, 295, "bin next to the guard of an order")

	// The shaft orders are 8 bins apart. A guard of 4 bins leaves out all bins, and a guard of 3 bins leaves one bin
	// between two orders: 10 bins in the range.
	bins, guard = lf.floorBins(nil, 16*18, 16, 2*16*9, 6400)
	assert.Equal(t, 3, guard, "guard")
	assert.Len(t, bins, 10, "bins of the floor")

	// The shaft orders are one bin apart, so that no guard leaves any bin.
	bins, guard = lf.floorBins(nil, 200, 2, 40, 6400)
	assert.Equal(t, -1, guard, "guard")
	require.GreaterOrEqual(t, len(bins), floorMinBins, "bins of the floor")
	assert.NotContains(t, bins, 100, "bin of the line")
}

// By the formula of docs/method.md#split-half-spectra for 8 segments, the predicted deviation is 4.343/√8 dB for ρ = 0,
// and 4.343·√(2/(8ρ)) dB for large ρ.
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

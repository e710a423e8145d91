package dsp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/fault"
)

// best rules out most speeds of its grid by bounds and by rough scores. Expected: the speed that a search of every
// speed of the grid finds with logAmplitude alone. The spectra have random sizes, with the lines of a comb or with
// noise alone.
func TestSpeedSearchRulesOutNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range turns(12, 4) {
		bins := 400 + rng.IntN(900)
		channels := 1 + rng.IntN(40)
		blades := 1 + rng.IntN(5)
		harm := 1 + rng.IntN(6)
		f := speedFinder{
			lines: &lineFinder{binHz: 0.5 + rng.Float64()}, blades: blades, harm: harm, last: bins - 1,
			power: make([][]float64, channels),
		}

		shaft := float64(bins) * f.lines.binHz / float64(blades) / float64(harm+2) * (0.5 + rng.Float64())
		for c := range f.power {
			p := make([]float64, bins)
			for k := range p {
				p[k] = rng.ExpFloat64() * 1e-6
			}

			for m := 1; m <= harm && round%3 > 0; m++ { // a comb, or noise alone
				if k := int(float64(m*blades) * shaft / f.lines.binHz); k+1 < bins {
					p[k] = rng.ExpFloat64()
					p[k+1] = rng.ExpFloat64()
				}
			}

			f.power[c] = p
		}

		for name, score := range map[string]func(level amplitude, shaft, least float64) float64{
			"comb":        func(level amplitude, shaft, _ float64) float64 { return f.comb(level, shaft, 0) },
			"fundamental": f.fundamental,
		} {
			lo := 0.7 * shaft
			hi := 1.3 * shaft
			if name == "comb" {
				f.whiten(30, f.teeth(lo, hi)...)
			} else {
				f.whiten(30, [2]int{0, f.last})
			}

			steps := int(math.Ceil((hi - lo) * 8 * float64(blades*harm) / f.lines.binHz))

			want := lo
			top := math.Inf(-1)
			for i := range steps + 1 {
				s := lo + (hi-lo)*float64(i)/float64(max(1, steps))
				v := score(f.logAmplitude, s, math.Inf(-1))
				d := score(f.roughAmplitude, s, math.Inf(-1)) - v
				if math.Abs(d) > combMargin/1000 {
					t.Fatalf("%s of %v rev/s: %v by roughAmplitude, %v by logAmplitude", name, s, d+v, v)
				}

				if v > top {
					want = s
					top = v
				}
			}

			assert.Equal(t, want, f.best(lo, hi, score), "round %d, %s, %d speeds", round, name, steps)
		}
	}
}

// A stated speed that is 25 % above or 17 % below the speed of the simulated rotor is contradicted, and the flag has
// the true speed. A right speed, and noise alone (a rotor at 0 rev/s), give no flag.
func TestContradiction(t *testing.T) {
	signal := func(shaft float64) memory {
		r := rand.New(rand.NewPCG(34, 5))
		x := make([]float64, 32000)
		for i := range x {
			x[i] = 0.05 * r.NormFloat64()
			for m := 1; m <= 4 && shaft > 0; m++ {
				x[i] += 0.3 / float64(m) * math.Sin(2*math.Pi*float64(2*m)*shaft*float64(i)/8000+float64(m))
			}
		}
		return memory{x}
	}

	for _, c := range []struct {
		truth, stated float64 // rev/s
		found         float64 // rev/s in the flag; 0: no flag
	}{{40, 50, 40}, {50, 50, 0}, {0, 50, 0}, {60, 50, 60}} {
		x := signal(c.truth)
		run := analyse(t, x, rotorAt(x, 8000, 2, c.stated, func(s *Settings) { s.Harmonics = 4 }))

		found := 0.0
		for _, f := range run.Flags {
			if f.Code == "speed-contradicted" {
				found = f.FoundHz
			}
		}

		assert.InDelta(t, c.found, found, 0.01*c.found, "%g rev/s stated as %g: found", c.truth, c.stated)
	}
}

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

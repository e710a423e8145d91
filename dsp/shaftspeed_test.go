package dsp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
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

package dsp

import (
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/internal/must"
)

// Expected values: the speed of a simulated rotor whose stated speed is 25 % too high, and no flag
// at the true one or in noise alone.
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

	for _, c := range []struct{ truth, stated, found float64 }{{40, 50, 40}, {50, 50, 0}, {0, 50, 0}, {60, 50, 60}} {
		x := signal(c.truth)
		run := analyse(t, x, rotorAt(x, 8000, 2, c.stated, func(s *Settings) { s.Harmonics = 4 }))

		found := 0.0
		for _, f := range run.Flags {
			if f.Code == "speed-contradicted" {
				found = f.FoundHz
			}
		}

		must.Near(t, found, c.found, 0.01*c.found, "%g rev/s stated as %g: found", c.truth, c.stated)
	}
}

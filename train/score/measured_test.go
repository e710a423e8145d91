package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/triplets"
)

// campaignPairs simulates pairs at conditions with a known true mean and a model
// that is off by a known error: runs deviate from the truth by their set-up,
// channels of a run share it. In a repeat-run pair the two outcomes come from
// two runs, in a same-run pair from one.
func campaignPairs(seed uint64, sameRun bool) (s Set, trueSquare, runVar float64) {
	const conditions, channels, sdRun, sdNoise = 400, 3, 0.5, 0.4
	rng := rand.New(rand.NewPCG(seed, 5))

	s = Set{Set: triplets.Set{Out: 1}}
	for c := range conditions {
		truth := 2 * rng.NormFloat64()
		off := 0.3 * rng.NormFloat64() // the model's error here

		a := sdRun * rng.NormFloat64()
		b := sdRun * rng.NormFloat64()
		if sameRun {
			b = a
		}

		for range channels {
			s.N++
			s.Mu = append(s.Mu, truth+off)
			s.Y1 = append(s.Y1, truth+a+sdNoise*rng.NormFloat64())
			s.Y2 = append(s.Y2, truth+b+sdNoise*rng.NormFloat64())
			s.Run = append(s.Run, c)
			s.Condition = append(s.Condition, c)
			trueSquare += off * off / (conditions * channels)
		}
	}

	return s, trueSquare, sdRun * sdRun
}

// The truth is simulated, so the squared error of the model's mean is known.
// On repeat-run pairs e is it, within three clustered standard errors; on
// same-run pairs it is too large by the variance from run to run
// (docs/method.md#from-raw-measurements-to-triplets).
func TestMeasuredErrorAgainstTruth(t *testing.T) {
	for _, sameRun := range []bool{false, true} {
		z := 0.0

		const repeats = 40
		for r := range uint64(repeats) {
			s, want, runVar := campaignPairs(r, sameRun)
			if sameRun {
				want += runVar
			}

			m := Summarise(s)
			d := (m.Get("e") - want) / m.Get("e_se")
			if r == 0 {
				assert.LessOrEqual(t, math.Abs(d), 3.0, "same run %v: standard errors between e and the expected error", sameRun)
			}

			z += d / repeats
		}

		// The mean of so many such deviations; 3 of its own standard errors.
		assert.LessOrEqual(t, math.Abs(z), 3/math.Sqrt(repeats),
			"same run %v: e is biased by %v standard errors on average", sameRun, z)
	}
}

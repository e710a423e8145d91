package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/triplets"
)

// campaignPairs simulates pairs at conditions with a known true mean, and a model whose error is known. A run deviates
// from the truth by its set-up, which all its channels share. In a repeat-run pair the two outcomes come from two runs,
// and in a same-run pair from one. campaignPairs also returns the mean squared error of the model, and the variance
// between runs.
func campaignPairs(seed uint64, sameRun bool) (s Set, trueSquare, runVar float64) {
	const conditions, channels, sdRun, sdNoise = 400, 3, 0.5, 0.4
	rng := rand.New(rand.NewPCG(seed, 5))

	s = Set{Set: triplets.Set{Out: 1}}
	for c := range conditions {
		truth := 2 * rng.NormFloat64()
		off := 0.3 * rng.NormFloat64() // the model's error here

		setUp1 := sdRun * rng.NormFloat64()
		setUp2 := sdRun * rng.NormFloat64()
		if sameRun {
			setUp2 = setUp1
		}

		for range channels {
			s.N++
			s.Mu = append(s.Mu, truth+off)
			s.Y1 = append(s.Y1, truth+setUp1+sdNoise*rng.NormFloat64())
			s.Y2 = append(s.Y2, truth+setUp2+sdNoise*rng.NormFloat64())
			s.Run = append(s.Run, c)
			s.Condition = append(s.Condition, c)
			trueSquare += off * off / (conditions * channels)
		}
	}

	return s, trueSquare, sdRun * sdRun
}

// On repeat-run pairs, e is the squared error of the model's mean. On same-run pairs, e is too large by the variance
// from run to run (docs/method.md#from-raw-measurements-to-triplets). Expected values: the simulated truth. e of the
// first campaign is within three of its standard errors, and the mean over 40 campaigns within three standard errors of
// the mean.
func TestMeasuredErrorAgainstTruth(t *testing.T) {
	for _, sameRun := range []bool{false, true} {
		const repeats = 40
		bias := 0.0 // in standard errors of a campaign, on average
		for seed := range uint64(repeats) {
			s, want, runVar := campaignPairs(seed, sameRun)
			if sameRun {
				want += runVar
			}

			m := Summarise(s)
			if seed == 0 {
				assert.InDelta(t, want, m.Get("e"), 3*m.Get("e_se"), "same run %v: e of one campaign", sameRun)
			}

			bias += (m.Get("e") - want) / m.Get("e_se") / repeats
		}

		assert.InDelta(t, 0, bias, 3/math.Sqrt(repeats), "same run %v: bias of e in standard errors", sameRun)
	}
}

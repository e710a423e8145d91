package honest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/train/honest/interval"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inDecibels writes a range of differences with its unit.
func inDecibels(unit string, low, high float64) string {
	return fmt.Sprintf("%.2f to %.2f %s", low, high, unit)
}

// calibrated calibrates the process on pairs at seven speeds, one of which is held out. The pairs scatter about
// truth, and heldOut is added to the outcomes of the held-out speed.
func calibrated(t *testing.T, seed uint64, truth func(alpha, u float64) float64, heldOut float64) *Model {
	t.Helper()

	const test = 8
	rng := rand.New(rand.NewPCG(seed, 2))
	s, z := speeds([]float64{4, 6, test, 10, 12, 15, 20}, test)
	s.Outcomes[0].Unit = "N"
	for i := range s.N {
		y := truth(s.X[2*i], s.X[2*i+1])
		if z[i] == test {
			y += heldOut
		}

		s.Y1[i] = y + 0.3*rng.NormFloat64()
		s.Y2[i] = y + 0.3*rng.NormFloat64()
	}

	m, _, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent)

	return m
}

// powerLaw is a law that least squares on logarithms of speeds assumes.
func powerLaw(alpha, u float64) float64 { return 30 + 20*math.Log(u) + 0.5*alpha }

// Expected: least squares is as good as the process on a power law, so that it is named, with its error in the unit
// of the outcome.
func TestRivalOfPowerLaw(t *testing.T) {
	words := calibrated(t, 1, powerLaw, 0).Result().RivalWords(inDecibels)
	assert.Regexp(t, `^least squares does .* on the left-out groups of u_inf_m_s: error .* N$`, words)
}

// Expected: other outcomes of the held-out group change nothing.
func TestRivalsSeeNothingOfTheTest(t *testing.T) {
	want := calibrated(t, 1, powerLaw, 0).Calibration.Rivals
	assert.Equal(t, want, calibrated(t, 1, powerLaw, 1e6).Calibration.Rivals)
}

// Least squares cannot follow waves along the angle, but the process can. Expected: least squares is not as good, and
// its mean squared error is at least half of the waves' mean square of 200.
func TestRivalOfWaves(t *testing.T) {
	waves := func(alpha, u float64) float64 { return 30 + 20*math.Sin(alpha/4) + 2*math.Log(u) }
	c := calibrated(t, 1, waves, 0).Calibration
	r := c.Rivals[0]
	require.Equal(t, "linear", r.Method)
	assert.False(t, r.Error.AsGood(), "error %+v", r.Error)
	assert.False(t, r.Width.AsGood(), "width %+v", r.Width)
	assert.Greater(t, r.EBy[0]*c.Deviation[0]*c.Deviation[0], 0.5*200, "mean squared error")
}

// threeGroups returns three left-out groups of one pair (10, 10) each, which the model predicts as 8 with the
// variance 4, and their calibration.
func threeGroups() ([]LeftOut, *interval.Calibration) {
	c := &interval.Calibration{Level: 0.9, K: 3, Condition: "blades", Deviation: []float64{2}, Mean: []float64{0}}
	var left []LeftOut
	for range 3 {
		left = append(left, LeftOut{
			N: 1, Y1: []float64{10}, Y2: []float64{10}, Mu: []float64{8}, Claim: []float64{3}, Noise: []float64{1},
		})
		c.Groups = append(c.Groups, interval.GroupResult{EBy: []float64{1}, Score: 2})
	}

	return left, c
}

// The means 9, 8 and 7 of a rival miss the value 10 by 1, 2 and 3, and the model's means miss it by 2. Expected by
// hand, in deviations of 2: squared errors of 1/4, 4/4 and 9/4. The rms errors ½, 1 and 1½ differ from the model's 1
// by −½, 0 and ½, with the mean 0 and the standard error ½/√3. Intervals of width 4 have the score 2; the third
// misses by 1, which costs ½ times 2/(1 − 0.9) = 20.
func TestRivalByHand(t *testing.T) {
	left, c := threeGroups()
	half := [][]float64{{2}, {2}, {2}}
	r := rival("linear", left, c, [][]float64{{9}, {8}, {7}}, half)
	const score = (2 + 2 + 2 + 20*0.5) / 3
	assert.Equal(t, "linear", r.Method)
	assert.InDeltaSlice(t, []float64{14. / 3 / 4}, r.EBy, 1e-12, "mean squared error")
	assert.InDelta(t, score, r.Score, 1e-12, "interval score")
	assert.InDelta(t, 1, r.Error.Ratio, 1e-12, "ratio of the errors")
	assert.InDelta(t, 0, r.Error.More, 1e-12, "difference of the errors")
	assert.InDelta(t, 0.5/math.Sqrt(3), r.Error.SE, 1e-12, "standard error of the errors' difference")
	assert.InDelta(t, score/2, r.Width.Ratio, 1e-12, "ratio of the scores")
	assert.InDelta(t, score-2, r.Width.More, 1e-12, "difference of the scores")
	assert.InDelta(t, 10/3., r.Width.SE, 1e-12, "standard error of the scores' difference")

	// The root of the mean squared error of the rival, √(14/12), is 1.08.
	c.Rivals = []interval.Rival{r}
	assert.Equal(t, "least squares does as well on the left-out groups of blades: error 108 % of the data's spread "+
		"against 100 % of the data's spread", (&interval.Result{Calibration: c}).RivalWords(inDecibels))
}

// On the other groups the model misses by 2, and by 1 in units of its deviation of 2. Expected by hand: a half width
// of 2 in both cases, and the interval score 2 of intervals that reach the values.
func TestConformalRivalByHand(t *testing.T) {
	left, c := threeGroups()
	for _, unit := range []errorUnit{ownUnits, statedDeviations} {
		r := conformalRival("conformal", unit, left, c)
		assert.Equal(t, 2., r.Score, "interval score")
		assert.Nil(t, r.EBy, "errors of the mean, which is the model's")
		assert.True(t, r.Width.AsGood(), "width %+v", r.Width)
	}
}

// Expected by hand: with four groups, a value of a group of two has the weight 1/10, and a value of a group of one
// has 1/5. The largest value reaches the level 0.8, and no value reaches 0.95: then it is the largest one.
func TestGroupQuantileByHand(t *testing.T) {
	groups := [][]float64{{1, 8}, {2, 3}, {4}, {5}}
	for level, want := range map[float64]float64{0.1: 1, 0.3: 3, 0.5: 4, 0.7: 5, 0.8: 8, 0.95: 8} {
		assert.Equal(t, want, GroupQuantile(groups, level), "level %g", level)
	}
}

// Expected in closed form, of K + 1 like groups: a value of the new group is within the quantile with a probability
// of at least the level, or K/(K+1) if that is less. With one value in each group, the probability exceeds this by at
// most 0.01. Values of a group may be correlated.
func TestGroupQuantileCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const campaigns = 10000
	for _, k := range []int{2, 4, 9, 19, 39} {
		for _, values := range []int{1, 5} {
			if values > 1 && k != 9 {
				continue
			}

			inside := 0.0
			for range campaigns {
				groups := make([][]float64, k+1)
				for g := range groups {
					own := rng.NormFloat64()
					for range values {
						groups[g] = append(groups[g], math.Abs(own+rng.NormFloat64()))
					}
				}

				q := GroupQuantile(groups[:k], 0.95)
				for _, v := range groups[k] {
					if v <= q {
						inside += 1.0 / campaigns / float64(values)
					}
				}
			}

			want := min(0.95, float64(k)/float64(k+1))
			assert.Greater(t, inside, want-0.01, "share inside, %d groups of %d values", k, values)
			if values == 1 {
				assert.Less(t, inside, want+0.01, "share inside, %d groups of one value", k)
			}
		}
	}
}

package honest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func inDecibels(unit string, low, high float64) string {
	return fmt.Sprintf("%.2f to %.2f %s", low, high, unit)
}

// calibrated calibrates the process on some speeds, one of which is held out, with the given truth instead of the
// simulated lift.
func calibrated(t *testing.T, seed uint64, truth func(alpha, u float64) float64, heldOut float64) *Model {
	t.Helper()

	const test = 8
	rng := rand.New(rand.NewPCG(seed, 2))
	s, z := speeds([]float64{4, 6, test, 10, 12, 15, 20}, test)
	s.Outcomes[0].Unit = "N"
	for i := range s.N {
		y := truth(s.X[2*i], s.X[2*i+1])
		s.Y1[i], s.Y2[i] = y+0.3*rng.NormFloat64(), y+0.3*rng.NormFloat64()
		if z[i] == test {
			s.Y1[i], s.Y2[i] = s.Y1[i]+heldOut, s.Y2[i]+heldOut
		}
	}

	m, _, err := defaults().Process(context.Background(), s, z)
	require.NoError(t, err)
	require.Empty(t, m.Absent, "%v, %v", err, m.Absent)

	return m
}

// A power law is what least squares on logarithms assumes: it is named, with errors in the
// outcome's unit. Waves along the angle are what only the process follows: nothing is named.
// The held-out group plays no part.
func TestRivals(t *testing.T) {
	power := func(alpha, u float64) float64 { return 30 + 20*math.Log(u) + 0.5*alpha }
	waves := func(alpha, u float64) float64 { return 30 + 20*math.Sin(alpha/4) + 2*math.Log(u) }
	m := calibrated(t, 1, power, 0)

	words := m.Result().RivalWords(inDecibels)
	if !strings.HasPrefix(words, "least squares does ") || !strings.HasSuffix(words, " N") ||
		!strings.Contains(words, " on the left-out groups of u_inf_m_s: error ") {
		t.Errorf("power law: %q", words)
	}

	if other := calibrated(t, 1, power, 1e6); !reflect.DeepEqual(other.Calibration.Rivals, m.Calibration.Rivals) {
		t.Error("other measurements of the held-out group change what is stored of rivals")
	}

	m = calibrated(t, 1, waves, 0)

	r := m.Calibration.Rivals[0]
	require.Equal(t, "linear", r.Method, "waves: least squares is called as good: %+v", r)
	require.False(t, r.Error.AsGood(), "waves: least squares is called as good: %+v", r)
	assert.False(t, r.Width.AsGood(), "waves: least squares is called as good: %+v", r)
	assert.GreaterOrEqual(t, r.EBy[0], 0.5*200/math.Pow(m.Calibration.Deviation[0], 2),
		"waves of mean square 200: least squares misses them by %g", r.EBy[0])
}

// By hand: two values, each measured once more by its pair, of three groups. The means of a
// rival miss by 1, 2 and 3, the model's by 2: squares 1, 4, 9 against 4; the differences −1, 0
// and 1 have mean 0 and the standard error 1/√3.
func TestRivalByHand(t *testing.T) {
	c := &interval.Calibration{Level: 0.9, K: 3, Condition: "blades", Deviation: []float64{2}, Mean: []float64{0}}
	var left []LeftOut
	var mu, half [][]float64
	for h := range 3 {
		left = append(left, LeftOut{
			N: 1, Y1: []float64{10}, Y2: []float64{10}, Mu: []float64{8}, Claim: []float64{3}, Noise: []float64{1},
		})
		mu = append(mu, []float64{float64(9 - h)})
		half = append(half, []float64{2})
		c.Groups = append(c.Groups, interval.GroupResult{EBy: []float64{1}, Score: 2})
	}

	r := rival("linear", left, c, mu, half)
	want := interval.Rival{
		Method: "linear", EBy: []float64{14.0 / 3 / 4},
		Score: (2 + 2 + 2 + 20*0.5) / 3, // width 4 of deviation 2; 3 is 1 outside, times 2/(1 − level)
		Error: interval.Against{Ratio: 1, More: 0, SE: 0.5 / math.Sqrt(3)},
	}
	want.Width = interval.Against{Ratio: want.Score / 2, More: want.Score - 2, SE: 10 / 3.0}
	assert.Equal(t, fmt.Sprintf("%.9v", want), fmt.Sprintf("%.9v", r), "%+v, expected %+v", r, want)

	// Three outcomes' errors on the others are 2 and 2: half widths of 2, and of 2/2 times 2.
	for _, relative := range []bool{false, true} {
		if r := conformalRival("conformal", relative, left, c); r.Score != 2 || r.EBy != nil || !r.Width.AsGood() {
			t.Errorf("%+v", r)
		}
	}

	c.Rivals = []interval.Rival{want}
	res := &interval.Result{Calibration: c}
	if got := res.RivalWords(inDecibels); got != "least squares does as well on the left-out groups of blades: "+
		"error 1.1e+02 % of the data's spread against 1e+02 % of the data's spread" {
		t.Errorf("%q", got)
	}
}

// By hand: of four groups each value of a group of two weighs a tenth, of a group of one a
// fifth; 0.8 is reached by all, and 0.95 by none.
func TestGroupQuantileByHand(t *testing.T) {
	groups := [][]float64{{1, 8}, {2, 3}, {4}, {5}}
	for level, want := range map[float64]float64{0.1: 1, 0.3: 3, 0.5: 4, 0.7: 5, 0.8: 8, 0.95: 8} {
		assert.Equal(t, want, GroupQuantile(groups, level), "level %g", level)
	}
}

// Closed form: of K + 1 like groups with one value each, the new one's is within the largest
// of the others with the probability K/(K+1), and within the quantile with the level or more,
// by at most 1/(K+1). Values of a group may go together.
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

			low := min(0.95, float64(k)/float64(k+1)) - 0.01
			if high := low + 0.02; inside < low || values == 1 && inside > high {
				t.Errorf("%d groups of %d values: %.3f inside, expected %.3f to %.3f", k, values, inside, low, high)
			}
		}
	}
}

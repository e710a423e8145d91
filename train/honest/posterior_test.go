package honest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/train/honest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The half widths that a plan of six runs promises are compared with the half widths after these runs are measured and
// the model is learned anew: their mean ratio at the other conditions, over eight simulated rotors and three measured
// campaigns. A random third of each campaign is known at first. Witness: simulation and measurements.
func TestPromisedWidths(t *testing.T) {
	study(t)

	type campaign struct {
		name, condition string
		set             triplets.Set
	}

	named := func(s set, inputs, outcomes string, log int) triplets.Set {
		one := func([]float64, int) float64 { return 1 }
		return dimensional(s, strings.Fields(inputs), strings.Fields(outcomes), []int{log}, one)
	}

	all := []campaign{
		{"turbine", "tow_speed_m_s", named(turbine(t, true), "tow_speed_m_s tsr", "cp cd", 0)},
		{"propellers", "blades", named(propellers(t), "blades pitch_m rpm", "kt", 2)},
		{"cyclone", "u_m_s", named(cyclone(t), "u_m_s arm_deg servo1 servo2", "fx fz my", 0)},
	}

	for seed := uint64(12); seed < 20; seed++ {
		all = append(all, campaign{"simulated rotors", "blades", simulatedRotors(t, seed)})
	}

	ctx := context.Background()
	sum := 0.0
	low := math.Inf(1)
	high := 0.0
	for k, c := range all {
		s := c.set
		var runs []string // every condition is one
		for _, n := range s.Condition {
			runs = append(runs, fmt.Sprint(n))
		}

		s.SetRuns(runs)
		order := rand.New(rand.NewPCG(uint64(k), 35)).Perm(s.Conditions())
		known := map[int]bool{}
		for _, i := range order[:len(order)/3] {
			known[i] = true
		}

		learn := func() *honest.Model {
			t.Helper()

			s.Part = make([]triplets.Part, s.N)
			for i, n := range s.Condition {
				if !known[n] {
					s.Part[i] = triplets.Test
				}
			}

			return formed(t, s, c.condition, "", 0)
		}

		m := learn()

		var x []float64
		var left []int // conditions, by their place in x
		for i, n := range s.Condition {
			if !known[n] && !slices.Contains(left, n) && len(left) < 150 {
				left = append(left, n)
				x = append(x, s.X[i*s.In:(i+1)*s.In]...)
			}
		}

		p, err := m.Posterior(ctx, x, nil)
		require.NoError(t, err)

		var picked []int
		for range 6 {
			best := 0
			most := -1.0
			for i := range left {
				gain, err := p.Gain([]int{i})
				require.NoError(t, err)

				if gain > most && !slices.Contains(picked, i) {
					best = i
					most = gain
				}
			}

			require.NoError(t, p.Measure([]int{best}))

			picked = append(picked, best)
			known[left[best]] = true
		}

		promised := p.Predict()
		found, err := learn().Predict(ctx, x, 0, nil)
		require.NoError(t, err)

		ratio := 0.0
		n := 0.0
		for i := range left {
			if slices.Contains(picked, i) {
				continue
			}

			for j := range found.Out {
				ratio += math.Log(promised.Half[i*found.Out+j] / found.Half[i*found.Out+j])
				n++
			}
		}

		t.Logf("%s: promised half widths are × %.2f of those found", c.name, math.Exp(ratio/n))
		sum += ratio / n / float64(len(all))
		low = min(low, math.Exp(ratio/n))
		high = max(high, math.Exp(ratio/n))
	}

	t.Logf("on average × %.3f", math.Exp(sum))
	assert.LessOrEqual(t, math.Abs(sum), math.Log(1.25),
		"promised half widths are × %.2f of those found, expected a factor of at most 1.25", math.Exp(sum))

	page := testfile.Read(t, "../../docs/suggest.md")

	stated := fmt.Sprintf("were × %.2f of those then found, from × %.2f to × %.2f", math.Exp(sum), low, high)
	assert.Contains(t, strings.Join(strings.Fields(string(page)), " "), stated)
}

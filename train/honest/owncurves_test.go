package honest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/form"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// lift returns the lift of wing 0 or 1 at a speed and an angle. Wing 1 has another offset and, if they differ in shape,
// another slope and stall.
func lift(wing int, u, a float64, differ bool) float64 {
	stall := 9.0
	slope := 0.1
	if differ && wing == 1 {
		stall = 12
		slope = 0.09
	}

	return slope*a - 0.04*math.Log1p(math.Exp(a-stall)) + 0.15*float64(wing) + 0.02*math.Log(u/15)
}

// wingStudy is a way to learn from two wings.
type wingStudy struct {
	differ       bool // whether the wings differ in shape
	hasCamber    bool // whether the camber is an input; otherwise the wings are things
	offsetsAlone bool // whether names have offsets alone
}

// inputs are the names of the inputs.
func (w wingStudy) inputs() []string {
	names := []string{"u_m_s", "alpha_deg"}
	if w.hasCamber {
		names = append(names, "camber")
	}

	return names
}

// condition returns the inputs of a wing at a speed and an angle.
func (w wingStudy) condition(wing int, u, a float64) []float64 {
	return []float64{u, a, float64(wing)}[:len(w.inputs())]
}

// campaign simulates the lift of two wings over an angle at four speeds. The speed of 20 m/s is held out.
func (w wingStudy) campaign(seed uint64) campaign {
	r := rand.New(rand.NewPCG(seed, 58))
	var c simulatedRows
	for i := range 2 {
		for _, u := range []float64{10, 15, 20, 25} {
			for a := -4.0; a < 15; a += 2 {
				cl := lift(i, u, a, w.differ)
				c.add(r, fmt.Sprint(i), "", fmt.Sprint(i, u, a), u == 20, cl, 0.004, w.condition(i, u, a)...)
			}
		}
	}

	return c.set(w.inputs()...)
}

// ask learns from a campaign, and asks for the held-out speed at angles between the measured ones. It returns the rms
// error of the mean, the share of true values inside 95 % intervals, and the calibration.
func (w wingStudy) ask(t *testing.T, seed uint64) (rms, inside float64, c *interval.Calibration) {
	t.Helper()

	campaign := w.campaign(seed)
	l := honest.Learner{
		Settings: honest.DefaultSettings(), Condition: "u_m_s", Represent: form.Auto, Dimension: dimension,
		Rate: func(name string) bool { return name == "u_m_s" }, OffsetsAlone: w.offsetsAlone,
	}
	if !w.hasCamber {
		l.Offsets = []honest.Label{{Name: "wing", Names: campaign.thing}}
	}

	m, _, err := l.Process(t.Context(), campaign.Set, column(campaign.Set, "u_m_s"))
	require.NoError(t, err)
	require.NotNil(t, m.Calibration)

	var x, truth []float64
	var things []map[string]string
	for i := range 2 {
		for a := -3.0; a < 14; a += 2 {
			x = append(x, w.condition(i, 20, a)...)
			truth = append(truth, lift(i, 20, a, w.differ))
			things = append(things, map[string]string{"wing": fmt.Sprint(i)})
		}
	}

	if w.hasCamber {
		things = nil
	}

	p, err := m.Predict(t.Context(), x, 0, things)
	require.NoError(t, err)

	n := float64(len(truth))
	for k, y := range truth {
		d := p.Mu[k] - y
		rms += d * d / n
		if math.Abs(d) <= p.Half[k] {
			inside += 1 / n
		}
	}

	return math.Sqrt(rms), inside, m.Calibration
}

// Two wings that differ in how the lift follows the angle are asked for a speed that was held out. Expected: as things
// they get curves of their own, and a note names the wings. On average over the campaigns, their error is at most three
// times the error with the camber as an input and half the error with offsets alone, and 85 % of the true values are
// inside the intervals of 95 %. Wings that differ by an offset have neither curves nor the note. Compared with: the
// simulation.
func TestOwnCurves(t *testing.T) {
	const seeds = 4
	const note = "the 2 names of wing differ in more than an offset"
	var curves, alone, byHand, inside float64 // means over the campaigns: ln of the errors, and the share with curves
	for seed := range uint64(seeds) {
		e, share, c := wingStudy{differ: true}.ask(t, seed)
		require.Len(t, c.OwnCurves, 1, "seed %d", seed)
		assert.Equal(t, "wing", c.OwnCurves[0].Label)
		assert.Equal(t, 2, c.OwnCurves[0].Names)

		notes := strings.Join(c.Notes(), "; ")
		assert.Contains(t, notes, note)
		assert.Contains(t, notes, "between 2 of wing")
		assert.NotContains(t, notes, "between 2 of wing 100 % (0 to", "curves are a variance between wings")
		curves += math.Log(e) / seeds
		inside += share / seeds

		e, _, c = wingStudy{differ: true, offsetsAlone: true}.ask(t, seed)
		assert.Empty(t, c.OwnCurves, "offsets alone, seed %d", seed)
		alone += math.Log(e) / seeds

		e, _, _ = wingStudy{differ: true, hasCamber: true}.ask(t, seed)
		byHand += math.Log(e) / seeds

		_, _, c = wingStudy{}.ask(t, seed)
		assert.Empty(t, c.OwnCurves, "wings that differ by an offset, seed %d", seed)
		assert.NotContains(t, strings.Join(c.Notes(), "; "), note)
	}

	t.Logf("errors: %.4f with curves, %.4f with offsets alone, %.4f with the camber; inside at 0.95: %.2f",
		math.Exp(curves), math.Exp(alone), math.Exp(byHand), inside)
	assert.Less(t, curves, byHand+math.Log(3))
	assert.Less(t, curves, alone-math.Log(2))
	assert.Greater(t, inside, 0.85)
}

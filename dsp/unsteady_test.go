package dsp

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The unsteady outcomes of a balance are the rms and the power of a band. Expected over 300 simulated runs of white
// noise with the deviation 0.3: both scatter about their true values as predicted.
func TestUnsteadyLoads(t *testing.T) {
	const (
		rate = 1000.
		runs = 300
	)
	s := DefaultSettings()
	s.Outcomes = []string{"mean", "rms", "bands"}
	s.Output = "power"
	s.Bands = [][]float64{{50, 150}}
	s.Overlap = 0.5
	rng := rand.New(rand.NewPCG(3, 3))

	chi := [2]float64{} // mean squared error of rms and band, in predicted variances
	for range runs {
		x := make([]float64, 2000)
		for i := range x {
			x[i] = 7 + 0.3*rng.NormFloat64()
		}

		r := &Run{RateHz: rate, Samples: 2000, Settings: &s}
		c := Configure(Find("split-halves", Balance), &s).(OfSeries)
		p, err := c.Pairs(r, []Series{{Name: "lift_n", Unit: "N", Values: x}, {Name: "drag_n", Unit: "N", Values: x}})
		require.NoError(t, err)

		var names []string
		for _, o := range p.Outcomes {
			names = append(names, o.Name+" in "+o.Unit)
		}

		p.requireNames(t, OutcomeNames(c, &s, []string{"lift_n", "drag_n"}))

		got := strings.Join(names, ", ")
		require.Equal(t, "lift_n in N, drag_n in N, lift_n_rms in N, lift_n_l_50to150hz_power in "+
			"N², drag_n_rms in N, drag_n_l_50to150hz_power in N²", got)

		y, sd := p.value(t, 0, "lift_n_rms", "sd")
		band, sdBand := p.value(t, 0, "drag_n_l_50to150hz_power", "sd")
		for h := range 2 {
			chi[0] += math.Pow((y[h]-0.3)/sd[h], 2) / (2 * runs)
			d := 10*math.Log10(band[h]/(2*0.09/rate*100)) + sdBand[h]*sdBand[h]/8.686
			chi[1] += math.Pow(d/sdBand[h], 2) / (2 * runs)
		}
	}

	// The standard error is √(2/600) = 0.06. Four times this is allowed.
	assert.InDelta(t, 1, chi[0], 0.25, "rms: χ²/n")
	assert.InDelta(t, 1, chi[1], 0.25, "band: χ²/n")
}

// rmsOfRepeats returns the pairs of the rms of a run of repeats at 1 kHz.
func rmsOfRepeats(x []float64) (*Pairs, error) {
	s := DefaultSettings()
	s.Outcomes = []string{"rms"}
	c := Configure(Find("repeats", Balance), &s).(OfSeries)

	return c.Pairs(&Run{RateHz: 1000, Settings: &s}, []Series{{Name: "cl", Values: x}})
}

// A sine of amplitude 2 about 5 has the rms √2. A run of repeats gives one value, which stands for both.
func TestUnsteadyLoadsOfRepeats(t *testing.T) {
	var x []float64
	for i := range 2000 {
		x = append(x, 5+2*math.Sin(2*math.Pi*float64(i)/20))
	}

	p, err := rmsOfRepeats(x)
	require.NoError(t, err)

	y, _ := p.value(t, 0, "cl_rms", "sd")
	assert.Len(t, p.Outcomes, 1)
	assert.InDelta(t, math.Sqrt2, y[0], 1e-9, "rms of the sine")
	assert.Equal(t, y[0], y[1], "both values")
}

// A load that does not vary has no unsteady outcomes.
func TestUnsteadyLoadsOfStillBalance(t *testing.T) {
	_, err := rmsOfRepeats(make([]float64, 500))
	assert.EqualError(t, err, "cl: expected a load that varies, found 0 throughout")
}

package gp

import (
	"context"
	"math/rand/v2"
	"testing"

	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Simulated runs at five speeds, which scatter by 0.3 %. Each run has two angles and an offset of its own about a line.
// As a function of the measured speed, the offsets have a length below the spacing of the speeds. With set points such
// a length is refused, so that the variance between the speeds follows from their distance.
func TestSetPointsRefuseScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 34))

	d := triplets.Set{In: 2, Out: 1}
	for k := range 5 {
		for run := range 6 {
			set := 1200 + 450*float64(k)
			rpm := set * (1 + 0.003*(2*rng.Float64()-1))
			offset := 0.5 * rng.NormFloat64()
			for m := range 2 {
				y := set/450 + offset
				angle := float64(2*run + m)
				d.X = append(d.X, rpm, angle)
				d.SetPoints = append(d.SetPoints, set, angle)
				d.Y1 = append(d.Y1, y+0.02*rng.NormFloat64())
				d.Y2 = append(d.Y2, y+0.02*rng.NormFloat64())
				d.N++
			}
		}
	}

	// fitted returns the length of the speed in spacings of the set points, and the variance between two set points.
	fitted := func(d triplets.Set) (length, between float64) {
		m, err := Fit(context.Background(), d, Options{GroupInputs: []int{0}})
		require.NoError(t, err)

		p, err := m.Predict(context.Background(), []float64{2325, 3})
		require.NoError(t, err)

		return m.Hyper[0].Length[0] * m.InputStd[0] / 450, p.Claim[0]
	}

	// The prior of a length ends softly at one spacing: the search may go below it by a few of its deviations of 5 %.
	const limit = 0.85
	length, between := fitted(d)
	assert.Greater(t, length, limit, "length in spacings, with set points")

	d.SetPoints = nil
	lengthWithout, betweenWithout := fitted(d)
	assert.Less(t, lengthWithout, limit, "length in spacings, without set points")
	assert.Less(t, between, 0.7*betweenWithout, "variance between two set points, with over without set points")
}

package gp

import (
	"context"
	"math/rand/v2"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/triplets"
)

// Runs at five speeds that scatter by 0.3 %, each with an offset of its own at its two angles:
// simulated, the truth is a line with that offset. As a function of the measured speed the
// offsets have a length below the spacing; with set points it is refused, so that the width
// between them is that of their distance.
func TestSetPointsRefuseScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 34))

	d := triplets.Set{In: 2, Out: 1}
	for k := range 5 {
		for run := range 6 {
			set := 1200 + 450*float64(k)
			rpm, offset := set*(1+0.003*(2*rng.Float64()-1)), 0.5*rng.NormFloat64()
			for m := range 2 {
				y := set/450 + offset
				angle := float64(2*run + m)
				d.X, d.SetPoints = append(d.X, rpm, angle), append(d.SetPoints, set, angle)
				d.Y1, d.Y2 = append(d.Y1, y+0.02*rng.NormFloat64()), append(d.Y2, y+0.02*rng.NormFloat64())
				d.N++
			}
		}
	}

	fitted := func(d triplets.Set) (spacings, between float64) {
		m := must.Get(Fit(context.Background(), d, Options{GroupInputs: []int{0}}))(t)

		_, claim, _, err := m.Predict(context.Background(), []float64{2325, 3})
		must.Do(t, err)

		return m.Hyper[0].Length[0] * m.InputStd[0] / 450, claim[0]
	}

	length, between := fitted(d)
	d.SetPoints = nil
	if scattered, wide := fitted(d); length < 0.85 || scattered > 0.85 || between > 0.7*wide {
		t.Errorf("lengths of %.3g spacings, %.3g without set points; variances between them of %.3g and %.3g", length,
			scattered, between, wide)
	}
}

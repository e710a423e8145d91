package predict

import (
	"math"
	"testing"

	"doubletake/train/score"
)

// An interval of a law that recalibration leaves as it is: μ ± 1.96 σ, up to the
// rounding of numbers that are large against σ.
func TestIntervalOfLargeNumbers(t *testing.T) {
	r := &score.Recalibration{Outcomes: []score.OutcomeRecalibration{
		{TotalFactor: 1, QuantileMap: score.Curve{X: []float64{-1, 0, 1}, Y: []float64{-1, 0, 1}}},
	}}
	for _, c := range []struct{ mu, sd float64 }{{10, 1}, {101325, 0.01}, {1.7e9, 10}} {
		p := &Predictions{
			N: 1, Out: 1, Mu: []float64{c.mu}, Total: []float64{c.sd * c.sd},
			laws: []law{{r, []float64{0}, []float64{1}, []float64{c.mu}, []float64{c.sd}}},
		}

		lo, hi, ok := p.Interval(0, 0.95)
		if want := 2 * 1.959964 * c.sd; !ok || math.Abs(hi-lo-want) > 1e-6*want+1e-14*c.mu {
			t.Errorf("%g ± %g: from %g to %g", c.mu, c.sd, lo, hi)
		}
	}
}

package scale

import (
	"math"
	"testing"
)

// A negative noise is none, and a prediction that is not finite has no interval.
func TestNotFinite(t *testing.T) {
	s, _ := Learn(nil, 1, named(t, "wide"), Noise{Scale: 1, Freedom: 8})
	p := s.Predictor()

	var m, none Mixture
	p.At(&m, 0.1, 1, -0.5)
	p.At(&none, 0.1, 1, 0)

	if m.Half(0.95) != none.Half(0.95) {
		t.Errorf("half width %g with a negative noise, %g without", m.Half(0.95), none.Half(0.95))
	}

	for _, claim := range []float64{math.NaN(), math.Inf(1)} {
		p.At(&m, claim, 1, 0.1)
		if h := m.Half(0.95); h == h && !math.IsInf(h, 0) || m.Dispersion() == 0 {
			t.Errorf("claim %g: half width %g", claim, h)
		}
	}
}

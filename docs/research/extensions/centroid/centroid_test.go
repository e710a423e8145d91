package centroid

import (
	"testing"

	"doubletake/dsp"
)

// By hand: 1 at 10 Hz and 3 at 20 Hz.
func TestCentroid(t *testing.T) {
	hz, err := value(dsp.HalfSpectrum{Power: []float64{9, 1, 3}, BinHz: 10})
	if err != nil || hz != 17.5 {
		t.Errorf("%g Hz, %v", hz, err)
	}
}

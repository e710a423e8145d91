package dsp

import (
	"fmt"
	"math"
	"testing"

	"doubletake/internal/must"
)

// Expected values: 1 Pa is 93.979 dB re 20 µPa; a full-scale sine has the mean
// square ½ and reads 0 dBFS (AES17); half the distance is 6.0206 dB more.
func TestReference(t *testing.T) {
	for _, c := range []struct {
		unit, level    string
		meanSquare, db float64
	}{
		{"Pa", "dB re 20 µPa", 1, 93.97940008672037},
		{"full-scale", "dBFS", 0.5, 0},
		{"V", "dB re 1 V", 100, 20},
	} {
		ref, unit := Reference(c.unit)
		must.Equal(t, unit, c.level, "%s", c.unit)
		must.Near(t, LevelDB(c.meanSquare, ref), c.db, 1e-12, "%s", c.unit)
	}

	if got := DistanceDB(1, 2); math.Abs(got+6.020599913279624) > 1e-12 {
		t.Errorf("distance %g dB", got)
	}
}

func ExampleReference() {
	rms, unit := Reference("Pa")
	fmt.Printf("%.1f %s\n", LevelDB(1, rms), unit)
	// Output: 94.0 dB re 20 µPa
}

package tabletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/ingest/table"
)

// Rotor has six triplets of five runs, with blade counts and angles, as Parse reads them.
const Rotor = `
run recording rpm[1/min] blades theta_deg[deg] y_1[dB] y_2[dB]
a   a#1       1000       2      0              10      12
a   a#2       1000       2      30             20      22
b   b#1       2000       2      0              30      32
c   c#1       3000       3      0              40      42
d   d#1       4000       3      0              50      52
e   e#1       5000       4      0              60      62`

// Wave simulates pairs of one outcome y in N along one input x from 0 to 5: y = 50 + 10·sin x with noise of standard
// deviation 1, in 40 runs with three pairs each.
func Wave(t testing.TB) *table.Table {
	t.Helper()

	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("run recording x y_1[N] y_2[N]\n")

	for r := range 40 {
		for k := range 3 {
			x := float64(r%20)/4 + float64(k)/8
			y := 50 + 10*math.Sin(x)
			fmt.Fprintf(&text, "r%02d r%02d#%d %g %.6f %.6f\n", r, r, k, x, y+rng.NormFloat64(), y+rng.NormFloat64())
		}
	}

	return MustParse(t, text.String())
}

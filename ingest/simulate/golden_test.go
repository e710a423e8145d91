package simulate

import (
	"encoding/json"
	"math"
	"math/cmplx"
	"strconv"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// golden holds what testdata/make_golden.py computed with the project's Python
// reference and scipy; see testdata/README.md.
type golden struct {
	Phase     []float64               `json:"phase"`
	Imbalance map[string][][2]float64 `json:"imbalance"`
	Orders    []struct {
		Blades int
		RPM    float64
		A      [][][2]float64
	}
	Butter []struct {
		F1, F2, FS, Variance float64
		B, A                 []float64
	}
	Bessel []struct {
		N    int
		Z, J float64
	}
	AirfoilMean []struct{ Alpha, U, Cl, Cd, F float64 } `json:"airfoil_mean"`
	// Mean and standard error over records: variance of (cl, cd), their
	// cross moment, mean squared successive difference, squared difference of half means.
	AirfoilRecord []struct {
		Alpha, U                   float64
		Variance, Difference, Half [2][2]float64
		Cross                      [2]float64
	} `json:"airfoil_record"`
	// Over 200 seeds, per angle and order 1…12.
	Spread []struct {
		Blades    int
		RPM       float64
		Theta     []float64
		Mean, Std [][]float64
	}
	RotorRecord []struct {
		Blades   int
		RPM      float64
		Channels []int
		Edges    []float64
		Band     [][]float64
		Square   []float64
	} `json:"rotor_record"`
}

// loadGolden reads the golden numbers.
func loadGolden(t testing.TB) *golden {
	t.Helper()

	b := testfile.Read(t, "testdata/golden.json")

	g := new(golden)
	require.NoError(t, json.Unmarshal(b, g))

	return g
}

// rig returns the rig of the Python reference's seed 0: its numpy draws
// instead of our own, so that everything not random can be compared exactly.
func (g *golden) rig() rig {
	r := rig{imbalance: map[int]orderPa{}}
	copy(r.phase[:], g.Phase)
	for blades := 1; blades <= maxOrder; blades++ {
		var pa orderPa
		for k, z := range g.Imbalance[strconv.Itoa(blades)] {
			pa[k] = complex(z[0], z[1])
		}

		r.imbalance[blades] = pa
	}

	return r
}

// Expected: sim.py rotor_orders (scipy.special.jv), seed 0, same phases.
func TestOrdersAgreeWithReference(t *testing.T) {
	g := loadGolden(t)
	r := g.rig()

	thetas := DefaultRotor().ThetaDeg
	for _, c := range g.Orders {
		require.Len(t, c.A, len(thetas), "angles")

		for i, th := range thetas {
			got := r.orders(c.Blades, c.RPM, th)
			for k, z := range c.A[i] {
				want := complex(z[0], z[1])
				d := cmplx.Abs(got[k] - want)
				assert.LessOrEqual(t, d, 1e-12*cmplx.Abs(want)+1e-20, "n=%d rpm=%g θ=%g order %d", c.Blades, c.RPM, th, k)
			}
		}
	}
}

// Expected: the distribution of tone levels over 200 seeds of sim.py; our
// draws of phases and imbalances must spread the same way.
func TestRigsSpreadAsInReference(t *testing.T) {
	const seeds = 200
	for _, c := range loadGolden(t).Spread {
		for i, th := range c.Theta {
			var sum, square [13]float64
			for seed := range uint64(seeds) {
				p := with(DefaultRotor(), func(r *Rotor) {
					r.Seed = seed
					r.ToneModulation = 0
				}).TonePower(c.Blades, c.RPM, th)
				for k := 1; k <= 12; k++ {
					l := 10 * math.Log10(p[k])
					sum[k] += l / seeds
					square[k] += l * l / seeds
				}
			}

			for k := 1; k <= 12; k++ {
				mean := sum[k]
				std := math.Sqrt((square[k] - sum[k]*sum[k]) * seeds / (seeds - 1))

				wantMean := c.Mean[i][k-1]
				wantStd := c.Std[i][k-1]
				assert.InDelta(t, wantMean, mean, 4*math.Hypot(std, wantStd)/math.Sqrt(seeds),
					"n=%d θ=%g order %d: level", c.Blades, th, k)

				// Levels in dB have heavy lower tails: a factor, not a χ² bound.
				r := std / wantStd
				require.GreaterOrEqual(t, r, 0.7, "n=%d θ=%g order %d", c.Blades, th, k)
				assert.LessOrEqual(t, r, 1.4, "n=%d θ=%g order %d", c.Blades, th, k)
			}
		}
	}
}

// Expected: scipy.signal.butter; variance from scipy's impulse response.
func TestButterworthAgreesWithScipy(t *testing.T) {
	for _, c := range loadGolden(t).Butter {
		var b, a []float64

		var variance float64
		if c.F1 > 0 {
			f := newBandPass(c.F1, c.F2, c.FS)
			b = []float64{f.b, 0, -f.b}
			a = []float64{1, f.a1, f.a2}
			variance = f.variance()
		} else {
			f := newLowPass(c.F2, c.FS)
			b = []float64{f.b, f.b}
			a = []float64{1, f.a1}
			variance = f.variance()
		}

		for i := range b {
			assert.InDelta(t, c.B[i], b[i], 1e-12, "%g–%g Hz at %g: b[%d]", c.F1, c.F2, c.FS, i)
			assert.InDelta(t, c.A[i], a[i], 1e-12, "%g–%g Hz at %g: a[%d]", c.F1, c.F2, c.FS, i)
		}

		assert.InDelta(t, c.Variance, variance, 1e-9*c.Variance, "%g–%g Hz at %g: variance", c.F1, c.F2, c.FS)
	}
}

// Expected: the mean of |H|² over all frequencies is the variance for white
// input (Parseval); the corners of a Butterworth filter lie at −3.01 dB.
func TestFilterPower(t *testing.T) {
	const rate = 10240.0
	band := newBandPass(500, 3000, rate)
	low := newLowPass(80, rate)
	for _, c := range []struct {
		name     string
		power    func(f, rate float64) float64
		variance float64
		corners  []float64
	}{
		{"band", band.power, band.variance(), []float64{500, 3000}},
		{"low", low.power, low.variance(), []float64{80}},
	} {
		sum := 0.0

		const n = 1 << 14
		for i := range n {
			sum += c.power((float64(i)+0.5)*rate/n, rate) / n
		}

		assert.InDelta(t, c.variance, sum, 1e-9*c.variance, "%s: mean power", c.name)

		for _, f := range c.corners {
			assert.InDelta(t, 0.5, c.power(f, rate), 1e-12, "%s: power at its corner %g Hz", c.name, f)
		}
	}
}

// Expected: scipy.special.jv, and math.Jn over a wider range.
func TestBessel(t *testing.T) {
	table := make([]float64, 91)
	for _, c := range loadGolden(t).Bessel {
		besselJ(table, c.Z)
		assert.InDelta(t, c.J, table[c.N], 1e-12*math.Abs(c.J)+1e-300, "J_%d(%g)", c.N, c.Z)
	}

	for _, z := range []float64{-40, -2, 1e-17, 1e-3, 0.5, 3, 17.2, 60, 140} {
		besselJ(table, z)

		for n, got := range table {
			// Relative in the decaying range; absolute where J oscillates.
			want := math.Jn(n, z)
			assert.InDelta(t, want, got, 1e-11*math.Abs(want)+1e-14, "J_%d(%g)", n, z)
		}
	}

	besselJ(table, 0)

	for n, got := range table {
		assert.Equal(t, math.Jn(n, 0), got, "J_%d(0)", n)
	}
}

// Expected: sim.py airfoil_mean.
func TestAirfoilMeanAgreesWithReference(t *testing.T) {
	for _, c := range loadGolden(t).AirfoilMean {
		cl, cd, f := AirfoilMean(c.Alpha, c.U)
		assert.InDelta(t, c.Cl, cl, 1e-13*(1+math.Abs(c.Cl)), "α=%g U=%g: cl", c.Alpha, c.U)
		assert.InDelta(t, c.Cd, cd, 1e-13*(1+math.Abs(c.Cd)), "α=%g U=%g: cd", c.Alpha, c.U)
		assert.InDelta(t, c.F, f, 1e-13*(1+math.Abs(c.F)), "α=%g U=%g: f", c.Alpha, c.U)
	}
}

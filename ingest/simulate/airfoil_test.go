package simulate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: the campaign of docs/method.md#random-samples (10 s at 1 kHz), names
// and columns as the documentation promises them.
func TestAirfoilFile(t *testing.T) {
	a := DefaultAirfoil()
	files := a.Files()
	require.Len(t, files, 225)
	require.Equal(t, "simulated_naca0012_a-11_u4.7.csv", files[0].Name)
	require.Equal(t, "simulated_naca0012_a0_u4.7.csv", files[22].Name)
	require.Equal(t, "simulated_naca0012_a-3.5_u9.1.csv", files[2*45+15].Name)

	c := files[105].Conditions
	assert.InDelta(t, -3.5, c["alpha_deg"], 0, "conditions")
	assert.InDelta(t, 9.1, c["u_inf_m_s"], 0, "conditions")

	lines := strings.Split(string(record(t, a, 105)), "\n")
	require.Len(t, lines, 10004, "%d lines", len(lines))
	require.Empty(t, lines[10003], "%d lines", len(lines))

	require.True(t, strings.HasPrefix(lines[0], "# simulated"), "head")
	assert.Equal(t, "time_s,Fx,Fz", lines[1], "head")
	assert.Equal(t, "s,N,N", lines[2], "head")

	require.True(t, strings.HasPrefix(lines[3], "0.000,"), "first")
	assert.True(t, strings.HasPrefix(lines[10002], "9.999,"), "first")

	// The file holds what the balance gives, rounded to 1 µN.
	b := newBalance(0, 1000, -3.5, 9.1)
	for i, line := range lines[3:10003] {
		lift, drag := b.next()
		f := strings.Split(line, ",")
		fx, errX := strconv.ParseFloat(f[1], 64)

		fz, errZ := strconv.ParseFloat(f[2], 64)
		require.NoError(t, errors.Join(errX, errZ), "line %d", i+4)
		require.InDeltaSlice(t, []float64{drag, lift}, []float64{fx, fz}, 0.5001e-6, "line %d", i+4)
	}

	rows := strings.Split(a.Conditions(), "\n")
	require.Len(t, rows, 227)
	assert.Equal(t, "file,alpha_deg,u_inf_m_s", rows[0])
	assert.Equal(t, "simulated_naca0012_a-3.5_u9.1.csv,-3.5,9.1", rows[106])
}

// Expected: averages over 24 recordings of sim.py with their standard errors
// (golden.json), and the closed form airfoilStd. The squared difference of
// half means tests the slow parts, successive differences the fast ones.
func TestAirfoilStatisticsAgreeWithReference(t *testing.T) {
	const (
		records = 48
		n       = 10000
	)
	type sums struct{ s, s2 float64 }

	for _, c := range loadGolden(t).AirfoilRecord {
		cl, cd, _ := AirfoilMean(c.Alpha, c.U)
		var variance, difference, half [2]sums
		var cross sums
		add := func(a *sums, v float64) {
			a.s += v / records
			a.s2 += v * v / records
		}

		for seed := range uint64(records) {
			b := newBalance(seed, 1000, c.Alpha, c.U)
			var v, d, h, last [2]float64

			x := 0.0
			for t := range n {
				lift, drag := b.next()
				y := [2]float64{lift/b.qS - cl, drag/b.qS - cd}
				for j := range y {
					v[j] += y[j] * y[j] / n
					if t > 0 {
						d[j] += (y[j] - last[j]) * (y[j] - last[j]) / (n - 1)
					}

					if t < n/2 {
						h[j] += y[j] / (n / 2)
					} else {
						h[j] -= y[j] / (n / 2)
					}
				}

				x += y[0] * y[1] / n
				last = y
			}

			for j := range v {
				add(&variance[j], v[j])
				add(&difference[j], d[j])
				add(&half[j], h[j]*h[j])
			}

			add(&cross, x)
		}

		check := func(what string, got sums, want, se float64) {
			t.Helper()

			own := math.Sqrt(max(got.s2-got.s*got.s, 0) / (records - 1))
			assert.InDelta(t, want, got.s, 4*math.Hypot(own, se), "α=%g U=%g %s", c.Alpha, c.U, what)
		}

		sl, sd := airfoilStd(c.Alpha, c.U)
		for j, s := range []float64{sl, sd} {
			name := []string{"cl", "cd"}[j]
			check(name+" variance against the reference", variance[j], c.Variance[0][j], c.Variance[1][j])
			check(name+" variance against the closed form", variance[j], s*s, 0)
			check(name+" successive difference", difference[j], c.Difference[0][j], c.Difference[1][j])
			check(name+" half means", half[j], c.Half[0][j], c.Half[1][j])
		}

		check("covariance of cl and cd", cross, c.Cross[0], c.Cross[1])
	}
}

// Multiples of 1/1000 s need 3 decimals, of 1/2000 s 4, of 1/800 s 5. Multiples of 1/1024 s need more than 9, of which
// 9 are written.
func TestTimeDigits(t *testing.T) {
	for rate, want := range map[float64]int{1000: 3, 2000: 4, 1024: 9, 10000: 4, 12800: 9, 800: 5} {
		assert.Equal(t, want, timeDigits(rate), "timeDigits(%g)", rate)
	}
}

// Settings that no campaign can have are errors that name each setting and what was expected.
func TestAirfoilRefused(t *testing.T) {
	for _, c := range []struct {
		a    Airfoil
		want []string
	}{
		{
			with(DefaultAirfoil(), func(a *Airfoil) {
				a.RateHz = 100
				a.DurationS = -1
			}),
			[]string{"RateHz", "700", "DurationS"},
		},
		{with(DefaultAirfoil(), func(a *Airfoil) { a.DurationS = 1e-6 }), []string{"at least 1 sample"}},
		{
			with(DefaultAirfoil(), func(a *Airfoil) { a.AlphaDeg = []float64{1, 91, 1} }),
			[]string{"AlphaDeg[1]", "AlphaDeg[2]: expected every angle once"},
		},
		{
			with(DefaultAirfoil(), func(a *Airfoil) { a.SpeedMS = []float64{2, 5, 5} }),
			[]string{"SpeedMS[0]", "3 to 60", "SpeedMS[2]: expected every speed once"},
		},
	} {
		for _, part := range c.want {
			assert.ErrorContains(t, c.a.Validate(), part)
		}
	}
}

// The name of a file says 0° for −0°.
func TestNegativeZero(t *testing.T) {
	level := with(DefaultAirfoil(), func(a *Airfoil) { a.AlphaDeg = []float64{math.Copysign(0, -1)} })
	assert.Equal(t, "simulated_naca0012_a0_u4.7.csv", level.Files()[0].Name)
}

// airfoilStd returns the standard deviations of single samples about AirfoilMean, over all times and seeds: the
// amplitudes of independent parts add in squares. The buffeting's two parts have the power 0.6² + 0.8² = 1 together.
func airfoilStd(alphaDeg, speedMS float64) (cl, cd float64) {
	s := airfoilAmplitudes(alphaDeg, speedMS)
	norm := func(v ...float64) (sum float64) {
		for _, x := range v {
			sum += x * x
		}
		return math.Sqrt(sum)
	}

	return norm(s.clU, s.clW, s.clBuf, s.clRing, s.clDrift, s.clWhite),
		norm(s.cdU, s.cdW, s.cdBuf, s.cdSep, s.cdRing, s.cdDrift, s.cdWhite)
}

// Lift and drag a perfect model would find at 5° and 9.1 m/s.
func ExampleAirfoilMean() {
	cl, cd, attached := AirfoilMean(5, 9.1)
	fmt.Printf("cl %.3f, cd %.4f, attached %.2f\n", cl, cd, attached)
	// Output: cl 0.484, cd 0.0302, attached 1.00
}

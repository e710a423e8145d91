package budget

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"doubletake/pipeline/config"
)

// stated evaluates a model of quantities with their values and the statements of their uncertainties.
func stated(t *testing.T, model string, level float64, list ...[2]string) Result {
	t.Helper()

	b := Budget{Outcome: "y", Model: model}
	for _, q := range list {
		name, value, _ := strings.Cut(q[0], " ")
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)

		u, err := config.ParseUncertainty(q[1])
		require.NoError(t, err)

		b.Quantities = append(b.Quantities, Quantity{Name: name, Value: v, U: u.U, DoF: u.DoF, A: u.Observed, Law: u.Law})
	}

	r, err := b.Evaluate(level, 200_000)
	require.NoError(t, err)

	return r
}

// near fails unless got is within the given distance of want.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()

	assert.InDelta(t, want, got, within, "%s: ± %g", what, within)
}

// JCGM 100:2008, H.1, calibration of an end gauge, in nm: the standard uncertainties of table H.1, 32 nm with 16
// degrees of freedom, U99 = 2.92·32 nm = 93 nm. Its terms of second order make 34 nm (H.1.7), which the product of
// the temperatures gives Monte Carlo; that also widens the laws with few degrees of freedom.
func TestEndGauge(t *testing.T) {
	r := stated(t, "lS + d + d1 + d2 - lS*(da*(tm + tc) + aS*dt)", 0.99,
		[2]string{"lS 50000623", "± 75, k 3, dof 18"},
		[2]string{"d 215", "u 5.8, dof 24, type A"},
		[2]string{"d1 0", "u 3.9, dof 5"},
		[2]string{"d2 0", "u 6.7, dof 8"},
		[2]string{"aS 11.5e-6", "± 2e-6, rectangular"},
		[2]string{"tm -0.1", "u 0.2"},
		[2]string{"tc 0", "± 0.5, U-shaped"},
		[2]string{"da 0", "± 1e-6, rectangular, dof 50"},
		[2]string{"dt 0", "± 0.05, rectangular, dof 2"})
	near(t, "length", r.Value, 50000838, 0.5)
	near(t, "standard uncertainty", r.U, 32, 0.5)
	near(t, "degrees of freedom", math.Floor(r.DoF), 16, 0)
	near(t, "coverage factor", r.K, 2.92, 0.005)
	near(t, "expanded", math.Round(100*r.K)/100*math.Round(r.U), 93, 0.5)

	for name, want := range map[string]float64{
		"lS": 25, "d": 5.8, "d1": 3.9, "d2": 6.7, "da": 2.9, "dt": 16.6, "aS": 0, "tm": 0,
	} {
		k := slices.IndexFunc(r.Components, func(c Component) bool { return c.Name == name })
		require.GreaterOrEqual(t, k, 0, "no component %s", name)
		near(t, name, r.Components[k].Contribution, want, 0.05)
	}

	// 18 degrees of freedom make 25 nm 25·√(18/16); the others are 9.7² + 2.9² + 16.6² + 11.7² nm².
	spread := 25*25*18./16 + 5.8*5.8*24/22 + 3.9*3.9*5/3 + 6.7*6.7*8/6 + 2.9*2.9 + 16.6*16.6 + 11.7*11.7
	near(t, "Monte Carlo", r.MonteCarlo.U, math.Sqrt(spread), 0.4)
}

// JCGM 100:2008, H.5, a Zener standard on ten days: table H.9 has mean and deviation of five readings a day.
// Here the five readings are made to have them. s_a² = 5·(57 µV)², s_b = 85 µV, between days 43 µV, u = 18 µV with nine
// degrees of freedom.
func TestDays(t *testing.T) {
	means := []float64{172, 116, 13, 144, 106, 31, 60, 125, 163, 41} // µV above 10 V
	deviations := []float64{60, 77, 111, 101, 67, 93, 80, 73, 88, 86}
	var y []float64
	var days []int
	for d, m := range means {
		for _, p := range []float64{-2, -1, 0, 1, 2} { // of deviation √2.5
			v := m + p*deviations[d]/math.Sqrt(2.5)
			y = append(y, v)
			days = append(days, d)
		}
	}

	v := Variances(y, [][]int{make([]int, len(y)), days})
	near(t, "s_a²", math.Sqrt(v.Squares[0]/5), 57, 0.5)
	near(t, "s_b", math.Sqrt(v.Squares[1]), 85, 0.5)
	near(t, "F", v.Squares[0]/v.Squares[1], 2.25, 0.05)
	near(t, "between days", math.Sqrt(v.Components[0]), 43, 0.5)

	rows := make([]int, len(y))
	for i := range rows {
		rows[i] = i
	}

	parts, dof := v.MeanVariances([][]int{make([]int, len(y)), days}, rows)
	near(t, "mean", stat.Mean(y, nil), 97, 0.5)
	near(t, "u, µV", math.Sqrt(parts[0]+parts[1]), 18, 0.5)
	near(t, "degrees of freedom", dof, 9, 1e-6)
}

// Nested variances of uneven numbers of observations: without bias, and their degrees of freedom say how they
// scatter, Var(s²) = 2σ⁴/ν. Witness: 3,000 simulated campaigns with known variances. The mean of a condition has the
// variance Σ_k σ_k²·Σ_u (n_u/n)², where unit u of level k has n_u of its n observations.
func TestNestedVariances(t *testing.T) {
	truth := []float64{4, 1, 0.25} // days, runs, samples
	var units [3][]int
	runs := 0
	for condition := range 6 {
		for day := range 3 + condition%3 {
			for run := range 2 + (condition+day)%2 {
				for range 2 + run%2 {
					units[0] = append(units[0], condition)
					units[1] = append(units[1], 100*condition+day)
					units[2] = append(units[2], runs)
				}
				runs++
			}
		}
	}

	var rows []int // of the first condition
	for i, c := range units[0] {
		if c == 0 {
			rows = append(rows, i)
		}
	}

	const campaigns = 3000
	rng := rand.New(rand.NewPCG(7, 35))
	var mean, square [4]float64
	ofMean := truth[0]*sumOfShares(units[1], rows) + truth[1]*sumOfShares(units[2], rows) + truth[2]/float64(len(rows))
	want := append([]float64{ofMean}, truth...)

	var dof [4]float64
	for range campaigns {
		effects := map[int]float64{}
		effect := func(id int, sd float64) float64 {
			if _, known := effects[id]; !known {
				effects[id] = sd * rng.NormFloat64()
			}
			return effects[id]
		}

		var y []float64
		for i := range units[0] {
			y = append(y, float64(units[0][i])+effect(units[1][i], 2)+effect(1_000_000+units[2][i], 1)+0.5*rng.NormFloat64())
		}

		v := Variances(y, units[:])
		parts, free := v.MeanVariances(units[:], rows)
		for k, s := range append([]float64{parts[0] + parts[1] + parts[2]}, v.Components...) {
			mean[k] += s / campaigns
			square[k] += s * s / campaigns
		}

		for k, f := range append([]float64{free}, v.DoF...) {
			dof[k] += 1 / f / campaigns // of the harmonic mean
		}
	}

	for k, name := range []string{"mean", "days", "runs", "samples"} {
		scatter := square[k] - mean[k]*mean[k]
		near(t, name, mean[k]/want[k], 1, 4*math.Sqrt(scatter/campaigns)/want[k])
		near(t, "degrees of freedom of "+name, 2*want[k]*want[k]/scatter*dof[k], 1, 0.1)
	}
}

// sumOfShares returns Σ (n_u/n)² over the units that the given rows belong to.
func sumOfShares(unit, rows []int) float64 {
	count := map[int]float64{}
	for _, i := range rows {
		count[unit[i]]++
	}

	sum := 0.0
	for _, n := range count {
		share := n / float64(len(rows))
		sum += share * share
	}

	return sum
}

// Degrees of freedom of very unequal numbers: days of 1, 6 or 2 runs, runs of 1 or 8 samples. Expected: twice the
// squared mean over the variance of the estimates in simulation. Satterthwaite's sum, which takes mean squares as
// independent multiples of chi-squared, is 44 % above it for days and 68 % for runs.
func TestUnequalNumbers(t *testing.T) {
	var units [3][]int
	runs := 0
	for condition := range 3 {
		for day := range 3 + condition%3 {
			for run := range []int{1, 6, 2}[(condition+day)%3] {
				for range []int{1, 8}[(run+day)%2] {
					units[0] = append(units[0], condition)
					units[1] = append(units[1], 100*condition+day)
					units[2] = append(units[2], runs)
				}
				runs++
			}
		}
	}

	const campaigns = 2000
	rng := rand.New(rand.NewPCG(8, 35))
	y := make([]float64, len(units[0]))
	var v Nested
	var mean, square, squares [3]float64
	for range campaigns {
		days := make([]float64, 400)
		each := make([]float64, runs)
		for i := range days {
			days[i] = 2 * rng.NormFloat64()
		}

		for i := range each {
			each[i] = rng.NormFloat64()
		}

		for i := range y {
			y[i] = days[units[1][i]] + each[units[2][i]] + 0.5*rng.NormFloat64()
		}

		v = Variances(y, units[:])
		for l, w := range v.weights {
			s := 0.0 // not cut at zero
			for k, x := range w {
				s += x * v.Squares[k]
			}

			mean[l] += s / campaigns
			square[l] += s * s / campaigns
			squares[l] += v.Squares[l] / campaigns
		}
	}

	v.Components = []float64{4, 1, 0.25}
	v.Squares = squares[:]
	own := make([]int, len(y)) // the observations
	for i := range own {
		own[i] = i
	}

	v.setCovariance(append(units[:], own))
	for l, name := range []string{"days", "runs", "samples"} {
		near(t, name, mean[l], v.Components[l], 0.05*v.Components[l])

		dof := v.degreesOfFreedom(v.weights[l])
		near(t, "degrees of freedom of "+name, dof*(square[l]/(mean[l]*mean[l])-1)/2, 1, 0.1)
	}
}

// Readings of an end gauge in nm, which scatter by thousandths: the sums of squares of the values
// themselves have no digit of the variance. Expected: that of the deviations, 2·68.8/9 of the unit's 1024th
// squared, by hand.
func TestLargeValues(t *testing.T) {
	var y []float64
	for i := range 10 {
		y = append(y, 50000623+[]float64{-5, 5, 3, -3, 1}[i%5]/1024)
	}

	// deviations from their mean 0.2: squares 27.04, 23.04, 7.84, 10.24, 0.64
	near(t, "variance", Variances(y, [][]int{make([]int, 10)}).Components[0]*1024*1024, 2*68.8/9, 1e-6)
}

// A law that is far from linear: y = x² at x = 0 ± 1 is chi-squared; its linear law has no uncertainty at all, and
// at x = 1 an interval from −1.96·2 + 1. Witness: chi-squared with one degree of freedom, noncentral.
func TestFarFromLinear(t *testing.T) {
	r := stated(t, "x^2", 0.95, [2]string{"x 1", "± 1, k 1"})
	near(t, "u", r.U, 2, 1e-12)
	near(t, "mean", r.MonteCarlo.Mean, 2, 0.03)
	near(t, "u by Monte Carlo", r.MonteCarlo.U, math.Sqrt(6), 0.05)
	assert.False(t, r.MonteCarlo.Agrees)
	assert.Contains(t, strings.Join(r.notes(), " "), "the linear law is too coarse")
}

// Models that cannot be evaluated.
func TestFaults(t *testing.T) {
	for model, want := range map[string]string{"x + z": `unknown name "z"`, "1/x": "expected finite numbers"} {
		b := Budget{Model: model, Quantities: []Quantity{{Name: "x", U: 2, DoF: 1, Law: "normal"}}}
		_, err := b.Evaluate(0.95, 0)
		assert.ErrorContains(t, err, want)
	}
}

// A result prints the degrees of freedom with which k is computed. Expected, from table G.2 of JCGM 100 for 95 %: k is
// 2.07 for 23 degrees of freedom, 2.78 for 4, and 12.71 for 1. k for 99 and 100 is Student's quantile by scipy 1.10.1.
func TestPrintedDoF(t *testing.T) {
	for dof, want := range map[float64]string{
		23.97:      "(k = 2.07, 95 %, 23 degrees of freedom)",
		4.997:      "(k = 2.78, 95 %, 4 degrees of freedom)",
		0.7:        "(k = 12.71, 95 %, 1 degrees of freedom)",
		99.96:      "(k = 1.98, 95 %, 99 degrees of freedom)",
		100.9999:   "(k = 1.98, 95 %, 100 degrees of freedom)",
		24 - 1e-12: "(k = 2.06, 95 %, 24 degrees of freedom)",
		1e7:        "(k = 1.96, 95 %, ∞ degrees of freedom)",
	} {
		r := Result{U: 1, DoF: dof, K: Coverage(0.95, dof), Level: 0.95}
		assert.Contains(t, r.summary(), want, "%g degrees of freedom", dof)
	}
}

// A budget without uncertain sources has lists without entries. Expected: an empty list is [] in JSON, as everywhere.
func TestCertainResult(t *testing.T) {
	r := Result{Components: make([]Component, 1)} // its u is 0
	doc, err := json.Marshal(JSON([]Result{r}))
	require.NoError(t, err)
	assert.Contains(t, string(doc), `"sources":[]`)
	assert.Contains(t, string(doc), `"not_in_this_budget":[]`)
}

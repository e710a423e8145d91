package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()

	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}

func evaluated(t *testing.T, path string, draws int) []Result {
	t.Helper()

	list, level, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}

	var out []Result
	for _, b := range list {
		r, err := b.Evaluate(level, draws)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}

	return out
}

func close(t *testing.T, what string, got, want, within float64) {
	t.Helper()

	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %.6g, expected %g ± %g", what, got, want, within)
	}
}

// JCGM 100:2008, H.1, calibration of an end gauge, in nm: the standard uncertainties of table H.1, 32 nm with 16
// degrees of freedom, U99 = 2.92·32 nm = 93 nm. Its terms of second order make 34 nm (H.1.7), which the product of
// the temperatures gives Monte Carlo; that also widens the laws with few degrees of freedom.
func TestEndGauge(t *testing.T) {
	path := write(t, t.TempDir(), "h1.yaml", `
outcomes: {l_nm: lS + d + d1 + d2 - lS*(da*(tm + tc) + aS*dt)}
level: 0.99
inputs:
  lS: 50000623 nm ± 75, k 3, dof 18
  d: 215 nm, u 5.8, dof 24, type A
  d1: 0 nm, u 3.9, dof 5
  d2: 0 nm, u 6.7, dof 8
  aS: 11.5e-6 ± 2e-6, rectangular
  tm: -0.1, u 0.2
  tc: 0 ± 0.5, U-shaped
  da: 0 ± 1e-6, rectangular, dof 50
  dt: 0 ± 0.05, rectangular, dof 2
`)
	r := evaluated(t, path, 200_000)[0]
	close(t, "length", r.Value, 50000838, 0.5)
	close(t, "standard uncertainty", r.U, 32, 0.5)
	close(t, "degrees of freedom", math.Floor(r.DoF), 16, 0)
	close(t, "coverage factor", r.K, 2.92, 0.005)
	close(t, "expanded", math.Round(100*r.K)/100*math.Round(r.U), 93, 0.5)

	for name, want := range map[string]float64{
		"lS": 25, "d": 5.8, "d1": 3.9, "d2": 6.7, "da": 2.9, "dt": 16.6, "aS": 0, "tm": 0,
	} {
		for _, c := range r.Components {
			if c.Name == name {
				close(t, name, c.Contribution, want, 0.05)
			}
		}
	}

	// 18 degrees of freedom make 25 nm 25·√(18/16); the others are 9.7² + 2.9² + 16.6² + 11.7² nm².
	spread := 25*25*18./16 + 5.8*5.8*24/22 + 3.9*3.9*5/3 + 6.7*6.7*8/6 + 2.9*2.9 + 16.6*16.6 + 11.7*11.7
	close(t, "Monte Carlo", r.MonteCarlo.U, math.Sqrt(spread), 0.4)
}

// JCGM 100:2008, H.2, resistance, reactance and impedance of readings that were taken together: tables
// H.2 to H.4.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "h2.csv", "V,I,phi\n5.007,0.019663,1.0456\n4.994,0.019639,1.0438\n5.005,0.019640,1.0468\n"+
		"4.990,0.019685,1.0428\n4.999,0.019678,1.0433\n")
	path := write(t, dir, "h2.yaml", "outcomes: {R: V/I*cos(phi), X: V/I*sin(phi), Z: V/I}\nreadings: h2.csv\n")

	list := evaluated(t, path, 0)
	for i, want := range []struct{ value, u float64 }{{127.732, 0.071}, {219.847, 0.295}, {254.260, 0.236}} {
		close(t, list[i].Outcome, list[i].Value, want.value, 0.0005)
		close(t, "u of "+list[i].Outcome, list[i].U, want.u, 0.0006) // 0.2956 of X, 0.2955 by approach 2
		close(t, "degrees of freedom", list[i].DoF, 4, 1e-9)
	}

	q := list[0].Quantities // r(V, I) = −0.36, r(V, φ) = 0.86, r(I, φ) = −0.65
	for _, c := range []struct {
		of, to int
		want   float64
	}{{0, 1, -0.36}, {0, 2, 0.86}, {1, 2, -0.65}} {
		for _, x := range q[c.of].Related {
			if x.Other == c.to {
				close(t, "correlation", x.R, c.want, 0.005)
			}
		}
	}
}

// JCGM 100:2008, H.5, a Zener standard on ten days: table H.9 has mean and deviation of five readings a day.
// Here the five readings are made to have them. s_a² = 5·(57 µV)², s_b = 85 µV, between days 43 µV, u = 18 µV with nine
// degrees of freedom.
func TestDays(t *testing.T) {
	means := []float64{172, 116, 13, 144, 106, 31, 60, 125, 163, 41} // µV above 10 V
	deviations := []float64{60, 77, 111, 101, 67, 93, 80, 73, 88, 86}
	text := "day,V\n"
	var y []float64
	var days []int
	for d, m := range means {
		for _, p := range []float64{-2, -1, 0, 1, 2} { // of deviation √2.5
			v := m + p*deviations[d]/math.Sqrt(2.5)
			y, days = append(y, v), append(days, d)
			text += fmt.Sprintf("%d,%.9f\n", d+1, 10+v*1e-6)
		}
	}

	v := Variances(y, [][]int{make([]int, len(y)), days})
	close(t, "s_a²", math.Sqrt(v.Squares[0]/5), 57, 0.5)
	close(t, "s_b", math.Sqrt(v.Squares[1]), 85, 0.5)
	close(t, "F", v.Squares[0]/v.Squares[1], 2.25, 0.05)
	close(t, "between days", math.Sqrt(v.Components[0]), 43, 0.5)

	dir := t.TempDir()
	write(t, dir, "h5.csv", text)
	r := evaluated(t, write(t, dir, "h5.yaml", "outcomes: {V_v: V}\nreadings: h5.csv\ngroups: day\n"), 0)[0]
	close(t, "mean", r.Value, 10.000097, 5e-7)
	close(t, "u, µV", 1e6*r.U, 18, 0.5)
	close(t, "degrees of freedom", r.DoF, 9, 1e-6)
}

// Nested variances of uneven numbers of observations: without bias, and their degrees of freedom say how they
// scatter, Var(s²) = 2σ⁴/ν. Witness: 4,000 simulated campaigns with known variances.
func TestNestedVariances(t *testing.T) {
	truth := []float64{4, 1, 0.25} // days, runs, samples
	var units [3][]int
	runs := 0
	for condition := range 6 {
		for day := range 3 + condition%3 {
			for run := range 2 + (condition+day)%2 {
				for range 2 + run%2 {
					units[0], units[1] = append(units[0], condition), append(units[1], 100*condition+day)
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

	const campaigns = 4000
	rng := rand.New(rand.NewPCG(7, 35))
	var mean, square [4]float64
	exact := Nested{
		Components: truth, by: [][]float64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, Squares: make([]float64, 3),
		Free: []float64{1, 1, 1},
	}
	parts, _ := exact.OfMean(units[:], rows)
	want := append([]float64{parts[0] + parts[1] + parts[2]}, truth...)

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
		parts, free := v.OfMean(units[:], rows)
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
		close(t, name, mean[k]/want[k], 1, 4*math.Sqrt(scatter/campaigns)/want[k])
		close(t, "degrees of freedom of "+name, 2*want[k]*want[k]/scatter*dof[k], 1, 0.1)
	}
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
					units[0], units[1] = append(units[0], condition), append(units[1], 100*condition+day)
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
		days, each := make([]float64, 400), make([]float64, runs)
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
		for l, w := range v.by {
			s := 0.0 // not cut at zero
			for k, x := range w {
				s += x * v.Squares[k]
			}

			mean[l] += s / campaigns
			square[l] += s * s / campaigns
			squares[l] += v.Squares[l] / campaigns
		}
	}

	v.Components, v.Squares = []float64{4, 1, 0.25}, squares[:]
	own := make([]int, len(y)) // the observations
	for i := range own {
		own[i] = i
	}

	v.vary(append(units[:], own))
	for l, name := range []string{"days", "runs", "samples"} {
		close(t, name, mean[l], v.Components[l], 0.05*v.Components[l])

		_, dof := v.combine(v.by[l])
		close(t, "degrees of freedom of "+name, dof*(square[l]/(mean[l]*mean[l])-1)/2, 1, 0.1)
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
	close(t, "variance", Variances(y, [][]int{make([]int, 10)}).Components[0]*1024*1024, 2*68.8/9, 1e-6)
}

// A law that is far from linear: y = x² at x = 0 ± 1 is chi-squared; its linear law has no uncertainty at all, and
// at x = 1 an interval from −1.96·2 + 1. Witness: chi-squared with one degree of freedom, noncentral.
func TestFarFromLinear(t *testing.T) {
	path := write(t, t.TempDir(), "square.yaml", "outcomes: {y: x^2}\ninputs: {x: \"1 ± 1, k 1\"}\n")
	r := evaluated(t, path, 200_000)[0]
	close(t, "u", r.U, 2, 1e-12)
	close(t, "mean", r.MonteCarlo.Mean, 2, 0.03)
	close(t, "u by Monte Carlo", r.MonteCarlo.U, math.Sqrt(6), 0.05)
	if r.MonteCarlo.Agrees || !strings.Contains(strings.Join(r.notes(), " "), "the linear law is too coarse") {
		t.Errorf("%+v, %v", r.MonteCarlo, r.notes())
	}
}

func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one.csv", "V\n5\n")
	write(t, dir, "text.csv", "V,W\n5,1\n6,x\n")
	for text, want := range map[string]string{
		"outcomes: {y: x}\ninputs: {x: 1 ± 2}\n":                   `expected "± 0.2, k 2"`,
		"outcomes: {y: x}\ninputs: {x: u 2}\n":                     "expected a value before the uncertainty",
		"outcomes: {y: x}\ninputs: {x: 1 ± 2, rectangular, k 2}\n": "inputs",
		"outcomes: {y: x+z}\ninputs: {x: \"1, u 2\"}\n":            `unknown name "z"`,
		"outcomes: {y: 1/x}\ninputs: {x: \"0, u 2\"}\n":            "expected finite numbers",
		"outcomes: {y: V}\nreadings: one.csv\n":                    "one.csv: expected at least two readings, found 1",
		"outcomes: {y: V}\nreadings: text.csv\n":                   `row 2, column W: expected a number, found "x"`,
		"outcomes: {y: V}\nreadings: text.csv\ngroups: day\n":      "expected a column day, found V, W",
		"outcome: {y: V}\n":                                        "outcomes",
	} {
		list, level, err := Read(write(t, dir, "b.yaml", text), Options{})
		for _, b := range list {
			if err == nil {
				_, err = b.Evaluate(level, 0)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

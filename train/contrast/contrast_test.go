package contrast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// unitCurve simulates the deviations of one unit at some points, each with variance 1. shape says how the points are
// related.
func unitCurve(r *rand.Rand, points int, shape string) []float64 {
	common := r.NormFloat64()
	phase := r.NormFloat64()
	curve := make([]float64, points)
	for p := range curve {
		own := r.NormFloat64()
		switch shape {
		case "unrelated":
			curve[p] = own
		case "half":
			curve[p] = math.Sqrt(0.5) * (common + own)
		case "offset":
			curve[p] = math.Sqrt(0.99)*common + 0.1*own
		case "smooth":
			x := 2 * float64(p) / float64(points)
			curve[p] = common*math.Cos(x) + phase*math.Sin(x)
		}
	}

	return curve
}

// simulatedArm simulates n units without a difference, whose mean has the same weight at all points.
func simulatedArm(r *rand.Rand, weight float64, n, points int, shape string) Arm {
	var a Arm
	for range n {
		a.Curves = append(a.Curves, unitCurve(r, points, shape))
	}

	a.Weight = slices.Repeat([]float64{weight}, points)

	return a
}

// design is a comparison that is simulated again and again.
type design struct {
	second, first int     // units of the second side (0: the units are pairs) and of the first side
	points        int     // points of each unit
	scatter       float64 // deviation of the first side over the deviation of the second
}

// simulate returns the arms of a design, whose true differences are 0.
func (d design) simulate(r *rand.Rand, shape string) []Arm {
	arms := []Arm{simulatedArm(r, 1, d.first, d.points, shape)}
	if d.second > 0 {
		arms = append(arms, simulatedArm(r, -1, d.second, d.points, shape))
	}

	for _, curve := range arms[0].Curves {
		floats.Scale(d.scatter, curve)
	}

	return arms
}

// containsZero reports whether a band contains 0 at all points.
func containsZero(band []Estimate) bool {
	return !slices.ContainsFunc(band, func(e Estimate) bool { return e.Low > 0 || e.High < 0 })
}

// The band contains all true differences, which are 0, with its probability of 95 %, with few units too. Expected: the
// share of simulated comparisons, of two sides or of pairs, whose points are related in four ways. In three designs one
// side scatters three times as much as the other. With DOUBLETAKE_LONG=all docs/contrast.md must state the shares.
func TestBandCoverage(t *testing.T) {
	isStudy := longtest.IsStudy()
	repeats := longtest.Count(10, 20)
	// Of the mean over all cases. The share of one case has a standard error of 0.069 with 10 repeats, and the mean of
	// the 36 cases has one of 0.0115.
	tolerance := 0.025
	if isStudy {
		repeats = 1000
		tolerance = 0.02
	}

	var shares []float64 // by case: share of the bands that contain 0 at all points
	for number, d := range []design{
		{second: 3, first: 3, points: 8, scatter: 1},
		{second: 6, first: 7, points: 10, scatter: 1},
		{second: 0, first: 5, points: 6, scatter: 1},
		{second: 2, first: 2, points: 6, scatter: 1},
		{second: 4, first: 5, points: 6, scatter: 3},
		{second: 3, first: 4, points: 8, scatter: 3},
		{second: 2, first: 6, points: 6, scatter: 1},
		{second: 0, first: 3, points: 6, scatter: 1},
		{second: 8, first: 4, points: 6, scatter: 3},
	} {
		for k, shape := range []string{"unrelated", "half", "offset", "smooth"} {
			r := rand.New(rand.NewPCG(uint64(k), uint64(number)))
			share := 0.0
			for range repeats {
				if containsZero(Band(d.simulate(r, shape), 0.95)) {
					share += 1 / float64(repeats)
				}
			}

			t.Logf("%+v, %s: %.3f", d, shape, share)
			shares = append(shares, share)
			if isStudy {
				assert.InDelta(t, 0.95, share, tolerance+0.014, "%+v, %s", d, shape) // 0.014: two standard errors
			}
		}
	}

	mean := floats.Sum(shares) / float64(len(shares))
	assert.InDelta(t, 0.95, mean, tolerance, "mean share of all cases")

	if isStudy {
		stated := fmt.Sprintf("the band contained all points in %.1f %% of the campaigns, and in %.1f to %.1f %% of each "+
			"kind", 100*mean, 100*slices.Min(shares), 100*slices.Max(shares))
		page := testfile.Read(t, "../../docs/contrast.md")
		assert.Contains(t, strings.Join(strings.Fields(string(page)), " "), stated)
	}
}

// Expected: the band of a single point is Welch's interval, up to 15 % of its width, because the band is simulated with
// scatters of the two sides that are shrunk towards each other.
func TestBandOfOnePoint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	arms := []Arm{simulatedArm(r, 1, 4, 1, "half"), simulatedArm(r, -1, 4, 1, "half")}
	band := Band(arms, 0.95)[0]
	mean := Mean(arms, 0.95)
	assert.Equal(t, mean.Difference, band.Difference)
	assert.InDelta(t, 1, (band.High-band.Low)/(mean.High-mean.Low), 0.15, "width of the band over the interval's")
}

// Conditions with two units on each side share one scatter. Expected: the degrees of freedom of all sides together,
// which are 6 with three conditions, and the critical value of three independent differences over one scatter. This is
// the quantile 0.95 of the studentized maximum modulus, 3.193, by quadrature of ∫ erf(c·s/√2)³ f(s) ds, where f is the
// density of the measured scatter over the true one, √(χ²/6). The quantile of 2000 draws has a standard error of 0.08.
func TestBandOfSeparateConditions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var arms []Arm
	for p := range 3 {
		for _, weight := range []float64{-1, 1} {
			a := Arm{Weight: make([]float64, 3), Curves: [][]float64{make([]float64, 3), make([]float64, 3)}}
			a.Weight[p] = weight
			a.Curves[0][p] = r.NormFloat64()
			a.Curves[1][p] = r.NormFloat64()
			arms = append(arms, a)
		}
	}

	for _, e := range Band(arms, 0.95) {
		assert.Equal(t, 6., e.DF, "degrees of freedom")

		critical := (e.High - e.Difference) / e.SE
		assert.InDelta(t, 3.193, critical, 3*0.08, "critical value")
	}
}

// Two pairs have correlations of ±1 whatever the true correlation is, so that they tell nothing about it. Expected: the
// points are taken as unrelated, so that the Cholesky factor of their correlation is the unit matrix.
func TestCorrelationOfTwoPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		l := correlationRoot([]Arm{simulatedArm(r, 1, 2, 4, "half")}, []float64{1}, false)
		for p := range 4 {
			assert.InDelta(t, 1, l.At(p, p), 1e-6, "element %d, %d of the Cholesky factor", p, p)
			for q := range p {
				assert.InDelta(t, 0, l.At(p, q), 1e-6, "element %d, %d of the Cholesky factor", p, q)
			}
		}
	}
}

// Expected by hand: means 2 and 6 and variances 1 and 4 of 3 and 5 units have the squared standard error 1/3 + 4/5 and
// Welch's degrees of freedom (17/15)²/((1/3)²/2 + (4/5)²/4). The ends of the 95 % interval leave 2.5 % beyond them.
func TestMean(t *testing.T) {
	a := Arm{Weight: []float64{-1}, Curves: [][]float64{{1}, {2}, {3}}}
	b := Arm{Weight: []float64{1}, Curves: [][]float64{{6 - 2*math.Sqrt2}, {6}, {6}, {6}, {6 + 2*math.Sqrt2}}}
	e := Mean([]Arm{a, b}, 0.95)
	assert.InDelta(t, 4, e.Difference, 1e-9, "difference")
	assert.InDelta(t, math.Sqrt(17./15), e.SE, 1e-9, "standard error")
	assert.InDelta(t, 17.*17/225/(1./18+0.16), e.DF, 1e-9, "degrees of freedom")
	assert.InDelta(t, 0.5, e.Above(4), 1e-9, "probability above the difference")
	assert.InDelta(t, 0.025, e.Above(e.High), 1e-9, "probability above the interval")
	assert.InDelta(t, 0.975, e.Above(e.Low), 1e-9, "probability above the low end of the interval")
}

// Expected: the share of simulated comparisons, with a true difference of 1.1 and scatter 1, whose interval excludes 0.
// The level of a test is its power at the limit itself.
func TestPower(t *testing.T) {
	assert.InDelta(t, 0.05, Power(0, 7, 0.95), 1e-5, "power at the limit")

	r := rand.New(rand.NewPCG(3, 3))
	const repeats, shift = 8000, 1.1
	for _, c := range []struct {
		units     int     // of each side
		sides     int     // 1: the units are pairs
		tolerance float64 // Welch's degrees of freedom of two sides are estimated, which costs some power
	}{
		{units: 4, sides: 1},
		{units: 8, sides: 1},
		{units: 8, sides: 2, tolerance: 0.01},
		{units: 16, sides: 2, tolerance: 0.01},
	} {
		found := 0.0
		for range repeats {
			arms := []Arm{simulatedArm(r, 1, c.units, 1, "unrelated")}
			for _, curve := range arms[0].Curves {
				curve[0] += shift
			}

			if c.sides == 2 {
				arms = append(arms, simulatedArm(r, -1, c.units, 1, "unrelated"))
			}

			if !containsZero([]Estimate{Mean(arms, 0.95)}) {
				found += 1. / repeats
			}
		}

		n := float64(c.units)
		sides := float64(c.sides)
		want := Power(shift*math.Sqrt(n/sides), sides*(n-1), 0.95)
		standardError := math.Sqrt(want * (1 - want) / repeats)
		assert.InDelta(t, want, found, 3*standardError+c.tolerance, "%+v", c)
	}
}

// Two sides of variance 1 have a difference of 1.1. Expected: the smallest number of units whose power is 80 %. If the
// limit is the difference itself, no number of units has this power, and 0 is expected. 0 is also expected if more than
// mostUnits are needed. By the normal distribution, a distance d between the difference and the limit needs
// 2·(1.96 + 0.8416)²/d² units: d = 0.003982 needs 990 000 and d = 0.003923 needs 1 020 000.
func TestUnits(t *testing.T) {
	a := Arm{Weight: []float64{-1}, Curves: [][]float64{{-1}, {0}, {1}}}
	b := Arm{Weight: []float64{1}, Curves: [][]float64{{0.1}, {1.1}, {2.1}}}
	n := Units([]Arm{a, b}, 0, 0.95, 0.8)
	powerOf := func(n int) float64 { return Power(1.1*math.Sqrt(float64(n)/2), float64(2*n-2), 0.95) }
	assert.GreaterOrEqual(t, powerOf(n), 0.8, "power of %d units", n)
	assert.Less(t, powerOf(n-1), 0.8, "power of %d units", n-1)
	assert.Zero(t, Units([]Arm{a, b}, 1.1, 0.95, 0.8), "units if the limit is the difference")
	assert.InEpsilon(t, 990_000, Units([]Arm{a, b}, 1.1-0.003982, 0.95, 0.8), 1e-3, "units just below mostUnits")
	assert.Zero(t, Units([]Arm{a, b}, 1.1-0.003923, 0.95, 0.8), "units if more than mostUnits are needed")
}

// Three motors turned both propellers: their differences decide.
func Example() {
	pairs := Arm{Weight: []float64{1}, Curves: [][]float64{{0.9}, {1.1}, {1.0}}}
	e := Mean([]Arm{pairs}, 0.95)
	fmt.Printf("%.2f, from %.2f to %.2f; above 0.5 with probability %.3f\n", e.Difference, e.Low, e.High, e.Above(0.5))
	// Output: 1.00, from 0.75 to 1.25; above 0.5 with probability 0.993
}

package contrast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
)

// unit is one unit's scatter at some points: simulated, with variance 1.
func unit(r *rand.Rand, points int, shape string) []float64 {
	common := r.NormFloat64()
	phase := r.NormFloat64()
	c := make([]float64, points)
	for p := range c {
		switch e := r.NormFloat64(); shape {
		case "unrelated":
			c[p] = e
		case "half":
			c[p] = math.Sqrt(0.5) * (common + e)
		case "offset":
			c[p] = math.Sqrt(0.99)*common + 0.1*e
		case "smooth":
			x := 2 * float64(p) / float64(points)
			c[p] = common*math.Cos(x) + phase*math.Sin(x)
		}
	}

	return c
}

func side(r *rand.Rand, weight float64, n, points int, shape string) Arm {
	var a Arm
	for range n {
		a.Curves = append(a.Curves, unit(r, points, shape))
	}

	for range points {
		a.Weight = append(a.Weight, weight)
	}

	return a
}

// The band holds all true differences, which are 0, with the probability that it states, of few units too.
// Simulated: two sides, and pairs, of units that scatter in four ways, once one side more than the
// other.
func TestBandCoverage(t *testing.T) {
	repeats := longtest.Count(10, 20)
	tolerance := 0.025 // of all cases together; each has a standard error of 0.049
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		repeats = 1000
		tolerance = 0.02
	}

	all := 0.0
	cases := 0.0
	least := 1.0
	most := 0.0
	for _, n := range [][3]int{
		{3, 3, 8}, {6, 7, 10}, {0, 5, 6}, {2, 2, 6}, {4, 5, -6}, {3, 4, -8}, {2, 6, 6}, {0, 3, 6}, {8, 4, -6},
	} {
		unequal := n[2] < 0 // the second side scatters three times as much
		n[2] = max(n[2], -n[2])
		for k, shape := range []string{"unrelated", "half", "offset", "smooth"} {
			r := rand.New(rand.NewPCG(uint64(k), uint64(n[1])))
			held := 0.0
			for range repeats {
				arms := []Arm{side(r, 1, n[1], n[2], shape)}
				if n[0] > 0 {
					arms = append(arms, side(r, -1, n[0], n[2], shape))
				}

				for _, u := range arms[0].Curves {
					for p := range u {
						if unequal {
							u[p] *= 3
						}
					}
				}

				inside := 1.0
				for _, e := range Band(arms, 0.95) {
					if e.Low > 0 || e.High < 0 {
						inside = 0
					}
				}

				held += inside / float64(repeats)
			}

			t.Logf("%d and %d units, %d points, %s: %.3f", n[0], n[1], n[2], shape, held)

			all += held
			cases++
			least = min(least, held)
			most = max(most, held)
			if repeats > 100 && math.Abs(held-0.95) > tolerance+0.014 { // twice its standard error
				t.Errorf("%d and %d units, %s: coverage %.3f", n[0], n[1], shape, held)
			}
		}
	}

	if all /= cases; math.Abs(all-0.95) > tolerance {
		t.Errorf("coverage %.3f", all)
	}

	page := testfile.Read(t, "../../docs/contrast.md")

	stated := fmt.Sprintf("the band held all points in %.1f %%, of one kind of campaign in %.1f to %.1f %%", 100*all,
		100*least, 100*most)
	assert.False(t, repeats > 100 && !strings.Contains(strings.Join(strings.Fields(string(page)), " "), stated),
		"docs/contrast.md does not state: %s", stated)
}

// Of a single point the band is the interval, but for the draws. Conditions with two units a side each
// share one scatter: t of all degrees of freedom together, here 6 of three conditions, and a factor
// between that of one interval, 2.45, and Šidák's of three, 3.29.
func TestBandLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	arms := []Arm{side(r, 1, 4, 1, "half"), side(r, -1, 4, 1, "half")}
	band := Band(arms, 0.95)[0]
	mean := Mean(arms, 0.95)
	// Simulated with equal scatter of the sides; Welch's degrees of freedom are those of the sides' own.
	if q := (band.High - band.Low) / (mean.High - mean.Low); math.Abs(q-1) > 0.15 || band.Difference != mean.Difference {
		t.Errorf("band %v, interval %v", band, mean)
	}

	arms = nil
	for p := range 3 {
		for _, w := range []float64{-1, 1} {
			a := Arm{Weight: make([]float64, 3), Curves: [][]float64{make([]float64, 3), make([]float64, 3)}}
			a.Weight[p], a.Curves[0][p], a.Curves[1][p] = w, r.NormFloat64(), r.NormFloat64()
			arms = append(arms, a)
		}
	}

	for _, e := range Band(arms, 0.95) {
		if k := (e.High - e.Difference) / e.SE; e.DF != 6 || !(k > 2.6 && k < 3.4) {
			t.Errorf("factor %.3f of %g degrees of freedom", k, e.DF)
		}
	}
}

// Two pairs have correlations of ±1, whatever the truth: the band takes the points as unrelated, and so does that of
// values which differ by rounding.
func TestBandOfTwoPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		l := correlationRoot([]Arm{side(r, 1, 2, 4, "half")}, []float64{1}, false)
		for p := range 4 {
			for q := range p {
				if math.Abs(l.At(p, q)) > 1e-6 {
					t.Errorf("correlation %g", l.At(p, q))
				}
			}
		}
	}
}

// Welch's example of his t and degrees of freedom by hand: means 2 and 6, variances 1 and 4 of 3 and 5 units,
// so that the squared error is 1/3 + 4/5 and ν = (17/15)²/((1/3)²/2 + (4/5)²/4).
func TestMean(t *testing.T) {
	a := Arm{Weight: []float64{-1}, Curves: [][]float64{{1}, {2}, {3}}}
	b := Arm{Weight: []float64{1}, Curves: [][]float64{{6 - 2*math.Sqrt2}, {6}, {6}, {6}, {6 + 2*math.Sqrt2}}}
	e := Mean([]Arm{a, b}, 0.95)
	for _, v := range [][2]float64{
		{e.Difference, 4},
		{e.SE, math.Sqrt(17. / 15)},
		{e.DF, 17. * 17 / 225 / (1./18 + 0.16)},
		{e.Above(4), 0.5},
		{e.Above(e.High), 0.025},
		{e.Above(e.Low), 0.975},
	} {
		assert.InDelta(t, v[1], v[0], 1e-9, "got")
	}
}

// The power of simulated tests is that of the noncentral t, and the number of units is the first with it.
func TestPower(t *testing.T) {
	assert.InDelta(t, 0.05, Power(0, 7, 0.95), 1e-5, "power at the limit")

	r := rand.New(rand.NewPCG(3, 3))
	const repeats, shift = 8000, 1.1
	for _, c := range []struct {
		n     int
		pairs bool
	}{{4, true}, {8, true}, {8, false}, {16, false}} {
		found := 0.0
		for range repeats {
			arms := []Arm{side(r, 1, c.n, 1, "unrelated")}
			for _, u := range arms[0].Curves {
				u[0] += shift
			}

			if !c.pairs {
				arms = append(arms, side(r, -1, c.n, 1, "unrelated"))
			}

			if e := Mean(arms, 0.95); e.Low > 0 || e.High < 0 {
				found += 1. / repeats
			}
		}

		want := Power(shift*math.Sqrt(float64(c.n)), float64(c.n-1), 0.95)
		tolerance := 0.0
		if !c.pairs { // Welch's degrees of freedom are found, not known, and cost some power
			want = Power(shift*math.Sqrt(float64(c.n)/2), float64(2*c.n-2), 0.95)
			tolerance = 0.01
		}

		if se := math.Sqrt(want * (1 - want) / repeats); math.Abs(found-want) > 3*se+tolerance {
			t.Errorf("%v: power %.3f, closed form %.3f", c, found, want)
		}
	}

	// Two sides of variance 1 and a difference of 1.1.
	a := Arm{Weight: []float64{-1}, Curves: [][]float64{{-1}, {0}, {1}}}
	b := Arm{Weight: []float64{1}, Curves: [][]float64{{0.1}, {1.1}, {2.1}}}
	n := Units([]Arm{a, b}, 0, 0.95, 0.8)
	at := func(n int) float64 { return Power(1.1*math.Sqrt(float64(n)/2), float64(2*n-2), 0.95) }
	if !(at(n) >= 0.8 && at(n-1) < 0.8) || Units([]Arm{a, b}, 1.1, 0.95, 0.8) != 0 {
		t.Errorf("%d units: power %.3f, with one less %.3f", n, at(n), at(n-1))
	}
}

// Three motors turned both propellers: their differences decide.
func Example() {
	pairs := Arm{Weight: []float64{1}, Curves: [][]float64{{0.9}, {1.1}, {1.0}}}
	e := Mean([]Arm{pairs}, 0.95)
	fmt.Printf("%.2f, from %.2f to %.2f; above 0.5 with probability %.3f\n", e.Difference, e.Low, e.High, e.Above(0.5))
	// Output: 1.00, from 0.75 to 1.25; above 0.5 with probability 0.993
}

package contrast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// rotors writes a simulated campaign of five rotors at unequal conditions, with two outcomes: a smooth curve of each
// outcome, a difference between rotors of deviation apart, mountings of deviation 0.05. It returns the true outcomes of
// a rotor.
func rotors(r *rand.Rand, apart float64) (pairs string, truth func(outcome, rotor int, a, c float64) float64) {
	var shape [2][3]float64
	var own [2][6][2]float64
	for k := range shape {
		for i := range shape[k] {
			shape[k][i] = r.NormFloat64()
		}

		for i := range own[k] {
			own[k][i] = [2]float64{apart * r.NormFloat64(), apart / 3 * r.NormFloat64()}
		}
	}

	truth = func(k, rotor int, a, c float64) float64 {
		s, o := shape[k], own[k][rotor]
		return s[0]*math.Sin(a) + s[1]*math.Cos(a) + s[2]*c + o[0] + o[1]*(a-2)
	}

	var b strings.Builder
	b.WriteString("run,rotor,a,c,y_1,z_1,y_2,z_2\n")
	for rotor := 1; rotor <= 5; rotor++ {
		for mounting := range 2 {
			shift := [2]float64{0.05 * r.NormFloat64(), 0.05 * r.NormFloat64()}
			for k := range 10 {
				a, c := float64(k%5)+0.4*float64(rotor%2), float64(k/5)
				fmt.Fprintf(&b, "m%d%d-%d,%d,%g,%g", rotor, mounting, k, rotor, a, c)
				for range 2 {
					for o := range shift {
						fmt.Fprintf(&b, ",%g", truth(o, rotor, a, c)+shift[o]+0.02*r.NormFloat64())
					}
				}
				b.WriteString("\n")
			}
		}
	}

	return b.String(), truth
}

// Two rotors without equal conditions, compared by the calibrated model, of two mountings each: the interval and the
// band hold the true differences, and where there is none the interval finds one in 5 %. Simulated. Without the
// scatter of the mountings, which pairs of one run do not show, the interval held 58 %.
func TestModelRoute(t *testing.T) {
	repeats := 4
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		repeats = 100
	}

	var shares [2]float64
	for i, apart := range []float64{0, 0.3} {
		r := rand.New(rand.NewPCG(7, 35))
		held, banded, n := 0.0, 0.0, 0.0
		for range repeats {
			pairs, truth := rotors(r, apart)
			for _, o := range compareRotors(t, pairs).Outcomes {
				k, n0 := strings.Index("yz", o.Name), 0.0
				difference := func(a, c float64) float64 { return truth(k, 4, a, c) - truth(k, 1, a, c) }
				mean, inside := 0.0, 1.0
				for _, p := range o.Curves[0].Points { // over a; the mean over c is that of 0 and 1
					d := (difference(p.At, 0) + difference(p.At, 1)) / 2
					mean, n0 = mean+d, n0+1
					if d < p.Low || d > p.High {
						inside = 0
					}
				}

				if mean /= n0; *o.Low <= mean && mean <= *o.High {
					held++
				}

				banded, n = banded+inside, n+1
			}
		}

		t.Logf("rotors %g apart: interval %.3f, band %.3f of %g", apart, held/n, banded/n, n)

		shares[i] = 100 * held / n

		// Three standard errors below 95 %; the outcomes of a campaign are independent.
		if least := 0.95 - 3*math.Sqrt(0.95*0.05/n); held/n < least || banded/n < least {
			t.Errorf("rotors %g apart: interval %.3f, band %.3f, expected at least %.3f", apart, held/n, banded/n, least)
		}
	}

	page, err := os.ReadFile("../../docs/contrast.md")
	if err != nil {
		t.Fatal(err)
	}

	stated := fmt.Sprintf("the interval held %.1f %% of 200 differences of zero and %.1f %% of 200 others", shares[0],
		shares[1])
	if repeats == 100 && !strings.Contains(strings.Join(strings.Fields(string(page)), " "), stated) {
		t.Errorf("docs/contrast.md does not state: %s", stated)
	}
}

func compareRotors(t *testing.T, pairs string) *Result {
	t.Helper()

	dir := runRotors(t, pairs, "train")
	r := compare(t, Options{Dirs: []string{dir}, A: "rotor=1", B: "rotor=4", Unit: "/^m../"})
	if r.By != byModel || len(r.Outcomes) != 2 {
		t.Fatalf("compared %s, %d outcomes", r.By, len(r.Outcomes))
	}

	return r
}

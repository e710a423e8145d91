package dsp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"

	"gonum.org/v1/gonum/mat"
)

// LoadMatrix turns the voltages of a balance into loads: each load is a row of
// coefficients times the voltages and, beyond the linear ones, further terms.
type LoadMatrix struct {
	rows     [][]float64
	voltages int
	terms    []loadTerm
}

// loadTerm is a product of powers of voltages, or of their magnitudes.
type loadTerm []loadFactor

type loadFactor struct {
	voltage, power int
	abs            bool
}

// NewLoadMatrix takes a row of coefficients per load, in load units per volt:
// first one for each of the voltages, then one for each of terms. A term is a
// product of voltages by number from 1, with powers and magnitudes: "1*2",
// "3^2", "|1|", "|1|*2". A shape or a term that cannot be is a *fault.Error.
func NewLoadMatrix(rows [][]float64, voltages int, terms []string) (_ *LoadMatrix, err error) {
	defer fault.Catch(&err)

	parse := func(s string) loadTerm { return parseTerm(s, voltages) }
	m := &LoadMatrix{rows: rows, voltages: voltages, terms: lists.Each(terms, parse)}
	unless(len(rows) > 0, "balance matrix", "a row for each load", "none", "")

	for i, r := range rows {
		want := voltages + len(terms)
		unless(len(r) == want, fmt.Sprintf("balance matrix, row %d", i+1),
			fmt.Sprintf("%d coefficients (%d voltages, %d further terms)", want, voltages, len(terms)), strconv.Itoa(len(r)), "")
	}

	return m, nil
}

func parseTerm(s string, voltages int) loadTerm {
	bad := func(found string) error {
		return wrong("balance term "+strconv.Quote(s),
			fmt.Sprintf(`a product of voltages by number from 1 to %d, as "1*2", "3^2" or "|1|*2"`, voltages), found, "")
	}

	var t loadTerm
	for _, f := range strings.Split(strings.ReplaceAll(s, " ", ""), "*") {
		power := 1
		if base, p, ok := strings.Cut(f, "^"); ok {
			var err error
			power, err = strconv.Atoi(p)
			fault.Unless(err == nil && power >= 1 && power <= 9, bad("the power "+strconv.Quote(p)))

			f = base
		}

		abs := len(f) > 2 && f[0] == '|' && f[len(f)-1] == '|'
		if abs {
			f = f[1 : len(f)-1]
		}

		v, err := strconv.Atoi(f)
		fault.Unless(err == nil && v >= 1 && v <= voltages, bad("the factor "+strconv.Quote(f)))

		t = append(t, loadFactor{v - 1, power, abs})
	}

	return t
}

// Loads returns one series per load from one series per voltage.
func (m *LoadMatrix) Loads(voltages [][]float64) [][]float64 {
	if len(voltages) != m.voltages {
		panic(fmt.Sprintf("dsp: loads of %d voltages, the matrix has %d", len(voltages), m.voltages))
	}

	out := make([][]float64, len(m.rows))

	n := len(voltages[0])
	for i := range out {
		out[i] = make([]float64, n)
	}

	x := make([]float64, m.voltages+len(m.terms))
	for k := range n {
		for v := range voltages {
			x[v] = voltages[v][k]
		}

		for j, t := range m.terms {
			p := 1.0
			for _, f := range t {
				v := x[f.voltage]
				if f.abs {
					v = math.Abs(v)
				}

				for range f.power {
					p *= v
				}
			}

			x[m.voltages+j] = p
		}

		for i, row := range m.rows {
			sum := 0.0
			for j, c := range row {
				sum += float64(c * x[j])
			}

			out[i][k] = sum
		}
	}

	return out
}

// Polar is the reading of a balance without wind over the angle of its arm: its
// zero and the model's weight, to be subtracted from readings with wind.
type Polar struct {
	Lo, Hi float64   // angles measured, deg
	RMS    []float64 // per load: scatter of the measured about the polar

	coef  [][]float64 // harmonic: per load a, b, c of a + b·cos α + c·sin α
	angle []float64   // linear: the angles' bins
	mean  [][]float64 // linear: per load

	before, after *Polar // of a polar between two
	share         float64
}

// polarBinDeg is the width of the bins linear interpolation runs between.
const polarBinDeg = 1

// NewPolar makes a polar of loads measured at angles (one value per sample, deg).
// method is "mean" (one zero for all angles), "harmonic" (a + b·cos α + c·sin α
// by least squares: a zero and a weight, whose direction turns with the arm) or
// "linear" (between the means of bins 1° wide). Missing data are a *fault.Error.
func NewPolar(method string, angleDeg []float64, loads [][]float64) (*Polar, error) {
	n := 0
	if len(loads) > 0 {
		n = len(loads[0])
	}

	if n == 0 {
		return nil, &fault.Error{Place: "tare", Want: "samples without wind", Found: "none"}
	}

	p := &Polar{Lo: math.Inf(-1), Hi: math.Inf(1)}
	if method != "mean" {
		if len(angleDeg) != n {
			panic(fmt.Sprintf("dsp: polar of %d samples at %d angles", n, len(angleDeg)))
		}
		p.Lo, p.Hi = slices.Min(angleDeg), slices.Max(angleDeg)
	}

	switch method {
	case "mean":
		p.coef = lists.Each(loads, func(l []float64) []float64 { return []float64{mean(l), 0, 0} })

	case "harmonic":
		if p.Hi-p.Lo < 10 {
			return nil, wrong("tare", "angles over at least 10° to separate weight and zero",
				fmt.Sprintf("%.3g° … %.3g°", p.Lo, p.Hi), "use interpolation: mean for a wind-off zero at one angle")
		}

		a := mat.NewDense(n, 3, nil)
		for k, deg := range angleDeg {
			sin, cos := math.Sincos(deg * math.Pi / 180)
			a.SetRow(k, []float64{1, cos, sin})
		}

		var qr mat.QR
		qr.Factorize(a)

		for _, l := range loads {
			var c mat.VecDense
			if err := qr.SolveVecTo(&c, false, mat.NewVecDense(n, slices.Clone(l))); err != nil {
				return nil, &fault.Error{Place: "tare", Want: "angles that differ", Found: err.Error()}
			}

			p.coef = append(p.coef, []float64{c.AtVec(0), c.AtVec(1), c.AtVec(2)})
		}

	case "linear":
		order := lists.Numbers(n)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(angleDeg[a], angleDeg[b]) })
		p.mean = make([][]float64, len(loads))
		for from := 0; from < n; {
			to, bin := from, math.Floor(angleDeg[order[from]]/polarBinDeg)
			for to < n && math.Floor(angleDeg[order[to]]/polarBinDeg) == bin {
				to++
			}

			mean := func(of []float64) (m float64) {
				for _, k := range order[from:to] {
					m += of[k]
				}
				return m / float64(to-from)
			}

			p.angle = append(p.angle, mean(angleDeg))
			for i, l := range loads {
				p.mean[i] = append(p.mean[i], mean(l))
			}

			from = to
		}

		if len(p.angle) < 2 {
			return nil, wrong("tare", "at least two angles 1° apart", fmt.Sprintf("%.3g° … %.3g°", p.Lo, p.Hi), "")
		}

	default:
		return nil, &fault.Error{Place: "tare", Want: "interpolation mean, harmonic or linear", Found: strconv.Quote(method)}
	}

	for i, l := range loads {
		ss := 0.0
		for k, v := range l {
			a := 0.0
			if method != "mean" {
				a = angleDeg[k]
			}

			d := v - p.at(i, a)
			ss += d * d
		}

		p.RMS = append(p.RMS, math.Sqrt(ss/float64(n)))
	}

	return p, nil
}

func (p *Polar) at(load int, deg float64) float64 {
	if p.after != nil {
		return float64((1-p.share)*p.before.at(load, deg)) + float64(p.share*p.after.at(load, deg))
	}

	if p.coef != nil {
		c := p.coef[load]
		sin, cos := math.Sincos(deg * math.Pi / 180)
		return c[0] + float64(c[1]*cos) + float64(c[2]*sin)
	}

	i, _ := slices.BinarySearch(p.angle, deg)
	i = min(max(i, 1), len(p.angle)-1)
	a, b := p.angle[i-1], p.angle[i]
	f := (deg - a) / (b - a)
	f = min(1, max(0, f)) // the outer half bins

	return float64((1-f)*p.mean[load][i-1]) + float64(f*p.mean[load][i])
}

// Toward is the polar at a share of the way from p to a later one: where the zero drifts evenly.
func (p *Polar) Toward(later *Polar, share float64) *Polar {
	return &Polar{Lo: max(p.Lo, later.Lo), Hi: min(p.Hi, later.Hi), RMS: p.RMS, before: p, after: later, share: share}
}

// Moved is how far a later polar lies from p in each load, at the angle nearest to 0° that was measured.
func (p *Polar) Moved(later *Polar) []float64 {
	deg := max(p.Lo, min(p.Hi, 0))
	return lists.Make(len(p.RMS), func(i int) float64 { return later.at(i, deg) - p.at(i, deg) })
}

// Subtract takes the polar from loads, in place. angleDeg holds one angle per
// sample, or one for all. An angle more than marginDeg outside of those measured
// is a *fault.Error: a polar is not extrapolated.
func (p *Polar) Subtract(loads [][]float64, angleDeg []float64, marginDeg float64) error {
	for k, a := range angleDeg {
		if !(a >= p.Lo-marginDeg && a <= p.Hi+marginDeg) {
			return wrong(fmt.Sprintf("sample %d", k),
				fmt.Sprintf("an angle within those of the tare, %.4g° … %.4g° (± %g°)", p.Lo, p.Hi, marginDeg),
				fmt.Sprintf("%.4g°", a), "measure the polar over all angles, or state the angle's unit and sign")
		}
	}

	for i, l := range loads {
		for k := range l {
			a := angleDeg[0]
			if len(angleDeg) > 1 {
				a = angleDeg[k]
			}

			l[k] -= p.at(i, a)
		}
	}

	return nil
}

// Blockage is the factor (1 + ε)² by which a closed section's blockage, a
// relative increase ε of the speed at the model, raises the dynamic pressure.
func Blockage(epsilon float64) float64 { return (1 + epsilon) * (1 + epsilon) }

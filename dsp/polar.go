package dsp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Polar is the reading of a balance without wind over the angle of its arm: its zero and the model's
// weight. Subtract takes it from readings with wind.
type Polar struct {
	Lo, Hi float64   // the smallest and the largest measured angle, deg; method mean: ∓Inf
	RMS    []float64 // [load]: scatter of the measured values about the polar, in the load's unit

	// Exactly one of these three groups is set.

	// Methods mean and harmonic: [load] has a, b and c of a + b·cos α + c·sin α.
	coef [][]float64

	// Method linear: the mean angle of each bin in deg, ascending, and [load][bin] the mean load.
	angle []float64
	mean  [][]float64

	// A polar between two others: (1 − share)·earlier + share·later.
	earlier, later *Polar
	share          float64
}

// polarBinDeg is the width of the bins of method linear.
const polarBinDeg = 1

// minPolarDeg is the smallest range of angles for method harmonic: over a smaller range it cannot
// separate weight and zero.
const minPolarDeg = 10

// harmonicTerms is the number of coefficients of method harmonic, and so the fewest samples that determine them.
const harmonicTerms = 3

// NewPolar returns the polar of loads measured without wind. loads[i][k] is load i at the angle
// angleDeg[k], for each sample k. method is one of
//   - "mean": one zero for all angles; angleDeg is not used;
//   - "harmonic": a + b·cos α + c·sin α by least squares, a zero and a weight whose direction turns
//     with the arm;
//   - "linear": linear interpolation between the means of bins polarBinDeg wide.
//
// If there are too few samples or angles, or if an angle is not a finite number, NewPolar returns a *fault.Error. If
// the loads have different numbers of samples, or if the number of angles is another one, it returns another error.
func NewPolar(method string, angleDeg []float64, loads [][]float64) (*Polar, error) {
	if len(loads) == 0 || len(loads[0]) == 0 {
		return nil, &fault.Error{Place: "tare", Want: "samples without wind", Found: "none"}
	}

	for i, load := range loads {
		if len(load) != len(loads[0]) {
			return nil, fmt.Errorf("fit tare: expected %d samples of load %d, found %d", len(loads[0]), i, len(load))
		}
	}

	p := &Polar{Lo: math.Inf(-1), Hi: math.Inf(1)}
	if method == "mean" {
		for _, load := range loads {
			p.coef = append(p.coef, []float64{mean(load), 0, 0})
		}

		// The polar is the same at each angle.
		p.setRMS(make([]float64, len(loads[0])), loads)

		return p, nil
	}

	if err := checkAngles(angleDeg, len(loads[0])); err != nil {
		return nil, err
	}

	p.Lo = slices.Min(angleDeg)
	p.Hi = slices.Max(angleDeg)

	var err error
	switch method {
	case "harmonic":
		err = p.fitHarmonic(angleDeg, loads)
	case "linear":
		err = p.averageBins(angleDeg, loads)
	default:
		err = &fault.Error{Place: "tare", Want: "interpolation mean, harmonic or linear", Found: strconv.Quote(method)}
	}

	if err != nil {
		return nil, err
	}

	p.setRMS(angleDeg, loads)

	return p, nil
}

// checkAngles returns an error if there is not one finite angle for each sample.
func checkAngles(angleDeg []float64, samples int) error {
	if len(angleDeg) != samples {
		return fmt.Errorf("fit tare: expected an angle for each of %d samples, found %d", samples, len(angleDeg))
	}

	for k, angle := range angleDeg {
		if math.IsNaN(angle) || math.IsInf(angle, 0) {
			return wrong(fmt.Sprintf("tare: sample %d", k), "a finite angle", fmt.Sprint(angle), fromZero)
		}
	}

	return nil
}

// setRMS sets RMS to the scatter of the loads about the fitted polar.
func (p *Polar) setRMS(angleDeg []float64, loads [][]float64) {
	for i, load := range loads {
		squares := 0.0
		for k, value := range load {
			residual := value - p.load(i, angleDeg[k])
			squares += residual * residual
		}

		p.RMS = append(p.RMS, math.Sqrt(squares/float64(len(load))))
	}
}

// fitHarmonic fits a + b·cos α + c·sin α to each load by least squares. It returns a *fault.Error if the angles cannot
// tell the three coefficients apart.
func (p *Polar) fitHarmonic(angleDeg []float64, loads [][]float64) error {
	if p.Hi-p.Lo < minPolarDeg {
		return wrong("tare", fmt.Sprintf("angles over at least %d° to separate weight and zero", minPolarDeg),
			fmt.Sprintf("%.3g° … %.3g°", p.Lo, p.Hi), "use interpolation: mean for a wind-off zero at one angle")
	}

	n := len(angleDeg)
	if n < harmonicTerms {
		return wrong("tare", fmt.Sprintf("at least %d samples to separate weight and zero", harmonicTerms),
			strconv.Itoa(n), "use interpolation: mean for a wind-off zero at one angle")
	}

	a := mat.NewDense(n, harmonicTerms, nil)
	for k, deg := range angleDeg {
		sin, cos := math.Sincos(deg * math.Pi / 180)
		a.SetRow(k, []float64{1, cos, sin})
	}

	var qr mat.QR
	qr.Factorize(a)

	for _, l := range loads {
		var c mat.VecDense
		if err := qr.SolveVecTo(&c, false, mat.NewVecDense(n, slices.Clone(l))); err != nil {
			return &fault.Error{Place: "tare", Want: "angles that differ", Found: err.Error()}
		}

		p.coef = append(p.coef, []float64{c.AtVec(0), c.AtVec(1), c.AtVec(2)})
	}

	return nil
}

// averageBins averages angles and loads over the samples of each bin of angles.
func (p *Polar) averageBins(angleDeg []float64, loads [][]float64) error {
	n := len(angleDeg)
	order := lists.Numbers(n)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(angleDeg[a], angleDeg[b]) })
	bin := func(place int) float64 { return math.Floor(angleDeg[order[place]] / polarBinDeg) }

	p.mean = make([][]float64, len(loads))
	for first := 0; first < n; {
		end := first
		for end < n && bin(end) == bin(first) {
			end++
		}

		samples := order[first:end]
		p.angle = append(p.angle, meanOf(angleDeg, samples))
		for i, l := range loads {
			p.mean[i] = append(p.mean[i], meanOf(l, samples))
		}

		first = end
	}

	if len(p.angle) < 2 {
		return wrong("tare", "at least two angles 1° apart", fmt.Sprintf("%.3g° … %.3g°", p.Lo, p.Hi), "")
	}

	return nil
}

// meanOf returns the mean of the given samples of x.
func meanOf(x []float64, samples []int) float64 {
	sum := 0.0
	for _, k := range samples {
		sum += x[k]
	}

	return sum / float64(len(samples))
}

// load returns the reading of load number load at an angle in deg.
func (p *Polar) load(load int, deg float64) float64 {
	if p.later != nil {
		return float64((1-p.share)*p.earlier.load(load, deg)) + float64(p.share*p.later.load(load, deg))
	}

	if p.coef != nil {
		c := p.coef[load]
		sin, cos := math.Sincos(deg * math.Pi / 180)
		return c[0] + float64(c[1]*cos) + float64(c[2]*sin)
	}

	i, _ := slices.BinarySearch(p.angle, deg)
	i = min(max(i, 1), len(p.angle)-1)
	lower := p.angle[i-1]
	upper := p.angle[i]
	f := (deg - lower) / (upper - lower)
	f = min(1, max(0, f)) // beyond the means of the first and the last bin it is constant

	return float64((1-f)*p.mean[load][i-1]) + float64(f*p.mean[load][i])
}

// Toward returns the polar between p (share 0) and a later polar (share 1), as if the zero had drifted
// evenly from one to the other.
func (p *Polar) Toward(later *Polar, share float64) *Polar {
	return &Polar{Lo: max(p.Lo, later.Lo), Hi: min(p.Hi, later.Hi), RMS: p.RMS, earlier: p, later: later, share: share}
}

// Moved returns later minus p for each load, at the measured angle nearest to 0°.
func (p *Polar) Moved(later *Polar) []float64 {
	deg := max(p.Lo, min(p.Hi, 0))
	moves := make([]float64, len(p.RMS))
	for i := range moves {
		moves[i] = later.load(i, deg) - p.load(i, deg)
	}

	return moves
}

// Subtract subtracts the polar from loads, in place. angleDeg has one angle per sample, or one for all
// samples. A polar is not extrapolated: an angle more than marginDeg beyond the measured angles is a
// *fault.Error, and loads stay unchanged.
func (p *Polar) Subtract(loads [][]float64, angleDeg []float64, marginDeg float64) error {
	for k, a := range angleDeg {
		if !(a >= p.Lo-marginDeg && a <= p.Hi+marginDeg) {
			return wrong(fmt.Sprintf("sample %d", k),
				fmt.Sprintf("an angle of the tare, from %.4g° to %.4g° (± %g°)", p.Lo, p.Hi, marginDeg),
				fmt.Sprintf("%.4g°", a), "measure the polar over all angles, or state the angle's unit and sign")
		}
	}

	for i, l := range loads {
		for k := range l {
			angle := angleDeg[0]
			if len(angleDeg) > 1 {
				angle = angleDeg[k]
			}

			l[k] -= p.load(i, angle)
		}
	}

	return nil
}

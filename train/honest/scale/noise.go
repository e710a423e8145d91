package scale

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Noise is the law of the factor κ between the noise of a new group and the σ² that the
// model states: κ = Scale·Freedom/χ², χ² with so many degrees of freedom.
type Noise struct {
	Scale   float64 `json:"scale"`
	Freedom float64 `json:"freedom,omitempty"` // 0: none; κ is Scale
}

// Exact is the noise that the model states.
var Exact = Noise{Scale: 1}

// PairNoise learns the factor from the pairs of groups: ratio is the mean of ½(y1−y2)²/σ²
// in each of them, values the number of pairs times outcomes that it is the mean of.
// Every group counts alike. The degrees of freedom are those with which a χ² law scatters
// as the ratios do beyond what so few pairs explain; at most the number of all values.
func PairNoise(ratio []float64, values []int) Noise {
	n := Noise{}

	logs, own := make([]float64, len(ratio)), 0.0
	for h, r := range ratio {
		n.Scale += r / float64(len(ratio))
		n.Freedom += float64(values[h])
		logs[h] = math.Log(max(r, 1e-12))
		own += trigamma(float64(values[h])/2) / float64(len(ratio))
	}

	if !(n.Scale > 0) {
		return Exact
	}

	if len(ratio) >= 3 {
		if between := stat.Variance(logs, nil) - own; between > 0 {
			n.Freedom = min(n.Freedom, max(2*inverseTrigamma(between), 3))
		}
	}

	return n
}

// trigamma is the variance of ln χ² with 2x degrees of freedom.
func trigamma(x float64) (v float64) {
	for ; x < 8; x++ {
		v += 1 / (x * x)
	}

	y := 1 / (x * x)

	return v + 1/x + y/2 + y/x*(1.0/6-y*(1.0/30-y/42))
}

// inverseTrigamma returns the x whose trigamma is v, by Newton steps on 1/trigamma, which
// is nearly linear.
func inverseTrigamma(v float64) float64 {
	x := 0.5 + 1/v
	for range 50 {
		t, h := trigamma(x), 1e-5*x
		slope := (trigamma(x+h) - trigamma(x-h)) / (2 * h)
		step := t * (1 - t/v) / slope
		x = max(x+step, x/10)
		if math.Abs(step) < 1e-12*x {
			break
		}
	}

	return x
}

// atoms returns values of κ with their probabilities: Gauss's quadrature of the χ² law
// (Golub & Welsch 1969), with more values where the law has heavy tails.
func (n Noise) atoms() (kappa, weight []float64) {
	if n.Freedom == 0 || math.IsInf(n.Freedom, 0) {
		return []float64{n.Scale}, []float64{1}
	}

	nodes := 7
	if n.Freedom < 10 {
		nodes = 20
	}

	alpha := n.Freedom/2 - 1 // of the Laguerre polynomials; χ² is twice their argument

	jacobi := mat.NewSymDense(nodes, nil)
	for k := range nodes {
		jacobi.SetSym(k, k, float64(2*k+1)+alpha)
		if k > 0 {
			jacobi.SetSym(k-1, k, math.Sqrt(float64(k)*(float64(k)+alpha)))
		}
	}

	var e mat.EigenSym
	if !e.Factorize(jacobi, true) {
		panic("scale: the eigenvalues of a Jacobi matrix do not converge")
	}

	var vectors mat.Dense
	e.VectorsTo(&vectors)

	for k, x := range e.Values(nil) {
		kappa, weight = append(kappa, n.Scale*n.Freedom/(2*x)), append(weight, vectors.At(0, k)*vectors.At(0, k))
	}

	return kappa, weight
}

package scale

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Noise is the law of κ, the noise of a new group over the σ² that the model states: κ = Scale·Freedom/χ², where
// χ² has Freedom degrees of freedom.
type Noise struct {
	Scale   float64 `json:"scale"`
	Freedom float64 `json:"freedom,omitempty"` // 0: κ is always Scale
}

// Exact is the noise that the model states: κ is 1.
var Exact = Noise{Scale: 1}

// Limits of PairNoise.
const (
	leastRatio      = 1e-12 // smaller ratios are raised to it before their logarithm is taken
	leastFreedom    = 3     // smallest degrees of freedom that are learned from the scatter of groups
	groupsOfScatter = 3     // smallest number of groups whose scatter is learned
)

// PairNoise learns the law of κ from the pairs of groups. ratio is the mean of ½(y1−y2)²/σ² in each group,
// values the number of values in this mean, pairs times outcomes. The scale is the mean over groups, which have equal
// weights. The degrees of freedom are chosen so that ln κ scatters as the logarithms of the ratios do, beyond the
// scatter that the number of their pairs explains. With fewer than groupsOfScatter groups, or without such scatter,
// they are the number of all values. Without groups, or if all pairs are equal, PairNoise returns Exact.
func PairNoise(ratio []float64, values []int) Noise {
	var n Noise
	logs := make([]float64, len(ratio))
	explained := 0.0 // mean variance of a logarithm that the number of its pairs explains
	for h, r := range ratio {
		n.Scale += r / float64(len(ratio))
		n.Freedom += float64(values[h])
		logs[h] = math.Log(max(r, leastRatio))
		explained += trigamma(float64(values[h])/2) / float64(len(ratio))
	}

	if !(n.Scale > 0) {
		return Exact
	}

	if len(ratio) < groupsOfScatter {
		return n
	}

	if between := stat.Variance(logs, nil) - explained; between > 0 {
		n.Freedom = min(n.Freedom, max(2*inverseTrigamma(between), leastFreedom))
	}

	return n
}

// trigamma returns the trigamma function of x, which is the variance of ln χ² with 2x degrees of freedom (Abramowitz
// & Stegun 1964, 6.4.6 up to x = 8, then 6.4.12).
func trigamma(x float64) float64 {
	v := 0.0
	for ; x < 8; x++ {
		v += 1 / (x * x)
	}

	y := 1 / (x * x)

	return v + 1/x + y/2 + float64(y/x*(1.0/6-float64(y*(1.0/30-y/42))))
}

// Accuracy of inverseTrigamma.
const (
	inverseSteps     = 50    // largest number of steps
	inverseTolerance = 1e-12 // relative size of the last step
	slopeStep        = 1e-5  // relative step of the differences that estimate the slope
)

// inverseTrigamma returns the x at which trigamma is v, by Newton's steps on 1/trigamma, which is nearly linear.
func inverseTrigamma(v float64) float64 {
	x := 0.5 + 1/v
	for range inverseSteps {
		t := trigamma(x)
		h := float64(slopeStep * x)
		slope := (trigamma(x+h) - trigamma(x-h)) / (2 * h)
		step := t * (1 - t/v) / slope
		x = max(x+step, x/10)
		if math.Abs(step) < inverseTolerance*x {
			break
		}
	}

	return x
}

// Numbers of values that atoms returns. Laws with few degrees of freedom have heavy tails, which need more.
const (
	atomsOfLight = 7
	atomsOfHeavy = 20
	heavyFreedom = 10 // with fewer degrees of freedom, tails are heavy
)

// atoms returns values of κ with their probabilities, by Gauss's quadrature of the χ² law: the values are the
// eigenvalues of the Jacobi matrix of the Laguerre polynomials, the probabilities the squares of the first elements of
// its eigenvectors (Golub & Welsch 1969).
func (n Noise) atoms() (kappa, weight []float64) {
	if n.Freedom == 0 || math.IsInf(n.Freedom, 0) {
		return []float64{n.Scale}, []float64{1}
	}

	nodes := atomsOfLight
	if n.Freedom < heavyFreedom {
		nodes = atomsOfHeavy
	}

	alpha := n.Freedom/2 - 1 // order of the polynomials; χ² is twice their argument

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
		kappa = append(kappa, n.Scale*n.Freedom/(2*x))
		weight = append(weight, vectors.At(0, k)*vectors.At(0, k))
	}

	return kappa, weight
}

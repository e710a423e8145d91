package scale

import (
	"math"
	"slices"
	"sync"
)

// This file holds the grids of λ, m, τ, ω and γ, over which integrals become sums, and functions and laws on the grid
// of λ. Lists over m and τ are row-major: m by τ.

// The grids. On 144 held-out groups at most 0.1 % of the probability of a posterior lay at the edges of a grid.
var (
	gridLambda = logarithmic(0.01, 300, 90)
	gridM      = linear(-3, 4, 57)
	gridTau    = []float64{0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5, 1.8, 2.2, 2.7}
	gridOmega  = []float64{0, 0.5, 1, 1.5}
	gridGamma  = linear(0, 1.2, 13)

	widthTau   = gradient(gridTau)                       // width in ln τ that each τ stands for
	stepLambda = math.Log(gridLambda[1] / gridLambda[0]) // in ln λ
)

// laws returns p(λ | m, τ) on the grid of λ for each m and τ, m by τ. Each sums to 1.
var laws = sync.OnceValue(newLaws)

func newLaws() [][]float64 {
	var list [][]float64
	for _, m := range gridM {
		for _, tau := range gridTau {
			law := make([]float64, len(gridLambda))
			for l, lambda := range gridLambda {
				d := (math.Log(lambda) - m) / tau
				law[l] = math.Exp(-d * d / 2)
			}

			normalise(law)
			list = append(list, law)
		}
	}

	return list
}

// normalise divides weights by their sum, in place.
func normalise(weights []float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}

	for i := range weights {
		weights[i] /= sum
	}
}

// inferred is a posterior for one shape and one setting of γ and ω.
type inferred struct {
	law      []float64 // probability of each λ of the grid for a new group
	evidence float64   // ln of the evidence, the probability density of the groups' residuals
	m, lnTau float64   // posterior means
}

// marginal returns ln of a group's likelihood at each m and τ of the grid, from ln of its likelihood at each λ.
func marginal(likelihood []float64) []float64 {
	top := slices.Max(likelihood)
	relative := make([]float64, len(likelihood))
	for l, v := range likelihood {
		relative[l] = math.Exp(v - top)
	}

	known := laws()
	list := make([]float64, len(known))
	for i, law := range known {
		list[i] = top + math.Log(dot(law, relative)+smallest)
	}

	return list
}

// smallest is added to sums before their logarithm is taken, so that it is finite.
const smallest = 1e-300

// posteriorOf returns the posterior given the marginal likelihoods of some groups. prior has the probability of each m
// and τ.
func posteriorOf(prior []float64, groups [][]float64) inferred {
	logs := make([]float64, len(prior))
	for i, w := range prior {
		logs[i] = math.Log(w)
		for _, g := range groups {
			logs[i] += g[i]
		}
	}

	known := laws()
	top := slices.Max(logs)
	sum := 0.0
	r := inferred{law: make([]float64, len(gridLambda))}
	for i, v := range logs {
		w := math.Exp(v - top)
		sum += w
		r.m += w * gridM[i/len(gridTau)]
		r.lnTau += w * math.Log(gridTau[i%len(gridTau)])

		for l, p := range known[i] {
			r.law[l] += w * p
		}
	}

	for l := range r.law {
		r.law[l] /= sum
	}

	r.m /= sum
	r.lnTau /= sum
	r.evidence = top + math.Log(sum)

	return r
}

// dot returns the scalar product of a and the first len(a) numbers of b. It adds four sums in parallel, which is faster
// because the additions of one sum do not wait for another sum.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64

	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a = a[4:]
		b = b[4:]
	}

	for i, v := range a {
		s0 += v * b[i]
	}

	return s0 + s1 + (s2 + s3)
}

// kernels are the normal laws of ω·u on the grid of ln λ by ω, except for ω = 0.
var kernels = newKernels()

// kernelDeviations is the number of deviations at which the laws are cut.
const kernelDeviations = 3

func newKernels() map[float64][]float64 {
	kernels := map[float64][]float64{}
	for _, omega := range gridOmega[1:] {
		n := int(math.Ceil(kernelDeviations * omega / stepLambda))
		weights := make([]float64, 2*n+1)
		for i := range weights {
			d := float64(i-n) * stepLambda / omega
			weights[i] = math.Exp(-d * d / 2)
		}

		normalise(weights)
		kernels[omega] = weights
	}

	return kernels
}

// beyond says which value a function has beyond the grid.
type beyond int

const (
	zeroBeyond beyond = iota // 0, as a law
	edgeBeyond               // the value at the edge, as a likelihood
)

// convolve returns v, a function on the grid of ln λ, convolved with N(0, ω²). If ω is 0, convolve returns v itself. ω
// must be a value of gridOmega.
func convolve(v []float64, omega float64, outside beyond) []float64 {
	k := kernels[omega]
	if k == nil { // there is none for ω = 0
		return v
	}

	first := 0.0
	last := 0.0
	if outside == edgeBeyond {
		first = v[0]
		last = v[len(v)-1]
	}

	n := len(k) / 2
	padded := make([]float64, 0, n+len(v)+n)
	for range n {
		padded = append(padded, first)
	}

	padded = append(padded, v...)
	for range n {
		padded = append(padded, last)
	}

	convolved := make([]float64, len(v))
	for i := range convolved {
		convolved[i] = dot(k, padded[i:])
	}

	return convolved
}

// linear returns n evenly spaced numbers from first to last.
func linear(first, last float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = first + (last-first)*float64(i)/float64(n-1)
	}

	return list
}

// logarithmic returns n numbers from first to last whose logarithms are evenly spaced.
func logarithmic(first, last float64, n int) []float64 {
	list := linear(math.Log(first), math.Log(last), n)
	for i, v := range list {
		list[i] = math.Exp(v)
	}

	return list
}

// gradient returns the width in ln τ that each value stands for: half of the distance between its neighbours, and at
// the ends the distance to the neighbour.
func gradient(tau []float64) []float64 {
	widths := make([]float64, len(tau))
	for i := range tau {
		previous := max(i-1, 0)
		next := min(i+1, len(tau)-1)
		widths[i] = (math.Log(tau[next]) - math.Log(tau[previous])) / float64(next-previous)
	}

	return widths
}

// zeros returns a matrix of zeros, as a list of rows with the given number of columns.
func zeros(rows, columns int) [][]float64 {
	list := make([][]float64, rows)
	for i := range list {
		list[i] = make([]float64, columns)
	}

	return list
}

// lnGamma returns ln of the prior weight of a γ among gammas. The mean of the weights of all gammas is 1.
func lnGamma(gamma float64, gammas []float64) float64 {
	sum := 0.0
	for _, v := range gammas {
		sum += gammaDensity(v)
	}

	return math.Log(gammaDensity(gamma) / sum * float64(len(gammas)))
}

// The normal prior of γ.
const (
	gammaMean = 0.5
	gammaStd  = 0.35
)

// gammaDensity returns the prior density of γ, up to a factor.
func gammaDensity(gamma float64) float64 {
	return math.Exp(-(gamma - gammaMean) * (gamma - gammaMean) / (2 * gammaStd * gammaStd))
}

// cell returns the cell of the grid of λ, from point k to point k + 1, that contains ln λ + shift for the λ of point
// i, and how far into the cell it lies, as a share of the cell. Positions beyond the grid are moved to its edge.
func cell(i int, shift float64) (k int, share float64) {
	position := float64(i) + shift/stepLambda
	position = min(max(position, 0), float64(len(gridLambda)-1))
	k = min(int(position), len(gridLambda)-2)

	return k, position - float64(k)
}

// moved returns the function v on the grid of λ read at ln λ + shift, with linear interpolation. Beyond the grid it
// takes the value at the edge.
func moved(v []float64, shift float64) []float64 {
	if shift == 0 {
		return v
	}

	values := make([]float64, len(v))
	for i := range values {
		k, share := cell(i, shift)
		values[i] = v[k] + share*(v[k+1]-v[k])
	}

	return values
}

// shifted returns the law of λ·exp(shift) on the grid, if v is the law of λ. Mass that would leave the grid stays at
// its edge.
func shifted(v []float64, shift float64) []float64 {
	if shift == 0 {
		return v
	}

	law := make([]float64, len(v))
	for i, mass := range v {
		k, share := cell(i, shift)
		law[k] += mass * (1 - share)
		law[k+1] += mass * share
	}

	return law
}

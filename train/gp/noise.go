package gp

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Noise is ln σ²(x), quadratic in the standardised inputs, kept within the range
// it has in the training data. Coefficients: 1, x_i, x_i·x_j for i ≤ j.
type Noise struct {
	Coefficients []float64 `json:"coefficients"`
	Min          float64   `json:"min"`
	Max          float64   `json:"max"`
}

// Settings of the regression.
const (
	noiseSteps = 60    // half steps of the iteration
	noiseRidge = 5e-5  // times the number of rows, on all coefficients but the first
	noiseFloor = 1e-12 // added to ½(y1−y2)²
)

// Limits of ln σ².
const (
	NoiseLowest  = -30.0
	NoiseHighest = 10.0
)

// PairNoise returns the variance of one measurement as a function of the standardised
// inputs, from the pairs' u = ½(y1−y2)² at the conditions x, rows of in.
func PairNoise(x []float64, in int, u []float64) func(x []float64) float64 {
	return fitNoise(x, in, u).at
}

func quadratic(x []float64) []float64 {
	f := append([]float64{1}, x...)
	for i, a := range x {
		for _, b := range x[i:] {
			f = append(f, a*b)
		}
	}

	return f
}

// fitNoise regresses u = ½(y1−y2)², whose expectation is σ², on x (rows of in):
// iteratively reweighted least squares for Gamma(½) deviations and a logarithmic
// link, with half steps and a small ridge.
func fitNoise(x []float64, in int, u []float64) Noise {
	n := len(u)
	p := len(quadratic(make([]float64, in)))
	f := mat.NewDense(n, p, nil)

	mean := noiseFloor
	for i, v := range u {
		f.SetRow(i, quadratic(x[i*in:(i+1)*in]))
		mean += v / float64(n)
	}

	var gram mat.SymDense
	gram.SymOuterK(1, f.T())

	for i := 1; i < p; i++ {
		gram.SetSym(i, i, gram.At(i, i)+noiseRidge*float64(n))
	}

	c := Noise{Coefficients: make([]float64, p)}
	c.Coefficients[0] = math.Log(mean)
	b := mat.NewVecDense(p, c.Coefficients)
	var chol mat.Cholesky
	var eta, right, step mat.VecDense

	z := mat.NewVecDense(n, nil)
	if chol.Factorize(&gram) {
		for range noiseSteps {
			eta.MulVec(f, b)

			for i, v := range u {
				m := level(eta.AtVec(i))
				z.SetVec(i, min(max((v+noiseFloor-m)/m, -1), 5))
			}

			right.MulVec(f.T(), z)

			if chol.SolveVecTo(&step, &right) != nil {
				break
			}

			b.AddScaledVec(b, 0.5, &step)
		}
	}

	eta.MulVec(f, b)

	c.Min, c.Max = math.Inf(1), math.Inf(-1)
	for i := range u {
		m := level(eta.AtVec(i))
		c.Min, c.Max = min(c.Min, m), max(c.Max, m)
	}

	return c
}

func level(eta float64) float64 { return math.Exp(min(max(eta, NoiseLowest), NoiseHighest)) }

// at returns σ² at one standardised condition.
func (c Noise) at(x []float64) float64 {
	eta := 0.0
	for i, f := range quadratic(x) {
		eta += f * c.Coefficients[i]
	}

	return min(max(level(eta), c.Min), c.Max)
}

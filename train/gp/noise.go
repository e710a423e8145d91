package gp

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Noise is the variance σ²(x) of one measurement: ln σ² is quadratic in the standardised inputs, and σ² is kept
// within the range that it has in the training data.
type Noise struct {
	Coefficients []float64 `json:"coefficients"` // of 1, x_i, and x_i·x_j for i ≤ j
	Min          float64   `json:"min"`          // smallest σ² in the training data
	Max          float64   `json:"max"`          // largest σ² in the training data
}

// Settings of the regression.
const (
	noiseSteps = 60    // iterations
	noiseStep  = 0.5   // share of each step that is taken: full steps can oscillate
	noiseDamp  = 5e-5  // damping of the steps of all coefficients but the first, times the number of rows
	noiseFloor = 1e-12 // is added to ½(y1−y2)², which may be 0

	// The largest relative deviation (u − σ²)/σ², so that no single pair dominates. For normal noise 1.6 % of the pairs
	// exceed it, and the learned σ² is 2.8 % too small: E[min(z²/s, 6)] = 1 for s = 0.972, for a standard normal z.
	highestDeviation = 5
)

// Limits of ln σ².
const (
	NoiseLowest  = -30.0
	NoiseHighest = 10.0
)

// PairNoise learns the variance of one measurement from pairs with u = ½(y1−y2)² at the standardised conditions x,
// rows of the given number of inputs. It returns this variance as a function of a standardised condition.
func PairNoise(x []float64, inputs int, u []float64) func(x []float64) float64 {
	return fitNoise(x, inputs, u).variance
}

// quadratic returns the terms of a quadratic function: 1, x_i, and x_i·x_j for i ≤ j.
func quadratic(x []float64) []float64 {
	terms := append([]float64{1}, x...)
	for i, a := range x {
		for _, b := range x[i:] {
			terms = append(terms, a*b)
		}
	}

	return terms
}

// fitNoise regresses u = ½(y1−y2)², whose expectation is σ², on the conditions x, rows of the given number of
// inputs. u has a Gamma(½) law about σ², so a Gamma regression with a logarithmic link applies (McCullagh & Nelder
// 1989, chapter 8): iteratively reweighted least squares, whose weights are all equal. The steps are damped, and the
// deviations are limited (highestDeviation). u has at least one value.
func fitNoise(x []float64, inputs int, u []float64) Noise {
	rows := len(u)
	size := len(quadratic(make([]float64, inputs)))
	terms := mat.NewDense(rows, size, nil)

	mean := noiseFloor
	for i, v := range u {
		terms.SetRow(i, quadratic(x[i*inputs:(i+1)*inputs]))
		mean += v / float64(rows)
	}

	var gram mat.SymDense
	gram.SymOuterK(1, terms.T())

	for k := 1; k < size; k++ {
		gram.SetSym(k, k, gram.At(k, k)+noiseDamp*float64(rows))
	}

	noise := Noise{Coefficients: make([]float64, size)}
	noise.Coefficients[0] = math.Log(mean)
	iterate(mat.NewVecDense(size, noise.Coefficients), &gram, terms, u)

	var logs mat.VecDense
	logs.MulVec(terms, mat.NewVecDense(size, noise.Coefficients))

	noise.Min = math.Inf(1)
	noise.Max = math.Inf(-1)
	for i := range u {
		v := limited(logs.AtVec(i))
		noise.Min = min(noise.Min, v)
		noise.Max = max(noise.Max, v)
	}

	return noise
}

// iterate improves the coefficients in place. gram is TᵀT of the terms T (rows × coefficients) with the damping.
// If the matrix is singular, the coefficients stay as they are.
func iterate(coefficients *mat.VecDense, gram *mat.SymDense, terms *mat.Dense, u []float64) {
	var chol mat.Cholesky
	if !chol.Factorize(gram) {
		return
	}

	deviations := mat.NewVecDense(len(u), nil)
	var logs, right, step mat.VecDense
	for range noiseSteps {
		logs.MulVec(terms, coefficients)

		for i, v := range u {
			variance := limited(logs.AtVec(i))
			deviation := (v + noiseFloor - variance) / variance
			deviations.SetVec(i, min(deviation, highestDeviation))
		}

		right.MulVec(terms.T(), deviations)

		if chol.SolveVecTo(&step, &right) != nil {
			return
		}

		coefficients.AddScaledVec(coefficients, noiseStep, &step)
	}
}

// limited returns σ² of its logarithm, which is kept within its limits.
func limited(log float64) float64 { return math.Exp(min(max(log, NoiseLowest), NoiseHighest)) }

// variance returns σ² at one standardised condition.
func (c Noise) variance(x []float64) float64 {
	log := 0.0
	for i, term := range quadratic(x) {
		log += term * c.Coefficients[i]
	}

	return min(max(limited(log), c.Min), c.Max)
}

package triplets

import "doubletake/internal/lists"

// Prediction contains the predictions of a model at some conditions before they are calibrated. Its lists are
// row-major, conditions × outcomes, in the outcomes' own units.
type Prediction struct {
	Mu    []float64 // mean
	Claim []float64 // v̂: epistemic variance of the mean that the model predicts, unit²
	Noise []float64 // σ²: variance of the noise of one measurement that the model predicts, unit²
}

// NewPrediction returns a prediction of n numbers, all of them zero.
func NewPrediction(n int) Prediction {
	return Prediction{Mu: make([]float64, n), Claim: make([]float64, n), Noise: make([]float64, n)}
}

// Rows returns the prediction at some of the conditions.
func (p Prediction) Rows(outcomes int, rows []int) Prediction {
	return Prediction{
		Mu:    lists.Rows(p.Mu, outcomes, rows),
		Claim: lists.Rows(p.Claim, outcomes, rows),
		Noise: lists.Rows(p.Noise, outcomes, rows),
	}
}

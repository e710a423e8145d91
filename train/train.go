// Package train holds the model that takes a second look at its own answer:
// a small network that predicts mean and variance of the outcomes at a
// condition, is fed an outcome, and predicts again (METHOD §2), its training,
// and the uncertainty estimates that follow from the two answers (METHOD §3).
//
// Data are plain row-major slices; the package knows nothing of files, tables
// or configuration. Arithmetic of the network is float32 (its golden vectors
// agree with torch to 1e-5), sums and estimators are float64. Methods to compare
// with stand in baseline, the numbers that judge a model in score.
package train

// Triplets are N conditions x with two independent outcomes each.
type Triplets struct {
	N, In, Out int       // rows, inputs, outcomes
	X          []float64 // N × In
	Y1, Y2     []float64 // N × Out
}

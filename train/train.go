// Package train holds the model that takes a second look at its own answer:
// a small network that predicts mean and variance of the outcomes at a
// condition, is given an outcome, and predicts again, its training, and the
// uncertainty estimates that follow from the two answers
// (docs/method.md#model-and-training, docs/method.md#what-is-reported).
//
// Data are a triplets.Set; the package knows nothing of files, tables or
// configuration. Arithmetic of the network is float32 (its golden vectors
// agree with torch to 1e-5), sums and estimators are float64. Methods to compare
// with are in baseline, the numbers that judge a model in score.
package train

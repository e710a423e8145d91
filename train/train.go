// Package train contains the model that takes a second look at its own answer. It is
// a small network that predicts mean and variance of the outcomes at a condition (the
// first answer). If it is given an outcome, it predicts again (the second answer). The
// package trains the network, and estimates uncertainty from the two answers
// (docs/method.md#model-and-training, docs/method.md#what-is-reported).
//
// Fit trains a Model on a triplets.Set (fit.go, trainer.go). Model.Predict returns its
// answers (model.go, evaluator.go). Model.Estimate compares them: with one outcome exactly
// (piecewise.go), with more by points in the space of outcomes (points.go, cubature.go,
// second.go).
//
// The package does not depend on files, tables or configuration. The network computes in
// float32 (its golden vectors agree with torch to 1e-5), sums and estimators in float64.
// Package baseline has methods to compare with, package score the numbers that judge a
// model.
package train

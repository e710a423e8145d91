// Package baseline holds methods that predict a mean, its total uncertainty and
// the epistemic part of it, behind one interface, so that they can be compared
// on the same data by the same scores (METHOD §5): the model of pairs itself
// and the methods it is measured against. A new method is one file: a type with
// Fit, and its line in New. The scores themselves are package score's.
//
// All methods see the same triplets and, as far as they are networks, the same
// layers, optimiser and number of steps.
package baseline

import (
	"context"
	"fmt"
	"strings"

	"doubletake/train"
)

// Method learns from triplets. The result of Fit depends on the data, the
// method's settings and the seed only; several may run at once.
type Method interface {
	Fit(ctx context.Context, data train.Triplets, seed uint64) (Predictor, error)
}

// Predictor is a fitted method. Predict is safe for concurrent use only where
// the method says so. x is row-major n×In in the data's own units.
type Predictor interface {
	Predict(ctx context.Context, x []float64) (*Prediction, error)
}

// Prediction is what a method says at N conditions, N×Out each, row-major, in
// the outcomes' own units (variances in unit²).
type Prediction struct {
	N, Out    int
	Mu        []float64 // mean
	Total     []float64 // variance of one measurement about Mu, everything included
	Epistemic []float64 // v̂: the part of it that is ignorance of the true mean; C may be negative
}

func newPrediction(n, out int) *Prediction {
	return &Prediction{N: n, Out: out, Mu: make([]float64, n*out), Total: make([]float64, n*out), Epistemic: make([]float64, n*out)}
}

// Settings are what New needs for any method. The zero values of Members and
// Samples stand for the defaults.
type Settings struct {
	Config   train.Config          // network and training; its Seed is replaced by Fit's
	Estimate train.EstimateOptions // pair: how C is computed
	Members  int                   // ensemble: networks, default 5
	Samples  int                   // mc-dropout: passes, default 200
}

// names are the methods New knows, in the order of tables.
var names = []string{"pair", "ensemble", "mc-dropout", "zigzag", "gp"}

// New returns the method of that name.
func New(name string, s Settings) (Method, error) {
	switch name {
	case "pair":
		return Pair{s.Config, s.Estimate}, nil
	case "ensemble":
		return Ensemble{s.Config, s.Members}, nil
	case "mc-dropout":
		return MCDropout{s.Config, s.Samples}, nil
	case "zigzag":
		return ZigZag{s.Config}, nil
	case "gp":
		return GP{Nugget: true, Standardise: s.Config.Standardise}, nil
	}
	return nil, fmt.Errorf("choose method: expected one of %s, found %q", strings.Join(names, ", "), name)
}

// derive gives the k-th member of a method its seed (splitmix64's finaliser).
func derive(seed uint64, k int) uint64 {
	z := seed + 0x9E3779B97F4A7C15*uint64(k+1)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

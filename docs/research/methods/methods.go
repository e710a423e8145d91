// Package methods holds methods to compare with that take long or claim little more than
// the program's own: sampled weights (HMC), sampled networks (Monte-Carlo dropout), normal posteriors of all weights
// (Laplace), and intervals from errors on left-out groups (conformal).
// A program of one's own registers them: app.Extensions{Methods: methods.All}.
package methods

import (
	"gonum.org/v1/gonum/blas/blas64"

	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// All are the methods.
var All = []baseline.Info{
	{
		Name: "mc-dropout", Claim: "the variance of the sampled means", Slow: true,
		New: func(s baseline.Settings) baseline.Method { return MCDropout{s.Config, s.Samples} },
	},
	{
		Name: "laplace-kronecker", Claim: "the variance of the mean by a posterior of Kronecker blocks",
		New: func(s baseline.Settings) baseline.Method { return Laplace{s.Config, Kronecker} },
	},
	{
		Name: "laplace-full", Claim: "the variance of the mean by the posterior of all weights", Slow: true,
		New: func(s baseline.Settings) baseline.Method { return Laplace{s.Config, Full} },
	},
	{
		Name: "laplace-natural", Claim: "the variance of the mean by the posterior of all weights for mean and noise",
		Slow: true,
		New:  func(s baseline.Settings) baseline.Method { return Laplace{s.Config, Natural} },
	},
	{
		Name: "conformal", Claim: "the variance beyond the noise of a constant interval", Simple: true,
		New: func(baseline.Settings) baseline.Method { return Conformal{} },
	},
	{
		Name: "conformal-relative", Claim: "the variance beyond the noise of an interval in deviations of gp",
		Simple: true, New: func(baseline.Settings) baseline.Method { return Conformal{Relative: true} },
	},
	{
		Name: "hmc", Claim: "the variance of the mean over sampled weights of a small tanh network", Slow: true,
		New: func(s baseline.Settings) baseline.Method { return HMC{Config: s.Config, Draws: s.Samples} },
	},
}

// collapsed are the distinct conditions of a set with the means of all their
// measurements, of which weighted pairs of repeats count each once.
type collapsed struct {
	n     int
	x, y  []float64 // n×In, n×Out
	count []float64 // measurements, two a pair
}

func collapse(d triplets.Set) collapsed {
	index, x := triplets.Index(d.X, d.In)
	c := collapsed{n: len(x) / d.In, x: x}
	c.y, c.count = make([]float64, c.n*d.Out), make([]float64, c.n)

	w := 1.0
	for i, k := range index {
		if d.Weight != nil {
			w = d.Weight[i]
		}

		for j := range d.Out {
			c.y[k*d.Out+j] += w * (d.Y1[i*d.Out+j] + d.Y2[i*d.Out+j])
		}

		c.count[k] += 2 * w
	}

	for k := range c.y {
		c.y[k] /= c.count[k/d.Out]
	}

	return c
}

// predictBlock is the number of conditions that are predicted together.
const predictBlock = 128

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

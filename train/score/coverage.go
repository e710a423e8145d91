package score

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"doubletake/internal/lists"
)

// residuals returns (y − μ)/σ of both values of every row and outcome, y1 and y2
// in turn; σ² is the total variance of one y.
func residuals(s Set, total []float64) []float64 {
	z := make([]float64, 0, 2*len(total))
	for k, v := range total {
		sd := math.Sqrt(v)
		z = append(z, (s.Y1[k]-s.Mu[k])/sd, (s.Y2[k]-s.Mu[k])/sd)
	}

	return z
}

// within counts the residuals in [−half, half].
func within(z []float64, half float64) int {
	return floats.Count(func(v float64) bool { return -half <= v && v <= half }, z)
}

// below counts the residuals under a limit.
func below(z []float64, limit float64) int {
	return floats.Count(func(v float64) bool { return v < limit }, z)
}

// Coverage returns, for each probability p, the share of the measured values y1
// and y2 of s that lie within μ ± zσ, the central interval that a normal law
// with the variance s.Var gives the probability p; nil without rows.
func Coverage(s Set, p []float64) []float64 {
	s = s.check()
	if s.N == 0 {
		return nil
	}

	z := residuals(s, s.Var)

	return lists.Each(p, func(p float64) float64 {
		return float64(within(z, math.Sqrt2*math.Erfinv(p))) / float64(len(z))
	})
}

// share is count/n, summed up term by term: coverages in metrics.json have that
// rounding.
func share(count int, n float64) float64 {
	sum := 0.0
	for range count {
		sum += 1 / n
	}

	return sum
}

package score

import "math"

// residuals returns (y − μ)/σ of both values of every row and outcome, the residual of y1 before that of y2. total
// contains σ², the total variance of one y.
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
	count := 0
	for _, v := range z {
		if -half <= v && v <= half {
			count++
		}
	}

	return count
}

// below counts the residuals under a limit.
func below(z []float64, limit float64) int {
	count := 0
	for _, v := range z {
		if v < limit {
			count++
		}
	}

	return count
}

// Coverage returns, for each probability, the share of the measured values y1 and y2 of s that are inside the central
// interval μ ± zσ with this probability, by a normal distribution with the variance s.Var. It returns nil without rows
// or without variances, and panics if a slice does not have the length that Set requires.
func Coverage(s Set, probabilities []float64) []float64 {
	s = s.check()
	if s.N == 0 || s.Var == nil {
		return nil
	}

	z := residuals(s, s.Var)

	var list []float64
	for _, p := range probabilities {
		list = append(list, float64(within(z, math.Sqrt2*math.Erfinv(p)))/float64(len(z)))
	}

	return list
}

// share returns count/n as a sum of count terms 1/n. The sum and the quotient differ in their last digits, and the sum
// has the digits of earlier results.
func share(count int, n float64) float64 {
	sum := 0.0
	for range count {
		sum += 1 / n
	}

	return sum
}

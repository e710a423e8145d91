package score

import "math"

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

// limits are a lower and an upper residual for each outcome.
type limits struct{ lo, hi []float64 }

// central is the interval μ ± half·σ of every outcome.
func central(out int, half float64) limits {
	l := limits{make([]float64, out), make([]float64, out)}
	for j := range out {
		l.lo[j], l.hi[j] = -half, half
	}

	return l
}

// hold counts the residuals of outcome j within its limits.
func (l limits) hold(j int, z []float64) int {
	n := 0
	for _, v := range z {
		if l.lo[j] <= v && v <= l.hi[j] {
			n++
		}
	}

	return n
}

// within counts the residuals within the limits of their outcome.
func (l limits) within(z []float64) int {
	n := 0
	for k := 0; k < len(z); k += 2 {
		n += l.hold(k/2%len(l.lo), z[k:k+2])
	}

	return n
}

// below counts the residuals under the upper limit of their outcome.
func (l limits) below(z []float64) int {
	n := 0
	for i, v := range z {
		if v < l.hi[i/2%len(l.hi)] {
			n++
		}
	}

	return n
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

	out := make([]float64, len(p))
	for i := range p {
		out[i] = float64(central(s.Out, math.Sqrt2*math.Erfinv(p[i])).within(z)) / float64(len(z))
	}

	return out
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

package train

import "math"

// AbsCov returns the mean of |CovRaw| over the outcomes at condition i, in standardised units².
func (e *Estimates) AbsCov(i int) (mean float64) {
	for _, v := range e.CovRaw[i*e.Out : (i+1)*e.Out] {
		mean += math.Abs(v) / float64(e.Out)
	}

	return mean
}

package dsp

import (
	"fmt"
	"slices"
	"strconv"
)

// splitHalves is the Construction whose y1 and y2 are the means of the two halves of a balance's
// run (docs/method.md#halves).
type splitHalves struct{ s *Settings } // nil: DefaultSettings

// configure implements configured.
func (c splitHalves) configure(s *Settings) Construction { c.s = s; return c }

func (c splitHalves) Describe() Description {
	return Description{
		Name: "split-halves", Doc: "y1 and y2 are the means of a run's two halves",
		Settings: slices.Concat(loadSettings, unsteadyKeys(c.s)),
	}
}

func (splitHalves) Check(s *Settings, fail Fail) { s.checkLoads(fail) }

func (splitHalves) PairsPerRun(*Settings) int { return 1 }

func (splitHalves) Pairs(r *Run, series []Series) (*Pairs, error) {
	n := len(series[0].Values)
	if n < 2 {
		return nil, wrong("", "at least 2 samples to make two halves", strconv.Itoa(n), "")
	}

	pairs := loadPairs(r, series, loadRow(SplitHalves(values(series))))
	if err := unsteady(r, series, pairs, ofHalves); err != nil {
		return nil, err
	}

	return pairs, nil
}

// SplitHalves returns the mean of each channel over the first and over the second half of its
// samples (docs/method.md#halves). If the number of samples is odd, the last sample is left out.
// SplitHalves panics if a channel has fewer than 2 samples.
func SplitHalves(channels [][]float64) (first, second []float64) {
	for _, x := range channels {
		if len(x) < 2 {
			panic(fmt.Sprintf("dsp: halves of %d samples", len(x)))
		}

		l := len(x) / 2
		first = append(first, mean(x[:l]))
		second = append(second, mean(x[l:2*l]))
	}

	return first, second
}

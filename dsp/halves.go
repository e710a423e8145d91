package dsp

import (
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// splitHalves takes the means of the halves of a balance's run
// (docs/method.md#halves).
type splitHalves struct{ s *Settings }

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

func (splitHalves) Pairs(r *Run, series []Series) (_ *Pairs, err error) {
	defer fault.Catch(&err)

	n := len(series[0].Values)
	unless(n >= 2, "", "at least 2 samples to make two halves", strconv.Itoa(n), "")

	return unsteady(r, series, loadPairs(r, series, loadRow(SplitHalves(values(series)))), false), nil
}

// SplitHalves returns each channel's mean over the first and the second half
// of its samples; the last sample of an odd number is dropped (docs/method.md#halves).
// It panics on fewer than 2 samples.
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

// repeatedMeans takes the mean of a balance's run (docs/method.md#repeats). The
// rotor's harmonics with repeats are in harmonics.go.
type repeatedMeans struct{ s *Settings }

// configure implements configured.
func (c repeatedMeans) configure(s *Settings) Construction { c.s = s; return c }

func (c repeatedMeans) Describe() Description {
	return Description{
		Name: "repeats", Doc: repeatsDoc, Settings: slices.Concat(loadSettings, unsteadyKeys(c.s)), Repeats: true,
	}
}

// repeatsDoc is the Doc of constructions that give one value a run.
const repeatsDoc = "y1 and y2 come from two runs at equal conditions"

func (repeatedMeans) Check(s *Settings, fail Fail) { s.checkLoads(fail) }

func (repeatedMeans) Pairs(r *Run, series []Series) (_ *Pairs, err error) {
	defer fault.Catch(&err)

	y := make([]float64, len(series))
	for i, s := range series {
		sum := 0.0
		for _, v := range s.Values {
			sum += v
		}

		y[i] = sum / float64(len(s.Values))
	}

	return unsteady(r, series, loadPairs(r, series, loadRow(y, y)), true), nil
}

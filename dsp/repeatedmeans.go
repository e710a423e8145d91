package dsp

import "slices"

// repeatedMeans is the Construction that takes the mean of a balance's whole run: y1 and y2 come
// from two runs at equal conditions (docs/method.md#repeats). For microphones, halfSpectra with
// repeats does the same.
type repeatedMeans struct{ s *Settings } // nil: DefaultSettings

// configure implements configured.
func (c repeatedMeans) configure(s *Settings) Construction { c.s = s; return c }

func (c repeatedMeans) Describe() Description {
	return Description{
		Name: "repeats", Doc: repeatsDoc, Settings: slices.Concat(loadSettings, unsteadyKeys(c.s)), Repeats: true,
	}
}

// repeatsDoc is Description.Doc of the constructions with Repeats.
const repeatsDoc = "y1 and y2 come from two runs at equal conditions"

func (repeatedMeans) Check(s *Settings, fail Fail) { s.checkLoads(fail) }

// Pairs returns the one value of the run as both y1 and y2. The caller pairs the runs later.
func (repeatedMeans) Pairs(r *Run, series []Series) (*Pairs, error) {
	n := len(series[0].Values)
	if n == 0 {
		return nil, wrong("", "at least 1 sample for a mean", "0", "")
	}

	y := make([]float64, len(series))
	for i, s := range series {
		sum := 0.0
		for _, v := range s.Values {
			sum += v
		}

		y[i] = sum / float64(n)
	}

	pairs := loadPairs(r, series, loadRow(y, y))
	if err := unsteady(r, series, pairs, ofRepeats); err != nil {
		return nil, err
	}

	return pairs, nil
}

package dsp

import (
	"slices"

	"doubletake/ingest/fault"
)

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

package stages

import (
	"context"

	"doubletake/dsp/balance"
	"doubletake/pipeline/stages/plan"
)

// checkTares reads each recording without wind as the tasks of the runs will, and returns the first error.
func checkTares(ctx context.Context, ing ingestResult) error {
	r := ing.Recordings
	if r == nil {
		return nil
	}

	seen := map[string]bool{}
	for _, file := range r.Files {
		for _, t := range file.tares {
			if seen[t.Name] {
				continue
			}

			seen[t.Name] = true
			if _, err := r.Reading.Balance.Polar(ctx, tareOf(t)); err != nil {
				return err
			}
		}
	}

	return nil
}

// loadsOf returns the calculation of outcomes from a balance's channels in a file.
func loadsOf(src *Source, file *File) *balance.Loads {
	loads := &balance.Loads{Balance: src.Reading.Balance, Share: file.Share}
	for _, tare := range file.tares {
		loads.Tares = append(loads.Tares, tareOf(tare))
	}

	return loads
}

// tareOf returns a file as a recording without wind.
func tareOf(file plan.RawFile) balance.Tare {
	return balance.Tare{Name: file.Name, Path: file.File.Open}
}

package findings

import (
	"context"
	"fmt"

	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// AddFarRuns adds a warning for each run whose outcomes are far from the prediction of the other runs. It adds none if
// the settings name no base of predictions, or if the set has no inputs.
func (f *Findings) AddFarRuns(ctx context.Context, settings honest.Settings, set triplets.Set) error {
	if settings.Base == "none" || set.In == 0 {
		return nil
	}

	learner := honest.Learner{Settings: settings, Rate: honest.IsRate}
	far, err := learner.FarRuns(ctx, set)
	if err != nil {
		return err
	}

	for _, r := range far {
		what := "all levels are" // Outcome is negative if all levels are far
		unit := "dB"
		if r.Outcome >= 0 {
			what = set.Outcomes[r.Outcome].Name + " is"
			unit = set.Outcomes[r.Outcome].Unit
		}

		reference := "what the other runs predict"
		if n := repeatsOf(set, r.Run); n > 1 {
			reference = fmt.Sprintf("what the %d other runs at its conditions and those around give", n)
		}

		run := set.Runs[r.Run]
		f.add("far-run", run+"far", run, fmt.Sprintf("%s %s from %s, %.1f times the robust "+
			"deviation of the others (limit %.1f); it is not left out: look at its conditions, gain and set-up",
			what, shown(r.Offset, unit), reference, r.Times, r.Limit))
	}

	return nil
}

// repeatsOf counts the other runs that were measured at a condition of the given run.
func repeatsOf(set triplets.Set, run int) int {
	here := map[int]bool{} // conditions
	for i, r := range set.Run {
		if r == run {
			here[set.Condition[i]] = true
		}
	}

	others := map[int]bool{}
	for i, r := range set.Run {
		if r != run && here[set.Condition[i]] {
			others[r] = true
		}
	}

	return len(others)
}

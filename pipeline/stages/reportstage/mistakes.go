package reportstage

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/dsp"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// speed is a run whose stated shaft speed its sound contradicts.
type speed struct {
	run string
	dsp.Flag
}

// swapTolerance is how near a found speed is to the one stated for another run, relative.
const swapTolerance = 0.02

// swaps names the runs whose stated speed the sound contradicts: as swapped where each has the
// speed that is stated for the other.
func (f *findings) swaps() {
	near := func(a, b float64) bool { return math.Abs(a/b-1) <= swapTolerance }
	done := make([]bool, len(f.speeds))
	for i, a := range f.speeds {
		if done[i] {
			continue
		}

		k := i + 1 + slices.IndexFunc(f.speeds[i+1:], func(b speed) bool {
			return near(a.FoundHz, b.StatedHz) && near(b.FoundHz, a.StatedHz)
		})
		if k <= i || done[k] {
			f.add("speed-contradicted", a.run+a.Code, a.run, a.Text+"; it is used as stated")
			continue
		}

		b := f.speeds[k]
		done[k] = true
		f.add("files-swapped", a.run+b.run, a.run, fmt.Sprintf("swapped with %s? Stated are %.6g and %.6g rev/min, the "+
			"sound of the one has %.4g, of the other %.4g: exchange their conditions", b.run, 60*a.StatedHz, 60*b.StatedHz,
			60*a.FoundHz, 60*b.FoundHz))
	}
}

// equalRows names rows with the same outcomes, but for data so coarse that rows are equal by
// chance.
func (f *findings) equalRows(s triplets.Set) {
	if s.Couples || s.Out == 0 || s.N < 2 {
		return
	}

	distinct, first := map[float64]bool{}, map[string]int{}
	equal, at, with := 0, 0, 0
	for i := range s.N {
		distinct[s.Y1[i*s.Out]] = true
		key := fmt.Sprint(s.Y1[i*s.Out:(i+1)*s.Out], s.Y2[i*s.Out:(i+1)*s.Out])
		k, known := first[key]
		if !known {
			first[key] = i
			continue
		}

		if equal++; equal == 1 {
			at, with = i, k
		}
	}

	if equal == 0 || 2*len(distinct) < s.N {
		return
	}

	name := func(i int) string {
		if s.Recording == nil {
			return fmt.Sprintf("row %d", i+1)
		}
		return s.Recording[i]
	}

	more := ""
	if equal > 1 {
		more = fmt.Sprintf(" (and %d more rows have a double)", equal-1)
	}

	f.add("equal-rows", "equal-rows", name(at), fmt.Sprintf("all outcomes equal those of %s%s: a row entered twice is no "+
		"measurement; leave one of the two out", name(with), more))
}

// farRuns names the runs whose outcomes the others do not predict.
func (f *findings) farRuns(ctx context.Context, exp plan.Experiment, s triplets.Set) error {
	if exp.Train.Honest.Base == "none" || len(exp.Train.Inputs) == 0 {
		return nil
	}

	far, err := honest.Learner{Settings: exp.Train.Honest, Rate: trainstage.IsRate}.FarRuns(ctx, s)
	if err != nil {
		return err
	}

	for _, r := range far {
		what, unit := "all levels", "dB"
		if r.Outcome >= 0 {
			what, unit = s.Outcomes[r.Outcome].Name, s.Outcomes[r.Outcome].Unit
		}

		than := "what the other runs predict"
		if n := repeatsOf(s, r.Run); n > 1 {
			than = fmt.Sprintf("what the %d other runs at its conditions and those around give", n)
		}

		f.add("far-run", s.Runs[r.Run]+"far", s.Runs[r.Run], fmt.Sprintf("%s %s %s from %s, %.1f times the robust "+
			"deviation of the others (limit %.1f); it is not left out: look at its conditions, gain and set-up",
			what, map[bool]string{true: "are", false: "is"}[r.Outcome < 0],
			shown(r.Offset, unit), than, r.Times, r.Limit))
	}

	return nil
}

// repeatsOf counts the other runs that were measured at the conditions of a run.
func repeatsOf(s triplets.Set, run int) int {
	here, others := map[int]bool{}, map[int]bool{}
	for i, r := range s.Run {
		here[s.Condition[i]] = here[s.Condition[i]] || r == run
	}

	for i, r := range s.Run {
		if r != run && here[s.Condition[i]] {
			others[r] = true
		}
	}

	return len(others)
}

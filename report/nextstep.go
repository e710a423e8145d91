package report

import (
	"fmt"
	"math"
	"strings"

	"doubletake/ingest/fault"
)

// leastGain is the ratio of the half width after a run to the half width before, above which the run is not worthwhile.
const leastGain = 0.9

// noiseDominates is the share of the variance that is ignorance (epistemic variance) below which longer recordings are
// advised.
const noiseDominates = 0.5

// step says what to measure next.
type step struct {
	Row   string // split and outcomes of the rows of the table of results that it is about; "" if it is about none
	Grade string // the grade of these rows
	Words string // one sentence or more
	Code  string // the command that ranks further measurements; "" if it is not known

	split string // name of the split of the rows
}

// gain is the forecast of a run that would narrow the interval of an outcome.
type gain struct {
	split   *Split  // nil if there is no forecast
	outcome int     // index of the outcome in the split's record
	ratio   float64 // half width after the run over the half width before
}

// bestGain returns the forecast with the smallest ratio. Its split is nil if no split has a forecast.
func (d *Detail) bestGain() gain {
	best := gain{ratio: math.Inf(1)}
	for i := range d.Experiment.Splits {
		split := &d.Experiment.Splits[i]
		if !split.isCalibrated() || len(split.Honest.Record.Forecast) < 2 {
			continue
		}

		now := split.Honest.Record.Forecast[0].Half
		one := split.Honest.Record.Forecast[1].Half
		for k := range now {
			if ratio := one[k] / now[k]; ratio < best.ratio {
				best = gain{split, k, ratio}
			}
		}
	}

	return best
}

// mostSteps is the number of rows for which the page has a next step of their own.
const mostSteps = 4

// next returns the next steps: for rows that are undecided or fail, the worst first, and then the run that narrows an
// interval most.
func (d *Detail) next() []step {
	steps := d.Experiment.decidingSteps()
	if rest := len(steps) - mostSteps; rest > 1 {
		more := numbered(rest, "more row has its", "more rows have their") + " next step in report.md."
		steps = append(steps[:mostSteps:mostSteps], step{Words: more})
	}

	if narrowing := d.narrowing(); narrowing != nil {
		steps = append(steps, *narrowing)
	}

	return steps
}

// narrowing advises on the next training run by the forecasts of the splits: the held-out group whose interval a run
// would narrow most, and the mean interval after a run of this group. It names no run of the group, because pipeline
// suggest ranks them. It returns nil if no split has a forecast.
func (d *Detail) narrowing() *step {
	best := d.bestGain()
	if best.split == nil {
		return nil
	}

	record := best.split.Honest.Record
	trust := record.Outcomes[best.outcome]
	now := record.Forecast[0].Half[best.outcome]
	one := record.Forecast[1].Half[best.outcome]
	next := &step{Code: d.suggestCommand(best.split)}
	if best.ratio > leastGain {
		next.Words = fmt.Sprintf(
			"No training run of a held-out group would narrow its interval by more than %s (forecast)",
			shareText(1-leastGain))
	} else {
		next.Row = clean(best.split.Name) + " " + clean(trust.Outcome)
		next.Grade = string(trust.Grade())
		next.Words = fmt.Sprintf(
			"Largest gain: train on a run with %s: ±\u00a0%s instead of ±\u00a0%s (forecast)",
			best.split.place(),
			unitOf(trust).cell(one, undefined).plain(), amountsIn(trust.Unit, now, now))
	}

	// The share of the variance that more runs can remove.
	ignorance := trust.ClaimedEpistemic * trust.ClaimedEpistemic / (trust.ClaimedSigma * trust.ClaimedSigma)
	if math.IsNaN(ignorance) {
		ignorance = 0 // no epistemic variance is claimed
	}

	if ignorance < noiseDominates {
		// Twice the recording time halves the variance 1 − ignorance of the noise.
		longer := now * math.Sqrt((1+ignorance)/2)
		next.Words += "; twice the recording time, to ±\u00a0" + amountsIn(trust.Unit, longer, longer)
	}

	next.Words += "."

	return next
}

// suggestCommand returns the command that ranks candidates for a split, relative to the folder of the page. The grid
// has the measured values of the inputs that tell runs apart.
func (d *Detail) suggestCommand(split *Split) string {
	var axes []string
	for k, input := range d.Inputs {
		values := d.values(k)
		if k != d.angle() && len(values) > 1 {
			axes = append(axes, input.Name+"="+gridOf(values))
		}
	}

	if len(axes) == 0 {
		return ""
	}

	return fmt.Sprintf("pipeline suggest %s/%s --grid %s", d.Experiment.Name, split.Name, strings.Join(axes, ","))
}

// gridOf writes ascending values as "from:to:step" with their mean step.
func gridOf(values []float64) string {
	last := len(values) - 1
	step := (values[last] - values[0]) / float64(last)

	short := func(value float64) string { return fault.Digits(value, 6) }

	return short(values[0]) + ":" + short(values[last]) + ":" + short(step)
}

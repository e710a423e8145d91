package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
)

// leastGain is the ratio of the half widths after and before a run from which it is not worth
// measuring.
const leastGain = 0.9

// next says which measurement would narrow an interval most; "" where nothing is known of it.
func (d *Detail) next() string {
	measure, noise := d.nextRun()
	return joinTexts(" ", measure, noise)
}

// nextRun says, by the forecasts of the splits, the group whose interval runs would narrow most,
// the condition of it whose interval is widest, and what runs there would give; and where noise dominates,
// what longer recordings would. Both are "" where no split has a forecast.
func (d *Detail) nextRun() (measure, noise string) {
	var best *Split
	outcome, least := 0, math.Inf(1)
	for i := range d.Experiment.Splits {
		s := &d.Experiment.Splits[i]
		if !s.calibrated() || len(s.Honest.Record.Forecast) < 2 {
			continue
		}

		now, one := s.Honest.Record.Forecast[0].Half, s.Honest.Record.Forecast[1].Half
		for k := range now {
			if gain := one[k] / now[k]; gain < least {
				best, outcome, least = s, k, gain
			}
		}
	}

	if best == nil {
		return "", ""
	}

	r := *best.Honest.Record
	t := r.Outcomes[outcome]

	ignorance := t.ClaimedEpistemic * t.ClaimedEpistemic / (t.ClaimedSigma * t.ClaimedSigma)
	if math.IsNaN(ignorance) {
		ignorance = 0 // no epistemic variance is claimed
	}

	if ignorance < 0.5 {
		now := r.Forecast[0].Half[outcome]
		with := now * math.Sqrt((1+ignorance)/2)
		noise = fmt.Sprintf("Twice the recording time would make it ± %s instead of ± %s, as half of the noise goes.",
			amountsIn(t.Unit, with, with), amountsIn(t.Unit, now, now))
	}

	if least > leastGain {
		return fmt.Sprintf("No run of a held-out group would narrow its interval by more than %s (forecast); noise is %s of "+
			"the uncertainty.", share(1-leastGain), share(1-ignorance)), noise
	}

	r.Outcomes, r.Forecast = r.Outcomes[outcome:outcome+1], slices.Clone(r.Forecast)
	for i, f := range r.Forecast {
		r.Forecast[i].Half = f.Half[outcome : outcome+1]
	}

	return fmt.Sprintf("With %s, %s; %s. %s.", clean(best.HeldOut), d.widestAt(best, t.Outcome),
		interval.Advice(ignorance, false), sentence(clean(r.ForecastWords(amountsIn)))), noise
}

// widestAt names the place of what a split holds out where the interval of an outcome is
// widest.
func (d *Detail) widestAt(s *Split, outcome string) string {
	q := Quantity{Name: outcome}
	text := "the interval of " + q.Word() + " would gain most"
	i := slices.IndexFunc(d.Splits, func(x SplitDetail) bool { return x.Name == s.Name && x.Calibrated != nil })
	k := slices.IndexFunc(d.Outcomes, func(q Quantity) bool { return q.Name == outcome })
	if i < 0 || k < 0 {
		return text
	}

	test, widths := d.Splits[i].Test, d.Splits[i].Calibrated.Half
	asked := lists.Where(len(test), func(c int) bool { return test[c] && !math.IsNaN(widths[c*d.dim()+k]) })

	// The inputs that vary, but for an angle: a run has all of them.
	fixed := slices.DeleteFunc(others(d.in()), func(j int) bool {
		return j == d.angle() || !slices.ContainsFunc(asked, func(c int) bool { return d.x(c, j) != d.x(asked[0], j) })
	})
	if len(fixed) == 0 {
		return text
	}

	half := func(p *spot) (mean float64) {
		for _, c := range p.cs {
			mean += d.Splits[i].Calibrated.Half[c*d.dim()+k] / float64(len(p.cs))
		}
		return mean
	}

	spots := d.spots(asked, fixed)
	widest := slices.MaxFunc(spots, func(a, b *spot) int { return cmp.Compare(half(a), half(b)) })

	return fmt.Sprintf("the interval of %s is widest at %s (± %s)", q.Word(), place(d.Inputs, widest.at, fixed),
		d.Outcomes[k].amount(half(widest)))
}

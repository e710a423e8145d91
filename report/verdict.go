package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// recommended is the trust of the predictions to be used: the calibrated ones where
// there are any, else the network's.
func (s Split) recommended() []score.OutcomeTrust {
	if s.calibrated() {
		return s.Honest.Record.Outcomes
	}
	return s.Network
}

// Verdict is the worst grade of an outcome, of the split's recommended predictions on its
// held-out set.
func (s Split) Verdict() score.Grade { return score.Worst(score.Grades(s.recommended())...) }

// verdict is what held-out data show of predictions.
type verdict struct {
	Grade   string // of score; "" where nothing was judged
	held    string // what was held out
	finding string // the grade in words, and of which outcomes
	why     string // why it is no better; ""
	Rest    string // the numbers
}

// Head is the verdict without its numbers.
func (v verdict) Head() string { return joinTexts(": ", v.held, v.finding, v.why) + "." }

// String is the verdict with its numbers.
func (v verdict) String() string { return v.Head() + " " + v.Rest }

// joinTexts joins the texts that are not empty.
func joinTexts(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}

// Sentence states the verdict of a split with its numbers: the error, the claim, and
// the share of held-out values inside their intervals.
func (s Split) Sentence() string {
	if len(s.recommended()) == 0 {
		return ""
	}
	return s.verdict().String()
}

// verdict is that of the split.
func (s Split) verdict() verdict {
	if len(s.recommended()) == 0 {
		return verdict{held: nameOf(s.Name), Rest: "Its claims were not judged."}
	}

	v := verdict{Grade: string(s.Verdict()), held: cmp.Or(clean(s.HeldOut), clean(s.Name)) + " held out"}
	v.finding, v.why = s.grade()
	v.Rest = sentence(strings.Join(s.numbers(), "; ") + ".")

	return v
}

// numbers are those of a verdict, in words.
func (s Split) numbers() (parts []string) {
	if s.calibrated() {
		r := s.Honest.Record
		parts = append(parts, byUnit(r.Outcomes, func(list []score.OutcomeTrust) string {
			half := "± " + span(list, func(t score.OutcomeTrust) float64 { return t.Half })
			return fmt.Sprintf("error %s (rms), interval %s (%s), %s of the held-out values inside, R² of the mean %s (noise "+
				"ceiling %s)", rms(list), half, levelText(list[0].Level), shares(list), fits(list, true), fits(list, false))
		}))

		if c := s.Honest.Calibration; c != nil && c.K < 3 {
			parts = append(parts, "the interval is "+clean(c.Learned()))
		}

		if s.Verdict() == score.Wide {
			parts = append(parts, cmp.Or(clean(r.ForecastWords(amountsIn)), "runs of the new group would narrow it"))
		}

		if rival := s.Honest.RivalWords(amountsIn); rival != "" {
			parts = append(parts, clean(rival))
		}
	}

	if len(s.Network) > 0 && s.claims() {
		who, grade := "", ""
		if s.calibrated() {
			who, grade = "the network alone: ", " ("+score.Worst(score.Grades(s.Network)...).Words()+")"
			if s.given() {
				who = AsStated + ": "
			}
		}

		parts = append(parts, who+byUnit(s.Network, func(list []score.OutcomeTrust) string {
			text := fmt.Sprintf("error %s, claimed %s, %s inside its own %s intervals", rms(list),
				span(list, func(t score.OutcomeTrust) float64 { return t.ClaimedSigma }), shares(list),
				levelText(list[0].Level))
			if !s.states() {
				text = fmt.Sprintf("error %s, no interval", rms(list))
				grade = ""
			}

			if !s.calibrated() {
				text += fmt.Sprintf(", R² of the mean %s (noise ceiling %s)", fits(list, true), fits(list, false))
			}

			return text
		})+grade)
	}

	return parts
}

// grade is the grade in words, with the reason why it is no better.
func (s Split) grade() (text, why string) {
	grade := s.Verdict()

	var worst []score.OutcomeTrust
	for _, t := range s.recommended() {
		if t.Grade() == grade {
			worst = append(worst, t)
		}
	}

	text = grade.Words()
	if !s.calibrated() && grade == score.Undecided {
		text = "is " + text
	}

	if n := len(s.recommended()); len(worst) < n {
		if of := outcomes(worst); len(worst) < 4 {
			text += " for " + of
		} else {
			text += fmt.Sprintf(" for %d of %d outcomes", len(worst), n)
		}
	}

	if !s.calibrated() {
		absent := "none was asked for"
		if s.Honest != nil {
			absent = clean(s.Honest.Absent)
		}

		if s.given() {
			return s.stated(text, absent), ""
		}

		return fmt.Sprintf("no calibrated interval (%s), and the network's own claim %s", absent, text), ""
	}

	for _, t := range worst {
		if why = reason(t.Evidence(), "run"); why != "" {
			break
		}
	}

	return text, why
}

// reason says why evidence by some kind of units has its grade; "" where it holds.
func reason(e score.Evidence, unit string) string {
	switch lower, upper := e.Bounds(); e.Grade() {
	case score.Wide:
		if e.WidthOverSpread >= score.WideSpread {
			return "the interval is " + share(e.WidthOverSpread) + " as wide as the data's own spread"
		}

		return "68\u00a0% intervals hold " + share(e.Inside68) + ", and the half width is more than four times the error"

	case score.Fails:
		return "at most " + share(upper) + " lie inside"

	case score.Undecided:
		text := shareRange(lower, upper) + " lie inside, judged from " + numbered(e.Units, unit, unit+"s")
		if n := e.Enough(); n > 0 {
			text += fmt.Sprintf(" (about %d such %ss would decide)", n, unit)
		}

		return text
	}

	return ""
}

// byUnit writes the outcomes of each unit, with their names where there are several units.
func byUnit(list []score.OutcomeTrust, write func([]score.OutcomeTrust) string) string {
	var units []string
	of := map[string][]score.OutcomeTrust{}
	for _, t := range list {
		if of[t.Unit] == nil {
			units = append(units, t.Unit)
		}

		of[t.Unit] = append(of[t.Unit], t)
	}

	for i, u := range units {
		units[i] = write(of[u])
		if len(of) > 1 {
			units[i] = outcomes(of[u]) + ": " + units[i]
		}
	}

	return strings.Join(units, "; ")
}

// outcomes are the names.
func outcomes(list []score.OutcomeTrust) string {
	var names []string
	for _, t := range list {
		names = append(names, clean(t.Outcome))
	}

	return strings.Join(names, ", ")
}

// extent is the least and the largest number of the outcomes, NaN where one is undefined.
func extent(list []score.OutcomeTrust, of func(score.OutcomeTrust) float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, t := range list {
		low, high = min(low, of(t)), max(high, of(t))
	}

	return low, high
}

// span writes the range of a difference in the outcomes' unit.
func span(list []score.OutcomeTrust, of func(score.OutcomeTrust) float64) string {
	low, high := extent(list, of)
	return amountsIn(list[0].Unit, low, high)
}

// shares writes the range of the shares inside.
func shares(list []score.OutcomeTrust) string {
	low, high := extent(list, func(t score.OutcomeTrust) float64 { return t.Inside })
	return shareRange(low, high)
}

// fits writes the range of R² of the mean, or of the noise ceiling.
func fits(list []score.OutcomeTrust, mean bool) string {
	low, high := extent(list, func(t score.OutcomeTrust) float64 {
		if mean {
			return t.R2
		}
		return t.Ceiling
	})
	if math.IsNaN(low) || math.IsInf(low, 0) {
		return "undefined"
	}

	return rangeOf(numbers.Fixed(low, 2), numbers.Fixed(high, 2), "")
}

// rms writes the errors of the means; 0 where the pairs' noise exceeds it.
func rms(list []score.OutcomeTrust) string {
	switch low, high := extent(list, func(t score.OutcomeTrust) float64 { return t.RMSE }); {
	case high == 0:
		return "below the noise"
	case low == 0:
		return "up to " + amountsIn(list[0].Unit, high, high)
	default:
		return amountsIn(list[0].Unit, low, high)
	}
}

// rangeOf writes a range with its unit, if it is defined.
func rangeOf(low, high, unit string) string {
	text := low
	if low != high {
		text += " to " + high
	}

	if high != undefinedText {
		text += unit
	}

	return text
}

// shareRange writes a range of shares in percent.
func shareRange(low, high float64) string {
	return rangeOf(inPercent(low), inPercent(high), percentSign)
}

// unitOf is a quantity of the outcomes' unit.
func unitOf(t score.OutcomeTrust) Quantity { return Quantity{Unit: t.Unit} }

// amount writes a difference in the quantity's unit: one decimal of a level, in dB, else
// two significant digits.
func (q Quantity) amount(v float64) string { return amountsIn(q.Unit, v, v) }

// amountsIn writes a range of differences in a unit.
func amountsIn(unit string, low, high float64) string {
	q := Quantity{Unit: unit}
	text := func(v float64) string { return q.cell(v, math.NaN()).plain() }
	if unit = q.difference(); unit != "" {
		unit = " " + unit
	}

	return rangeOf(text(low), text(high), unit)
}

// cell is a difference in the quantity's unit with its standard error, NaN without.
func (q Quantity) cell(v, se float64) number {
	value := score.Value{Mean: v, Std: se, N: 2}
	switch size := math.Abs(v); {
	case q.difference() == "dB" && size >= 0.05 && size < 1e6:
		n := number{mean: numbers.Fixed(v, 1)}
		if se >= 0.05 {
			n.std = numbers.Fixed(se, 1)
		}

		return n

	case se > 0:
		return round(value, 1)
	}

	return twoDigits(value, 1)
}

// share writes a share in percent.
func share(v float64) string { return shareRange(v, v) }

// percentSign follows a number in percent on the same line.
const percentSign = "\u00a0%"

// inPercent is a share in percent without the sign.
func inPercent(v float64) string {
	if math.IsNaN(v) {
		return undefinedText
	}
	return numbers.Fixed(100*v, 0)
}

// levelText writes a level in percent, with as many decimals as it has.
func levelText(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 4, 64) + percentSign
}

// intervalWords explains the intervals and their limits.
func (e Experiment) intervalWords() []string {
	var out []string

	any := false
	for _, s := range e.Splits {
		h := s.Honest
		switch {
		case h == nil:
			continue
		case h.Absent != "":
			out = append(out, fmt.Sprintf("%s: no calibrated interval: %s.", clean(s.Name),
				clean(h.Absent)))
			continue
		}

		any = true
		c := h.Calibration

		var left []string
		for _, l := range c.Groups {
			text := fmt.Sprintf("%s %.2g", clean(l.Name), l.E)
			if l.ESE != nil {
				text += fmt.Sprintf(" ± %.1g", *l.ESE)
			}

			left = append(left, text+fmt.Sprintf(" (claimed %.2g, %s inside ± %.2g)", l.Claim, share(l.Inside), l.Half))
		}

		noise := ""
		if c.NoiseRatio > 0 {
			noise = fmt.Sprintf(" The model states %.2g times the noise of the pairs.", c.NoiseRatio)
		}

		head := fmt.Sprintf("%s: the intervals are %s. %s.", clean(s.Name), c.Learned(), e.BeforeMeasuring(c))
		if c.K > 0 {
			head += fmt.Sprintf(" Of each group the squared error (± SE, standardised units), and how it fared with the "+
				"intervals of the others: %s.", strings.Join(left, ", "))
		}

		out = append(out, fmt.Sprintf("%s Errors exceed claims by a factor about %.2g, between groups by factors about %.2g "+
			"either way.%s The largest left-out deviation covers %s here; %s.",
			head, math.Exp(c.Scale.M)*c.Scale.Factor, math.Exp(c.Scale.Tau), noise, share(h.Record.Conformal.Coverage),
			guarantee(c)))

		if f := h.Record.ForecastWords(amountsIn); f != "" {
			out = append(out, clean(s.Name)+": "+clean(f)+".")
		}

		if c.Representation != nil {
			out = append(out, clean(s.Name)+": "+clean(c.Representation.String()))
		}

		for _, n := range c.Notes() {
			out = append(out, clean(s.Name)+": "+clean(n))
		}
	}

	if forms := e.forms(); len(forms) > 1 {
		out = append(out, "The splits have different forms of inputs and outcomes: "+strings.Join(forms, "; ")+".")
	}

	if any {
		out = append([]string{text("intervals", nil)}, out...)
	}

	return out
}

// hint is that of the split with the most evidence for another form, with how many have one; "" where
// none has.
func (e Experiment) hint() string {
	text, most := "", 0.0
	n, calibrated := 0, 0
	for _, s := range e.Splits {
		if s.Honest == nil || s.Honest.Calibration == nil {
			continue
		}

		calibrated++
		if h := s.Honest.Calibration.Hint; h != nil {
			if n++; h.Score.Evidence > most {
				text, most = h.String(), h.Score.Evidence
			}
		}
	}

	if n == 0 {
		return ""
	}

	return fmt.Sprintf("%s (in %d of %d splits).", clean(text), n, calibrated)
}

// forms lists the forms that were chosen, with their splits, in order of first appearance.
func (e Experiment) forms() []string {
	var names []string
	splits := map[string][]string{}
	for _, s := range e.Splits {
		if s.Honest == nil || s.Honest.Calibration == nil || s.Honest.Calibration.Representation == nil {
			continue
		}

		name := s.Honest.Calibration.Representation.Chosen
		if splits[name] == nil {
			names = append(names, name)
		}

		splits[name] = append(splits[name], clean(s.Name))
	}

	for i, name := range names {
		names[i] = clean(name) + " for " + strings.Join(splits[name], ", ")
	}

	return names
}

// BeforeMeasuring is the grade of the intervals of a new group, by the left-out groups alone.
func (e Experiment) BeforeMeasuring(c *interval.Calibration) string {
	return "Before measuring: " + clean(c.BeforeWords(e.OutcomeUnits, amountsIn))
}

func guarantee(c *interval.Calibration) string {
	if g := c.Conformal.Guarantee; g > 0 {
		return "it covers a new group with a probability of about " + share(g) +
			", if that group is like the old ones"
	}

	if c.K == 0 {
		return "it promises nothing"
	}

	return fmt.Sprintf("it promises nothing for a new group, because the model's hyperparameters saw the left-out groups "+
		"(about %s if they had not)", share(float64(c.K)/float64(c.K+1)))
}

// verdicts are the sentences of the conditions and of all splits.
func (e Experiment) verdicts() []string {
	var out []string
	for _, v := range e.pooledVerdicts() {
		out = append(out, v.String())
	}

	for _, s := range e.Splits {
		if t := s.Sentence(); t != "" {
			out = append(out, t)
		}
	}

	return out
}

// verdictJSON are the members of a split's metrics.json that judge its claims.
func verdictJSON(s Split) object {
	var o object
	if t := s.Sentence(); t != "" {
		o = append(o, "verdict", string(s.Verdict()), "sentence", t, "network",
			append([]score.OutcomeTrust{}, s.Network...))
	}

	switch h := s.Honest; {
	case h == nil:
	case h.Absent != "":
		o = append(o, "honest_absent", h.Absent)
	default:
		o = append(o, "honest", h.Document())
	}

	return o
}

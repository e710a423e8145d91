package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
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
	number  string // the interval and the error; ""
	finding string // the grade in words, and of which outcomes
	why     string // why it is no better; ""
	Rest    string // the other numbers
}

// Head is the verdict in one or two sentences, the number first.
func (v verdict) Head() string {
	grade := joinTexts(": ", v.finding, v.why)
	if v.number == "" {
		return joinTexts(": ", v.held, grade) + "."
	}

	return joinTexts(". ", joinTexts(": ", v.held, v.number), sentence(grade)) + "."
}

// String is the verdict with all its numbers.
func (v verdict) String() string { return joinTexts(" ", v.Head(), v.Rest) }

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
	v.Rest = joinTexts(" ", s.numbers()...)

	list := s.recommended()
	v.number = byUnit(list, func(list []score.OutcomeTrust) string {
		half := ""
		if s.calibrated() || s.given() && s.states() {
			half = "± " + span(list, func(t score.OutcomeTrust) float64 { return t.Half })
		}

		return joinTexts(", ", half, "error "+rms(list))
	})
	if runs := list[0].Runs; runs > 0 {
		v.number += " on " + numbered(runs, "run", "runs") + " never shown"
	}

	return v
}

// numbers are those of a verdict beside the interval and the error, a sentence each.
func (s Split) numbers() (out []string) {
	add := func(texts ...string) {
		for _, t := range texts {
			if len(texts) == 1 { // else it begins with the name of an outcome
				t = sentence(t)
			}

			if t != "" {
				out = append(out, t+".")
			}
		}
	}

	if s.calibrated() {
		r := s.Honest.Record
		add(eachUnit(r.Outcomes, func(list []score.OutcomeTrust) string {
			return fmt.Sprintf("%s of the held-out values inside %s intervals, R² of the mean %s (noise ceiling %s)",
				shares(list), levelText(list[0].Level), fits(list, true, "undefined"), fits(list, false, "undefined"))
		})...)

		if c := s.Honest.Calibration; c != nil && c.K < 3 {
			add("the interval is " + clean(c.Learned()))
		}

		if s.Verdict() == score.Wide {
			add(cmp.Or(clean(r.ForecastWords(amountsIn)), "runs of the new group would narrow it"))
		}

		add(clean(s.Honest.RivalWords(amountsIn)))
	}

	if len(s.Network) == 0 || !s.claims() {
		return out
	}

	texts := eachUnit(s.Network, func(list []score.OutcomeTrust) string {
		text := fmt.Sprintf("error %s, no interval", rms(list))
		if s.states() {
			text = fmt.Sprintf("error %s, claimed %s, %s inside its own %s intervals", rms(list),
				span(list, func(t score.OutcomeTrust) float64 { return t.ClaimedSigma }), shares(list),
				levelText(list[0].Level))
		}

		if !s.calibrated() {
			text += fmt.Sprintf(", R² of the mean %s (noise ceiling %s)", fits(list, true, "undefined"),
				fits(list, false, "undefined"))
		}

		return text
	})

	if s.calibrated() {
		who, grade := "the network alone: ", " ("+score.Worst(score.Grades(s.Network)...).Words()+")"
		if s.given() {
			who = AsStated + ": "
		}

		if !s.states() {
			grade = ""
		}

		texts = []string{who + strings.Join(texts, "; ") + grade}
	}

	add(texts...)

	return out
}

// grade is the grade in words, with the reason why it is no better.
func (s Split) grade() (text, why string) {
	grade := s.Verdict()

	better := func(t score.OutcomeTrust) bool { return t.Grade() != grade }
	worst := slices.DeleteFunc(slices.Clone(s.recommended()), better)
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
		text := shareRange(lower, upper) + " lie inside"
		if n := e.Enough(); n > 0 {
			text += fmt.Sprintf(" (about %d such %ss would decide)", n, unit)
		}

		return text
	}

	return ""
}

// byUnit writes the outcomes of each unit, of two each by itself, with their names where there are several texts.
func byUnit(list []score.OutcomeTrust, write func([]score.OutcomeTrust) string) string {
	return strings.Join(eachUnit(list, write), "; ")
}

// eachUnit are the texts of byUnit.
func eachUnit(list []score.OutcomeTrust, write func([]score.OutcomeTrust) string) []string {
	groups := grouped(list, 2)
	return lists.Each(groups, func(g []score.OutcomeTrust) string {
		if len(groups) == 1 {
			return write(g)
		}
		return outcomes(g) + ": " + write(g)
	})
}

// grouped are the outcomes each by itself; those of a unit together where it has more than so many.
func grouped(list []score.OutcomeTrust, most int) [][]score.OutcomeTrust {
	of := map[string]int{}
	for _, t := range list {
		of[t.Unit]++
	}

	var out [][]score.OutcomeTrust
	at := map[string]int{}
	for _, t := range list {
		if i, known := at[t.Unit]; known && of[t.Unit] > most {
			out[i] = append(out[i], t)
			continue
		}

		at[t.Unit] = len(out)
		out = append(out, []score.OutcomeTrust{t})
	}

	return out
}

// outcomes are the names.
func outcomes(list []score.OutcomeTrust) string {
	return strings.Join(lists.Each(list, func(t score.OutcomeTrust) string { return clean(t.Outcome) }), ", ")
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

// fits writes the range of R² of the mean, or of the noise ceiling, or none where one is not defined.
func fits(list []score.OutcomeTrust, mean bool, none string) string {
	low, high := extent(list, func(t score.OutcomeTrust) float64 {
		if mean {
			return t.R2
		}
		return t.Ceiling
	})
	if math.IsNaN(low) || math.IsInf(low, 0) {
		return none
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
	case math.IsInf(v, 1):
		return number{text: "∞"}
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

// shareCell is share in a table.
func shareCell(v float64) number { return number{text: share(v)} }

// percentSign follows a number in percent on the same line.
const percentSign = "\u00a0%"

// inPercent is a share in percent without the sign.
func inPercent(v float64) string { return numbers.Fixed(100*v, 0) }

// levelText writes a level in percent, with as many decimals as it has.
func levelText(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 4, 64) + percentSign
}

// intervalWords explains the intervals and their limits.
func (e Experiment) intervalWords() []string { return paragraphs("interval-words", e) }

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

// BeforeMeasuring is the grade of the intervals of a new group, by the left-out groups alone.
func (e Experiment) BeforeMeasuring(c *interval.Calibration) string {
	return "Before measuring: " + clean(c.BeforeWords(e.OutcomeUnits, amountsIn))
}

// verdicts are the sentences of the conditions and of all splits.
func (e Experiment) verdicts() []string {
	out := slices.DeleteFunc(lists.Each(e.Splits, Split.Sentence), func(t string) bool { return t == "" })
	return append(out, lists.Each(e.pooledVerdicts(), verdict.String)...)
}

// verdictJSON are the members of a split's metrics.json that judge its claims.
func verdictJSON(s Split) object {
	var o object
	if t := s.Sentence(); t != "" {
		o = append(o, "verdict", string(s.Verdict()), "sentence", t, "network",
			append([]score.OutcomeTrust{}, s.Network...))
	}

	if len(s.Rivals) > 0 {
		o = append(o, "reference", s.Rivals)
	}

	switch h := s.Honest; {
	case h == nil:
	case h.Absent != "":
		o = append(o, "honest_absent", h.Absent)
	default:
		o = append(o, "honest", append(h.Document(), "ecov", s.ecov()))
	}

	return o
}

// ecov is the rise of E|cov| with the record that goes with it, and the rises of left-out groups where their networks
// exist.
func (s Split) ecov() object {
	record := s.Honest.Calibration.Scale.Prior.RisesRecord()
	like := record.Like(s.rise())
	left := numbers.Objects(s.leftOut(), func(g interval.GroupResult) object {
		return object{"group", g.Name, "rise", *g.Rise}
	})

	return object{
		"rise", s.rise(),
		"record",
		object{"inside_95", like.Inside, "groups", like.Groups, "rose_above", record.Ratio()},
		"left_out", left,
	}
}

// rise is E|cov| of what the split holds out over that of its training; NaN where nothing is held out.
func (s Split) rise() float64 { return s.Test.Get("abs_cov").Mean / s.Train.Get("abs_cov").Mean }

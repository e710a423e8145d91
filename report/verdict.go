package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file grades the predictions of a split in words. Split.verdictInWords puts the sentences together; the functions
// below it write their parts, then ranges and amounts, which tables use too.

// recommended returns the trust in the predictions to be used: the calibrated predictions if there are any, and
// otherwise the network's predictions.
func (s Split) recommended() []score.OutcomeTrust {
	if s.isCalibrated() {
		return s.Honest.Record.Outcomes
	}
	return s.Network
}

// Verdict returns the worst grade that the split's recommended predictions of an outcome have on the held-out set.
func (s Split) Verdict() score.Grade { return score.Worst(score.Grades(s.recommended())...) }

// verdictWords is the judgement of predictions by held-out data, in the parts of its sentences.
type verdictWords struct {
	Grade   string // a score.Grade; "" if nothing was judged
	Held    string // the held-out part and the model: "blades = 2 held out (15 runs), calibrated model"
	finding string // the grade in words, and the outcomes that have it
	why     string // why the grade is not better; "" if there is nothing to say
	bounds  string // the share of upper bounds; "" if it is small
	Action  string // what to do; "" if nothing was judged
	Rest    string // sentences with the numbers
}

// Found returns the grade with its reason, in sentences without the action.
func (v verdictWords) Found() string {
	return joinTexts(" ", addStop(capitalise(joinTexts(": ", v.finding, v.why))), addStop(v.bounds))
}

// Head returns the verdict in a few sentences, of which the last says what to do.
func (v verdictWords) Head() string {
	if v.finding == "" {
		return v.Held + "."
	}

	found := joinTexts(": ", v.Held, v.finding, v.why) + "."

	return joinTexts(" ", found, addStop(v.bounds), v.Action)
}

// addStop ends a text with a full stop, unless it is "".
func addStop(text string) string {
	if text == "" {
		return ""
	}
	return text + "."
}

// String returns the verdict with all its numbers.
func (v verdictWords) String() string { return joinTexts(" ", v.Head(), v.Rest) }

// joinTexts joins the texts that are not empty.
func joinTexts(separator string, texts ...string) string {
	return strings.Join(notEmpty(texts), separator)
}

// Sentence states the verdict of a split with its numbers: the error, the claim, and
// the share of held-out values inside their intervals.
func (s Split) Sentence() string {
	if len(s.recommended()) == 0 {
		return ""
	}
	return s.verdictInWords().String()
}

// verdictInWords returns the verdict of the split.
func (s Split) verdictInWords() verdictWords {
	list := s.recommended()
	if len(list) == 0 {
		return verdictWords{Held: nameOf(s.Name), Rest: "Its claims were not judged."}
	}

	held := cmp.Or(clean(s.HeldOut), clean(s.Name)) + " held out"
	if runs := list[0].Runs; runs > 0 {
		held += " (" + numbered(runs, "run", "runs") + ")"
	}

	v := verdictWords{
		Grade: string(s.Verdict()), Held: held + ", " + s.model(), bounds: s.boundsWords(), Action: s.action(),
	}
	v.finding, v.why = s.grade()
	v.Rest = joinTexts(" ", s.otherNumbers()...)
	if s.beginsWithIntervals() {
		amounts := strings.Join(eachUnit(list, s.intervalAndError), "; ")
		v.Rest = joinTexts(" ", capitaliseUnlessNamed(amounts, list)+".", v.Rest)
	}

	return v
}

// beginsWithIntervals reports whether the numbers of a verdict begin with the errors and intervals of the outcomes. The
// other numbers then leave out the error.
func (s Split) beginsWithIntervals() bool {
	return s.isCalibrated() || s.isExternal() && s.hasIntervals()
}

// capitaliseUnlessNamed returns a text of eachUnit as the beginning of a sentence. A text about several groups begins
// with the names of outcomes, which stay as they are.
func capitaliseUnlessNamed(text string, list []score.OutcomeTrust) string {
	if len(grouped(list, 2)) > 1 {
		return text
	}
	return capitalise(text)
}

// intervalAndError writes the intervals, if there are any, and the errors of outcomes with the same unit.
func (s Split) intervalAndError(list []score.OutcomeTrust) string {
	half := ""
	if s.beginsWithIntervals() {
		half = levelText(list[0].Level) + " intervals ± " + span(list, halfOf)
	}

	return joinTexts(", ", "error "+rmsText(list), half)
}

// otherNumbers returns sentences with all numbers of a verdict except the interval and the error.
func (s Split) otherNumbers() []string {
	var clauses []string
	if s.isCalibrated() {
		clauses = append(clauses, capitaliseSingle(eachUnit(s.Honest.Record.Outcomes, insideIntervals))...)
		clauses = append(clauses, capitalise(s.learnedWords()), capitalise(s.narrowingWords()),
			capitalise(clean(s.Honest.RivalWords(amountsIn))))
	}

	if len(s.Network) > 0 && s.showsNetwork() {
		clauses = append(clauses, capitaliseSingle(s.networkWords())...)
	}

	var sentences []string
	for _, clause := range notEmpty(clauses) {
		sentences = append(sentences, clause+".")
	}

	return sentences
}

// capitaliseSingle returns the texts of eachUnit as beginnings of sentences. A single text gets a capital letter.
// Several texts begin with the names of outcomes, which stay as they are.
func capitaliseSingle(texts []string) []string {
	if len(texts) == 1 {
		return []string{capitalise(texts[0])}
	}
	return texts
}

// insideIntervals writes the share of values inside the calibrated intervals, and the fit of the mean, of outcomes with
// the same unit.
func insideIntervals(list []score.OutcomeTrust) string {
	return fmt.Sprintf("%s of the held-out values inside %s intervals, R² of the mean %s (noise ceiling %s)",
		sharesText(list), levelText(list[0].Level), fitRange(list, r2Of),
		fitRange(list, ceilingOf))
}

// fewGroups is the number of training groups below which a verdict says how the interval was learned.
const fewGroups = 3

// learnedWords says how the interval was learned if there are only few groups, and returns "" otherwise.
func (s Split) learnedWords() string {
	calibration := s.Honest.Calibration
	if calibration == nil || calibration.K >= fewGroups {
		return ""
	}

	return "the interval is " + clean(calibration.Learned())
}

// narrowingWords says how an interval with the grade "holds, but wide" would become narrower, and returns "" for other
// grades.
func (s Split) narrowingWords() string {
	if s.Verdict() != score.Wide {
		return ""
	}

	return cmp.Or(clean(s.Honest.Record.ForecastWords(amountsIn)), "runs of the new group would narrow it")
}

// networkWords returns the errors and the claims of the network, or of another program's predictions, one text for each
// unit. If there is a calibrated model, it returns a single text that begins with the name of the predictions.
func (s Split) networkWords() []string {
	texts := eachUnit(s.Network, s.claimOfNetwork)
	if !s.isCalibrated() {
		return texts
	}

	name := "the network alone"
	if s.isExternal() {
		name = AsStated
	}

	grade := ""
	if s.hasIntervals() {
		grade = " (" + score.Worst(score.Grades(s.Network)...).Words() + ")"
	}

	return []string{name + ": " + strings.Join(texts, "; ") + grade}
}

// claimOfNetwork writes the error and the claim of the network for outcomes with the same unit.
func (s Split) claimOfNetwork(list []score.OutcomeTrust) string {
	text := fmt.Sprintf("error %s, no interval", rmsText(list))
	if s.hasIntervals() {
		text = fmt.Sprintf("claimed %s, %s inside its own %s intervals", span(list, claimedOf), sharesText(list),
			levelText(list[0].Level))
		if !s.isExternal() || s.isCalibrated() {
			text = "error " + rmsText(list) + ", " + text
		}
	}

	if !s.isCalibrated() {
		text += fmt.Sprintf(", R² of the mean %s (noise ceiling %s)", fitRange(list, r2Of),
			fitRange(list, ceilingOf))
	}

	return text
}

// grade returns the grade in words with the outcomes that have it, and the reason why it is not better, "" if there is
// none.
func (s Split) grade() (text, why string) {
	grade := s.Verdict()
	worst := withGrade(s.recommended(), grade)
	text = grade.Words()
	if !s.isCalibrated() && grade == score.Undecided {
		text = "is " + text
	}

	switch all := len(s.recommended()); {
	case len(worst) == all:
	case len(worst) < 4:
		text += " for " + outcomeNames(worst)
	default:
		text += fmt.Sprintf(" for %d of %d outcomes", len(worst), all)
	}

	if !s.isCalibrated() {
		return s.uncalibratedGrade(text), ""
	}

	for _, outcome := range worst {
		why = reasonFor(outcome.Evidence())
		if why != "" {
			break
		}
	}

	return text, why
}

// uncalibratedGrade writes the grade of a split without a calibration, with the reason why there is none. grade is in
// words.
func (s Split) uncalibratedGrade(grade string) string {
	absent := "none was asked for"
	if s.Honest != nil {
		absent = absentWords(s.Honest)
	}

	if s.isExternal() {
		return s.statedGrade(grade, absent)
	}

	return fmt.Sprintf("no calibrated interval (%s), and the network's own claim %s", absent, grade)
}

// absentWords says why a split has no calibrated interval.
func absentWords(honest *interval.Result) string {
	return cmp.Or(clean(honest.Absent), "the calibration has no record of held-out values")
}

// reasonFor says why evidence has its grade, or returns "" if the interval holds. The shares of values inside are
// bounds that are each wrong with a probability of 5 %.
func reasonFor(evidence score.Evidence) string {
	level := levelText(evidence.Level)
	switch lower, upper := evidence.Bounds(); evidence.Grade() {
	case score.Wide:
		if evidence.WidthOverSpread >= score.WideSpread {
			return "the interval is " + shareText(evidence.WidthOverSpread) + " as wide as the data's own spread"
		}

		return "68\u00a0% intervals contain " + shareText(evidence.Inside68) +
			", and ± is over four times the error"

	case score.Fails:
		return level + " intervals contain at most " + shareText(upper) + " of the values"

	case score.Undecided:
		switch {
		case evidence.WidthOverSpread > score.MostSpread:
			return "the interval is " + shareText(evidence.WidthOverSpread) + " as wide as the data's own spread"
		case isBoundReached(evidence) && evidence.MissesAt68():
			return "68\u00a0% intervals contain only " + shareText(evidence.Inside68) + " of the values"
		}

		return level + " intervals contain " + shareRange(lower, upper) + " of the values"
	}

	return ""
}

// isBoundReached reports whether enough units contain enough values, so that only the 68 % intervals may be doubtful.
func isBoundReached(evidence score.Evidence) bool {
	lower, _ := evidence.Bounds()
	return evidence.Units >= score.FewestUnits && lower >= evidence.Level-score.BoundMiss
}

// eachUnit writes the groups of outcomes that grouped makes: at most two outcomes of a unit have a text each, more
// share a text. If there are several texts, each begins with the names of its outcomes.
func eachUnit(list []score.OutcomeTrust, write func([]score.OutcomeTrust) string) []string {
	var texts []string
	groups := grouped(list, 2)
	for _, group := range groups {
		text := write(group)
		if len(groups) > 1 {
			text = outcomeNames(group) + ": " + text
		}

		texts = append(texts, text)
	}

	return texts
}

// grouped returns one group per outcome, or one group per unit if the unit has more than most outcomes.
func grouped(list []score.OutcomeTrust, most int) [][]score.OutcomeTrust {
	countOf := map[string]int{} // number of outcomes, by unit
	for _, outcome := range list {
		countOf[outcome.Unit]++
	}

	var groups [][]score.OutcomeTrust
	lastGroup := map[string]int{} // index of the last group, by unit
	for _, outcome := range list {
		i, exists := lastGroup[outcome.Unit]
		if exists && countOf[outcome.Unit] > most {
			groups[i] = append(groups[i], outcome)
			continue
		}

		lastGroup[outcome.Unit] = len(groups)
		groups = append(groups, []score.OutcomeTrust{outcome})
	}

	return groups
}

// outcomeNames lists the names of outcomes.
func outcomeNames(list []score.OutcomeTrust) string {
	var names []string
	for _, outcome := range list {
		names = append(names, clean(outcome.Outcome))
	}

	return strings.Join(names, ", ")
}

// extent returns the least and the largest number of the outcomes. Both are NaN if one of the numbers is NaN.
func extent(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, outcome := range list {
		low = min(low, numberOf(outcome))
		high = max(high, numberOf(outcome))
	}

	return low, high
}

// span writes the range of a number of the outcomes in their unit.
func span(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) string {
	low, high := extent(list, numberOf)
	return amountsIn(list[0].Unit, low, high)
}

// sharesText writes the range of the shares of values inside the intervals of the outcomes.
func sharesText(list []score.OutcomeTrust) string {
	low, high := extent(list, insideOf)
	return shareRange(low, high)
}

// fitRange writes the range of R² or of the noise ceiling of outcomes, or "undefined" if one of them is not defined.
func fitRange(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) string {
	low, high := extent(list, numberOf)
	if math.IsNaN(low) || math.IsInf(low, 0) {
		return "undefined"
	}

	return rangeOf(numbers.Fixed(low, 2), numbers.Fixed(high, 2), "")
}

// rmsText writes the range of the errors of the means. An error is 0 if the noise of the pairs exceeds it.
func rmsText(list []score.OutcomeTrust) string {
	switch low, high := extent(list, rmseOf); {
	case high == 0:
		return "below the noise"
	case low == 0:
		return "up to " + amountsIn(list[0].Unit, high, high)
	default:
		return amountsIn(list[0].Unit, low, high)
	}
}

// rangeOf writes a range: "1 to 2 dB". It leaves out the unit if high is undefinedText, and low if both are equal.
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

// unitOf returns a quantity without a name that has the outcome's unit.
func unitOf(outcome score.OutcomeTrust) Quantity { return Quantity{Unit: outcome.Unit} }

// amount writes a difference in the quantity's unit, with the digits of cell.
func (q Quantity) amount(value float64) string { return amountsIn(q.Unit, value, value) }

// amountsIn writes a range of differences in a unit.
func amountsIn(unit string, low, high float64) string {
	q := Quantity{Unit: unit}
	suffix := q.difference()
	if suffix != "" {
		suffix = " " + suffix
	}

	return rangeOf(q.cell(low, math.NaN()).plain(), q.cell(high, math.NaN()).plain(), suffix)
}

// cell returns a difference in the quantity's unit with its standard error, which is NaN if there is none. Levels have
// one decimal. Other differences have two significant digits, or the digits that their standard error allows.
func (q Quantity) cell(difference, se float64) number {
	value := score.Value{Mean: difference, Std: se, N: 2}
	size := math.Abs(difference)
	hasOneDecimal := q.difference() == "dB" && size >= 0.05 && size < 1e6
	switch {
	case math.IsInf(difference, 1):
		return number{text: "∞"}
	case hasOneDecimal:
		cell := number{mean: numbers.Fixed(difference, 1)}
		if se >= 0.05 {
			cell.std = numbers.Fixed(se, 1)
		}

		return cell

	case se > 0:
		return round(value, 1)
	}

	return twoDigits(value, 1)
}

// shareText writes a share in percent.
func shareText(value float64) string { return shareRange(value, value) }

// shareCell writes a share for a table.
func shareCell(value float64) number { return number{text: shareText(value)} }

// percentSign follows a number in percent on the same line.
const percentSign = "\u00a0%"

// inPercent writes a share in percent without the sign.
func inPercent(value float64) string { return numbers.Fixed(100*value, 0) }

// levelText writes a level in percent, with as many decimals as it has.
func levelText(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 4, 64) + percentSign
}

// intervalWords returns paragraphs that explain the intervals and their limits.
func (e Experiment) intervalWords() []string { return paragraphs("interval-words", e) }

// form says which form of inputs and outcomes has the most evidence in a split, in how many splits the model has this
// form, and in how many it has another form than the default. form returns "" if all models have the default.
func (e Experiment) form() string {
	text := ""
	most := 0.0
	splitsOf := map[string]int{} // number of splits with each form other than the default
	changed := 0
	calibrated := 0
	for _, split := range e.Splits {
		if split.Honest == nil || split.Honest.Calibration == nil {
			continue
		}

		calibrated++
		choice := split.Honest.Calibration.Representation
		if !choice.Changes() {
			continue
		}

		changed++
		words := choice.Words()
		splitsOf[words]++
		if evidence := choice.Evidence(); text == "" || evidence > most {
			text = words
			most = evidence
		}
	}

	if changed == 0 {
		return ""
	}

	others := ""
	if n := changed - splitsOf[text]; n > 0 {
		others = fmt.Sprintf("; %d have another", n)
	}

	return fmt.Sprintf("Form: %s (in %d of %d splits%s).", clean(text), splitsOf[text], calibrated, others)
}

// ownCurves returns the warnings about labels whose names differ in more than an offset, each label once.
func (e Experiment) ownCurves() []string {
	var list []string
	named := map[string]bool{}
	for _, split := range e.Splits {
		if split.Honest == nil || split.Honest.Calibration == nil {
			continue
		}

		for _, o := range split.Honest.Calibration.OwnCurves {
			if !named[o.Label] {
				list = append(list, clean(fmt.Sprintf("In %s, %v.", split.Name, o)))
			}

			named[o.Label] = true
		}
	}

	return list
}

// BeforeMeasuring grades the intervals of a group that has not been measured, by the left-out groups alone.
func (e Experiment) BeforeMeasuring(calibration *interval.Calibration) string {
	return "Before measuring: " + clean(calibration.BeforeWords(e.OutcomeUnits, amountsIn))
}

// verdicts returns the sentences of all splits, and of the conditions of which several groups were held out.
func (e Experiment) verdicts() []string {
	var sentences []string
	for _, split := range e.Splits {
		if sentence := split.Sentence(); sentence != "" {
			sentences = append(sentences, sentence)
		}
	}

	for _, verdict := range e.pooledVerdicts() {
		sentences = append(sentences, verdict.String())
	}

	return sentences
}

// splitVerdicts returns the verdicts of all splits.
func (e Experiment) splitVerdicts() []verdictWords {
	var verdicts []verdictWords
	for _, split := range e.Splits {
		verdicts = append(verdicts, split.verdictInWords())
	}

	return verdicts
}

// verdictJSON returns the members of a split in the file of metrics that judge its claims.
func verdictJSON(split Split) object {
	var members object
	if sentence := split.Sentence(); sentence != "" {
		members = append(members, "verdict", string(split.Verdict()), "sentence", sentence, "network",
			append([]score.OutcomeTrust{}, split.Network...))
	}

	if len(split.Held) > 0 {
		members = append(members, "held_out_outcomes", numbers.Objects(split.Held, HeldOutcome.document))
	}

	if len(split.Rivals) > 0 {
		members = append(members, "reference", split.Rivals)
	}

	switch honest := split.Honest; {
	case honest == nil:
	case honest.Absent != "":
		members = append(members, "honest_absent", honest.Absent)
	default:
		members = append(members, "honest", append(honest.Document(), "ecov", split.ecov()))
	}

	return members
}

// ecov returns the rise of E|cov| for the file of metrics, with the record of earlier groups that rose alike, and the
// rises of the left-out groups for which a network was trained.
func (s Split) ecov() object {
	record := s.Honest.Calibration.Scale.Prior.RisesRecord()
	like := record.Like(s.covRise())
	groups := []object{}
	for _, group := range s.leftOut() {
		groups = append(groups, object{"group", group.Name, "rise", *group.Rise})
	}

	return object{
		"rise", s.covRise(),
		"record",
		object{"inside_95", like.Inside, "groups", like.Groups, "rose_above", record.Ratio()},
		"left_out", groups,
	}
}

// covRise returns the ratio of E|cov| of the held-out part to E|cov| of the training part. It is NaN if nothing is held
// out.
func (s Split) covRise() float64 { return s.Test.Get("abs_cov").Mean / s.Train.Get("abs_cov").Mean }

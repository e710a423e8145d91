package report

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// This file grades the predictions of a split in words.

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
	without string // how grades change without upper bounds; "" if none changes
	closer  string // the plain models with a smaller error; "" if there are none
	Action  string // what to do with the predictions; "" if nothing was judged
	next    []step // what to measure, for each group of outcomes that is undecided or fails
	Rest    string // sentences with the numbers
}

// Found returns the grade with its reason, in sentences without the action.
func (v verdictWords) Found() string {
	return joinTexts(" ", addStop(capitalise(joinTexts(": ", v.finding, v.why))), addStop(v.bounds), addStop(v.without),
		addStop(v.closer))
}

// headSteps is the number of next steps in the head of a verdict.
const headSteps = 2

// Head returns the verdict in a few sentences, of which the last say what to do and what to measure next.
func (v verdictWords) Head() string { return v.head(headSteps) }

// head returns the verdict with at most the given number of next steps.
func (v verdictWords) head(most int) string {
	if v.finding == "" {
		return v.Held + "."
	}

	found := joinTexts(": ", v.Held, v.finding, v.why) + "."
	if v.without != "" { // otherwise a column of the table has the share of upper bounds
		found = joinTexts(" ", found, addStop(v.bounds), addStop(v.without))
	}

	return joinTexts(" ", found, addStop(v.closer), v.Action, v.nextWords(most))
}

// nextWords returns at most the given number of next steps in sentences. Several steps begin with the names of their
// outcomes.
func (v verdictWords) nextWords(most int) string {
	if len(v.next) == 1 {
		return v.next[0].Words
	}

	var texts []string
	for _, next := range v.next[:min(len(v.next), most)] {
		texts = append(texts, next.Row+": "+next.Words)
	}

	if rest := len(v.next) - most; rest > 0 {
		texts = append(texts, numbered(rest, "more row has its", "more rows have their")+" next step in report.md.")
	}

	return strings.Join(texts, " ")
}

// addStop ends a text with a full stop, unless it is "".
func addStop(text string) string {
	if text == "" {
		return ""
	}
	return text + "."
}

// String returns the verdict with all its numbers.
func (v verdictWords) String() string {
	return joinTexts(" ", v.head(len(v.next)), v.Rest)
}

// joinTexts joins the texts that are not empty.
func joinTexts(separator string, texts ...string) string {
	return strings.Join(notEmpty(texts), separator)
}

// Sentence states the verdict of a split with its numbers: the error, the claim, and the share of held-out values
// inside their intervals. It returns "" if the split has no recommended method.
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

	v := verdictWords{
		Grade: string(s.Verdict()), Held: s.heldWords(list[0].Runs) + ", " + s.model(), bounds: s.boundsWords(),
		without: s.withoutBoundsWords(),
		closer:  s.closerWords(), Action: s.action(), next: Experiment{Splits: []Split{s}}.decidingSteps(),
	}
	v.finding, v.why = s.grade()
	v.Rest = joinTexts(" ", s.otherNumbers()...)
	if s.beginsWithIntervals() {
		amounts := strings.Join(eachUnit(list, s.intervalAndError), "; ")
		v.Rest = joinTexts(" ", capitaliseUnlessNamed(amounts, list)+".", v.Rest)
	}

	return v
}

// heldWords names the split and the part of the given number of runs that it holds out: "2-blades (blades = 2 held out,
// 15 runs)". Rows of tables have the name of the split. The name is left out if the part in words begins with it.
func (s Split) heldWords(runs int) string {
	held := cmp.Or(clean(s.HeldOut), clean(s.Name))
	short := strings.NewReplacer(" and ", ",", ", ", ",", " = ", "=") // as the names of splits are written
	rest, isPrefix := strings.CutPrefix(short.Replace(held), short.Replace(clean(s.Name)))
	isNamed := s.Name == "" || isPrefix && !beginsWithWordSign(rest)

	held += " held out"
	count := ""
	if runs > 0 {
		count = numbered(runs, "run", "runs")
	}

	if isNamed {
		return joinTexts(" ", held, inBrackets(count))
	}

	return nameOf(s.Name) + " " + inBrackets(joinTexts(", ", held, count))
}

// inBrackets puts brackets around a text, unless it is "".
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// grade returns the grade in words with the outcomes that have it, and the reason why it is not better, "" if there is
// none.
func (s Split) grade() (text, why string) {
	grade := s.Verdict()
	worst := withGrade(s.recommended(), grade)
	text = string(grade)
	if !s.isCalibrated() {
		text = grade.Predicate()
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

// beginsWithWordSign reports whether a text goes on with a letter, a digit or a sign of a number.
func beginsWithWordSign(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(first) || unicode.IsDigit(first) || first == '.' || first == '_'
}

// reasonFor says why evidence has its grade, or returns "" if the interval holds. Each bound of the share of values
// inside is wrong with a probability of 5 %, so both together have a confidence of 90 %.
func reasonFor(evidence score.Evidence) string {
	level := levelText(evidence.Level)
	switch lower, upper := evidence.Bounds(); evidence.Grade() {
	case score.Wide:
		if evidence.WidthOverSpread >= score.WideSpread {
			return "the interval is " + shareText(evidence.WidthOverSpread) + " as wide as the data's spread"
		}

		return "68\u00a0% intervals contain " + shareText(evidence.Inside68) +
			", and ± is over four times the error"

	case score.Fails:
		return fmt.Sprintf("%s intervals contain %s of the values (at most %s with 95\u00a0%% confidence)", level,
			shareText(evidence.Inside), shareText(upper))

	case score.Undecided:
		switch {
		case evidence.WidthOverSpread > score.MostSpread:
			return "the interval is " + shareText(evidence.WidthOverSpread) + " as wide as the data's spread"
		case missesOnlyAt68(evidence):
			return fmt.Sprintf("%s intervals hold, 68\u00a0%% intervals contain only %s", level,
				shareText(evidence.Inside68))
		}

		found := fmt.Sprintf("%s intervals contain %s of the values (%s with 90\u00a0%% confidence)", level,
			shareText(evidence.Inside), shareRange(lower, upper))
		if evidence.MissesAt68() {
			found += ", 68\u00a0% intervals " + shareText(evidence.Inside68)
		}

		return found
	}

	return ""
}

// isBoundReached reports whether enough units contain enough values, so that only the 68 % intervals may be doubtful.
func isBoundReached(evidence score.Evidence) bool {
	lower, _ := evidence.Bounds()
	return evidence.Units >= score.FewestUnits && lower >= evidence.Level-score.BoundMiss
}

// missesOnlyAt68 reports whether evidence is undecided only because 68 % intervals contain too few values: the
// intervals of its level hold.
func missesOnlyAt68(evidence score.Evidence) bool {
	isTooWide := evidence.WidthOverSpread > score.MostSpread
	return evidence.Grade() == score.Undecided && !isTooWide && isBoundReached(evidence) && evidence.MissesAt68()
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

// withGrade returns the outcomes with the given grade.
func withGrade(list []score.OutcomeTrust, grade score.Grade) []score.OutcomeTrust {
	var graded []score.OutcomeTrust
	for _, outcome := range list {
		if outcome.Grade() == grade {
			graded = append(graded, outcome)
		}
	}

	return graded
}

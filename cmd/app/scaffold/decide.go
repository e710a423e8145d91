package scaffold

import (
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// Every column of a sheet gets a role in these steps:
//
//  1. decideAlone looks at one column at a time: its words decide (wordRules), then its values (valueRules).
//  2. decideLog makes inputs of the columns of a log or of names whose values repeat; decideResults tells the settings
//     of a table of results from its outcomes (resultRules).
//  3. If no input, or no outcome, is found, retryWithNarrow repeats the steps and accepts values close together.

// Both constants are shares of the variance of a column that is within the groups of equal settings (shareWithin). If
// an outcome has a greater share than idleShare, the settings do not change it. If a column that is called as a setting
// has a smaller share than changedShare, it is an outcome.
const (
	idleShare    = 0.5
	changedShare = 0.1
)

// decideAlone gives a column without a role a role by its words, or by its values. It reports whether the column has a
// role now.
func (s *sheet) decideAlone(column *field) bool {
	return column.role != open || s.decideByWords(column) || s.decideByValues(column)
}

// decideByWords gives a column a role by its words, or by the form of its texts, and reports whether a rule fits.
func (s *sheet) decideByWords(column *field) bool {
	s.replaceTimesByDays(column)

	return s.decideBy(wordRules, column)
}

// decideByValues finds the set points of a column of numbers, and gives the column a role if it was not set. It reports
// whether a rule fits.
func (s *sheet) decideByValues(column *field) bool {
	if points, ok := condition.Discover(column.values); ok {
		column.points = &points
	}

	return s.decideBy(valueRules, column)
}

// decideBy gives a column the role of the first rule that fits, and reports whether one does.
func (s *sheet) decideBy(rules []rule, column *field) bool {
	c := s.candidate(column)
	fit := firstFit(rules, c)
	if fit == nil {
		return false
	}

	fit.apply(column, c)

	return true
}

// replaceTimesByDays replaces the texts of a column of a table of results by their days if they are times. Numbers can
// be times only if the header says so.
func (s *sheet) replaceTimesByDays(column *field) {
	mayBeTimes := column.values == nil || column.hasWord(vocabulary.Days, vocabulary.Clocks)
	if s.fileOf == nil || !mayBeTimes {
		return
	}

	days := condition.Days(column.texts)
	if days == nil {
		return
	}

	texts := make([]string, len(column.texts))
	for i, text := range column.texts {
		texts[i] = days[text]
	}

	column.texts = texts
	column.values = nil
}

// decideLog gives roles to the columns of a log, of names or of a table of pairs. Inputs are the columns whose words
// are known or whose values repeat; if there are none, all columns that have no other role are inputs.
func (s *sheet) decideLog() {
	differing := s.chooseInputs()
	if len(s.withRole(input)) == 0 {
		for _, column := range differing {
			column.setRole(input, "another value in each row")
		}
	}

	for _, column := range s.withRole(input) {
		if s.pieces == nil && slices.ContainsFunc(s.withRole(input), column.measures) {
			column.setMeasured(leftOut, measuredInput)
		}
	}

	s.retryWithNarrow(s.decideLog)
}

// chooseInputs decides on every column without a role. It returns the remarks that have another value in each row: they
// are inputs if there are no others.
func (s *sheet) chooseInputs() (differing []*field) {
	for _, column := range s.fields {
		if s.decideAlone(column) {
			continue
		}

		isLog := s.pieces == nil && s.fileOf == nil
		if !isLog || column.hasWord(vocabulary.Inputs) || column.repeatsValues() {
			column.role = input
			continue
		}

		differing = append(differing, column)
		column.setRole(remark, "another value in each row: add it to inputs where it was set")
	}

	return differing
}

// retryWithNarrow decides once more if no column is an input, or no column of a table of results is an outcome. Then
// columns of values close together may be inputs and outcomes too.
func (s *sheet) retryWithNarrow(decide func()) {
	hasOutcomes := s.fileOf == nil || len(s.withRole(outcome)) > 0
	hasInputs := len(s.withRole(input)) > 0
	if s.allowNarrow || hasOutcomes && hasInputs {
		return
	}

	s.allowNarrow = true
	for _, column := range s.withRole(input, remark, outcome) {
		column.setRole(open, "")
	}

	decide()
}

// decideResults gives roles to the columns of a table of results, which has one row for each run.
func (s *sheet) decideResults() {
	things, candidates := s.sortResults()
	slices.SortStableFunc(candidates, func(a, b *field) int { return a.rank() - b.rank() })

	settings, loose := s.chooseSettings(candidates, things)
	groups := s.groupRows(settings...)
	hasOutcomes := len(s.withRole(outcome)) > 0
	for _, column := range loose {
		if !hasOutcomes || column.shareWithin(groups) < changedShare {
			column.setMeasured(outcome, changedInput)
		}
	}

	s.dropIdle(groups)
	s.retryWithNarrow(s.decideResults)
}

// sortResults decides on the columns of a table of results that are neither things nor settings. It returns the columns
// of things that were measured, and the candidates for settings.
func (s *sheet) sortResults() (things, candidates []*field) {
	for _, column := range s.fields {
		isDecided := s.decideAlone(column)
		switch {
		case column.role == thing && !column.fromName && column.isObject():
			things = append(things, column)
		case column.role == thing:
			candidates = append(candidates, column)
		case isDecided:
		case column.isMeasurement():
			column.setMeasured(outcome, "")
		case slices.Contains(condition.Reserved, column.name):
			column.setRole(leftOut, reservedName)
		default:
			candidates = append(candidates, column)
		}
	}

	return things, candidates
}

// isMeasurement reports whether a column is in the table itself, and neither its words nor its values are of a setting.
func (f *field) isMeasurement() bool {
	isSetting := f.fromName || f.hasWord(vocabulary.Inputs)
	return !isSetting && (!f.repeatsValues() || f.hasWord(vocabulary.Outcomes))
}

// rank returns the place of a column among the candidates for settings: the most certain have the lowest rank.
func (f *field) rank() int {
	first, _, isConsecutive := f.consecutive()
	numbersFromOne := isConsecutive && first == 1
	switch {
	case f.hasWord(vocabulary.Nominal):
		return 0
	case f.hasWord(vocabulary.Inputs) && f.values != nil:
		return 1
	case f.fromName:
		return 2
	case f.values != nil && f.points == nil && !numbersFromOne:
		return 3
	case f.points != nil:
		return 4
	case f.values == nil:
		return 5
	}

	return 6
}

// chooseSettings decides on the candidates one after the other. It returns the settings, and the columns that are
// called as settings but may be outcomes.
func (s *sheet) chooseSettings(candidates, things []*field) (settings, loose []*field) {
	var textCandidates []*field
	for _, column := range candidates {
		if isText(column) {
			textCandidates = append(textCandidates, column)
		}
	}

	// Measured values may differ between things, texts and days as well as between settings.
	besideSettings := slices.Concat(things, textCandidates, s.withRole(day))
	for _, column := range candidates {
		c := s.candidate(column)
		c.groups = s.groupsWith(column, settings, things, besideSettings)
		fit := firstFit(resultRules, c) // the last rule fits every candidate
		fit.apply(column, c)
		switch fit.then {
		case isChosen:
			settings = append(settings, column)
		case isLoose:
			loose = append(loose, column)
		}
	}

	return settings, loose
}

// groupsWith counts the groups of rows of equal settings before and after a candidate becomes a setting. A candidate
// that may be an outcome is compared with the columns beside the settings too.
func (s *sheet) groupsWith(candidate *field, settings, things, besideSettings []*field) groupsOfSettings {
	g := groupsOfSettings{
		settings: settings, things: things, mayBeOutcome: candidate.points != nil && !candidate.hasWord(vocabulary.Inputs),
	}

	compared := settings
	if g.mayBeOutcome {
		compared = slices.Concat(besideSettings, settings)
	}

	g.before = len(s.groupRows(compared...))
	g.after = len(s.groupRows(slices.Concat(compared, []*field{candidate})...))

	known := slices.Concat(things, settings)
	g.repeatedRows = countRepeated(s.groupRows(known...))
	stillRepeated := countRepeated(s.groupRows(append(known, candidate)...))
	g.keepsRepeats = 100*stillRepeated >= keptPercent*g.repeatedRows

	return g
}

// dropIdle makes remarks of idle outcomes: their values are close together, and more than idleShare of their variance
// is within the groups of equal settings. It changes nothing if all outcomes are idle, or if values close together are
// allowed.
func (s *sheet) dropIdle(groups [][]int) {
	var idle []*field
	outcomes := s.withRole(outcome)
	for _, column := range outcomes {
		isClose := !column.hasWord(vocabulary.Outcomes) && isNarrow(column.stated(), mostNarrow)
		if isClose && column.shareWithin(groups) > idleShare {
			idle = append(idle, column)
		}
	}

	if s.allowNarrow || len(idle) == len(outcomes) {
		return
	}

	for _, column := range idle {
		column.setMeasured(remark, "its values are close together, and the inputs do not change it")
	}
}

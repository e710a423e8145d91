package role

import (
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// Every column of a sheet gets a role in these steps:
//
//  1. decideAlone looks at one column at a time: its words decide (wordRules), then its values (valueRules).
//  2. DecideLog makes inputs of the columns of a log or of names whose values repeat; DecideResults tells the settings
//     of a table of results from its outcomes (resultRules).
//  3. If no input, or no outcome, is found, decideTwice repeats the steps and accepts values close together.

// Both constants are shares of the variance of a column that is within the groups of equal settings (shareWithin). If
// an outcome has a greater share than idleShare, the settings do not change it. If a column that is called as a setting
// has a smaller share than changedShare, it is an outcome.
const (
	idleShare    = 0.5
	changedShare = 0.1
)

// decideAlone gives a column without a role a role by its words, or by its values. It reports whether the column has a
// role now.
func (s *Sheet) decideAlone(column *Column) bool {
	return column.Role != Open || s.decideByWords(column) || s.decideByValues(column)
}

// decideByWords gives a column a role by its words, or by the form of its texts, and reports whether a rule fits.
func (s *Sheet) decideByWords(column *Column) bool {
	s.replaceTimesByDays(column)

	return s.decideBy(wordRules, column)
}

// decideByValues finds the set points of a column of numbers, and gives the column a role if it was not set. It reports
// whether a rule fits.
func (s *Sheet) decideByValues(column *Column) bool {
	points, scatters := condition.Discover(column.Values)
	if !scatters && column.HasWord(vocabulary.Inputs) {
		points, scatters = condition.DiscoverRound(column.Values)
	}

	if scatters {
		column.Points = &points
	}

	return s.decideBy(valueRules, column)
}

// decideBy gives a column the role of the first rule that fits, and reports whether one does.
func (s *Sheet) decideBy(rules []rule, column *Column) bool {
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
func (s *Sheet) replaceTimesByDays(column *Column) {
	mayBeTimes := column.Values == nil || column.HasWord(vocabulary.Days, vocabulary.Clocks)
	if !s.isOfResults() || !mayBeTimes {
		return
	}

	days := condition.Days(column.Texts)
	if days == nil {
		return
	}

	texts := make([]string, len(column.Texts))
	for i, text := range column.Texts {
		texts[i] = days[text]
	}

	column.Texts = texts
	column.Values = nil
}

// DecideLog gives roles to the columns of a log, of names or of a table of pairs. Inputs are the columns whose words
// are known or whose values repeat; if there are none, all columns that have no other role are inputs.
func (s *Sheet) DecideLog() { s.decideTwice(s.decideLog) }

// decideLog gives roles to the columns of a log as DecideLog does, once.
func (s *Sheet) decideLog() {
	differing := s.ChooseInputs()
	if len(s.WithRole(Input)) == 0 {
		for _, column := range differing {
			column.SetRole(Input, "another value in each row")
		}
	}

	// A log may state a setting and the values that were measured of it: only the setting is an input.
	for _, column := range s.WithRole(Input) {
		if !s.isOfNames() && slices.ContainsFunc(s.WithRole(Input), column.measures) {
			column.setMeasured(LeftOut, measuredInput)
		}
	}
}

// ChooseInputs decides on every column without a role. It returns the remarks that have another value in each row: they
// are inputs if there are no others.
func (s *Sheet) ChooseInputs() (differing []*Column) {
	for _, column := range s.Columns {
		if s.decideAlone(column) {
			continue
		}

		isLog := !s.isOfNames() && !s.isOfResults()
		mayBeSet := column.RepeatsValues() && !s.isChannel(column)
		if !isLog || column.HasWord(vocabulary.Inputs) || mayBeSet {
			column.Role = Input
			continue
		}

		differing = append(differing, column)
		column.SetRole(Remark, "another value in each row: add it to inputs where it was set")
	}

	return differing
}

// decideTwice decides on the columns without a role. If no column is an input then, or no column of a table of results
// is an outcome, it decides on the same columns again. The second time, columns of values close together may be inputs
// and outcomes too.
func (s *Sheet) decideTwice(decide func()) {
	undecided := s.WithRole(Open)
	for _, allowNarrow := range []bool{false, true} {
		s.allowNarrow = allowNarrow
		for _, column := range undecided {
			isUncertain := column.Role == Input || column.Role == Remark || column.Role == Outcome
			if isUncertain { // from the first time
				column.SetRole(Open, "")
			}
		}

		decide()

		hasOutcomes := !s.isOfResults() || len(s.WithRole(Outcome)) > 0
		hasInputs := len(s.WithRole(Input)) > 0
		if hasInputs && hasOutcomes || !hasInputs && s.variesSetting() {
			return
		}
	}
}

// variesSetting reports whether a column of a table of results is called as a setting and varies, but is not an input
// because its set points are not known. Beside it, a measured value that hardly varies is not the only input.
func (s *Sheet) variesSetting() bool {
	return slices.ContainsFunc(s.Columns, func(column *Column) bool {
		isMeasured := column.HasWord(vocabulary.Outcomes, vocabulary.Measured)
		return column.Why == noSetPoints && !isMeasured && !isNarrow(column.stated(), mostNarrow)
	})
}

// DecideResults gives roles to the columns of a table of results, which has one row for each run. If a column numbers
// the rows as runs, the times of the rows are no clock of samples.
func (s *Sheet) DecideResults() {
	s.decideTwice(s.decideResults)
	for _, column := range s.WithRole(Run) {
		if column.HasWord(vocabulary.Runs) && s.isNewInEachRow(column) {
			s.Clock = ""
		}
	}
}

// isNewInEachRow reports whether each row of a file has a cell of its own in a column of the table.
func (s *Sheet) isNewInEachRow(column *Column) bool {
	return !column.FromName && column.differsWithin(lists.Alike(s.FileOf))
}

// decideResults gives roles to the columns of a table of results as DecideResults does, once.
func (s *Sheet) decideResults() {
	things, candidates := s.sortResults()
	slices.SortStableFunc(candidates, func(a, b *Column) int { return a.rank() - b.rank() })

	settings, loose := s.chooseSettings(candidates, things)
	groups := s.GroupRows(settings...)
	hasOutcomes := len(s.WithRole(Outcome)) > 0
	for _, column := range loose {
		if !hasOutcomes || column.shareWithin(groups) < changedShare {
			column.setMeasured(Outcome, changedInput)
		}
	}

	if !s.allowNarrow {
		s.dropIdle(groups)
	}
}

// sortResults decides on the columns of a table of results that are neither things nor settings. It returns the columns
// of things that were measured, and the candidates for settings.
func (s *Sheet) sortResults() (things, candidates []*Column) {
	for _, column := range s.Columns {
		isDecided := s.decideAlone(column)
		switch {
		case column.Role == Thing && !column.FromName && slices.Contains(condition.Reserved, column.Name):
			column.Why = ReservedName
		case column.Role == Thing && !column.FromName && column.IsObject():
			things = append(things, column)
		case column.Role == Thing:
			candidates = append(candidates, column)
		case isDecided:
		case column.isMeasurement(), s.isChannel(column):
			column.setMeasured(Outcome, "")
		case slices.Contains(condition.Reserved, column.Name):
			column.SetRole(LeftOut, ReservedName)
		default:
			candidates = append(candidates, column)
		}
	}

	return things, candidates
}

// isMeasurement reports whether a column is in the table itself, and neither its words nor its values are of a setting.
func (c *Column) isMeasurement() bool {
	isSetting := c.FromName || c.HasWord(vocabulary.Inputs)
	return !isSetting && (!c.RepeatsValues() || c.HasWord(vocabulary.Outcomes))
}

// candidateKinds are the kinds of candidates for settings, the most certain first. Other candidates, which count from
// one, come last.
var candidateKinds = []struct {
	name string
	fits func(c *Column) bool
}{
	{"called as a set value", func(c *Column) bool { return c.HasWord(vocabulary.Nominal) }},
	{"numbers called as a setting", func(c *Column) bool {
		return c.HasWord(vocabulary.Inputs) && !isText(c) && !c.isSweptReading()
	}},
	{"read set points of a sweep", (*Column).isSweptReading},
	{"part of the names of files", func(c *Column) bool { return c.FromName }},
	{"exact numbers", func(c *Column) bool { return !isText(c) && c.Points == nil && !c.countsFromOne() }},
	{"numbers about set points", func(c *Column) bool { return c.Points != nil }},
	{"texts", isText},
}

// rank returns the place of a column among the candidates for settings: the index of the first kind that it fits.
func (c *Column) rank() int {
	for i, kind := range candidateKinds {
		if kind.fits(c) {
			return i
		}
	}

	return len(candidateKinds)
}

// chooseSettings decides on the candidates one after the other. It returns the settings, and the columns that are
// called as settings but may be outcomes.
func (s *Sheet) chooseSettings(candidates, things []*Column) (settings, loose []*Column) {
	var textCandidates []*Column
	for _, column := range candidates {
		if isText(column) {
			textCandidates = append(textCandidates, column)
		}
	}

	// Measured values may differ between things, texts and days as well as between settings.
	besideSettings := slices.Concat(things, textCandidates, s.WithRole(Day))
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
func (s *Sheet) groupsWith(candidate *Column, settings, things, besideSettings []*Column) groupsOfSettings {
	g := groupsOfSettings{
		settings: settings, things: things, mayBeOutcome: candidate.Points != nil && !candidate.HasWord(vocabulary.Inputs),
	}

	compared := settings
	if g.mayBeOutcome {
		compared = slices.Concat(besideSettings, settings)
	}

	g.before = len(s.GroupRows(compared...))
	g.after = len(s.GroupRows(slices.Concat(compared, []*Column{candidate})...))

	known := slices.Concat(things, settings)
	g.repeatedRows = CountRepeated(s.GroupRows(known...))
	stillRepeated := CountRepeated(s.GroupRows(append(known, candidate)...))
	g.keepsRepeats = 100*stillRepeated >= keptPercent*g.repeatedRows

	return g
}

// dropIdle makes remarks of idle outcomes: their values are close together, and more than idleShare of their variance
// is within the groups of equal settings. It changes nothing if all outcomes are idle.
func (s *Sheet) dropIdle(groups [][]int) {
	var idle []*Column
	outcomes := s.WithRole(Outcome)
	for _, column := range outcomes {
		isMeasured := column.HasWord(vocabulary.Outcomes) || s.isChannel(column)
		isClose := !isMeasured && isNarrow(column.stated(), mostNarrow)
		if isClose && column.shareWithin(groups) > idleShare {
			idle = append(idle, column)
		}
	}

	if len(idle) == len(outcomes) {
		return
	}

	for _, column := range idle {
		column.setMeasured(Remark, "its values are close together, and the inputs do not change it")
	}
}

// NameTerms gives columns of numbers their names as conditions of the program and converts their values to the units of
// these names. Columns of set values come first, since only one column can have a name.
func (s *Sheet) NameTerms() {
	var set, others []*Column
	for _, column := range s.Columns {
		if column.HasWord(vocabulary.Nominal) {
			set = append(set, column)
		} else {
			others = append(others, column)
		}
	}

	for _, column := range append(set, others...) {
		name := vocabulary.TermOf(column.Head, column.Unit)
		isTaken := name != column.Head && s.HasName(name)
		if column.Values == nil || name == "" || isTaken {
			continue
		}

		// A unit that contradicts the log's own name of the column leaves the values as they are: check reports it.
		if conversion, err := units.ToName(name, column.Unit); err == nil {
			conversion.Convert(column.Values)
		}

		column.Name = name
		column.IsCondition = true
	}
}

package role

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doubletake/ingest/recording"
	"doubletake/ingest/vocabulary"
)

// Bounds of numbers that look measured rather than set.
const (
	fewNarrow   = 4   // different values: fewer may be set even if they are close together
	mostNarrow  = 0.1 // range over mean: values within it were hardly varied on purpose
	mostMissing = 0.2 // the greatest share of the rows that may lack a value of an input

	// States of the air, such as temperatures, are inputs only if they were set to a few values far apart.
	mostAirSettings   = 6
	rowsPerAirSetting = 3
	narrowAir         = 0.2 // range over mean
)

// splitRatio is the factor by which a further setting must at least increase the number of groups of equal rows.
// Setting a second value in half of the groups gives 1.5; an outcome or a derived quantity follows the other settings
// and gives less.
const splitRatio = 1.5

// keptPercent is the least share of repeated rows that stay repeated when a setting is added. Real settings keep nearly
// all repeats; a measured value keeps hardly any.
const keptPercent = 80

// shortCross is the number of bytes from which a text is a name rather than a cross.
const shortCross = 4

// rule proposes a role for every column that it fits. A list of rules is read from top to bottom: the first rule that
// fits decides.
type rule struct {
	name    string
	fits    func(c candidate) bool
	role    Role
	why     string                   // the reason, for people; "" keeps the reason that the column has
	explain func(c candidate) string // returns the reason if it depends on the column; nil: why is the reason
	then    consequence
}

// consequence is a further effect of a rule, besides the role.
type consequence byte

const (
	none     consequence = iota
	wasRead              // the values were read, not set: the column loses its set points
	isChosen             // the column becomes a setting: equal values of all settings make repeats
	isLoose              // the column may still become an outcome, depending on the final groups of equal settings
)

// candidate is a column for which a role is sought, with what the rules need to know of it.
type candidate struct {
	*Column
	sheet *Sheet
	count int // different values that are stated

	groups groupsOfSettings // zero unless the sheet is a table of results
}

// groupsOfSettings describes the groups of rows with equal settings in a table of results, and what a candidate does to
// these groups if it becomes a setting too.
type groupsOfSettings struct {
	settings     []*Column // columns that were chosen as settings so far
	things       []*Column // columns of the names of what was measured
	mayBeOutcome bool      // the candidate scatters about set points, and is not called as a setting

	repeatedRows int  // rows that have a repeat: another row with equal settings and things
	keepsRepeats bool // most of the repeated rows still have a repeat with the candidate

	// If the candidate may be an outcome, things and days count as settings in the following two.
	before int // groups of equal settings
	after  int // groups of equal settings and equal candidate
}

// splits reports whether the candidate splits the groups of equal settings as a setting does.
func (g groupsOfSettings) splits() bool {
	return float64(g.after) >= splitRatio*float64(g.before)
}

// candidate returns a column as a candidate, without the groups of settings.
func (s *Sheet) candidate(column *Column) candidate {
	return candidate{Column: column, sheet: s, count: column.CountDistinct()}
}

// firstFit returns the first rule that fits a candidate, or nil if none does.
func firstFit(rules []rule, c candidate) *rule {
	for i := range rules {
		if rules[i].fits(c) {
			return &rules[i]
		}
	}

	return nil
}

// apply gives a column the role, and the reason, of a rule that fits its candidate.
func (r *rule) apply(column *Column, c candidate) {
	column.Role = r.role
	switch {
	case r.explain != nil:
		column.Why = r.explain(c)
	case r.why != "":
		column.Why = r.why
	}

	if r.then == wasRead {
		column.Points = nil
	}
}

// wordRules decide by the words of the header, or the form of the texts, which are certain.
var wordRules = []rule{
	{name: "empty", fits: candidate.isEmpty, role: LeftOut, why: "it is empty"},
	{name: "clock", fits: candidate.isClock, role: Remark, why: "the time"},
	{name: "remark", fits: candidate.isRemark, role: Remark},
	{name: "day of one row", fits: candidate.isDayOfOneRow, role: Remark, why: "no day has several rows"},
	{name: "day", fits: candidate.isDay, role: Day},
	{
		name: "mounting", fits: candidate.isMounting, role: Day,
		why: "it counts mountings: write {m} in the pattern if it is a number that was set",
	},
	{name: "kind of correction", fits: candidate.isCorrection, role: Thing, why: ofCorrections},
	{name: "names of corrected runs", fits: candidate.mixesCorrections, role: LeftOut, why: ofCorrections},
	{name: "cross in some rows", fits: candidate.isCross, role: Thing},
	{name: "constant", fits: candidate.isConstant, role: Remark, why: "the same everywhere"},
	{name: "index", fits: candidate.isIndex, role: Remark, why: "it numbers the values of another"},
	{name: "time of day", fits: candidate.isTime, role: Remark, why: "a time"},
	{name: "uncertainty", fits: candidate.isUncertainty, role: LeftOut, why: "an uncertainty, by its name"},
	{name: "serial number of several rows", fits: candidate.isRepeatedSerial, role: Thing, why: "serial numbers"},
	{name: "serial number", fits: candidate.isSerial, role: Remark, why: "serial numbers"},
	{name: "number of a run, by its words", fits: candidate.isRunNumber, role: Run, why: "it numbers the rows"},
	{name: "number of a run in a name", fits: candidate.isCounter, role: Run, why: "it numbers the rows"},
	{name: "number of a row", fits: candidate.isRowNumber, role: Run, why: "it numbers the rows"},
	{name: "number of a thing", fits: candidate.isThingNumber, role: Thing, why: "it numbers them"},
	{
		name: "thing whose name begins with a number", fits: candidate.isNumberedThing, role: Thing,
		why: "its names begin with numbers",
	},
	{name: "thing", fits: candidate.isThing, role: Thing},
	{name: "text", fits: candidate.isText, role: Remark, why: otherText},
}

// valueRules find columns of numbers that were not set: states of the air, values that follow the day, values that few
// rows state, and values that hardly differ.
var valueRules = []rule{
	{
		name: "state of the air", fits: candidate.isStateOfAir, role: Remark, then: wasRead,
		why: "by its name a state of the air or the supply: add it to inputs or outcomes if not",
	},
	{name: "stated by few rows", fits: candidate.isMissing, role: LeftOut, explain: candidate.explainMissing},
	{name: "one set point", fits: candidate.isOnePoint, role: Remark, why: "one set point"},
	{
		name: "values close together", fits: candidate.isClose, role: Remark, then: wasRead,
		why: fmt.Sprintf("all values lie within %.2g %% of their mean", 100*mostNarrow),
	},
	{name: "value of a day", fits: candidate.followsDay, role: Remark, explain: candidate.explainDay},
}

// resultRules tell settings from outcomes in a table of results. A setting splits the rows into smaller groups, and
// most rows still have a repeat in their group. A measured value differs in every row, so that no row has a repeat.
var resultRules = []rule{
	{name: "measured value of a setting", fits: candidate.isMeasuredSetting, role: LeftOut, why: measuredInput},
	{name: "kind of correction", fits: candidate.isCorrection, role: Thing, then: isChosen},
	{name: "outcome that the settings change", fits: candidate.isChanged, role: Outcome, why: changedInput, then: wasRead},
	{
		name: "determined by the settings", fits: candidate.isDetermined, role: Remark,
		why: "the inputs determine it: if it was set, name it under inputs instead of them",
	},
	{name: "thing with repeats", fits: candidate.isRepeatedThing, role: Thing, then: isChosen},
	{
		name: "occasion of repeats", fits: candidate.isOccasion, role: Day,
		why: "with it no rows are repeats: they are pairs of different ones",
	},
	{name: "thing without repeats", fits: candidate.isLoneThing, role: Thing},
	{name: "setting that keeps repeats", fits: candidate.isRepeatedSetting, role: Input, then: isChosen},
	{name: "setting by its words", fits: candidate.isNamedSetting, role: Input, then: isChosen},
	{name: "read set points of a sweep", fits: candidate.isFreeSweep, role: Input, why: readSweep, then: isChosen},
	{
		name: "words of a setting without set points", fits: candidate.isCalledSetting, role: Remark, then: isLoose,
		why: noSetPoints,
	},
	{name: "name without repeats", fits: candidate.isFromName, role: Remark, why: noRepeats, then: wasRead},
	{name: "factor of a design", fits: candidate.isFactor, role: Input, then: isChosen},
	{
		name: "values that repeat beside outcomes", fits: candidate.isBesideOutcomes, role: Remark, then: wasRead,
		why: "its values repeat, and with it few rows are repeats",
	},
	{name: "measured", fits: candidate.isMeasured, role: Outcome, then: wasRead},
}

// isRepeated reports whether each value has two rows on average.
func (c candidate) isRepeated() bool { return 2*c.count <= c.sheet.Rows }

// isEmpty reports whether no row states anything.
func (c candidate) isEmpty() bool { return c.count == 0 }

// isClock reports whether the column is the clock of the table, with another time in most rows.
func (c candidate) isClock() bool { return c.Name == c.sheet.Clock && !c.isRepeated() }

// isRemark reports whether the header is a word of remarks.
func (c candidate) isRemark() bool { return c.HasWord(vocabulary.Remarks) }

// isDay reports whether the header names a day, or all texts are weekdays, or all are dates.
func (c candidate) isDay() bool {
	areDates := c.Values == nil && c.allMatch(vocabulary.Date)
	return areDates || c.HasWord(vocabulary.Days) || c.allMatch(vocabulary.Weekday)
}

// mostMountings is the greatest number of mountings of a campaign.
const mostMountings = 9

// isMounting reports whether the column counts mountings in names, each of several rows.
func (c candidate) isMounting() bool {
	return c.sheet.isOfNames() && c.countsMountings() && c.isRepeated()
}

// countsMountings reports whether the column has the letter m and counts from 1: m1, m2. A Mach number does not count.
func (c *Column) countsMountings() bool {
	if !strings.EqualFold(c.Head, "m") || c.Values == nil {
		return false
	}

	first, n, isConsecutive := c.consecutive()

	return isConsecutive && first == 1 && n <= mostMountings
}

// isDayOfOneRow reports whether the column has days, and most days have one row or all rows have one day.
func (c candidate) isDayOfOneRow() bool { return c.isDay() && (!c.isRepeated() || c.count < 2) }

// allMatch reports whether the pattern matches all texts that are not empty.
func (c candidate) allMatch(p vocabulary.Pattern) bool {
	return !slices.ContainsFunc(c.Texts, func(text string) bool { return text != "" && !p.MatchString(text) })
}

// isCross reports whether some rows have one short text, such as x, and the other rows have none.
func (c candidate) isCross() bool {
	isOneText := c.count == 1 && c.Values == nil
	return isOneText && slices.Contains(c.Texts, "") && len(c.DistinctCells()[0]) < shortCross
}

// isCorrection reports whether the cells, or the header and a mark in the cells, say which rows were corrected.
func (c candidate) isCorrection() bool {
	isOtherWord := c.HasWord(vocabulary.Outcomes, vocabulary.Inputs)
	isMark := c.count <= 2 && (c.Values == nil || c.areCounts() && slices.Max(c.stated()) <= 1)
	isMarked := isMark && !isOtherWord && c.HasWord(vocabulary.Corrections)
	hasKinds := c.count > 1 || slices.Contains(c.Texts, "")

	return hasKinds && (isMarked || c.Values == nil && c.allMatch(vocabulary.Corrections))
}

// mixesCorrections reports whether some texts are other texts with a word of a correction: R1 and R1_corr.
func (c candidate) mixesCorrections() bool {
	if c.Values != nil {
		return false
	}

	return slices.ContainsFunc(c.Texts, func(text string) bool {
		m := vocabulary.Corrected.FindStringSubmatch(text)
		return m != nil && slices.ContainsFunc(c.Texts, func(other string) bool {
			isAlone := other == m[1]
			otherKind := vocabulary.Corrected.FindStringSubmatch(other)
			return isAlone || otherKind != nil && otherKind[1] == m[1] && other != text
		})
	})
}

// isConstant reports whether all of several rows state the same. A part of some names only is not constant.
func (c candidate) isConstant() bool {
	return c.count < 2 && c.sheet.Rows > 1 && !c.isOfSomeNames()
}

// isOfSomeNames reports whether the column is a part of names that some names lack.
func (c candidate) isOfSomeNames() bool {
	return (c.FromName || c.sheet.isOfNames()) && slices.Contains(c.Texts, "")
}

// isIndex reports whether the column counts the values of another column.
func (c candidate) isIndex() bool { return c.sheet.isIndex(c.Column) }

// isTime reports whether the header is a word of times.
func (c candidate) isTime() bool { return c.HasWord(vocabulary.Clocks) }

// isUncertainty reports whether the header is of an uncertainty, alone or of another column.
func (c candidate) isUncertainty() bool {
	return c.HasWord(vocabulary.Uncertainties) || c.sheet.isSpreadOfOther(c.Column)
}

// isSerial reports whether the header is of serial numbers and the values are counts other than the number of the row.
func (c candidate) isSerial() bool {
	return vocabulary.SerialNumber.MatchString(c.Head) && !c.sheet.numbersRows(c.Column) && c.areCounts()
}

// isRepeatedSerial reports whether the column has serial numbers, each in two rows on average.
func (c candidate) isRepeatedSerial() bool { return c.isRepeated() && c.isSerial() }

// isRunNumber reports whether all words of the header are of numbers of runs. Two kinds of columns are excluded: names
// of parts that were measured several times, and numbers in file names that count nothing, such as 2.5.
func (c candidate) isRunNumber() bool {
	if !c.IsNumbered() {
		return false
	}

	isPart := c.Values == nil && c.HasWord(vocabulary.Parts) && c.isRepeated()
	countsNothing := c.sheet.isOfNames() && !c.areCounts()

	return !isPart && !countsNothing
}

// isCounter reports whether the column is a number in names that counts the files.
func (c candidate) isCounter() bool { return c.sheet.isOfNames() && c.sheet.isCounter(c.Column) }

// isRowNumber reports whether a column of a table numbers its rows and is not called as a setting.
func (c candidate) isRowNumber() bool {
	return !c.sheet.isOfNames() && c.sheet.numbersRows(c.Column) && !c.HasWord(vocabulary.Inputs)
}

// isThingNumber reports whether the numbers are names of things, each in two rows on average.
func (c candidate) isThingNumber() bool { return c.isRepeated() && c.numbersThings() }

// isThing reports whether the texts of a column are names of things: most names have several rows, or each row of a
// table has its own name and the table has no numbers.
func (c candidate) isThing() bool {
	isFewInNames := c.sheet.isOfNames() && c.count <= manyNames
	switch {
	case c.Values != nil:
		return false
	case c.isRepeated(), isFewInNames:
		return true
	}

	return c.sheet.Rows == c.count && !c.FromName && !slices.ContainsFunc(c.sheet.Columns, isNumber)
}

// isNumberedThing reports whether the texts are names of things that begin with a digit, as 8x6.
func (c candidate) isNumberedThing() bool {
	first := c.Texts[0]
	return first != "" && unicode.IsDigit(rune(first[0])) && c.isThing()
}

// isText reports whether the texts are not numbers.
func (c candidate) isText() bool { return c.Values == nil }

// isStateOfAir reports whether a column is called as a state of the air, and was not set to a few values far apart.
func (c candidate) isStateOfAir() bool {
	if !c.IsAir() {
		return false
	}

	stated := c.stated()
	hasMany := c.count > mostAirSettings || rowsPerAirSetting*c.count > len(stated)

	return hasMany || isNarrow(stated, narrowAir)
}

// isMissing reports whether too many rows do not state the column.
func (c candidate) isMissing() bool {
	rows := c.sheet.Rows
	return c.isOfSomeNames() || float64(rows-len(c.stated())) > mostMissing*float64(rows)
}

// explainMissing returns how many rows state the column.
func (c candidate) explainMissing() string {
	return fmt.Sprintf("only %d of %d rows state it%s", len(c.stated()), c.sheet.Rows, OfMerged)
}

// isOnePoint reports whether the column has one value, or scatters about one set point.
func (c candidate) isOnePoint() bool { return c.count < 2 }

// isClose reports whether several values are close together, and no word says that they were set or measured.
func (c candidate) isClose() bool {
	if c.FromName || c.sheet.isOfNames() || c.sheet.allowNarrow {
		return false
	}

	isMeasured := c.HasWord(vocabulary.Outcomes) || c.sheet.isChannel(c.Column)
	if isMeasured || c.count < fewNarrow || !isNarrow(c.stated(), mostNarrow) {
		return false
	}

	return !c.sheet.isOfResults() || c.HasWord(vocabulary.Inputs) || c.RepeatsValues()
}

// followsDay reports whether all rows of a day have the same value.
func (c candidate) followsDay() bool {
	days := c.sheet.WithRole(Day)
	if len(days) == 0 || c.HasWord(vocabulary.Inputs) {
		return false
	}

	return len(c.sheet.GroupRows(days[0])) == len(c.sheet.GroupRows(days[0], c.Column))
}

// explainDay returns the header of the column of days.
func (c candidate) explainDay() string { return "it follows " + c.sheet.WithRole(Day)[0].Head }

// isMeasuredSetting reports whether the column has the measured values of a setting.
func (c candidate) isMeasuredSetting() bool {
	return slices.ContainsFunc(c.groups.settings, c.measures)
}

// isChanged reports whether the settings change the candidate: values that scatter follow the groups of equal settings.
func (c candidate) isChanged() bool { return c.groups.mayBeOutcome && !c.groups.splits() && !c.IsAir() }

// isDetermined reports whether all rows of equal settings have the same value. Names of things may follow the settings.
func (c candidate) isDetermined() bool {
	return c.groups.after == c.groups.before && (c.FromName || c.Role != Thing)
}

// isRepeatedThing reports whether the column names things and leaves most repeated rows repeated.
func (c candidate) isRepeatedThing() bool { return c.Role == Thing && c.groups.keepsRepeats }

// isLoneThing reports whether the column of a table, rather than the names of files, names things.
func (c candidate) isLoneThing() bool { return c.Role == Thing && !c.FromName }

// isOccasion reports whether names of things are occasions: there are no days, and rows are repeated without them.
func (c candidate) isOccasion() bool {
	return c.isLoneThing() && len(c.sheet.WithRole(Day)) == 0 && c.groups.repeatedRows > 0
}

// isRepeatedSetting reports whether the column splits the groups of settings and leaves most repeated rows repeated.
func (c candidate) isRepeatedSetting() bool { return c.groups.keepsRepeats && c.groups.splits() }

// isNamedSetting reports whether the column is called as a setting and its values repeat, scatter about set points, or
// are round.
func (c candidate) isNamedSetting() bool {
	return c.HasWord(vocabulary.Inputs) && (c.RepeatsValues() || c.Points != nil || areRound(c.stated()))
}

// isSweptReading reports whether a column of a table has the readings of a set point that was swept, and no rule for
// set values fits them: they do not repeat, scatter about no set points, and are not round.
func (c *Column) isSweptReading() bool {
	isCalled := !isText(c) && !c.FromName && c.HasWord(vocabulary.Swept) && !c.HasWord(vocabulary.Outcomes)
	if !isCalled || c.RepeatsValues() || c.Points != nil || areRound(c.stated()) {
		return false
	}

	return recording.AreSettings(c.Head, c.Unit, slices.Compact(c.stated()))
}

// isFreeSweep reports whether the candidate is the readings of a sweep that the settings do not determine.
func (c candidate) isFreeSweep() bool {
	return c.isSweptReading() && c.shareWithin(c.sheet.GroupRows(c.groups.settings...)) >= changedShare
}

// leastRound is the least share of round values among values that were set.
const leastRound = 0.9

// areRound reports whether most values have at least two decimals fewer than the finest value, as in -4.000, 8.500 and
// 17.445. One of a hundred measured values ends so by chance.
func areRound(values []float64) bool {
	finest := 0
	decimals := make([]int, len(values))
	for i, v := range values {
		text := strconv.FormatFloat(v, 'f', -1, 64)
		_, fraction, _ := strings.Cut(text, ".")
		decimals[i] = len(fraction)
		finest = max(finest, len(fraction))
	}

	round := 0
	for _, n := range decimals {
		if n <= finest-2 {
			round++
		}
	}

	return finest >= 2 && float64(round) >= leastRound*float64(len(values))
}

// isCalledSetting reports whether the header is a word of settings.
func (c candidate) isCalledSetting() bool { return c.HasWord(vocabulary.Inputs) }

// isFromName reports whether the names of the files state the column.
func (c candidate) isFromName() bool { return c.FromName }

// isFactor reports whether a column with a unit was combined with all settings, as in a design of experiments.
func (c candidate) isFactor() bool {
	hasUnit := c.Unit+vocabulary.UnitEnd(c.Name) != ""
	if !hasUnit || !c.RepeatsValues() {
		return false
	}

	return c.sheet.crosses(c.Column, slices.Concat(c.groups.things, c.groups.settings))
}

// isBesideOutcomes reports whether the sheet has an outcome.
func (c candidate) isBesideOutcomes() bool { return len(c.sheet.WithRole(Outcome)) > 0 }

// isMeasured returns true. Its rule comes last and fits every column that no earlier rule fits.
func (c candidate) isMeasured() bool { return true }

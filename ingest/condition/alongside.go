package condition

import (
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/vocabulary"
)

// measuredWord matches a word of a name that tells that the column was measured: rpm_measured, U ist. The words of
// instruments and records, such as tacho and logged, tell it only here, beside a column with the rest of the name. In a
// column on its own they may mean something else, so that vocabulary.Measured lacks them.
var measuredWord = regexp.MustCompile(`(?i)\b(?:` + vocabulary.MeasuredWords +
	`|tracked|tacho|tach|logged|observed|real|read)\b`)

// ambientWord matches the name of a quantity of the surroundings or of the supply, which drifts and is not set. Most
// words of vocabulary.Air count, at the end of the name only: pressure_ratio is not such a quantity. Words with other
// meanings, such as q, are left out, because the name decides here without the unit. TestAirOfVocabulary compares
// the lists.
var ambientWord = regexp.MustCompile(`(?i)(?:^|[_ .-])(?:(?:temp|temps|temperature|température|pressure|` +
	vocabulary.GermanAirWords + `|baro|barometer|humidity|rh|rho|density|viscosity|dichte|voltage|spannung|volt|` +
	`battery|current|strom|time|zeit|elapsed|timestamp|clock)` + ambientPlace + `?|[tp]` + ambientPlace + `)` +
	`(?:_(?:c|k|degc|pa|hpa|kpa|mbar|bar|pct|percent|kg_m3|v|mv|a|ma|w|s|ms|h|min))?$`)

// ambientPlace is an expression of the place behind the name of such a quantity: p_amb, T_room.
const ambientPlace = `(?:_(?:amb|air|inf|atm|room|tunnel|static|total|baro|luft|raum|batt|bat|supply|motor|esc))`

// fewLevels is the number of distinct values up to which a quantity of the surroundings may have been set, and the
// number of rows up to which many distinct values mean nothing.
const fewLevels = 4

// Alongside lists the conditions that were measured alongside and not set, so that rows that differ in them alone
// repeat each other. These are
//   - conditions whose name tells it, beside the quantity that was set: rpm_measured beside rpm, also if it is stated,
//   - quantities of the surroundings with more than fewLevels values, unless they are stated,
//   - if some conditions are stated, such as inputs: other conditions with more distinct values than half of the rows,
//     if there are more than fewLevels rows.
//
// scatters reports whether a condition has set points; such a condition was set. values has the column of each of
// names. A condition without values, whose column is nil, counts as measured alongside only by its name.
func Alongside(names []string, values [][]float64, stated []string, scatters func(name string) bool) []string {
	isStated := func(name string) bool { return slices.Contains(stated, name) }
	hasStated := slices.ContainsFunc(names, isStated)

	var alongside []string
	for k, name := range names {
		if scatters != nil && scatters(name) {
			continue
		}

		mayDrift := !isStated(name) && (hasStated || ambientWord.MatchString(name))
		if isMeasuredBeside(name, names) || mayDrift && drifts(name, values[k], hasStated) {
			alongside = append(alongside, name)
		}
	}

	if len(alongside) == len(names) { // then nothing else was set
		return nil
	}

	return alongside
}

// drifts reports whether a condition that is not stated has too many values to have been set. hasStated reports whether
// other conditions are stated.
func drifts(name string, values []float64, hasStated bool) bool {
	rows := len(values)
	distinct := distinctValues(values)
	isMany := hasStated && rows > fewLevels && 2*distinct > rows
	isAmbient := ambientWord.MatchString(name) && distinct > fewLevels

	return isMany || isAmbient
}

// isMeasuredBeside reports whether a name is another one of names with a word like "measured" added.
func isMeasuredBeside(name string, names []string) bool {
	stem := plainName(measuredWord.ReplaceAllString(strings.ReplaceAll(name, "_", " "), " "))
	if stem == plainName(name) {
		return false
	}

	return slices.ContainsFunc(names, func(other string) bool {
		set := plainName(setWord.ReplaceAllString(strings.ReplaceAll(other, "_", " "), " "))
		return other != name && stem == set
	})
}

// setWord matches a word of a name that tells that the column was set.
var setWord = regexp.MustCompile(`(?i)\b(?:` + vocabulary.NominalWords + `)\b`)

// plainName returns the letters and digits of a name, in lower case.
func plainName(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(strings.ToLower(name))
}

// distinctValues returns the number of distinct values.
func distinctValues(values []float64) int {
	sorted := slices.Clone(values) // one copy: columns may have millions of rows
	slices.Sort(sorted)

	return len(slices.Compact(sorted))
}

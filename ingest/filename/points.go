package filename

import (
	"regexp"
	"strings"

	"doubletake/ingest/vocabulary"
)

var (
	// underlined matches a word, its number, and one or two digits behind an underline after the number, if there are any.
	underlined = regexp.MustCompile(`(\pL+?)(?:(?i:neg|minus|pos|plus|[mnp]))?[-=_ ]?([-+−]?\d+)` +
		`(?:_(\d\d?))?(?:\D|$)`)
	// decimalDigits matches the decimals of wholes, halves and quarters.
	decimalDigits = regexp.MustCompile(`^(?:|[05]0?|25|75)$`)
)

// restorePoints returns names with a point for each underline that stands for one: in J0_5, and in V7_5 if the numbers
// of all names with this word are wholes, halves and quarters, as V7_5, V10, V12_5.
func restorePoints(names []string) []string {
	fractions := map[string][]fraction{} // by word
	for _, m := range underlined.FindAllStringSubmatch(strings.Join(names, "\n"), -1) {
		fractions[m[1]] = append(fractions[m[1]], fraction{m[2], m[3]})
	}

	hasDecimals := map[string]bool{}
	for word, list := range fractions {
		hasDecimals[word] = areDecimals(list)
	}

	withPoint := func(text string) string {
		m := underlined.FindStringSubmatch(text)
		word := m[1]
		whole := m[2]
		decimals := m[3]
		isRatio := vocabulary.Ratio.MatchString(word) && len(whole) == 1
		if decimals != "" && (isRatio || hasDecimals[word]) {
			return strings.Replace(text, whole+"_", whole+".", 1)
		}

		return text
	}

	restored := make([]string, len(names))
	for i, name := range names {
		restored[i] = underlined.ReplaceAllStringFunc(name, withPoint)
	}

	return restored
}

// fraction is a number and the digits behind an underline, "" if there are none.
type fraction struct{ whole, decimals string }

// fewWholes is the least number of different wholes for which areDecimals takes the digits behind them for decimals.
// With fewer wholes, the digits may count repeats: V10_5.
const fewWholes = 3

// areDecimals reports whether the digits behind underlines are decimals of the numbers. All must have the form of
// decimalDigits, and at least two of them must differ. Besides, 25 and 75 must be among them, or there must be at least
// fewWholes different numbers, all with different wholes.
func areDecimals(fractions []fraction) bool {
	different := map[fraction]bool{}
	wholes := map[string]bool{}
	decimals := map[string]bool{}
	for _, f := range fractions {
		different[f] = true
		wholes[f.whole] = true
		decimals[f.decimals] = true
		if !decimalDigits.MatchString(f.decimals) {
			return false
		}
	}

	hasQuarters := decimals["25"] && decimals["75"]
	differInWholes := len(wholes) >= max(fewWholes, len(different))

	return len(decimals) > 1 && (hasQuarters || differInWholes)
}

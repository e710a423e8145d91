package scaffold

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
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
	_, different := lists.Index(fractions)
	wholes := map[string]bool{}
	decimals := map[string]bool{}
	for _, f := range different {
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

// nameParts are the pieces of all names, and how often each condition occurs.
type nameParts struct {
	files     []string
	pieces    [][]piece      // of each file
	count     map[string]int // numbers of each condition
	mostCount int            // the greatest count
}

// newNameParts returns the pieces of the names of files, with the number of times that each condition occurs.
func newNameParts(files []string, pieces [][]piece) *nameParts {
	names := &nameParts{files: files, pieces: pieces, count: map[string]int{}}
	for _, p := range slices.Concat(pieces...) {
		if p.kind == numberKind {
			name := p.condition()
			names.count[name]++
			names.mostCount = max(names.mostCount, names.count[name])
		}
	}

	return names
}

// commonPercent is the least share of the names that must have a condition, so that its numbers are not parts of names
// of things.
const commonPercent = 80

// isRareCondition reports whether a piece is a number with a word, whose condition many names lack.
func (n *nameParts) isRareCondition(p piece) bool {
	return p.kind == numberKind && p.key != "" && 100*n.count[p.condition()] < commonPercent*len(n.files)
}

// isMinorCondition reports whether at most half as many names have the condition of a number as have the most frequent
// condition, and the number does not count runs.
func (n *nameParts) isMinorCondition(p piece) bool {
	return !vocabulary.Counters.MatchString(p.key) && 2*n.count[p.condition()] <= min(n.mostCount, len(n.files))
}

// splitNameParts decides for each number with a word that many names lack whether it is a condition. It returns the
// pieces with the names of their columns as keys, and the number of names with each key.
//
//   - The number and the word become two pieces if the numbers are conditions beside names of things: APC_3000 and
//     GWS_3000.
//   - Otherwise both are the name of a thing: NACA_0012.
func splitNameParts(files []string, pieces [][]piece) (split [][]piece, count map[string]int) {
	names := newNameParts(files, pieces)
	areConditions := names.areSpareConditions()
	split = make([][]piece, len(files))
	count = map[string]int{}
	for i, file := range files {
		numbers := map[string]int{} // of the name, by condition
		for _, p := range pieces[i] {
			isRare := names.isRareCondition(p)
			isUnclear := isRare && (!vocabulary.IsKnown(p.key) || names.isMinorCondition(p))
			switch {
			case p.kind != numberKind:
			case areConditions && isRare && p.isSpare():
				split[i] = append(split[i], newTextPiece(file, p.begin, p.begin+len(p.key)))
				p.key = ""
				p.begin = p.textBegin
			case p.isThing(), isUnclear:
				p = newTextPiece(file, p.begin, p.end)
			}

			if p.kind == numberKind {
				key := p.condition()
				numbers[key]++
				p.key = nthName(key, numbers[key])
			}

			count[p.key]++
			split[i] = append(split[i], p)
		}
	}

	return split, count
}

// areSpareConditions reports whether the spare numbers (isSpare) are conditions rather than parts of names of things.
// They are if at least two numbers each come with several words. They also are if they seem to number the files, as in
// APC_1, APC_2, GWS_3, GWS_4: all are different, their range is less than the number of files, and there are several
// words, with two numbers each on average.
func (n *nameParts) areSpareConditions() bool {
	wordsOf := map[string]map[string]bool{} // by number, as a set
	words := map[string]bool{}
	spare := 0
	low := math.Inf(1)
	high := math.Inf(-1)
	for _, p := range slices.Concat(n.pieces...) {
		if !n.isRareCondition(p) || !p.isSpare() {
			continue
		}

		spare++
		words[p.key] = true
		if wordsOf[p.text] == nil {
			wordsOf[p.text] = map[string]bool{}
		}

		wordsOf[p.text][p.key] = true
		value, _ := condition.ParseName(p.text)
		low = min(low, value)
		high = max(high, value)
	}

	shared := 0 // numbers with several words
	for _, w := range wordsOf {
		if len(w) > 1 {
			shared++
		}
	}

	if shared > 1 {
		return true
	}

	numberFiles := len(wordsOf) == spare && high-low < float64(len(n.files))
	haveSeveralNumbers := len(words) > 1 && 2*len(words) <= spare

	return numberFiles && haveSeveralNumbers
}

// nthName returns the name of the n-th column of a name: alpha_deg, alpha_deg_2.
func nthName(name string, n int) string {
	if n == 1 {
		return name
	}

	return fmt.Sprint(name, "_", n)
}

// isSpare reports whether a number need not be part of the name of a thing: the word before it is a letter, or is a
// text of its own that may be the name of a thing alone.
func (p piece) isSpare() bool {
	switch {
	case len(p.key) == 1:
		return true
	case p.key == "" || vocabulary.IsKnown(p.key) || vocabulary.Things.MatchString(p.key):
		return false
	}

	isApart := p.textBegin > p.begin+len(p.key)

	return isApart || !condition.Series.MatchString(p.key)
}

// markCopies finds the pieces that count copies of a name, and changes them to numbers with the key copyKey. V10_2 and
// V10_b are copies of V10, and so is V10_3 if there is V10_2.
func markCopies(names []string, pieces [][]piece) {
	isName := map[string]bool{}
	for _, name := range names {
		isName[name] = true
	}

	for i, name := range names {
		for k, p := range pieces[i] {
			if p.countsCopies(name, isName) {
				pieces[i][k].kind = numberKind
				pieces[i][k].key = copyKey
			}
		}
	}
}

// countsCopies reports whether a piece of a name counts copies. The name before the piece must be a name too, and the
// piece must be 2 or b, or come behind another copy in counting.
func (p piece) countsCopies(name string, isName map[string]bool) bool {
	prefix := name[:p.textBegin]
	original := strings.TrimRight(prefix, " _-.(#")
	if original == "" || !isName[original] || len(p.text) != 1 || vocabulary.IsKnown(p.key) {
		return false
	}

	second := ""
	switch p.kind {
	case numberKind:
		second = "2"
	case wordKind:
		second = "b"
	}

	if p.kind != numberKind && !isDigit(original[len(original)-1]) {
		return false
	}

	previous := prefix + string(p.text[0]-1)

	return strings.ToLower(p.text) <= second || isName[previous]
}

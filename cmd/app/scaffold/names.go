package scaffold

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// readPieces reads the pieces of a name without its ending, in these steps:
//
//  1. splitTokens splits the name into words, numbers, dates, times of day and separators.
//  2. joinUnits joins units that a separator parts: m_s.
//  3. readRun joins the words, numbers and units between two separators: alpha5deg.
//  4. joinWords joins numbers to the words and units that separators part from them: take_3, 3000 rpm.
//
// cut are the numbers of the name. shortDate is a date in it that only all names together show, or "".
func readPieces(name string, cut condition.Cut, shortDate string) []piece {
	var pieces []piece
	rest := joinUnits(name, splitTokens(name, cut, shortDate))
	rest = append(rest, piece{kind: separatorKind})
	for len(rest) > 0 {
		n := slices.IndexFunc(rest, func(p piece) bool { return p.kind == separatorKind })
		pieces = append(pieces, readRun(name, rest[:n])...)
		rest = rest[n+1:]
	}

	pieces = joinWords(name, pieces)
	for i, p := range pieces {
		switch {
		case p.unit == "K" && vocabulary.InThousands.MatchString(p.key): // not kelvin
			pieces[i].unit = "k"
		case p.isDayOfMonth():
			pieces[i].kind = dateKind
			pieces[i].key = "day"
			pieces[i].text = name[p.begin:p.textEnd]
			pieces[i].textBegin = p.begin
		case p.kind == wordKind && vocabulary.Repeats.MatchString(p.text):
			pieces[i].kind = numberKind
			pieces[i].key = copyKey
		}
	}

	return pieces
}

// isDayOfMonth reports whether a number with a word is a day: May3. Short names of months that are other words too do
// not count in any letter case: sep may be a separation.
func (p piece) isDayOfMonth() bool {
	if p.kind != numberKind || p.unit != "" || len(p.text) > 2 {
		return false
	}

	isOtherWord := slices.Contains([]string{"sep", "dec", "mar"}, strings.ToLower(p.key))

	return vocabulary.Months.MatchString(p.key) && !isOtherWord
}

// joinUnits returns the tokens of a name with one token for each unit that a separator parts into two words: 5m_s,
// 5_km-h. The unit must be behind a number, and no number may follow. It changes the given tokens.
func joinUnits(name string, tokens []piece) []piece {
	for k := 1; k+2 < len(tokens); k++ {
		end := tokens[k+2].end
		unit := strings.ReplaceAll(strings.ToLower(name[tokens[k].begin:end]), "-", "_")
		if unit != "m_s" && unit != "km_h" {
			continue
		}

		isBehindNumber := tokens[k-1].kind == numberKind || k > 1 && tokens[k-2].kind == numberKind
		isBeforeNumber := k+3 < len(tokens) && tokens[k+3].kind == numberKind
		if isBehindNumber && !isBeforeNumber {
			tokens[k].text = unit
			tokens[k].end = end
			tokens[k].textEnd = end
			tokens = slices.Delete(tokens, k+1, k+3)
		}
	}

	return tokens
}

// tokenRun are tokens without a separator between them.
type tokenRun []piece

// hasKind reports whether token k is there and of a kind.
func (r tokenRun) hasKind(k int, kind kind) bool { return k < len(r) && r[k].kind == kind }

// readRun joins the words, numbers and units of tokens without a separator: a5, 5deg, B2, alpha5U10. All tokens become
// one text if they are the name of a thing, as 8x6.
func readRun(name string, tokens tokenRun) (pieces []piece) {
	for k := 0; k < len(tokens); k++ {
		p := tokens[k]
		if tokens.hasKind(k, wordKind) && tokens.hasKind(k+1, numberKind) {
			k++
			p = tokens[k]
			p.key = tokens[k-1].text
			p.begin = tokens[k-1].begin
		}

		if p.kind == numberKind && tokens.hasKind(k+1, wordKind) {
			joined, n, ok := p.joinNext(tokens, k+1)
			if !ok {
				return []piece{newTextPiece(name, tokens[0].begin, tokens[len(tokens)-1].end)}
			}

			p = joined
			k += n
		}

		pieces = append(pieces, p)
	}

	return pieces
}

// joinNext returns a number with the word behind it, token k, if the word is its unit or names it. n is the number of
// tokens that are joined. ok is false if the number is a part of the name of a thing.
func (p piece) joinNext(tokens tokenRun, k int) (joined piece, n int, ok bool) {
	next := tokens[k]
	isLetter := len(next.text) == 1
	isBeforeNumber := tokens.hasKind(k+1, numberKind)
	switch {
	case vocabulary.IsUnit(next.text) && (!isBeforeNumber || !vocabulary.IsKnown(next.text)):
		p.unit = next.text
		p.end = next.end
		if next.text == "k" && isBeforeNumber && len(tokens[k+1].text) == 1 { // 4k5
			p.text += "." + tokens[k+1].text
			p.textEnd = tokens[k+1].textEnd
			p.end = tokens[k+1].end

			return p, 2, true
		}

		return p, 1, true
	case vocabulary.Counters.MatchString(p.key) && isLetter && !isBeforeNumber: // run12a
		p.end = next.end
		p.textEnd = next.textEnd

		return p, 1, true
	case isBeforeNumber && len(p.key) == 1 && isLetter && next.text != "x": // x10y20
		return p, 0, true
	case p.key == "" && !isLetter && vocabulary.IsKnown(next.text) && !isBeforeNumber: // 1e5Re
		p.key = next.text
		p.end = next.end

		return p, 1, true
	}

	return p, 0, vocabulary.IsKnown(p.key)
}

// newTextPiece returns the part of a name from begin to end as a text.
func newTextPiece(name string, begin, end int) piece {
	return piece{kind: wordKind, text: name[begin:end], begin: begin, textBegin: begin, textEnd: end, end: end}
}

// joinWords gives numbers the words and units that separators part from them: take_3, 3000 rpm. It joins texts with a
// hyphen between them: APC-8x6.
func joinWords(name string, parts []piece) []piece {
	j := &joiner{name: name, parts: parts}
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		switch {
		case j.isBareNumber(i):
			p = j.takeWordBefore(p)
			if j.isUnitOf(p, i+1) {
				i++
				p.unit += parts[i].text
				p.end = parts[i].end
				p = j.returnCount(p)
			}

		case j.continuesWord(i):
			p = newTextPiece(name, j.pop().begin, p.end)
		}

		j.joined = append(j.joined, p)
	}

	return j.joined
}

// joiner joins the pieces of a name.
type joiner struct {
	name   string
	parts  []piece // as they come
	joined []piece // as far as they are joined
}

// isBareNumber reports whether part i is there and is a number without a word.
func (j *joiner) isBareNumber(i int) bool {
	return i < len(j.parts) && j.parts[i].kind == numberKind && j.parts[i].key == ""
}

// wordBefore returns the word right before the next part, or nil.
func (j *joiner) wordBefore() *piece {
	last := len(j.joined) - 1
	if last < 0 || j.joined[last].kind != wordKind {
		return nil
	}

	return &j.joined[last]
}

// pop removes the last joined piece and returns it.
func (j *joiner) pop() piece {
	last := len(j.joined) - 1
	p := j.joined[last]
	j.joined = j.joined[:last]

	return p
}

// wholeWord matches texts that are one word.
var wholeWord = regexp.MustCompile(`^[\pL°%∞]+$`)

// takeWordBefore returns a number without a word with the word before it, which it removes from the joined pieces. A
// number in parentheses without a known word counts copies: 3000rpm (2).
func (j *joiner) takeWordBefore(p piece) piece {
	before := j.wordBefore()
	isNamed := before != nil && vocabulary.IsKnown(before.text)
	inParentheses := p.begin > 0 && j.name[p.begin-1] == '(' && strings.HasPrefix(j.name[p.end:], ")")
	if inParentheses && !isNamed {
		p.key = copyKey
		return p
	}

	if before == nil || !wholeWord.MatchString(before.text) || p.unit != "" && !isNamed {
		return p
	}

	if vocabulary.Counters.MatchString(before.text) && p.isQuantity() { // Run_2000rpm
		return p
	}

	between := j.name[before.end:p.begin]
	if strings.Contains(between, "/") {
		return p
	}

	if vocabulary.Ratio.MatchString(before.text) && between == "." { // J.5
		p.text = "." + p.text
		p.textBegin--
	}

	p.key = before.text
	p.begin = before.begin
	j.pop()

	return p
}

// returnCount returns a number without the word before it if the word counts and the number does not: test 2000 rpm.
// The word becomes a joined piece again.
func (j *joiner) returnCount(p piece) piece {
	if !vocabulary.Counters.MatchString(p.key) || !p.isQuantity() || p.begin == p.textBegin {
		return p
	}

	word := newTextPiece(j.name, p.begin, p.begin+len(p.key))
	j.joined = append(j.joined, word)
	p.key = ""
	p.begin = p.textBegin

	return p
}

// isQuantity reports whether a number has a unit that names its quantity, so that it does not count anything. A single
// letter may be a part of a count.
func (p piece) isQuantity() bool {
	unit, _ := vocabulary.UnitOf(p.unit)
	return len(p.unit) > 1 && unit.Condition != ""
}

// isUnitOf reports whether part i is the unit of the number p before it. A k may be the first letter of the unit.
func (j *joiner) isUnitOf(p piece, i int) bool {
	if p.unit != "" && p.unit != "k" || i >= len(j.parts) {
		return false
	}

	next := j.parts[i]
	between := strings.Trim(j.name[p.end:next.begin], "_ ")
	if next.kind != wordKind || !vocabulary.IsUnit(p.unit+next.text) || between != "" {
		return false
	}

	// Before a number, the word may be the word of that number.
	isUnitInAnyCase := p.key == "" && vocabulary.Multipliers[next.text] == 0

	return isUnitInAnyCase || !j.isBareNumber(i+1)
}

// continuesWord reports whether part i is a word that a hyphen joins to the word before.
func (j *joiner) continuesWord(i int) bool {
	p := j.parts[i]
	before := j.wordBefore()
	if before == nil || p.kind != wordKind || j.name[before.end:p.begin] != "-" {
		return false
	}

	namesNextNumber := vocabulary.IsKnown(p.text) && j.isBareNumber(i+1)

	return !namesNextNumber
}

// condition returns the name of the condition of a number.
func (p piece) condition() string {
	word := strings.ToLower(p.key)
	unit, _ := vocabulary.UnitOf(p.unit)
	standard := vocabulary.StandardNames[word]
	switch {
	case word == "":
		return cmp.Or(unit.Condition, unnamed)
	case standard != "" && strings.HasSuffix(standard, unit.Ending):
		return standard
	case word == "n" && unit.Ending == "rpm":
		return "rpm"
	case unit.Ending != "" && !strings.HasSuffix(word, unit.Ending):
		return word + "_" + unit.Ending
	}

	return word
}

var allDigits = regexp.MustCompile(`^\d+$`)

// isThing reports whether a number is part of the name of a thing: NACA0012, wing2, HQ5040. A number behind a word of
// things has few digits, and a number behind a word in upper case has many.
func (p piece) isThing() bool {
	if !allDigits.MatchString(p.text) || p.unit != "" {
		return false
	}

	switch {
	case condition.Series.MatchString(p.key):
		return true
	case vocabulary.Things.MatchString(p.key) && len(p.text) < 3:
		return true
	}

	return vocabulary.Type.MatchString(p.key) && !vocabulary.IsKnown(p.key) && len(p.text) > 2
}

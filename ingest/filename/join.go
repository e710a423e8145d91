package filename

import (
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
func readPieces(name string, cut condition.Cut, shortDate string) []Piece {
	var pieces []Piece
	rest := joinUnits(name, splitTokens(name, cut, shortDate))
	rest = append(rest, Piece{Kind: Separator})
	for len(rest) > 0 {
		n := slices.IndexFunc(rest, func(p Piece) bool { return p.Kind == Separator })
		pieces = append(pieces, readRun(name, rest[:n])...)
		rest = rest[n+1:]
	}

	pieces = joinWords(name, pieces)
	for i, p := range pieces {
		switch {
		case p.Unit == "K" && vocabulary.InThousands.MatchString(p.Key): // not kelvin
			pieces[i].Unit = "k"
		case p.isDayOfMonth():
			pieces[i].Kind = Date
			pieces[i].Key = "day"
			pieces[i].Text = name[p.Begin:p.TextEnd]
			pieces[i].TextBegin = p.Begin
		case p.Kind == Word && vocabulary.Repeats.MatchString(p.Text):
			pieces[i].Kind = Number
			pieces[i].Key = Copy
		}
	}

	return pieces
}

// joinUnits returns the tokens of a name with one token for each unit that a separator parts into two words: 5m_s,
// 5_km-h. The unit must be behind a number, and no number may follow. It changes the given tokens.
func joinUnits(name string, tokens []Piece) []Piece {
	for k := 1; k+2 < len(tokens); k++ {
		end := tokens[k+2].End
		unit := strings.ReplaceAll(strings.ToLower(name[tokens[k].Begin:end]), "-", "_")
		if unit != "m_s" && unit != "km_h" {
			continue
		}

		isBehindNumber := tokens[k-1].Kind == Number || k > 1 && tokens[k-2].Kind == Number
		isBeforeNumber := k+3 < len(tokens) && tokens[k+3].Kind == Number
		if isBehindNumber && !isBeforeNumber {
			tokens[k].Text = unit
			tokens[k].End = end
			tokens[k].TextEnd = end
			tokens = slices.Delete(tokens, k+1, k+3)
		}
	}

	return tokens
}

// tokenRun are tokens without a separator between them.
type tokenRun []Piece

// hasKind reports whether token k is there and of a kind.
func (r tokenRun) hasKind(k int, kind Kind) bool { return k < len(r) && r[k].Kind == kind }

// readRun joins the words, numbers and units of tokens without a separator: a5, 5deg, B2, alpha5U10. All tokens become
// one text if they are the name of a thing, as 8x6.
func readRun(name string, tokens tokenRun) (pieces []Piece) {
	for k := 0; k < len(tokens); k++ {
		p := tokens[k]
		if tokens.hasKind(k, Word) && tokens.hasKind(k+1, Number) {
			k++
			p = tokens[k]
			p.Key = tokens[k-1].Text
			p.Begin = tokens[k-1].Begin
		}

		if p.Kind == Number && tokens.hasKind(k+1, Word) {
			joined, n, ok := p.joinNext(tokens, k+1)
			if !ok {
				return []Piece{newTextPiece(name, tokens[0].Begin, tokens[len(tokens)-1].End)}
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
func (p Piece) joinNext(tokens tokenRun, k int) (joined Piece, n int, ok bool) {
	next := tokens[k]
	isLetter := len(next.Text) == 1
	isBeforeNumber := tokens.hasKind(k+1, Number)
	switch {
	case vocabulary.IsUnit(next.Text) && (!isBeforeNumber || !vocabulary.IsKnown(next.Text)):
		p.Unit = next.Text
		p.End = next.End
		if next.Text == "k" && isBeforeNumber && len(tokens[k+1].Text) == 1 { // 4k5
			p.Text += "." + tokens[k+1].Text
			p.TextEnd = tokens[k+1].TextEnd
			p.End = tokens[k+1].End

			return p, 2, true
		}

		return p, 1, true
	case vocabulary.Counters.MatchString(p.Key) && isLetter && !isBeforeNumber: // run12a
		p.End = next.End
		p.TextEnd = next.TextEnd

		return p, 1, true
	case isBeforeNumber && len(p.Key) == 1 && isLetter && next.Text != "x": // x10y20
		return p, 0, true
	case p.Key == "" && !isLetter && vocabulary.IsKnown(next.Text) && !isBeforeNumber: // 1e5Re
		p.Key = next.Text
		p.End = next.End

		return p, 1, true
	}

	return p, 0, vocabulary.IsKnown(p.Key)
}

// joinWords gives numbers the words and units that separators part from them: take_3, 3000 rpm. It joins texts with a
// hyphen between them: APC-8x6.
func joinWords(name string, parts []Piece) []Piece {
	j := &joiner{name: name, parts: parts}
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		switch {
		case j.isBareNumber(i):
			p = j.takeWordBefore(p)
			if j.isUnitOf(p, i+1) {
				i++
				p.Unit += parts[i].Text
				p.End = parts[i].End
				p = j.returnCount(p)
			}

		case j.continuesWord(i):
			p = newTextPiece(name, j.pop().Begin, p.End)
		}

		j.joined = append(j.joined, p)
	}

	return j.joined
}

// joiner joins the pieces of a name.
type joiner struct {
	name   string
	parts  []Piece // as they come
	joined []Piece // as far as they are joined
}

// isBareNumber reports whether part i is there and is a number without a word.
func (j *joiner) isBareNumber(i int) bool {
	return i < len(j.parts) && j.parts[i].Kind == Number && j.parts[i].Key == ""
}

// wordBefore returns the word right before the next part, or nil.
func (j *joiner) wordBefore() *Piece {
	last := len(j.joined) - 1
	if last < 0 || j.joined[last].Kind != Word {
		return nil
	}

	return &j.joined[last]
}

// pop removes the last joined piece and returns it.
func (j *joiner) pop() Piece {
	last := len(j.joined) - 1
	p := j.joined[last]
	j.joined = j.joined[:last]

	return p
}

// wholeWord matches texts that are one word.
var wholeWord = regexp.MustCompile(`^[\pL°%∞]+$`)

// takeWordBefore returns a number without a word with the word before it, which it removes from the joined pieces. A
// number in parentheses without a known word counts copies: 3000rpm (2).
func (j *joiner) takeWordBefore(p Piece) Piece {
	before := j.wordBefore()
	isNamed := before != nil && vocabulary.IsKnown(before.Text)
	inParentheses := p.Begin > 0 && j.name[p.Begin-1] == '(' && strings.HasPrefix(j.name[p.End:], ")")
	if inParentheses && !isNamed {
		p.Key = Copy
		return p
	}

	if before == nil || !wholeWord.MatchString(before.Text) || p.Unit != "" && !isNamed {
		return p
	}

	if vocabulary.Counters.MatchString(before.Text) && p.isQuantity() { // Run_2000rpm
		return p
	}

	between := j.name[before.End:p.Begin]
	if strings.Contains(between, "/") {
		return p
	}

	if vocabulary.Ratio.MatchString(before.Text) && between == "." { // J.5
		p.Text = "." + p.Text
		p.TextBegin--
	}

	p.Key = before.Text
	p.Begin = before.Begin
	j.pop()

	return p
}

// returnCount returns a number without the word before it if the word counts and the number does not: test 2000 rpm.
// The word becomes a joined piece again.
func (j *joiner) returnCount(p Piece) Piece {
	if !vocabulary.Counters.MatchString(p.Key) || !p.isQuantity() || p.Begin == p.TextBegin {
		return p
	}

	word := newTextPiece(j.name, p.Begin, p.Begin+len(p.Key))
	j.joined = append(j.joined, word)
	p.Key = ""
	p.Begin = p.TextBegin

	return p
}

// isUnitOf reports whether part i is the unit of the number p before it. A k may be the first letter of the unit.
func (j *joiner) isUnitOf(p Piece, i int) bool {
	if p.Unit != "" && p.Unit != "k" || i >= len(j.parts) {
		return false
	}

	next := j.parts[i]
	between := strings.Trim(j.name[p.End:next.Begin], "_ ")
	if next.Kind != Word || !vocabulary.IsUnit(p.Unit+next.Text) || between != "" {
		return false
	}

	// Before a number, the word may be the word of that number.
	isUnitInAnyCase := p.Key == "" && vocabulary.Multipliers[next.Text] == 0

	return isUnitInAnyCase || !j.isBareNumber(i+1)
}

// continuesWord reports whether part i is a word that a hyphen joins to the word before.
func (j *joiner) continuesWord(i int) bool {
	p := j.parts[i]
	before := j.wordBefore()
	if before == nil || p.Kind != Word || j.name[before.End:p.Begin] != "-" {
		return false
	}

	namesNextNumber := vocabulary.IsKnown(p.Text) && j.isBareNumber(i+1)

	return !namesNextNumber
}

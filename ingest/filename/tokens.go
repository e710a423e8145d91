package filename

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// isDigit reports whether a byte is a digit of ASCII.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// tokenizer splits a name that is cut into numbers and the texts between them.
type tokenizer struct {
	name      string
	cut       condition.Cut
	shortDate string // the date in the name, if it is a date only because all names have one; "": none
	tokens    []Piece
	doneTo    int // end of the last date or time of day, to which all of the name before it belongs
}

// splitTokens splits a name into words, numbers, dates, times of day and separators. cut are its numbers. shortDate is
// the date in it, if it is a date only because all names have one, or "".
func splitTokens(name string, cut condition.Cut, shortDate string) []Piece {
	t := &tokenizer{name: name, cut: cut, shortDate: shortDate}
	begin := 0
	for k, text := range cut.Texts {
		t.addText(k, begin)
		begin += len(text)
		if k == len(cut.Numbers) {
			break
		}

		t.addNumber(k, begin)
		begin += len(cut.Numbers[k])
	}

	return t.tokens
}

// add adds a token of n bytes.
func (t *tokenizer) add(k Kind, begin, n int) {
	end := begin + n
	t.tokens = append(t.tokens, Piece{
		Kind: k, Text: t.name[begin:end], Begin: begin, TextBegin: begin, TextEnd: end, End: end,
	})
}

// last returns the token that was added last.
func (t *tokenizer) last() *Piece { return &t.tokens[len(t.tokens)-1] }

// wordOrOther matches a word, as its group, or a text between words.
var wordOrOther = regexp.MustCompile(`([\pL°%∞]+)|[^\pL°%∞]+`)

// addText adds the words and separators of text k, which is at begin, without what is part of a date or a time of day.
func (t *tokenizer) addText(k, begin int) {
	end := begin + len(t.cut.Texts[k])
	begin = max(begin, t.doneTo)
	if begin >= end {
		return
	}

	text := t.name[begin:end]
	for _, m := range wordOrOther.FindAllStringSubmatchIndex(text, -1) {
		first := m[0]
		end := m[1]
		isWord := m[2] >= 0
		if !isWord {
			t.add(Separator, begin+first, end-first)
			continue
		}

		around := surroundings{behindNumber: first == 0 && k > 0, beforeNumber: end == len(text) && k < len(t.cut.Numbers)}
		around.joinsNumberToWord = around.beforeNumber && capital.MatchString(t.cut.Texts[k+1])
		if n := camelBreak(text[first:end], around); n > 0 {
			t.add(Word, begin+first, n)
			first += n
		}

		t.add(Word, begin+first, end-first)
	}
}

// addNumber adds number k, which is at begin, or the date or the time of day that begins there. What the number has
// before and behind a date becomes numbers of its own.
func (t *tokenizer) addNumber(k, begin int) {
	end := begin + len(t.cut.Numbers[k])
	if begin < t.doneTo || t.addStamp(begin, end) {
		t.addRest(end)
		return
	}

	day := t.dayBehindPoint(begin, end)
	if day < 0 {
		t.add(Number, begin, end-begin)
		t.last().MayBeMinus = slices.Contains(t.cut.Doubtful, k)

		return
	}

	point := day - 1
	t.add(Number, begin, point-begin)
	t.last().MayBeMinus = slices.Contains(t.cut.Doubtful, k)
	t.add(Separator, point, 1)
	t.addStamp(day, end)
	t.addRest(end)
}

// addStamp adds the date or the time of day that begins at the first digit of the number from begin to end. It returns
// false if there is none.
func (t *tokenizer) addStamp(begin, end int) bool {
	first := begin + strings.IndexFunc(t.name[begin:end], unicode.IsDigit)
	stamp, n := t.stamp(first)
	if stamp == Number {
		return false
	}

	t.add(stamp, first, n)
	t.last().Key = "time"
	if stamp == Date {
		t.last().Key = "day"
	}

	t.doneTo = first + n

	return true
}

// addRest adds the end of a number that begins in a date or a time of day, and ends behind it: the 3000 of 03.3000.
func (t *tokenizer) addRest(end int) {
	for t.doneTo < end {
		first := t.doneTo
		length := strings.IndexFunc(t.name[first:end], unicode.IsDigit) // of the mark before the number
		if length < 0 {
			length = end - first
		}

		t.doneTo += length
		if length > 0 {
			t.add(Separator, first, length)
		}

		if t.doneTo < end && !t.addStamp(t.doneTo, end) {
			t.add(Number, t.doneTo, end-t.doneTo)
			t.doneTo = end
		}
	}
}

var (
	firstHump = regexp.MustCompile(`^(\pL+?\p{Ll})\p{Lu}`)
	lastHump  = regexp.MustCompile(`^(\pL+\p{Ll})(\p{Lu}\pL*)$`)
	capital   = regexp.MustCompile(`^\p{Lu}`)
)

// surroundings are the numbers around a word.
type surroundings struct {
	behindNumber      bool
	beforeNumber      bool
	joinsNumberToWord bool // a word with a capital follows the number behind the word: V10Yaw
}

// camelBreak returns the length of the first part of a word in camel case that has two parts, or 0. The first part may
// be the unit of the number before, the second the word of the number behind. The second may be a single letter only
// if another word follows the number, and never A or B, which name things: testV10Yaw0 has V and Yaw, wingA0V10 has
// wingA.
func camelBreak(word string, around surroundings) int {
	first := firstHump.FindStringSubmatch(word)
	if first == nil || vocabulary.IsUnit(word) || vocabulary.IsKnown(word) {
		return 0
	}

	if around.behindNumber && vocabulary.IsUnit(first[1]) {
		return len(first[1])
	}

	last := lastHump.FindStringSubmatch(word)
	if !around.beforeNumber || last == nil || !vocabulary.IsKnown(last[2]) || vocabulary.Things.MatchString(last[2]) {
		return 0
	}

	isLetter := len(last[2]) == 1
	mayBeLetter := around.joinsNumberToWord && last[2] > "B"
	if isLetter && !mayBeLetter {
		return 0
	}

	return len(last[1])
}

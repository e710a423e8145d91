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
	shortDate string // a date in the name that only all names together show; "": none
	tokens    []Piece
	doneTo    int // end of the last date or time of day: texts and numbers that begin before it are part of it
}

// splitTokens splits a name into words, numbers, dates, times of day and separators. cut are its numbers. shortDate is
// a date in it that only all names together show, or "".
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

// addText adds the words and separators of text k, which is at begin.
func (t *tokenizer) addText(k, begin int) {
	if begin < t.doneTo {
		return
	}

	text := t.cut.Texts[k]
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

// addNumber adds number k, which is at begin, or the date or the time of day that begins there.
func (t *tokenizer) addNumber(k, begin int) {
	if begin < t.doneTo {
		return
	}

	first := begin + strings.IndexFunc(t.cut.Numbers[k], unicode.IsDigit)
	stamp, n := t.stamp(first)
	switch stamp {
	case Date:
		t.add(Date, first, n)
		t.last().Key = "day"
		t.doneTo = first + n
	case Clock:
		t.add(Clock, first, n)
		t.last().Key = "time"
		t.doneTo = first + n
	default:
		t.add(Number, begin, len(t.cut.Numbers[k]))
		t.last().MayBeMinus = slices.Contains(t.cut.Doubtful, k)
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

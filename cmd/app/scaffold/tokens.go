package scaffold

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// piece is one place of a name: a number with the word before it and the unit behind it, a text, a date or a time of
// day. A token is a piece of one of these alone. Places are offsets in bytes in the name without its ending.
type piece struct {
	kind       kind
	key        string // the word before a number, and later the name of its column; "" if there is none
	unit       string // the unit behind a number; "" if there is none
	text       string // as written, with the sign of a number but without the word and the unit
	begin      int    // offset of the beginning, with the word
	end        int    // offset of the end, with the unit
	textBegin  int    // offset of the beginning of text
	textEnd    int    // offset of the end of text
	mayBeMinus bool   // the hyphen before the number may be a minus
}

// copyKey is the key of numbers and words that tell copies, or repeats, of one name apart.
const copyKey = "copy"

// kind is the kind of a piece.
type kind byte

const (
	separatorKind kind = iota
	numberKind
	wordKind
	dateKind
	clockKind // a time of day, or a time in seconds since 1970
)

// Forms of dates and times of day in names.
var (
	// 2024-05-03, 20240503101500, 03.05.2024, 03052024, 240503, 03.05.24, 2024-5-3, 3May2024, 3May24
	dateForm = dates(`^(?:(?:19|20)\d\d[-_.]?MM[-_.]?DD(?:hh(?:[0-5]\d){1,2})?|DD[-_.]?MM[-_.]?(?:19|20)\d\d|YYMMDD|` +
		`DD\.MM\.\d\d|20[12]\d[-._]\d\d?[-._]\d\d?|\d\d?[-._]\d\d?[-._]20[12]\d|` +
		`\d\d?[-_. ]{0,2}(?i:` + condition.Month + `)[-_. ]{0,2}(?:(?:19|20)\d\d|YY))`)
	// 17_11_24__14_50, 0503_1450: a date that only the time of day behind it shows
	dateBeforeClock = dates(`^(YY[-_.]MM[-_.]DD|DD[-_.]MM[-_.]YY|0[1-9]DD)[-_ T]+hh[-_.h:]?[0-5]\d(?:[^\d\pL]|$)`)
	// 3-5-24, 3.5.24, 03_05_24: a date if all names have one
	shortDateInName = dates(`(?:^|[^\pL\d.-])((?:\d\d?-\d\d?-|\d\d?\.\d\d?\.|\d\d_\d\d_)YY)(?:[^\d.-]|$)`)
	clockForm       = dates(`^(hh(?:_[0-5]\d(?:_[0-5]\d)?|[-.h:]?[0-5]\d(?:[-.m:]?[0-5]\d)?))(?:[^\d\pL]|$)`)
	epoch           = regexp.MustCompile(`^1[4-9]\d{8}(?:\d{3})?`) // seconds since 1970

)

// dates compiles an expression of dates, in which MM, DD, YY and hh stand for a month, a day, a year without its
// century, and an hour.
func dates(expr string) *regexp.Regexp {
	parts := strings.NewReplacer("MM", `(?:0[1-9]|1[0-2])`, "DD", `(?:0[1-9]|[12]\d|3[01])`,
		"YY", `(?:1[5-9]|2\d|3[0-5])`, "hh", `(?:[01]\d|2[0-3])`)
	return regexp.MustCompile(parts.Replace(expr))
}

// isDigit reports whether a byte is a digit of ASCII.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// tokenizer splits a name that is cut into numbers and the texts between them.
type tokenizer struct {
	name      string
	cut       condition.Cut
	shortDate string // a date in the name that only all names together show; "": none
	tokens    []piece
	doneTo    int // end of the last date or time of day: texts and numbers that begin before it are part of it
}

// splitTokens splits a name into words, numbers, dates, times of day and separators. cut are its numbers. shortDate is
// a date in it that only all names together show, or "".
func splitTokens(name string, cut condition.Cut, shortDate string) []piece {
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
func (t *tokenizer) add(k kind, begin, n int) {
	end := begin + n
	t.tokens = append(t.tokens, piece{
		kind: k, text: t.name[begin:end], begin: begin, textBegin: begin, textEnd: end, end: end,
	})
}

// last returns the token that was added last.
func (t *tokenizer) last() *piece { return &t.tokens[len(t.tokens)-1] }

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
			t.add(separatorKind, begin+first, end-first)
			continue
		}

		around := surroundings{behindNumber: first == 0 && k > 0, beforeNumber: end == len(text) && k < len(t.cut.Numbers)}
		around.joinsNumberToWord = around.beforeNumber && capital.MatchString(t.cut.Texts[k+1])
		if n := camelBreak(text[first:end], around); n > 0 {
			t.add(wordKind, begin+first, n)
			first += n
		}

		t.add(wordKind, begin+first, end-first)
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
	case dateKind:
		t.add(dateKind, first, n)
		t.last().key = "day"
		t.doneTo = first + n
	case clockKind:
		t.add(clockKind, first, n)
		t.last().key = "time"
		t.doneTo = first + n
	default:
		t.add(numberKind, begin, len(t.cut.Numbers[k]))
		t.last().mayBeMinus = slices.Contains(t.cut.Doubtful, k)
	}
}

// mostAmbiguous is the length of dates such as 240503, which may be any number.
const mostAmbiguous = 6

// stamp returns dateKind or clockKind, and the length, if a date or a time of day begins at a digit, and numberKind
// otherwise. A time of day must be behind a date, or have an h.
func (t *tokenizer) stamp(first int) (stamp kind, length int) {
	rest := t.name[first:]
	if m := clockForm.FindStringSubmatch(rest); m != nil && (t.isBehindDate() || t.name[first+2] == 'h') {
		return clockKind, len(m[1])
	}

	if n := len(epoch.FindString(rest)); t.endsNumber(first, n) {
		return clockKind, n
	}

	if n := len(dateForm.FindString(rest)); t.endsNumber(first, n) {
		hasMonthName := t.name[first+n-3] > '9' // 3May24
		isUnambiguous := n > mostAmbiguous || hasMonthName
		if isUnambiguous || len(t.tokens) == 0 {
			return dateKind, n
		}
	}

	isNumber := func(p piece) bool { return p.kind == numberKind }
	if m := dateBeforeClock.FindStringSubmatch(rest); m != nil && !slices.ContainsFunc(t.tokens, isNumber) {
		return dateKind, len(m[1])
	}

	if t.shortDate != "" && strings.HasPrefix(rest, t.shortDate) {
		return dateKind, len(t.shortDate)
	}

	return numberKind, 0
}

// isBehindDate reports whether the last token is a date, or a separator behind a date.
func (t *tokenizer) isBehindDate() bool {
	last := len(t.tokens) - 1
	return last >= 0 && t.tokens[last].kind == dateKind || last > 0 && t.tokens[last-1].kind == dateKind
}

// endsNumber reports whether n is not 0, and no digit follows the n bytes from first.
func (t *tokenizer) endsNumber(first, n int) bool {
	end := first + n
	return n > 0 && (end == len(t.name) || !isDigit(t.name[end]))
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

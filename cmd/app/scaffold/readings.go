package scaffold

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// Numbers in names can mean several things: 0305 is a number or the third of May, 05 is five or a half, 4_500 is one
// number or two. The functions of this file choose a reading for a whole column, and keep a line for people if there is
// another.

// shortDays are the forms, as in time.Parse, of dates that names state without a century, or without a year. shortMarks
// writes their separators as points.
var (
	shortDays  = []string{"0102", "0201", "01.02", "02.01", "060102", "020106", "010206", "2.1.06", "1.2.06"}
	shortMarks = strings.NewReplacer("-", ".", "_", ".")
)

// Years of measurements, by which dates without a century are told from other numbers.
const (
	firstYear = 2015
	lastYear  = 2035
)

var (
	// ambiguousMark matches numbers whose mark may be of decimals or of thousands: 4.500.
	ambiguousMark = regexp.MustCompile(`^[1-9]\d{0,2}[.,]\d{3}$`)
	// anyNumber matches a number with its sign.
	anyNumber = regexp.MustCompile(`(?i:(?:neg|minus|pos|plus|[mnp])[_ ]?)?[-+−]?\d[\d.,p]*`)
	// twoNumbers matches the end of a name up to a number if it may be one number or two: 0-5, 12_25, 1.5x10, 4_500. The
	// text is in one of the two groups.
	twoNumbers = regexp.MustCompile(`(?:(?:^|[^\d.,])((?:0|[1-9]\d?)[-_ ,](?:\d|00|25|50|75)|[\d.]+x10\d)|` +
		`(?:^|(?i:re|rpm|n)|[^\pL\d.,])([1-9]\d{0,2}[_ ,]\d{3}))$`)
)

// shortDates returns the short date in each name. It returns "" for each if not all names have a date of the same form.
func shortDates(names []string) []string {
	dates := make([]string, len(names))
	for i, name := range names {
		if m := shortDateInName.FindStringSubmatch(name); m != nil {
			dates[i] = m[1]
		}
	}

	if possibleDays(dates) == "" {
		clear(dates)
	}

	return dates
}

// readForms reads columns of numbers as dates, or as decimals, if all texts have a form that people use for them.
func (s *sheet) readForms() {
	for _, column := range s.fields {
		days := possibleDays(column.texts)
		padded := column.firstPadded()
		first := column.texts[0]
		switch {
		case days != "" && column.isDate():
			column.noteReading(first, "%s", days)
			column.name = "day"
			column.values = nil
		case days != "" && column.values != nil && vocabulary.StandardNames[column.head] == "":
			column.noteReading(first, "%v, not as %s", column.values[0], days)
		case padded >= 0 && column.mayLackPoint():
			whole := column.values[padded]
			digitsAfterPoint := len(column.texts[padded]) - 1
			decimals := make([]float64, len(column.values))
			for i, v := range column.values {
				decimals[i] = v / math.Pow10(digitsAfterPoint)
			}

			column.values = decimals
			column.noteReading(column.texts[padded], "%v, not as %v", column.values[padded], whole)
		}
	}
}

// isDate reports whether numbers that have the form of dates are dates. They are if the header is day, if they have no
// word, or if they have six digits and their word is not known. Four digits with any other word are not a date.
func (f *field) isDate() bool {
	if f.head == "day" || f.hasNoWord() {
		return true
	}

	return len(f.texts[0]) == len("060102") && !vocabulary.IsKnown(f.head)
}

// mayLackPoint reports whether numbers with leading zeros are decimals without a point: 05 of Mach 0.5. If a number is
// 0, they are not, since nobody sets Mach 0; but people set the advance ratio j to 0.
func (f *field) mayLackPoint() bool {
	return vocabulary.Decimals.MatchString(f.head) && (f.head == "j" || !slices.Contains(f.values, 0))
}

// possibleDays returns the days that the first of the texts may mean, joined by "or", if all texts are dates of one
// short form and one year. It returns "" for other texts. Dates without a year need a leading zero in one of the
// texts.
func possibleDays(texts []string) string {
	var days []string
	hasZero := slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, "0") })
	for _, form := range shortDays {
		hasYear := strings.Contains(form, "06")
		if !hasYear && !hasZero {
			continue
		}

		day, ok := parseOfOneYear(form, texts)
		isPossible := !hasYear || day.Year() >= firstYear && day.Year() <= lastYear
		if ok && isPossible {
			days = append(days, strings.TrimSuffix(day.Format("January 2 2006"), " 0000"))
		}
	}

	return strings.Join(days, ", or ")
}

// parseOfOneYear reads texts as days, and returns the first. It returns false if a text is not a day of the form, or
// the days are of several years.
func parseOfOneYear(form string, texts []string) (first time.Time, ok bool) {
	for i, text := range texts {
		day, err := time.Parse(form, shortMarks.Replace(text))
		if err != nil || day.IsZero() {
			return time.Time{}, false
		}

		if i == 0 {
			first = day
		}

		if day.Year() != first.Year() {
			return time.Time{}, false
		}
	}

	return first, true
}

// firstPadded returns the row of the first number with a zero before it if all texts have equally many digits, and −1
// otherwise.
func (f *field) firstPadded() int {
	n := len(f.texts[0])
	for _, text := range f.texts {
		if len(text) != n || !allDigits.MatchString(text) {
			return -1
		}
	}

	return slices.IndexFunc(f.texts, func(text string) bool { return text[0] == '0' && strings.Trim(text, "0") != "" })
}

// noteReading keeps how a text of the column is read. The first reading stays.
func (f *field) noteReading(text, format string, args ...any) {
	if f.reading == "" {
		f.reading = fmt.Sprintf("%q is read as ", text) + fmt.Sprintf(format, args...)
	}
}

// noteReadings keeps how numbers are read that may be read otherwise: as decimals, names, parts of one, or two.
func (s *sheet) noteReadings() {
	for _, column := range s.fields {
		column.noteFormReading()
	}

	for row, pieces := range s.pieces {
		for k := range pieces {
			s.notePieceReading(row, k)
		}
	}
}

// noteFormReading keeps how a column is read if the form of its texts has another reading.
func (f *field) noteFormReading() {
	padded := f.firstPadded()
	all := f.distinctCells()
	ambiguous := slices.IndexFunc(f.texts, ambiguousMark.MatchString)
	isQuantity := f.values != nil && f.role != runs && !f.isAir()
	switch {
	case ambiguous >= 0 && isQuantity && !slices.ContainsFunc(all, hasDecimalMark):
		f.noteReading(f.texts[ambiguous], "%v: its mark may be that of decimals or of thousands", f.values[ambiguous])
	case f.role == thing || f.why == otherText:
		if differOnlyInNumbers(all) && !slices.ContainsFunc(all, isTypeName) {
			f.noteReading(all[0], "a name, its numbers as no conditions")
		}
	case f.role == input && f.mayBeDecimal(padded):
		row := max(padded, 0)
		f.noteReading(f.texts[row], "%v, not as a decimal", f.values[row])
	}
}

// mayBeDecimal reports whether whole numbers of an input may be decimals without a point. padded is the row of the
// first number with a leading zero, or −1.
func (f *field) mayBeDecimal(padded int) bool {
	if padded >= 0 && !f.isWhole() {
		return true
	}

	return vocabulary.Decimals.MatchString(f.head) && slices.Min(f.stated()) >= 2 // Mach 5 may be 0.5
}

// hasDecimalMark reports whether the mark of a number can only be of decimals.
func hasDecimalMark(text string) bool {
	return strings.ContainsAny(text, ".,") && !ambiguousMark.MatchString(text)
}

// isTypeName reports whether the word before the numbers of a text is of things, or of types.
func isTypeName(text string) bool {
	word := strings.TrimRight(text, "0123456789-_ ")
	return piece{key: word, text: "00"}.isThing()
}

// differOnlyInNumbers reports whether two texts are the same except for their numbers.
func differOnlyInNumbers(texts []string) bool {
	shapes := map[string]bool{}
	for _, text := range texts {
		shapes[anyNumber.ReplaceAllString(text, "0")] = true
	}

	return len(shapes) < len(texts)
}

// isWhole reports whether numbers with leading zeros are whole: they have a unit, or a word of numbers that are whole,
// or they count from 0 or 1.
func (f *field) isWhole() bool {
	if vocabulary.StandardNames[f.head] != "" || f.unit != "" {
		return true
	}

	first, _, isConsecutive := f.consecutive()
	counts := isConsecutive && first < 2

	return counts || vocabulary.InThousands.MatchString(f.head) || condition.Angle.MatchString(f.head)
}

// notePieceReading keeps how number k of a name is read if it may be two numbers, or one with the piece before it.
func (s *sheet) notePieceReading(row, k int) {
	p := s.pieces[row][k]
	column := s.byHead(p.key)
	if column == nil || p.kind != numberKind || column.values == nil || column.role == runs {
		return
	}

	text := s.files[row][p.textBegin:p.textEnd]
	hasSeparator := strings.ContainsAny(strings.TrimSuffix(text, " 000"), "_ ")
	isListed := p.begin == p.textBegin && strings.Contains(text, ",")
	if hasSeparator || isListed {
		column.noteReading(text, "%v, not as two numbers", column.values[row])
		return
	}

	m := twoNumbers.FindStringSubmatch(s.files[row][:p.textEnd])
	if m != nil && s.mayContinue(s.pieces[row], k, column) {
		column.noteReading(m[1]+m[2], "two numbers, not as one")
	}
}

// mayContinue reports whether number k of a name may be one number with the number or the word before it.
func (s *sheet) mayContinue(pieces []piece, k int, column *field) bool {
	p := pieces[k]
	previous := pieces[max(k-1, 0)]
	hasWord := p.begin != p.textBegin
	previousHasWord := previous.begin != previous.textBegin
	isBare := !hasWord && (p.unit == "" || !previousHasWord)
	if !isBare && p.key != "x" {
		return false
	}

	if previous.kind == numberKind {
		return column.role == remark || s.byHeadOrNew(previous.key).role != runs
	}

	return previous.kind == wordKind
}

package filename

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/ingest/vocabulary"
)

// Forms of dates and times of day in names.
var (
	// dateForm matches 2024-05-03, 20240503101500, 03.05.2024, 03052024, 240503, 03.05.24, 2024-5-3, 3May2024, 3May24.
	dateForm = dates(`^(?:(?:19|20)\d\d[-_.]?MM[-_.]?DD(?:hh(?:[0-5]\d){1,2})?|DD[-_.]?MM[-_.]?(?:19|20)\d\d|YYMMDD|` +
		`DD\.MM\.\d\d|20[12]\d[-._]\d\d?[-._]\d\d?|\d\d?[-._]\d\d?[-._]20[12]\d|` +
		`\d\d?[-_. ]{0,2}(?i:` + vocabulary.Month + `)[-_. ]{0,2}(?:(?:19|20)\d\d|YY))`)

	// otherBeforeDay matches numbers before a date that dateForm takes for the day of a year: 10.5_2024-05-03,
	// 10_2_2024-05-03, 10.03.05.2024.
	otherBeforeDay = dates(`^\d\d?(?:\.\d\d?[-_](?:19|20)\d\d[-_.]MM[-_.]DD|_\d\d?_(?:19|20)\d\d-MM-DD|` +
		`\.DD\.MM\.(?:19|20)\d\d)(?:\D|$)`)

	// dateBeforeClock matches dates that only the time of day behind them shows: 17_11_24__14_50, 0503_1450.
	dateBeforeClock = dates(`^(YY[-_.]MM[-_.]DD|DD[-_.]MM[-_.]YY|0[1-9]DD)[-_ T]+hh[-_.h:]?[0-5]\d(?:[^\d\pL]|$)`)

	// shortDateInName matches 3-5-24, 3.5.24, 03_05_24, which are dates if all names have one.
	shortDateInName = dates(`(?:^|[^\pL\d.-])((?:\d\d?-\d\d?-|\d\d?\.\d\d?\.|\d\d_\d\d_)YY)(?:[^\d.-]|$)`)

	// clockForm matches times of day: 14_50, 1450, 14h50m03, 14h50m03s, 145003Z.
	clockForm = dates(`^(hh(?:_[0-5]\d(?:_[0-5]\d)?|[-.h:]?[0-5]\d(?:[-.m:]?[0-5]\d)?|` +
		`h[0-5]\dm(?:in|[0-5]\ds)?)Z?)(?:[^\d\pL]|$)`)

	// epoch matches seconds, or milliseconds, since 1970.
	epoch = regexp.MustCompile(`^1[4-9]\d{8}(?:\d{3})?`)
)

var (
	// shortDays are the forms, as in time.Parse, of dates that names state without a century, or without a year.
	shortDays = []string{"0102", "0201", "01.02", "02.01", "060102", "020106", "010206", "2.1.06", "1.2.06"}

	// shortMarks writes the separators of short dates as points.
	shortMarks = strings.NewReplacer("-", ".", "_", ".")
)

// Years of measurements, by which dates without a century are told from other numbers.
const (
	firstYear = 2015
	lastYear  = 2035
)

// shortDates returns the short date in each name. It returns "" for each if not all names have a date of the same form.
func shortDates(names []string) []string {
	dates := make([]string, len(names))
	for i, name := range names {
		if m := shortDateInName.FindStringSubmatch(name); m != nil {
			dates[i] = m[1]
		}
	}

	if PossibleDays(dates) == "" {
		clear(dates)
	}

	return dates
}

// PossibleDays returns the days that the first of the texts may mean, joined by "or", if all texts are dates of one
// short form and one year. It returns "" for other texts. Dates without a year need a leading zero in one of the
// texts.
func PossibleDays(texts []string) string {
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

// dates compiles an expression of dates, in which MM, DD, YY and hh stand for a month, a day, a year without its
// century, and an hour.
func dates(expr string) *regexp.Regexp {
	parts := strings.NewReplacer("MM", `(?:0[1-9]|1[0-2])`, "DD", `(?:0[1-9]|[12]\d|3[01])`,
		"YY", `(?:1[5-9]|2\d|3[0-5])`, "hh", `(?:[01]\d|2[0-3])`)
	return regexp.MustCompile(parts.Replace(expr))
}

// mostAmbiguous is the length of dates such as 240503, which may be any number.
const mostAmbiguous = 6

// stamp returns Date or Clock, and the length, if a date or a time of day begins at a digit, and Number
// otherwise. A time of day must be behind a date, or have an h.
func (t *tokenizer) stamp(first int) (stamp Kind, length int) {
	rest := t.name[first:]
	if m := clockForm.FindStringSubmatch(rest); m != nil && (t.isBehindDate() || t.name[first+2] == 'h') {
		return Clock, len(m[1])
	}

	if n := len(epoch.FindString(rest)); t.endsNumber(first, n) {
		return Clock, n
	}

	if n := len(dateForm.FindString(rest)); t.endsNumber(first, n) && !otherBeforeDay.MatchString(rest) {
		hasMonthName := t.name[first+n-3] > '9' // 3May24: a letter is before the two digits of the year
		isUnambiguous := n > mostAmbiguous || hasMonthName
		if isUnambiguous || len(t.tokens) == 0 {
			return Date, n
		}
	}

	isNumber := func(p Piece) bool { return p.Kind == Number }
	if m := dateBeforeClock.FindStringSubmatch(rest); m != nil && !slices.ContainsFunc(t.tokens, isNumber) {
		return Date, len(m[1])
	}

	if t.shortDate != "" && strings.HasPrefix(rest, t.shortDate) {
		return Date, len(t.shortDate)
	}

	return Number, 0
}

// isBehindDate reports whether the last token is a date, or a separator behind a date.
func (t *tokenizer) isBehindDate() bool {
	last := len(t.tokens) - 1
	return last >= 0 && t.tokens[last].Kind == Date || last > 0 && t.tokens[last-1].Kind == Date
}

// endsNumber reports whether n is not 0, and no digit follows the n bytes from first.
func (t *tokenizer) endsNumber(first, n int) bool {
	end := first + n
	return n > 0 && (end == len(t.name) || !isDigit(t.name[end]))
}

// leastBehindPoint is the length of dates behind the point of a number. Shorter digits may be its decimals.
const leastBehindPoint = len("20240503")

// dayBehindPoint returns the place of a date that begins behind the point of the number from begin to end, as in
// V10.2024-05-03, or −1.
func (t *tokenizer) dayBehindPoint(begin, end int) int {
	whole, _, hasPoint := strings.Cut(t.name[begin:end], ".")
	if !hasPoint || whole == "" {
		return -1
	}

	day := begin + len(whole) + 1
	n := len(dateForm.FindString(t.name[day:]))
	if n < leastBehindPoint || !t.endsNumber(day, n) {
		return -1
	}

	return day
}

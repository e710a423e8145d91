package condition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// mostNames bounds the names that Alike compares, each with each.
const mostNames = 500

var loneLetter = regexp.MustCompile(`\b[A-Za-z]\b`)

var (
	written = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "×", "x",
		" ", "", "\u00a0", "", "-", "", "_", "", ".", "", "‐", "", "‑", "", "–", "")
	letter = regexp.MustCompile(`\pL`)
)

// Alike lists names that are probably one: they differ by letter case, blanks, hyphens, underlines or the writing
// of an umlaut alone, or, of five letters and more, by one letter. Names that differ by a digit or a letter on its own
// are two: APC 8x6 and APC 8x7, wing A and wing B.
func Alike(names []string) (pairs [][2]string) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > mostNames {
		return nil
	}

	plain := lists.Each(names, func(n string) string { return written.Replace(strings.ToLower(spelling.Composed(n))) })

	for i := range names {
		for k := range i {
			lettered := loneLetter.ReplaceAllString(names[i], "") == loneLetter.ReplaceAllString(names[k], "")
			if plain[i] == plain[k] || !lettered && oneLetter(plain[i], plain[k]) {
				pairs = append(pairs, [2]string{names[k], names[i]})
			}
		}
	}

	return pairs
}

// oneLetter reports whether names of five letters and more differ by one of them.
func oneLetter(a, b string) bool {
	others := letter.ReplaceAllString(a, "")
	letters := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) - utf8.RuneCountInString(others)

	return letters >= 5 && others == letter.ReplaceAllString(b, "") && spelling.Distance(a, b) == 1
}

var (
	timeOfDay = regexp.MustCompile(`[T ,]+\d{1,2}:\d{2}(?::[\d.,]+)?(?: ?[AaPp][Mm])?(?:Z|[-+][\d:]+)?$|^(\d{5})\.\d+$`)
	serial    = regexp.MustCompile(`^(?:3[789]|4\d|5[0-4])\d{3}$`) // of a spreadsheet: days since 1899-12-30
)

// dayForms are those of a day. Of 6/5/2024 the first number is the day, unless it cannot be.
var dayForms = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "20060102", "2.1.2006", "2.1.06", "2-1-2006", "2-1-06", "2 Jan 2006",
	"2-Jan-2006", "2-Jan-06", "2 January 2006", "Jan 2 2006", "Jan 2, 2006", "January 2, 2006", "2/1/2006", "2/1/06",
	"1/2/2006", "1/2/06",
}

// mostOfDay is how many times of a day may name occasions, such as its morning.
const mostOfDay = 4

// Days returns the day of the name of each row, where all are dates and some are one day: it is written in several
// ways, or dates have the time of day, of which a day has many, or most rows one. A day is named as it is written
// first. Else it is nil.
func Days(names []string) map[string]string {
	first, out := map[string]string{}, map[string]string{}
	var timed []string
	rows := len(names)
	_, names = lists.Index(names)
	for _, n := range names {
		text := strings.TrimSpace(timeOfDay.ReplaceAllString(n, "$1"))
		day := dayOf(text)
		if day == "" {
			return nil
		}

		if first[day] == "" {
			first[day] = text
		}

		if out[n] = first[day]; text != n {
			timed = append(timed, n)
		}
	}

	if len(timed) <= mostOfDay*len(first) && 2*len(timed) <= rows {
		maps.Copy(out, lists.Map(timed, timed))
	}

	if _, days := lists.Index(slices.Collect(maps.Values(out))); len(days) == len(names) {
		return nil
	}

	return out
}

// dayOf writes a date in one way; "" of what is none.
func dayOf(text string) string {
	for _, f := range dayForms {
		if day, err := time.Parse(f, text); err == nil {
			return day.Format(time.DateOnly)
		}
	}

	return serial.FindString(text)
}

// Nested reports whether each inner name is on one outer occasion, as days are in sessions of several.
func Nested(inner, outer []string) bool {
	of := lists.Map(inner, outer)
	return slices.Equal(outer, lists.Each(inner, func(name string) string { return of[name] }))
}

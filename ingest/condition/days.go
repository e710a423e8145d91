package condition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	// timeOfDay matches the time of day behind a date, or a day of a spreadsheet with a fraction. Its group is the whole
	// day of the latter.
	timeOfDay = regexp.MustCompile(
		`[T ,_]+\d{1,2}:\d{2}(?::[\d.,]+)?(?: ?[AaPp][Mm])?(?:Z|[-+][\d:]+)?$|^(\d{5})\.\d+$`)
	// spreadsheetDay matches a day of a spreadsheet from 2001 to 2050: days since 1899-12-30.
	spreadsheetDay = regexp.MustCompile(`^(?:3[789]|4\d|5[0-4])\d{3}$`)
)

// dayLayouts are the forms of a day, as package time has them. The first number of 6/5/2024 is the day, unless it
// cannot be.
var dayLayouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "20060102", "2.1.2006", "2.1.06", "2-1-2006", "2-1-06", "2 Jan 2006",
	"2-Jan-2006", "2-Jan-06", "2 January 2006", "Jan 2 2006", "Jan 2, 2006", "January 2, 2006", "2/1/2006", "2/1/06",
	"1/2/2006", "1/2/06",
}

// mostOfDay is the number of times of a day that may name occasions, such as its morning.
const mostOfDay = 4

// Days returns the name of the day of each name. names has one name for each row, which may be repeated. Days returns
// nil unless all names are dates and several of them mean the same day, because they have times of day or the day is
// written in several ways. A day is named as it is written first.
//
// A few times of day may be occasions of their own, such as the morning. Names with a time of day stay as they are if
// there are at most mostOfDay of them for each day on average, and at most one for every two rows.
func Days(names []string) map[string]string {
	days := map[string]string{}  // by name
	first := map[string]string{} // by date, how the day is written first
	var timed []string           // names with a time of day, each once
	for _, name := range names {
		if days[name] != "" {
			continue // the same name again
		}

		text := strings.TrimSpace(timeOfDay.ReplaceAllString(name, "$1"))
		day := dayOf(text)
		if day == "" {
			return nil
		}

		if first[day] == "" {
			first[day] = text
		}

		days[name] = first[day]
		if text != name {
			timed = append(timed, name)
		}
	}

	if len(timed) <= mostOfDay*len(first) && 2*len(timed) <= len(names) {
		for _, name := range timed {
			days[name] = name
		}
	}

	found := slices.Compact(slices.Sorted(maps.Values(days)))
	if len(found) == len(days) {
		return nil
	}

	return days
}

// dayOf returns a date in one form, 2006-01-02 or the day of a spreadsheet, and "" for other texts.
func dayOf(text string) string {
	for _, f := range dayLayouts {
		if day, err := time.Parse(f, text); err == nil {
			return day.Format(time.DateOnly)
		}
	}

	return spreadsheetDay.FindString(text)
}

// Nested reports whether all rows of each inner name have the same outer name, as days are parts of sessions. It
// returns false if there are not equally many rows.
func Nested(inner, outer []string) bool {
	if len(inner) != len(outer) {
		return false
	}

	occasions := map[string]string{}
	for i, name := range inner {
		occasions[name] = outer[i]
	}

	for i, name := range inner {
		if outer[i] != occasions[name] {
			return false
		}
	}

	return true
}

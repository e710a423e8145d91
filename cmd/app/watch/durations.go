package watch

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// lessThan begins the text of a duration that would be rounded to zero.
const lessThan = "less than "

// Words returns a duration as a text for people: less than 1 s, 14 s, 3 min, 2 h 10 min. Below 100 s it counts seconds,
// below 100 min minutes, and then hours and minutes.
func Words(duration time.Duration) string {
	const most = 100 // of a unit
	if duration < time.Second {
		return lessThan + "1 s"
	}

	if duration < most*time.Second {
		return fmt.Sprintf("%.0f s", duration.Seconds())
	}

	minutes := int(duration.Minutes() + 0.5)
	if minutes < most {
		return fmt.Sprintf("%d min", minutes)
	}

	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// Seconds returns a number of seconds as a text for people: with two digits below 10 s, and otherwise as Words does.
func Seconds(seconds float64) string {
	const short = 10
	const least = 0.001
	switch {
	case seconds < least:
		return lessThan + "0.001 s"
	case seconds < short:
		return strconv.FormatFloat(seconds, 'g', 2, 64) + " s"
	}

	return Words(time.Duration(seconds * float64(time.Second)))
}

// About returns the text of an estimated duration: about 14 s, or less than 1 s. duration is a text of Words or
// Seconds.
func About(duration string) string {
	if strings.HasPrefix(duration, lessThan) {
		return duration
	}
	return "about " + duration
}

// Rate returns the number of tasks that ended in a time as a rate for people, in the smallest unit of time in which at
// least one task ends: 2.5 tasks/s, 6.0 tasks/min or 1.2 tasks/h. A lower rate is in tasks/h.
func Rate(tasks int, in time.Duration) string {
	switch {
	case float64(tasks) >= in.Seconds():
		return fmt.Sprintf("%.1f tasks/s", float64(tasks)/in.Seconds())
	case float64(tasks) >= in.Minutes():
		return fmt.Sprintf("%.1f tasks/min", float64(tasks)/in.Minutes())
	}

	return fmt.Sprintf("%.1f tasks/h", float64(tasks)/in.Hours())
}

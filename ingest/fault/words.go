package fault

import (
	"strconv"
	"strings"
)

// Quoted writes names as `"a", "b"`, at most a dozen of them.
func Quoted(names []string) string {
	const most = 12
	q := make([]string, 0, most)
	for i, s := range names {
		if i == most {
			q = append(q, "… "+strconv.Itoa(len(names)-most)+" more")
			break
		}

		q = append(q, strconv.Quote(s))
	}

	return strings.Join(q, ", ")
}

// Plural writes a count with its noun: "1 row", "2 rows".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// Clip shortens a text for a message to some 40 bytes.
func Clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}

	return strings.ToValidUTF8(s[:most], "") + "…"
}

package ingest

import (
	"fmt"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// FindChannel returns the index of the channel that a user means by a name. It takes the first of these that
// matches: the exact name, the name in any letter case, the header of the column with the unit
// ("Time (s)"), the number from 1, or the last part of the channel's path. If nothing matches, or two
// channels match, it returns a *fault.Error.
func FindChannel(info Info, name string) (int, error) {
	name = spelling.Composed(strings.TrimSpace(name))

	for _, matches := range []func(c Channel, name string) bool{sameName, sameNameFold, sameHeader} {
		k, err := onlyChannel(info, name, matches)
		if err != nil {
			return 0, err
		}

		if k >= 0 { // −1: none matches
			return k, nil
		}
	}

	number, err := strconv.Atoi(name)
	if err == nil && number >= 1 && number <= len(info.Channels) {
		return number - 1, nil
	}

	for _, u := range info.Unread {
		if u.Name == name {
			return 0, &fault.Error{Path: info.Path, Place: u.Name, Found: u.Reason}
		}
	}

	if k := channelByEnd(info, name); k >= 0 {
		return k, nil
	}

	return 0, unknownChannel(info, name)
}

// HasNumberedColumns reports whether the file is a text whose header does not name its columns, so that their names are
// their numbers.
func (i Info) HasNumberedColumns() bool {
	if i.Format != "text" || len(i.Channels) == 0 {
		return false
	}

	for _, c := range i.Channels {
		if _, err := strconv.Atoi(c.Name); err != nil {
			return false
		}
	}

	return true
}

// sameName reports whether name is exactly the channel's name.
func sameName(c Channel, name string) bool { return c.Name == name }

// sameNameFold reports whether name is the channel's name in any letter case.
func sameNameFold(c Channel, name string) bool {
	return strings.EqualFold(spelling.Composed(c.Name), name)
}

// sameHeader reports whether name is the header of the channel's column with the unit, in any letter case.
func sameHeader(c Channel, name string) bool {
	for _, a := range c.Attributes {
		if a.Name == "header" && a.Value != "" && strings.EqualFold(a.Value, name) {
			return true
		}
	}

	return false
}

// onlyChannel returns the index of the channel that matches a name, or −1 if no channel matches. It returns an error
// if two channels match.
func onlyChannel(info Info, name string, matches func(c Channel, name string) bool) (int, error) {
	first := -1
	for i, c := range info.Channels {
		if !matches(c, name) {
			continue
		}

		if first >= 0 {
			return 0, fault.At(info.Path, "", "", fmt.Sprintf("channels %d and %d both match %q", first+1, i+1, name),
				"name the channel by its number")
		}

		first = i
	}

	return first, nil
}

// channelByEnd returns the index of the channel whose path ends in name, after a slash or a dot. It returns −1 if
// no such channel exists, or more than one.
func channelByEnd(info Info, name string) int {
	if name == "" {
		return -1
	}

	last := -1
	count := 0
	for i, c := range info.Channels {
		rest, ok := strings.CutSuffix(c.Name, name)
		if ok && rest != "" && strings.ContainsAny(rest[len(rest)-1:], "/.") {
			last = i
			count++
		}
	}

	if count != 1 {
		return -1
	}

	return last
}

// maxTypos is how many letters of a channel's name may be wrong for a suggestion.
const maxTypos = 2

// unknownChannel returns the error that no channel has that name. If a channel's name is similar, the error suggests
// it.
func unknownChannel(info Info, name string) error {
	names := info.Names()
	e := fault.At(info.Path, "", fmt.Sprintf("a channel %q", name), "only "+fault.Quoted(names),
		"name one of these in the configuration, or correct the header")

	if _, err := strconv.Atoi(name); err == nil && info.HasNumberedColumns() {
		e.Found = fmt.Sprintf("%d columns without names", len(names))
		e.Hint = "columns without names are numbered, and in a file with another number of columns a number may mean " +
			"another quantity: leave this file out with exclude under ingest, or read such files in an experiment of their own"

		return e
	}

	near := spelling.Nearest(name, names, 1)
	if len(near) == 0 || len(name) <= maxTypos {
		return e
	}

	if spelling.Distance(near[0], name) <= maxTypos {
		e.Hint = fmt.Sprintf("is %q meant?", near[0])
	}

	return e
}

package ingest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// FindChannel returns the index of the channel a user means: by its exact name,
// by its name in any letter case, by its header with the unit
// ("Time (s)"), or by its number from 1. An unknown or ambiguous name is a
// *fault.Error that lists the names there are.
func FindChannel(info Info, name string) (int, error) {
	name = spelling.Composed(strings.TrimSpace(name))
	names := info.Names()
	isHeader := func(a Attribute) bool { return a.Name == "header" && a.Value != "" && strings.EqualFold(a.Value, name) }

	for _, same := range []func(c Channel) bool{
		func(c Channel) bool { return c.Name == name },
		func(c Channel) bool { return strings.EqualFold(spelling.Composed(c.Name), name) },
		func(c Channel) bool { return slices.ContainsFunc(c.Attributes, isHeader) },
	} {
		at := -1
		for i, c := range info.Channels {
			if !same(c) {
				continue
			}

			if at >= 0 {
				return 0, fault.At(info.Path, "", "", fmt.Sprintf("channels %d and %d are both named %q", at+1, i+1, c.Name),
					"name the channel by its number")
			}

			at = i
		}

		if at >= 0 {
			return at, nil
		}
	}

	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
		return n - 1, nil
	}

	for _, u := range info.Unread {
		if u.Name == name {
			return 0, &fault.Error{Path: info.Path, Place: u.Name, Found: u.Reason}
		}
	}

	// A path may be cut at its front where only one channel ends so.
	at, n := -1, 0
	for i, c := range info.Channels {
		if rest, ok := strings.CutSuffix(c.Name, name); ok && name != "" && rest != "" &&
			strings.ContainsAny(rest[len(rest)-1:], "/.") {
			at, n = i, n+1
		}
	}

	if n == 1 {
		return at, nil
	}

	e := fault.At(info.Path, "", fmt.Sprintf("a channel %q", name), "only "+fault.Quoted(names),
		"name one of these in the configuration, or correct the header")

	if near := spelling.Nearest(name, names, 1); len(near) > 0 && spelling.Distance(near[0], name) <= 2 && len(name) > 2 {
		e.Hint = fmt.Sprintf("is %q meant?", near[0])
	}

	return 0, e
}
